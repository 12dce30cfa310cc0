package polyglot

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// need sees to it that there are interpreters.
func need(t *testing.T, languages ...string) {
	t.Helper()
	programs := map[string]string{"python": "python3", "node": "node", "ruby": "ruby", "shell": "jq"}
	for _, language := range append(languages, "python") {
		program := programs[language]
		if program == "" {
			continue
		}
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		out, err := exec.CommandContext(t.Context(), filepath.Join("..", "..", "scripts", "interpreters"), program).CombinedOutput()
		switch {
		case err == nil:
		case os.Getenv("CI") != "":
			t.Fatalf("%s: %v\n%s", program, err, out)
		default:
			t.Skipf("%s: %v\n%s", program, err, out)
		}
	}
}

// inPython runs a script with an input in JSON and reads its output in JSON.
func inPython(t *testing.T, script string, in, out any) {
	t.Helper()
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-c", script)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), os.Stderr
	said, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(said, out); err != nil {
		t.Fatal(err)
	}
}

// pythonCounts is what Python itself counts in files.
func pythonCounts(t *testing.T, paths ...string) map[string]int64 {
	t.Helper()
	var counts map[string]int64
	inPython(t, `
import collections, json, sys
c = collections.Counter()
for path in json.load(sys.stdin):
    with open(path, "rb") as f:
        c.update(f.read().decode("utf-8", "replace").split())
print(json.dumps(c))
`, paths, &counts)
	return counts
}
