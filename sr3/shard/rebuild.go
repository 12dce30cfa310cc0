package shard

import "slices"

const (
	// cellsPerShard is how many cells a shard of the target size has, about.
	cellsPerShard = 16
	// ignored is the share of the target below which a log may be all garbage.
	ignored = 64
	// spacing is the share of a log that must be written between two rebuilds,
	// so that a bolt never waits for many of them in a row.
	spacing = 8
)

// tidy rebuilds or splits the cell, or splits its shard, if that is due. A cell
// that is overdue does not wait for its turn.
func (t *Table) tidy(c *cell) {
	garbage, size, target := c.garbage(), len(c.log), t.target/cellsPerShard
	turn := t.written >= size/spacing
	s := c.shard
	switch {
	case c.live > 2*target && c.rng.Slots > 1 && (turn || c.live > 4*target):
		left, right := c.rng.halves()
		t.replace(s, []*cell{c}, t.rebuild(left, c), t.rebuild(right, c))
	case garbage > size/3 && size > t.target/ignored && (turn || garbage > size/2):
		t.replace(s, []*cell{c}, t.rebuild(c.rng, c))
	case s.live > 2*t.target && s.rng.CanSplit() && len(s.cells) > 1:
		t.split(s)
	}
}

// replace puts new cells in the place of old ones, which follow each other.
func (t *Table) replace(s *memShard, old []*cell, with ...*cell) {
	i := slices.Index(s.cells, old[0])
	s.cells = slices.Replace(s.cells, i, i+len(old), with...)
	for _, c := range with {
		c.shard = s
	}
	if len(old) == 1 && len(with) == 1 {
		t.cells[t.route[old[0].rng.First]] = with[0]
		t.edits++
	} else {
		t.arrange(t.shards)
	}
	for _, c := range old {
		t.recycle(c)
	}
}

// split makes two shards of one. Since cells are halves of halves, no cell lies
// across the middle.
func (t *Table) split(s *memShard) {
	left, right := s.rng.Halves()
	middle := slices.IndexFunc(s.cells, func(c *cell) bool { return c.rng.First == right.First })
	a := newMemShard(left, slices.Clone(s.cells[:middle])...)
	b := newMemShard(right, slices.Clone(s.cells[middle:])...)
	a.chain, b.chain = chainOf(s), chainOf(s)
	i := slices.Index(t.shards, s)
	t.arrange(slices.Replace(t.shards, i, i+1, a, b))
}

// merge joins shards, and cells within shards, that became small with the other
// halves of their parents. Of cells it joins as many as are one cell's work.
func (t *Table) merge() {
	shards := joinPairs(t.shards, func(a, b *memShard) *memShard {
		if a.rng.Parent() != b.rng.Parent() || a.missing || b.missing || a.live+b.live >= t.target/2 {
			return nil
		}
		s := newMemShard(a.rng.Parent(), slices.Concat(a.cells, b.cells)...)
		s.chain = chainOf(a, b)
		return s
	})
	if len(shards) < len(t.shards) {
		t.arrange(shards)
	}
	target := t.target / cellsPerShard
	budget, before := target, len(t.cells)
	for _, s := range t.shards {
		s.cells = joinPairs(s.cells, func(a, b *cell) *cell {
			if budget <= 0 || a.rng.Parent() != b.rng.Parent() || a.live+b.live >= target/2 {
				return nil
			}
			budget -= len(a.log) + len(b.log)
			c := t.rebuild(a.rng.Parent(), a, b)
			c.shard = s
			return c
		})
		before -= len(s.cells)
	}
	if before != 0 {
		t.arrange(t.shards)
	}
}

// joinPairs joins neighbours, and what comes of them, for as long as join
// returns something. The list is not changed.
func joinPairs[T any](list []*T, join func(a, b *T) *T) []*T {
	joined := make([]*T, 0, len(list))
	for _, x := range list {
		for len(joined) > 0 {
			both := join(joined[len(joined)-1], x)
			if both == nil {
				break
			}
			joined, x = joined[:len(joined)-1], both
		}
		joined = append(joined, x)
	}
	return joined
}

// chainOf is what the committed manifest has of a range made of other shards.
func chainOf(from ...*memShard) chain {
	for _, s := range from {
		// A freeze that may still be committed has an object of the old range.
		if s.chain != chainNone || s.frozenHere {
			return chainForeign
		}
	}
	return chainNone
}

// rebuild makes a cell of those entries of others, which are in order, that
// fall into the range. The parts of their logs stay apart, but in each there
// is only what that part says last of each key, in order of hashes.
func (t *Table) rebuild(r Range, from ...*cell) *cell {
	t.written, t.sorter.taken = 0, 0
	size, entries := 0, 0
	for _, c := range from {
		share := 1
		if c.rng.Slots > r.Slots {
			share = 2
		}
		size += (c.live + c.held + c.heldFrozen) / share
		entries += c.index.used / share
	}
	n := &cell{rng: r, log: t.newLog(headerSize + size + size/2)}
	for _, c := range from {
		n.collect(&t.sorter, c, headerSize, c.sorted, c.committed, true)
	}
	n.sorted, n.committed, n.frozen = len(n.log), len(n.log), len(n.log)
	n.index = newIndex(r, max(entries, t.sorter.taken))
	next := 0
	for off := headerSize; off < n.committed; off += sizeAt(n.log, off) {
		next = n.index.push(next, hashAt(n.log, off), off)
	}
	n.live = n.committed - headerSize
	for _, c := range from {
		n.collect(&t.sorter, c, c.committed, c.committed, c.frozen, false)
	}
	n.frozen = len(n.log)
	for _, c := range from {
		n.collect(&t.sorter, c, c.frozen, c.frozen, len(c.log), false)
	}
	n.replay(n.committed, len(n.log))
	return n
}

// collect appends what a part of another cell's log, sorted up to some offset, says
// last of each key. Deletions of the committed part have done their work.
func (c *cell) collect(z *sorter, from *cell, lo, sorted, hi int, dropDeleted bool) {
	for _, p := range z.latest(from.log, lo, sorted, hi, c.rng) {
		if _, _, flags := lengths(from.log, int(p.off)); !dropDeleted || flags&flagDeleted == 0 {
			c.log = append(c.log, rawAt(from.log, int(p.off))...)
			z.taken++
		}
	}
}

// newLog gives an empty log with room for size bytes.
func (t *Table) newLog(size int) []byte {
	if cap(t.spare) >= size {
		log := t.spare[:headerSize]
		t.spare = nil
		return log
	}
	return make([]byte, headerSize, size)
}

// recycle keeps the log of a cell that was replaced, if nobody reads it.
func (t *Table) recycle(c *cell) {
	if t.open == 0 && t.walks == 0 && !c.borrowed && cap(c.log) > cap(t.spare) && cap(c.log) <= t.target {
		t.spare = c.log[:0]
	}
}
