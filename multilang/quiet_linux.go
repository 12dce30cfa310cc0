package multilang

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// quiet is the reading end of a pipe of which the runtime hears nothing during a
// pause. It would else be woken by every write to the pipe, which for a child
// that writes message by message is most of what it does.
//
// The runtime watches a set that has the pipe in it, so that the pipe can be
// muted.
type quiet struct {
	pipe  int
	set   *os.File
	conn  syscall.RawConn
	fd    int // of set
	muted bool
	// try is attempt, made once. It reads into into.
	try  func(uintptr) bool
	into []byte
	n    int
	err  error
}

// newQuiet takes over a pipe.
func newQuiet(pipe *os.File) (*quiet, error) {
	defer pipe.Close()
	q := &quiet{}
	q.try = q.attempt
	conn, err := pipe.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("a pipe: %w", err)
	}
	var dupErr error
	if err := conn.Control(func(fd uintptr) { q.pipe, dupErr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); err != nil || dupErr != nil {
		return nil, fmt.Errorf("a pipe: %w", errors.Join(err, dupErr))
	}
	if err := q.watch(); err != nil {
		unix.Close(q.pipe)
		return nil, fmt.Errorf("a pipe cannot be watched: %w", err)
	}
	return q, nil
}

// watch makes the set.
func (q *quiet) watch() (err error) {
	if q.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	err = errors.Join(
		unix.SetNonblock(q.fd, true), // for the runtime to watch it
		unix.EpollCtl(q.fd, unix.EPOLL_CTL_ADD, q.pipe, &unix.EpollEvent{Events: unix.EPOLLIN}),
	)
	if err != nil {
		unix.Close(q.fd)
		return err
	}
	q.set = os.NewFile(uintptr(q.fd), "output of a child")
	if q.conn, err = q.set.SyscallConn(); err != nil {
		q.set.Close()
	}
	return err
}

// Read implements io.Reader.
func (q *quiet) Read(b []byte) (int, error) {
	q.into = b
	err := q.conn.Read(q.try)
	q.into = nil
	switch {
	case err != nil:
		return 0, err
	case q.err != nil:
		return 0, fmt.Errorf("read from a child: %w", q.err)
	case q.n == 0:
		return 0, io.EOF
	}
	return q.n, nil
}

// attempt reads what there is; false if there is nothing, and the runtime
// watches the pipe.
func (q *quiet) attempt(uintptr) bool {
	for {
		q.n, q.err = unix.Read(q.pipe, q.into)
		switch {
		case errors.Is(q.err, unix.EINTR):
		case errors.Is(q.err, unix.EAGAIN) && q.muted:
			// The runtime is not told of what came before, so look again.
			if q.err = q.mute(false); q.err != nil {
				return true
			}
		default:
			return !errors.Is(q.err, unix.EAGAIN)
		}
	}
}

// mute has the runtime hear nothing of the pipe, or hear of what comes from now
// on.
func (q *quiet) mute(on bool) error {
	if on == q.muted {
		return nil
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN}
	if on {
		event.Events = 0
	}
	if err := unix.EpollCtl(q.fd, unix.EPOLL_CTL_MOD, q.pipe, &event); err != nil {
		return fmt.Errorf("watch a pipe: %w", err)
	}
	q.muted = on
	return nil
}

// pause leaves the pipe alone for less than a millisecond. Timers cannot do
// that: the runtime rounds them up when it is idle.
func (q *quiet) pause(d time.Duration) {
	if q.mute(true) != nil {
		return // Read tells of it
	}
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&t, nil) // a signal may end it early, which is all right
}

// SetReadDeadline is as os.File's.
func (q *quiet) SetReadDeadline(t time.Time) error { return q.set.SetReadDeadline(t) }

// Close must not be called during Read.
func (q *quiet) Close() error { return errors.Join(q.set.Close(), unix.Close(q.pipe)) }

// unread reports whether there is something to read. It must not be called
// after Close.
func (q *quiet) unread() bool { return readable(q.pipe) }
