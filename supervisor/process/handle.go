//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Handle is a worker that may be alive. It is safe for concurrent use.
type Handle struct {
	m       *Manager
	id      string
	logs    *logs
	leader  *lookout
	adopted bool
	done    chan struct{}
	code    int       // set before done is closed
	ended   time.Time // of the leader; set before done is closed

	mu     sync.Mutex
	reaped bool // the leader's id may be another's by now
}

func newHandle(m *Manager, worker string, logs *logs, leader *lookout) *Handle {
	return &Handle{m: m, id: worker, logs: logs, leader: leader, done: make(chan struct{}), code: -1}
}

// WorkerID is the id that the worker was started with.
func (h *Handle) WorkerID() string { return h.id }

// PID is the process id of the worker's leader, or 0 if only others were found
// of the worker and it is not known. It can be another process's once the
// leader is gone.
func (h *Handle) PID() int { return h.leader.pid }

// Adopted tells that an earlier supervisor started it.
func (h *Handle) Adopted() bool { return h.adopted }

// Done is closed when the worker is gone with all that it started. What its
// leader leaves behind is killed. It is not closed any more once the Manager is.
func (h *Handle) Done() <-chan struct{} { return h.done }

// ExitCode is the exit code of the leader once Done is closed: 128 and the
// signal's number if a signal ended it, and -1 if it is not known, as for an
// adopted one.
func (h *Handle) ExitCode() int {
	select {
	case <-h.done:
		return h.code
	default:
		return -1
	}
}

// Ended is when the leader was seen to end, which is before what it left behind was
// cleared away; known once Done is closed.
func (h *Handle) Ended() time.Time {
	select {
	case <-h.done:
		return h.ended
	default:
		return time.Time{}
	}
}

// Terminate asks the worker to end: SIGTERM to its process group. It is no
// error if it is gone.
func (h *Handle) Terminate() error {
	if err := h.signalGroup(unix.SIGTERM); err != nil {
		return fmt.Errorf("terminate worker %s, process %d: %w", h.id, h.PID(), err)
	}
	return nil
}

// Kill ends by force the worker and all that it started, even what left its
// process group. It does not wait for the end. It is no error if it is gone.
func (h *Handle) Kill() error {
	select {
	case <-h.done:
		return nil
	default:
	}
	// First, since what the leader started is not known as that without it.
	others, err := h.others()
	errs := []error{err, h.signalGroup(unix.SIGKILL)}
	for _, p := range others {
		errs = append(errs, kill(p))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("kill worker %s, process %d: %w", h.id, h.PID(), err)
	}
	return nil
}

func (h *Handle) signalGroup(sig unix.Signal) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reaped || h.leader.pid == 0 {
		return nil
	}
	return h.leader.signalGroup(sig)
}

// others are the living processes of the worker other than its leader.
func (h *Handle) others() ([]proc, error) {
	all, err := scan()
	if err != nil {
		return nil, err
	}
	return belonging(all, h.leader.pid, h.leader.start, h.m.Dir(h.id)), nil
}

// watch waits for the worker's end and sees to it that nothing is left of it.
func (h *Handle) watch(ctx context.Context) {
	if !h.leader.wait(ctx, h.m.clock) {
		return // the Manager is closed
	}
	h.ended = h.m.clock.Now()
	if !h.clearOthers(ctx) {
		return
	}
	h.mu.Lock()
	// Only now, so that its group's id could not become another's.
	h.code = h.leader.reap()
	h.reaped = true
	h.mu.Unlock()
	h.m.remove(h.id)
	h.leader.close()
	close(h.done)
}

// clearOthers kills what the leader left behind and waits for its end; false if
// ctx was done first.
func (h *Handle) clearOthers(ctx context.Context) bool {
	for first := true; ; first = false {
		err := h.signalGroup(unix.SIGKILL)
		others, scanErr := h.others()
		if err := errors.Join(err, scanErr); err != nil && first {
			h.complain(err)
		}
		if scanErr != nil {
			if !rest(ctx, h.m.clock, time.Second) {
				return false
			}
			continue
		}
		if len(others) == 0 {
			return true
		}
		for _, p := range others {
			if err := kill(p); err != nil {
				h.complain(err) // once: it is waited for below
			}
		}
		for _, p := range others {
			l := look(p.pid, p.start)
			ok := l.wait(ctx, h.m.clock)
			l.close()
			if !ok {
				return false
			}
			l.reap() // if it became our child
		}
	}
}

func (h *Handle) complain(err error) {
	h.m.log.Error("what a worker left behind cannot be killed; end it by hand", "worker", h.id, "err", err)
}
