package transport

import (
	"net"
	"syscall"
)

const (
	// tcpNotsentLowat is Linux's TCP_NOTSENT_LOWAT.
	tcpNotsentLowat = 25
	// unsentBytes is what the kernel keeps beyond what is on its way, so that a
	// control frame does not queue behind megabytes in a buffer.
	unsentBytes = 512 * kib
)

// tune sets what makes control frames pass bulk. What fails is no more than
// that: slower control.
func tune(nc net.Conn) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotsentLowat, unsentBytes)
	})
}
