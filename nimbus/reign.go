package nimbus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/nimbus/lifecycle"
	"github.com/stormring/stormring/nimbus/scheduler"
	"github.com/stormring/stormring/nimbus/survey"
)

// reign is the time during which this nimbus leads. All that changes the
// cluster happens in the goroutine of run; others hand it jobs.
type reign struct {
	n     *Nimbus
	term  *term
	store *records.Store
	fence coord.CheckOp
	wake  chan struct{} // of the scheduling loop; holds one
	jobs  chan job
	over  chan struct{}

	// Of run's goroutine.
	tracked   map[cluster.TopologyID]*tracked
	supWatch  <-chan coord.Event
	nextSweep time.Time
	losses    losses

	mu      sync.Mutex // guards what follows, which reports and answers use too
	ears    *survey.Ears
	black   *scheduler.Blacklist
	reasons map[cluster.TopologyID]string
	names   map[string]cluster.TopologyID
}

// tracked is a topology in the hands of the leader.
type tracked struct {
	state lifecycle.State
	rules lifecycle.Rules
	name  string
	due   time.Time // zero: nothing is due
	// again: a step failed, and when due it is taken up from the store.
	again bool
}

// job is something to do in run's goroutine.
type job struct {
	do   func(ctx context.Context) error
	done chan<- error
}

func newReign(t *term, fence coord.CheckOp) *reign {
	black, err := scheduler.NewBlacklist(t.n.black)
	if err != nil {
		panic("nimbus: the settings of the blacklist were checked: " + err.Error())
	}
	return &reign{
		n: t.n, term: t, store: t.store, fence: fence,
		wake: make(chan struct{}, 1), jobs: make(chan job), over: make(chan struct{}), losses: losses{},
		tracked: map[cluster.TopologyID]*tracked{}, names: map[string]cluster.TopologyID{},
		ears: survey.NewEars(t.n.times, t.n.nowSecs()), black: black, reasons: map[cluster.TopologyID]string{},
	}
}

// begin takes up all topologies where the leader before has left them.
func (r *reign) begin(ctx context.Context) error {
	if err := r.term.announce(ctx, true); err != nil {
		return err
	}
	ids := map[cluster.TopologyID]bool{}
	for _, list := range []func(context.Context) ([]cluster.TopologyID, error){r.store.Topologies, r.store.Lives, r.store.Assignments} {
		some, err := list(ctx)
		if err != nil {
			return err
		}
		for _, id := range some {
			ids[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if err := r.takeUp(ctx, id); err != nil {
			return err
		}
	}
	r.wakeUp()
	return nil
}

// takeUp reads a topology's state and steps Startup. The error is one that
// ends the reign.
func (r *reign) takeUp(ctx context.Context, id cluster.TopologyID) error {
	state, base, err := readState(ctx, r.store, id)
	if err == nil && state.Over() {
		// What has neither base nor tombstone is left over from a submission or
		// a removal that was cut off.
		r.drop(id)
		err = errors.Join(r.store.RemoveAssignment(ctx, id), r.store.RemoveLife(ctx, id))
	} else if err == nil {
		r.track(id, base.Name, state)
		err = r.step(ctx, id, lifecycle.Startup{})
	}
	if err == nil || gone(err) {
		return err
	}
	r.n.cfg.Logger.Error("a topology cannot be taken up; it is tried again", "topology", id, "error", err)
	r.tryAgain(id)
	return nil
}

func (r *reign) track(id cluster.TopologyID, name string, s lifecycle.State) *tracked {
	t := &tracked{state: s, name: name, rules: r.n.lifecycleRules(nil)}
	r.tracked[id] = t
	if !s.Removed {
		r.mu.Lock()
		r.names[name] = id
		r.mu.Unlock()
	}
	return t
}

func (r *reign) drop(id cluster.TopologyID) {
	delete(r.tracked, id)
	delete(r.losses, id)
	r.freeName(id)
	r.mu.Lock()
	delete(r.reasons, id)
	r.mu.Unlock()
}

func (r *reign) freeName(id cluster.TopologyID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.names, func(_ string, other cluster.TopologyID) bool { return other == id })
}

// tryAgain takes a topology up anew after a while.
func (r *reign) tryAgain(id cluster.TopologyID) {
	t := r.tracked[id]
	if t == nil {
		t = &tracked{name: id.Name(), rules: r.n.lifecycleRules(nil)}
		r.tracked[id] = t
	}
	t.again, t.due = true, r.n.cfg.Clock.Now().Add(r.n.cfg.Conf.Duration(conf.NimbusMonitorFreqSecs))
}

// run is the leader's loop. It ends with ErrNotLeader when another is elected,
// and with another error when the session cannot be relied on.
func (r *reign) run(ctx context.Context) error {
	timer := r.n.cfg.Clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.term.session.Done():
			return r.term.session.Err()
		case <-r.term.latch.Changes():
			if now, leads := r.term.latch.Term(); !leads || now != r.fence {
				return fmt.Errorf("its term is over: %w", ErrNotLeader)
			}
		case j := <-r.jobs:
			err := j.do(ctx)
			j.done <- err
			if err != nil && gone(err) {
				return err
			}
			if err := r.rearm(timer); err != nil {
				return err
			}
		case <-r.supWatch:
			r.supWatch = nil
			r.wakeUp()
		case <-r.wake:
			if err := r.tick(ctx, timer); err != nil {
				return err
			}
		case <-timer.C():
			if err := r.tick(ctx, timer); err != nil {
				return err
			}
		}
	}
}

// tick does whatever is due, and a round.
func (r *reign) tick(ctx context.Context, timer clock.Timer) error {
	for _, id := range slices.Sorted(maps.Keys(r.tracked)) {
		t := r.tracked[id]
		if t.due.IsZero() || r.n.cfg.Clock.Now().Before(t.due) {
			continue
		}
		if err := r.dueNow(ctx, id, t); err != nil {
			return err
		}
	}
	if now := r.n.cfg.Clock.Now(); !now.Before(r.nextSweep) {
		r.nextSweep = now.Add(r.n.cfg.Conf.Duration(conf.NimbusCleanupInboxSecs))
		if err := r.sweep(ctx); err != nil {
			return err
		}
	}
	if err := r.round(ctx, nil); err != nil {
		if gone(err) {
			return err
		}
		r.n.cfg.Logger.Error("nothing could be scheduled; it is tried again", "error", err)
	}
	return r.rearm(timer)
}

func (r *reign) dueNow(ctx context.Context, id cluster.TopologyID, t *tracked) error {
	t.due = time.Time{}
	if t.again {
		return r.takeUp(ctx, id)
	}
	err := r.step(ctx, id, lifecycle.DelayDue{})
	if err == nil || gone(err) {
		return err
	}
	r.n.cfg.Logger.Error("a topology's step failed; it is tried again", "topology", id, "error", err)
	r.tryAgain(id)
	return nil
}

// rearm sets the timer to the earliest of what is due next.
func (r *reign) rearm(timer clock.Timer) error {
	now := r.n.cfg.Clock.Now()
	next := now.Add(r.n.cfg.Conf.Duration(conf.NimbusMonitorFreqSecs))
	for _, t := range r.tracked {
		if !t.due.IsZero() && t.due.Before(next) {
			next = t.due
		}
	}
	r.mu.Lock()
	if at, ok := r.ears.NextLoss(now.Unix()); ok {
		if loss := time.Unix(at, 0); loss.Before(next) {
			next = loss
		}
	}
	r.mu.Unlock()
	timer.Reset(max(0, next.Sub(now)))
	return nil
}

// wakeUp asks for a round.
func (r *reign) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// end tells those that wait with jobs that nobody will do them.
func (r *reign) end() { close(r.over) }

// do has f done in the loop's goroutine. Once begun it is waited for, whatever
// becomes of ctx, so that the caller knows what has happened.
func (r *reign) do(ctx context.Context, f func(ctx context.Context) error) error {
	done := make(chan error, 1)
	select {
	case r.jobs <- job{f, done}:
		return <-done
	case <-r.over:
		return fmt.Errorf("nimbus %s: %w", r.n.ID(), ErrNotLeader)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lifecycleRules are the delays of a topology; c is its configuration, or nil.
func (n *Nimbus) lifecycleRules(c *conf.Conf) lifecycle.Rules {
	if c == nil {
		c = n.cfg.Conf
	}
	return lifecycle.Rules{MessageTimeout: messageTimeout(c), BlobDelay: n.cfg.Conf.Duration(conf.NimbusBlobDeletionDelayMS)}
}
