package shard

import (
	"testing"

	"pgregory.net/rapid"
)

// Stored objects depend on these numbers for ever.
func TestNumbersFixedForEver(t *testing.T) {
	for key, want := range map[string]struct {
		hash uint64
		slot Slot
	}{
		"":      {0xef46db3751d8e999, 15313},
		"storm": {0x44b19917bfb47b34, 4396},
	} {
		if h := Hash([]byte(key)); h != want.hash || SlotOf(h) != want.slot {
			t.Errorf("%q: hash %#x, slot %d, want %#x and %d", key, h, SlotOf(h), want.hash, want.slot)
		}
	}
	o := Owner{"words-1-1700000000", "count", 7}
	if o.String() != "words-1-1700000000/count/7" || o.Hash() != 0x71b0aa9f9c424fe9 || o.ShardHash(1024) != 0xa97ac1db4b566e1c {
		t.Errorf("owner %v, hash %#x, shard %#x", o, o.Hash(), o.ShardHash(1024))
	}
	if (Owner{"a", "bc", 1}).Hash() == (Owner{"ab", "c", 1}).Hash() {
		t.Error("two owners look alike")
	}
}

func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := 1 << rapid.IntRange(0, maxShardBits).Draw(t, "bits")
		hash := rapid.Uint64().Draw(t, "hash")
		i := int(SlotOf(hash)) / (NumSlots / n)
		r := RangeOf(i, n)
		if r.Check() != nil || !r.Has(hash) || !Whole().Covers(r) || !r.Parent().Covers(r) || r.Parent().Check() != nil {
			t.Fatalf("range %v of slot %d", r, SlotOf(hash))
		}
		if other := RangeOf((i+1)%n, n); n > 1 && (other.Has(hash) || other.Overlaps(r)) {
			t.Fatalf("%v and %v", r, other)
		}
		if !r.CanSplit() {
			if n != MaxShards {
				t.Fatalf("%v cannot split", r)
			}
			return
		}
		left, right := r.Halves()
		if left != RangeOf(2*i, 2*n) || right != RangeOf(2*i+1, 2*n) || left.Parent() != r || right.Parent() != r || left.Has(hash) == right.Has(hash) {
			t.Fatalf("%v splits into %v and %v", r, left, right)
		}
	})
}

func TestRangesThatCannotBe(t *testing.T) {
	for _, r := range []Range{{0, 0}, {0, 8}, {0, 48}, {16, 32}, {16384, 16}, {0, 32768}, {8192, 16384}, {1, 16}} {
		if r.Check() == nil {
			t.Errorf("%v passes", r)
		}
	}
	for _, f := range []func(){
		func() { RangeOf(0, 3) }, func() { RangeOf(4, 4) }, func() { RangeOf(0, 2048) },
		func() { Range{0, minSlots}.Halves() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
}

func TestShardCount(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		total, target int64
		current, want int
	}{
		{0, 0, 0, 1},
		{4 * mib, 0, 0, 1},
		{4*mib + 1, 0, 0, 2},
		{1024 * mib, 0, 0, 256},
		{1 << 40, 0, 0, MaxShards},
		{8 * mib, 0, 1, 1},   // twice the target: stays
		{8*mib + 1, 0, 1, 4}, // above: grows
		{4 * mib, 0, 4, 4},   // a quarter: stays
		{4*mib - 1, 0, 4, 1}, // below: shrinks
		{100, 10, 16, 16},    // own target
		{1 << 50, 1, 1024, MaxShards},
	} {
		if got := ShardCount(c.total, c.target, c.current); got != c.want {
			t.Errorf("%d bytes, target %d, now %d: %d shards instead of %d", c.total, c.target, c.current, got, c.want)
		}
	}
}
