package scheduler

import (
	"math/bits"
	"slices"
)

// pool is a set of supervisors with free slots, of which it knows who has how
// many, so that the next slots are found without looking at the others.
type pool struct {
	levels [][]uint64 // by number of free slots: bit set of supervisors
	slots  int        // free in all
	all    []*sup     // the board's, by index
	sups   []*sup     // those that belong to it, by index
	tree   *tree      // made when somebody packs
}

func newPool(b *board, members []*sup) *pool {
	p := &pool{all: b.sups, sups: members}
	for _, s := range members {
		s.pool = p
		for len(p.levels) <= len(s.ports) {
			p.levels = append(p.levels, make([]uint64, (len(b.sups)+63)/64))
		}
		p.levels[s.free][s.index/64] |= 1 << (s.index % 64)
		p.slots += s.free
	}
	return p
}

// moved is told that s had a number of free slots and has another now.
func (p *pool) moved(s *sup, before int) {
	p.levels[before][s.index/64] &^= 1 << (s.index % 64)
	p.levels[s.free][s.index/64] |= 1 << (s.index % 64)
	p.slots += s.free - before
}

// next are up to n free slots in the order in which Storm deals them: those
// with most free slots first, one of each in turn, lowest port first.
func (p *pool) next(n int) []ref {
	n = min(n, p.slots)
	if n <= 0 {
		return nil
	}
	return takeTurns(p.fullest(n), n)
}

// nextFor is next for t, which may not run everywhere.
func (p *pool) nextFor(t *topo, n int) []ref {
	if t.Wants == "" {
		return p.next(n)
	}
	open := p.openTo(t)
	return takeTurns(open, min(max(n, 0), freeOf(open)))
}

// slotsFor is how many free slots t may have.
func (p *pool) slotsFor(t *topo) int {
	if t.Wants == "" {
		return p.slots
	}
	return freeOf(p.openTo(t))
}

// openTo are the supervisors with free slots that t may have, most of them first.
func (p *pool) openTo(t *topo) []*sup {
	return slices.DeleteFunc(p.fullest(len(p.all)), func(s *sup) bool { return !s.offers(t) })
}

func freeOf(open []*sup) (n int) {
	for _, s := range open {
		n += s.free
	}
	return n
}

// takeTurns are n free slots of these supervisors, of each one in turn, the lowest
// port first.
func takeTurns(open []*sup, n int) []ref {
	out := make([]ref, 0, n)
	seen := make([]int, len(open)) // where to go on in its ports
	for len(out) < n {
		for i, s := range open {
			if len(out) == n {
				break
			}
			for seen[i] < len(s.ports) {
				port := seen[i]
				seen[i]++
				if s.isFree(port) {
					out = append(out, ref{int32(s.index), int32(port)})
					break
				}
			}
		}
	}
	return out
}

// fullest are up to n supervisors, most free slots first.
func (p *pool) fullest(n int) []*sup {
	var out []*sup
	for level := len(p.levels) - 1; level > 0; level-- {
		for w, word := range p.levels[level] {
			for ; word != 0; word &= word - 1 {
				if len(out) == n {
					return out
				}
				out = append(out, p.all[w*64+bits.TrailingZeros64(word)])
			}
		}
	}
	return out
}
