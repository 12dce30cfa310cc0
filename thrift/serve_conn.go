package thrift

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"
)

const (
	// maxSkip is how much of a frame that is too long is read past, so that
	// its client, which writes first and reads then, gets to the answer.
	maxSkip = 64 << 20
	// linger is how long a connection that is being closed still reads, for
	// the same reason, or writes.
	linger = time.Second
)

// serveConn answers a connection's requests until it ends. When ctx ends, no
// further request is read; when running ends, an answer must leave within a
// second.
func (s *server) serveConn(ctx, running context.Context, conn net.Conn) {
	defer conn.Close()
	noHurry := context.AfterFunc(running, func() { _ = conn.SetWriteDeadline(time.Now().Add(linger)) })
	defer noHurry()
	noWake := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer noWake()
	for s.serveOne(ctx, running, conn) {
	}
}

// readWithin sets the time until which conn may read; it is false if ctx has
// ended, whose own deadline it then might have overwritten.
func readWithin(ctx context.Context, conn net.Conn, d time.Duration) bool {
	return conn.SetReadDeadline(time.Now().Add(d)) == nil && ctx.Err() == nil
}

// serveOne handles one frame and reports whether the connection goes on.
func (s *server) serveOne(ctx, running context.Context, conn net.Conn) bool {
	// An idle connection holds nothing but these four bytes.
	var start [sizeLen]byte
	if !readWithin(ctx, conn, s.cfg.IdleTimeout) {
		return false
	}
	n, err := conn.Read(start[:])
	if n == 0 && err == nil {
		return true
	}
	if n == 0 || !readWithin(ctx, conn, s.cfg.ReadTimeout) {
		return false
	}
	if _, err = io.ReadFull(conn, start[n:]); err != nil {
		s.blame(ctx, conn, err, "a frame that ended within its length")
		return false
	}
	size := binary.BigEndian.Uint32(start[:])
	if size == 0 || size > math.MaxInt32 {
		s.foreign.note("speaks", guess(start), "peer", conn.RemoteAddr())
		return false
	}
	if int64(size) > int64(s.cfg.MaxFrame) {
		return s.refuseLong(running, conn, start, int64(size))
	}

	frame, err := readBody(conn, int(size), &s.frames)
	defer func() { s.frames.give(cap(frame)) }()
	if errors.Is(err, errFull) {
		s.refuseFull(running, conn, frame)
		return false
	}
	if err != nil {
		s.blame(ctx, conn, err, "a frame that ended early")
		return false
	}
	call, args, err := parseHead(frame)
	if err != nil {
		s.foreign.note("speaks", "frames that hold no Thrift", "peer", conn.RemoteAddr())
		return false
	}
	out := s.dispatch(ctx, running, call, args)
	held := cap(out.buf)
	if !s.frames.take(held) {
		out, held = s.full(call), 0
	}
	defer s.frames.give(held)
	return s.send(running, conn, out)
}

// send writes an answer and reports whether all of it left.
func (s *server) send(running context.Context, conn net.Conn, out *outgoing) bool {
	err := conn.SetWriteDeadline(time.Now().Add(s.cfg.ReadTimeout))
	if err == nil && running.Err() != nil {
		// It may just have set the deadline that we have overwritten.
		err = conn.SetWriteDeadline(time.Now().Add(linger))
	}
	if err == nil {
		_, err = conn.Write(out.frame())
	}
	return err == nil
}

// blame notes that a peer did not finish what it began, unless it is we who
// are ending.
func (s *server) blame(ctx context.Context, conn net.Conn, err error, what string) {
	if ctx.Err() != nil {
		return
	}
	if isTimeout(err) {
		what = fmt.Sprintf("a frame that took longer than %v", s.cfg.ReadTimeout)
	}
	s.foreign.note("speaks", what, "peer", conn.RemoteAddr())
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// refuseLong answers a frame above the limit, if it is one, and reports whether
// the connection is still of use.
func (s *server) refuseLong(running context.Context, conn net.Conn, start [sizeLen]byte, size int64) bool {
	call, err := readHead(conn)
	if err != nil {
		s.foreign.note("speaks", guess(start), "peer", conn.RemoteAddr())
		return false
	}
	s.tooLong.note("method", call.name, "bytes", size, "limit", s.cfg.MaxFrame, "key", s.cfg.Key, "peer", conn.RemoteAddr())
	out := exception(call, apache.PROTOCOL_ERROR,
		fmt.Sprintf("the request has %d bytes, more than the %d that %s allows", size, s.cfg.MaxFrame, s.cfg.Key))
	rest := size - int64(call.size)
	if rest > 0 && rest <= maxSkip {
		if _, err = io.CopyN(io.Discard, conn, rest); err == nil {
			return s.send(running, conn, out)
		}
	}
	if s.send(running, conn, out) {
		partWith(conn)
	}
	return false
}

// refuseFull answers a frame for which there is no memory left.
func (s *server) refuseFull(running context.Context, conn net.Conn, part []byte) {
	call, _, err := parseHead(part)
	if err == nil && s.send(running, conn, s.full(call)) {
		partWith(conn)
	}
}

func (s *server) full(call head) *outgoing {
	s.refused.note("reason", "bytes of requests and answers", "limit", s.cfg.MaxBuffered, "method", call.name)
	return exception(call, apache.INTERNAL_ERROR, "the server holds too many requests; try again later")
}

// partWith ends a connection whose peer may still be writing: closed at once,
// it would lose the answer that it has not read.
func partWith(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() != nil {
		return
	}
	if conn.SetReadDeadline(time.Now().Add(linger)) == nil {
		_, _ = io.CopyN(io.Discard, conn, maxSkip)
	}
}
