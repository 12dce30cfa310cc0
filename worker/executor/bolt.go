package executor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// BoltSpec is an executor of a bolt.
type BoltSpec struct {
	Spec
	Inbox *TupleInbox
	New   func() (storm.Bolt, error)
	// Inputs maps the ids of origins to indexes of the statistics' inputs.
	Inputs []int32
	// NumInputs is the number of those.
	NumInputs int
}

// Bolt runs the tasks of one executor of a bolt.
type Bolt struct {
	core
	inbox   *TupleInbox
	create  func() (storm.Bolt, error)
	inputs  []int32
	counts  []inputCounts // by input, not yet in the statistics
	origin  *track.Origin // of the input counted last
	count   *inputCounts  // its counts
	tasks   []*boltTask
	first   storm.TaskID
	empties []*Batch
	sampler sampler
	// children are what was anchored to inputs that are not settled.
	children offspring
	batch    *Batch // being executed, at its tuple number at; or nil
	at       int
}

var _ Executor = (*Bolt)(nil)

type inputCounts struct{ executed, acked, failed uint64 }

// boltTask is one task; it is the Emitter of its collector.
type boltTask struct {
	task
	x    *Bolt
	bolt storm.Bolt
	// sampled is the input being executed if its latency is measured.
	sampled bool
	anchor  track.Anchor
	start   time.Time
	late    late
}

var _ storm.BoltEmitter = (*boltTask)(nil)

// NewBolt makes the executor; nothing of the user's runs before Run.
func NewBolt(s BoltSpec) *Bolt {
	x := &Bolt{
		inbox: s.Inbox, create: s.New, first: s.Tasks[0].ID,
		inputs: s.Inputs, counts: make([]inputCounts, max(s.NumInputs, 1)),
	}
	x.init(s.Spec)
	return x
}

// QueueLen implements Executor.
func (x *Bolt) QueueLen() int { return x.inbox.Len() }

// QueueLimit implements Executor.
func (x *Bolt) QueueLimit() int { return x.inbox.Limit() }

// Close implements Executor.
func (x *Bolt) Close() { x.inbox.Close() }

// Rotate lets one message time-out pass.
func (x *Bolt) Rotate() {
	x.inbox.Urge(func() {
		x.children.rotate(func(root track.Root, sum uint64) {
			x.message(root, acker.Message{Root: root, Val: sum})
		})
	})
}

// Run implements Executor.
func (x *Bolt) Run() error {
	err := x.guard(func() error {
		if err := x.prepare(); err != nil {
			return err
		}
		return x.loop()
	})
	x.inbox.Close()
	if err != nil {
		return err
	}
	return x.guard(x.cleanup)
}

func (x *Bolt) prepare() error {
	for _, spec := range x.Tasks {
		x.enter(spec.ID, atPrepare)
		bolt, err := x.create()
		if err != nil {
			return x.failure(err, "")
		}
		t := &boltTask{task: newTask(&x.core, spec), x: x, bolt: bolt}
		x.tasks = append(x.tasks, t)
		if err := bolt.Prepare(spec.Context, storm.NewOutputCollector(t, x.Component, spec.StreamIndex)); err != nil {
			return x.failure(err, "")
		}
		t.prepareHooks()
	}
	x.settle()
	return nil
}

func (x *Bolt) loop() error {
	for {
		batches, posts, ok := x.inbox.Take(x.empties)
		if !ok {
			return nil
		}
		x.empties = x.empties[:0]
		if len(posts) > 0 {
			x.enter(x.first, atPost)
			runPosts(posts)
		}
		for _, b := range batches {
			if err := x.execute(b); err != nil {
				return err
			}
		}
		if x.inbox.Ready() {
			continue
		}
		x.settle()
		if !x.inbox.Ready() {
			x.sampler.rest()
			x.inbox.Wait(nil, 0)
		}
	}
}

// settle makes everything that was done visible to the others.
func (x *Bolt) settle() {
	x.flush()
	x.publishCounts()
	x.flow.Sent.Store(x.sent)
	x.flow.Done.Store(x.done)
}

func (x *Bolt) publishCounts() {
	for i := range x.counts {
		if n := &x.counts[i]; *n != (inputCounts{}) {
			x.Stats.Executed(i, n.executed, n.acked, n.failed)
			*n = inputCounts{}
		}
	}
	for _, t := range x.tasks {
		t.publishEmitted()
	}
}

func (x *Bolt) execute(b *Batch) error {
	x.batch = b
	for i := range b.Tuples {
		x.at = i
		tp := &b.Tuples[i]
		t := x.tasks[tp.Dst()-x.first]
		x.current, x.doing = t.id, atExecute
		x.input(tp.Origin()).executed++
		if t.watched || x.sampler.take() {
			if err := t.executeTimed(tp); err != nil {
				return err
			}
		} else {
			// A copy of the user's own, in one move: from the batch itself it
			// would be two.
			tuple := *tp
			if err := t.bolt.Execute(tuple); err != nil {
				return x.failure(err, "")
			}
		}
		x.flushIfDue()
	}
	x.batch = nil
	x.done += uint64(len(b.Tuples))
	x.publishCounts()
	x.release(b)
	return nil
}

// release gives a batch back to where it came from.
func (x *Bolt) release(b *Batch) {
	if b.Home != nil {
		b.Home.Release()
		return
	}
	b.Reset()
	x.empties = append(x.empties, b)
}

// input are the counts for tuples of an origin. Mostly it is the one asked for
// last.
func (x *Bolt) input(o *track.Origin) *inputCounts {
	if o != x.origin {
		x.origin = o
		x.count = &x.counts[x.inputs[o.ID]]
	}
	return x.count
}

// executeTimed is execute with a clock around it.
func (t *boltTask) executeTimed(tp *storm.Tuple) error {
	t.sampled, t.anchor, t.start = true, tp.Anchor(), time.Now()
	err := t.bolt.Execute(*tp)
	took := time.Since(t.start)
	t.x.Stats.ObserveExecute(int(t.x.inputs[tp.Origin().ID]), took)
	if t.sampled && t.anchor.Root != 0 {
		t.late.add(t.anchor, t.start)
	}
	t.sampled = false
	if err != nil {
		return t.x.failure(err, "")
	}
	for _, h := range t.hooks {
		if h.BoltExecute != nil {
			h.BoltExecute(tp, took)
		}
	}
	return nil
}

// Emit implements storm.BoltEmitter. The most common emission, to one task and
// with at most one parent, is served here; emitMany is the rule.
func (t *boltTask) Emit(index int, tp *storm.Tuple) []storm.TaskID {
	s := &t.streams[index]
	in := s.only
	if in == nil || t.watched || tp.Len() != s.arity || tp.Anchors() != nil {
		return t.emitMany(s, tp)
	}
	s.emitted++
	s.transferred++
	tp.SetOrigin(s.origin)
	j := in.grouping.One(tp)
	to := in.tasks[j : j+1 : j+1]
	tp.SetDst(to[0])
	if parent := tp.Anchor(); parent.Root != 0 {
		edge := t.c.edge()
		tp.SetAnchor(track.Anchor{Root: parent.Root &^ track.First, Edge: edge})
		t.x.children.add(parent, edge)
	}
	t.c.put(in.boxes[j], tp)
	return to
}

func (t *boltTask) emitMany(s *stream, tp *storm.Tuple) []storm.TaskID {
	if tp.Len() != s.arity {
		s.wrongArity(tp)
	}
	tp.SetOrigin(s.origin)
	parents := tp.Anchors()
	first := tp.Anchor()
	to := t.c.scratch[:0]
	for k := range s.subs {
		in := &s.subs[k]
		if in.single {
			j := in.grouping.One(tp)
			t.send(in.boxes[j], in.tasks[j], tp, first, parents)
			to = append(to, in.tasks[j])
			continue
		}
		for _, j := range in.many(s, tp) {
			t.send(in.boxes[j], in.tasks[j], tp, first, parents)
			to = append(to, in.tasks[j])
		}
	}
	t.c.scratch = to
	s.emitted++
	s.transferred += uint64(len(to))
	if t.watched {
		t.showEmission(s, tp, to)
	}
	return to
}

// EmitDirect implements storm.BoltEmitter.
func (t *boltTask) EmitDirect(index int, dst storm.TaskID, tp *storm.Tuple) {
	s := &t.streams[index]
	if tp.Len() != s.arity {
		s.wrongArity(tp)
	}
	tp.SetOrigin(s.origin)
	t.send(s.direct(dst), dst, tp, tp.Anchor(), tp.Anchors())
	s.emitted++
	s.transferred++
	if t.watched {
		t.showEmission(s, tp, []storm.TaskID{dst})
	}
}

// send puts a copy of tp on its way, with an edge of its own in each tree of
// its parents.
func (t *boltTask) send(box *outbox, dst storm.TaskID, tp *storm.Tuple, first track.Anchor, parents []track.Anchor) {
	if first.Root != 0 {
		if parents == nil {
			edge := t.c.edge()
			tp.SetAnchor(track.Anchor{Root: first.Root &^ track.First, Edge: edge})
			t.x.children.add(first, edge)
		} else {
			fresh := slices.Clone(parents)
			for i := range fresh {
				fresh[i] = track.Anchor{Root: parents[i].Root &^ track.First, Edge: t.c.edge()}
				t.x.children.add(parents[i], fresh[i].Edge)
			}
			tp.SetAnchors(fresh)
		}
	}
	tp.SetDst(dst)
	t.c.put(box, tp)
}

// Done implements storm.BoltEmitter. The ack of an input with one root is
// served here; settleTree is the rule.
func (t *boltTask) Done(how storm.Settlement, origin *track.Origin, first track.Anchor, more []track.Anchor) {
	if how != storm.SettleAck || more != nil || origin != t.x.origin || t.watched || t.sampled || t.late.n > 0 {
		t.doneRare(how, origin, first, more)
		return
	}
	t.x.count.acked++
	if first.Root != 0 {
		t.ack(first)
	}
}

// ack tells the acker that a tuple is done, and of its children. Where those
// are not known for certain the tree fails.
func (t *boltTask) ack(a track.Anchor) {
	sum, sure := t.x.children.take(a)
	if !sure && !t.x.executes(a) {
		t.c.fail(a.Root)
		return
	}
	t.c.message(a.Root, acker.Message{Root: a.Root, Val: a.Edge ^ sum})
}

// executes reports whether the tuple with that anchor is being executed. Then
// its children, if any, were emitted a moment ago.
func (x *Bolt) executes(a track.Anchor) bool {
	return x.batch != nil && x.batch.Tuples[x.at].Anchor() == a
}

func (t *boltTask) doneRare(how storm.Settlement, origin *track.Origin, first track.Anchor, more []track.Anchor) {
	if more == nil {
		t.settleTree(how, first)
	} else {
		for _, a := range more {
			t.settleTree(how, a)
		}
	}
	if how == storm.SettleResetTimeout || origin == nil {
		return
	}
	count := t.x.input(origin)
	if how == storm.SettleAck {
		count.acked++
		t.observeAck(int(t.x.inputs[origin.ID]), first)
	} else {
		count.failed++
		t.late.take(first)
	}
	if t.watched {
		t.callDoneHooks(how, origin)
	}
}

func (t *boltTask) settleTree(how storm.Settlement, a track.Anchor) {
	if a.Root == 0 {
		return
	}
	switch how {
	case storm.SettleAck:
		t.ack(a)
	case storm.SettleFail:
		t.x.children.take(a)
		t.c.fail(a.Root)
	case storm.SettleResetTimeout:
		t.c.resetTimeout(a.Root)
	}
}

// observeAck measures the process latency of a sampled input.
func (t *boltTask) observeAck(in int, a track.Anchor) {
	if t.sampled && t.anchor == a {
		t.sampled = false
		t.x.Stats.ObserveProcess(in, time.Since(t.start))
		return
	}
	if start, ok := t.late.take(a); ok {
		t.x.Stats.ObserveProcess(in, time.Since(start))
	}
}

func (t *boltTask) callDoneHooks(how storm.Settlement, origin *track.Origin) {
	for _, h := range t.hooks {
		f := h.BoltAck
		if how == storm.SettleFail {
			f = h.BoltFail
		}
		if f != nil {
			f(origin.Component, origin.Stream)
		}
	}
}

// ReportError implements storm.Task.
func (t *boltTask) ReportError(err error) { t.x.Report(t.id, err) }

// Post implements storm.Task.
func (t *boltTask) Post(ctx context.Context, f func()) error {
	return postError(t.x.inbox.Post(ctx, func() {
		t.x.enter(t.id, atPost)
		f()
	}))
}

// Tick executes a tick tuple in every task.
func (x *Bolt) Tick(tick storm.Tuple) {
	for _, t := range x.tasks {
		tick.SetDst(t.id)
		x.enter(t.id, atExecute)
		x.input(tick.Origin()).executed++
		if err := t.executeTimed(&tick); err != nil {
			panic(err)
		}
	}
}

func (x *Bolt) cleanup() error {
	var errs []error
	for _, t := range x.tasks {
		x.enter(t.id, atCleanup)
		t.cleanupHooks()
		if err := t.bolt.Cleanup(); err != nil {
			errs = append(errs, x.failure(err, ""))
		}
	}
	return errors.Join(errs...)
}
