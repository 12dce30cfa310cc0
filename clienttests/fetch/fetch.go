// Package fetch gets real clients of Storm for tests, through scripts/clients.
package fetch

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Client runs scripts/clients and returns what it prints. It is for packages of tests
// one level below the project's root. Without the tools in needs the test is skipped,
// except where CI is set: there the script installs them, or the test fails.
func Client(tb testing.TB, needs []string, args ...string) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("real clients are too slow for -short")
	}
	if os.Getenv("CI") == "" {
		for _, tool := range needs {
			if _, err := exec.LookPath(tool); err != nil {
				tb.Skipf("there is no %s here; as root on Debian, CI=1 installs it", tool)
			}
		}
	}
	out, err := exec.CommandContext(tb.Context(), "../scripts/clients", args...).Output()
	if err != nil {
		detail := err.Error()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			detail += "\n" + string(exit.Stderr)
		}
		tb.Fatalf("scripts/clients %s: %s", strings.Join(args, " "), detail)
	}
	return strings.TrimSpace(string(out))
}
