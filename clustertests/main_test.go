package clustertests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// program is the stormring under test.
var program string

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	program = os.Getenv("STORMRING_BINARY")
	if program == "" {
		dir, err := os.MkdirTemp("", "stormring-clustertests-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "stormring")
		build := exec.Command("go", "build", "-o", program, "./cmd/stormring")
		build.Dir = ".."
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
			return 1
		}
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// soak tells that there is time for the long variants.
func soak() bool { return os.Getenv("STORMRING_SOAK") != "" }

// slow leaves out a test where only quick ones are wanted.
func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("tests with whole clusters are too slow for -short")
	}
}

// seeded is this run's randomness, told so that it can be had again.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("STORMRING_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("STORMRING_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("STORMRING_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
