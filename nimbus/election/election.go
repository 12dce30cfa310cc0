// Package election chooses the leader of the nimbuses, those of Storm among
// them: znodes, names and data are those of Curator's LeaderLatch, as which
// Storm elects. Start at Join.
//
// Each nimbus queues up with an ephemeral sequential znode; who is first leads,
// each other one watches the znode before its own. A term of leadership is a
// znode: who ceases to lead deletes its own and queues up anew. So a write
// that checks the term's znode, see Latch.Term, cannot come from a term that
// is over, not even from one of the same nimbus.
package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/coord"
)

// Config is what a Latch needs to know.
type Config struct {
	// Session is the owner's; it has to outlive the Latch.
	Session coord.Session
	// Root is Storm's znode, such as /storm.
	Root string
	// ID is how others find this nimbus: host:port or host:port:tlsPort.
	ID string
	// Clock times the leadership out.
	Clock clock.Clock
	// Logger is told when leadership begins and ends.
	Logger *slog.Logger
}

// Validate says what is wrong with c, or nil.
func (c Config) Validate() error {
	var errs []error
	if c.Session == nil {
		errs = append(errs, errors.New("no Session"))
	}
	if err := coord.ValidatePath(c.Root); err != nil {
		errs = append(errs, fmt.Errorf("root %q: %w", c.Root, err))
	}
	if _, err := ParseAddress(c.ID); err != nil {
		errs = append(errs, err)
	}
	if c.Clock == nil {
		errs = append(errs, errors.New("no Clock: use clock.Real{}"))
	}
	if c.Logger == nil {
		errs = append(errs, errors.New("no Logger: use slog.New(slog.DiscardHandler)"))
	}
	return errors.Join(errs...)
}

// Latch is a nimbus's part in the election. It is safe for use by several
// goroutines. Its owner closes it.
type Latch struct {
	cfg     Config
	lock    string        // path of the queue
	prefix  string        // of the names of this Latch's znodes
	timeout time.Duration // how long a leader may be unheard
	cancel  func()
	loop    sync.WaitGroup
	changes chan struct{}
	done    chan struct{}

	mu     sync.Mutex
	err    error
	left   bool // closed, and the znode is deleted
	leader bool
	term   string        // path of the znode while leader
	until  time.Time     // when the leadership ends unless it is confirmed
	resign chan struct{} // closed when the owner gives the term up
}

// Join enters the election and returns at once.
func Join(cfg Config) (*Latch, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background()) // ends with Close
	l := &Latch{
		cfg:     cfg,
		lock:    lockPath(cfg.Root),
		prefix:  protection + uuid.NewString() + "-",
		timeout: cfg.Session.Timeout() * 2 / 3,
		cancel:  cancel,
		changes: make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	l.loop.Go(func() { l.run(ctx) })
	return l, nil
}

// Leader reports whether this nimbus leads. It is true of one nimbus at a time
// as far as their clocks run at the same speed and nobody else deletes a znode
// of theirs; to be safe where that is not so, write with Term. It becomes false at once when the session is over, the
// znode gone, the store unreachable for two thirds of the session's time-out,
// or seen to be so sooner.
func (l *Latch) Leader() bool {
	_, ok := l.Term()
	return ok
}

// Term is what to put first into each Multi of a leader: it fails with
// ErrNoNode when the term is over, whoever leads by then. It is false if this
// nimbus does not lead. Who leads keeps the Term with which it began: one that
// is asked for later may be another's.
func (l *Latch) Term() (coord.CheckOp, bool) {
	select {
	case <-l.cfg.Session.Done():
		return coord.CheckOp{}, false
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leader || !l.cfg.Clock.Now().Before(l.until) {
		return coord.CheckOp{}, false
	}
	return coord.CheckOp{Path: l.term, Version: coord.AnyVersion}, true
}

// Changes has an element when Term may give another answer than before. It is
// for one reader; changes that are not read become one.
func (l *Latch) Changes() <-chan struct{} { return l.changes }

// Resign ends the term at once, if it is the present one, and queues up anew.
// It is for an owner that has been told ErrConnectionLoss or cannot lead.
func (l *Latch) Resign(term coord.CheckOp) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leader && l.term == term.Path {
		l.leader = false
		close(l.resign)
		l.changed()
	}
}

// Done is closed when the Latch takes part no more: it is closed, or its
// session is over.
func (l *Latch) Done() <-chan struct{} { return l.done }

// Err is nil until Done is closed or if Close was called, else it says why the
// Latch takes part no more.
func (l *Latch) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close leaves the election: this nimbus leads no more and its znode is
// deleted. If that cannot be, the error says why; it goes with the session
// then. Closing again does nothing, unless that failed.
func (l *Latch) Close(ctx context.Context) error {
	l.cancel()
	l.loop.Wait()
	select {
	case <-l.cfg.Session.Done():
		return nil // and the znode with it
	default:
	}
	l.mu.Lock()
	left := l.left
	l.mu.Unlock()
	if left {
		return nil
	}
	if err := l.withdraw(ctx); err != nil {
		return fmt.Errorf("leave the leader election: %w", err)
	}
	l.mu.Lock()
	l.left = true
	l.mu.Unlock()
	return nil
}

// begin starts a term that lasts until a time unless it is confirmed. The
// result is closed when the owner resigns.
func (l *Latch) begin(term string, until time.Time) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leader, l.term, l.until, l.resign = true, term, until, make(chan struct{})
	l.changed()
	return l.resign
}

// confirm makes the term last longer.
func (l *Latch) confirm(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = until
}

// end ends the term, if there is one.
func (l *Latch) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leader {
		l.leader = false
		l.changed()
	}
}

// changed tells the reader of Changes; l.mu is held.
func (l *Latch) changed() {
	select {
	case l.changes <- struct{}{}:
	default:
	}
}
