package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is one connection after its hello. A reader and a writer goroutine own
// its two directions; all others leave work in its queues. No lock of a stream
// is taken under mu, nor the other way round.
type conn struct {
	e   *Endpoint
	nc  net.Conn
	tcp syscall.RawConn // of nc, nil if there is none
	// confirms tells that the kernel says what was acknowledged.
	confirms bool
	stays    bool // both ends are on this host
	dialed   bool
	addr     string // whom it leads to, for errors and logs
	link     *link
	// copies tells that the socket wants one slice at a time and no deadlines
	// while it writes (TLS), so that big messages are copied first.
	copies bool

	window   int64 // first credit that the other side gives a stream
	maxSend  int   // largest message that both sides allow
	maxReply int   // largest request or reply that the other side takes

	in     wire
	out    outbox
	cancel context.CancelFunc // of all handlers that run for this connection
	done   chan struct{}      // closed when it is over
	wake   chan struct{}      // tells the writer that there is work

	born     time.Duration
	lastIn   atomic.Int64 // when the other side last made progress, on the endpoint's clock
	lastBulk atomic.Int64 // when bulk was last taken by the socket
	lastUse  atomic.Int64 // when the last stream, call or message ended
	pinged   atomic.Int64 // when the unanswered ping was sent, 0: none
	lastPing atomic.Int64

	slots chan struct{} // of calls without an answer

	mu       sync.Mutex
	closed   error // set when it is over: why
	streams  map[uint64]*Stream
	calls    map[uint64]*pendingCall // of the dialing side
	serving  map[uint64]*servedCall  // of the accepting side
	nextID   uint64
	lastOpen uint64 // highest id of a stream that the other side opened
}

func newConn(e *Endpoint, nc net.Conn, dialed bool, addr string, theirs hello, l *link) *conn {
	secured, isTLS := nc.(*tls.Conn)
	plain := nc
	if isTLS {
		plain = secured.NetConn()
	}
	c := &conn{
		e: e, nc: nc, tcp: rawOf(plain), dialed: dialed, addr: addr, link: l, copies: isTLS,
		window:   int64(theirs.window),
		maxSend:  min(int(theirs.message), e.cfg.maxMessage()),
		maxReply: min(int(theirs.call), e.cfg.MaxCall),
		done:     make(chan struct{}),
		wake:     make(chan struct{}, 1),
		born:     e.now(),
		slots:    make(chan struct{}, callSlots),
		streams:  map[uint64]*Stream{},
		calls:    map[uint64]*pendingCall{},
		serving:  map[uint64]*servedCall{},
	}
	c.stays = c.tcp != nil && isLocal(nc.LocalAddr(), nc.RemoteAddr())
	_, c.confirms = counts(c.tcp)
	c.in = wire{c: c, nc: nc, buf: make([]byte, wireBytes)}
	c.out.meter.skip = 2 * mib
	c.lastIn.Store(int64(c.born))
	c.lastUse.Store(int64(c.born))
	return c
}

// run starts the two goroutines. The context is that of the handlers.
func (c *conn) run(ctx context.Context) {
	c.e.wg.Go(c.writeLoop)
	c.e.wg.Go(func() {
		c.fail(c.readLoop(ctx))
		c.dropArriving()
		c.e.forget(c)
	})
}

// fail ends the connection; the first reason stays. All that waits for the
// other side is told.
func (c *conn) fail(cause error) { c.failIf(cause, func() bool { return true }) }

// failIf is fail under a condition that is looked at under mu.
func (c *conn) failIf(cause error, holds func() bool) {
	c.mu.Lock()
	if c.closed != nil || !holds() {
		c.mu.Unlock()
		return
	}
	err := fmt.Errorf("%w: %s: %w", ErrLost, c.addr, noEOF(cause))
	if errors.Is(cause, ErrClosed) {
		err = fmt.Errorf("endpoint %w while connected to %s", ErrClosed, c.addr)
	}
	c.closed = err
	streams, calls := c.streams, c.calls
	c.streams, c.calls = map[uint64]*Stream{}, map[uint64]*pendingCall{}
	c.mu.Unlock()

	c.nc.Close()
	c.cancel()
	close(c.done)
	for _, s := range streams {
		s.fail(err, true)
	}
	for _, p := range calls {
		p.finish(nil, err)
		<-c.slots
	}
	c.e.report(c, cause)
}

// alive reports whether it may be used; it can end at any time after.
func (c *conn) alive() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// control queues one small frame before all bulk. It never blocks; a
// connection whose control queue overflows is cut, since its peer does not
// read.
func (c *conn) control(h header, payload []byte) error {
	c.mu.Lock()
	err := c.controlLocked(h, payload)
	c.mu.Unlock()
	return c.cutAt(err)
}

// cutAt ends the connection if err says that its queue overflows.
func (c *conn) cutAt(err error) error {
	if errors.Is(err, errOverflow) {
		c.fail(err)
	}
	return err
}

// over is why the connection ended, nil if it did not.
func (c *conn) over() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

var errOverflow = errors.New("the peer does not read: control queue full")

func (c *conn) controlLocked(h header, payload []byte) error {
	if c.closed != nil {
		return c.closed
	}
	if len(c.out.control)+len(payload) > controlBytes {
		return errOverflow
	}
	h.length = uint32(len(payload))
	var b [headerBytes]byte
	h.put(b[:])
	c.out.control = append(append(c.out.control, b[:]...), payload...)
	c.wakeWriter()
	return nil
}

func (c *conn) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// message queues a one-way message, or drops it if too much waits already.
// alive is false if it did neither, since the connection is over.
func (c *conn) message(payload []byte) (queued, alive bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return false, false
	}
	c.used()
	return len(c.out.control) < messageBytes && c.controlLocked(header{kind: kindMessage}, payload) == nil, true
}

// counters are what the kernel knows of a connection: the bytes that the other side
// has confirmed and those that came, and for how long there was something on its
// way or waiting, but for when the other side had no room.
type counters struct {
	acked, received uint64
	busy            time.Duration
}

// delivered is how many bytes the other side has: as its kernel says, else as ours
// has taken them, which is some more; and for how long the connection was busy, 0 if
// nobody knows.
func (c *conn) delivered() (n uint64, busy time.Duration, ok bool) {
	if c.confirms {
		k, ok := counts(c.tcp) // not once it is closed
		return k.acked, k.busy, ok
	}
	return c.out.bulkWritten.Load(), 0, true
}

// arrived is how many bytes have come: as our kernel says, since we may read late,
// else as we have read them.
func (c *conn) arrived() (n uint64, busy time.Duration, ok bool) {
	if c.confirms {
		k, ok := counts(c.tcp)
		return k.received, 0, ok
	}
	return c.in.bulk.Load(), 0, true
}

// isLocal tells whether both ends of a connection have the same address.
func isLocal(a, b net.Addr) bool {
	x, ok := a.(*net.TCPAddr)
	y, also := b.(*net.TCPAddr)
	return ok && also && x.IP.Equal(y.IP)
}

// rawOf is the socket of a connection, nil if it has none.
func rawOf(nc net.Conn) syscall.RawConn {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// used notes that the connection was of use until now.
func (c *conn) used() { c.lastUse.Store(int64(c.e.now())) }

// closeIfIdle ends a dialed connection that carried nothing for so long. Who
// wants to use it at the same moment finds it closed, and dials.
func (c *conn) closeIfIdle(now, after time.Duration) {
	c.failIf(errIdle, func() bool {
		return c.dialed && len(c.streams) == 0 && len(c.calls) == 0 && len(c.out.control) == 0 &&
			now-time.Duration(c.lastUse.Load()) >= after
	})
}

var errIdle = errors.New("idle")

// forgetStream takes s off the connection.
func (c *conn) forgetStream(s *Stream) {
	c.mu.Lock()
	if c.streams[s.id] == s {
		delete(c.streams, s.id)
	}
	c.mu.Unlock()
	c.used()
}

func (c *conn) stream(id uint64) *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[id]
}

// open starts a stream.
func (c *conn) open(method byte, head []byte) (*Stream, error) {
	s, err := c.tryOpen(method, head)
	return s, c.cutAt(err)
}

func (c *conn) tryOpen(method byte, head []byte) (*Stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return nil, errNotSent
	}
	if len(c.streams) >= maxStreams {
		return nil, &RemoteError{Code: CodeBusy, Text: fmt.Sprintf("%s has %d streams of this endpoint already", c.addr, maxStreams)}
	}
	c.nextID++
	s := newStream(c, c.nextID)
	if err := c.controlLocked(header{kind: kindOpen, method: method, id: s.id}, head); err != nil {
		return nil, err
	}
	c.streams[s.id] = s
	return s, nil
}
