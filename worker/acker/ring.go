package acker

import "iter"

const (
	// startSlots is the size of a new ring: small, since a topology may have
	// thousands of spout tasks and a foreign root may name any task.
	startSlots = 64
	// maxSlots is where a ring stops growing; 24 MiB of a Ledger's entries.
	maxSlots = 1 << 20
	// maxPending is that of a spout task, of which a checkpoint may keep the trees of
	// a whole interval in flight. In the overflow they would take more memory.
	maxPending = 1 << 22
	// maxStrays is how many evictable entries may lie in a ring's overflow.
	maxStrays = 1 << 12

	// used tells an occupied slot from an empty one with sequence number 0.
	used = 1 << 63
)

// slot is one entry of a ring. In an empty one all but gen and spilled is
// zero.
type slot[T any] struct {
	key     uint64 // sequence number | used
	val     T
	gen     uint32 // rotation in which the entry was last put or refreshed
	mark    uint8  // the ring's owner keeps flags here
	spilled bool   // entries of this slot may be in the overflow
}

func (s *slot[T]) seq() uint64 { return s.key &^ used }

// empty clears all but spilled. Field by field: a copy of a whole slot would
// wait for the narrower writes before it.
func (s *slot[T]) empty() {
	s.key = 0
	s.val = *new(T)
	s.mark = 0
}

// ring is a table whose keys are sequence numbers that mostly arrive in order
// and leave soon. An entry lives at slots[seq % len(slots)], so that a lookup
// is one compare and neighbours share cache lines.
//
// An entry that is still there when a later one needs its slot moves to the
// overflow, unless the ring is crowded and may still grow. So a few entries
// that stay for ever cost a map entry each and not a ring as long as their age.
//
// Any set of keys below used works; keys without order only make it slower.
// A *slot is valid until the next claim or remove.
type ring[T any] struct {
	slots  []slot[T]
	mask   uint64
	live   int    // occupied slots
	newest uint64 // the key claimed last
	limit  int    // len(slots) stays at or below it

	over map[uint64]*slot[T]

	// evictable, if set, tells which entries are not worth growing for and,
	// once strayLimit of them are in the overflow, may be dropped.
	evictable  func(*slot[T]) bool
	strayLimit int
	strays     []uint64 // keys that were evictable when they moved, a circle
	strayAt    int      // the oldest of them, once the circle is full
}

func newRing[T any](start, limit int) ring[T] {
	return ring[T]{
		slots:      make([]slot[T], start),
		mask:       uint64(start - 1),
		limit:      limit,
		strayLimit: maxStrays,
	}
}

func (r *ring[T]) len() int { return r.live + len(r.over) }

// get finds the entry of seq, or nil.
func (r *ring[T]) get(seq uint64) *slot[T] {
	s := &r.slots[seq&r.mask]
	if s.key == seq|used {
		return s
	}
	if !s.spilled {
		return nil
	}
	return r.over[seq]
}

// claim makes an entry for seq, which must have none. Its value and mark are
// zero.
func (r *ring[T]) claim(seq uint64, gen uint32) *slot[T] {
	s := &r.slots[seq&r.mask]
	if s.key != 0 {
		s = r.makeRoom(seq)
	}
	s.key = seq | used
	s.gen = gen
	r.live++
	r.newest = seq
	return s
}

// remove empties s, an entry of r.
func (r *ring[T]) remove(s *slot[T]) {
	if s == &r.slots[s.key&r.mask] {
		s.empty()
		r.live--
		return
	}
	delete(r.over, s.seq())
}

// makeRoom frees the slot of seq by growing the ring or moving out the entry
// that has it. The newcomer always wins: age cannot be read from the numbers
// once a restarted spout task counts from somewhere else.
func (r *ring[T]) makeRoom(seq uint64) *slot[T] {
	s := &r.slots[seq&r.mask]
	for len(r.slots) < r.limit && r.crowded() && !r.isStray(s) {
		r.grow()
		s = &r.slots[seq&r.mask]
		if s.key == 0 {
			return s
		}
	}
	r.spill(s)
	return s
}

func (r *ring[T]) isStray(s *slot[T]) bool { return r.evictable != nil && r.evictable(s) }

// crowded counts the overflow too, because a ring that sees only one of n
// acker tasks' share of the numbers is never more than 1/n full.
func (r *ring[T]) crowded() bool {
	return r.live > len(r.slots)/2 || len(r.over) > len(r.slots)/16
}

// grow doubles the ring. Distinct slots stay distinct, and the overflow comes
// back where there is room.
func (r *ring[T]) grow() {
	old := r.slots
	r.slots = make([]slot[T], 2*len(old))
	r.mask = uint64(len(r.slots) - 1)
	for i := range old {
		if k := old[i].key; k != 0 {
			s := &r.slots[k&r.mask]
			*s = old[i]
			s.spilled = false
		}
	}
	for seq, o := range r.over {
		s := &r.slots[seq&r.mask]
		if s.key != 0 {
			s.spilled = true
			continue
		}
		*s = *o
		r.live++
		delete(r.over, seq)
	}
}

// spill moves the entry of a slot to the overflow.
func (r *ring[T]) spill(s *slot[T]) {
	moved := new(slot[T])
	*moved = *s
	moved.spilled = false
	if r.over == nil {
		r.over = make(map[uint64]*slot[T])
	}
	r.over[s.seq()] = moved
	s.empty()
	s.spilled = true
	r.live--
	if r.isStray(moved) {
		r.addStray(moved.seq())
	}
}

// addStray notes an evictable entry of the overflow and drops the one noted
// longest ago if there are too many.
func (r *ring[T]) addStray(seq uint64) {
	if len(r.strays) < r.strayLimit {
		r.strays = append(r.strays, seq)
		return
	}
	oldest := r.strays[r.strayAt]
	r.strays[r.strayAt] = seq
	r.strayAt = (r.strayAt + 1) % r.strayLimit
	if s := r.over[oldest]; s != nil && r.isStray(s) {
		delete(r.over, oldest)
	}
}

// all walks over all entries, the ring from the newest downwards, and stops
// early when no more are left. The loop may remove the entry it is given and
// must change nothing else.
func (r *ring[T]) all() iter.Seq[*slot[T]] {
	return func(yield func(*slot[T]) bool) {
		left := r.live
		for i := r.newest; left > 0; i-- {
			s := &r.slots[i&r.mask]
			if s.key == 0 {
				continue
			}
			left--
			if !yield(s) {
				return
			}
		}
		for _, s := range r.over {
			if !yield(s) {
				return
			}
		}
	}
}

// trim gives memory back that an emptied overflow holds.
func (r *ring[T]) trim() {
	if len(r.over) == 0 {
		r.over, r.strays, r.strayAt = nil, nil, 0
	}
}
