package shard

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

// index finds the entries of a log: open addressing, linear probing, no
// pointers. A slot is 0 if free, else 32 bits of the hash (its tag) above the
// entry's offset. The tag's top bits say where the probing starts, which has
// three effects: the log is only touched where an entry is almost surely the
// one; growing and removing need no log at all; and the slots are almost in
// the order of hashes, so that walking in order sorts only short runs, and
// filling in order writes memory from front to back. With 4-byte slots and
// comparison through the log a lookup costs half a cache miss more and a
// growth one miss for each entry.
//
// Probing does not wrap: spare slots follow the last start, more are added if
// they do not do, and the last slot is always free.
type index struct {
	slots  []uint64
	shared uint // top bits of the hash that all keys of the range share
	shift  uint // 32 less the bits of a start
	used   int
}

const (
	indexSpare   = 32
	indexMinBits = 4
)

func newIndex(r Range, entries int) index {
	x := index{shared: r.bits()}
	x.resize(max(indexMinBits, uint(bits.Len(uint(entries+entries/3)))))
	return x
}

func (x *index) resize(width uint) {
	width = min(width, 32)
	x.shift = 32 - width
	x.slots = make([]uint64, 1<<width+indexSpare)
}

// memory is the bytes it takes.
func (x *index) memory() int64 { return int64(cap(x.slots)) * 8 }

func (x *index) tag(hash uint64) uint32 { return uint32(hash << x.shared >> 32) }

// find gives the slot and the offset of the key's entry, or the free slot
// where it belongs and 0.
func (x *index) find(log []byte, hash uint64, key []byte) (at int, off int) {
	tag := x.tag(hash)
	at = int(tag >> x.shift)
	for {
		s := x.slots[at]
		if s == 0 {
			return at, 0
		}
		if uint32(s>>32) == tag {
			off = int(uint32(s))
			if bytes.Equal(keyAt(log, off), key) {
				return at, off
			}
		}
		at++
	}
}

// set lets the slot, which find gave, point to off.
func (x *index) set(at int, hash uint64, off int) {
	x.slots[at] = uint64(x.tag(hash))<<32 | uint64(off)
}

// insert takes the free slot, which find gave.
func (x *index) insert(at int, hash uint64, off int) {
	x.set(at, hash, off)
	x.used++
	if at == len(x.slots)-1 {
		x.slots = append(x.slots, make([]uint64, indexSpare)...)
	}
	x.relieve()
}

// relieve grows the index if it is more than three quarters full.
func (x *index) relieve() {
	if starts := 1 << (32 - x.shift); x.used > starts/4*3 && x.shift > 0 {
		x.grow()
	}
}

// push is insert for entries that come in order of their hashes into an index
// made large enough; next is where the one before went, plus 1. Call relieve
// after the last.
func (x *index) push(next int, hash uint64, off int) int {
	tag := x.tag(hash)
	at := max(next, int(tag>>x.shift))
	if at >= len(x.slots)-1 {
		x.slots = append(x.slots, make([]uint64, indexSpare)...)
	}
	x.slots[at] = uint64(tag)<<32 | uint64(off)
	x.used++
	return at + 1
}

// remove frees a slot and moves up what was pushed away by it.
func (x *index) remove(at int) {
	for next := at + 1; x.slots[next] != 0; next++ {
		if int(x.slots[next]>>32>>x.shift) <= at {
			x.slots[at] = x.slots[next]
			at = next
		}
	}
	x.slots[at] = 0
	x.used--
}

func (x *index) grow() {
	old := x.slots
	x.resize(33 - x.shift)
	for _, s := range old {
		if s == 0 {
			continue
		}
		at := int(s >> 32 >> x.shift)
		for x.slots[at] != 0 {
			at++
		}
		x.slots[at] = s
		if at == len(x.slots)-1 {
			x.slots = append(x.slots, make([]uint64, indexSpare)...)
		}
	}
}

// ordered appends the offsets of all entries in order of hash, then key.
func (x *index) ordered(log []byte, offs []uint32) []uint32 {
	var run []uint64
	for _, s := range x.slots {
		if s != 0 {
			run = append(run, s)
			continue
		}
		if len(run) > 1 {
			slices.SortFunc(run, func(a, b uint64) int {
				if c := cmp.Compare(a>>32, b>>32); c != 0 {
					return c
				}
				p, q := int(uint32(a)), int(uint32(b))
				return cmp.Or(cmp.Compare(hashAt(log, p), hashAt(log, q)), bytes.Compare(keyAt(log, p), keyAt(log, q)))
			})
		}
		for _, s := range run {
			offs = append(offs, uint32(s))
		}
		run = run[:0]
	}
	return offs
}
