package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// scan is every process of this host that is seen from here.
func scan() ([]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("look through the processes: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return nil, fmt.Errorf("look through the processes: %w", err)
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return nil, fmt.Errorf("look through the processes: %w", err)
	}
	all := make([]proc, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue // not a process
		}
		p, err := readProc(pid)
		if err == nil {
			p.marker, err = readMarker(pid, space)
		}
		switch {
		case isGone(err): // just now
		case err != nil:
			return nil, fmt.Errorf("look through the processes: %w", err)
		default:
			all = append(all, p)
		}
	}
	return all, nil
}

func readProc(pid int) (proc, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{}, err
	}
	return parseStat(b)
}

// readMarker is the mark of a process of the same PID namespace. A container on
// this host may have a directory of the same name, and its processes are not
// ours.
func readMarker(pid int, space string) (string, error) {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if errors.Is(err, fs.ErrPermission) || isGone(err) {
		return "", nil // of another user; or a zombie, or of the kernel
	}
	if err != nil {
		return "", err
	}
	marker := markerIn(environ)
	if marker == "" {
		return "", nil
	}
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if isGone(err) || its != space {
		return "", nil
	}
	return marker, err
}

// isGone tells whether an error means that there is no such process.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }

// startOf is when a process started, and whether it is more than a zombie. An
// error means that it cannot be told, as without free file descriptors.
func startOf(pid int) (start uint64, alive bool, err error) {
	p, err := readProc(pid)
	if isGone(err) {
		return 0, false, nil
	}
	return p.start, err == nil && !p.zombie, err
}

// isAlive tells whether the process that started then is alive. Its mark is not
// asked for: an id that is used again has another start, and a process can
// overwrite its environment.
func isAlive(pid int, start uint64) (bool, error) {
	if pid == 0 {
		return false, nil
	}
	its, alive, err := startOf(pid)
	return alive && its == start, err
}

// bootID tells boots of the host apart; "" if that cannot be told.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// kill kills one process of which only the number is known, but not another one
// that has the same number by now.
func kill(p proc) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err == nil {
		defer unix.Close(fd)
	}
	if alive, err := isAlive(p.pid, p.start); err != nil || !alive {
		return err
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	} else {
		err = unix.Kill(p.pid, unix.SIGKILL)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", p.pid, err)
	}
	return nil
}

// bury reaps orphans of workers that became children of this process, as all
// orphans of a container become children of its first process.
func bury(handles []*Handle) error {
	self := os.Getpid()
	all, err := scan()
	if err != nil {
		return err
	}
	me, err := readProc(self)
	if err != nil {
		return err
	}
	leads := make(map[int]bool, len(handles))
	for _, h := range handles {
		leads[h.leader.pid] = true
	}
	for _, p := range all {
		// What this process started otherwise is in its own session, and is
		// waited for by whoever started it.
		if p.zombie && p.ppid == self && p.session != me.session && !leads[p.pid] {
			if _, err := unix.Wait4(p.pid, nil, unix.WNOHANG, nil); err != nil && !errors.Is(err, unix.ECHILD) {
				return err
			}
		}
	}
	return nil
}
