package executor

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
	"github.com/stormring/stormring/worker/checkpoint"
)

// SpoutSpec is an executor of a spout.
type SpoutSpec struct {
	Spec
	Inbox *OutcomeInbox
	New   func() (storm.Spout, error)
	// MaxPending bounds the trees in flight per task; 0 is no bound.
	MaxPending int
	// FirstSeq is where the sequence numbers of roots begin. Incarnations of
	// a task must differ in it, so that no late ack meets a new tree.
	FirstSeq uint64
	// Timed tells that Rotate is called once a message time-out, here and in
	// the ackers. Then the only tuple of a tree announces it, see track.First.
	Timed bool
	// IdleWait is the longest rest after a NextTuple that emitted nothing.
	IdleWait time.Duration
}

// Spout runs the tasks of one executor of a spout.
type Spout struct {
	core
	inbox    *OutcomeInbox
	create   func() (storm.Spout, error)
	limit    int
	firstSeq uint64
	idleWait time.Duration
	timed    bool
	tasks    []*spoutTask
	first    storm.TaskID
	empties  []*OutcomeBatch
	timer    *time.Timer
	idles    int // NextTuple rounds in a row that emitted nothing
	opened   bool
	active   bool
	paused   bool // deactivated on demand, not just not yet activated
	// early are the markers, by task, that began an era before the spouts were
	// opened.
	early map[storm.TaskID]checkpoint.Marker

	state atomic.Pointer[SpoutState]
}

var _ Executor = (*Spout)(nil)

// SpoutState is what others may know of a spout executor. It is true of a
// moment at which everything emitted before was visible in Flow.
type SpoutState struct {
	Pending   int
	Exhausted bool // every task is a storm.Bounded that has come to its end
	Paused    bool // deactivated, and NextTuple has returned
	Endless   bool // a task is no storm.Bounded
}

// NewSpout makes the executor; nothing of the user's runs before Run, and the
// spouts are opened when SetActive first activates them.
func NewSpout(s SpoutSpec) *Spout {
	x := &Spout{
		inbox: s.Inbox, create: s.New, limit: s.MaxPending,
		firstSeq: s.FirstSeq, timed: s.Timed, idleWait: max(s.IdleWait, time.Microsecond), first: s.Tasks[0].ID,
		timer: time.NewTimer(time.Hour),
	}
	x.init(s.Spec)
	x.state.Store(&SpoutState{})
	return x
}

// QueueLen implements Executor.
func (x *Spout) QueueLen() int { return x.inbox.Len() }

// QueueLimit implements Executor.
func (x *Spout) QueueLimit() int { return x.inbox.Limit() }

// Close implements Executor.
func (x *Spout) Close() { x.inbox.Close() }

// State is what the executor last published.
func (x *Spout) State() SpoutState { return *x.state.Load() }

// SetActive activates or deactivates the spouts; the first activation opens
// them.
func (x *Spout) SetActive(active bool) { x.inbox.Urge(func() { x.setActive(active) }) }

// Rotate lets one message time-out pass: trees that have not been settled
// since the last but one call fail.
func (x *Spout) Rotate() { x.inbox.Urge(x.rotate) }

// SetLoads tells the executor's shuffles how busy each task is, from 0 to 1, by
// task id. What it has not looked at yet is replaced.
func (x *Spout) SetLoads(byTask []float64) {
	if x.loads.Swap(&byTask) != nil {
		return
	}
	x.inbox.Urge(func() {
		latest := x.loads.Swap(nil)
		for _, t := range x.tasks {
			t.setLoads(*latest)
		}
	})
}

// Run implements Executor.
func (x *Spout) Run() error {
	err := x.guard(x.loop)
	x.inbox.Close()
	x.timer.Stop()
	if err != nil {
		return err
	}
	return x.cleanup()
}

func (x *Spout) loop() error {
	for {
		if x.inbox.Ready() {
			batches, posts, ok := x.inbox.Take(x.empties)
			if !ok {
				return nil
			}
			x.empties = x.empties[:0]
			runPosts(posts)
			for _, b := range batches {
				x.settle(b)
				if x.Checkpoints != nil && x.active {
					// A commit brings the outcomes of a whole interval at once; emitting
					// goes on meanwhile.
					if err := x.emitAmid(len(batches)); err != nil {
						return err
					}
				}
			}
			// What was emitted by calls and from Ack and Fail.
			for _, t := range x.tasks {
				t.settleInstants()
			}
		}
		emitted, err := x.round()
		if err != nil {
			return err
		}
		if emitted {
			x.idles = 0
			if x.flushIfDue() {
				x.publish()
			}
			continue
		}
		x.rest()
	}
}

// roundsPerLook is how often NextTuple is called before the executor looks at
// anything else than its inbox.
const roundsPerLook = 32

// round calls NextTuple in every task that may emit: once, or many times if
// there is only one task and nothing else to do.
func (x *Spout) round() (emitted bool, err error) {
	if !x.active {
		return false, nil
	}
	for _, t := range x.tasks {
		ok, err := t.next()
		if err != nil {
			return false, err
		}
		emitted = emitted || ok
		if len(x.tasks) > 1 {
			continue
		}
		for n := 1; ok && n < roundsPerLook && !x.inbox.Ready() && !x.due(); n++ {
			if ok, err = t.next(); err != nil {
				return false, err
			}
		}
	}
	return emitted, nil
}

// emitAmid calls NextTuple some times amid the batches of outcomes of one look at the
// inbox, if these are many.
func (x *Spout) emitAmid(batches int) error {
	if batches < 8 {
		return nil
	}
	for range roundsPerLook {
		for _, t := range x.tasks {
			if _, err := t.next(); err != nil {
				return err
			}
		}
	}
	x.flushIfDue()
	return nil
}

// FailAll fails all trees in flight. It is for a loss that no time-out will
// ever tell of.
func (x *Spout) FailAll() {
	x.inbox.Urge(func() {
		for _, t := range x.tasks {
			t.pending.Drain(func(seq uint64, tr tree) { t.fail(seq, tr, false) })
		}
	})
}

// Suspect notes which trees are in flight now, of which some may just have been
// lost. FailSuspects fails those of the earliest Suspect that are still there.
func (x *Spout) Suspect() {
	x.inbox.Urge(func() {
		for _, t := range x.tasks {
			t.suspects = append(t.suspects, t.seq)
		}
	})
}

// FailSuspects fails the trees that were in flight at the earliest Suspect for
// which it was not called yet, and have had no outcome since.
func (x *Spout) FailSuspects() {
	x.inbox.Urge(func() {
		for _, t := range x.tasks {
			if len(t.suspects) == 0 {
				continue
			}
			last := t.suspects[0]
			t.suspects = t.suspects[1:]
			t.pending.DrainTo(last, func(seq uint64, tr tree) { t.fail(seq, tr, false) })
		}
	})
}

// rest flushes, publishes and waits for something to happen.
func (x *Spout) rest() {
	x.flush()
	x.publish()
	for _, t := range x.tasks {
		t.sampler.rest()
	}
	if x.inbox.Ready() {
		return
	}
	if !x.active || !x.mayEmit() {
		x.inbox.Wait(nil, 0)
		return
	}
	// Short rests first: what a source lacked this moment it may have the next.
	x.idles++
	x.inbox.Wait(x.timer, min(x.idleWait, 50*time.Microsecond<<min(x.idles, 16)))
}

// mayEmit reports whether NextTuple can be called without an outcome first.
func (x *Spout) mayEmit() bool {
	for _, t := range x.tasks {
		if t.mayEmit() {
			return true
		}
	}
	return false
}

func (x *Spout) publish() {
	x.flow.Sent.Store(x.sent)
	state := SpoutState{Paused: x.paused, Exhausted: x.opened}
	for _, t := range x.tasks {
		t.publishEmitted()
		t.publishDone()
		if x.paused && !t.ended && t.bounded != nil {
			// NextTuple will not be called, but the last ack may have come.
			t.ended = t.bounded.Exhausted()
		}
		state.Pending += t.pending.Len()
		state.Exhausted = state.Exhausted && t.ended
		state.Endless = state.Endless || t.bounded == nil
	}
	if *x.state.Load() != state {
		x.state.Store(&state)
	}
}

func (x *Spout) setActive(active bool) {
	x.paused = !active
	if active == x.active && x.opened {
		return
	}
	if active && !x.opened {
		x.open()
	}
	x.active = active
	for _, t := range x.tasks {
		a, ok := t.spout.(storm.Activator)
		if !ok {
			continue
		}
		if active {
			x.enter(t.id, atActivate)
			a.Activate()
		} else {
			x.enter(t.id, atDeactivate)
			a.Deactivate()
		}
	}
}

func (x *Spout) open() {
	for _, spec := range x.Tasks {
		x.enter(spec.ID, atOpen)
		spout, err := x.create()
		if err != nil {
			panic(x.failure(err, ""))
		}
		t := &spoutTask{
			task: newTask(&x.core, spec), x: x, spout: spout, pending: acker.NewPending[tree](),
			seq: x.firstSeq, done: make([]doneCounts, len(spec.Streams)),
		}
		t.bounded, _ = spout.(storm.Bounded)
		x.tasks = append(x.tasks, t)
		if err := spout.Open(spec.Context, storm.NewSpoutOutputCollector(t, x.Component, spec.StreamIndex)); err != nil {
			panic(x.failure(err, ""))
		}
		t.prepareHooks()
		if x.Checkpoints != nil {
			if t.cut, err = newCut(&t.task, len(x.tasks)-1, t, spout, x.inbox.Urge); err != nil {
				panic(x.failure(err, ""))
			}
		}
	}
	x.opened = true
	for _, t := range x.tasks {
		if m, ok := x.early[t.id]; ok {
			t.cut.perform(t.cut.Marker(0, m, 0))
		}
	}
	x.early = nil
}

// Marker brings a marker of the checkpoint task to a task.
func (x *Spout) Marker(task storm.TaskID, m checkpoint.Marker) {
	x.inbox.Urge(func() {
		if x.opened {
			t := x.tasks[task-x.first]
			t.cut.perform(t.cut.Marker(0, m, 0))
			return
		}
		if m.Action == checkpoint.InitState || m.Action == checkpoint.Rollback {
			if x.early == nil {
				x.early = map[storm.TaskID]checkpoint.Marker{}
			}
			x.early[task] = m
		}
	})
}

// settle tells the spouts how their trees ended.
func (x *Spout) settle(b *OutcomeBatch) {
	for _, o := range b.Outcomes {
		i := int(o.Root.Task()) - int(x.first)
		if i < 0 || i >= len(x.tasks) {
			continue // of a time before this spout was opened
		}
		t := x.tasks[i]
		switch o.Kind {
		case acker.OutcomeResetTimeout:
			t.pending.Touch(o.Root.Seq())
		case acker.OutcomeAck, acker.OutcomeFail:
			if tr, ok := t.pending.Take(o.Root.Seq()); ok {
				if o.Kind == acker.OutcomeAck {
					t.end(tr, true)
				} else {
					t.fail(o.Root.Seq(), tr, true)
				}
			}
		}
	}
	for _, t := range x.tasks {
		t.publishDone()
	}
	b.Outcomes = b.Outcomes[:0]
	x.empties = append(x.empties, b)
}

func (x *Spout) rotate() {
	for _, t := range x.tasks {
		t.pending.Rotate(func(seq uint64, tr tree) { t.fail(seq, tr, false) })
	}
}

func (x *Spout) cleanup() error {
	var errs []error
	for _, t := range x.tasks {
		// One that panics does not keep the others from it.
		errs = append(errs, x.guard(func() error {
			t.cut.close()
			x.enter(t.id, atClose)
			t.cleanupHooks()
			if err := t.spout.Close(); err != nil {
				return x.failure(err, "")
			}
			return nil
		}))
	}
	x.publish()
	return errors.Join(errs...)
}
