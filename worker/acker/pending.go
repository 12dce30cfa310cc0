package acker

import (
	"cmp"
	"slices"

	"github.com/stormring/stormring/internal/track"
)

const (
	// pendingBuckets is how many rotations an entry of a Pending lives
	// through, itself not counted.
	pendingBuckets = 2
	// maxScratch is the largest list of expired entries whose memory is kept.
	maxScratch = 1 << 14
)

// Pending is one spout task's table of trees that have no outcome yet, by
// their sequence numbers (see track.Root; higher bits are ignored). T is what
// the spout needs to know when the outcome comes.
//
// A Pending belongs to one goroutine. Make it with NewPending.
type Pending[T any] struct {
	ring    ring[T]
	gen     uint32
	scratch []uint64
}

// NewPending makes an empty Pending.
func NewPending[T any]() *Pending[T] {
	return &Pending[T]{ring: newRing[T](startSlots, maxPending)}
}

// Add puts v under seq and starts its time. A value that is already there is
// replaced.
func (p *Pending[T]) Add(seq uint64, v T) {
	seq &= track.SeqMask
	s := p.ring.get(seq)
	if s == nil {
		s = p.ring.claim(seq, p.gen)
	}
	s.gen = p.gen
	s.val = v
}

// Put makes an entry for seq, which must have none, starts its time and returns
// its zero value to be filled. The pointer is good until the next call.
func (p *Pending[T]) Put(seq uint64) *T {
	seq &= track.SeqMask
	r := &p.ring
	s := &r.slots[seq&r.mask]
	if s.key != 0 {
		s = r.makeRoom(seq)
	}
	s.key = seq | used
	s.gen = p.gen
	r.live++
	r.newest = seq
	return &s.val
}

// Take removes and returns the value under seq; ok is false if there is none,
// as when an outcome comes after the time-out.
func (p *Pending[T]) Take(seq uint64) (v T, ok bool) {
	seq &= track.SeqMask
	r := &p.ring
	if s := &r.slots[seq&r.mask]; s.key == seq|used {
		v = s.val
		s.empty()
		r.live--
		return v, true
	}
	s := r.get(seq)
	if s == nil {
		return v, false
	}
	v = s.val
	r.remove(s)
	return v, true
}

// Touch starts the time of seq anew; nothing happens if there is no such
// entry.
func (p *Pending[T]) Touch(seq uint64) {
	if s := p.ring.get(seq & track.SeqMask); s != nil {
		s.gen = p.gen
	}
}

// Rotate is to be called once per message time-out. Entries that were put or
// touched two calls ago or earlier are removed and handed to expired, in the
// order of their numbers. expired may use the Pending.
func (p *Pending[T]) Rotate(expired func(seq uint64, v T)) {
	p.gen++
	p.evict(func(_ uint64, gen uint32) bool { return p.gen-gen >= pendingBuckets }, expired)
	p.ring.trim()
}

// Drain removes all entries and hands them to each, in the order of their
// numbers. each may use the Pending; what it adds stays.
func (p *Pending[T]) Drain(each func(seq uint64, v T)) {
	p.evict(func(uint64, uint32) bool { return true }, each)
	p.ring.trim()
}

// DrainTo is Drain for the entries with numbers up to last, that included.
func (p *Pending[T]) DrainTo(last uint64, each func(seq uint64, v T)) {
	first := p.first()
	p.evict(func(seq uint64, _ uint32) bool {
		return (seq-first)&track.SeqMask <= (last-first)&track.SeqMask
	}, each)
	p.ring.trim()
}

// Len is the number of trees in flight.
func (p *Pending[T]) Len() int { return p.ring.len() }

// first is the lowest number that there can be: they wrap, so it is what lies
// half the range before the newest.
func (p *Pending[T]) first() uint64 { return p.ring.newest - 1<<(track.SeqBits-1) }

// evict removes what is due, in the order of the numbers. The entries are listed
// first so that the callback may change the table.
func (p *Pending[T]) evict(due func(seq uint64, gen uint32) bool, each func(seq uint64, v T)) {
	seqs := p.scratch[:0]
	p.scratch = nil // a call from within the callback makes its own
	for s := range p.ring.all() {
		if due(s.seq(), s.gen) {
			seqs = append(seqs, s.seq())
		}
	}
	first := p.first()
	slices.SortFunc(seqs, func(a, b uint64) int {
		return cmp.Compare((a-first)&track.SeqMask, (b-first)&track.SeqMask)
	})
	for _, seq := range seqs {
		s := p.ring.get(seq)
		if s == nil || !due(seq, s.gen) {
			continue // taken or put anew by the callback
		}
		v := s.val
		p.ring.remove(s)
		each(seq, v)
	}
	if cap(seqs) <= maxScratch {
		p.scratch = seqs
	}
}
