package shard

import (
	"fmt"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// Limits of the partitioning, fixed for ever: stored objects depend on them.
const (
	// NumSlots is how many slots the keys of an owner are spread over.
	NumSlots = 1 << slotBits
	// MaxShards is the largest number of shards of an owner.
	MaxShards = 1 << maxShardBits
	// DefaultTarget is the size in bytes that shards are kept near.
	DefaultTarget = 4 << 20

	slotBits     = 14
	maxShardBits = 10
	// minSlots is the narrowest range that a shard can have.
	minSlots = NumSlots / MaxShards
)

// Slot is the unit of partitioning, 0 to NumSlots-1.
type Slot uint16

// Hash is the hash of a key, xxhash64. It is our function for ever.
func Hash(key []byte) uint64 { return xxhash.Sum64(key) }

// SlotOf is the slot of the key that has this hash: its top 14 bits, so that
// order by hash is order by slot.
func SlotOf(hash uint64) Slot { return Slot(hash >> (64 - slotBits)) }

// Range is a run of slots that a shard can have: a power of two of them,
// starting at a multiple of its width.
type Range struct {
	First Slot
	Slots uint16
}

// Whole is the range of all slots.
func Whole() Range { return Range{0, NumSlots} }

// RangeOf is the range of shard i of n. It panics unless n is a power of two
// from 1 to MaxShards and i below n.
func RangeOf(i, n int) Range {
	if n < 1 || n > MaxShards || n&(n-1) != 0 || i < 0 || i >= n {
		panic(fmt.Sprintf("shard: there is no shard %d of %d", i, n))
	}
	width := NumSlots / n
	return Range{Slot(i * width), uint16(width)}
}

// Check says what is wrong with a range that no shard can have.
func (r Range) Check() error {
	w := int(r.Slots)
	switch {
	case w < minSlots || w > NumSlots || w&(w-1) != 0:
		return fmt.Errorf("range %v: the width must be a power of two from %d to %d", r, minSlots, NumSlots)
	case int(r.First)%w != 0 || int(r.First)+w > NumSlots:
		return fmt.Errorf("range %v: it must start at a multiple of its width below %d", r, NumSlots)
	}
	return nil
}

// String is the first and the last slot, as 1024-2047.
func (r Range) String() string {
	return fmt.Sprintf("%d-%d", r.First, int(r.First)+int(r.Slots)-1)
}

// End is the slot after the last; NumSlots for the last range.
func (r Range) End() int { return int(r.First) + int(r.Slots) }

// Has tells whether the key with this hash falls into the range.
func (r Range) Has(hash uint64) bool {
	s := SlotOf(hash)
	return s >= r.First && int(s) < r.End()
}

// Overlaps tells whether the ranges share a slot.
func (r Range) Overlaps(o Range) bool {
	return int(r.First) < o.End() && int(o.First) < r.End()
}

// Covers tells whether all of o is in r.
func (r Range) Covers(o Range) bool { return r.First <= o.First && o.End() <= r.End() }

// Halves are the two ranges that a shard splits into. It panics for a range
// too narrow to split; ask CanSplit.
func (r Range) Halves() (left, right Range) {
	if !r.CanSplit() {
		panic("shard: range " + r.String() + " is too narrow to split")
	}
	return r.halves()
}

func (r Range) halves() (left, right Range) {
	half := r.Slots / 2
	return Range{r.First, half}, Range{r.First + Slot(half), half}
}

// CanSplit tells whether the range is wide enough to split.
func (r Range) CanSplit() bool { return r.Slots > minSlots }

// Parent is the range whose half r is; r itself if it is the whole.
func (r Range) Parent() Range {
	if r.Slots == NumSlots {
		return r
	}
	w := r.Slots * 2
	return Range{r.First &^ Slot(w-1), w}
}

// bits is how many top bits of a hash all keys of the range share.
func (r Range) bits() uint { return uint(slotBits - (bits.Len16(r.Slots) - 1)) }

// ShardCount is the number of shards, a power of two, for a state of total
// bytes with shards of about target bytes (DefaultTarget if 0), given how many
// there are now (0: none yet). It stays at current until shards are on average
// larger than twice the target or smaller than a quarter of it.
func ShardCount(total, target int64, current int) int {
	if target <= 0 {
		target = DefaultTarget
	}
	n := int64(max(current, 1))
	if current > 0 && total <= 2*target*n && total >= target/4*n {
		return current
	}
	n = 1
	for n < MaxShards && total > target*n {
		n *= 2
	}
	return int(n)
}
