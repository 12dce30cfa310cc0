// Package embedded is a coordination store within one process, with
// ZooKeeper's semantics: for local mode, tests and simulations. Start at New.
//
// It is a thin shell: package tree decides, Server locks, tells the time and
// hands events to the sessions. Sessions live in the same process as the
// store, so one expires only if a test cuts it off; see Server.Cut.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/embedded/tree"
)

// Config is what a Server needs to know.
type Config struct {
	// Clock stamps changes and times sessions out.
	Clock clock.Clock
	// MaxDataBytes is how much data a znode holds at most, and all that one
	// Multi writes.
	MaxDataBytes int
	// MinTimeout and MaxTimeout bound the time-outs of sessions.
	MinTimeout, MaxTimeout time.Duration
	// Dir is the folder in which the store outlives the process, all but
	// sessions and what is theirs; every change is on disk before it is
	// confirmed. Empty: in memory alone.
	Dir string
}

// DefaultConfig has ZooKeeper's defaults and the computer's clock.
func DefaultConfig() Config {
	return Config{
		Clock:        clock.Real{},
		MaxDataBytes: coord.DefaultMaxDataBytes,
		MinTimeout:   4 * time.Second,
		MaxTimeout:   40 * time.Second,
	}
}

// Validate says what is wrong with c, or nil.
func (c Config) Validate() error {
	var errs []error
	if c.Clock == nil {
		errs = append(errs, errors.New("no Clock: use clock.Real{}"))
	}
	if c.MaxDataBytes <= 0 || c.MaxDataBytes > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("MaxDataBytes is %d, has to be from 1 to %d", c.MaxDataBytes, math.MaxInt32))
	}
	if c.MinTimeout <= 0 || c.MaxTimeout < c.MinTimeout {
		errs = append(errs, fmt.Errorf("MinTimeout is %v and MaxTimeout %v: the first has to be positive, the second no less", c.MinTimeout, c.MaxTimeout))
	}
	return errors.Join(errs...)
}

// Server is the store. Its owner closes it.
type Server struct {
	cfg   Config
	timer clock.Timer // runs while a session is to expire
	stop  chan struct{}
	loop  sync.WaitGroup

	mu       sync.Mutex
	tree     *tree.Tree
	disk     *disk              // nil in memory alone
	broken   error              // why the disk must not be used any more
	sessions map[int64]*session // whose clients do not know of an end
	closed   bool
}

var _ coord.Opener = (*Server)(nil)

// New starts a store: an empty one, or the one that is in cfg.Dir.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("embedded coordination store: %w", err)
	}
	t, d := tree.New(cfg.MaxDataBytes), (*disk)(nil)
	if cfg.Dir != "" {
		var err error
		if t, d, err = load(cfg.Dir, cfg.MaxDataBytes, cfg.Clock.Now()); err != nil {
			return nil, fmt.Errorf("embedded coordination store: %w", err)
		}
	}
	s := &Server{
		cfg:      cfg,
		timer:    cfg.Clock.NewTimer(cfg.MaxTimeout),
		stop:     make(chan struct{}),
		tree:     t,
		disk:     d,
		sessions: map[int64]*session{},
	}
	s.timer.Stop()
	s.loop.Go(s.run)
	return s, nil
}

// run expires sessions until the store is closed.
func (s *Server) run() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.timer.C():
			s.tick()
		}
	}
}

func (s *Server) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.broken != nil {
		return
	}
	over := s.tree.Tick(s.cfg.Clock.Now())
	if s.settle() != nil {
		return // who calls is told
	}
	for _, id := range over {
		s.over(id, coord.ErrSessionExpired)
	}
	s.arm()
}

// arm sets the timer to when the next session expires; s.mu is held.
func (s *Server) arm() {
	if next, ok := s.tree.NextDeadline(); ok {
		s.timer.Reset(next.Sub(s.cfg.Clock.Now()))
	} else {
		s.timer.Stop()
	}
}

// Open implements coord.Opener.
func (s *Server) Open(ctx context.Context, timeout time.Duration) (coord.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, coord.Failed("open", "", err)
	}
	timeout = min(max(timeout, s.cfg.MinTimeout), s.cfg.MaxTimeout)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, coord.Failed("open", "", coord.ErrConnectionLoss)
	}
	if s.broken != nil {
		return nil, coord.Failed("open", "", s.broken)
	}
	id := s.tree.Open(s.cfg.Clock.Now(), timeout)
	if err := s.settle(); err != nil {
		return nil, coord.Failed("open", "", err)
	}
	c := &session{
		server:  s,
		id:      id,
		timeout: timeout,
		done:    make(chan struct{}),
		watches: map[tree.WatchID]waiting{},
	}
	s.sessions[id] = c
	return c, nil
}

// Close ends the store. To sessions still open it is as if they were closed.
func (s *Server) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	for id := range s.sessions {
		s.sessions[id].finish(coord.ErrSessionClosed)
	}
	s.timer.Stop()
	s.mu.Unlock()
	if first {
		close(s.stop)
	}
	s.loop.Wait()
	if first && s.disk != nil {
		return s.disk.close()
	}
	return nil
}

// settle hands on what the tree has to tell: to the disk, then to the clients;
// s.mu is held. After an error the disk may have less than the tree: nothing
// is told, now or later.
func (s *Server) settle() error {
	out := s.tree.Drain()
	if s.disk != nil {
		if err := s.disk.append(s.tree, out.Txns); err != nil {
			s.broken = fmt.Errorf("%w: its folder cannot be written, restart it once that is mended: %w", coord.ErrConnectionLoss, err)
			return s.broken
		}
	}
	for _, f := range out.Fired {
		if c := s.sessions[f.Session]; c != nil {
			c.fired(f)
		}
	}
	return nil
}

// over tells a client that its session has ended, if it can be told; s.mu is
// held.
func (s *Server) over(id int64, why error) {
	if c := s.sessions[id]; c != nil && !c.cut {
		c.finish(why)
	}
}
