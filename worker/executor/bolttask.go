package executor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
	"github.com/stormring/stormring/worker/checkpoint"
)

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
	cut     *cut // nil without checkpoints
	// owed are acks that a commit has released and that were not passed on yet.
	owed [][]settled
}

var _ storm.BoltEmitter = (*boltTask)(nil)

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
	if t.isPast(tp) {
		return nil
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
	t.put(in.boxes[j], tp)
	return to
}

func (t *boltTask) emitMany(s *stream, tp *storm.Tuple) []storm.TaskID {
	if tp.Len() != s.arity {
		s.wrongArity(tp)
	}
	if t.isPast(tp) {
		return nil
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
	if t.isPast(tp) {
		return
	}
	tp.SetOrigin(s.origin)
	t.send(s.direct(dst), dst, tp, tp.Anchor(), tp.Anchors())
	s.emitted++
	s.transferred++
	if t.watched {
		t.showEmission(s, tp, []storm.TaskID{dst})
	}
}

// isPast tells whether what is to be emitted is anchored to an input that a rollback
// has undone. It will come again, and with it this emission; so has everything to
// that is anchored to it too.
func (t *boltTask) isPast(tp *storm.Tuple) bool {
	if t.cut == nil {
		return false
	}
	anchors := tp.Anchors()
	if anchors == nil {
		first := tp.Anchor()
		return t.cut.isPast(first, t.x.executesAny(first))
	}
	past := 0
	for _, a := range anchors {
		if t.cut.isPast(a, t.x.executesAny(a)) {
			past++
		}
	}
	if past > 0 && past < len(anchors) {
		t.cut.failed = true
		t.cut.cp.Broken(fmt.Sprintf("component %q task %d emits for tuples of which some were undone", t.x.Component, t.id))
	}
	return past > 0
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
	t.put(box, tp)
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
		if t.cut != nil {
			t.cut.settle(first, nil, origin.Era, how, t.x.executes(first))
		}
		t.ack(first, origin.Era)
	}
}

// ack tells the acker that a tuple is done, and of its children. Where those
// are not known for certain the tree fails. A task with state tells it once the
// tuple's effect is committed.
func (t *boltTask) ack(a track.Anchor, era uint64) {
	sum, sure := t.x.children.take(a)
	if !sure && !t.x.executes(a) {
		t.c.fail(a.Root)
		return
	}
	s := settled{a.Root, a.Edge ^ sum}
	if t.cut != nil {
		switch t.cut.Settle(s, checkpoint.Era(era)) {
		case checkpoint.AckLater:
			return
		case checkpoint.FailNow:
			t.c.fail(a.Root)
			return
		case checkpoint.AckNow:
		}
	}
	t.passOn(s)
}

func (t *boltTask) passOn(s settled) {
	if s.val == 0 && s.root&track.First != 0 {
		// A tree of one tuple needs nobody to count.
		root := s.root &^ track.First
		if box := t.c.outcomes.box(root); box != nil {
			t.c.outcomes.put(box, acker.Outcome{Root: root, Kind: acker.OutcomeAck})
			return
		}
	}
	t.c.message(s.root, acker.Message{Root: s.root, Val: s.val})
}

func (t *boltTask) doneRare(how storm.Settlement, origin *track.Origin, first track.Anchor, more []track.Anchor) {
	era := uint64(0)
	if origin != nil {
		era = origin.Era
	}
	if t.cut != nil && first.Root != 0 {
		t.cut.settle(first, more, era, how, t.x.executes(first))
	}
	if more == nil {
		t.settleTree(how, first, era)
	} else {
		for _, a := range more {
			t.settleTree(how, a, era)
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

func (t *boltTask) settleTree(how storm.Settlement, a track.Anchor, era uint64) {
	if a.Root == 0 {
		return
	}
	switch how {
	case storm.SettleAck:
		t.ack(a, era)
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
