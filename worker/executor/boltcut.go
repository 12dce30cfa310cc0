package executor

import (
	"slices"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/checkpoint"
)

// executeCut executes a batch in a topology that takes checkpoints: what is in
// it may be markers, and tuples that have to wait or do not count any more.
func (x *Bolt) executeCut(b *Batch) {
	for i := range b.Tuples {
		tp := &b.Tuples[i]
		t := x.tasks[tp.Dst()-x.first]
		marker := tp.Origin().Stream == storm.CheckpointStream
		if marker {
			x.done++
		}
		if t.cut.take(tp) {
			t.cut.stamp(tp)
			x.batch, x.at = b, i
			x.one(t, tp)
			x.batch = nil
		}
		x.flushIfDue()
	}
	x.payAcks(len(b.Tuples))
	x.publishCounts()
	x.release(b)
}

// one executes a tuple whose turn it is; errors unwind the executor.
func (x *Bolt) one(t *boltTask, tp *storm.Tuple) {
	x.done++
	x.current, x.doing = t.id, atExecute
	x.input(tp.Origin()).executed++
	t.cut.done = false
	var err error
	if t.watched || x.sampler.take() {
		err = t.executeTimed(tp)
	} else if err = t.bolt.Execute(*tp); err != nil {
		err = x.failure(err, "")
	}
	if err != nil {
		panic(err)
	}
	t.cut.executed(tp)
}

// executesAny reports whether an anchor is one of the tuple that is executed.
func (x *Bolt) executesAny(a track.Anchor) bool {
	return x.batch != nil && (x.executes(a) || slices.Contains(x.batch.Tuples[x.at].Anchors(), a))
}

// stuck tells whether a task can do nothing before one of its posts comes.
func (x *Bolt) stuck() bool {
	for _, t := range x.tasks {
		if t.cut != nil && t.cut.stuck() {
			return true
		}
	}
	return false
}

// waitForPosts leaves the batches where they are, so that their senders wait,
// until the tasks can go on. It reports false when the inbox is closed.
func (x *Bolt) waitForPosts() bool {
	for x.stuck() {
		posts, ok := x.inbox.TakePosts()
		if !ok {
			return false
		}
		x.enter(x.first, atPost)
		runPosts(posts)
		x.settle()
		if x.stuck() {
			x.inbox.WaitPost()
		}
	}
	return true
}

var _ cutter = (*boltTask)(nil)

// rewound implements cutter.
func (t *boltTask) rewound() {}

// passed implements cutter.
func (t *boltTask) passed(checkpoint.Marker) {}

// ackAll implements cutter. There may be a second's worth, which would be a pause if
// all were passed on at once: they go bit by bit between batches, see payAcks.
func (t *boltTask) ackAll(acks []settled) { t.owed = append(t.owed, acks) }

// acksAtLeast is how many owed acks are passed on at a time.
const acksAtLeast = 1024

// payAcks passes on some owed acks of each task, twice as many as were just executed,
// so that they do not pile up. It tells whether more are owed.
func (x *Bolt) payAcks(executed int) (more bool) {
	for _, t := range x.tasks {
		n := max(acksAtLeast, 2*executed)
		for n > 0 && len(t.owed) > 0 {
			some := t.owed[0]
			for _, s := range some[:min(n, len(some))] {
				t.passOn(s)
			}
			if len(some) > n {
				t.owed[0] = some[n:]
			} else {
				t.owed[0] = nil
				t.owed = t.owed[1:]
			}
			n -= len(some)
		}
		more = more || len(t.owed) > 0
	}
	return more
}

// failAll implements cutter.
func (t *boltTask) failAll(acks []settled) {
	for _, s := range acks {
		t.c.fail(s.root)
	}
}

// runHeld implements cutter.
func (t *boltTask) runHeld(tuples []storm.Tuple) {
	if len(tuples) == 0 {
		return
	}
	// It may be called while a batch is executed, whose tuple is at hand again
	// afterwards.
	b, at := t.x.batch, t.x.at
	held := &Batch{Tuples: tuples}
	for i := range tuples {
		t.cut.stamp(&tuples[i])
		t.x.batch, t.x.at = held, i
		t.x.one(t, &tuples[i])
		t.x.flushIfDue()
	}
	t.x.batch, t.x.at = b, at
}

// dropHeld implements cutter: the tuples fail, since they do not count any more.
func (t *boltTask) dropHeld(tuples []storm.Tuple) {
	for i := range tuples {
		tp := &tuples[i]
		t.x.done++
		t.x.input(tp.Origin()).failed++
		if more := tp.Anchors(); more != nil {
			for _, a := range more {
				t.c.fail(a.Root)
			}
		} else if a := tp.Anchor(); a.Root != 0 {
			t.c.fail(a.Root)
		}
	}
}
