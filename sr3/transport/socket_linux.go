package transport

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
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
	raw := rawOf(nc)
	if raw == nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotsentLowat, unsentBytes)
	})
}

// counts are how many bytes the kernel of the other side has confirmed, and how
// many this one has received; not ok if it does not tell.
func counts(raw syscall.RawConn) (acked, received uint64, ok bool) {
	if raw == nil {
		return 0, 0, false
	}
	var info *unix.TCPInfo
	var failed error
	err := raw.Control(func(fd uintptr) {
		info, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	})
	if err != nil || failed != nil {
		return 0, 0, false
	}
	return info.Bytes_acked, info.Bytes_received, true
}
