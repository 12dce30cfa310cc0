package shard

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// grown is a table of several shards, what its last checkpoint wrote in full, and
// the ranges.
func grown(tb testing.TB, c *Codec) (*Table, written) {
	tb.Helper()
	t := NewTable(Options{Owner: testOwner, Target: 8 << 10})
	for i := range 2000 {
		put(tb, t, fmt.Sprintf("key %d", i), strings.Repeat("v", i%50))
	}
	return t, checkpoint(tb, t, c, 1, true)
}

func TestPrepareBesideTheTable(t *testing.T) {
	c := testCodec(t, 1)
	from, w := grown(t, c)
	to := NewTable(Options{Owner: testOwner, Target: 8 << 10})
	if err := to.Expect(from.Ranges()...); err != nil {
		t.Fatal(err)
	}
	loaded := make([]*Loaded, len(w.bytes))
	var wg sync.WaitGroup
	for i, b := range w.bytes {
		wg.Go(func() { loaded[i], _ = to.Prepare(open(t, c, b)) })
	}
	// The table is used meanwhile.
	if !to.Missing([]byte("key 1")) || to.Len() != 0 {
		t.Error("something is there already")
	}
	wg.Wait()
	for _, l := range slices.Backward(loaded) {
		if l == nil {
			t.Fatal("a shard could not be made")
		}
		if err := to.Install(l); err != nil {
			t.Fatal(err)
		}
		if err := to.Install(l); err == nil {
			t.Fatal("a shard was installed twice")
		}
	}
	if !maps.Equal(content(from), content(to)) || from.Bytes() != to.Bytes() {
		t.Error("another state came out")
	}
	other := NewTable(Options{Owner: testOwner, Target: 4 << 10})
	if err := other.Expect(from.Ranges()...); err != nil {
		t.Fatal(err)
	}
	l, err := to.Prepare(open(t, c, w.bytes[0]))
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Install(l); err == nil {
		t.Error("a shard was installed into a table with other cells")
	}
	if err := to.Install(l); err == nil {
		t.Error("a shard that is there was installed")
	}
	small := NewTable(Options{Owner: testOwner, Target: 8 << 10, Limit: 100})
	if err := small.Expect(from.Ranges()...); err != nil {
		t.Fatal(err)
	}
	if err := small.Install(l); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a shard above the limit: %v", err)
	}
}

func TestSelectedObjects(t *testing.T) {
	c := testCodec(t, 1)
	table, w := grown(t, c)
	put(t, table, "key 7", "changed")
	f := table.Freeze()
	defer f.Release()
	one := w.refs[0].Range // which did not change
	if one.Has(Hash([]byte("key 7"))) {
		one = w.refs[1].Range
	}
	kinds := func(s Selection) map[Range]Kind {
		s.Version, s.Epoch = 2, 1
		got := make(map[Range]Kind)
		if err := f.Select(c, s, func(r Ref, b []byte) error {
			got[r.Range] = r.Kind
			return Verify(r, b)
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	plain := kinds(Selection{})
	if len(plain) != 1 {
		t.Fatalf("one key was changed, objects of %v", plain)
	}
	if got := kinds(Selection{Bases: map[Range]bool{one: true, Whole(): true}}); len(got) != 2 || got[one] != Base {
		t.Errorf("with a base of %v: %v", one, got)
	}
	if got := kinds(Selection{Full: true, Only: func(r Range) bool { return r == one }}); len(got) != 1 || got[one] != Base {
		t.Errorf("only %v: %v", one, got)
	}
	if got := kinds(Selection{Only: func(r Range) bool { return r == one }}); len(got) != 0 {
		t.Errorf("only %v, which did not change: %v", one, got)
	}
}

func TestStartEmpty(t *testing.T) {
	c := testCodec(t, 1)
	from, w := grown(t, c)
	to := NewTable(Options{Owner: testOwner, Target: 8 << 10})
	if err := to.Expect(from.Ranges()...); err != nil {
		t.Fatal(err)
	}
	lost := w.refs[0].Range
	if err := to.StartEmpty(lost); err != nil {
		t.Fatal(err)
	}
	if err := to.StartEmpty(lost); err == nil {
		t.Error("a shard that is there was started empty")
	}
	for _, b := range w.bytes[1:] {
		if err := to.Load(open(t, c, b)); err != nil {
			t.Fatal(err)
		}
	}
	want := content(from)
	maps.DeleteFunc(want, func(k, _ string) bool { return lost.Has(Hash([]byte(k))) })
	if !maps.Equal(content(to), want) {
		t.Error("another state came out")
	}
	f := to.Freeze()
	next := write(t, f, c, 2, false)
	f.Release()
	if len(next.refs) != 1 || next.refs[0].Range != lost || next.refs[0].Kind != Base || next.refs[0].Size != 0 {
		t.Errorf("the next checkpoint writes %+v, want an empty base of %v", next.refs, lost)
	}
}

func TestFoldedManifests(t *testing.T) {
	ref := func(i int, v Version, k Kind, size int64) Ref {
		return Ref{
			ObjectID: ObjectID{Owner: testOwner, Range: RangeOf(i, 4), Version: v, Epoch: 1, Kind: k},
			Size:     size, Stored: size + headerSize, Holders: []NodeID{"a"},
		}
	}
	m := &Manifest{Owner: testOwner, Version: 4, Epoch: 1, Replicas: 1, Shards: [][]Ref{
		{ref(0, 1, Base, 100), ref(0, 2, Delta, 10), ref(0, 3, Delta, 10), ref(0, 4, Delta, 10)},
		{ref(1, 1, Base, 100), ref(1, 4, Delta, 10)},
		{ref(2, 1, Base, 100)},
	}}
	before, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	foreign := ref(1, 4, Base, 77)
	foreign.Epoch = 2
	folded, used := m.Folded([]Ref{
		ref(0, 3, Base, 120), // all but the last
		ref(2, 1, Base, 99),  // is the base itself
		ref(3, 1, Base, 5),   // of no chain
		foreign,              // of another epoch
		ref(1, 4, Delta, 7),  // no base
		{ObjectID: ObjectID{Range: Whole(), Kind: Base}}, // of nobody
	})
	if !slices.Equal(used, []Range{RangeOf(0, 4)}) {
		t.Errorf("used %v", used)
	}
	next, err := folded.Next(5, 1, 0, []Ref{ref(0, 5, Delta, 1), ref(1, 5, Delta, 1)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, chain := range next.Shards {
		line := ""
		for _, r := range chain {
			line += fmt.Sprintf("%v%d ", r.Kind, r.Version)
		}
		got = append(got, line)
	}
	if want := []string{"base3 delta4 delta5 ", "base1 delta4 delta5 ", "base1 "}; !slices.Equal(got, want) {
		t.Errorf("chains %q, want %q", got, want)
	}
	if after, err := m.Encode(); err != nil || string(after) != string(before) {
		t.Error("the manifest was changed")
	}
}
