package adapters_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// language is an adapter and how it is run.
type language struct {
	name  string
	file  string // the adapter
	ext   string // of the components in testdata
	argv  []string
	needs []string // as scripts/interpreters calls them
}

var (
	python = language{name: "python", file: "python/stormring.py", ext: ".py", argv: []string{"python3"}, needs: []string{"python3"}}
	node   = language{name: "node", file: "node/stormring.js", ext: ".js", argv: []string{"node"}, needs: []string{"node"}}
	ruby   = language{name: "ruby", file: "ruby/stormring.rb", ext: ".rb", argv: []string{"ruby"}, needs: []string{"ruby"}}
	posix  = language{name: "posix", file: "posix/stormring.sh", ext: ".sh", argv: []string{"sh"}, needs: []string{"jq"}}
)

var languages = []language{python, node, ruby, posix}

// full are the languages that do all; the shell has only text.
var full = []language{python, node, ruby}

// each runs f once for every language, side by side.
func each(t *testing.T, langs []language, f func(*testing.T, language)) {
	t.Helper()
	for _, l := range langs {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.require(t)
			f(t, l)
		})
	}
}

// require sees to it that there is an interpreter.
func (l language) require(tb testing.TB) {
	tb.Helper()
	for _, name := range l.needs {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		out, err := exec.CommandContext(tb.Context(), filepath.Join("..", "..", "scripts", "interpreters"), name).CombinedOutput()
		switch {
		case err == nil:
		case os.Getenv("CI") != "":
			tb.Fatalf("%s: %v\n%s", name, err, out)
		default:
			tb.Skipf("%s: %v\n%s", name, err, out)
		}
	}
}

// install puts the adapter, under its own name or another, and a component into
// a folder, as the resources of a topology are.
func (l language) install(tb testing.TB, component, as string) (dir string) {
	tb.Helper()
	dir = tb.TempDir()
	adapter, err := os.ReadFile(filepath.Join("..", l.file))
	if err != nil {
		tb.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("testdata", component+l.ext))
	if err != nil {
		tb.Fatal(err)
	}
	if as == "" {
		as = "stormring"
	}
	script = bytes.ReplaceAll(script, []byte("stormring"), []byte(as))
	for name, text := range map[string][]byte{as + l.ext: adapter, component + l.ext: script} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// command runs a component that was installed.
func (l language) command(ctx context.Context, dir, component string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.argv[0], append(l.argv[1:len(l.argv):len(l.argv)], component+l.ext)...) //nolint:gosec // names of ours
	cmd.Dir = dir
	// The locale of a worker is often none at all.
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PYTHONUTF8=0", "PYTHONCOERCECLOCALE=0")
	return cmd
}
