package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// polyglotYAML prepares a YAML of topologies/polyglot in a folder of its own, as
// its README says, to count a file into another.
func polyglotYAML(t *testing.T, language, input, output string) (path string) {
	t.Helper()
	dir, from := t.TempDir(), filepath.Join("..", "..", "topologies", "polyglot")
	if err := os.CopyFS(filepath.Join(dir, "resources"), os.DirFS(filepath.Join(from, "resources"))); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(from, language+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	yaml := string(text)
	for old, own := range map[string]string{
		"# constructorArgs: [/srv/books/moby-dick.txt]": "constructorArgs: [" + input + "]",
		"# constructorArgs: [/tmp/counts.tsv]":          "constructorArgs: [" + output + "]",
	} {
		if strings.Count(yaml, old) != 1 {
			t.Fatalf("%s.yaml has not once %q", language, old)
		}
		yaml = strings.Replace(yaml, old, own, 1)
	}
	path = filepath.Join(dir, language+".yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// interpreter sees to it that a language is there.
func interpreter(t *testing.T, language string) {
	t.Helper()
	program := strings.Replace(language, "python", "python3", 1)
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join("..", "..", "scripts", "interpreters"), program).CombinedOutput()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("%v\n%s", err, out)
	default:
		t.Skipf("%v\n%s", err, out)
	}
}

const polyglotText = "the cow jumped over the moon\r\n\nan apple a day d\u00e9j\u00e0\u3000vu \"the\""

func polyglotInput(t *testing.T) (input, want string) {
	t.Helper()
	text := strings.Repeat(polyglotText+"\n", 200) + polyglotText
	input = filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(input, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return input, tsv(tally(text))
}

// TestPolyglotYAML runs the YAMLs of the sample in this process.
func TestPolyglotYAML(t *testing.T) {
	for _, language := range []string{"python", "node", "ruby"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			interpreter(t, language)
			input, want := polyglotInput(t)
			output := filepath.Join(t.TempDir(), "counts")
			code, stdout, stderr := stormring(t, "flux", polyglotYAML(t, language, input, output), "--local").run(t)
			if code != 0 || stdout != "" {
				t.Fatalf("code %d, %q\n%s", code, stdout, stderr)
			}
			if got, err := os.ReadFile(output); string(got) != want {
				t.Errorf("counted %s, %v", got, err)
			}
		})
	}
}

// TestPolyglotOnACluster submits a YAML, with its resources behind this program,
// and the sample in Go.
func TestPolyglotOnACluster(t *testing.T) {
	interpreter(t, "python")
	input, want := polyglotInput(t)
	cluster := stormring(t, "local", "-c", "nimbus.thrift.port=0", "-c", "storm.local.hostname=127.0.0.1")
	started := &watched{}
	cluster.Stdout = started
	cluster.start(t)
	started.await(t, "\n")
	_, addr, _ := strings.Cut(strings.TrimSpace(started.String()), "nimbus: ")
	host, port, _ := strings.Cut(addr, ":")
	to := []string{"-c", "nimbus.seeds=[\"" + host + "\"]", "-c", "nimbus.thrift.port=" + port,
		"-c", "topology.environment={\"" + asProgram + "\": \"1\"}"} // for workers, which have little of ours
	dir := t.TempDir()
	byYAML, byGo := filepath.Join(dir, "yaml"), filepath.Join(dir, "go")
	for _, args := range [][]string{
		append([]string{"flux", polyglotYAML(t, "python", input, byYAML)}, to...),
		append(append([]string{"submit"}, to...), "polyglot", "--counter", "python", "--output", byGo, input),
	} {
		if code, _, stderr := stormring(t, args...).run(t); code != 0 {
			t.Fatalf("%q: code %d\n%s", args, code, stderr)
		}
	}
	for _, output := range []string{byYAML, byGo} {
		overdue := time.After(patience / 2)
		look := time.NewTicker(50 * time.Millisecond)
		for got := []byte(nil); string(got) != want; got, _ = os.ReadFile(output) { // not there at first
			select {
			case <-look.C:
			case <-overdue:
				t.Fatalf("%s has %q\n%s", output, got, cluster.err.String())
			}
		}
		look.Stop()
	}
	if err := cluster.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := cluster.end(t); code != 0 && code != 130 {
		t.Errorf("the cluster ended with code %d\n%s", code, cluster.err.String())
	}
}
