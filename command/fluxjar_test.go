package command

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stormring/stormring/multilang"
)

// jarOf makes a jar: names to texts.
func jarOf(t *testing.T, files ...[2]string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		to, err := w.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, "t.jar", b.String())
}

const tinyYAML = "name: tiny\nspouts:\n- {id: s, command: [python3, s.py]}\n"

const tinyShown = `topology tiny

COMPONENT  KIND   PARALLELISM  RUNS          OUTPUT
s          spout  1            python3 s.py  -
`

// TestFluxJarSubmits: the jar is what is sent, as it is.
func TestFluxJarSubmits(t *testing.T) {
	alone(t)
	jar := jarOf(t, [2]string{"resources/s.py", "x"}, [2]string{"in/t.yaml", "name: inner\nincludes: [{file: more.yaml, resource: true}]\n"}, [2]string{"more.yaml", tinyYAML})
	file := write(t, "t.yaml", tinyYAML)
	text, err := os.ReadFile(jar)
	if err != nil {
		t.Fatal(err)
	}
	base := "jar " + jar + " " + fluxClass + " "
	left := "warning: more.yaml:1:7: name: is left out: the including file has this key already; say override: true in includes if this one is to win\n"
	for _, g := range []golden{
		{args: base + "--remote " + file, stdout: tinyShown, stderr: "submitted topology tiny\n", changes: "submit tiny {} inactive false, jar true"},
		{args: base + file, stdout: tinyShown, stderr: "submitted topology tiny\n", changes: "submit tiny {} inactive false, jar true"},
		{
			args:   base + "-r -n -q -i -z localhost:2181 -c topology.workers=2 " + file,
			stderr: "submitted topology tiny\n", changes: `submit tiny {"topology.workers":2} inactive true, jar true`,
		},
		{
			args:   base + "-q --resource in/t.yaml",
			stderr: strings.Replace(left, "this key", "the name", 1) + "submitted topology inner\n", changes: "submit inner {} inactive false, jar true",
		},
		{args: base + "--dry-run --local " + file, stdout: tinyShown},
		{args: "jar --dry-run " + jar + " " + fluxClass + " " + file, stdout: tinyShown},
		{args: base, code: 2, stderr: "stormring: " + fluxClass + " takes one file, but got 0\n"},
		{args: base + "--sleep -1 " + file, code: 2, stderr: "stormring: --sleep is -1; it must not be negative\n"},
		{args: base + "--xyz " + file, code: 2, stderr: "stormring: " + fluxClass + ": unknown flag: --xyz\n"},
		{
			args: base + "-R none.yaml", code: 1,
			stderr: "stormring: none.yaml: the resource \"none.yaml\" cannot be read: open none.yaml: file does not exist\n",
		},
	} {
		f := newFake()
		g.check(t, f, "")
		for _, s := range f.submitted {
			if !bytes.Equal(s.jar, text) {
				t.Errorf("%s: another jar was sent, of %d bytes", g.args, len(s.jar))
			}
		}
	}
}

// TestFluxJarWarns: a script that the jar does not have.
func TestFluxJarWarns(t *testing.T) {
	alone(t)
	jar, file := jarOf(t, [2]string{"resources/other.py", "x"}), write(t, "t.yaml", tinyYAML)
	golden{
		args: "jar " + jar + " " + fluxClass + " -d " + file, stdout: tinyShown,
		stderr: "warning: " + file + ":3:3: s runs s.py, which is not in " + jar + "!/resources\n",
	}.check(t, newFake(), "")
}

// TestFluxJarLocal is the command line of streamparse's `sparse run`. Scripts run
// in what the jar has.
func TestFluxJarLocal(t *testing.T) {
	alone(t)
	t.Setenv("TMPDIR", t.TempDir())
	out := filepath.Join(t.TempDir(), "out")
	name, adapter, err := multilang.AdapterFile("python")
	if err != nil {
		t.Fatal(err)
	}
	jar := jarOf(t, [2]string{"META-INF/MANIFEST.MF", "x"}, [2]string{"resources/sum.py", toFile}, [2]string{"resources/" + name, string(adapter)})
	file := write(t, "t.yaml", localYAML(out))
	f := newFake()
	f.program = withNumbers()
	got := f.run(t.Context(), "", "jar", jar, fluxClass, "--local", "--no-splash", "--sleep", "9223372036854775807", file)
	if got.code != 0 || !strings.HasPrefix(got.stdout, "topology t\n") || len(f.changes) > 0 {
		t.Errorf("%+v, did %q", got, f.changes)
	}
	text, err := os.ReadFile(out)
	if n := strings.Count(string(text), "\n"); n != 3 {
		t.Errorf("the script wrote %q, %v", text, err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestFluxJarNeedsJava: what only Java can run is left to it.
func TestFluxJarNeedsJava(t *testing.T) {
	alone(t)
	home, java := stormRelease(t), t.TempDir()
	script(t, filepath.Join(java, "bin", "java"), "0")
	t.Setenv("JAVA_HOME", java)
	t.Setenv(stormHome, home)
	jar, file := jarOf(t, [2]string{"resources/s.py", "x"}), write(t, "t.yaml", "name: t\nspouts:\n- {id: s, className: org.example.Spout}\n")
	got := newFake().run(t.Context(), "", "jar", jar, fluxClass, "--remote", file)
	if want := fluxClass + "\n--remote\n" + file + "\n"; got.code != 0 || !strings.HasSuffix(got.stdout, want) || got.stderr != "said\n" {
		t.Errorf("%+v", got)
	}
	// A mistake that Java would not run either is told here.
	file = write(t, "t.yaml", "name: t\nspouts: 3\n")
	got = newFake().run(t.Context(), "", "jar", jar, fluxClass, "--remote", file)
	if got.code != 1 || !strings.Contains(got.stderr, file+":2:9: spouts: is 3; it must be a list of spouts\n") {
		t.Errorf("%+v", got)
	}
}
