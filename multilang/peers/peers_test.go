package peers_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stormring/stormring/multilang"
)

// peer is a library in its interpreter.
type peer struct {
	name    string
	ext     string // of the components in testdata
	release string // of Storm; "" is pystorm
	program string // the interpreter; "" is the Python of pystorm
}

var (
	python  = peer{name: "storm.py", ext: ".py", release: "2.8", program: "python3"}
	node    = peer{name: "storm.js", ext: ".js", release: "2.8", program: "node"}
	ruby    = peer{name: "storm.rb", ext: ".rb", release: "2.8", program: "ruby"}
	oldNode = peer{name: "storm.js of 1.0", ext: ".js", release: "1.0", program: "node"}
	oldRuby = peer{name: "storm.rb of 1.0", ext: ".rb", release: "1.0", program: "ruby"}
	pystorm = peer{name: "pystorm", ext: ".py"}
)

// The storm.py of 1.0 runs on Python 2 only.
var (
	current = []peer{python, node, ruby}
	all     = []peer{python, node, ruby, oldNode, oldRuby}
)

// each runs f once for every peer, side by side.
func each(t *testing.T, peers []peer, f func(*testing.T, peer)) {
	t.Helper()
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			f(t, p)
		})
	}
}

// has is what scripts can fetch, each once.
var has = map[string]func() (string, error){
	"2.8":     sync.OnceValues(func() (string, error) { return script("peers", "storm", "2.8") }),
	"1.0":     sync.OnceValues(func() (string, error) { return script("peers", "storm", "1.0") }),
	"":        sync.OnceValues(func() (string, error) { return script("peers", "python") }),
	"python3": sync.OnceValues(func() (string, error) { return interpreter("python3", "-c", "import sys; print(sys.executable)") }),
	"node":    sync.OnceValues(func() (string, error) { return interpreter("node", "-p", "process.execPath") }),
	"ruby":    sync.OnceValues(func() (string, error) { return interpreter("ruby", "-e", "puts RbConfig.ruby") }),
}

// script runs one of scripts/ and returns what it prints.
func script(name string, args ...string) (string, error) {
	return output(filepath.Join("..", "..", "scripts", name), args...)
}

// interpreter finds the program itself, past what may stand before it. where
// has it print its path.
func interpreter(name string, where ...string) (string, error) {
	if _, err := exec.LookPath(name); err != nil {
		if _, err := script("interpreters", name); err != nil {
			return "", err
		}
	}
	return output(name, where...)
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		err = errors.New(strings.TrimSpace(string(e.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// fetch is what scripts know under a name.
func fetch(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("real interpreters are too slow for -short")
	}
	path, err := has[name]()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("%q: %v", name, err)
	default:
		t.Skipf("%q: %v", name, err)
	}
	return path
}

// spec is a component of testdata, in a folder of its own as the resources of a
// topology are, with the library beside it.
func (p peer) spec(t *testing.T, component string, args ...string) multilang.Spec {
	t.Helper()
	dir, family := t.TempDir(), "pystorm"
	files := map[string]string{}
	if p.release != "" {
		family = "storm"
		files["storm"+p.ext] = filepath.Join(fetch(t, p.release), "storm"+p.ext)
	}
	files[component+p.ext] = filepath.Join("testdata", family, component+p.ext)
	for name, from := range files {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return multilang.Spec{
		Argv: append([]string{fetch(t, p.program), component + p.ext}, args...), Dir: dir, PIDDir: filepath.Join(dir, "pids"),
		// The locale of a worker is often none at all.
		Env: []string{"LC_ALL=C", "PYTHONUTF8=0", "PYTHONCOERCECLOCALE=0", "PYTHONDONTWRITEBYTECODE=1"},
	}
}
