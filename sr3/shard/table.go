package shard

import (
	"errors"
	"fmt"
	"math"
)

var (
	// ErrTooLarge is what errors about a state, a key, a value or an object
	// beyond its limit wrap.
	ErrTooLarge = errors.New("too large")
	// ErrMissing is what errors about a shard that is not loaded yet wrap.
	ErrMissing = errors.New("not loaded yet")
)

// Options are those of a table.
type Options struct {
	// Owner is the task whose state it is.
	Owner Owner
	// Target is the size in bytes that shards are kept near: they split above
	// twice the target and merge below half of it. 0 is DefaultTarget.
	Target int64
	// Limit is the most bytes that keys and values may have, with 16 bytes for
	// each entry; 0 is no limit. Memory is up to four times that, if most of
	// the state is written anew between two commits; about twice if not.
	Limit int64
}

// Table is the state of one task in memory. All its methods are called by one
// goroutine at a time, the task's; what Freeze returns is read by another.
//
// Entries are in cells of some hundred KiB, each an append-only log and an
// index into it. Neither holds pointers, so the garbage collector has nothing
// to look at. An entry is overwritten in place only if it was written since the
// last freeze and the value keeps its length; else a new one is appended. So
// the end of the log is what is dirty, and its beginning what a rollback goes
// back to. A cell whose log is more than a third garbage is rebuilt, one at a
// time and with some writing between two of them, and so are cells that split
// or merge.
//
// Shards are runs of cells. A shard that splits or merges gets new bases with
// the next freeze: a shard splits after it doubled, so this costs at most as
// much again as writing those entries did, and every chain has one range.
type Table struct {
	owner  Owner
	target int
	limit  int64
	shards []*memShard // by first slot, covering all
	cells  []*cell     // of all shards
	route  [NumSlots]uint16

	bytes int64 // live bytes of all shards
	count int
	// newest is the freeze that can be committed.
	newest *Frozen
	// open counts the freezes not released, walks the iterations under way:
	// both keep old logs from being used again.
	open, walks int
	// written counts appended bytes since the last rebuild, to space rebuilds.
	written int
	// edits counts changes that move entries or cells.
	edits  uint64
	sorter sorter
	spare  []byte // a log to use again
}

// NewTable makes an empty table.
func NewTable(o Options) *Table {
	if o.Target <= 0 {
		o.Target = DefaultTarget
	}
	t := &Table{owner: o.Owner, target: int(min(o.Target, math.MaxInt32)), limit: o.Limit}
	t.arrange([]*memShard{newMemShard(Whole(), newCell(Whole()))})
	return t
}

// arrange installs shards, which cover all slots in order, and their cells.
func (t *Table) arrange(shards []*memShard) {
	t.shards, t.cells = shards, t.cells[:0]
	t.edits++
	for _, s := range shards {
		for _, c := range s.cells {
			for slot := int(c.rng.First); slot < c.rng.End(); slot++ {
				t.route[slot] = uint16(len(t.cells))
			}
			t.cells = append(t.cells, c)
		}
	}
}

func (t *Table) cellOf(hash uint64) *cell { return t.cells[t.route[SlotOf(hash)]] }

// Len is the number of entries, those of missing shards not counted.
func (t *Table) Len() int { return t.count }

// Bytes is the size of all entries: keys, values and 16 bytes each.
func (t *Table) Bytes() int64 { return t.bytes }

// Memory is the bytes that the table takes, garbage and index included.
func (t *Table) Memory() int64 {
	total := int64(cap(t.spare))
	for _, c := range t.cells {
		total += c.memory()
	}
	return total
}

// Ranges are the ranges of the table's shards, in order.
func (t *Table) Ranges() []Range {
	ranges := make([]Range, len(t.shards))
	for i, s := range t.shards {
		ranges[i] = s.rng
	}
	return ranges
}

// Get gives the value of a key. It is valid until the next write, and must not
// be changed. It panics if the key is missing, since an answer would be wrong;
// ask Missing before.
func (t *Table) Get(key []byte) ([]byte, bool) {
	hash := Hash(key)
	c := t.cellOf(hash)
	if c.shard.missing {
		panic(fmt.Sprintf("shard: get of %v: slots %v are not loaded yet; load them first", t.owner, c.shard.rng))
	}
	_, off := c.index.find(c.log, hash, key)
	if off == 0 {
		return nil, false
	}
	return valueAt(c.log, off), true
}

// valueAt is the value at off, which appending does not write beyond.
func valueAt(log []byte, off int) []byte {
	klen, vlen, _ := lengths(log, off)
	from := off + entryHead + klen
	return log[from : from+vlen : from+vlen]
}

// Put sets the value of a key. Both are copied. Errors wrap ErrTooLarge or
// ErrMissing, and change nothing.
func (t *Table) Put(key, value []byte) error {
	if len(key) > MaxKey || len(value) > MaxValue {
		return fmt.Errorf("put into %v: a key of %d and a value of %d bytes, at most %d and %d can be: %w",
			t.owner, len(key), len(value), MaxKey, MaxValue, ErrTooLarge)
	}
	hash := Hash(key)
	c := t.cellOf(hash)
	if c.shard.missing {
		return fmt.Errorf("put into %v: slots %v are %w", t.owner, c.shard.rng, ErrMissing)
	}
	at, old := c.index.find(c.log, hash, key)
	oldSize := 0
	if old != 0 {
		klen, vlen, _ := lengths(c.log, old)
		if old >= c.frozen && vlen == len(value) {
			copy(c.log[old+entryHead+klen:], value)
			return nil
		}
		oldSize = entrySize(klen, vlen)
	}
	size := entrySize(len(key), len(value))
	if err := t.admit(c, size, size-oldSize); err != nil {
		return err
	}
	off := len(c.log)
	c.log = appendEntry(c.log, hash, key, value, 0)
	if old != 0 {
		c.outdate(old, off, oldSize)
		c.index.set(at, hash, off)
	} else {
		c.index.insert(at, hash, off)
		t.count++
	}
	c.live += size
	t.wrote(c, size, size-oldSize)
	return nil
}

// admit says whether an entry may come into the cell.
func (t *Table) admit(c *cell, size, more int) error {
	if t.limit > 0 && more > 0 && t.bytes+int64(more) > t.limit {
		return fmt.Errorf("put into %v: the state would have %d bytes, more than its limit of %d; raise the limit, give the component more tasks, or delete what is old: %w",
			t.owner, t.bytes+int64(more), t.limit, ErrTooLarge)
	}
	if len(c.log)+size > maxImage {
		return fmt.Errorf("put into %v: a log in slots %v has %d bytes already; use smaller values or commit more often: %w",
			t.owner, c.shard.rng, len(c.log), ErrTooLarge)
	}
	return nil
}

// Delete removes a key; one that is not there is fine. Errors wrap ErrMissing
// or ErrTooLarge, and change nothing.
func (t *Table) Delete(key []byte) error {
	hash := Hash(key)
	c := t.cellOf(hash)
	if c.shard.missing {
		return fmt.Errorf("delete from %v: slots %v are %w", t.owner, c.shard.rng, ErrMissing)
	}
	at, old := c.index.find(c.log, hash, key)
	if old == 0 {
		return nil
	}
	oldSize, size := sizeAt(c.log, old), entrySize(len(key), 0)
	if err := t.admit(c, size, 0); err != nil {
		return err
	}
	off := len(c.log)
	c.log = appendEntry(c.log, hash, key, nil, flagDeleted)
	c.outdate(old, off, oldSize)
	c.deletion(off, size)
	c.index.remove(at)
	t.count--
	t.wrote(c, size, -oldSize)
	return nil
}

// wrote accounts for an appended entry and puts the cell in order if it has
// become too large or too full of garbage.
func (t *Table) wrote(c *cell, size, more int) {
	t.bytes += int64(more)
	c.shard.live += more
	t.written += size
	t.edits++
	t.tidy(c)
}
