//go:build unix

package multilang

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// startProcess tries again while the program is "busy": a file that was just
// written is so as long as a child of some other goroutine, between fork and
// exec, has it open for writing.
func startProcess(cmd *exec.Cmd) error {
	const tries, pause = 20, 10 * time.Millisecond
	for i := 1; ; i++ {
		err := cmd.Start()
		if i == tries || !errors.Is(err, unix.ETXTBSY) {
			return err
		}
		again := *cmd
		*cmd = exec.Cmd{
			Path: again.Path, Args: again.Args, Env: again.Env, Dir: again.Dir,
			Stdin: again.Stdin, Stdout: again.Stdout, Stderr: again.Stderr, SysProcAttr: again.SysProcAttr,
		}
		<-time.After(pause)
	}
}

// own puts a process into a group of its own.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	tie(cmd.SysProcAttr)
}

// terminate asks the group of a process to end.
func terminate(pid int) error { return unix.Kill(-pid, unix.SIGTERM) }

// killGroup kills a process and those in its group.
func killGroup(pid int) error {
	err := unix.Kill(-pid, unix.SIGKILL)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// readable reports whether there are bytes in a pipe.
func readable(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // it is a file's
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLIN != 0
}

// isGone tells the error of a pipe that nobody reads any more.
func isGone(err error) bool { return errors.Is(err, unix.EPIPE) || errors.Is(err, os.ErrClosed) }
