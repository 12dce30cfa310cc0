//go:build unix && !linux

package multilang

import (
	"os"
	"time"
)

// quiet is the reading end of a pipe.
type quiet struct{ *os.File }

func newQuiet(pipe *os.File) (*quiet, error) { return &quiet{pipe}, nil }

// pause leaves the pipe alone for a while.
func (*quiet) pause(d time.Duration) { time.Sleep(d) }

// unread reports whether there is something to read; false if that cannot be
// told.
func (q *quiet) unread() (yes bool) {
	conn, err := q.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Control(func(fd uintptr) { yes = readable(int(fd)) })
	return err == nil && yes
}
