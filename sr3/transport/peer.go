package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

const (
	backoffFirst = 25 * time.Millisecond
	backoffLast  = time.Second
	// shortLife is how long a connection must live for the next dial to need no
	// back-off.
	shortLife = time.Second
)

// peer is an address that this endpoint dials.
type peer struct {
	e    *Endpoint
	addr string
	link *link

	mu           sync.Mutex
	conn         *conn
	attempt      *attempt // under way
	fails        int
	until        time.Duration // no dial before, on the endpoint's clock
	pending      [][]byte      // messages that wait for the connection
	pendingBytes int
}

// attempt is one dial that any number wait for.
type attempt struct {
	done chan struct{}
	conn *conn
	err  error
}

// get returns the connection; it waits for a dial if there is none. The error
// is that of an attempt that ended after the call began.
func (p *peer) get(ctx context.Context) (*conn, error) {
	p.mu.Lock()
	if p.conn != nil && p.conn.alive() {
		defer p.mu.Unlock()
		return p.conn, nil
	}
	a := p.dialLocked()
	p.mu.Unlock()
	select {
	case <-a.done:
		return a.conn, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("transport: connect to %s: %w", p.addr, ctx.Err())
	}
}

// dialLocked starts an attempt, or returns the one under way.
func (p *peer) dialLocked() *attempt {
	if p.attempt != nil {
		return p.attempt
	}
	if p.conn != nil {
		if p.e.now()-p.conn.born < shortLife {
			p.backOffLocked()
		}
		p.conn = nil
	}
	a := &attempt{done: make(chan struct{})}
	wait := p.until - p.e.now()
	p.attempt = a
	if !p.e.spawn(func() { p.connect(a, wait) }) {
		p.attempt = nil
		a.err = fmt.Errorf("transport: connect to %s: endpoint %w", p.addr, ErrClosed)
		close(a.done)
	}
	return a
}

func (p *peer) backOffLocked() {
	p.fails++
	wait := min(backoffFirst<<min(p.fails-1, 8), backoffLast)
	p.until = p.e.now() + wait/2 + rand.N(wait/2+1)
}

// connect makes one attempt after wait.
func (p *peer) connect(a *attempt, wait time.Duration) {
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.e.done:
		}
	}
	a.conn, a.err = p.e.dial(p.addr, p.link)
	p.mu.Lock()
	p.attempt = nil
	pending := p.pending
	p.pending, p.pendingBytes = nil, 0
	if a.err != nil {
		p.backOffLocked()
		p.link.dropped.Add(uint64(len(pending)))
	} else {
		p.fails = 0
		p.conn = a.conn
		for _, m := range pending {
			if ok, _ := a.conn.message(m); !ok {
				p.link.dropped.Add(1)
			}
		}
	}
	p.mu.Unlock()
	close(a.done)
}

// send queues a message on the connection, or until there is one.
func (p *peer) send(payload []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		if queued, alive := p.conn.message(payload); alive {
			return queued
		}
	}
	if len(p.pending) >= pendingMessages || p.pendingBytes+len(payload) > messageBytes {
		return false
	}
	a := p.dialLocked()
	select {
	case <-a.done: // at once: the endpoint is closed
		return false
	default:
	}
	p.pending = append(p.pending, append([]byte(nil), payload...))
	p.pendingBytes += len(payload)
	return true
}

// dial connects, says hello and starts the connection.
func (e *Endpoint) dial(addr string, l *link) (c *conn, err error) {
	if err := e.roomToDial(); err != nil {
		return nil, fmt.Errorf("transport: connect to %s: %w", addr, err)
	}
	defer func() {
		if err != nil {
			e.unreserve(true)
			err = fmt.Errorf("transport: connect to %s: %w", addr, noEOF(err))
		}
	}()
	e.within(e.cfg.DialTimeout, func(ctx context.Context) {
		c, err = e.dialIn(ctx, addr, l)
	})
	return c, err
}

func (e *Endpoint) dialIn(ctx context.Context, addr string, l *link) (*conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	began := e.now()
	secured, theirs, err := e.handshake(ctx, nc, func() net.Conn {
		cfg := e.cfg.TLS.Clone()
		if cfg.ServerName == "" {
			cfg.ServerName, _, _ = net.SplitHostPort(addr)
		}
		return tls.Client(nc, cfg)
	}, statusReady, true)
	if err != nil {
		nc.Close()
		return nil, err
	}
	if e.cfg.TLS == nil {
		l.round(e.now() - began)
	}
	c := newConn(e, secured, true, addr, theirs, l)
	if !e.adopt(c) {
		nc.Close()
		return nil, fmt.Errorf("endpoint %w", ErrClosed)
	}
	return c, nil
}

// handshake makes the connection secure if so configured and exchanges hellos.
// It is interrupted when ctx ends.
func (e *Endpoint) handshake(ctx context.Context, nc net.Conn, secure func() net.Conn, status uint16, dialed bool) (net.Conn, hello, error) {
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // a closed socket ends it too
	defer stop()
	tune(nc)
	if e.cfg.TLS != nil {
		nc = secure()
		if t, ok := nc.(*tls.Conn); ok {
			if err := t.HandshakeContext(ctx); err != nil {
				return nil, hello{}, fmt.Errorf("TLS: %w", err)
			}
		}
	}
	theirs, err := greet(nc, e.hello(status), dialed)
	if err == nil && !stop() {
		err = context.Cause(ctx)
	}
	return nc, theirs, err
}
