package acker

import (
	"fmt"
	"testing"

	"github.com/stormring/stormring/internal/track"
)

// book is what the benchmarks compare: a Ledger and its twin of Go maps.
type book interface {
	Apply(batch []Message)
	Outcomes() []Outcome
	ClearOutcomes()
}

// mapLedger is the textbook ledger, for scale: a Go map by root.
type mapLedger struct {
	trees    map[track.Root]mapTree
	outcomes []Outcome
}

type mapTree struct {
	val  uint64
	init bool
}

func (l *mapLedger) Apply(batch []Message) {
	for _, m := range batch {
		root := m.Root &^ InitFlag
		e := l.trees[root]
		e.val ^= m.Val
		e.init = e.init || m.Root&InitFlag != 0
		if e.init && e.val == 0 {
			delete(l.trees, root)
			l.outcomes = append(l.outcomes, Outcome{Root: root, Kind: OutcomeAck})
			continue
		}
		l.trees[root] = e
	}
}

func (l *mapLedger) Outcomes() []Outcome { return l.outcomes }
func (l *mapLedger) ClearOutcomes()      { l.outcomes = l.outcomes[:0] }

// edge is a random-looking number of a tree, so that no table of edges has to
// be kept in memory beside the one that is measured.
func edge(seq uint64) uint64 {
	x := (seq + 1) * golden
	return (x ^ x>>29) * 0xBF58476D1CE4E5B9
}

// noBook shows what the benchmark itself costs.
type noBook struct{}

func (noBook) Apply([]Message)     {}
func (noBook) Outcomes() []Outcome { return nil }
func (noBook) ClearOutcomes()      {}

// One op is one tree of a spout and two bolts: an init and two acks, in
// batches of about 100 messages, inflight trees open at any time. Making the
// messages is part of it: see none.
func BenchmarkLedgerTree(b *testing.B) {
	books := []struct {
		name string
		make func() book
	}{
		{"none", func() book { return noBook{} }},
		{"ring", func() book { return NewLedger() }},
		{"gomap", func() book { return &mapLedger{trees: make(map[track.Root]mapTree)} }},
	}
	for _, inflight := range []uint64{1e3, 1e5, 1e6} {
		for _, bk := range books {
			b.Run(fmt.Sprintf("%s/inflight=%d", bk.name, inflight), func(b *testing.B) {
				benchBook(b, bk.make(), inflight)
			})
		}
	}
}

func benchBook(b *testing.B, l book, inflight uint64) {
	b.Helper()
	const firstSeq = 1<<seqStart - 1000
	batch := make([]Message, 0, 128)
	acked := uint64(0)
	flush := func() {
		l.Apply(batch)
		batch = batch[:0]
		acked += uint64(len(l.Outcomes()))
		l.ClearOutcomes()
	}
	tree := func(i uint64) {
		batch = append(batch, Message{Root: track.MakeRoot(3, firstSeq+i) | InitFlag, Val: edge(i)})
		if i >= inflight/2 {
			j := i - inflight/2
			batch = append(batch, Message{Root: track.MakeRoot(3, firstSeq+j), Val: edge(j) ^ edge(^j)})
		}
		if i >= inflight {
			j := i - inflight
			batch = append(batch, Message{Root: track.MakeRoot(3, firstSeq+j), Val: edge(^j)})
		}
		if len(batch) > 96 {
			flush()
		}
	}
	next := uint64(0)
	for ; next < 2*inflight; next++ {
		tree(next)
	}
	b.ReportAllocs()
	for b.Loop() {
		tree(next)
		next++
	}
	flush()
	if want := next - inflight; acked != want && l != (noBook{}) {
		b.Fatalf("%d trees were acked, want %d", acked, want)
	}
}

// seqStart places the benchmarks' numbers somewhere in the 48-bit range.
const seqStart = 40

// One op is one Add and one Take, inflight trees open at any time.
func BenchmarkPending(b *testing.B) {
	type entry struct {
		id      uint64
		started int64
		stream  *string
	}
	value := entry{id: 1, started: 2, stream: new("default")}
	for _, inflight := range []uint64{1e3, 1e5, 1e6} {
		b.Run(fmt.Sprintf("ring/inflight=%d", inflight), func(b *testing.B) {
			p := NewPending[entry]()
			next := uint64(1 << seqStart)
			for range 2 * inflight {
				p.Add(next, value)
				p.Take(next - inflight)
				next++
			}
			b.ReportAllocs()
			for b.Loop() {
				p.Add(next, value)
				if v, ok := p.Take(next - inflight); !ok || v != value {
					b.Fatal("entry lost")
				}
				next++
			}
		})
		b.Run(fmt.Sprintf("gomap/inflight=%d", inflight), func(b *testing.B) {
			p := make(map[uint64]entry)
			next := uint64(1 << seqStart)
			for range 2 * inflight {
				p[next] = value
				delete(p, next-inflight)
				next++
			}
			b.ReportAllocs()
			for b.Loop() {
				p[next] = value
				if v, ok := p[next-inflight]; !ok || v != value {
					b.Fatal("entry lost")
				}
				delete(p, next-inflight)
				next++
			}
		})
	}
}

// One op is a rotation with inflight open trees, none of them old.
func BenchmarkLedgerRotate(b *testing.B) {
	for _, inflight := range []uint64{1e3, 1e6} {
		b.Run(fmt.Sprintf("inflight=%d", inflight), func(b *testing.B) {
			l := NewLedger()
			for i := range inflight {
				l.Apply([]Message{{Root: track.MakeRoot(3, i) | InitFlag, Val: 1}})
			}
			b.ReportAllocs()
			for b.Loop() {
				for s := range l.tasks[3].all() {
					s.gen = l.gen // keeps them young
				}
				l.Rotate()
			}
			if uint64(l.Len()) != inflight {
				b.Fatalf("%d entries, want %d", l.Len(), inflight)
			}
		})
	}
}

func BenchmarkChoose(b *testing.B) {
	sum, seq := 0, uint64(1)
	for b.Loop() {
		sum += Choose(track.MakeRoot(3, seq), 7)
		seq++
	}
	if sum == 0 {
		b.Fatal("every tree went to acker 0")
	}
}
