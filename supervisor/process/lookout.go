//go:build unix

package process

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stormring/stormring/internal/clock"
)

// pollEvery is how often a process is looked at that the system does not tell
// the end of.
const pollEvery = 100 * time.Millisecond

// poll waits for the end of a process by looking again and again.
func (l *lookout) poll(ctx context.Context, c clock.Clock) bool {
	for !l.over() {
		if !rest(ctx, c, pollEvery) {
			return false
		}
	}
	return true
}

// reap takes the exit code of a process that ended, if it is a child of this
// one, and lets its number go; else the code is -1.
func (l *lookout) reap() int {
	if l.pid == 0 || l.reaped || !l.there() {
		return l.code
	}
	var status unix.WaitStatus
	for {
		pid, err := unix.Wait4(l.pid, &status, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && pid == l.pid {
			l.code = codeOf(status)
		}
		l.reaped = true
		return l.code
	}
}

func codeOf(status unix.WaitStatus) int {
	switch {
	case status.Exited():
		return status.ExitStatus()
	case status.Signaled():
		return 128 + int(status.Signal())
	default:
		return -1
	}
}
