package simulation

import (
	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// spoutPart makes a task a spout. All but the source is gone when its worker
// dies.
type spoutPart struct {
	source  *source
	pending *acker.Pending[*tree]
	seq     uint64
	out     *storm.SpoutOutputCollector
}

func (s *spoutPart) start(w *World, t *task, index map[string]int) {
	s.pending = acker.NewPending[*tree]()
	s.seq = w.rng.Uint64() & track.SeqMask // unlike that of the life before
	s.out = storm.NewSpoutOutputCollector(spoutEmitter{hands{w}, t}, t.component, index)
}

// spoutEmitter is the lower side of a spout's collector.
type spoutEmitter struct {
	hands
	t *task
}

var _ storm.SpoutEmitter = spoutEmitter{}

// Pending implements storm.SpoutEmitter.
func (e spoutEmitter) Pending() int { return e.t.spout.pending.Len() }

// Emit implements storm.SpoutEmitter.
func (e spoutEmitter) Emit(index int, id storm.Value, tp *storm.Tuple) []storm.TaskID {
	return e.emit(index, id, tp, 0)
}

// EmitDirect implements storm.SpoutEmitter.
func (e spoutEmitter) EmitDirect(index int, to storm.TaskID, id storm.Value, tp *storm.Tuple) {
	e.emit(index, id, tp, to)
}

func (e spoutEmitter) emit(index int, id storm.Value, tp *storm.Tuple, direct storm.TaskID) []storm.TaskID {
	w, t, s := e.w, e.t, e.t.spout
	to := w.route(&t.streams[index], tp, direct)
	if id.IsNil() {
		tp.SetAnchors(nil)
		for _, dst := range to {
			w.sendTuple(t, dst, tp)
		}
		return to
	}
	n, _ := id.AsInt()
	if len(to) == 0 {
		s.source.acked(w, int(n)) // there is nothing to wait for
		return to
	}
	s.seq++
	tr := w.truth.plant(w, t, track.MakeRoot(int32(t.id), s.seq), int(n))
	w.Counts.Emitted++
	s.pending.Add(tr.root.Seq(), tr)
	if len(to) == 1 && !w.announce {
		tp.SetAnchors([]track.Anchor{{Root: tr.root | track.First}})
		w.sendTuple(t, to[0], tp)
		return to
	}
	var xor uint64
	for _, dst := range to {
		edge := w.rng.Uint64()
		xor ^= edge
		tp.SetAnchors([]track.Anchor{{Root: tr.root, Edge: edge}})
		w.sendTuple(t, dst, tp)
	}
	w.tellAck(t, tr.root|acker.InitFlag, xor)
	return to
}

// sendTuple sends a copy of tp, and notes it in the trees that it belongs to.
func (w *World) sendTuple(from *task, dst storm.TaskID, tp *storm.Tuple) {
	c := *tp
	c.SetDst(dst)
	w.truth.grow(&c)
	w.send(from, w.tasks[dst], message{kind: tupleMessage, tuple: c})
}

// outcome tells a spout how a tree ended, or that it lives longer.
func (w *World) outcome(t *task, o acker.Outcome) {
	s := t.spout
	if s == nil {
		w.broken("task %d, which is no spout, gets an outcome", t.id)
		return
	}
	if o.Kind == acker.OutcomeResetTimeout {
		s.pending.Touch(o.Root.Seq())
		w.truth.touch(w, o.Root)
		return
	}
	if tr, ok := s.pending.Take(o.Root.Seq()); ok {
		if tr.root != o.Root {
			w.broken("the outcome of %x ends %x", o.Root, tr.root)
		}
		if o.Kind == acker.OutcomeAck {
			w.end(t, tr, endAcked)
		} else {
			w.end(t, tr, endFailed)
		}
	}
}

func (w *World) rotateSpout(t *task) {
	t.spout.pending.Rotate(func(seq uint64, tr *tree) {
		if tr.root != track.MakeRoot(int32(t.id), seq) {
			w.broken("%x times out as %d", tr.root, seq)
		}
		if age := w.now - tr.touched; age < w.timeout {
			w.broken("%x times out after %d ticks, the time-out is %d", tr.root, age, w.timeout)
		}
		w.end(t, tr, endTimedOut)
	})
}

// loseSpout notes what a dying spout had in flight.
func (w *World) loseSpout(t *task) {
	for _, tr := range t.spout.source.inFlight() {
		w.end(t, tr, endLost)
	}
}
