package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
	"github.com/stormring/stormring/worker/checkpoint"
)

// spoutTask is one task; it is the SpoutEmitter of its collector.
type spoutTask struct {
	task
	x         *Spout
	spout     storm.Spout
	bounded   storm.Bounded
	pending   *acker.Pending[tree]
	seq       uint64
	suspects  []uint64 // the newest root at each Suspect
	emittedNo uint64   // emissions so far
	done      []doneCounts
	instant   []instant // trees that ended as they began
	sampler   sampler
	ended     bool
	cut       *cut // nil without checkpoints
	// cuts are the markers that this task passed on and that were not committed
	// yet; committed is the newest root before the last committed one.
	cuts      []spoutCut
	committed uint64
}

// spoutCut is where a marker stands among a spout's roots.
type spoutCut struct {
	tx  int64
	seq uint64
}

type doneCounts struct{ acked, failed uint64 }

// tree is what a spout task knows of a tree in flight.
type tree struct {
	id     storm.Value
	start  time.Duration // since the epoch of the package; 0 if not timed
	stream int32
}

type instant struct {
	id     storm.Value
	stream int32
}

var _ storm.SpoutEmitter = (*spoutTask)(nil)

// next calls NextTuple if the task may emit, and tells whether it did.
func (t *spoutTask) next() (emitted bool, err error) {
	x := t.x
	if !t.mayEmit() {
		return false, nil
	}
	x.current, x.doing = t.id, atNextTuple
	before := t.emittedNo
	if err := t.spout.NextTuple(); err != nil {
		return false, x.failure(err, "")
	}
	if len(t.instant) > 0 {
		t.settleInstants()
	}
	if t.emittedNo != before {
		return true, nil
	}
	if t.bounded != nil {
		t.ended = t.bounded.Exhausted()
	}
	return false, nil
}

// mayEmit tells whether NextTuple may be called.
func (t *spoutTask) mayEmit() bool {
	if t.ended || t.x.limit > 0 && t.pending.Len() >= t.x.limit {
		return false
	}
	return t.cut == nil || t.cut.Open() && !t.cut.Paused()
}

// epoch is what the starts of trees count from.
var epoch = time.Now()

// end calls the spout's Ack or Fail.
func (t *spoutTask) end(tr tree, acked bool) {
	var latency time.Duration
	if tr.start != 0 {
		latency = time.Since(epoch) - tr.start
		if acked {
			t.x.Stats.ObserveComplete(int(tr.stream), latency)
		}
	}
	if acked {
		t.done[tr.stream].acked++
		t.x.current, t.x.doing = t.id, atAck
		for _, h := range t.hooks {
			if h.SpoutAck != nil {
				h.SpoutAck(tr.id, latency)
			}
		}
		t.spout.Ack(tr.id)
		return
	}
	t.done[tr.stream].failed++
	t.ended = false // it may want to emit it again
	t.x.current, t.x.doing = t.id, atFail
	for _, h := range t.hooks {
		if h.SpoutFail != nil {
			h.SpoutFail(tr.id, latency)
		}
	}
	t.spout.Fail(tr.id)
}

// fail ends a tree that was not completed; told says that a bolt failed it, not a
// time-out.
func (t *spoutTask) fail(seq uint64, tr tree, told bool) {
	if t.cut == nil || t.cut.keeper == nil || !t.cut.cp.Rewinds {
		t.end(tr, false)
		return
	}
	switch {
	case isAfter(seq, t.committed):
		// A rollback brings it again.
		t.done[tr.stream].failed++
		t.cut.cp.Broken(fmt.Sprintf("a tuple of component %q task %d failed", t.x.Component, t.id))
	case told:
		// A bolt that works aside had it in hand at the last commit.
		t.end(tr, false)
	default:
		// Its effects are committed, or else it would be told; the ack is late.
		t.done[tr.stream].failed++
	}
}

// isAfter tells whether a number of a root is after another, which may wrap.
func isAfter(seq, other uint64) bool {
	return int64((seq-other)<<(64-track.SeqBits)) > 0
}

var _ cutter = (*spoutTask)(nil)

// passed implements cutter.
func (t *spoutTask) passed(m checkpoint.Marker) {
	switch m.Action {
	case checkpoint.InitState, checkpoint.Rollback:
		t.cuts, t.committed = t.cuts[:0], t.seq
		return
	case checkpoint.Prepare:
		t.cuts = append(t.cuts, spoutCut{m.TxID, t.seq})
	case checkpoint.Commit, checkpoint.PreCommit, checkpoint.Abandon:
	}
	for len(t.cuts) > 0 && m.Committed.Era == m.Era && t.cuts[0].tx <= m.Committed.TxID {
		t.committed = t.cuts[0].seq
		t.cuts = t.cuts[1:]
	}
}

// rewound implements cutter: what was emitted since the commit will be emitted
// again, so nothing of it is awaited any more.
func (t *spoutTask) rewound() {
	t.pending.Drain(func(_ uint64, _ tree) {})
	t.ended = false
}

// ackAll, failAll, runHeld and dropHeld implement cutter: spouts have no inputs.
func (t *spoutTask) ackAll([]settled) {}

func (t *spoutTask) failAll([]settled) {}

func (t *spoutTask) runHeld([]storm.Tuple) {}

func (t *spoutTask) dropHeld([]storm.Tuple) {}

func (t *spoutTask) publishDone() {
	for i := range t.done {
		if n := &t.done[i]; *n != (doneCounts{}) {
			t.x.Stats.SpoutDone(i, n.acked, n.failed)
			*n = doneCounts{}
		}
	}
}

// settleInstants acks the trees that had no acker or no receiver.
func (t *spoutTask) settleInstants() {
	for i := 0; i < len(t.instant); i++ {
		in := t.instant[i]
		t.instant[i] = instant{}
		t.end(tree{id: in.id, stream: in.stream}, true)
	}
	t.instant = t.instant[:0]
}

// Pending implements storm.SpoutEmitter.
func (t *spoutTask) Pending() int { return t.pending.Len() }

// Emit implements storm.SpoutEmitter. The most common stream, with one
// subscriber and one task for each tuple, is served here; emitMany is the rule.
func (t *spoutTask) Emit(index int, id storm.Value, tp *storm.Tuple) []storm.TaskID {
	s := &t.streams[index]
	in := s.only
	if in == nil || t.watched || tp.Len() != s.arity {
		return t.emitMany(s, index, id, tp)
	}
	t.emittedNo++
	s.emitted++
	s.transferred++
	tp.SetOrigin(s.origin)
	j := in.grouping.One(tp)
	to := in.tasks[j : j+1 : j+1]
	tp.SetDst(to[0])
	if id.IsNil() {
		tp.SetAnchor(track.Anchor{})
		t.put(in.boxes[j], tp)
		return to
	}
	if len(t.c.ackers) == 0 {
		tp.SetAnchor(track.Anchor{})
		t.put(in.boxes[j], tp)
		t.instant = append(t.instant, instant{id, int32(index)})
		return to
	}
	root := t.root()
	if t.x.timed {
		tp.SetAnchor(track.Anchor{Root: root | track.First})
		t.put(in.boxes[j], tp)
		t.begin(index, id, root)
		return to
	}
	edge := t.c.edge()
	tp.SetAnchor(track.Anchor{Root: root, Edge: edge})
	t.put(in.boxes[j], tp)
	t.begin(index, id, root)
	t.announce(root, edge)
	return to
}

func (t *spoutTask) emitMany(s *stream, index int, id storm.Value, tp *storm.Tuple) []storm.TaskID {
	if tp.Len() != s.arity {
		s.wrongArity(tp)
	}
	tp.SetOrigin(s.origin)
	root := t.rootFor(id)
	var xor uint64
	to := t.c.scratch[:0]
	for k := range s.subs {
		in := &s.subs[k]
		if in.single {
			j := in.grouping.One(tp)
			xor ^= t.send(in.boxes[j], in.tasks[j], tp, root)
			to = append(to, in.tasks[j])
			continue
		}
		for _, j := range in.many(s, tp) {
			xor ^= t.send(in.boxes[j], in.tasks[j], tp, root)
			to = append(to, in.tasks[j])
		}
	}
	t.c.scratch = to
	t.emitted(s, index, id, root, xor, to)
	if t.watched {
		t.showEmission(s, tp, to)
	}
	return to
}

// EmitDirect implements storm.SpoutEmitter.
func (t *spoutTask) EmitDirect(index int, dst storm.TaskID, id storm.Value, tp *storm.Tuple) {
	s := &t.streams[index]
	if tp.Len() != s.arity {
		s.wrongArity(tp)
	}
	tp.SetOrigin(s.origin)
	root := t.rootFor(id)
	xor := t.send(s.direct(dst), dst, tp, root)
	t.c.scratch = append(t.c.scratch[:0], dst)
	t.emitted(s, index, id, root, xor, t.c.scratch)
	if t.watched {
		t.showEmission(s, tp, t.c.scratch)
	}
}

func (t *spoutTask) root() track.Root {
	t.seq++
	return track.MakeRoot(int32(t.id), t.seq)
}

// rootFor is the root of the tree that an emission with id starts, or 0.
func (t *spoutTask) rootFor(id storm.Value) track.Root {
	if id.IsNil() || len(t.c.ackers) == 0 {
		return 0
	}
	return t.root()
}

func (t *spoutTask) send(box *outbox, dst storm.TaskID, tp *storm.Tuple, root track.Root) (edge uint64) {
	if root != 0 {
		edge = t.c.edge()
	}
	tp.SetAnchor(track.Anchor{Root: root, Edge: edge})
	tp.SetDst(dst)
	t.put(box, tp)
	return edge
}

// emitted enters an emission into the books.
func (t *spoutTask) emitted(s *stream, index int, id storm.Value, root track.Root, xor uint64, to []storm.TaskID) {
	t.emittedNo++
	s.emitted++
	s.transferred += uint64(len(to))
	if root != 0 && len(to) > 0 {
		t.begin(index, id, root)
		t.announce(root, xor)
	} else if !id.IsNil() {
		t.instant = append(t.instant, instant{id, int32(index)})
	}
}

// begin notes a tree.
func (t *spoutTask) begin(index int, id storm.Value, root track.Root) {
	tr := t.pending.Put(root.Seq())
	tr.id = id
	tr.stream = int32(index)
	if t.sampler.take() {
		tr.start = time.Since(epoch)
	}
}

// announce tells the acker of a tree; xor are its first edges.
func (t *spoutTask) announce(root track.Root, xor uint64) {
	t.c.message(root, acker.Message{Root: root | acker.InitFlag, Val: xor})
}

// ReportError implements storm.Task.
func (t *spoutTask) ReportError(err error) { t.x.Report(t.id, err) }

// Post implements storm.Task.
func (t *spoutTask) Post(ctx context.Context, f func()) error {
	return postError(t.x.inbox.Post(ctx, func() {
		t.x.enter(t.id, atPost)
		f()
	}))
}
