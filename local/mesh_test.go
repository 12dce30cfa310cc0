package local

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
)

// mesh is the network between the workers of a topology under test. Every
// connection goes through a proxy that can be cut: what is under way in it is
// lost then, and the next few dials are refused.
type mesh struct {
	listen func(ctx context.Context) (net.Listener, error)
	reach  func(ctx context.Context, addr string) (net.Conn, error)
	pair   func(ctx context.Context) (near, far net.Conn, err error)

	pumps sync.WaitGroup
	mu    sync.Mutex
	live  []*proxied
	lame  map[int]int // dials to be refused, by dialler
	cuts  int
}

// proxied is one connection through the mesh.
type proxied struct {
	from int
	ends [2]net.Conn // of the proxy: to the dialler, to the listener
	dead chan struct{}
	once sync.Once
	mute chan struct{} // closed when nothing is forwarded any more
}

func (c *proxied) close() {
	c.once.Do(func() {
		close(c.dead)
		for _, end := range c.ends {
			if tcp, ok := end.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // what the kernel holds is lost too
			}
			end.Close()
		}
	})
}

// newTCP is a mesh of real sockets.
func newTCP() *mesh {
	return &mesh{lame: map[int]int{}, listen: listenLoopback, pair: pairTCP, reach: func(ctx context.Context, addr string) (net.Conn, error) {
		return dialTCP(ctx, 0, addr)
	}}
}

func pairTCP(ctx context.Context) (near, far net.Conn, err error) {
	ln, err := listenLoopback(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer ln.Close()
	if near, err = dialTCP(ctx, 0, ln.Addr().String()); err != nil {
		return nil, nil, err
	}
	if far, err = ln.Accept(); err != nil {
		near.Close()
	}
	return near, far, err
}

// newMemory is a mesh within the process, for tests in virtual time.
func newMemory() *mesh {
	var hub hub
	return &mesh{lame: map[int]int{}, listen: hub.listen, reach: hub.dial, pair: func(context.Context) (near, far net.Conn, err error) {
		near, far = net.Pipe()
		return near, far, nil
	}}
}

// use has t's workers talk through the mesh.
func (m *mesh) use(t *Topology) { t.listenAt, t.dial = m.listen, m.dial }

var errCut = errors.New("the link is cut")

func (m *mesh) dial(ctx context.Context, from int, addr string) (net.Conn, error) {
	m.mu.Lock()
	cut := m.lame[from] > 0
	if cut {
		m.lame[from]--
	}
	m.mu.Unlock()
	if cut {
		return nil, errCut
	}
	far, err := m.reach(ctx, addr)
	if err != nil {
		return nil, err
	}
	conn, near, err := m.pair(ctx)
	if err != nil {
		far.Close()
		return nil, err
	}
	c := &proxied{from: from, ends: [2]net.Conn{near, far}, dead: make(chan struct{}), mute: make(chan struct{})}
	m.mu.Lock()
	m.live = append(m.live, c)
	m.mu.Unlock()
	m.pump(c, near, far)
	m.pump(c, far, near)
	return conn, nil
}

// pump forwards bytes, some of which are always under way.
func (m *mesh) pump(c *proxied, from io.Reader, to io.Writer) {
	underWay := make(chan []byte, 8)
	m.pumps.Go(func() {
		defer c.close()
		defer close(underWay)
		for {
			b := make([]byte, 8<<10)
			n, err := from.Read(b)
			if err != nil {
				return
			}
			select {
			case underWay <- b[:n]:
			case <-c.dead:
				return
			}
		}
	})
	m.pumps.Go(func() {
		defer c.close()
		for b := range underWay {
			select {
			case <-c.mute:
				<-c.dead
				return
			default:
			}
			if _, err := to.Write(b); err != nil {
				return
			}
		}
	})
}

// cut cuts a random connection and refuses some of the dials that follow. A
// silent one stays open and carries nothing more.
func (m *mesh) cut(rng *rand.Rand, silent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	alive := m.live[:0]
	for _, c := range m.live {
		select {
		case <-c.dead:
		default:
			alive = append(alive, c)
		}
	}
	m.live = alive
	if len(alive) == 0 {
		return
	}
	c := alive[rng.IntN(len(alive))]
	m.cuts++
	if silent {
		select {
		case <-c.mute:
		default:
			close(c.mute)
		}
		return
	}
	m.lame[c.from] += rng.IntN(4)
	c.close()
}

// close ends all connections.
func (m *mesh) close() {
	m.mu.Lock()
	for _, c := range m.live {
		c.close()
	}
	m.mu.Unlock()
	m.pumps.Wait()
}

// hub is a network in memory.
type hub struct {
	mu        sync.Mutex
	listeners map[string]*hubListener
	ports     int
}

type hubListener struct {
	hub   *hub
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (h *hub) listen(context.Context) (net.Listener, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ports++
	l := &hubListener{
		hub: h, addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: h.ports},
		conns: make(chan net.Conn), done: make(chan struct{}),
	}
	if h.listeners == nil {
		h.listeners = map[string]*hubListener{}
	}
	h.listeners[l.addr.String()] = l
	return l, nil
}

func (h *hub) dial(ctx context.Context, addr string) (net.Conn, error) {
	h.mu.Lock()
	l := h.listeners[addr]
	h.mu.Unlock()
	if l == nil {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *hubListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *hubListener) Close() error {
	l.once.Do(func() {
		close(l.done)
		l.hub.mu.Lock()
		delete(l.hub.listeners, l.addr.String())
		l.hub.mu.Unlock()
	})
	return nil
}

func (l *hubListener) Addr() net.Addr { return l.addr }
