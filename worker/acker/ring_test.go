package acker

import (
	"slices"
	"testing"

	"github.com/stormring/stormring/internal/track"
)

// checkRing verifies what must always hold in a ring.
func checkRing[T any](t fataler, r *ring[T]) {
	t.Helper()
	n := len(r.slots)
	if n == 0 || n&(n-1) != 0 || n > r.limit || r.mask != uint64(n-1) {
		t.Fatalf("ring of %d slots, mask %x, limit %d", n, r.mask, r.limit)
	}
	live := 0
	for i := range r.slots {
		s := &r.slots[i]
		if s.key == 0 {
			if s.mark != 0 {
				t.Fatalf("empty slot %d is marked %x", i, s.mark)
			}
			continue
		}
		live++
		if s.key&r.mask != uint64(i) || s.key&used == 0 {
			t.Fatalf("key %x is in slot %d of %d", s.key, i, n)
		}
		if _, twice := r.over[s.seq()]; twice {
			t.Fatalf("key %x is in the ring and in the overflow", s.key)
		}
	}
	if live != r.live {
		t.Fatalf("%d occupied slots, counted %d", live, r.live)
	}
	for seq, s := range r.over {
		if s.seq() != seq {
			t.Fatalf("overflow has key %x under %x", s.key, seq)
		}
		if !r.slots[seq&r.mask].spilled {
			t.Fatalf("slot of %x does not point to the overflow", seq)
		}
	}
}

// fataler is what testing.T and rapid.T have in common here.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func TestRingGrowsOnlyWhenCrowded(t *testing.T) {
	tests := []struct {
		name   string
		stride uint64 // between keys
		window int    // keys live at a time
		want   int    // slots in the end
	}{
		{"few", 1, 10, 64},
		{"all that fit", 1, 64, 64},
		{"one more than fit", 1, 65, 128},
		{"many", 1, 5000, 8192},
		{"at the limit", 1, 1 << 14, 1 << 14},
		{"more than the limit", 1, 40000, 1 << 14},
		{"every eighth", 8, 1000, 8192},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRing[int](startSlots, 1<<14)
			key := func(i int) uint64 { return uint64(i) * tt.stride }
			for i := range 5 * tt.window {
				if old := i - tt.window; old >= 0 {
					s := r.get(key(old))
					if s == nil || s.val != old {
						t.Fatalf("key %d gives %v", old, s)
					}
					r.remove(s)
					if r.get(key(old)) != nil {
						t.Fatalf("key %d is there after its removal", old)
					}
				}
				r.claim(key(i), 0).val = i
			}
			checkRing(t, &r)
			if got := len(r.slots); got != tt.want {
				t.Errorf("%d slots, want %d", got, tt.want)
			}
			if r.len() != tt.window {
				t.Errorf("%d entries, want %d", r.len(), tt.window)
			}
		})
	}
}

// One acker task of n sees chunks of the numbers.
func TestRingFitsShareOfOneAcker(t *testing.T) {
	const ackers, window = 8, 64 * 1024
	l := NewLedger()
	own := func(seq uint64) bool { return Choose(track.MakeRoot(6, seq), ackers) == 3 }
	for seq := range uint64(5 * window) {
		if own(seq) {
			l.Apply([]Message{{Root: track.MakeRoot(6, seq) | InitFlag, Val: 1}})
		}
		if seq >= window && own(seq-window) {
			l.Apply([]Message{{Root: track.MakeRoot(6, seq-window), Val: 1}})
		}
	}
	r := &l.tasks[6].ring
	checkRing(t, r)
	// Chunks spread so evenly that twice the share is enough.
	if got := len(r.slots); got != 2*window/ackers {
		t.Errorf("%d slots for one of %d shares in a window of %d", got, ackers, window)
	}
	if got := len(r.over); got > len(r.slots)/16 {
		t.Errorf("%d entries in the overflow", got)
	}
}

// One tree that is stuck must not make the ring as long as its age.
func TestStuckTreeWhileTenMillionPass(t *testing.T) {
	trees := uint64(10_000_000)
	if raceEnabled {
		trees /= 20
	}
	const stuck, inflight = 20, 30
	const first = 1<<48 - 1_000 // wraps on the way
	l := NewLedger()
	p := NewPending[uint64]()
	acked := 0
	for i := range trees {
		seq := uint64(first) + i
		batch := [2]Message{{Root: track.MakeRoot(1, seq) | InitFlag, Val: seq | 1}}
		p.Add(seq, i)
		n := 1
		if old := seq - inflight; i >= inflight && i-inflight != stuck {
			batch[1] = Message{Root: track.MakeRoot(1, old), Val: old | 1}
			n = 2
			if v, ok := p.Take(old); !ok || v != i-inflight {
				t.Fatalf("Take(%d) = %d, %v", old, v, ok)
			}
		}
		l.Apply(batch[:n])
		acked += len(l.Outcomes())
		l.ClearOutcomes()
	}
	r := &l.tasks[1].ring
	if len(r.slots) != startSlots || len(p.ring.slots) != startSlots {
		t.Errorf("rings grew to %d and %d slots, want %d", len(r.slots), len(p.ring.slots), startSlots)
	}
	if want := int(trees) - inflight - 1; acked != want {
		t.Errorf("%d trees acked, want %d", acked, want)
	}
	if l.Len() != inflight+1 || p.Len() != inflight+1 {
		t.Errorf("%d and %d entries left, want %d", l.Len(), p.Len(), inflight+1)
	}
	if v, ok := p.Take(first + stuck); !ok || v != stuck {
		t.Errorf("the stuck tree gives %d, %v", v, ok)
	}
	l.Apply([]Message{{Root: track.MakeRoot(1, first+stuck), Val: (first + stuck) | 1}})
	if got := l.Outcomes(); len(got) != 1 || got[0].Kind != OutcomeAck || got[0].Root.Seq() != (first+stuck)&track.SeqMask {
		t.Errorf("the stuck tree's outcome is %v", got)
	}
}

func TestRingDropsOldestStrays(t *testing.T) {
	const keep = 1 // mark of what must stay
	r := newRing[int](4, 4)
	r.strayLimit = 3
	r.evictable = func(s *slot[int]) bool { return s.mark&keep == 0 }
	for i := range uint64(10) {
		s := r.claim(4*i, 0)
		if i == 2 {
			s.mark = keep
		}
	}
	checkRing(t, &r)
	var have []uint64
	for i := range uint64(10) {
		if r.get(4*i) != nil {
			have = append(have, i)
		}
	}
	// 9 is in the ring, 2 is kept, and the last three strays are.
	if want := []uint64{2, 6, 7, 8, 9}; !slices.Equal(have, want) {
		t.Errorf("entries %v are left, want %v", have, want)
	}
	// An entry that stopped being a stray stays.
	r.get(4 * 6).mark = keep
	r.claim(4*10, 0)
	if r.get(4*6) == nil || r.get(4*7) == nil {
		t.Error("an entry was dropped that is no stray or not the oldest")
	}
	for s := range r.all() {
		r.remove(s)
	}
	r.trim()
	if r.len() != 0 || r.over != nil || r.strays != nil {
		t.Errorf("%d entries, overflow %v, strays %v after all were removed", r.len(), r.over, r.strays)
	}
}

func TestRingWalk(t *testing.T) {
	r := newRing[int](8, 8)
	for i := range uint64(20) {
		r.claim(i*3, 0)
	}
	seen := map[uint64]bool{}
	for s := range r.all() {
		seen[s.seq()] = true
	}
	if len(seen) != 20 {
		t.Errorf("walk met %d entries of 20", len(seen))
	}
	n := 0
	for range r.all() {
		if n++; n == 3 {
			break
		}
	}
	for range r.all() {
		if n++; n == 3+15 {
			break // within the overflow
		}
	}
	if n != 18 {
		t.Errorf("walks did not stop when told, %d steps", n)
	}
}
