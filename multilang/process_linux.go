package multilang

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// tie has the system kill the process when the thread that started it ends,
// which is when the worker does: see shell.run.
func tie(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// killMarked kills every process with the mark in its environment: what left
// the group, for a session of its own. It reports whether there was any.
func killMarked(mark string) (found bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return false
	}
	want := []byte(markVariable + "=" + mark + "\x00")
	self := os.Getpid()
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self {
			continue
		}
		env, err := os.ReadFile("/proc/" + name + "/environ")
		if err != nil || !bytes.Contains(env, want) {
			continue // gone, a zombie, or another user's
		}
		if unix.Kill(pid, unix.SIGKILL) == nil {
			found = true
		}
	}
	return found
}

// doing describes what a process does at the moment.
func doing(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "gone"
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	switch {
	case strings.HasPrefix(rest, "R"):
		return "running"
	case strings.HasPrefix(rest, "T"), strings.HasPrefix(rest, "t"):
		return "stopped"
	case strings.HasPrefix(rest, "D"):
		return "waiting for the disk"
	case strings.HasPrefix(rest, "Z"):
		return "dead"
	default:
		return "asleep"
	}
}
