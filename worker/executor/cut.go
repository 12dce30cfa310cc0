package executor

import (
	"errors"
	"slices"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/checkpoint"
)

// settled is the ack of one tuple in one tree, which waits for a commit.
type settled struct {
	root track.Root
	// val is what the acker gets: the tuple's edge and those of its children. It is
	// 0 if the tuple was alone in its tree, which the spout itself is told.
	val uint64
}

// cutter is what only a bolt's task or only a spout's does for its cut.
type cutter interface {
	// rewound tells that the state is about to be that of another version.
	rewound()
	// passed tells that a marker is behind all that was emitted so far.
	passed(checkpoint.Marker)
	ackAll([]settled)
	failAll([]settled)
	runHeld([]storm.Tuple)
	dropHeld([]storm.Tuple)
}

// drainer is a component that works aside: before its state is taken down, what
// it was given has to be done. done is called on the task's goroutine.
type drainer interface {
	Drain(txID int64, done func(error))
}

// cut is a task's part in checkpoints: the machine, and what it wants done.
type cut struct {
	*checkpoint.Task[settled]
	cp     *Checkpoints
	t      *task
	by     cutter
	keeper Keeper // nil without state
	// component is what its author wrote, for the hooks of state.
	component any
	post      func(func())
	inputs    []int // the aligner's places by task, -1 for others
	boxes     []*outbox
	marker    *track.Origin
	// origins are copies for the era, by id, which tell it.
	origins []*track.Origin
	held    []storm.Tuple
	// loads numbers LoadStates, so that the end of an older one is told apart.
	loads   int
	loading bool
	// draining tells that the component is finishing what it was given; what
	// comes meanwhile is queued.
	draining bool
	queue    []queued
	waiting  int // tuples in queue
	// inHand are the anchors of the tracked tuples of this era that were executed and
	// neither acked nor failed. Without those of the one that is executed, of which
	// done tells whether it was.
	inHand map[track.Anchor]struct{}
	done   bool
	// settling is the marker that waits for what is in hand, the draining of a bolt
	// without state; its Action is 0 if none does.
	settling checkpoint.Marker
	// failed tells that a tracked tuple was failed since this era began.
	failed bool
}

// queued is an effect that waits for the component to be drained, with the tuples
// that it is about; or, without effect, tuples to be executed.
type queued struct {
	effect checkpoint.TaskEffect
	tuples []storm.Tuple
}

// newCut makes the machine of the task at a place among its executor's.
func newCut(t *task, place int, by cutter, component any, post func(func())) (*cut, error) {
	cp := t.c.Checkpoints
	c := &cut{
		cp: cp, t: t, by: by, component: storm.Unwrap(component), post: post,
		marker: cp.Markers[place], inputs: slices.Repeat([]int{-1}, cp.Tasks),
	}
	tasks := make([]int32, len(cp.Inputs))
	for i, in := range cp.Inputs {
		tasks[i] = int32(in)
		c.inputs[in] = i
	}
	for _, target := range cp.Targets {
		c.boxes = append(c.boxes, t.c.box(target.Lane))
	}
	t.sent = make([]int64, cp.Tasks)
	var part *checkpoint.Participant[settled]
	if cp.Keep != nil {
		var err error
		if c.keeper, err = cp.Keep(t.id, post); err != nil {
			return nil, err
		}
		_, commits := c.component.(storm.PreCommitter)
		part = checkpoint.NewParticipant[settled](int32(t.id), commits)
	}
	align := checkpoint.NewAligner(checkpoint.Aligned, tasks, cp.MaxHeld)
	c.Task = checkpoint.NewTask(int32(t.id), align, part)
	return c, nil
}

// Open tells whether the task may execute and emit now.
func (c *cut) Open() bool { return c.Task.Open() && !c.draining }

// ticks tells whether the task may have tick tuples: also while tuples in hand are
// waited for, since a bolt may keep them until then.
func (c *cut) ticks() bool { return c.Open() || c.settling.Action != 0 }

// stuck tells that more is held back than should be, until a post comes.
func (c *cut) stuck() bool {
	return (c.loading || c.draining) && len(c.held)+c.waiting > c.cp.MaxHeld
}

// take takes in a tuple and tells whether to execute it now.
func (c *cut) take(tp *storm.Tuple) bool {
	o := tp.Origin()
	i := c.inputs[o.Task]
	if i < 0 {
		return c.Open() // of the system
	}
	if o.Stream == storm.CheckpointStream {
		m, sent := markerOf(tp)
		if c.settling.Action != 0 && (m.Era > c.settling.Era || m.TxID > c.settling.TxID || m.Action == checkpoint.Abandon) {
			c.settled(false) // it has been given up
		}
		c.perform(c.Marker(i, m, sent))
		return false
	}
	verdict, effects := c.Tuple(i)
	switch verdict {
	case checkpoint.Drop:
		c.by.dropHeld([]storm.Tuple{*tp})
		return false
	case checkpoint.Hold:
		c.held = append(c.held, *tp)
		c.perform(effects)
		return false
	case checkpoint.Run:
	}
	c.perform(effects)
	if c.draining {
		c.queue = append(c.queue, queued{tuples: []storm.Tuple{*tp}})
		c.waiting++
		return false
	}
	return true
}

// stamp gives a tuple that is about to be executed an origin that tells its era.
func (c *cut) stamp(tp *storm.Tuple) {
	o := tp.Origin()
	for len(c.origins) <= int(o.ID) {
		c.origins = append(c.origins, nil)
	}
	own := c.origins[o.ID]
	if own == nil {
		own = new(track.Origin)
		*own = *o
		own.Era = uint64(c.Era())
		c.origins[o.ID] = own
	}
	tp.SetOrigin(own)
}

// executed takes note of a tuple that was executed: if it is not settled yet the
// component has it in hand.
func (c *cut) executed(tp *storm.Tuple) {
	if c.done || tp.Anchor().Root == 0 && tp.Anchors() == nil {
		return
	}
	if c.inHand == nil {
		c.inHand = map[track.Anchor]struct{}{}
	}
	c.inHand[tp.Anchor()] = struct{}{}
	for _, a := range tp.Anchors() {
		c.inHand[a] = struct{}{}
	}
}

// settle takes note of how a tracked tuple of an era was settled; now tells that it
// is being executed.
func (c *cut) settle(first track.Anchor, more []track.Anchor, era uint64, how storm.Settlement, now bool) {
	if checkpoint.Era(era) != c.Era() || how == storm.SettleResetTimeout {
		return
	}
	c.failed = c.failed || how == storm.SettleFail
	if now {
		c.done = true
		return
	}
	delete(c.inHand, first)
	for _, a := range more {
		delete(c.inHand, a)
	}
	if len(c.inHand) == 0 && c.settling.Action != 0 {
		m := c.settling
		c.post(func() { // not amid what the component is doing
			if c.settling == m {
				c.settled(true)
			}
		})
	}
}

// isPast tells whether an anchor is of a tuple that does not count any more: it came
// in an older era. now tells that it is being executed.
func (c *cut) isPast(a track.Anchor, now bool) bool {
	if a.Root == 0 || now {
		return false
	}
	_, ok := c.inHand[a]
	return !ok
}

// settled lets the marker on that waited for the tuples in hand.
func (c *cut) settled(all bool) {
	m := c.settling
	c.draining, c.settling = false, checkpoint.Marker{}
	if all {
		c.answer(m)
	}
	c.forward(m)
	c.catchUp()
}

// answer is a task's without state to a marker, if all tasks have to.
func (c *cut) answer(m checkpoint.Marker) {
	a := checkpoint.Answer{Task: int32(c.t.id), Era: m.Era, TxID: m.TxID}
	switch {
	case m.Action == checkpoint.InitState || m.Action == checkpoint.Rollback:
		a.Kind = checkpoint.Installed
	case m.Action != checkpoint.Prepare:
		return
	case c.failed:
		a.Kind, a.Rollback, a.Reason = checkpoint.Failed, true, errFailed.Error()
	default:
		a.Kind = checkpoint.Prepared
	}
	c.cp.Answer(a)
}

// errFailed keeps a version from being committed.
var errFailed = errors.New("it has failed a tuple, which only a rollback brings again")

// pass sends a marker on, unless it has to wait for tuples in hand.
func (c *cut) pass(m checkpoint.Marker) {
	if !c.cp.Rewinds || c.keeper != nil {
		c.forward(m)
		return
	}
	if m.Action == checkpoint.Prepare && len(c.inHand) > 0 {
		c.draining, c.settling = true, m
		return
	}
	c.answer(m)
	c.forward(m)
}

// perform does what the machine wants, or queues it.
func (c *cut) perform(effects []checkpoint.TaskEffect) {
	for _, e := range effects {
		q := queued{effect: e}
		switch e.(type) {
		case checkpoint.RunHeld, checkpoint.DropHeld:
			q.tuples, c.held = c.held, nil
		}
		if c.draining {
			c.queue = append(c.queue, q)
			c.waiting += len(q.tuples)
			continue
		}
		c.act(q)
	}
}

func (c *cut) act(q queued) {
	switch e := q.effect.(type) {
	case nil, checkpoint.RunHeld:
		c.by.runHeld(q.tuples)
	case checkpoint.DropHeld:
		c.by.dropHeld(q.tuples)
	case checkpoint.Forward:
		c.pass(e.Marker)
	case checkpoint.Reply:
		c.cp.Answer(e.Answer)
	case checkpoint.LoadState:
		c.load(e)
	case checkpoint.SaveState:
		c.prepare(e)
	case checkpoint.ThawState:
		c.keeper.Thaw(e.TxID)
	case checkpoint.RunPreCommit:
		c.preCommit(e.TxID)
	case checkpoint.StateCommitted:
		c.keeper.Committed(e.Version)
	case checkpoint.AckAll[settled]:
		c.by.ackAll(e.Acks)
	case checkpoint.FailAll[settled]:
		c.by.failAll(e.Acks)
	}
}

// forward sends a marker to all targets, behind what was sent to them before.
func (c *cut) forward(m checkpoint.Marker) {
	if m.Action == checkpoint.InitState || m.Action == checkpoint.Rollback {
		c.undo()
		clear(c.t.sent)
		c.origins, c.failed = nil, false
		clear(c.inHand)
	}
	c.by.passed(m)
	for i, target := range c.cp.Targets {
		tp := storm.NewTuple(c.marker, target.Task, nil, markerValues(m, c.t.sent[target.Task])...)
		c.t.c.put(c.boxes[i], &tp)
	}
}

// undo tells a bolt without state, if it wants to know, that what it has in hand
// does not count any more.
func (c *cut) undo() {
	if h, ok := c.component.(storm.PreRollbacker); ok && c.keeper == nil && c.origins != nil {
		c.t.c.enter(c.t.id, atPreRollback)
		if err := h.PreRollback(); err != nil {
			panic(c.t.c.failure(err, ""))
		}
	}
}

// load has the state replaced.
func (c *cut) load(e checkpoint.LoadState) {
	if h, ok := c.component.(storm.PreRollbacker); ok && e.Running {
		c.t.c.enter(c.t.id, atPreRollback)
		if err := h.PreRollback(); err != nil {
			panic(c.t.c.failure(err, ""))
		}
	}
	c.by.rewound()
	c.loads++
	c.loading = true
	this := c.loads
	c.keeper.Load(e.Version, c.Era(), func(err error) {
		c.post(func() {
			if this == c.loads {
				c.loaded(e.Version, err)
			}
		})
	})
}

func (c *cut) loaded(v checkpoint.Version, err error) {
	c.loading = false
	if s, ok := c.component.(storm.Stateful); ok && err == nil {
		c.t.c.enter(c.t.id, atInitState)
		if err := s.InitState(c.keeper.State()); err != nil {
			panic(c.t.c.failure(err, ""))
		}
	}
	c.perform(c.Loaded(v, err))
}

// prepare has the component get ready, and the state saved.
func (c *cut) prepare(e checkpoint.SaveState) {
	if c.failed && c.cp.Rewinds {
		c.perform(c.Saved(e.Version, errFailed, true))
		return
	}
	d, ok := c.component.(drainer)
	if !ok {
		c.save(e)
		return
	}
	c.draining = true
	d.Drain(e.Version.TxID, func(err error) {
		if !c.draining {
			return
		}
		c.draining = false
		if err != nil {
			c.perform(c.Saved(e.Version, err, true))
		} else {
			c.save(e)
		}
		c.catchUp()
	})
}

// catchUp does what was queued, until the component has to be drained again.
func (c *cut) catchUp() {
	for len(c.queue) > 0 && !c.draining {
		q := c.queue[0]
		c.queue[0] = queued{}
		c.queue = c.queue[1:]
		c.waiting -= len(q.tuples)
		c.act(q)
	}
}

func (c *cut) save(e checkpoint.SaveState) {
	if h, ok := c.component.(storm.PrePreparer); ok {
		c.t.c.enter(c.t.id, atPrePrepare)
		if err := h.PrePrepare(e.Version.TxID); err != nil {
			c.perform(c.Saved(e.Version, err, true))
			return
		}
	}
	c.keeper.Save(e.Version, e.Base, func(err error) {
		c.post(func() { c.perform(c.Saved(e.Version, err, false)) })
	})
}

func (c *cut) preCommit(tx int64) {
	var err error
	if h, ok := c.component.(storm.PreCommitter); ok {
		c.t.c.enter(c.t.id, atPreCommit)
		err = h.PreCommit(tx)
	}
	c.perform(c.PreCommitted(tx, err))
}

// close ends the keeper's work.
func (c *cut) close() {
	if c != nil && c.keeper != nil {
		c.keeper.Close()
	}
}
