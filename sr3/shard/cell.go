package shard

// chain says what the last committed manifest has of a shard's range.
type chain uint8

const (
	chainNone    chain = iota // nothing
	chainOwn                  // a chain of just this range
	chainForeign              // chains of other ranges, from before a split or merge
)

// memShard is one shard of a table: what has an object. Its entries are in
// cells, which divide its range. Splitting and merging shards moves cells from
// one to another and touches no entry.
type memShard struct {
	rng     Range
	cells   []*cell // by first slot; one without a log if missing
	missing bool
	chain   chain
	// frozenHere tells that the newest freeze has an object of this range.
	frozenHere bool
	// live is that of all cells.
	live int
}

// newMemShard makes a shard of cells that cover its range.
func newMemShard(r Range, cells ...*cell) *memShard {
	s := &memShard{rng: r, cells: cells}
	for _, c := range cells {
		c.shard = s
		s.live += c.live
	}
	return s
}

// cell has the entries of some slots of a shard, few enough that rebuilding
// them, which a put has to wait for, takes a millisecond or so. Its log has
// three parts:
//
//	headerSize … committed   the last committed version
//	committed … frozen       what the newest freeze has beyond it
//	frozen … len(log)        written since
//
// Nothing below frozen ever changes, except that a rebuild makes another log.
// Offset 0 means none: the first headerSize bytes are no entries, so that a
// piece of an object's bytes can serve as a log.
type cell struct {
	rng   Range // may be narrower than a shard's can be
	shard *memShard
	log   []byte
	index index
	// borrowed tells that the log is an object's memory, not our own.
	borrowed          bool
	committed, frozen int
	// sorted is the end of those committed entries, the first ones, that are in the
	// order of objects, each key once.
	sorted int
	// live is the bytes of the entries that the index knows.
	live int
	// held and heldFrozen are the bytes of entries that are outdated, or are
	// deletions, but that must be kept: for the next delta, and for a rollback.
	// held become heldFrozen with a freeze, garbage with a commit.
	held, heldFrozen int
}

func newCell(r Range) *cell {
	return &cell{
		rng: r, log: make([]byte, headerSize), index: newIndex(r, 0),
		committed: headerSize, frozen: headerSize, sorted: headerSize,
	}
}

// garbage is the bytes that a rebuild would save.
func (c *cell) garbage() int {
	return len(c.log) - headerSize - c.live - c.held - c.heldFrozen
}

// outdate accounts for the entry at old, which is size bytes and whose key is
// written or deleted by the entry at by.
func (c *cell) outdate(old, by, size int) {
	c.live -= size
	switch {
	case by >= c.frozen && old < c.frozen:
		c.held += size
	case by >= c.committed && by < c.frozen && old < c.committed:
		c.heldFrozen += size
	}
}

// deletion accounts for a deletion'c own bytes.
func (c *cell) deletion(at, size int) {
	switch {
	case at >= c.frozen:
		c.held += size
	case at >= c.committed:
		c.heldFrozen += size
	}
}

// replay lets the index follow the log from one offset to another.
func (c *cell) replay(from, to int) {
	for off := from; off < to; {
		klen, vlen, flags := lengths(c.log, off)
		size := entrySize(klen, vlen)
		c.apply(off, size, hashAt(c.log, off), c.log[off+entryHead:off+entryHead+klen], flags)
		off += size
	}
}

func (c *cell) apply(off, size int, hash uint64, key []byte, flags byte) {
	at, old := c.index.find(c.log, hash, key)
	if old != 0 {
		c.outdate(old, off, sizeAt(c.log, old))
	}
	switch {
	case flags&flagDeleted != 0:
		c.deletion(off, size)
		if old != 0 {
			c.index.remove(at)
		}
		return
	case old != 0:
		c.index.set(at, hash, off)
	default:
		c.index.insert(at, hash, off)
	}
	c.live += size
}

// rollback cuts the log back to the last commit. If a freeze may still be
// reading what is cut off, it is not written over.
func (c *cell) rollback(shared bool) {
	if len(c.log) == c.committed {
		return
	}
	c.log = c.log[:c.committed]
	if shared {
		c.log = c.log[:c.committed:c.committed]
	}
	c.frozen, c.live, c.held, c.heldFrozen = c.committed, 0, 0, 0
	clear(c.index.slots)
	c.index.used = 0
	c.replay(headerSize, c.committed)
}

// memory is the bytes that the cell takes.
func (c *cell) memory() int64 { return int64(cap(c.log)) + c.index.memory() }
