package scheduler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
)

// pack places t's executors by what they ask for: all of them or none.
func (b *board) pack(t *topo) {
	if todo := t.unplaced(); len(todo) > 0 {
		if failed, whyNot := newPacker(b, t).place(todo, true); failed >= 0 && !b.evictFor(t, todo, failed) {
			t.whyNot = whyNot
			if b.poolOf(t).slots == 0 {
				t.missing = 1
			}
		}
	}
	b.noteJoined(t)
	b.drainPacked(t)
	b.noteStrain(t)
}

// noteJoined names the running workers that take something in.
func (b *board) noteJoined(t *topo) {
	for _, w := range t.workers() {
		stay := 0
		for _, i := range w.execs {
			if t.at[i] == t.was[i] {
				stay++
			}
		}
		if stay > 0 && stay < len(w.execs) {
			t.notes = append(t.notes, fmt.Sprintf("worker %s restarts to take in executors that fit nowhere else", b.slot(w.ref)))
		}
	}
}

// noteStrain names the hosts with more CPU asked for than they have, if t is
// one of those that came there this round.
func (b *board) noteStrain(t *topo) {
	var hosts []string
	for i, r := range t.at {
		if r != nowhere && r != t.was[i] {
			if s := b.sups[r.sup]; (cluster.Resources{CPU: s.left.CPU}).Lacks(cluster.Resources{}) != "" {
				hosts = append(hosts, s.Host)
			}
		}
	}
	if len(hosts) > 0 {
		slices.Sort(hosts)
		t.notes = append(t.notes, "more CPU is asked for than there is on "+naming("host", slices.Compact(hosts)))
	}
}

// drainPacked moves workers off drained supervisors, each as a whole and only
// if no running worker has to restart for it.
func (b *board) drainPacked(t *topo) {
	var rest []worker
	why := ""
	for _, w := range t.workers() {
		s := b.sups[w.ref.sup]
		if s.Standing != cluster.Drained {
			continue
		}
		before := make([]string, len(w.execs))
		for n, i := range w.execs {
			before[n] = t.why[i]
		}
		b.vacate(t, w, fmt.Sprintf("supervisor %s (host %s) is drained", s.ID, s.Host))
		failed, whyNot := newPacker(b, t).place(w.execs, false)
		if failed < 0 {
			continue
		}
		why = whyNot
		for n, i := range w.execs {
			b.put(t, i, w.ref)
			t.why[i] = before[n]
		}
		rest = append(rest, w)
	}
	if len(rest) > 0 {
		b.noteUndrained(t, rest, why)
	}
}

// packer is one attempt to place executors of one topology. It looks in this
// order, first without and then with too little CPU:
//
//	opened   workers that start this round anyway
//	near     new workers on supervisors that the topology is on
//	racks    new workers elsewhere, racks that it is in first
//	kept     workers that run already, which have to restart for it
//
// Executors of equal needs come one after the other. While the need is the
// same, what was too small once stays too small; so each list has a cursor,
// and an attempt looks at each candidate once for each need.
type packer struct {
	b     *board
	t     *topo
	p     *pool
	load  map[ref]float64 // MB by worker
	total int             // workers

	opened []ref
	kept   []ref
	near   []*sup
	racks  []int // of the pool's tree
	onto   map[*sup]bool

	need  cluster.Resources
	at    [2]cursors // strict, soft
	trail []int      // executors placed
	fresh []ref      // slots opened by this attempt
}

type cursors struct{ opened, near, racks, kept int }

func newPacker(b *board, t *topo) *packer {
	k := &packer{b: b, t: t, p: b.poolOf(t), load: map[ref]float64{}, onto: map[*sup]bool{}}
	tr := k.p.packable()
	here := make([]int, len(tr.racks)) // executors by rack
	for _, w := range t.workers() {
		k.total++
		for _, i := range w.execs {
			k.load[w.ref] += t.execs[i].Need.MemoryMB
		}
		s := b.sups[w.ref.sup]
		if s.pool != k.p {
			continue
		}
		here[tr.rackOf[s.leaf]] += len(w.execs)
		if !s.takes() {
			continue
		}
		k.approach(s)
		switch {
		case t.reopened[w.ref]:
			k.opened = append(k.opened, w.ref)
		case !s.shut[w.ref.port]:
			k.kept = append(k.kept, w.ref)
		}
	}
	for i := range tr.racks {
		k.racks = append(k.racks, i)
	}
	slices.SortStableFunc(k.racks, func(x, y int) int {
		return cmp.Or(cmp.Compare(here[y], here[x]), cmp.Compare(tr.racks[y].mem, tr.racks[x].mem))
	})
	return k
}

// approach makes s one of the supervisors that the topology is on.
func (k *packer) approach(s *sup) {
	if !k.onto[s] {
		k.onto[s] = true
		k.near = append(k.near, s)
	}
}

// place places the executors todo, the largest first, and returns -1; or none
// of them and the first that fits nowhere, with the reason. Running workers are
// touched only if join.
func (k *packer) place(todo []int, join bool) (failed int, whyNot string) {
	execs := k.t.execs
	todo = slices.Clone(todo)
	slices.SortFunc(todo, func(x, y int) int {
		a, b := execs[x].Need, execs[y].Need
		return cmp.Or(cmp.Compare(b.MemoryMB, a.MemoryMB), cmp.Compare(b.CPU, a.CPU), cmp.Compare(len(b.Generic), len(a.Generic)), cmp.Compare(x, y))
	})
	for n, i := range todo {
		if n == 0 || !execs[i].Need.Equal(k.need) {
			k.need, k.at = execs[i].Need, [2]cursors{}
		}
		r := k.choose(false, join)
		if r == nowhere {
			r = k.choose(true, join)
		}
		if r == nowhere {
			whyNot = k.b.whyNoRoom(k.t, execs[i])
			if n > 0 {
				whyNot += fmt.Sprintf(" once %d of %s are placed", n, count(len(todo), "executor"))
			}
			k.undo()
			return i, whyNot
		}
		k.b.put(k.t, i, r)
		k.load[r] += k.need.MemoryMB
		k.trail = append(k.trail, i)
	}
	return -1, ""
}

// choose is the slot for an executor with the current need, or nowhere.
func (k *packer) choose(soft, join bool) ref {
	c := &k.at[0]
	if soft {
		c = &k.at[1]
	}
	if k.t.WorkerMaxMB > 0 && k.need.MemoryMB > k.t.WorkerMaxMB {
		return nowhere
	}
	if r := k.firstWith(k.opened, &c.opened, soft); r != nowhere {
		return r
	}
	if k.t.MaxWorkers <= 0 || k.total < k.t.MaxWorkers {
		for ; c.near < len(k.near); c.near++ {
			if s := k.near[c.near]; s.free > 0 && fits(s, k.need, soft) {
				return k.open(s)
			}
		}
		tr := k.p.packable()
		for ; c.racks < len(k.racks); c.racks++ {
			if s := tr.roomiest(tr.racks[k.racks[c.racks]], k.need, soft); s != nil {
				return k.open(s)
			}
		}
	}
	if !join {
		return nowhere
	}
	return k.firstWith(k.kept, &c.kept, soft)
}

// firstWith is the first of the workers from the cursor on with enough room.
func (k *packer) firstWith(workers []ref, cursor *int, soft bool) ref {
	for ; *cursor < len(workers); *cursor++ {
		r := workers[*cursor]
		heavy := k.t.WorkerMaxMB > 0 && k.load[r]+k.need.MemoryMB > k.t.WorkerMaxMB
		if !heavy && fits(k.b.sups[r.sup], k.need, soft) {
			return r
		}
	}
	return nowhere
}

// open takes the next free slot of s for the topology.
func (k *packer) open(s *sup) ref {
	for port := range s.ports {
		if !s.isFree(port) {
			continue
		}
		r := ref{int32(s.index), int32(port)}
		k.total++
		k.approach(s)
		k.opened = append(k.opened, r)
		k.fresh = append(k.fresh, r)
		k.t.reopened[r] = true
		return r
	}
	panic(fmt.Sprintf("broken invariant: supervisor %s counts %d free slots and has none", s.ID, s.free))
}

// undo takes back all that this attempt did.
func (k *packer) undo() {
	for _, i := range k.trail {
		k.b.lift(k.t, i, "")
	}
	for _, r := range k.fresh {
		k.b.vacate(k.t, worker{ref: r}, "")
	}
}
