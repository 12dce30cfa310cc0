package checkpoint

import (
	"errors"
	"maps"
	"slices"
)

func (w *world) perform(n *node, effects []TaskEffect) {
	for _, e := range effects {
		switch e := e.(type) {
		case Forward:
			w.forward(n, e.Marker)
		case Reply:
			w.answers = append(w.answers, e.Answer)
		case LoadState:
			n.want = e.Version
			w.ops = append(w.ops, op{what: "load", task: n.id, life: n.life, v: e.Version})
		case SaveState:
			img := image{counts: maps.Clone(n.state.counts), pos: n.state.pos}
			w.ops = append(w.ops, op{what: "save", task: n.id, life: n.life, v: e.Version, img: img})
		case RunPreCommit:
			w.ops = append(w.ops, op{what: "precommit", task: n.id, life: n.life, v: Version{TxID: e.TxID, Era: n.task.Era()}})
		case StateCommitted:
			if e.Version.TxID > w.record.Committed.TxID {
				w.fail("task %d takes version %v for committed, the record says %v", n.id, e.Version, w.record.Committed)
			}
		case AckAll[*tree]:
			for _, t := range e.Acks {
				w.ack(t)
			}
		case FailAll[*tree]:
			for _, t := range e.Acks {
				t.failed = true
			}
		case RunHeld:
			held := n.held
			n.held = nil
			for _, h := range held {
				w.execute(n, h.tuple, h.era)
			}
		case DropHeld:
			for _, h := range n.held {
				h.tuple.tree.failed = true
			}
			n.held = nil
		case ThawState:
		}
	}
}

func (w *world) forward(n *node, m Marker) {
	if m.begins() {
		n.sent = map[int32]int64{}
	}
	for _, to := range w.plan.TargetsOf(n.comp.ID) {
		w.sendMarker(edge{n.id, to}, m, n.sent[to])
	}
}

var errBad = errors.New("bad luck")

// finish ends something that is under way.
func (w *world) finish() {
	if len(w.ops) == 0 {
		return
	}
	i := w.rng.IntN(len(w.ops))
	o := w.ops[i]
	w.ops = slices.Delete(w.ops, i, i+1)
	w.note("finish %s %d %v", o.what, o.task, o.v)
	switch o.what {
	case "read":
		if w.maybe(10) {
			w.coordinate(o.coord, Loaded{Err: errBad})
			return
		}
		w.coordinate(o.coord, Loaded{Record: w.record})
	case "store":
		w.store(o)
	case "late":
		w.compareAndSet(o.store)
	default:
		w.finishTask(o)
	}
}

func (w *world) store(o op) {
	if w.maybe(6) {
		if w.rng.IntN(2) == 0 { // it may come through later
			w.ops = append(w.ops, op{what: "late", store: o.store})
		}
		w.coordinate(o.coord, Stored{Next: o.store.Next, Outcome: Unknown})
		return
	}
	outcome := Refused
	if w.compareAndSet(o.store) {
		outcome = Written
	}
	if o.coord == w.leader || o.coord == w.zombie {
		w.coordinate(o.coord, Stored{Next: o.store.Next, Outcome: outcome})
	}
}

func (w *world) compareAndSet(s Store) bool {
	if w.record != s.Expect {
		return false
	}
	if s.Next.Committed != w.record.Committed {
		w.checkVersion(s.Next.Committed)
	}
	w.record = s.Next
	return true
}

// checkVersion compares a version that is being committed with what a
// topology that never failed has when its spouts are at the same positions.
func (w *world) checkVersion(v Version) {
	if v.TxID <= w.record.Committed.TxID {
		w.fail("version %v is committed after %v", v, w.record.Committed)
	}
	want := map[int32]map[int64]int{}
	for _, t := range w.plan.Stateful {
		if _, ok := w.images[imageKey{t, v}]; !ok {
			w.fail("version %v is committed, but task %d has not saved it", v, t)
		}
		want[t] = map[int64]int{}
	}
	if !w.rewinds {
		return
	}
	for _, s := range w.plan.Sources {
		for i := range w.images[imageKey{s, v}].pos {
			id := int64(s)<<32 | i
			for t, n := range w.reference(id) {
				want[t][id] = n
			}
		}
	}
	for t, counts := range want {
		if got := w.images[imageKey{t, v}].counts; !maps.Equal(got, counts) {
			w.fail("version %v: task %d has %d ids %v, want %d: %v", v, t, len(got), got, len(counts), counts)
		}
	}
}

func (w *world) finishTask(o op) {
	n := w.nodes[o.task]
	alive := n.life == o.life
	switch o.what {
	case "load":
		if !alive || n.want != o.v || n.task.Open() {
			return
		}
		if w.maybe(20) {
			w.perform(n, n.task.Loaded(o.v, errBad))
			return
		}
		img, ok := w.images[imageKey{o.task, o.v}]
		if !ok && o.v != (Version{}) {
			w.fail("task %d shall load version %v, which is not there", o.task, o.v)
		}
		n.state = image{counts: maps.Clone(img.counts), pos: img.pos}
		if n.state.counts == nil {
			n.state.counts = map[int64]int{}
		}
		w.perform(n, n.task.Loaded(o.v, nil))
	case "save":
		var err error
		key := imageKey{o.task, o.v}
		if old, ok := w.images[key]; ok && !old.equal(o.img) || w.maybe(30) {
			err = errBad
		} else {
			w.images[key] = o.img
		}
		if alive {
			w.perform(n, n.task.Saved(o.v, err, w.maybe(3)))
		}
	case "precommit":
		if alive && n.task.Era() == o.v.Era {
			var err error
			if w.maybe(30) {
				err = errBad
			}
			w.perform(n, n.task.PreCommitted(o.v.TxID, err))
		}
	}
}

// finished tells whether all tuples are in a committed version, and acked.
func (w *world) finished() bool {
	for _, s := range w.plan.Sources {
		if w.rewinds && w.images[imageKey{s, w.record.Committed}].pos < w.perTask {
			return false
		}
		for i := range w.perTask {
			if !w.rewinds && !w.acked[int64(s)<<32|i] {
				return false
			}
		}
	}
	return true
}
