package shard

import (
	"errors"
	"fmt"
	"slices"
)

// Frozen is what the table's entries were at a freeze, beyond the last commit.
// One goroutine at a time may read it while the table's goes on.
type Frozen struct {
	table  *Table
	owner  Owner
	shards []frozenShard
	done   bool
}

// frozenShard is one shard of a Frozen.
type frozenShard struct {
	rng   Range
	chain chain
	live  int
	// dirty tells that there are entries beyond the last commit.
	dirty bool
	cells []frozenCell
}

// frozenCell is one of its cells. The log never changes.
type frozenCell struct {
	rng       Range
	log       []byte
	sorted    int // as a cell's
	committed int // the changes are what follows
}

// changed tells whether a checkpoint must store something of the shard.
func (s *frozenShard) changed() bool { return s.dirty || s.chain == chainForeign }

// Freeze hands over what was written since the last commit, in time that grows
// with the number of cells and nothing else. A freeze that is not committed,
// because its checkpoint failed, is contained in the next.
func (t *Table) Freeze() *Frozen {
	f := &Frozen{table: t, owner: t.owner, shards: make([]frozenShard, 0, len(t.shards))}
	cells := make([]frozenCell, 0, len(t.cells))
	for _, s := range t.shards {
		if s.missing {
			continue
		}
		z := frozenShard{rng: s.rng, chain: s.chain, live: s.live}
		first := len(cells)
		for _, c := range s.cells {
			c.frozen = len(c.log)
			c.heldFrozen += c.held
			c.held = 0
			cells = append(cells, frozenCell{c.rng, slices.Clip(c.log), c.sorted, c.committed})
			z.dirty = z.dirty || c.frozen > c.committed
		}
		z.cells = cells[first:]
		s.frozenHere = z.changed()
		f.shards = append(f.shards, z)
	}
	t.newest = f
	t.open++
	return f
}

// Commit tells that the checkpoint of f, which must be the newest freeze, is
// committed: all that its Objects gave is stored, and the next ones build on
// it. Shards that became small may then merge.
func (t *Table) Commit(f *Frozen) error {
	if f == nil || f != t.newest {
		return fmt.Errorf("commit of %v: it is not the newest freeze, or that was rolled back or committed", t.owner)
	}
	t.newest = nil
	for _, s := range t.shards {
		for _, c := range s.cells {
			c.committed, c.heldFrozen = c.frozen, 0
		}
		if s.frozenHere {
			s.chain, s.frozenHere = chainOwn, false
		}
	}
	t.merge()
	return nil
}

// Rollback takes back all that was written since the last commit, or, before
// the first one, since the table was made or loaded. Cells that did not change
// cost nothing, the others the time to index them anew.
func (t *Table) Rollback() {
	t.newest = nil
	t.edits++
	t.bytes, t.count = 0, 0
	for _, s := range t.shards {
		if s.missing {
			continue
		}
		s.frozenHere, s.live = false, 0
		for _, c := range s.cells {
			c.rollback(t.open > 0 || t.walks > 0)
			s.live += c.live
			t.count += c.index.used
		}
		t.bytes += int64(s.live)
	}
}

// Release tells that f is not read any more. It is called by the table's
// goroutine, before or after the commit or rollback, once or more.
func (f *Frozen) Release() {
	if !f.done {
		f.done = true
		f.shards = nil
		f.table.open--
	}
}

// Objects makes the objects of a version: a delta for each shard that changed
// since the last commit, or a base if it never had one, or if that is smaller
// than twice the delta, or, for all shards, if full. Each goes to yield with
// its ref, which names no holders yet, in order of slots; yield may keep the
// bytes. The same writes give the same bytes. The first error of yield ends it
// and is returned.
func (f *Frozen) Objects(c *Codec, version Version, epoch Epoch, full bool, yield func(Ref, []byte) error) error {
	return f.Select(c, Selection{Version: version, Epoch: epoch, Full: full}, yield)
}

// Selection says which objects of a Frozen are made.
type Selection struct {
	Version Version
	Epoch   Epoch
	// Full wants a base of every shard.
	Full bool
	// Bases wants bases of the shards with these ranges, changed or not; ranges
	// that no shard has any more are ignored.
	Bases map[Range]bool
	// Only, if not nil, leaves out the shards of which it says false.
	Only func(Range) bool
}

// Select is Objects for some shards, or with some bases more. An object that is
// made again has the same bytes, if Full and Bases say the same of its shard.
func (f *Frozen) Select(c *Codec, which Selection, yield func(Ref, []byte) error) error {
	if f.done {
		return errors.New("objects of a freeze that is released")
	}
	var z sorter
	for i := range f.shards {
		s := &f.shards[i]
		full := which.Full || which.Bases[s.rng]
		if !s.changed() && (!full || s.chain == chainNone) || which.Only != nil && !which.Only(s.rng) {
			continue
		}
		stored := c.seal(s.encode(&z, which.Version, full))
		ref, err := RefTo(f.owner, which.Epoch, stored)
		if err != nil {
			return fmt.Errorf("objects of %v: %w", f.owner, err)
		}
		if err := yield(ref, stored); err != nil {
			return err
		}
	}
	return nil
}

// encode makes the image of the shard's object.
func (s *frozenShard) encode(z *sorter, version Version, full bool) ([]byte, *Object) {
	o := &Object{Kind: Delta, Range: s.rng, Version: version}
	if s.chain == chainOwn && !full {
		if image := s.changes(z, o); image != nil {
			return image, o
		}
	}
	o.Kind, o.Entries = Base, 0
	image := make([]byte, headerSize, headerSize+s.live)
	for _, c := range s.cells {
		for _, p := range z.latest(c.log, headerSize, c.sorted, len(c.log), c.rng) {
			if _, _, flags := lengths(c.log, int(p.off)); flags&flagDeleted == 0 {
				image = append(image, rawAt(c.log, int(p.off))...)
				o.Entries++
			}
		}
	}
	return image, o
}

// changes makes the image of a delta, or nil if that has more than half the
// bytes of a base.
func (s *frozenShard) changes(z *sorter, o *Object) []byte {
	size := 0
	for _, c := range s.cells {
		size += len(c.log) - c.committed
	}
	image := make([]byte, headerSize, headerSize+min(size, s.live/2))
	for _, c := range s.cells {
		for _, p := range z.latest(c.log, c.committed, c.committed, len(c.log), c.rng) {
			raw := rawAt(c.log, int(p.off))
			if len(image)-headerSize+len(raw) > s.live/2 {
				return nil
			}
			image = append(image, raw...)
			o.Entries++
		}
	}
	return image
}
