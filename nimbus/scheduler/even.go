package scheduler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
)

// even gives t the number of workers that it wants, or what there is, and
// deals to the new ones the executors that have no place, by first task.
//
// Workers that are as large as an even spread asks for stay as they are. If
// something is to be placed the others are freed, since a worker restarts
// anyway when its executors change.
func (b *board) even(t *topo) {
	if len(t.execs) == 0 {
		return
	}
	p := b.poolOf(t)
	// More workers than executors would be empty.
	want := min(max(t.Workers, 1), len(t.execs))
	have := t.workers()
	if bad := b.unfit(t, p, have, want); len(bad) > 0 {
		for _, w := range bad {
			b.vacate(t, w, "its worker is not of the size that an even spread asks for")
		}
		have = t.workers()
	}
	if len(t.Kept) > 0 {
		b.dealNear(t, p.near(t, want-len(have)))
	} else {
		b.deal(t, p.nextFor(t, want-len(have)))
	}
	b.drainEven(t, p)

	have = t.workers()
	t.missing = max(want-len(have), 0)
	if len(t.unplaced()) > 0 {
		// Even with all its workers: where they are nothing new may go.
		t.missing = max(t.missing, 1)
		t.whyNot = b.whyNoSlots(t, t.missing)
	} else if t.missing > 0 {
		t.notes = append(t.notes, fmt.Sprintf("has %d of %s: %s", len(have), count(want, "worker"), b.whyNoSlots(t, t.missing)))
	}
}

// deal deals the executors without a place to the slots in turn.
func (b *board) deal(t *topo, slots []ref) {
	if len(slots) == 0 {
		return
	}
	for n, i := range t.unplaced() {
		b.put(t, i, slots[n%len(slots)])
	}
}

// unfit are the workers to free, if any, so that all workers get a size that
// differs by at most one.
func (b *board) unfit(t *topo, p *pool, have []worker, want int) []worker {
	slots := p.slotsFor(t)
	total := min(want, len(have)+slots)
	if total == 0 || len(t.unplaced()) == 0 && total <= len(have) {
		return nil
	}
	size, larger := len(t.execs)/total, len(t.execs)%total
	quota := map[int]int{size: total - larger, size + 1: larger}
	var bad []worker
	reusable := 0
	for _, w := range have {
		if n := len(w.execs); quota[n] > 0 {
			quota[n]--
			continue
		}
		bad = append(bad, w)
		if s := b.sups[w.ref.sup]; s.takes() && !s.shut[w.ref.port] && s.pool == p {
			reusable++
		}
	}
	if slots+reusable == 0 {
		return nil // freed executors would have no place to go
	}
	return bad
}

// drainEven moves workers off drained supervisors while there are free slots.
// A worker moves as a whole.
func (b *board) drainEven(t *topo, p *pool) {
	var leaving []worker
	for _, w := range t.workers() {
		if b.sups[w.ref.sup].Standing == cluster.Drained {
			leaving = append(leaving, w)
		}
	}
	if len(leaving) == 0 {
		return
	}
	to := p.nextFor(t, len(leaving))
	for n, r := range to {
		s := b.sups[leaving[n].ref.sup]
		b.vacate(t, leaving[n], fmt.Sprintf("supervisor %s (host %s) is drained", s.ID, s.Host))
		for _, i := range leaving[n].execs {
			b.put(t, i, r)
		}
	}
	if rest := leaving[len(to):]; len(rest) > 0 {
		b.noteUndrained(t, rest, b.whyNoSlots(t, len(rest)))
	}
}

// noteUndrained says which drained hosts t stays on and why.
func (b *board) noteUndrained(t *topo, rest []worker, why string) {
	var hosts []string
	for _, w := range rest {
		hosts = append(hosts, b.sups[w.ref.sup].Host)
	}
	slices.SortFunc(hosts, cmp.Compare)
	t.notes = append(t.notes, fmt.Sprintf("%s cannot leave drained %s: %s", count(len(rest), "worker"), naming("host", slices.Compact(hosts)), why))
}
