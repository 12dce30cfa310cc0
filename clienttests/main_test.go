package clienttests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// scratchVariable names the folder for what all tests share.
const scratchVariable = "STORMRING_CLIENTTESTS_SCRATCH"

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "stormring-clienttests-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = os.Setenv(scratchVariable, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// isReference tells that the tests run against Storm's own nimbus, which shows
// whether it is the tests that are right.
func isReference() bool { return os.Getenv("STORMRING_REFERENCE") != "" }

// binary builds the real program, once.
var binary = sync.OnceValues(func() (string, error) {
	name := filepath.Join(os.Getenv(scratchVariable), "stormring")
	build := exec.Command("go", "build", "-o", name, "./cmd/stormring")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return name, nil
})
