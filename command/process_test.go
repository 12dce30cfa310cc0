package command

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stormring/stormring/storm"
)

// asStuck makes a process of this test binary run a topology that hangs.
const asStuck = "STORMRING_TEST_STUCK"

// stuck is a program whose bolt never comes back.
func stuck() {
	hang := func(int64) {
		fmt.Fprintln(os.Stderr, "stuck")
		select {}
	}
	storm.Main(Run, storm.Program{Topologies: []storm.Definition{ticking(hang)}})
}

// TestSecondSignal: the first signal lets what is under way finish; the second
// ends what never does.
func TestSecondSignal(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "local", "ticking")
	cmd.Env = append(os.Environ(), asStuck+"=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer overdue.Stop()
	lines := bufio.NewScanner(stderr)
	await := func(want string) {
		for lines.Scan() && lines.Text() != want {
			t.Log(lines.Text())
		}
	}
	await("stuck")
	cmd.Process.Signal(os.Interrupt)
	await("interrupted: finishing what is under way; once more ends at once")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	// Signals that come within a moment may be taken for one.
	for again := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-again.C:
			cmd.Process.Signal(os.Interrupt)
			continue
		case <-ended:
			again.Stop()
		}
		break
	}
	if got := cmd.ProcessState.String(); got != "signal: interrupt" {
		t.Errorf("got %s", got)
	}
}
