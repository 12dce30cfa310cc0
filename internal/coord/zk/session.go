package zk

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
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
	last  atomic.Int64   // number of the last change that was seen
	done  chan struct{}  // closed when it is over
	ended chan struct{}  // closed when nothing of it runs any more
	quiet chan struct{}  // closed when it is over and the library may be closed; see farewell

	mu       sync.Mutex
	greeting greeting      // ZooKeeper's last
	link     *link         // the last
	present  bool          // the link has the session
	up       chan struct{} // closed while calls may begin
	down     chan struct{} // closed when the last connection is lost on which they might
	final    bool          // there is no further connection but a farewell
	err      error         // why it is over
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
	s.finish(coord.ErrSessionClosed) // whatever ctx says
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
	s.mu.Lock()
	up := s.up
	if !s.present && s.link != nil {
		s.link.Close() // lest it waits for a greeting
	}
	s.mu.Unlock()
	select {
	case <-up:
	case <-s.quiet:
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
		return // the session is over, which is told otherwise
	case e.Type != zookeeper.EventSession:
		s.mu.Lock()
		s.watches.fire(coord.EventType(e.Type), e.Path)
		s.mu.Unlock()
	case e.State == zookeeper.StateHasSession:
		s.hasSession()
	case e.State == zookeeper.StateDisconnected:
		s.lost(e.Server)
	case e.State == zookeeper.StateExpired:
		s.log.Warn("the ZooKeeper session has expired", "server", e.Server)
		s.finish(coord.ErrSessionExpired)
	}
}

// hasSession notes that the server takes the session, or bids it farewell.
func (s *session) hasSession() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.final:
		s.present = true
		if !s.link.hold {
			s.open()
		}
	case !isClosed(s.quiet):
		close(s.quiet)
	}
}

// found notes that calls may begin on a link that has held them.
func (s *session) found(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == l && s.present && !isClosed(s.up) {
		s.open()
	}
}

// open lets calls begin; s.mu is held.
func (s *session) open() {
	s.down = make(chan struct{})
	close(s.up)
	s.log.Info("connected to ZooKeeper", "server", s.link.RemoteAddr(), "session", s.greeting.session, "timeout", s.greeting.timeout)
}

// lost notes that there is no connection.
func (s *session) lost(server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present = false
	s.watches.interrupt()
	if !isClosed(s.up) {
		return
	}
	s.up = make(chan struct{})
	close(s.down)
	if s.err == nil {
		s.log.Warn("lost the connection to ZooKeeper; trying again", "server", server)
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
