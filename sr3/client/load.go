package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// loading is one version on its way into the table.
type loading struct {
	t       *Task
	version shard.Version
	ctx     context.Context //nolint:containedctx // of the load, which outlives the call
	cancel  context.CancelCauseFunc
	entry   *recoveryNote
	// quiet is closed when an on-demand task has had time to ask for something; nil
	// without on-demand.
	quiet chan struct{}

	// What follows is of the task's goroutine.

	done    func(error) // nil once it was called
	adopted bool        // the table is the version's, though shards may be missing
	ready   bool        // done may be called
	over    bool        // everything is there
	left    int         // shards that are missing
	failed  error

	mu     sync.Mutex
	epoch  shard.Epoch
	wanted []shard.Range
	empty  bool          // start empty what has no living copy
	wants  chan struct{} // wanted or empty has changed
}

// Load makes the state that of version v exactly; v 0 is the empty state. epoch is
// that of the task's placement: holders refuse older ones from then on. done is
// called on the task's goroutine, perhaps before Load returns: without an error as
// soon as the state may be used, which with OnDemand is when the manifest is known;
// with one only if it can never be (ErrFenced, shard.ErrTooLarge). While no copy of
// a shard, or no manifest, is to be had, Load goes on trying, and says so.
//
// A newer Load supersedes: done of the older one is not called any more. One of
// the version that is under way lets that go on.
func (t *Task) Load(v shard.Version, epoch shard.Epoch, done func(error)) {
	if s := t.saving; s != nil && s.version == v && s.safe() {
		// It was committed, which nobody said.
		if err := t.Committed(v); err != nil {
			t.c.cfg.Log.Warn("a saved version could not be taken up and is loaded", "owner", t.o.Owner.String(), "version", int64(v), "error", err)
		}
	}
	if t.ctx.Err() != nil {
		done(fmt.Errorf("load version %d of %v: %w", v, t.o.Owner, ErrClosed))
		return
	}
	t.giveUp(fmt.Errorf("version %d of %v: %w by a load of version %d", t.newest(), t.o.Owner, ErrSuperseded, v))
	t.saving = nil
	l := t.loading
	switch {
	case l != nil && l.failed == nil && !l.over && l.version == v:
		t.goOn(l, epoch, done)
	case l != nil && l.failed == nil && l.over && t.committed == v:
		t.table.Rollback()
		t.notes.state(t.table)
		done(nil)
	default:
		if l != nil {
			l.cancel(fmt.Errorf("load version %d of %v: %w by version %d", l.version, t.o.Owner, ErrSuperseded, v))
		}
		t.begin(v, epoch, done)
	}
}

// StartEmpty is the operator's word that the shards of which no living copy is
// known now may start without their state. Without a load under way it does
// nothing.
func (t *Task) StartEmpty() {
	if t.loading != nil {
		t.loading.startEmpty()
	}
}

// goOn lets a load that is under way go on for another Load.
func (t *Task) goOn(l *loading, epoch shard.Epoch, done func(error)) {
	l.mu.Lock()
	newer := epoch > l.epoch
	l.epoch = max(l.epoch, epoch)
	l.mu.Unlock()
	if newer {
		t.spawn(func() { l.guard(epoch) })
	}
	if l.adopted {
		t.table.Rollback()
	}
	l.done = done
	l.tell()
}

func (t *Task) begin(v shard.Version, epoch shard.Epoch, done func(error)) {
	l := &loading{t: t, version: v, epoch: epoch, done: done, wants: make(chan struct{}, 1)}
	l.ctx, l.cancel = context.WithCancelCause(t.ctx)
	l.entry = t.notes.recovery(v)
	t.loading = l
	t.missing = true // nothing may be read before the load is adopted
	t.table = t.newTable()
	t.manifest, t.committed = nil, 0
	t.folds.reset()
	if !t.spawn(l.run) { // closed just now
		l.failed = fmt.Errorf("load version %d of %v: %w", v, t.o.Owner, ErrClosed)
		l.begun()
	}
}

// run is the load's goroutine.
func (l *loading) run() {
	defer l.cancel(nil)
	t := l.t
	fenced := make(chan struct{})
	t.wg.Go(func() {
		l.guard(l.now())
		close(fenced)
	})
	var m *shard.Manifest
	if l.version != 0 {
		if m = l.find(); m == nil {
			return
		}
	}
	table := t.newTable()
	if m != nil {
		if err := table.Expect(m.Ranges()...); err != nil {
			l.fail(err)
			return
		}
	}
	t.install(func() { l.adopt(table, m) })
	if t.o.OnDemand {
		l.quiet = make(chan struct{})
		t.wg.Go(func() {
			l.await(fenced, demandGrace)
			t.call(l.begun)
			select {
			case <-time.After(askGrace):
			case <-l.ctx.Done():
			}
			close(l.quiet)
		})
	}
	if m != nil && len(m.Shards) > 0 && !l.fetch(table, m) {
		return
	}
	l.await(fenced, fenceGrace)
	t.call(l.complete)
}

// adopt makes the table the task's. Like what follows it runs on the task's
// goroutine.
func (l *loading) adopt(table *shard.Table, m *shard.Manifest) {
	t := l.t
	if t.loading != l || l.failed != nil {
		return
	}
	l.adopted = true
	t.table, t.manifest, t.committed = table, m, l.version
	if m != nil {
		l.left = len(m.Shards)
	}
	t.missing = l.left > 0
}

// place puts a shard into the table.
func (l *loading) place(s *shard.Loaded) {
	t := l.t
	if t.loading != l || l.failed != nil {
		return
	}
	if err := t.table.Install(s); err != nil {
		l.failed = err
		l.cancel(err)
		l.ready = true
		t.call(l.tell)
		return
	}
	l.placed()
}

func (l *loading) placed() {
	l.left--
	l.t.missing = l.left > 0
}

// placeEmpty starts a shard without its state.
func (l *loading) placeEmpty(r shard.Range) {
	t := l.t
	if t.loading != l || l.failed != nil {
		return
	}
	if err := t.table.StartEmpty(r); err != nil {
		l.failed = err
		l.cancel(err)
		l.ready = true
		t.call(l.tell)
		return
	}
	l.placed()
}

// begun says that the state may be used.
func (l *loading) begun() {
	l.ready = true
	l.tell()
}

// complete says that everything is there.
func (l *loading) complete() {
	if l.t.loading == l && l.failed == nil {
		l.over = true
		l.t.notes.state(l.t.table)
	}
	l.begun()
}

// tell calls done if it is time.
func (l *loading) tell() {
	if !l.ready || l.done == nil || l.t.loading != l {
		return
	}
	done := l.done
	l.done = nil
	l.entry.told(l.failed)
	done(l.failed)
}

// fail ends the load for good.
func (l *loading) fail(err error) {
	err = fmt.Errorf("load version %d of %v: %w", l.version, l.t.o.Owner, err)
	l.cancel(err)
	l.t.install(func() {
		if l.failed == nil {
			l.failed = err
		}
	})
	l.t.call(l.begun)
}

// want says that the task waits for a shard.
func (l *loading) want(r shard.Range) {
	l.mu.Lock()
	l.wanted = append(l.wanted, r)
	l.mu.Unlock()
	l.signal()
}

func (l *loading) signal() {
	select {
	case l.wants <- struct{}{}:
	default:
	}
}

// startEmpty is the operator's word that shards of which no living copy is known
// may start without their state.
func (l *loading) startEmpty() {
	l.mu.Lock()
	l.empty = true
	l.mu.Unlock()
	l.signal()
}

// now is the newest epoch that was asked for.
func (l *loading) now() shard.Epoch {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

// taken gives what changed since the last call.
func (l *loading) taken() (wanted []shard.Range, empty bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wanted, empty = l.wanted, l.empty
	l.wanted, l.empty = nil, false
	return wanted, empty
}

// fenceGrace is how long a load that has everything waits for nodes that were
// told its epoch and did not answer yet. They may be dead: a recovery must not
// take as long as finding that out.
const fenceGrace = 200 * time.Millisecond

// In a load on demand, where a tuple waits, less is waited for; and all that nobody
// asked for waits until the task could ask: askGrace after it may run, and at most
// holdFor. So the first shard has links and processors for itself.
const (
	demandGrace = 60 * time.Millisecond
	askGrace    = 50 * time.Millisecond
	holdFor     = 250 * time.Millisecond
)

func (l *loading) await(fenced <-chan struct{}, grace time.Duration) {
	select {
	case <-fenced:
	case <-time.After(grace):
	case <-l.ctx.Done():
	}
}

// guard tells all nodes that older epochs are over. It ends when all have answered
// or their time is up.
func (l *loading) guard(epoch shard.Epoch) {
	t := l.t
	p, err := t.c.views.get(l.ctx)
	if err != nil {
		return
	}
	nodes := p.view.Nodes()
	if own, err := t.c.holders(l.ctx, p, t.o.Owner.Hash(), t.o.Replicas); err == nil && !p.complete {
		nodes = append(own, nodes...)
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.o.HolderTimeout)
	defer cancel()
	each(nodes, func(n ring.Node) {
		err := t.c.ask(ctx, n.Addr, protocol.Fence, protocol.FenceRequest{Owner: t.o.Owner, Epoch: epoch}, nil)
		switch {
		case errors.Is(err, ErrFenced):
			if epoch == l.now() { // else another Load knows better
				l.fail(err)
			}
		case err != nil:
			t.c.cfg.Log.Debug("a node was not told the epoch", "owner", t.o.Owner.String(), "node", n.ID, "error", err)
		}
	})
}

// asksAtOnce bounds how many nodes are asked the same at a time.
const asksAtOnce = 64

// each asks nodes, or for owners, side by side and waits for all.
func each[T any](all []T, ask func(T)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, asksAtOnce)
	for _, one := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ask(one)
		})
	}
	wg.Wait()
}
