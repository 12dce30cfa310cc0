package zk

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	zookeeper "github.com/go-zookeeper/zk"

	"github.com/stormring/stormring/internal/coord"
)

// session is the client's side of a session.
type session struct {
	cfg   Config
	log   *slog.Logger
	conn  *zookeeper.Conn
	route route
	calls sync.WaitGroup // that the library has not answered
	done  chan struct{}  // closed when it is over
	ended chan struct{}  // closed when nothing of it runs any more
	quiet chan struct{}  // closed when it is over and the library may be closed; see farewell

	mu       sync.Mutex
	greeting greeting      // ZooKeeper's last
	link     *link         // the last
	up       chan struct{} // closed while there is a connection
	down     chan struct{} // closed when the last connection was lost
	err      error         // why it is over
	anchored bool          // the library has a watch or is about to
	watches  watches
}

var _ coord.Session = (*session)(nil)

func newSession(cfg Config) *session {
	return &session{
		cfg:     cfg,
		log:     cfg.Logger,
		route:   route{patience: cfg.ConnectTimeout},
		done:    make(chan struct{}),
		ended:   make(chan struct{}),
		quiet:   make(chan struct{}),
		up:      make(chan struct{}),
		watches: newWatches(),
	}
}

func (s *session) ID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.greeting.session
}

func (s *session) Timeout() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.greeting.timeout
}

func (s *session) Done() <-chan struct{} { return s.done }

func (s *session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close implements coord.Lease.
func (s *session) Close(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return coord.Failed("close", "", err)
	}
	s.finish(coord.ErrSessionClosed)
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return coord.Failed("close", "", ctx.Err())
	}
}

// finish ends the session for its client, unless it is over already.
func (s *session) finish(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = why
	s.watches.lose(why)
	close(s.done)
}

// reap ends what runs for a session that is over.
func (s *session) reap(cancel func(), events <-chan zookeeper.Event) {
	defer close(s.ended)
	<-s.done
	cancel() // dials no more
	if !isClosed(s.connected()) {
		s.hangUp() // lest it waits for a greeting
		<-s.quiet
	}
	s.conn.Close() // asks ZooKeeper to end the session; waits for a second
	patience := time.NewTimer(s.cfg.ConnectTimeout)
	defer patience.Stop()
	for open := true; open; {
		select {
		case _, open = <-events: // closed when the library is done
		case <-patience.C:
			s.hangUp()
		}
	}
	s.hangUp()
	s.calls.Wait()
}

// hangUp closes the last connection.
func (s *session) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		s.link.Close()
	}
}

// event is told by the library of all that happens, in its order and before
// the library acts on it. It must not block.
func (s *session) event(e zookeeper.Event) {
	switch {
	case e.Type == zookeeper.EventNotWatching:
		return // the session is over, which was told
	case e.Type != zookeeper.EventSession:
		s.mu.Lock()
		s.watches.fire(coord.EventType(e.Type), e.Path)
		s.mu.Unlock()
	case e.State == zookeeper.StateHasSession:
		s.found(e.Server)
	case e.State == zookeeper.StateDisconnected:
		s.lost(e.Server)
	case e.State == zookeeper.StateExpired:
		s.log.Warn("the ZooKeeper session has expired", "server", e.Server)
		s.finish(coord.ErrSessionExpired)
	}
}

// found notes that there is a connection.
func (s *session) found(server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		if !isClosed(s.quiet) {
			close(s.quiet)
		}
		return
	}
	s.down = make(chan struct{})
	close(s.up)
	s.log.Info("connected to ZooKeeper", "server", server, "session", s.greeting.session, "timeout", s.greeting.timeout)
}

// lost notes that there is no connection.
func (s *session) lost(server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !isClosed(s.up) {
		return
	}
	s.up = make(chan struct{})
	close(s.down)
	if s.err == nil {
		s.log.Warn("lost the connection to ZooKeeper; trying again", "server", server)
	}
}

// nowhere is a znode that never is. A watch for it makes the library send a
// request for its watches on each new connection, which link relies on.
const nowhere = "/zookeeper/nowhere"

// anchor waits for the first connection and sets the watch for nowhere.
func (s *session) anchor(ctx context.Context) error {
	for {
		select {
		case <-s.connected():
		case <-s.done:
			return s.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.Lock()
		s.anchored = true
		s.mu.Unlock()
		_, err := do(ctx, s, reads, nil, func(c *zookeeper.Conn) (struct{}, error) {
			_, _, _, err := c.ExistsW(nowhere)
			return struct{}{}, err
		})
		if !errors.Is(err, coord.ErrConnectionLoss) {
			return err
		}
	}
}

func (s *session) connected() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
