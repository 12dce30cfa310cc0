package clienttests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// clients runs scripts/clients and returns what it prints. Without the tools
// in needs the test is skipped, except where CI is set: there the script
// installs them, or the test fails.
func clients(t *testing.T, needs []string, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("real clients are too slow for -short")
	}
	if os.Getenv("CI") == "" {
		for _, tool := range needs {
			if _, err := exec.LookPath(tool); err != nil {
				t.Skipf("there is no %s here; as root on Debian, CI=1 installs it", tool)
			}
		}
	}
	out, err := exec.CommandContext(t.Context(), "../scripts/clients", args...).Output()
	if err != nil {
		detail := err.Error()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			detail += "\n" + string(exit.Stderr)
		}
		t.Fatalf("scripts/clients %s: %s", strings.Join(args, " "), detail)
	}
	return strings.TrimSpace(string(out))
}
