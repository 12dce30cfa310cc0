package process

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stormring/stormring/internal/clock"
)

// lookout waits for the end of one process, whoever's child it is.
type lookout struct {
	pid   int // 0 for a process that is gone already
	start uint64
	// fd is the process's pidfd, through which the runtime's poller tells of
	// its end; nil if the system has none, or if the process is gone.
	fd *os.File

	reaped bool
	code   int
}

// look begins to look out for the end of a process. pid 0 is one that has ended.
func look(pid int, start uint64) *lookout {
	l := &lookout{pid: pid, start: start, code: -1}
	if pid == 0 {
		return l
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return l
	}
	// It is surely that of our process only if that is still there.
	if !l.there() {
		unix.Close(fd)
		return l
	}
	l.fd = os.NewFile(uintptr(fd), "pidfd")
	return l
}

// wait waits for the end of the process; false if ctx was done first.
func (l *lookout) wait(ctx context.Context, c clock.Clock) bool {
	if l.pid == 0 {
		return true
	}
	if l.fd == nil {
		return l.poll(ctx, c)
	}
	conn, err := l.fd.SyscallConn()
	if err != nil {
		return l.poll(ctx, c)
	}
	stop := context.AfterFunc(ctx, func() {
		// This fails only if the poller does not know it, and then it does
		// not block either.
		_ = l.fd.SetReadDeadline(time.Unix(1, 0))
	})
	defer stop()
	err = conn.Read(func(fd uintptr) bool { return readable(int(fd)) })
	if err == nil {
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	return l.poll(ctx, c)
}

func readable(fd int) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n > 0
	}
}

// over tells whether the process has ended.
func (l *lookout) over() bool {
	alive, err := isAlive(l.pid, l.start)
	return err == nil && !alive
}

// there tells whether its number is still that of the process, if only as a
// zombie's.
func (l *lookout) there() bool {
	p, err := readProc(l.pid)
	return err == nil && p.start == l.start
}

// signalGroup sends a signal to the process group that the process leads. It is
// not for one that was reaped.
func (l *lookout) signalGroup(sig unix.Signal) error {
	err := l.signalFD(sig)
	if errors.Is(err, errors.ErrUnsupported) {
		if !l.there() {
			return nil
		}
		err = unix.Kill(-l.pid, sig)
	}
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// signalFD is for Linux 6.9 and later.
func (l *lookout) signalFD(sig unix.Signal) error {
	if l.fd == nil {
		return errors.ErrUnsupported
	}
	conn, err := l.fd.SyscallConn()
	if err != nil {
		return errors.ErrUnsupported
	}
	var sent error
	err = conn.Control(func(fd uintptr) {
		sent = unix.PidfdSendSignal(int(fd), sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
	})
	if err != nil || errors.Is(sent, unix.EINVAL) || errors.Is(sent, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	return sent
}

func (l *lookout) close() {
	if l.fd != nil {
		l.fd.Close()
	}
}
