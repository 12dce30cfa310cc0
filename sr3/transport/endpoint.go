package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Handler is what an Endpoint does for those who dial it. Its contexts end when
// the caller gives up, the connection breaks or the Endpoint closes.
type Handler interface {
	// Call answers a request. Each runs in a goroutine of its own, at most
	// Config.MaxRunning at once. The request is the handler's to keep; the
	// reply must not change after. An error reaches the caller as a
	// RemoteError; return one to choose its code.
	Call(ctx context.Context, method byte, request []byte) (reply []byte, err error)
	// Stream serves one Open, in a goroutine of its own. Its return ends the
	// stream, with nil cleanly after all that was sent, else with a
	// RemoteError at the other side.
	Stream(ctx context.Context, s *Stream, method byte, header []byte) error
	// Message takes a one-way message, one at a time and in the order that each
	// peer sent them. While it blocks, others wait and then are dropped.
	Message(payload []byte)
}

// Endpoint is one node's end of the traffic: a server and a pool of
// connections. All methods may be called at any time from any goroutine.
type Endpoint struct {
	cfg   Config
	h     Handler
	ln    net.Listener
	addr  string
	pool  *pool
	start time.Time
	quiet quiet
	done  chan struct{}
	wg    sync.WaitGroup

	running      chan struct{} // handlers of calls
	refusing     chan struct{} // goroutines that tell somebody that there is no room
	requestBytes atomic.Int64
	messages     chan []byte
	queuedBytes  atomic.Int64 // in messages

	sent, received gauge

	mu       sync.Mutex
	closed   bool
	conns    map[*conn]struct{}
	accepted int // connections, with those that say hello
	dialed   int
	peers    map[string]*peer
	links    map[string]*link
}

// Listen starts an Endpoint that serves h at addr ("host:port", port 0 for any)
// and can dial others. With addr "" it only dials, and h may be nil. Close must
// be called in the end.
func Listen(cfg Config, addr string, h Handler) (*Endpoint, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Endpoint{
		cfg: cfg, h: h, start: time.Now().Add(-time.Second), // so that no moment is 0
		pool:     newPool(cfg.maxMessage()),
		quiet:    quiet{last: map[string]time.Duration{}},
		done:     make(chan struct{}),
		running:  make(chan struct{}, cfg.MaxRunning),
		refusing: make(chan struct{}, 16),
		messages: make(chan []byte, inboundMessages),
		conns:    map[*conn]struct{}{},
		peers:    map[string]*peer{},
		links:    map[string]*link{},
	}
	e.sent = gauge{carried: (*conn).delivered, record: func(*link, time.Duration, share) {}}
	e.received = gauge{
		carried: (*conn).arrived,
		record:  func(l *link, at time.Duration, s share) { l.best.learn(at, s) },
	}
	if addr != "" {
		if h == nil {
			return nil, errors.New("transport: an endpoint that listens needs a handler")
		}
		var lc net.ListenConfig
		if e.ln, err = lc.Listen(context.Background(), "tcp", addr); err != nil {
			return nil, fmt.Errorf("transport: listen at %s: %w", addr, err)
		}
		e.addr = e.ln.Addr().String()
		e.wg.Go(e.accept)
		e.wg.Go(e.deliverMessages)
	}
	e.wg.Go(e.keep)
	return e, nil
}

// Addr is where it listens, "" if it does not.
func (e *Endpoint) Addr() string { return e.addr }

// Close ends all connections and waits for all goroutines, those of handlers
// too: a handler must heed its context, and must not call Close.
func (e *Endpoint) Close() {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	e.mu.Unlock()
	if first {
		close(e.done)
		if e.ln != nil {
			e.ln.Close()
		}
		for _, c := range e.all() {
			c.fail(ErrClosed)
		}
	}
	e.wg.Wait()
}

func (e *Endpoint) isClosed() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// Call sends a request to the endpoint at addr and returns its reply. It dials
// if need be. Errors: the context's, a RemoteError of the handler, ErrLost when
// the connection broke (the handler may have run), ErrTooLarge, ErrClosed, or
// what the dial says, a VersionError among that.
func (e *Endpoint) Call(ctx context.Context, addr string, method byte, request []byte) ([]byte, error) {
	if len(request) > e.cfg.MaxCall {
		return nil, fmt.Errorf("transport: request of %d bytes is %w: at most %d", len(request), ErrTooLarge, e.cfg.MaxCall)
	}
	for {
		c, err := e.connect(ctx, addr)
		if err != nil {
			return nil, err
		}
		reply, err := c.call(ctx, method, request)
		if !isNotSent(err) {
			return reply, err
		}
	}
}

// Open starts a stream to the endpoint at addr; its handler gets method and
// header (64 KiB at most). It dials if need be, but waits for no answer: a
// refusal shows at the first Send or Recv. Errors are those of Call.
func (e *Endpoint) Open(ctx context.Context, addr string, method byte, header []byte) (*Stream, error) {
	if len(header) > maxHeader {
		return nil, fmt.Errorf("transport: stream header of %d bytes is %w: at most %d", len(header), ErrTooLarge, maxHeader)
	}
	for {
		c, err := e.connect(ctx, addr)
		if err != nil {
			return nil, err
		}
		s, err := c.open(method, header)
		if !isNotSent(err) {
			return s, err
		}
	}
}

func (e *Endpoint) connect(ctx context.Context, addr string) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return e.peer(addr).get(ctx)
}

// Send sends a one-way message to addr, of at most ChunkBytes, and never waits.
// False says that it was dropped at once: too large, too much waits already, or
// the Endpoint is closed. It may be lost later too; Peers counts both.
func (e *Endpoint) Send(addr string, payload []byte) bool {
	p := e.peer(addr)
	ok := len(payload) <= e.cfg.ChunkBytes && p.send(payload)
	if !ok {
		p.link.dropped.Add(1)
	}
	return ok
}

// Peers lists whom this endpoint talks or talked to, by address.
func (e *Endpoint) Peers() []Peer {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	streams := map[*link]int{}
	for c := range e.conns {
		c.mu.Lock()
		streams[c.link] += len(c.streams)
		c.mu.Unlock()
		c.link.sendRate.learn(c.out.meter.flush(now, c.link.rtt()))
		c.link.recvRate.learn(c.in.meter.flush(now, c.link.rtt()))
	}
	list := make([]Peer, 0, len(e.links))
	for l := range maps.Values(e.links) {
		best := l.best.get()
		list = append(list, Peer{
			Addr: l.addr, RTT: l.rtt(),
			SendRate: l.sendRate.get(), RecvRate: l.recvRate.get(),
			RecvBest: best.rate, RecvTotal: best.total,
			Sent: l.sent.Load(), Received: l.received.Load(), Dropped: l.dropped.Load(),
			Streams: streams[l], Connected: l.conns > 0,
		})
	}
	slices.SortFunc(list, func(a, b Peer) int { return strings.Compare(a.Addr, b.Addr) })
	return list
}

// now is the endpoint's clock; it never jumps.
func (e *Endpoint) now() time.Duration { return time.Since(e.start) }

func (e *Endpoint) hello(status uint16) hello {
	name := e.cfg.Advertise
	if name == "" {
		name = e.addr
	}
	return hello{
		version: version, status: status, name: name,
		window: uint32(e.cfg.Window), message: uint32(e.cfg.maxMessage()), call: uint32(e.cfg.MaxCall),
	}
}

// deliver queues a message for the handler; false if there is no room.
func (e *Endpoint) deliver(payload []byte) bool {
	n := int64(len(payload))
	if e.queuedBytes.Add(n) > 8*messageBytes {
		e.queuedBytes.Add(-n)
		return false
	}
	select {
	case e.messages <- payload:
		return true
	default:
		e.queuedBytes.Add(-n)
		return false
	}
}

func (e *Endpoint) deliverMessages() {
	for {
		select {
		case <-e.done:
			return
		case payload := <-e.messages:
			e.queuedBytes.Add(-int64(len(payload)))
			e.h.Message(payload)
		}
	}
}

// spawn starts a goroutine that Close waits for, unless it is too late.
func (e *Endpoint) spawn(f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.wg.Go(f)
	return true
}

// within runs f with a context that ends after d and with the endpoint.
func (e *Endpoint) within(d time.Duration, f func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-e.done:
			cancel()
		case <-ctx.Done():
		}
	})
	f(ctx)
	cancel()
	watch.Wait()
}

// accept takes connections until the listener is closed.
func (e *Endpoint) accept() {
	for {
		nc, err := e.ln.Accept()
		if e.isClosed() {
			if err == nil {
				nc.Close()
			}
			return
		}
		if err != nil {
			e.reportGreeting(e.addr, fmt.Errorf("accept: %w", err))
			timer := time.NewTimer(50 * time.Millisecond) // of file descriptors, mostly
			select {
			case <-timer.C:
			case <-e.done:
			}
			continue
		}
		status := uint16(statusReady)
		if !e.reserveAccepted() {
			status = statusBusy
			select {
			case e.refusing <- struct{}{}:
			default:
				nc.Close()
				continue
			}
		}
		e.wg.Go(func() { e.welcome(nc, status) })
	}
}

// welcome says hello to who connected, and starts or refuses the connection.
func (e *Endpoint) welcome(nc net.Conn, status uint16) {
	addr := nc.RemoteAddr().String()
	var theirs hello
	var err error
	secured := nc
	e.within(e.cfg.DialTimeout, func(ctx context.Context) {
		secured, theirs, err = e.handshakeAs(ctx, nc, status)
	})
	if status == statusBusy {
		<-e.refusing
		nc.Close()
		e.reportGreeting(addr, fmt.Errorf("there are %d connections already (MaxConns)", e.cfg.MaxConns))
		return
	}
	if err != nil {
		e.unreserve(false)
		nc.Close()
		e.reportGreeting(addr, err)
		return
	}
	name := theirs.name
	if name == "" {
		name = addr
	}
	c := newConn(e, secured, false, name, theirs, e.link(name))
	if !e.adopt(c) {
		e.unreserve(false)
		nc.Close()
	}
}

func (e *Endpoint) handshakeAs(ctx context.Context, nc net.Conn, status uint16) (net.Conn, hello, error) {
	return e.handshake(ctx, nc, func() net.Conn { return tls.Server(nc, e.cfg.TLS) }, status, false)
}
