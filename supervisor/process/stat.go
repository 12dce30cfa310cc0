//go:build unix

package process

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// proc is a process as /proc shows it.
type proc struct {
	pid, ppid, session int
	// start is in clock ticks since the boot.
	start  uint64
	zombie bool
	// marker is the value of MarkerEnv; "" if it has none, or none that may be
	// seen.
	marker string
}

// parseStat reads /proc/<pid>/stat: "pid (name) state ppid group session …",
// of which the 22nd is the start. The name may have anything in it.
func parseStat(b []byte) (proc, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return proc{}, fmt.Errorf("stat of a process without a name: %.60q", b)
	}
	fields := bytes.Fields(b[end+1:])
	if len(fields) < 20 || len(fields[0]) != 1 {
		return proc{}, fmt.Errorf("stat of a process is too short: %.60q", b)
	}
	pid, err1 := strconv.Atoi(string(bytes.TrimSpace(b[:open])))
	ppid, err2 := strconv.Atoi(string(fields[1]))
	session, err3 := strconv.Atoi(string(fields[3]))
	start, err4 := strconv.ParseUint(string(fields[19]), 10, 64)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return proc{}, fmt.Errorf("stat of a process: %w", err)
	}
	state := fields[0][0]
	return proc{pid: pid, ppid: ppid, session: session, start: start, zombie: state == 'Z' || state == 'X' || state == 'x'}, nil
}

// markerIn is the value of MarkerEnv in an environment of /proc.
func markerIn(environ []byte) string {
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if dir, ok := bytes.CutPrefix(v, []byte(MarkerEnv+"=")); ok {
			return string(dir)
		}
	}
	return ""
}
