package zk

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
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

// link is a connection as the library sees it. It puts right what the library
// cannot be told:
//
//   - It reads along for the time-out that was granted, and bounds the time
//     until then.
//   - It keeps the number of the last change that was seen instead of the
//     library, which does not lock it: on a new connection the library may ask
//     only for changes since that was made, and those before would go untold.
//   - Where there are watches calls wait until the request is sent that sets
//     them anew; else they might see a change before its event.
//   - Writing does not fail, it hangs up: the library deadlocks when a request
//     fails to be written while it is being closed.
type link struct {
	net.Conn
	greet func(greeting)
	ready func()        // told when calls may begin, if hold is set
	last  *atomic.Int64 // the session's last change
	since int64         // what that was when the connection was made
	hold  bool          // calls wait
	until time.Time     // of the greeting

	// The library reads in one goroutine.
	greeted bool
	head    []byte // of a frame, as far as it is looked at
	rest    int    // bytes of the frame after that

	// And writes in one.
	begun   bool   // the first request is written, which has no code
	watched bool   // the request that sets the watches is written
	held    []byte // calls that were begun on the last connection
}

// Read implements net.Conn.
func (l *link) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	l.see(b[:n])
	return n, err
}

// headBytes is how much of an answer is looked at: its length, the number of
// the request, that of the last change.
const headBytes = 4 + 4 + 8

// see looks at what was read and takes the numbers of changes out.
func (l *link) see(b []byte) {
	for len(b) > 0 {
		want := greetingBytes
		if l.greeted {
			want = headBytes
		}
		if had := len(l.head); had < want {
			n := min(want-had, len(b))
			l.head = append(l.head, b[:n]...)
			if from := max(8-had, 0); l.greeted && from < n {
				clear(b[from:n])
			}
			b = b[n:]
			if len(l.head) < want {
				return
			}
			l.rest = max(4+int(binary.BigEndian.Uint32(l.head))-want, 0)
			l.headed()
		}
		n := min(l.rest, len(b))
		b = b[n:]
		if l.rest -= n; l.rest == 0 {
			l.head, l.greeted = l.head[:0], true
		}
	}
}

// headed acts on the head of a frame.
func (l *link) headed() {
	if !l.greeted {
		l.greet(parseGreeting(l.head))
		return
	}
	request, change := int32(binary.BigEndian.Uint32(l.head[4:])), int64(binary.BigEndian.Uint64(l.head[8:]))
	if request >= 0 && change > 0 {
		l.last.Store(change)
	}
}

// SetReadDeadline implements net.Conn. What the library asks for before the
// greeting is far too long, or nothing.
func (l *link) SetReadDeadline(t time.Time) error {
	if !l.greeted {
		t = l.until
	}
	return l.Conn.SetReadDeadline(t)
}

// Write implements net.Conn. The library writes request by request.
func (l *link) Write(b []byte) (int, error) {
	if !l.begun {
		l.begun = true
		l.send(withChange(b, 8, l.since))
		return len(b), nil
	}
	op := int32(0)
	if len(b) >= 12 {
		op = int32(binary.BigEndian.Uint32(b[8:]))
	}
	switch {
	case op == opSetWatches:
		l.send(withChange(b, 12, l.since))
		l.pass()
	case op == opPing: // by the first the watches should have come
		l.send(b)
		l.pass()
	case l.hold && !l.watched:
		l.held = append(l.held, b...)
	default:
		l.send(b)
	}
	return len(b), nil
}

// withChange is a request that says another number of the last change.
func withChange(b []byte, at int, change int64) []byte {
	b = slices.Clone(b)
	if len(b) < at+8 {
		return b // not one of the library's
	}
	binary.BigEndian.PutUint64(b[at:], uint64(change))
	return b
}

// pass lets calls begin.
func (l *link) pass() {
	if !l.hold || l.watched {
		return
	}
	l.watched = true
	l.send(l.held)
	l.held = nil
	l.ready()
}

func (l *link) send(b []byte) {
	if _, err := l.Conn.Write(b); err != nil {
		l.Close() // by which the library notices
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
	l := &link{Conn: conn, greet: s.greeted, last: &s.last, since: s.last.Load(), hold: len(s.watches.set) > 0, until: until}
	l.ready = func() { s.found(l) }
	s.link = l
	return l, nil
}

func (s *session) greeted(g greeting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.session != 0 { // else it has expired; its number stays
		s.greeting = g
	}
}
