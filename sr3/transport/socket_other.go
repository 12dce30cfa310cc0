//go:build !linux

package transport

import "net"

// tune does nothing here: control frames may wait behind the kernel's buffer.
func tune(net.Conn) {}
