package demo

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/embedded"
)

// storeServer lets other processes of this machine use the embedded coordination
// store, through a Unix socket: each connection is one session. If it breaks, the
// session expires after its time-out, as with ZooKeeper.
type storeServer struct {
	store *embedded.Server
	ln    net.Listener
	stop  context.CancelFunc
	wg    sync.WaitGroup
}

func serveStore(store *embedded.Server, socket string) (*storeServer, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("the socket of the coordination store: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &storeServer{store: store, ln: ln, stop: stop}
	s.wg.Go(func() { s.accept(ctx) })
	return s, nil
}

// close ends all connections and waits.
func (s *storeServer) close() {
	s.stop()
	s.ln.Close()
	s.wg.Wait()
}

func (s *storeServer) accept(ctx context.Context) {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return // it is closed
		}
		s.wg.Go(func() {
			// So that a read ends too when the server does.
			defer context.AfterFunc(ctx, func() { c.Close() })()
			defer c.Close()
			l := &linked{store: s.store, c: c, out: gob.NewEncoder(c), watches: map[uint64]*pushed{}}
			l.serve(ctx)
		})
	}
}

// linked is a session whose client is in another process.
type linked struct {
	store   *embedded.Server
	c       net.Conn
	session coord.Session
	wg      sync.WaitGroup

	mu  sync.Mutex
	out *gob.Encoder

	watches map[uint64]*pushed // not told yet; of the serving goroutine
}

// pushed is a watch. told is closed when its event was sent, or never will be.
type pushed struct {
	c    <-chan coord.Event
	told chan struct{}
}

func (l *linked) send(m *message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out.Encode(m) != nil {
		l.c.Close() // and so the session ends
	}
}

// serve answers requests, one after another, until the client is gone.
func (l *linked) serve(ctx context.Context) {
	in := gob.NewDecoder(l.c)
	gone := make(chan struct{})
	closed := false
	for !closed {
		var q request
		if in.Decode(&q) != nil {
			break
		}
		m := message{ID: q.ID}
		var watch <-chan coord.Event
		switch {
		case q.Op == opOpen && l.session == nil:
			m.Failure = failureOf(l.open(ctx, q, &m, gone))
		case l.session == nil:
			m.Failure = failureOf(errors.New("no session is open"))
		default:
			closed = q.Op == opClose
			var err error
			watch, err = l.do(ctx, q, &m)
			m.Failure = failureOf(err)
		}
		l.catchUp()
		l.send(&m)
		if watch != nil { // whose client knows of it now
			l.push(q.ID, watch)
		}
	}
	close(gone)
	if l.session != nil {
		l.store.Cut(l.session.ID())
	}
	// Watches of a session that is over end with it; those of one that is cut
	// off are not waited for here.
	l.wg.Wait()
}

func (l *linked) open(ctx context.Context, q request, m *message, gone <-chan struct{}) error {
	s, err := l.store.Open(ctx, q.Timeout)
	if err != nil {
		return err
	}
	l.session, m.Session, m.Timeout = s, s.ID(), s.Timeout()
	l.wg.Go(func() {
		select {
		case <-s.Done():
			l.send(&message{Over: failureOf(s.Err())})
		case <-gone:
		}
	})
	return nil
}

// catchUp sends the events of all watches that have fired: a client sees them
// before what it asked for after.
func (l *linked) catchUp() {
	for id, w := range l.watches {
		select {
		case e, ok := <-w.c:
			if ok {
				l.tell(id, e)
			} else {
				<-w.told // its own goroutine has the event
			}
			delete(l.watches, id)
		default:
		}
	}
}

func (l *linked) tell(id uint64, e coord.Event) {
	l.send(&message{Watch: id, Event: &event{Type: e.Type, Path: e.Path, Err: failureOf(e.Err)}})
}

// push sends the event of a watch when it fires.
func (l *linked) push(id uint64, c <-chan coord.Event) {
	w := &pushed{c: c, told: make(chan struct{})}
	l.watches[id] = w
	done := l.session.Done()
	l.wg.Go(func() {
		defer close(w.told)
		select {
		case e, ok := <-c:
			if ok {
				l.tell(id, e)
			}
		case <-done:
		}
	})
}

// do performs an operation, and returns the watch that it sets.
func (l *linked) do(ctx context.Context, q request, m *message) (watch <-chan coord.Event, err error) {
	s := l.session
	switch q.Op {
	case opClose:
		err = s.Close(ctx)
	case opGet:
		if q.Watch {
			m.Data, m.Stat, watch, err = s.GetW(ctx, q.Path)
		} else {
			m.Data, m.Stat, err = s.Get(ctx, q.Path)
		}
	case opExists:
		if q.Watch {
			m.Exists, m.Stat, watch, err = s.ExistsW(ctx, q.Path)
		} else {
			m.Exists, m.Stat, err = s.Exists(ctx, q.Path)
		}
	case opChildren:
		if q.Watch {
			m.Names, m.Stat, watch, err = s.ChildrenW(ctx, q.Path)
		} else {
			m.Names, m.Stat, err = s.Children(ctx, q.Path)
		}
	case opCreate:
		m.Path, err = s.Create(ctx, q.Path, q.Data, q.Mode)
	case opSet:
		m.Stat, err = s.Set(ctx, q.Path, q.Data, q.Version)
	case opDelete:
		err = s.Delete(ctx, q.Path, q.Version)
	case opMulti:
		var ops []coord.Op
		if ops, err = q.ops(); err == nil {
			m.Results, err = s.Multi(ctx, ops...)
		}
	default:
		err = fmt.Errorf("there is no operation %q", q.Op)
	}
	return watch, err
}
