package scheduler

import (
	"fmt"
	"slices"
)

// maxEvicted is how many topologies may have to make room for one in a round.
const maxEvicted = 32

// evicted is a topology that made room, and what it had.
type evicted struct {
	t       *topo
	workers []worker
	why     [][]string
}

// evictFor takes workers from packed topologies of lower priority, the lowest
// and youngest first, until t's executors fit. They are served again in their
// turn, which comes later. If t does not fit even so, nothing changes. failed
// is the executor that fitted nowhere.
func (b *board) evictFor(t *topo, todo []int, failed int) bool {
	if t.own != nil {
		return false
	}
	var victims []evicted
	for i := len(b.topos) - 1; i >= 0 && len(victims) < maxEvicted; i-- {
		v := b.topos[i]
		if v.Priority <= t.Priority {
			break
		}
		if v.Strategy != ResourceAware || v.frozen() || v.own != nil {
			continue
		}
		e, helps := b.evict(v, t, failed)
		if len(e.workers) == 0 {
			continue
		}
		victims = append(victims, e)
		if !helps {
			continue
		}
		if failed, _ = newPacker(b, t).place(todo, true); failed < 0 {
			// Who stepped aside in vain goes back.
			for _, e := range slices.Backward(victims) {
				b.restore(e, false)
			}
			return true
		}
	}
	for _, e := range slices.Backward(victims) {
		b.restore(e, true)
	}
	return false
}

// evict takes away v's workers in slots that t could use, and tells whether
// executor i of t fits into one of them now.
func (b *board) evict(v, t *topo, i int) (e evicted, helps bool) {
	e.t = v
	for _, w := range v.workers() {
		s := b.sups[w.ref.sup]
		if !s.takes() || s.shut[w.ref.port] || s.pool != b.poolOf(t) {
			continue
		}
		before := make([]string, len(w.execs))
		for n, x := range w.execs {
			before[n] = v.why[x]
		}
		e.workers, e.why = append(e.workers, w), append(e.why, before)
		b.vacate(v, w, fmt.Sprintf("makes room for %s (priority %d before %d)", t.ID, t.Priority, v.Priority))
		helps = helps || fits(s, t.execs[i].Need, true)
	}
	return e, helps
}

// restore puts those workers back for which there is still room, or all.
func (b *board) restore(e evicted, all bool) {
	for n, w := range e.workers {
		s := b.sups[w.ref.sup]
		if !s.isFree(int(w.ref.port)) {
			continue
		}
		need := e.t.execs[w.execs[0]].Need
		for _, i := range w.execs[1:] {
			need = need.Plus(e.t.execs[i].Need)
		}
		if !all && !fits(s, need, false) {
			continue
		}
		for at, i := range w.execs {
			b.put(e.t, i, w.ref)
			e.t.why[i] = e.why[n][at]
		}
	}
}
