package zktest

import (
	"net"
	"sync"
	"testing"
)

// Proxy hands connections on to a server, until it is told otherwise. It ends
// with its test.
type Proxy struct {
	// Address is where a client finds it, as host:port.
	Address string

	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	gate  chan struct{} // closed while bytes pass
	conns map[net.Conn]struct{}
}

// NewProxy makes a Proxy of a server, which it is handed as host:port.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{
		Address:  listener.Addr().String(),
		target:   target,
		listener: listener,
		gate:     make(chan struct{}),
		conns:    map[net.Conn]struct{}{},
	}
	close(p.gate)
	p.running.Go(p.accept)
	tb.Cleanup(func() {
		listener.Close()
		p.Cut()
		p.running.Wait()
	})
	return p
}

// Cut ends all connections and refuses new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
	p.open()
}

// Stall keeps all bytes back, of new connections too: nobody is told.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
		p.gate = make(chan struct{})
	default:
	}
}

// Heal takes back Cut and Stall. What was kept back passes.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
	p.open()
}

// IsCut reports whether connections are refused.
func (p *Proxy) IsCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

// open lets bytes pass; p.mu is held.
func (p *Proxy) open() {
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.IsCut() {
			client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.target) //nolint:noctx // it is this machine
		if err != nil {
			client.Close()
			continue
		}
		p.join(client, server)
	}
}

func (p *Proxy) join(client, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		client.Close()
		server.Close()
		return
	}
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		p.conns[way[0]] = struct{}{}
		p.running.Go(func() { p.carry(way[0], way[1]) })
	}
}

// carry hands on bytes until either side ends.
func (p *Proxy) carry(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			break
		}
		p.mu.Lock()
		gate := p.gate
		p.mu.Unlock()
		<-gate
		if _, err := to.Write(buf[:n]); err != nil {
			break
		}
	}
	p.mu.Lock()
	delete(p.conns, from)
	p.mu.Unlock()
}
