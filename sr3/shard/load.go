package shard

import (
	"fmt"
	"slices"
)

// Expect tells a new, empty table which shards, those of a manifest, will be
// loaded. Until then they are missing; all other slots are empty and can be
// written to.
func (t *Table) Expect(ranges ...Range) error {
	if len(t.shards) != 1 || t.count > 0 || len(t.cells) != 1 || t.shards[0].missing || len(t.cells[0].log) > headerSize {
		return fmt.Errorf("expect shards of %v: the table is in use already", t.owner)
	}
	var shards []*memShard
	fill := func(from, to int) {
		for from < to {
			r := widest(from, to)
			shards = append(shards, newMemShard(r, newCell(r)))
			from = r.End()
		}
	}
	end := 0
	for _, r := range ranges {
		if err := r.Check(); err != nil {
			return fmt.Errorf("expect shards of %v: %w", t.owner, err)
		}
		if int(r.First) < end {
			return fmt.Errorf("expect shards of %v: slots %v overlap those before, or are out of order", t.owner, r)
		}
		fill(end, int(r.First))
		gone := newMemShard(r, &cell{rng: r})
		gone.missing = true
		shards = append(shards, gone)
		end = r.End()
	}
	fill(end, NumSlots)
	t.arrange(shards)
	return nil
}

// widest is the widest range that starts at from and ends at to or before.
func widest(from, to int) Range {
	w := NumSlots
	for from%w != 0 || from+w > to {
		w /= 2
	}
	return Range{Slot(from), uint16(w)}
}

// Missing tells whether the key belongs to a shard that is not loaded yet.
func (t *Table) Missing(key []byte) bool { return t.cellOf(Hash(key)).shard.missing }

// MissingRange is the range of the shard that must be loaded before the key
// can be used; ok is false if none must.
func (t *Table) MissingRange(key []byte) (r Range, ok bool) {
	s := t.cellOf(Hash(key)).shard
	return s.rng, s.missing
}

// MissingRanges are the ranges of all shards that are not loaded yet.
func (t *Table) MissingRanges() []Range {
	var ranges []Range
	for _, s := range t.shards {
		if s.missing {
			ranges = append(ranges, s.rng)
		}
	}
	return ranges
}

// Loaded is a shard made ready for a table: what takes time has been done.
type Loaded struct {
	shard *memShard
	cell  int // the size of cells that it was made for
}

// Range is the range of the shard.
func (l *Loaded) Range() Range { return l.shard.rng }

// Prepare makes a shard of its chain, base first, for Install. Any goroutine may
// call it, whatever others do with the table. The base's bytes become the shard's
// memory, unless deltas follow; they must not be changed. Errors wrap ErrDamaged
// or ErrTooLarge where these are the cause.
func (t *Table) Prepare(objects ...*Object) (*Loaded, error) {
	if err := checkChain(objects); err != nil {
		return nil, fmt.Errorf("load into %v: %w", t.owner, err)
	}
	size := t.target / cellsPerShard
	s, err := newLoaded(objects, size)
	if err != nil {
		return nil, fmt.Errorf("load into %v: %w", t.owner, err)
	}
	return &Loaded{shard: s, cell: size}, nil
}

// Install puts a shard that Prepare made in its missing place, which takes
// microseconds; a Loaded can be installed once. What was loaded counts as
// committed. Errors wrap ErrTooLarge where this is the cause, and change nothing.
func (t *Table) Install(l *Loaded) error {
	s := l.shard
	if s == nil || l.cell != t.target/cellsPerShard {
		return fmt.Errorf("load into %v: the shard was made for another table, or is installed", t.owner)
	}
	i := slices.IndexFunc(t.shards, func(m *memShard) bool { return m.missing && m.rng == s.rng })
	if i < 0 {
		return fmt.Errorf("load into %v: no shard of slots %v is missing", t.owner, s.rng)
	}
	if sum := t.bytes + int64(s.live); t.limit > 0 && sum > t.limit {
		return fmt.Errorf("load into %v: the state has %d bytes and more, above its limit of %d; raise the limit: %w",
			t.owner, sum, t.limit, ErrTooLarge)
	}
	for _, c := range s.cells {
		t.count += c.index.used
	}
	t.bytes += int64(s.live)
	l.shard = nil
	t.shards[i] = s
	t.arrange(t.shards)
	return nil
}

// StartEmpty gives a missing shard up: its range has no entries from now on. What
// the last committed manifest has of it counts as gone, so that the next freeze
// makes a base of it. Until then a rollback comes back to the empty shard.
func (t *Table) StartEmpty(r Range) error {
	i := slices.IndexFunc(t.shards, func(s *memShard) bool { return s.missing && s.rng == r })
	if i < 0 {
		return fmt.Errorf("start a shard of %v empty: no shard of slots %v is missing", t.owner, r)
	}
	s := newMemShard(r, newCell(r))
	s.chain = chainForeign
	t.shards[i] = s
	t.arrange(t.shards)
	return nil
}

// Load is Prepare and Install in one.
func (t *Table) Load(objects ...*Object) error {
	l, err := t.Prepare(objects...)
	if err != nil {
		return err
	}
	return t.Install(l)
}

// LoadBundle installs the shards of an opened bundle, all of them missing.
func (t *Table) LoadBundle(objects []*Object) error {
	for _, o := range objects {
		if err := t.Load(o); err != nil {
			return err
		}
	}
	return nil
}

func newLoaded(objects []*Object, cellSize int) (*memShard, error) {
	cells, err := cellsOf(objects[0], cellSize)
	if err != nil {
		return nil, err
	}
	from := make([]int, len(cells)) // where the deltas start
	for i, c := range cells {
		from[i] = len(c.log)
	}
	for _, d := range objects[1:] {
		i := 0
		for c := newCursor(d); ; {
			if err := c.advance(); err != nil {
				return nil, damaged("%v: %v", d, err)
			}
			if !c.ok {
				break
			}
			for !cells[i].rng.Has(c.hash) {
				i++
			}
			if len(cells[i].log)+len(c.raw()) > maxImage {
				return nil, fmt.Errorf("%v: its chain is too long to load; fold it: %w", d, ErrTooLarge)
			}
			cells[i].log = append(cells[i].log, c.raw()...) // a copy: the log is clipped
			cells[i].borrowed = false
		}
	}
	for i, c := range cells {
		c.committed, c.frozen = len(c.log), len(c.log)
		c.replay(from[i], len(c.log))
	}
	s := newMemShard(objects[0].Range, cells...)
	s.chain = chainOwn
	return s, nil
}

// cellsOf cuts a base into cells whose logs are pieces of its bytes: what lies
// before the first entry of a cell takes the place of a header.
func cellsOf(base *Object, cellSize int) ([]*cell, error) {
	n := 1
	for n < int(base.Range.Slots) && len(base.image) > 3*cellSize/2*n {
		n *= 2
	}
	w := walker{image: base.image, off: headerSize, left: base.Entries}
	width := base.Range.Slots / uint16(n)
	cells := make([]*cell, n)
	for i := range cells {
		r := Range{base.Range.First + Slot(i)*Slot(width), width}
		start, expected := w.off, base.Entries/n
		c := &cell{rng: r, index: newIndex(r, expected+expected/16), borrowed: true}
		if err := w.fill(c); err != nil {
			return nil, damaged("%v: %v", base, err)
		}
		c.log = slices.Clip(base.image[start-headerSize : w.off])
		c.live, c.sorted = w.off-start, len(c.log)
		cells[i] = c
	}
	if w.off != len(base.image) || w.left != 0 {
		return nil, damaged("%v: at byte %d of %d: %d entries are left, and the next is out of order or of slot beyond", base, w.off, len(base.image), w.left)
	}
	return cells, nil
}

// walker walks a base as a cursor does, checking the same. It is where the time of
// a recovery goes.
type walker struct {
	image   []byte
	off     int
	left    int
	last    uint64 // hash of the entry before
	lastOff int    // 0: there is none
}

// fill puts all entries of the cell's range that come next into its index, at
// offsets from headerSize before the first.
func (w *walker) fill(c *cell) error {
	image, off, next := w.image, w.off, 0
	zero := off - headerSize
	for off < len(image) {
		if len(image)-off < entryHead {
			return fmt.Errorf("at byte %d: %d bytes are too few for an entry", off, len(image)-off)
		}
		hash := hashAt(image, off)
		if !c.rng.Has(hash) {
			break // of a later cell, or out of order, which is seen in the end
		}
		klen, vlen, flags := lengths(image, off)
		size := entrySize(klen, vlen)
		if flags != 0 || size > len(image)-off || vlen > MaxValue || w.left == 0 ||
			hash <= w.last && w.lastOff != 0 && !follows(image, off, w.lastOff) {
			return fmt.Errorf("at byte %d: the entry is none of a base, or out of order", off)
		}
		next = c.index.push(next, hash, off-zero)
		w.last, w.lastOff = hash, off
		w.left--
		off += size
	}
	w.off = off
	c.index.relieve()
	return nil
}

// follows is the rare case: two keys with one hash.
func follows(image []byte, off, last int) bool {
	return hashAt(image, off) == hashAt(image, last) && string(keyAt(image, off)) > string(keyAt(image, last))
}
