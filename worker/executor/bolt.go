package executor

import (
	"errors"

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

// SetLoads tells the executor's shuffles how busy each task is, from 0 to 1, by
// task id. What it has not looked at yet is replaced.
func (x *Bolt) SetLoads(byTask []float64) {
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
	return x.cleanup()
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
		if x.Checkpoints != nil {
			if t.cut, err = newCut(&t.task, len(x.tasks)-1, t, bolt, x.inbox.Urge); err != nil {
				return x.failure(err, "")
			}
		}
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
			if x.Checkpoints != nil {
				x.executeCut(b)
			} else if err := x.execute(b); err != nil {
				return err
			}
		}
		if !x.waitForPosts() {
			return nil
		}
		if x.inbox.Ready() || x.payAcks(0) {
			x.flushIfDue()
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

// executes reports whether the tuple with that anchor is being executed. Then
// its children, if any, were emitted a moment ago.
func (x *Bolt) executes(a track.Anchor) bool {
	return x.batch != nil && x.batch.Tuples[x.at].Anchor() == a
}

// Tick executes a tick tuple in every task.
func (x *Bolt) Tick(tick storm.Tuple) {
	for _, t := range x.tasks {
		if t.cut != nil && !t.cut.ticks() {
			continue
		}
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
		// One that panics does not keep the others from it.
		errs = append(errs, x.guard(func() error {
			t.cut.close()
			x.enter(t.id, atCleanup)
			t.cleanupHooks()
			if err := t.bolt.Cleanup(); err != nil {
				return x.failure(err, "")
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}
