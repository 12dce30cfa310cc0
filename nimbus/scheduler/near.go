package scheduler

import (
	"cmp"
	"slices"
)

// This file places executors where their state lies: what is there already has
// not to be fetched.

// keeps is how much of the state of executors without a place lies at s.
func (t *topo) keeps(s *sup) (sum int64) {
	for _, i := range t.unplaced() {
		sum += t.keptAt(i, s)
	}
	return sum
}

// keptAt is how much of the state of executor i lies at s.
func (t *topo) keptAt(i int, s *sup) int64 { return t.Kept[t.execs[i].Executor][s.ID] }

// near are up to n free slots for t: of the supervisors that keep the most of its
// state, one of each in turn; among equals in the order of next.
func (p *pool) near(t *topo, n int) []ref {
	open := p.openTo(t)
	n = min(n, freeOf(open))
	if n <= 0 {
		return nil
	}
	scores := make(map[*sup]int64, len(open))
	for _, s := range open {
		scores[s] = t.keeps(s)
	}
	slices.SortStableFunc(open, func(x, y *sup) int { return cmp.Compare(scores[y], scores[x]) })
	return takeTurns(open, n)
}

// dealNear deals the executors without a place to the slots, each slot as many as
// deal would, so that as much state as can be is where it is used: those with most
// to gain choose first.
func (b *board) dealNear(t *topo, slots []ref) {
	rest := t.unplaced()
	if len(slots) == 0 || len(rest) == 0 {
		return
	}
	best := make(map[int]int64, len(rest))
	for _, i := range rest {
		for _, r := range slots {
			best[i] = max(best[i], t.keptAt(i, b.sups[r.sup]))
		}
	}
	slices.SortStableFunc(rest, func(x, y int) int { return cmp.Compare(best[y], best[x]) })
	size, larger := len(rest)/len(slots), len(rest)%len(slots)
	has := make([]int, len(slots))
	for _, i := range rest {
		at := -1
		for n, r := range slots {
			if has[n] > size || has[n] == size && larger == 0 {
				continue
			}
			if at < 0 || cmp.Or(cmp.Compare(t.keptAt(i, b.sups[r.sup]), t.keptAt(i, b.sups[slots[at].sup])), cmp.Compare(has[at], has[n])) > 0 {
				at = n
			}
		}
		if has[at] == size {
			larger--
		}
		has[at]++
		b.put(t, i, slots[at])
	}
}
