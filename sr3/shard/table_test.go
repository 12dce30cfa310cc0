package shard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"testing"
)

func mustPanic(t *testing.T, says string, f func()) {
	t.Helper()
	defer func() {
		if r := fmt.Sprint(recover()); !strings.Contains(r, says) {
			t.Errorf("panic %q, want %q", r, says)
		}
	}()
	f()
}

func TestLimits(t *testing.T) {
	table := NewTable(Options{Owner: testOwner, Limit: 100})
	put(t, table, "a", strings.Repeat("x", 33)) // 50 bytes
	put(t, table, "b", strings.Repeat("x", 33))
	if table.Bytes() != 100 {
		t.Fatalf("%d bytes", table.Bytes())
	}
	err := table.Put([]byte("c"), nil)
	want := "put into words-1-1700000000/count/7: the state would have 117 bytes, more than its limit of 100; raise the limit, give the component more tasks, or delete what is old: too large"
	if !errors.Is(err, ErrTooLarge) || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if err := table.Put([]byte("a"), make([]byte, 34)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a longer value: %v", err)
	}
	put(t, table, "a", strings.Repeat("y", 33))
	put(t, table, "a", "z")
	put(t, table, "c", "") // 18 + 50 + 17
	del(t, table, "b")
	if table.Bytes() != 35 || table.Len() != 2 {
		t.Errorf("%d entries, %d bytes", table.Len(), table.Bytes())
	}
	if err := table.Put(make([]byte, MaxKey+1), nil); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "a key of 16777216") {
		t.Error(err)
	}
	c := testCodec(t, 0)
	large := NewTable(Options{Owner: testOwner})
	put(t, large, "a", strings.Repeat("x", 200))
	o := open(t, c, checkpoint(t, large, c, 1, false).bytes[0])
	small := NewTable(Options{Owner: testOwner, Limit: 100})
	if err := small.Expect(o.Range); err != nil {
		t.Fatal(err)
	}
	if err := small.Load(o); !errors.Is(err, ErrTooLarge) || !small.Missing([]byte("a")) || small.Bytes() != 0 {
		t.Errorf("load above the limit: %v", err)
	}
}

func TestMissingShards(t *testing.T) {
	c := testCodec(t, 0)
	source := NewTable(Options{Owner: testOwner})
	put(t, source, "storm", "ring") // slot 4396
	whole := open(t, c, checkpoint(t, source, c, 1, false).bytes[0])

	table := NewTable(Options{Owner: testOwner})
	r := RangeOf(1, 4)
	if err := table.Expect(r); err != nil {
		t.Fatal(err)
	}
	if got, want := table.Ranges(), []Range{RangeOf(0, 4), RangeOf(1, 4), RangeOf(1, 2)}; !slices.Equal(got, want) {
		t.Errorf("ranges %v, want %v", got, want)
	}
	key := []byte("storm")
	if got, ok := table.MissingRange(key); !ok || got != r || !table.Missing(key) || !slices.Equal(table.MissingRanges(), []Range{r}) {
		t.Errorf("missing %v", got)
	}
	mustPanic(t, "get of words-1-1700000000/count/7: slots 4096-8191 are not loaded yet", func() { table.Get(key) })
	mustPanic(t, "slots 4096-8191 are not loaded yet", func() {
		for range table.All(nil) {
			continue
		}
	})
	if err := table.Put(key, nil); !errors.Is(err, ErrMissing) || err.Error() != "put into words-1-1700000000/count/7: slots 4096-8191 are not loaded yet" {
		t.Error(err)
	}
	if err := table.Delete(key); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	put(t, table, "", "elsewhere") // slot 15313
	if f := table.Freeze(); len(f.shards) != 2 || len(write(t, f, c, 2, true).refs) != 1 {
		t.Error("a missing shard was frozen")
	}
	table.Rollback()
	if err := table.Load(whole); err == nil || !strings.Contains(err.Error(), "no shard of slots 0-16383 is missing") {
		t.Errorf("another range loads: %v", err)
	}
	for says, ranges := range map[string][]Range{
		"in use already":   {},
		"must be a power":  {{0, 5}},
		"overlap":          {RangeOf(0, 2), RangeOf(0, 4)},
		"are out of order": {RangeOf(1, 2), RangeOf(0, 2)},
	} {
		n := NewTable(Options{Owner: testOwner})
		if len(ranges) == 0 {
			n = table
		}
		if err := n.Expect(ranges...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestCommitNeedsTheNewestFreeze(t *testing.T) {
	table := NewTable(Options{Owner: testOwner})
	put(t, table, "a", "1")
	f := table.Freeze()
	g := table.Freeze()
	for _, bad := range []*Frozen{nil, f} {
		if err := table.Commit(bad); err == nil {
			t.Error("committed an old freeze")
		}
	}
	if err := table.Commit(g); err != nil {
		t.Error(err)
	}
	if err := table.Commit(g); err == nil {
		t.Error("committed twice")
	}
	h := table.Freeze()
	table.Rollback()
	if err := table.Commit(h); err == nil {
		t.Error("committed what was rolled back")
	}
	h.Release()
	h.Release()
	if err := h.Objects(testCodec(t, 0), 1, 1, false, nil); err == nil {
		t.Error("read after release")
	}
	if table.open != 2 {
		t.Errorf("%d open", table.open)
	}
}

func TestErrorOfYieldEndsObjects(t *testing.T) {
	table := NewTable(Options{Owner: testOwner})
	put(t, table, "a", "1")
	full := errors.New("disk full")
	if err := table.Freeze().Objects(testCodec(t, 0), 1, 1, false, func(Ref, []byte) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
}

// What a checkpoint writes, and of which kind.
func TestKindsOfObjects(t *testing.T) {
	c := testCodec(t, 0)
	table := NewTable(Options{Owner: testOwner})
	kinds := func(v Version, full bool) string {
		var s []string
		for _, r := range checkpoint(t, table, c, v, full).refs {
			s = append(s, r.Kind.String())
		}
		return strings.Join(s, " ")
	}
	fill := func(n int, value string) {
		for i := range n {
			put(t, table, fmt.Sprint("key ", i), value)
		}
	}
	steps := []struct {
		does string
		do   func()
		full bool
		want string
	}{
		{"nothing yet", func() {}, true, ""},
		{"the first", func() { fill(100, "1") }, false, "base"},
		{"nothing new", func() {}, false, ""},
		{"half", func() { fill(50, "2") }, false, "delta"},
		{"more than half", func() { fill(51, "3") }, false, "base"},
		{"one", func() { fill(1, "4") }, false, "delta"},
		{"one, in full", func() { fill(1, "5") }, true, "base"},
		{"nothing, in full", func() {}, true, "base"},
		{"rolled back", func() { fill(9, "6"); table.Freeze().Release(); table.Rollback() }, false, ""},
		{"after a failure", func() { fill(9, "7"); table.Freeze().Release(); fill(10, "8") }, false, "delta"},
		{"a deletion", func() { del(t, table, "key 3") }, false, "delta"},
		{"all gone", func() {
			for i := range 100 {
				del(t, table, fmt.Sprint("key ", i))
			}
		}, false, "base"},
	}
	for i, s := range steps {
		s.do()
		if got := kinds(Version(i+1), s.full); got != s.want {
			t.Errorf("%s: %q instead of %q", s.does, got, s.want)
		}
	}
}

// collision is a key of 64 bytes whose hash is the same for all i.
func collision(i uint64) []byte {
	const p1, p2 = 11400714785074694791, 14029467366897019727
	inverse := uint64(1)
	for range 6 { // Newton: the inverse of p2 modulo 2^64
		inverse *= 2 - p2*inverse
	}
	start := uint64(p1)
	start += p2
	lane := bits.RotateLeft64(start+i*p2, 31) * p1
	key := make([]byte, 64)
	binary.LittleEndian.PutUint64(key, i)
	binary.LittleEndian.PutUint64(key[32:], -lane*inverse)
	return key
}

// Different keys with one hash are rare unless somebody makes them.
func TestKeysWithOneHash(t *testing.T) {
	const n = 300
	c := testCodec(t, 0)
	table := NewTable(Options{Owner: testOwner, Target: 2 << 10})
	want := make(map[string]string)
	set := func(i uint64, v string) {
		if Hash(collision(i)) != Hash(collision(0)) {
			t.Fatal("hashes differ")
		}
		put(t, table, string(collision(i)), v)
		want[string(collision(i))] = v
	}
	for i := range uint64(n) {
		set(i, "first")
	}
	chain := []*Object{}
	keep := func(v Version, full bool) {
		for _, b := range checkpoint(t, table, c, v, full).bytes {
			if o := open(t, c, b); o.Entries > 0 {
				chain = append(chain, o)
			}
		}
	}
	keep(1, false)
	for i := range uint64(20) {
		set(i*3, "second")
		del(t, table, string(collision(i*3+1)))
		delete(want, string(collision(i*3+1)))
	}
	keep(2, false)
	if !maps.Equal(content(table), want) {
		t.Error("the table differs")
	}
	if len(chain) != 2 || chain[1].Kind != Delta {
		t.Fatalf("chain %v", chain)
	}
	folded, err := c.Fold(chain)
	if err != nil {
		t.Fatal(err)
	}
	for _, objects := range [][]*Object{chain, {open(t, c, folded)}} {
		again := NewTable(Options{Owner: testOwner})
		if err := again.Expect(objects[0].Range); err != nil {
			t.Fatal(err)
		}
		if err := again.Load(objects...); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(content(again), want) {
			t.Error("what was loaded differs")
		}
	}
	table.Rollback()
	if table.Len() != len(want) {
		t.Errorf("%d entries", table.Len())
	}
}

// Memory stays bounded however often values are replaced by longer and shorter
// ones, with commits and without.
func TestGarbageIsCollected(t *testing.T) {
	for _, commits := range []bool{false, true} {
		table := NewTable(Options{Owner: testOwner, Target: 64 << 10})
		value := make([]byte, 120)
		for i := range 60_000 {
			put(t, table, fmt.Sprint(i%2000), string(value[:60+i%60]))
			if commits && i%5000 == 0 {
				f := table.Freeze()
				f.Release()
				if err := table.Commit(f); err != nil {
					t.Fatal(err)
				}
			}
		}
		// Cells are tiny here; those of the usual size take less.
		if m, b := table.Memory(), table.Bytes(); m > 6*b {
			t.Errorf("commits %v: %d bytes of memory for %d", commits, m, b)
		}
	}
}

func TestPutsInPlaceAllocateNothing(t *testing.T) {
	table := NewTable(Options{Owner: testOwner})
	key, value := []byte("key"), make([]byte, 8)
	put(t, table, "key", string(value))
	if n := testing.AllocsPerRun(100, func() {
		value[0]++
		if err := table.Put(key, value); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a put", n)
	}
	if len(table.cells[0].log) != headerSize+entrySize(3, 8) {
		t.Errorf("log of %d bytes", len(table.cells[0].log))
	}
	got, _ := table.Get(key)
	if !bytes.Equal(got, value) || cap(got) != len(got) {
		t.Errorf("%v with room for %d", got, cap(got))
	}
}

// A loaded object's bytes stay as they are.
func TestLoadedBytesAreNotWritten(t *testing.T) {
	c := testCodec(t, 0)
	w := sample(t, c)
	stored := slices.Grow(bytes.Clone(w.bytes[0]), 100)
	before := bytes.Clone(stored[:cap(stored)])
	table := NewTable(Options{Owner: testOwner})
	if err := table.Expect(Whole()); err != nil {
		t.Fatal(err)
	}
	if err := table.Load(open(t, c, stored)); err != nil {
		t.Fatal(err)
	}
	if &table.cells[0].log[0] != &stored[0] {
		t.Error("the bytes were copied")
	}
	put(t, table, "k", "longer than it was before")
	put(t, table, "kk", strings.Repeat("VALUE ", 2))
	del(t, table, "kkk")
	if !bytes.Equal(stored[:cap(stored)], before) {
		t.Error("the bytes were changed")
	}
	table.Rollback()
	if v, _ := table.Get([]byte("kk")); string(v) != "value value " {
		t.Errorf("after the rollback %q", v)
	}
}
