package simulation

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// keepChildren is how many rotations a bolt keeps the edges of an input's
// children.
const keepChildren = 3

// boltPart makes a task a bolt. All of it is gone when its worker dies.
type boltPart struct {
	out *storm.OutputCollector
	// held are the inputs that the user keeps.
	held []storm.Tuple
	// children is the XOR of the edges of what was anchored to an input, until
	// the input is settled.
	children map[track.Anchor]brood
	rotation int
	settled  map[track.Anchor]bool // to see that the user does it once
}

type brood struct {
	xor   uint64
	since int // rotation of the last child
}

func (b *boltPart) start(w *World, t *task, index map[string]int) {
	*b = boltPart{children: map[track.Anchor]brood{}, settled: map[track.Anchor]bool{}}
	b.out = storm.NewOutputCollector(boltEmitter{hands{w}, t}, t.component, index)
}

// boltEmitter is the lower side of a bolt's collector.
type boltEmitter struct {
	hands
	t *task
}

var _ storm.BoltEmitter = boltEmitter{}

// Emit implements storm.BoltEmitter.
func (e boltEmitter) Emit(index int, tp *storm.Tuple) []storm.TaskID { return e.emit(index, tp, 0) }

// EmitDirect implements storm.BoltEmitter.
func (e boltEmitter) EmitDirect(index int, to storm.TaskID, tp *storm.Tuple) { e.emit(index, tp, to) }

func (e boltEmitter) emit(index int, tp *storm.Tuple, direct storm.TaskID) []storm.TaskID {
	to := e.w.route(&e.t.streams[index], tp, direct)
	parents := anchors(tp)
	for _, dst := range to {
		fresh := slices.Clone(parents)
		for i := range fresh {
			fresh[i] = track.Anchor{Root: parents[i].Root &^ track.First, Edge: e.w.rng.Uint64()}
			e.adopt(parents[i], fresh[i].Edge)
		}
		tp.SetAnchors(fresh)
		e.w.sendTuple(e.t, dst, tp)
	}
	return to
}

// adopt notes the edge of a child of parent.
func (e boltEmitter) adopt(parent track.Anchor, edge uint64) {
	if e.w.cfg.EdgesAtOnce {
		e.w.tellAck(e.t, parent.Root&^track.First, edge)
		return
	}
	b := e.t.bolt
	b.children[parent] = brood{b.children[parent].xor ^ edge, b.rotation}
}

// anchors are all anchors of t.
func anchors(t *storm.Tuple) []track.Anchor {
	if more := t.Anchors(); more != nil {
		return more
	}
	if a := t.Anchor(); a.Root != 0 {
		return []track.Anchor{a}
	}
	return nil
}

// Done implements storm.BoltEmitter.
func (e boltEmitter) Done(how storm.Settlement, _ *track.Origin, first track.Anchor, more []track.Anchor) {
	if more == nil && first.Root != 0 {
		more = []track.Anchor{first}
	}
	b := e.t.bolt
	for _, a := range more {
		if how == storm.SettleResetTimeout {
			e.w.tell(e.t, a.Root, message{kind: resetMessage, root: a.Root})
			continue
		}
		if b.settled[a] {
			e.w.broken("the user of task %d settles a tuple twice", e.t.id)
		}
		b.settled[a] = true
		xor := b.children[a].xor
		delete(b.children, a)
		if how == storm.SettleAck {
			e.w.truth.acked(a.Root)
			if root := a.Root &^ track.First; root != a.Root && xor == 0 {
				// A tree of one tuple needs nobody to count.
				o := acker.Outcome{Root: root, Kind: acker.OutcomeAck}
				e.w.checkOutcome(o)
				e.w.send(e.t, e.w.tasks[root.Task()], message{kind: outcomeMessage, outcome: o})
				continue
			}
			e.w.tellAck(e.t, a.Root, a.Edge^xor)
		} else {
			e.w.tell(e.t, a.Root, message{kind: failMessage, root: a.Root})
		}
	}
}

// rotateBolt tells ackers of children whose parents have been waiting for
// long; most of those were forgotten. Those of first tuples are only told of
// with the ack: see the executor's offspring.
func (w *World) rotateBolt(t *task) {
	b := t.bolt
	b.rotation++
	old := slices.SortedFunc(maps.Keys(b.children), func(x, y track.Anchor) int {
		return cmp.Or(cmp.Compare(x.Root, y.Root), cmp.Compare(x.Edge, y.Edge))
	})
	for _, a := range old {
		if c := b.children[a]; a.Root&track.First == 0 && b.rotation-c.since >= keepChildren {
			delete(b.children, a)
			w.tellAck(t, a.Root, c.xor)
		}
	}
}
