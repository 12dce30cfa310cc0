//go:build !linux

package transport

import (
	"net"
	"syscall"
)

// tune does nothing here: control frames may wait behind the kernel's buffer.
func tune(net.Conn) {}

// counts are not known here.
func counts(syscall.RawConn) (counters, bool) { return counters{}, false }
