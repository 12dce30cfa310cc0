package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// maxConnections bounds connections, those that never say hello included.
	maxConnections = 4096
	// keptLives is how many former lives of a worker are remembered, so that a
	// process that should be dead cannot push out its successor.
	keptLives = 8
	// readBuffer takes two frames of the usual size a system call.
	readBuffer = 128 << 10
)

// Listener accepts the connections of other workers' Peers.
type Listener struct {
	cfg     Config
	ln      net.Listener
	recv    Receiver
	origins Origins
	reports reporter
	counts  counters
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu       sync.Mutex
	sessions map[WorkerID]*session
	former   map[WorkerID][]uint64 // ended lives, oldest first
}

// Listen serves ln, which it owns from now on, until Close. What arrives goes
// to recv.
func Listen(cfg Config, ln net.Listener, recv Receiver, origins Origins) (*Listener, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Listener{
		cfg: cfg, ln: ln, recv: recv, origins: origins,
		reports:  reporter{report: cfg.OnError},
		cancel:   cancel,
		sessions: make(map[WorkerID]*session),
		former:   make(map[WorkerID][]uint64),
	}
	l.wg.Go(func() { l.accept(ctx) })
	return l, nil
}

// Addr is the address that ln listens at.
func (l *Listener) Addr() net.Addr { return l.ln.Addr() }

// Stats may be called at any time.
func (l *Listener) Stats() ListenerStats { return l.counts.read() }

// Close ends all connections and waits for their goroutines. Batches may be
// released afterwards. It is safe to call it twice.
func (l *Listener) Close() error {
	l.cancel()
	err := l.ln.Close()
	l.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Forget drops what is known of a worker that no longer belongs to the
// topology. If it is still connected it stays so; once it reconnects it is
// taken for a new one.
func (l *Listener) Forget(id WorkerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, id)
	delete(l.former, id)
}

func (l *Listener) accept(ctx context.Context) {
	slots := make(chan struct{}, maxConnections)
	pause := newBackoff(l.cfg.BackoffMin, l.cfg.BackoffMax)
	for ctx.Err() == nil {
		conn, err := l.ln.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			l.reports.error(fmt.Errorf("accept at %v: %w", l.ln.Addr(), err))
			pause.wait(ctx)
			continue
		}
		pause.reset()
		select {
		case slots <- struct{}{}:
			l.wg.Go(func() {
				defer func() { <-slots }()
				l.serve(ctx, conn)
			})
		default:
			conn.Close()
			l.reports.error(fmt.Errorf("connection from %v is refused: there are %d already", conn.RemoteAddr(), maxConnections))
		}
	}
}

// serve owns conn for its whole life.
func (l *Listener) serve(ctx context.Context, conn net.Conn) {
	l.counts.connections.Add(1)
	defer l.counts.connections.Add(-1)
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()

	in := &inbound{conn: conn, done: make(chan struct{})}
	defer close(in.done)
	frames := newFrameReader(conn, readBuffer, l.cfg.MaxFrameBytes, l.cfg.IdleTimeout)
	hi, err := readHello(frames)
	var s *session
	if err == nil {
		s, err = l.session(hi)
	}
	if err != nil {
		if ctx.Err() == nil && !lost(err) {
			l.counts.refused.Add(1)
			l.reports.error(fmt.Errorf("connection from %v is refused: %w", conn.RemoteAddr(), err))
			_ = l.answer(conn, &reply{refusal: err.Error()}) // if it gets there
		}
		return
	}
	s.attach(in)
	yes := reply{maxFrame: l.cfg.MaxFrameBytes, s2: hi.s2}
	s.standing(&yes)
	if l.answer(conn, &yes) != nil {
		return // the dialler will try again
	}
	err = in.run(ctx, s, frames, l.recv, &l.counts)
	if ctx.Err() == nil && !lost(err) {
		l.counts.broken.Add(1)
		l.reports.error(fmt.Errorf("connection from worker %q at %v is closed: %w", s.from, conn.RemoteAddr(), err))
	}
}

// lost reports whether err only says that the connection is gone; the dialler
// reports that.
func lost(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

func readHello(frames *frameReader) (hello, error) {
	h, payload, err := frames.next()
	if err != nil {
		return hello{}, err
	}
	if h.kind != frameHello {
		return hello{}, fmt.Errorf("the first frame is of kind %d, not hello", h.kind)
	}
	return parseHello(payload)
}

func (l *Listener) answer(conn net.Conn, p *reply) error {
	if err := conn.SetWriteDeadline(time.Now().Add(l.cfg.IdleTimeout)); err != nil {
		return err
	}
	if _, err := conn.Write(appendFrame(nil, frameReply, 0, p.append(nil))); err != nil {
		return fmt.Errorf("answer hello: %w", err)
	}
	return conn.SetWriteDeadline(time.Time{})
}

// session finds the session of the worker that says hello, or begins one.
func (l *Listener) session(h hello) (*session, error) {
	switch {
	case h.topology != l.cfg.Topology:
		return nil, fmt.Errorf("worker %q belongs to topology %q, this worker to %q", h.from, h.topology, l.cfg.Topology)
	case h.to != l.cfg.Self:
		return nil, fmt.Errorf("worker %q asks for worker %q, this is worker %q", h.from, h.to, l.cfg.Self)
	}
	l.mu.Lock()
	s := l.sessions[h.from]
	if s != nil && s.peerLife == h.life {
		l.mu.Unlock()
		return s, nil
	}
	if slices.Contains(l.former[h.from], h.life) {
		l.mu.Unlock()
		return nil, fmt.Errorf("worker %q has been restarted since this process of it was started", h.from)
	}
	old := s
	if old != nil {
		lives := append(l.former[h.from], old.peerLife)
		l.former[h.from] = lives[max(0, len(lives)-keptLives):]
	}
	s = newSession(h, newLife(), &l.cfg, l.origins, func(err error) {
		l.reports.error(fmt.Errorf("from worker %q: %w", h.from, err))
	})
	l.sessions[h.from] = s
	l.mu.Unlock()
	if old != nil {
		old.attach(nil)
	}
	return s, nil
}

// newLife is a random number other than 0.
func newLife() uint64 { return rand.Uint64() | 1 }
