package transport

import (
	"net"
	"syscall"
	"time"

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

// counts is what the kernel tells of a connection; not ok if it does not.
func counts(raw syscall.RawConn) (k counters, ok bool) {
	if raw == nil {
		return counters{}, false
	}
	var info *unix.TCPInfo
	var failed error
	err := raw.Control(func(fd uintptr) {
		info, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	})
	if err != nil || failed != nil {
		return counters{}, false
	}
	busy := info.Busy_time - min(info.Rwnd_limited, info.Busy_time)
	return counters{acked: info.Bytes_acked, received: info.Bytes_received, busy: time.Duration(busy) * time.Microsecond}, true
}
