package shard

import (
	"bytes"
	"iter"
	"slices"
)

// All gives all entries whose key starts with prefix, in order of hash, then
// key: the same for the same entries, whatever way they came. It looks at every
// key, since a hash does not tell what a key starts with. The table may be
// written to while it runs: a key that is deleted before it comes does not
// come, one that is new may or may not, and each comes at most once. Keys and
// values are valid until the next write, and must not be changed. It panics if
// a shard is missing; ask MissingRanges before.
func (t *Table) All(prefix []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		t.walks++
		defer func() { t.walks-- }()
		var offs []uint32
		for slot := 0; slot < NumSlots; {
			c := t.cells[t.route[slot]]
			if c.shard.missing {
				panic("shard: walk through " + t.owner.String() + ": slots " + c.shard.rng.String() + " are not loaded yet; load them first")
			}
			offs = c.index.ordered(c.log, offs[:0])
			end := c.rng.End()
			if !t.walk(c.log, offs, Slot(slot), prefix, yield) {
				return
			}
			slot = end
		}
	}
}

// walk yields the entries of one cell that are in slots from first on.
func (t *Table) walk(log []byte, offs []uint32, first Slot, prefix []byte, yield func(k, v []byte) bool) bool {
	edits := t.edits
	for _, off := range offs {
		hash, key := hashAt(log, int(off)), keyAt(log, int(off))
		if SlotOf(hash) < first || !bytes.HasPrefix(key, prefix) {
			continue
		}
		value := valueAt(log, int(off))
		if t.edits != edits {
			c := t.cellOf(hash)
			_, now := c.index.find(c.log, hash, key)
			if now == 0 {
				continue
			}
			value = valueAt(c.log, now)
		}
		if !yield(slices.Clip(key), value) {
			return false
		}
	}
	return true
}
