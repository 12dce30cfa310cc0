package acker

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/track"
)

// mapBook is the dumb twin of Ledger: rotating Go maps and Storm's rules.
type mapBook struct {
	buckets  [ledgerBuckets]map[track.Root]*mapEntry // the newest first
	outcomes []Outcome
}

type mapEntry struct {
	val          uint64
	init, failed bool
}

func newMapBook() *mapBook {
	b := &mapBook{}
	for i := range b.buckets {
		b.buckets[i] = map[track.Root]*mapEntry{}
	}
	return b
}

func (b *mapBook) get(root track.Root) *mapEntry {
	for _, m := range b.buckets {
		if e := m[root]; e != nil {
			return e
		}
	}
	return nil
}

func (b *mapBook) remove(root track.Root) {
	for _, m := range b.buckets {
		delete(m, root)
	}
}

func (b *mapBook) put(root track.Root, e *mapEntry) {
	b.remove(root)
	b.buckets[0][root] = e
}

func (b *mapBook) getOrPut(root track.Root) *mapEntry {
	e := b.get(root)
	if e == nil {
		e = &mapEntry{}
		b.put(root, e)
	}
	return e
}

func (b *mapBook) decide(root track.Root, e *mapEntry) {
	switch {
	case !e.init:
	case e.failed:
		b.remove(root)
		b.outcomes = append(b.outcomes, Outcome{root, OutcomeFail})
	case e.val == 0:
		b.remove(root)
		b.outcomes = append(b.outcomes, Outcome{root, OutcomeAck})
	}
}

func (b *mapBook) Apply(batch []Message) {
	for _, m := range batch {
		root := m.Root &^ InitFlag
		e := b.getOrPut(root)
		e.val ^= m.Val
		e.init = e.init || m.Root&InitFlag != 0
		b.decide(root, e)
	}
}

func (b *mapBook) Fail(root track.Root) {
	e := b.getOrPut(root)
	e.failed = true
	b.put(root, e)
	b.decide(root, e)
}

func (b *mapBook) ResetTimeout(root track.Root) {
	e := b.get(root)
	if e == nil {
		return
	}
	b.put(root, e)
	if e.init {
		b.outcomes = append(b.outcomes, Outcome{root, OutcomeResetTimeout})
	}
}

func (b *mapBook) Rotate() {
	copy(b.buckets[1:], b.buckets[:])
	b.buckets[0] = map[track.Root]*mapEntry{}
}

func (b *mapBook) Len() int {
	n := 0
	for _, m := range b.buckets {
		n += len(m)
	}
	return n
}

// genSeq draws numbers that collide in small rings, lie at the ends of the
// range, or are anything at all.
func genSeq() *rapid.Generator[uint64] {
	return rapid.OneOf(
		rapid.Uint64Range(0, 20),
		rapid.Map(rapid.Uint64Range(0, 12), func(n uint64) uint64 { return n * 16 }),
		rapid.Map(rapid.Uint64Range(0, 12), func(n uint64) uint64 { return (n - 6) & track.SeqMask }),
		rapid.Map(rapid.Uint64Range(0, 6), func(n uint64) uint64 { return 1<<47 - 3 + n }),
		rapid.Uint64Range(0, track.SeqMask),
	)
}

func TestLedgerMatchesTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &Ledger{limit: rapid.SampledFrom([]int{1, 2, 16, 256, maxSlots}).Draw(t, "limit")}
		twin := newMapBook()
		roots := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) track.Root {
			return track.MakeRoot(rapid.SampledFrom([]int32{0, 1, 2, track.MaxTask}).Draw(t, "task"), genSeq().Draw(t, "seq"))
		}), 1, 60).Draw(t, "roots")
		root := rapid.SampledFrom(roots)
		message := rapid.Custom(func(t *rapid.T) Message {
			m := Message{Root: root.Draw(t, "root"), Val: rapid.Uint64Range(0, 3).Draw(t, "val")}
			if rapid.Bool().Draw(t, "init") {
				m.Root |= InitFlag
			}
			return m
		})
		t.Repeat(map[string]func(*rapid.T){
			"apply": func(t *rapid.T) {
				batch := rapid.SliceOfN(message, 0, 20).Draw(t, "batch")
				l.Apply(batch)
				twin.Apply(batch)
			},
			"fail": func(t *rapid.T) {
				r := root.Draw(t, "root")
				l.Fail(r)
				twin.Fail(r)
			},
			"reset": func(t *rapid.T) {
				r := root.Draw(t, "root")
				l.ResetTimeout(r)
				twin.ResetTimeout(r)
			},
			"rotate": func(*rapid.T) {
				l.Rotate()
				twin.Rotate()
			},
			"clear": func(*rapid.T) {
				l.ClearOutcomes()
				twin.outcomes = nil
			},
			"": func(t *rapid.T) {
				if !slices.Equal(l.Outcomes(), twin.outcomes) {
					t.Fatalf("outcomes %v, want %v", l.Outcomes(), twin.outcomes)
				}
				if l.Len() != twin.Len() {
					t.Fatalf("%d entries, want %d", l.Len(), twin.Len())
				}
				for _, trees := range l.tasks {
					if trees != nil {
						checkRing(t, &trees.ring)
					}
				}
			},
		})
	})
}

// mapPending is the dumb twin of Pending.
type mapPending map[uint64]pendingEntry

type pendingEntry struct {
	val, rotations int
}

func (p mapPending) rotate() []uint64 {
	var expired []uint64
	for seq, e := range p {
		e.rotations++
		p[seq] = e
		if e.rotations == pendingBuckets {
			expired = append(expired, seq)
		}
	}
	return expired
}

func TestPendingMatchesTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := NewPending[int]()
		p.ring = newRing[int](1, rapid.SampledFrom([]int{1, 2, 16, 256}).Draw(t, "limit"))
		twin := mapPending{}
		seq := rapid.SampledFrom(rapid.SliceOfN(genSeq(), 1, 60).Draw(t, "seqs"))
		n := 0
		newest := uint64(0)
		order := func(seqs []uint64) []uint64 {
			slices.SortFunc(seqs, func(a, b uint64) int {
				return cmp.Compare(signed(a-newest), signed(b-newest))
			})
			return seqs
		}
		remove := func(want []uint64, how func(func(uint64, int))) {
			var got []uint64
			how(func(seq uint64, v int) {
				if e, ok := twin[seq]; !ok || e.val != v {
					t.Fatalf("%d is removed with %d, twin has %v", seq, v, e)
				}
				delete(twin, seq)
				got = append(got, seq)
			})
			if want = order(want); !slices.Equal(got, want) {
				t.Fatalf("removed %v, want %v", got, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				s := seq.Draw(t, "seq")
				if _, ok := twin[s]; !ok {
					newest = s
				}
				n++
				p.Add(s, n)
				twin[s] = pendingEntry{val: n}
			},
			"take": func(t *rapid.T) {
				s := seq.Draw(t, "seq")
				v, ok := p.Take(s)
				e, want := twin[s]
				if v != e.val || ok != want {
					t.Fatalf("Take(%d) = %d, %v, want %d, %v", s, v, ok, e.val, want)
				}
				delete(twin, s)
			},
			"touch": func(t *rapid.T) {
				s := seq.Draw(t, "seq")
				p.Touch(s)
				if e, ok := twin[s]; ok {
					twin[s] = pendingEntry{val: e.val}
				}
			},
			"rotate": func(*rapid.T) { remove(twin.rotate(), p.Rotate) },
			"drain": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") == 0 {
					remove(slices.Collect(maps.Keys(twin)), p.Drain)
				}
			},
			"": func(t *rapid.T) {
				if p.Len() != len(twin) {
					t.Fatalf("%d entries, want %d", p.Len(), len(twin))
				}
				checkRing(t, &p.ring)
			},
		})
	})
}

// signed reads a difference of sequence numbers as a distance with a sign.
func signed(d uint64) int64 { return int64(d<<(64-track.SeqBits)) >> (64 - track.SeqBits) }
