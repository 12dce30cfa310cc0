package zk

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"
)

// Codes of requests, as they are on the wire.
const (
	opPing       = 11
	opSetWatches = 101
	opClose      = -11
)

// greeting is how ZooKeeper answers a connection.
type greeting struct {
	session  int64
	timeout  time.Duration
	password [16]byte
}

// greetingBytes is the length of a greeting: its own length, the protocol,
// the time-out, the session, the length of the password, the password.
const greetingBytes = 4 + 4 + 4 + 8 + 4 + 16

func parseGreeting(b []byte) greeting {
	g := greeting{
		timeout: time.Duration(binary.BigEndian.Uint32(b[8:])) * time.Millisecond,
		session: int64(binary.BigEndian.Uint64(b[12:])),
	}
	copy(g.password[:], b[24:])
	return g
}

// link is a connection as the library sees it. It reads along what the library
// does not tell, the time-out that was granted, and bounds the time until then.
//
// And on all connections but the first it puts a request first that sets the
// watches anew. The library sends it at some time after it has begun to serve
// calls, asking for what has changed since its last answer: were that answer to
// a call on the new connection, changes before that would go untold.
type link struct {
	net.Conn
	greet func(greeting)

	// The library reads in one goroutine and writes in one.
	until time.Time // of the greeting
	head  []byte    // of what was read, as long as it is no greeting

	begun bool // the first request is written, which has no code
	hold  bool // requests wait for that of the watches
	held  []byte
}

// Read implements net.Conn.
func (l *link) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if len(l.head) < greetingBytes {
		l.head = append(l.head, b[:n]...)
		if len(l.head) >= greetingBytes {
			l.greet(parseGreeting(l.head))
		}
	}
	return n, err
}

// SetReadDeadline implements net.Conn. What the library asks for before the
// greeting is far too long, or nothing.
func (l *link) SetReadDeadline(t time.Time) error {
	if len(l.head) < greetingBytes {
		t = l.until
	}
	return l.Conn.SetReadDeadline(t)
}

// Write implements net.Conn. The library writes request by request.
func (l *link) Write(b []byte) (int, error) {
	if !l.begun || !l.hold || len(b) < 12 {
		l.begun = true
		return l.Conn.Write(b)
	}
	switch int32(binary.BigEndian.Uint32(b[8:])) {
	case opClose:
		return l.Conn.Write(b)
	case opSetWatches, opPing: // by the first ping it should have come
		l.hold = false
		n, err := l.Conn.Write(b)
		if err == nil && len(l.held) > 0 {
			_, err = l.Conn.Write(l.held)
		}
		l.held = nil
		return n, err
	default:
		l.held = append(l.held, b...)
		return len(b), nil
	}
}

// dial makes a connection for the library.
func (s *session) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if isClosed(s.done) {
		return s.farewell(), nil
	}
	if err := s.route.pause(ctx); err != nil {
		return nil, err
	}
	until := time.Now().Add(s.route.share())
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	conn, err := s.cfg.Dial(ctx, network, address)
	if err != nil {
		s.route.failed(fmt.Errorf("dial %s: %w", address, err))
		return nil, err
	}
	s.route.failed(fmt.Errorf("%s does not greet", address)) // until it does
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		s.link.Close() // of an expired session the library does not
	}
	s.link = &link{Conn: conn, greet: s.greeted, until: until, hold: s.anchored}
	return s.link, nil
}

func (s *session) greeted(g greeting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.session != 0 { // else it has expired; its number stays
		s.greeting = g
	}
}
