package simulation

import "github.com/stormring/stormring/storm"

const (
	// maxHeld is how many inputs a bolt keeps at most.
	maxHeld = 6
	// maxInFlight is how many trees a spout has in flight at most.
	maxInFlight = 8
)

// next is a spout's NextTuple.
func (w *World) next(t *task) {
	s := t.spout
	if s.out.Pending() >= maxInFlight {
		return
	}
	if !w.calm && w.chance(100) { // something untracked, which must not disturb
		w.note("task %d emits untracked", t.id)
		s.out.Emit(w.values()...)
		return
	}
	n, ok := s.source.next()
	if !ok {
		return
	}
	w.note("task %d emits message %d", t.id, n)
	id := storm.Int(int64(n))
	if to := w.directTarget(t); to != 0 && w.chance(200) {
		s.out.EmitDirect(to, directStream, id, w.values()...)
		return
	}
	s.out.EmitTracked(id, w.values()...)
}

func (w *World) values() []storm.Value {
	return []storm.Value{storm.Int(int64(w.rng.IntN(10))), storm.Int(int64(w.steps))}
}

// directTarget is some task that t can emit to directly, or 0.
func (w *World) directTarget(t *task) storm.TaskID {
	for i := range t.streams {
		s := &t.streams[i]
		if s.origin.Stream == directStream && len(s.subs) > 0 {
			sub := s.subs[w.rng.IntN(len(s.subs))]
			return sub.targets[w.rng.IntN(len(sub.targets))]
		}
	}
	return 0
}

// execute is a bolt's Execute.
func (w *World) execute(t *task, tp storm.Tuple) {
	b := t.bolt
	if tp.Dst() != t.id {
		w.broken("a tuple for task %d comes to task %d", tp.Dst(), t.id)
	}
	switch {
	case w.fault(w.cfg.Fail):
		w.emitChildren(t, &tp) // the children of a failed tuple go on
		b.out.Fail(&tp)
	case w.fault(w.cfg.Forget):
		w.emitChildren(t, &tp)
	case w.fault(w.cfg.Hold) && len(b.held) < maxHeld:
		w.emitChildren(t, &tp)
		b.held = append(b.held, tp)
	default:
		w.emitChildren(t, &tp)
		b.out.Ack(&tp)
	}
}

// emitChildren emits up to two tuples anchored to tp, some of them to held
// ones as well.
func (w *World) emitChildren(t *task, tp *storm.Tuple) {
	b := t.bolt
	for range w.rng.IntN(3) {
		switch n := w.rng.IntN(10); {
		case n == 0:
			b.out.Emit(nil, w.values()...)
		case n < 4 && len(b.held) > 0:
			w.Counts.Joins++
			all := append([]storm.Tuple{*tp}, b.held[w.rng.IntN(len(b.held)):]...)
			b.out.EmitAnchors(storm.DefaultStream, all, w.values()...)
		case n < 6:
			if to := w.directTarget(t); to != 0 {
				b.out.EmitDirect(to, directStream, tp, w.values()...)
			}
		default:
			b.out.Emit(tp, w.values()...)
		}
	}
}

// settleHeld is the bolt's user coming back to what is held.
func (w *World) settleHeld(t *task) {
	b := t.bolt
	if len(b.held) == 0 {
		return
	}
	i := w.rng.IntN(len(b.held))
	tp := b.held[i]
	if w.fault(w.cfg.Reset) {
		w.note("task %d asks for time", t.id)
		b.out.ResetTimeout(&tp)
		return
	}
	b.held = append(b.held[:i:i], b.held[i+1:]...)
	w.note("task %d settles a held tuple", t.id)
	switch {
	case w.fault(w.cfg.Fail):
		b.out.Fail(&tp)
	case w.fault(w.cfg.Forget):
	default:
		w.emitChildren(t, &tp)
		b.out.Ack(&tp)
	}
}
