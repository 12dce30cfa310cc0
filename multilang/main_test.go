package multilang

import (
	"os/exec"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// interpreter finds python3 itself, past what may stand before it.
var interpreter = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(out)), err
})

// python is the interpreter of the tests' children. It is no reason to skip if
// there is none: scripts/ installs it.
func python(tb testing.TB) string {
	tb.Helper()
	path, err := interpreter()
	if err != nil {
		tb.Fatalf("python3 is needed: %v", err)
	}
	return path
}
