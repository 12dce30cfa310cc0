//go:build unix && !linux

package process

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/stormring/stormring/internal/clock"
)

// lookout waits for the end of one process by looking again and again.
type lookout struct {
	pid    int
	start  uint64
	reaped bool
	code   int
}

func look(pid int, start uint64) *lookout { return &lookout{pid: pid, start: start, code: -1} }

func (l *lookout) wait(ctx context.Context, c clock.Clock) bool { return l.poll(ctx, c) }

// over reaps the process at once if it is a child, since one that has ended
// looks alive until then.
func (l *lookout) over() bool {
	if l.pid == 0 || l.reaped {
		return true
	}
	var status unix.WaitStatus
	if pid, err := unix.Wait4(l.pid, &status, unix.WNOHANG, nil); err == nil {
		if pid != l.pid {
			return false
		}
		l.code, l.reaped = codeOf(status), true
		return true
	}
	alive, err := isAlive(l.pid, l.start)
	return err == nil && !alive
}

func (l *lookout) there() bool { return !l.reaped }

func (l *lookout) signalGroup(sig unix.Signal) error {
	if err := unix.Kill(-l.pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

func (l *lookout) close() {}

// scan knows of no processes here.
func scan() ([]proc, error) { return nil, nil }

// startOf cannot tell when.
func startOf(pid int) (start uint64, alive bool, err error) {
	alive, err = isAlive(pid, 0)
	return 0, alive, err
}

func isAlive(pid int, _ uint64) (bool, error) {
	return pid > 0 && !errors.Is(unix.Kill(pid, 0), unix.ESRCH), nil
}

func bootID() string { return "" }

func kill(p proc) error {
	if err := unix.Kill(p.pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", p.pid, err)
	}
	return nil
}

func bury([]*Handle) error { return nil }
