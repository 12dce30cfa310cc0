package shard

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestNeedsFold(t *testing.T) {
	// many is a chain of n with deltas of so many bytes behind a base of 800.
	many := func(n int, each int64) []int64 {
		return append([]int64{800}, slices.Repeat([]int64{each}, n-1)...)
	}
	for _, c := range []struct {
		sizes          []int64
		needs, overdue bool
	}{
		{nil, false, false},
		{[]int64{0}, false, false},
		{[]int64{0, 1}, true, true},
		{[]int64{100, 100, 100}, false, false},
		{[]int64{100, 100, 101}, true, false},
		{[]int64{100, 300, 100}, true, false},
		{[]int64{100, 300, 101}, true, true},
		{many(MaxChain, 100), false, false},
		{many(MaxChain+1, 12), false, false}, // 96 of 100
		{many(MaxChain+1, 13), true, false},
		{many(LongestChain, 3), false, false},
		{many(LongestChain, 4), true, false},
		{many(LongestChain+1, 0), true, false},
		{many(2*LongestChain, 0), true, false},
		{many(2*LongestChain+1, 0), true, true},
	} {
		chain := make([]Ref, len(c.sizes))
		for i, s := range c.sizes {
			chain[i].Size = s
		}
		if got := NeedsFold(chain); got != c.needs {
			t.Errorf("chain of %v needs a fold: %v", c.sizes, got)
		}
		if got := Overdue(chain); got != c.overdue {
			t.Errorf("chain of %v is overdue: %v", c.sizes, got)
		}
	}
}

func TestChainsThatCannotBe(t *testing.T) {
	c := testCodec(t, 0)
	w := sample(t, c)
	base, delta := open(t, c, w.bytes[0]), open(t, c, w.bytes[1])
	narrow, same := *delta, *delta
	narrow.Range = RangeOf(0, 2)
	same.Version = 5
	for _, d := range []struct {
		chain []*Object
		says  string
	}{
		{nil, "a chain without a base"},
		{[]*Object{delta}, "a chain that starts with a delta of slots 0-16383 version 6"},
		{[]*Object{base, base}, "a chain with a second base"},
		{[]*Object{base, &narrow}, "their slots differ"},
		{[]*Object{base, &same}, "a chain with delta of slots 0-16383 version 5 after base"},
		{[]*Object{base, delta, delta}, "version 6 after delta"},
	} {
		if _, err := c.Fold(d.chain); err == nil || !strings.Contains(err.Error(), d.says) {
			t.Errorf("fold: %v, want %q", err, d.says)
		}
		if _, err := c.FoldMany([][]*Object{d.chain}); err == nil {
			t.Errorf("bundled: %s", d.says)
		}
		if err := NewTable(Options{Owner: testOwner}).Load(d.chain...); err == nil || !strings.Contains(err.Error(), d.says) {
			t.Errorf("load: %v, want %q", err, d.says)
		}
	}
}

func TestFoldOfOneIsItself(t *testing.T) {
	c := testCodec(t, 1)
	stored := sample(t, c).bytes[0]
	if got, err := c.Fold([]*Object{open(t, c, stored)}); err != nil || !bytes.Equal(got, stored) {
		t.Errorf("%v, %d bytes instead of %d", err, len(got), len(stored))
	}
}

// bundled is a table of several shards, and the bundle of all of them.
func bundled(tb testing.TB, c *Codec) (*Table, []byte) {
	tb.Helper()
	t := NewTable(Options{Owner: testOwner, Target: 1 << 10})
	m := &Manifest{Owner: testOwner}
	store := make(map[ObjectID][]byte)
	for v := range Version(3) {
		for i := range 300 {
			if v == 0 || i%7 == int(v) {
				put(tb, t, fmt.Sprintf("key %d", i), fmt.Sprintf("value %d of %d", v, i))
			}
		}
		w := checkpoint(tb, t, c, v+1, false)
		for i, r := range w.refs {
			store[r.ObjectID] = w.bytes[i]
		}
		var err error
		if m, err = m.Next(v+1, 1, 0, w.refs); err != nil {
			tb.Fatal(err)
		}
	}
	var chains [][]*Object
	for _, refs := range m.Shards {
		var chain []*Object
		for _, r := range refs {
			chain = append(chain, open(tb, c, store[r.ObjectID]))
		}
		chains = append(chains, chain)
	}
	b, err := c.FoldMany(chains)
	if err != nil {
		tb.Fatal(err)
	}
	return t, b
}

func TestBundles(t *testing.T) {
	for _, level := range []int{0, 1} {
		c := testCodec(t, level)
		table, b := bundled(t, c)
		objects, err := c.OpenBundle(b)
		if err != nil {
			t.Fatal(err)
		}
		if len(objects) < 4 || len(objects) != len(table.Ranges()) {
			t.Fatalf("level %d: %d objects of %d shards", level, len(objects), len(table.Ranges()))
		}
		again := NewTable(Options{Owner: testOwner})
		if err := again.Expect(table.Ranges()...); err != nil {
			t.Fatal(err)
		}
		if err := again.LoadBundle(objects); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(content(again), content(table)) {
			t.Errorf("level %d: %d entries, not those of before", level, again.Len())
		}
		if err := again.LoadBundle(objects[:1]); err == nil {
			t.Error("loaded twice")
		}
		var chains [][]*Object
		for _, o := range objects {
			chains = append(chains, []*Object{o})
		}
		if twice, err := c.FoldMany(chains); err != nil || !bytes.Equal(twice, b) {
			t.Errorf("level %d: a bundle of a bundle differs: %v", level, err)
		}
		// Damage is found, or gives other entries, but never panics.
		for at := range b {
			bad := bytes.Clone(b)
			bad[at] ^= 0x10
			if objects, err := c.OpenBundle(bad); err == nil {
				for _, o := range objects {
					_ = o.Check()
				}
			} else if !errors.Is(err, ErrDamaged) && !strings.Contains(err.Error(), "format version") && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("byte %d: %v", at, err)
			}
			if _, err := c.OpenBundle(b[:at]); err == nil {
				t.Fatalf("%d bytes of %d open", at, len(b))
			}
		}
		if _, err := c.OpenBundle(append(slices.Clone(b), 0)); !errors.Is(err, ErrDamaged) {
			t.Errorf("level %d: a byte more: %v", level, err)
		}
	}
}

func FuzzOpenBundle(f *testing.F) {
	c, err := NewCodec(1, 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	for _, level := range []int{0, 1} {
		_, b := bundled(f, testCodec(f, level))
		f.Add(b)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		objects, _ := c.OpenBundle(b)
		for _, o := range objects {
			_ = o.Check()
		}
	})
}
