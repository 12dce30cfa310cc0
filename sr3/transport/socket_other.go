//go:build !linux

package transport

import (
	"net"
	"syscall"
)

// tune does nothing here: control frames may wait behind the kernel's buffer.
func tune(net.Conn) {}

// counts are not known here.
func counts(syscall.RawConn) (acked, received uint64, ok bool) { return 0, 0, false }
