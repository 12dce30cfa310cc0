package command

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/storm"
)

// submitted is a topology that the fake got.
type submitted struct {
	client.Submission
	jar []byte // nil is none
}

// Submit implements submitter.
func (f *fake) Submit(_ context.Context, s client.Submission) error {
	got := submitted{Submission: s}
	if s.Jar != nil {
		text, err := io.ReadAll(s.Jar)
		if err != nil {
			return err
		}
		got.jar = append([]byte{}, text...)
	}
	f.submitted = append(f.submitted, got)
	return f.note("submit %s %s inactive %t, jar %t", s.Name, s.Conf, s.Inactive, s.Jar != nil)
}

// packed is what a zip has: names to modes and texts.
func packed(t *testing.T, text []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range r.File {
		from, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = f.Mode().String() + " " + string(content)
	}
	return out
}

// written makes files in a new folder: names to texts. Those that begin with #!
// are executable.
func written(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(at, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// numbers is a spout of n tuples, which ends when all are done.
type numbers struct {
	storm.BaseSpout
	n, next int64
	out     *storm.SpoutOutputCollector
}

func (s *numbers) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("n") }

func (s *numbers) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}

func (s *numbers) NextTuple() error {
	if s.next < s.n {
		s.next++
		s.out.EmitTracked(storm.Int(s.next), storm.Int(s.next))
	}
	return nil
}

func (s *numbers) Exhausted() bool { return s.next == s.n }

// withNumbers is a program that knows numbers.
func withNumbers() storm.Program {
	r := storm.NewRegistry()
	r.Spout("numbers", func(args []storm.Value) (storm.Spout, error) {
		n := int64(0)
		if len(args) > 0 {
			n, _ = args[0].AsInt()
		}
		return &numbers{n: n}, nil
	})
	return storm.Program{Components: r}
}

const wordsYAML = `name: words
config: {topology.workers: 2}
spouts:
- {id: words, className: org.apache.storm.testing.TestWordSpout}
bolts:
- {id: count, command: [python3, count.py], outputs: [word, count], parallelism: 2, config: {topology.debug: true}}
streams:
- {from: words, to: count, grouping: {type: FIELDS, args: [word]}}
`

// TestFluxSubmit sends resources as a zip, with the adapters that scripts
// import and nothing twice.
func TestFluxSubmit(t *testing.T) {
	alone(t)
	python, adapter, err := multilang.AdapterFile("python")
	if err != nil {
		t.Fatal(err)
	}
	_, ruby, err := multilang.AdapterFile("ruby")
	if err != nil {
		t.Fatal(err)
	}
	dir := written(t, map[string]string{
		"t.yaml":                        wordsYAML,
		"resources/count.py":            "import json, stormring\n",
		"resources/run.sh":              "#!/bin/sh\n# stormring.sh is not needed\n",
		"resources/b/c.rb":              "require_relative 'stormring'\n",
		"resources/b/own/a.js":          "const s = require('./stormring');\n",
		"resources/b/own/stormring.js":  "mine\n",
		"resources/node_modules/x/a.py": "import stormring\n",
	})
	if err := os.Symlink("count.py", filepath.Join(dir, "resources", "link.py")); err != nil {
		t.Fatal(err)
	}
	f := newFake()
	golden{
		args: "flux " + filepath.Join(dir, "t.yaml") + " --name other --inactive --workers 4 -c a=b", stderr: "submitted topology other\n",
		changes: `submit other {"a":"b","topology.workers":4} inactive true, jar true`,
	}.check(t, f, "")
	const folder, file = "drwxr-xr-x ", "-rw-r--r-- "
	want := map[string]string{
		"resources/":                    folder,
		"resources/count.py":            file + "import json, stormring\n",
		"resources/link.py":             file + "import json, stormring\n",
		"resources/run.sh":              "-rwxr-xr-x #!/bin/sh\n# stormring.sh is not needed\n",
		"resources/" + python:           file + string(adapter),
		"resources/b/":                  folder,
		"resources/b/c.rb":              file + "require_relative 'stormring'\n",
		"resources/b/stormring.rb":      file + string(ruby),
		"resources/b/own/":              folder,
		"resources/b/own/a.js":          file + "const s = require('./stormring');\n",
		"resources/b/own/stormring.js":  file + "mine\n",
		"resources/node_modules/":       folder,
		"resources/node_modules/x/":     folder,
		"resources/node_modules/x/a.py": file + "import stormring\n",
	}
	if len(f.submitted) != 1 {
		t.Fatalf("%d submissions", len(f.submitted))
	}
	got := packed(t, f.submitted[0].jar)
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		t.Errorf("sent %q", slices.Sorted(maps.Keys(got)))
	}
	for name, text := range want {
		if strings.HasSuffix(name, "/") {
			continue // modes of folders are those of unzip
		}
		if got[name] != text {
			t.Errorf("%s is %.80q, want %.80q", name, got[name], text)
		}
	}
	count := f.submitted[0].Topology.Components["count"]
	if count.Object.Shell == nil || *count.Object.Shell != (cluster.Shell{Command: "python3", Script: "count.py"}) || count.Parallelism != 2 {
		t.Errorf("count is %+v", count)
	}
}

// TestFluxSubmitProgram sends this program with the zip behind it if the
// topology has components of it, and else nothing without resources.
func TestFluxSubmitProgram(t *testing.T) {
	alone(t)
	dir := written(t, map[string]string{
		"t.yaml":           "name: t\nspouts:\n- {id: n, className: numbers, constructorArgs: [3]}\n",
		"u.yaml":           "name: u\nspouts:\n- {id: n, className: org.apache.storm.testing.TestWordSpout}\n",
		"scripts/hello.py": "print(1)\n",
	})
	f := newFake()
	f.program = withNumbers()
	golden{
		args: "flux " + dir + "/t.yaml -R " + dir + "/scripts", stderr: "submitted topology t\n", changes: "submit t {} inactive false, jar true",
	}.check(t, f, "")
	jar := f.submitted[0].jar
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(jar, program) {
		t.Error("the upload does not begin with the program")
	}
	if got := packed(t, jar); got["resources/hello.py"] != "-rw-r--r-- print(1)\n" || len(got) != 2 {
		t.Errorf("the zip behind it has %q", got)
	}
	if len(jar)-len(program) > 1000 {
		t.Errorf("the zip has %d bytes", len(jar)-len(program))
	}
	f.changes = nil
	golden{args: "flux " + dir + "/t.yaml", stderr: "submitted topology t\n", changes: "submit t {} inactive false, jar true"}.check(t, f, "")
	if !bytes.Equal(f.submitted[1].jar, program) {
		t.Error("without resources, it is not the program as it is")
	}
	f.changes = nil
	golden{args: "flux " + dir + "/u.yaml", stderr: "submitted topology u\n", changes: "submit u {} inactive false, jar false"}.check(t, f, "")
}

// TestFluxRefusesResources: what cannot be sent is named.
func TestFluxRefusesResources(t *testing.T) {
	alone(t)
	dir := written(t, map[string]string{"t.yaml": wordsYAML, "resources/count.py": "", "secret": "s", "file": ""})
	link := filepath.Join(dir, "resources", "out")
	for _, tt := range []struct{ target, want string }{
		{"../secret", "packing the topology: resources/out is a link to " + unlinked(t, dir) + "/secret, which is not in " + dir + "/resources; copy it there"},
		{".", "resources/out links to a folder that it is in; take the link away"},
		{"gone", "no such file or directory"},
	} {
		if err := os.Symlink(tt.target, link); err != nil {
			t.Fatal(err)
		}
		got := newFake().run(t.Context(), "", "flux", dir+"/t.yaml")
		if got.code != 1 || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s: %+v", tt.target, got)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	golden{args: "flux " + dir + "/t.yaml -R " + dir + "/file", code: 2, stderr: "stormring: the resources " + dir + "/file are no directory\n"}.check(t, newFake(), "")
	golden{
		args: "flux " + dir + "/t.yaml -R " + dir + "/none", code: 1,
		stderr: "stormring: the resources: stat " + dir + "/none: no such file or directory\n",
	}.check(t, newFake(), "")
}

// unlinked is a path without links.
func unlinked(t *testing.T, path string) string {
	t.Helper()
	out, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const wordsShown = `topology words

COMPONENT  KIND   PARALLELISM  RUNS                                    OUTPUT
words      spout  1            org.apache.storm.testing.TestWordSpout  default(word)
count      bolt   2            python3 count.py                        default(word count)

FROM   STREAM   TO     GROUPING
words  default  count  fields word

OF     CONFIGURATION KEY  VALUE
       topology.workers   2
count  topology.debug     true
`

const tinyJSON = `{
  "name": "tiny",
  "conf": {
    "topology.workers": 3
  },
  "components": [
    {
      "id": "s",
      "kind": "spout",
      "code": "sh -c ls",
      "parallelism": 1,
      "conf": {},
      "streams": [
        {
          "id": "out",
          "fields": [],
          "direct": true
        }
      ],
      "inputs": []
    }
  ]
}
`

func TestFluxDryRun(t *testing.T) {
	alone(t)
	path := write(t, "t.yaml", wordsYAML)
	missing := "warning: " + path + ":6:3: count runs count.py, but there is no directory " + filepath.Dir(path) + "/resources; name one by -R\n"
	golden{args: "flux --dry-run " + path, stdout: wordsShown, stderr: missing}.check(t, newFake(), "")
	golden{args: "flux --dry-run --json --workers 3 -", stdout: tinyJSON}.check(t, newFake(),
		"name: tiny\nspouts: [{id: s, command: [sh, -c, ls], outputs: {out: {fields: [], direct: true}}}]\n")
	dir := written(t, map[string]string{"t.yaml": wordsYAML, "resources/other.py": ""})
	golden{
		args: "flux --dry-run " + dir + "/t.yaml", stdout: wordsShown,
		stderr: "warning: " + dir + "/t.yaml:6:3: count runs count.py, which is not in " + dir + "/resources\n",
	}.check(t, newFake(), "")
}

// TestFluxReplaces: --filter and -e.
func TestFluxReplaces(t *testing.T) {
	alone(t)
	t.Setenv("FLUX_TEST", "from here")
	text := "name: ${the.name}\nconfig: {a: \"${ENV-FLUX_TEST}\", b: \"${list[1]}\"}\nspouts: [{id: s, command: [a]}]\n"
	filter := write(t, "f.properties", "# names\nthe.name = words\\\n   2\nlist: [\"x\", \"y\"]\n")
	golden{args: "flux - -e --filter " + filter, stderr: "submitted topology words2\n", changes: `submit words2 {"a":"from here","b":"y"} inactive false, jar false`}.check(t, newFake(), text)
	golden{
		args: "flux - --name n",
		stderr: "warning: standard input:1:7: ${the.name} is left as it is: name a file with its value by --filter\n" +
			"warning: standard input:2:14: ${ENV-FLUX_TEST} is left as it is: use --env-filter to have the environment's values\n" +
			"warning: standard input:2:37: ${list[1]} is left as it is: there is no property list\n" +
			"submitted topology n\n",
		changes: `submit n {"a":"${ENV-FLUX_TEST}","b":"${list[1]}"} inactive false, jar false`,
	}.check(t, newFake(), text)
	golden{args: "flux - --filter /no/such", code: 1, stderr: "stormring: --filter: open /no/such: no such file or directory\n"}.check(t, newFake(), text)
}

func TestFluxErrors(t *testing.T) {
	alone(t)
	path := write(t, "t.yaml", "name: t\nspots: []\nspouts:\n- {id: s, className: org.example.Spout}\nstreams: [{from: s, to: b, grouping: {type: SHUFFLE}}]\n")
	one := write(t, "one.yaml", "name: t\nspouts:\n- {id: s}\n")
	good := write(t, "good.yaml", "name: t\nspouts:\n- {id: s, command: [a]}\n")
	for _, g := range []golden{
		{args: "flux", code: 2, stderr: "stormring: which file?; see stormring flux --help\n"},
		{args: "flux a b", code: 2, stderr: "stormring: flux got \"b\" too many; see stormring flux --help\n"},
		{args: "flux /no/such.yaml", code: 1, stderr: "stormring: /no/such.yaml: cannot be read: open /no/such.yaml: no such file or directory\n"},
		{args: "flux " + one, code: 1, stderr: "stormring: " + one + ":3:3: spouts[0]: has neither className nor command; what is it to run?\n"},
		{
			args: "flux " + path, code: 1,
			stderr: path + ":2:1: spots: is no key of a topology; did you mean spouts?\n" +
				path + ":4:22: spouts[0].className: org.example.Spout is a class of Java, and components of Java are not run yet; run a command in its place, or write it in Go\n" +
				path + ":5:25: streams[0].to: is \"b\", but there is no such component; there are s\n" +
				"stormring: " + path + " has 3 mistakes\n",
		},
		{args: "flux --run-for 1s " + good, code: 2, stderr: "stormring: --run-for is only for --local\n"},
		{args: "flux --quiet " + good, code: 2, stderr: "stormring: --quiet is only for --local\n"},
		{args: "flux --debug " + good, code: 2, stderr: "stormring: --debug is only for --local\n"},
		{args: "flux --local --run-for -1s " + good, code: 2, stderr: "stormring: --run-for is -1s; it must not be negative\n"},
		{args: "flux --local --inactive " + good, code: 2, stderr: "stormring: --inactive is not for --local: nothing would run\n"},
		{args: "flux --json " + good, code: 2, stderr: "stormring: --json is only for --dry-run\n"},
		{args: "flux --workers 0 " + good, code: 2, stderr: "stormring: --workers is 0; it must be at least 1\n"},
		{args: "flux -c x " + good, code: 2, stderr: "stormring: -c x: write it as key=value\n"},
	} {
		g.check(t, newFake(), "")
	}
	f := newFake()
	f.fail = map[string]error{"submit": fmt.Errorf("no")}
	golden{args: "flux " + good, code: 1, stderr: "stormring: no\n"}.check(t, f, "")
}

const toFile = `import stormring, os

class Sum(stormring.BasicBolt):
    def process(self, tup):
        with open(os.environ["OUT"], "a") as out:
            print(tup.values[0], os.path.basename(os.getcwd()), file=out)

Sum().run()
`

// localYAML has a Go spout of three numbers and the script above.
func localYAML(out string) string {
	return `name: t
spouts:
- {id: n, className: numbers, constructorArgs: [3]}
bolts:
- {id: b, command: [python3, -u, sum.py], env: {OUT: ` + out + `}}
streams:
- {from: n, to: b, grouping: {type: SHUFFLE}}
`
}

// TestFluxLocal runs a script that imports our adapter, which is not beside it,
// until its spout is exhausted, and leaves nothing behind.
func TestFluxLocal(t *testing.T) {
	alone(t)
	if err := os.Unsetenv("PYTHONPATH"); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("TMPDIR", home)
	out := filepath.Join(t.TempDir(), "out")
	dir := written(t, map[string]string{
		"t.yaml":           localYAML(out),
		"resources/sum.py": toFile,
	})
	f := newFake()
	f.program = withNumbers()
	got := f.run(t.Context(), "", "flux", dir+"/t.yaml", "--local", "-q")
	if got.code != 0 || got.stdout != "" {
		t.Fatalf("%+v", got)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(lines)
	if want := []string{"1 resources", "2 resources", "3 resources"}; !slices.Equal(lines, want) {
		t.Errorf("got %q", lines)
	}
	left, err := os.ReadDir(home)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "resources")); err != nil || len(entries) != 1 {
		t.Errorf("the resources are now %v, %v", entries, err)
	}
	if len(f.changes) > 0 {
		t.Errorf("a local run did %q", f.changes)
	}
}

// TestFluxLocalEnds: --run-for and an interruption end a run that has no end.
func TestFluxLocalEnds(t *testing.T) {
	alone(t)
	const logged = "name: t\nspouts:\n- {id: s, className: org.apache.storm.testing.TestWordSpout}\nbolts:\n" +
		"- {id: c, className: org.apache.storm.testing.TestWordCounter}\n- {id: log, className: org.apache.storm.flux.wrappers.bolts.LogInfoBolt}\n" +
		"streams:\n- {from: s, to: c, grouping: {type: FIELDS, args: [word]}}\n- {from: c, to: log, grouping: {type: SHUFFLE}}\n"
	got := newFake().run(t.Context(), logged, "flux", "-", "--local", "--run-for", "3s")
	if got.code != 0 || !strings.Contains(got.stderr, "values: [nathan 1]") || !strings.Contains(got.stderr, "tuples executed in ") {
		t.Errorf("--run-for: %+v", got)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if got := newFake().run(ctx, logged, "flux", "-", "--local", "-q"); got.code != 130 {
		t.Errorf("interrupted: %+v", got)
	}
}
