package demo

import (
	"context"
	"encoding/gob"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/coord"
)

// storeClient is the coordination store of another process, at its socket. It
// implements coord.Opener.
type storeClient struct{ socket string }

// Open implements coord.Opener.
func (o storeClient) Open(ctx context.Context, timeout time.Duration) (coord.Session, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", o.socket)
	if err != nil {
		if ctx.Err() != nil {
			return nil, coord.Failed("open", "", ctx.Err())
		}
		return nil, coord.Failed("open", "", &detailed{coord.ErrConnectionLoss, coord.ErrConnectionLoss.Error() + ": " + err.Error()})
	}
	s := &farSession{c: c, out: gob.NewEncoder(c), done: make(chan struct{}), calls: map[uint64]*asked{}, watches: map[uint64]waiting{}}
	s.wg.Go(s.read)
	m, _, err := s.call(ctx, request{Op: opOpen, Timeout: timeout})
	if err != nil {
		s.finish(coord.ErrSessionClosed)
		s.wg.Wait()
		return nil, err
	}
	s.id, s.timeout = m.Session, m.Timeout
	return s, nil
}

// farSession is the client's side of a session.
type farSession struct {
	c       net.Conn
	id      int64
	timeout time.Duration
	done    chan struct{}
	wg      sync.WaitGroup

	sending sync.Mutex
	out     *gob.Encoder

	mu      sync.Mutex
	err     error // why it is over
	last    uint64
	calls   map[uint64]*asked
	watches map[uint64]waiting // not fired
}

// asked is a call that is not answered.
type asked struct {
	reply chan *message // room for the one
	watch chan coord.Event
	path  string
}

// waiting is the client's end of a watch.
type waiting struct {
	path string
	c    chan coord.Event // room for the one event
}

var _ coord.Session = (*farSession)(nil)

func (s *farSession) ID() int64              { return s.id }
func (s *farSession) Timeout() time.Duration { return s.timeout }
func (s *farSession) Done() <-chan struct{}  { return s.done }

func (s *farSession) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// closePatience bounds how long the store is waited for at the end of a session.
const closePatience = 5 * time.Second

func (s *farSession) Close(ctx context.Context) error {
	// Not ctx: the session has to end in the store too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
	defer cancel()
	_, _, err := s.call(ctx, request{Op: opClose})
	s.finish(coord.ErrSessionClosed)
	s.wg.Wait()
	if errors.Is(err, coord.ErrSessionClosed) || errors.Is(err, coord.ErrSessionExpired) {
		return nil // the news of that came before the answer, or long ago
	}
	return err
}

// finish ends the session for its client.
func (s *farSession) finish(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = why
	for id, w := range s.watches {
		s.fire(id, coord.Event{Type: coord.EventNotWatching, Path: w.path, Err: why})
	}
	close(s.done)
	s.c.Close()
}

// fire tells a watch; s.mu is held.
func (s *farSession) fire(id uint64, e coord.Event) {
	w, ok := s.watches[id]
	if !ok {
		return
	}
	delete(s.watches, id)
	w.c <- e
	close(w.c)
}

// read takes what the store says until the connection is gone. The store is gone
// with it: there is no coming back to a process that has ended.
func (s *farSession) read() {
	in := gob.NewDecoder(s.c)
	for {
		m := &message{}
		if in.Decode(m) != nil {
			s.finish(coord.ErrSessionExpired)
			return
		}
		switch {
		case m.Over != nil:
			s.finish(m.Over.err())
			return
		case m.Event != nil:
			s.mu.Lock()
			s.fire(m.Watch, m.Event.event())
			s.mu.Unlock()
		default:
			s.mu.Lock()
			a := s.calls[m.ID]
			delete(s.calls, m.ID)
			if a != nil && a.watch != nil && m.Failure == nil && s.err == nil {
				s.watches[m.ID] = waiting{a.path, a.watch}
			}
			s.mu.Unlock()
			if a != nil {
				a.reply <- m
			}
		}
	}
}

// call asks and waits for the answer.
func (s *farSession) call(ctx context.Context, q request) (*message, <-chan coord.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, coord.Failed(q.Op, q.Path, err)
	}
	a := &asked{reply: make(chan *message, 1), path: q.Path}
	if q.Watch {
		a.watch = make(chan coord.Event, 1)
	}
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return nil, nil, coord.Failed(q.Op, q.Path, s.err)
	}
	s.last++
	q.ID = s.last
	s.calls[q.ID] = a
	s.mu.Unlock()
	s.sending.Lock()
	err := s.out.Encode(&q)
	s.sending.Unlock()
	if err != nil {
		s.finish(coord.ErrSessionExpired)
	}
	select {
	case m := <-a.reply:
		return s.answer(m, a)
	case <-ctx.Done():
		return nil, nil, coord.Failed(q.Op, q.Path, ctx.Err())
	case <-s.done:
	}
	select {
	case m := <-a.reply: // it was there before the end
		return s.answer(m, a)
	default:
		return nil, nil, coord.Failed(q.Op, q.Path, s.Err())
	}
}

func (s *farSession) answer(m *message, a *asked) (*message, <-chan coord.Event, error) {
	if m.Failure != nil {
		return nil, nil, m.Failure.err()
	}
	return m, a.watch, nil
}

// Get implements coord.Reader.
func (s *farSession) Get(ctx context.Context, path string) ([]byte, coord.Stat, error) {
	m, _, err := s.call(ctx, request{Op: opGet, Path: path})
	if err != nil {
		return nil, coord.Stat{}, err
	}
	return m.Data, m.Stat, nil
}

// GetW implements coord.Watcher.
func (s *farSession) GetW(ctx context.Context, path string) ([]byte, coord.Stat, <-chan coord.Event, error) {
	m, w, err := s.call(ctx, request{Op: opGet, Path: path, Watch: true})
	if err != nil {
		return nil, coord.Stat{}, nil, err
	}
	return m.Data, m.Stat, w, nil
}

// Exists implements coord.Reader.
func (s *farSession) Exists(ctx context.Context, path string) (bool, coord.Stat, error) {
	m, _, err := s.call(ctx, request{Op: opExists, Path: path})
	if err != nil {
		return false, coord.Stat{}, err
	}
	return m.Exists, m.Stat, nil
}

// ExistsW implements coord.Watcher.
func (s *farSession) ExistsW(ctx context.Context, path string) (bool, coord.Stat, <-chan coord.Event, error) {
	m, w, err := s.call(ctx, request{Op: opExists, Path: path, Watch: true})
	if err != nil {
		return false, coord.Stat{}, nil, err
	}
	return m.Exists, m.Stat, w, nil
}

// Children implements coord.Reader.
func (s *farSession) Children(ctx context.Context, path string) ([]string, coord.Stat, error) {
	m, _, err := s.call(ctx, request{Op: opChildren, Path: path})
	if err != nil {
		return nil, coord.Stat{}, err
	}
	return m.Names, m.Stat, nil
}

// ChildrenW implements coord.Watcher.
func (s *farSession) ChildrenW(ctx context.Context, path string) ([]string, coord.Stat, <-chan coord.Event, error) {
	m, w, err := s.call(ctx, request{Op: opChildren, Path: path, Watch: true})
	if err != nil {
		return nil, coord.Stat{}, nil, err
	}
	return m.Names, m.Stat, w, nil
}

// Create implements coord.Writer.
func (s *farSession) Create(ctx context.Context, path string, data []byte, mode coord.Mode) (string, error) {
	m, _, err := s.call(ctx, request{Op: opCreate, Path: path, Data: data, Mode: mode})
	if err != nil {
		return "", err
	}
	return m.Path, nil
}

// Set implements coord.Writer.
func (s *farSession) Set(ctx context.Context, path string, data []byte, version int32) (coord.Stat, error) {
	m, _, err := s.call(ctx, request{Op: opSet, Path: path, Data: data, Version: version})
	if err != nil {
		return coord.Stat{}, err
	}
	return m.Stat, nil
}

// Delete implements coord.Writer.
func (s *farSession) Delete(ctx context.Context, path string, version int32) error {
	_, _, err := s.call(ctx, request{Op: opDelete, Path: path, Version: version})
	return err
}

// Multi implements coord.Writer.
func (s *farSession) Multi(ctx context.Context, ops ...coord.Op) ([]coord.Result, error) {
	m, _, err := s.call(ctx, request{Op: opMulti, Ops: requestsOf(ops)})
	if err != nil {
		return nil, err
	}
	return m.Results, nil
}
