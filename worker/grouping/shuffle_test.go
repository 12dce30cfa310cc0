package grouping

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// deal counts what each target gets of some tuples.
func deal(g *Grouping, tuples int) []int {
	count := make([]int, len(g.Targets()))
	for range tuples {
		count[g.One(nil)]++
	}
	return count
}

func TestShuffleBalancedWithoutLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		kind := rapid.SampledFrom([]Kind{Shuffle, LocalOrShuffle}).Draw(t, "kind")
		local := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "local")
		g := mustNewRapid(t, Spec{Kind: kind, Targets: tasks(n), Local: local, Rand: seeded(rapid.Uint64().Draw(t, "seed"))})
		onlyLocal := kind == LocalOrShuffle && slices.Contains(local, true)
		count := make([]int, n)
		for tuples := range 3*n + 1 {
			count[g.One(nil)]++
			lo, hi := math.MaxInt, 0
			for i, c := range count {
				if onlyLocal && !local[i] {
					if c > 0 {
						t.Fatalf("far target %d got a tuple", i)
					}
					continue
				}
				lo, hi = min(lo, c), max(hi, c)
			}
			if hi-lo > 1 {
				t.Fatalf("after %d tuples: %v", tuples+1, count)
			}
		}
	})
}

func TestShuffleOrderIsSeeded(t *testing.T) {
	order := func(seed uint64) (got []int) {
		g := mustNew(t, Spec{Kind: Shuffle, Targets: tasks(20), Rand: seeded(seed)})
		for range 20 {
			got = append(got, g.One(nil))
		}
		return got
	}
	if !slices.Equal(order(1), order(1)) {
		t.Error("one seed, two orders")
	}
	if slices.Equal(order(1), order(2)) || slices.IsSorted(order(1)) {
		t.Error("the list is not shuffled")
	}
}

// Weights become slots exactly where the ring has room for them; every member
// has a slot; and no member is ever far from its due share.
func TestRingIsProportionalAndEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(1, 12), rapid.IntRange(1, 300)).Draw(t, "n")
		some := rapid.SampledFrom([]int{1, 2, 5, 100}).Draw(t, "distinct weights")
		b := newBalance(Spec{Targets: tasks(n), Rand: seeded(rapid.Uint64().Draw(t, "seed"))})
		var sum, divisor int64
		for i := range b.weight {
			b.weight[i] = int32(1 + (rapid.IntRange(1, some).Draw(t, "weight")*37)%100)
			sum += int64(b.weight[i])
			divisor = gcd(int64(b.weight[i]), divisor)
		}
		got := b.appendRing(nil)
		slots := make([]int64, n)
		for _, i := range got {
			slots[i]++
		}
		length, limit := int64(len(got)), int64(max(ringBase, ringPerTarget*n))
		distinct := map[int64]bool{}
		for i, s := range slots {
			distinct[s] = true
			w := int64(b.weight[i])
			if sum/divisor <= limit {
				if s != w/divisor {
					t.Fatalf("target %d of weight %d has %d slots of %d, want %d", i, w, s, length, w/divisor)
				}
			} else if due := float64(w*limit) / float64(sum); s < 1 || math.Abs(float64(s)-due) > 1 {
				t.Fatalf("target %d of weight %d has %d slots of %d, want about %.1f", i, w, s, length, due)
			}
		}
		if length > limit+int64(n) {
			t.Fatalf("%d slots for %d targets", length, n)
		}
		slack := float64(len(distinct))/2 + 2
		seen := make([]int64, n)
		for p, i := range got {
			seen[i]++
			if due := float64(slots[i]) * float64(p+1) / float64(length); math.Abs(float64(seen[i])-due) > slack {
				t.Fatalf("target %d got %d in %d slots, due are %.1f", i, seen[i], p+1, due)
			}
		}
	})
}

func TestRingEvenExample(t *testing.T) {
	b := newBalance(Spec{Targets: tasks(4), Rand: seeded(1)})
	b.order = []int32{0, 1, 2, 3}
	b.weight = []int32{30, 90, 30, 90}
	if got, want := b.appendRing(nil), []int32{1, 3, 0, 1, 3, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("ring %v, want %v", got, want)
	}
}

func TestSetLoadWeights(t *testing.T) {
	busy, idle := []float64{0, 0.9, 0.04, 0}, []float64{0.5, 0.5, 0.5, 0.5}
	g := mustNew(t, Spec{Kind: Shuffle, Targets: tasks(4), Rand: seeded(1)})
	for _, step := range []struct {
		load    []float64
		reports int
		tuples  int
		want    []int
	}{
		{idle, 5, 4, []int{1, 1, 1, 1}},
		{busy, 1, 39, []int{10, 9, 10, 10}},
		{busy, 4, 7, []int{2, 1, 2, 2}},
		{busy, 20, 301, []int{100, 1, 100, 100}},
		{idle, 49, 7, []int{2, 1, 2, 2}},
		{idle, 50, 4, []int{1, 1, 1, 1}},
	} {
		for range step.reports {
			g.SetLoad(step.load)
		}
		if got := deal(g, step.tuples); !slices.Equal(got, step.want) {
			t.Errorf("after %d reports of %v: %v, want %v", step.reports, step.load, got, step.want)
		}
	}
}

func TestSetLoadLocality(t *testing.T) {
	local := []bool{false, true, true, false}
	for _, c := range []struct {
		name string
		spec Spec
		load [][]float64
		want []int // of the last report, in one round of 4 tuples
	}{
		{"no report", Spec{}, nil, []int{1, 1, 1, 1}},
		{"first report", Spec{}, [][]float64{{0, 0.7, 0.7, 0}}, []int{0, 2, 2, 0}},
		{"at the bound", Spec{}, [][]float64{{0, 0.8, 0.8, 0}}, []int{0, 2, 2, 0}},
		{"above the bound", Spec{}, [][]float64{{0.9, 0.9, 0.9, 0.9}}, []int{1, 1, 1, 1}},
		{"still spilled", Spec{}, [][]float64{{1, 1, 1, 1}, {0.2, 0.2, 0.2, 0.2}}, []int{1, 1, 1, 1}},
		{"idle far ones are no reason", Spec{}, [][]float64{{1, 1, 1, 1}, {0.1, 0.15, 0.45, 0.05}}, nil},
		{"back", Spec{}, [][]float64{{1, 1, 1, 1}, {0.9, 0.19, 0.19, 0.9}}, []int{0, 2, 2, 0}},
		{"own bounds", Spec{HigherBound: 0.5, LowerBound: 0.4}, [][]float64{{0.6, 0.6, 0.6, 0.6}}, []int{1, 1, 1, 1}},
		{"own bounds, back", Spec{HigherBound: 0.5, LowerBound: 0.4}, [][]float64{{0, 0.6, 0.6, 0}, {0, 0.3, 0.3, 0}}, []int{0, 2, 2, 0}},
		{"nonsense is no load", Spec{}, [][]float64{{0, math.NaN(), -3, 0}}, []int{0, 2, 2, 0}},
		{"endless is full load", Spec{}, [][]float64{{1, math.Inf(1), 2, 1}}, []int{1, 1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.spec
			s.Targets, s.Local, s.Rand = tasks(4), local, seeded(5)
			g := mustNew(t, s)
			for _, l := range c.load {
				g.SetLoad(l)
			}
			if c.want == nil {
				if got := deal(g, len(g.ring)); slices.Min(got) == 0 {
					t.Errorf("some get nothing: %v", got)
				}
				return
			}
			if got := deal(g, 4); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestLocalOrShuffleNeverSpills(t *testing.T) {
	g := mustNew(t, Spec{Kind: LocalOrShuffle, Targets: tasks(4), Local: []bool{false, true, true, false}, Rand: seeded(5)})
	g.SetLoad([]float64{0, 1, 1, 0})
	if got, want := deal(g, 4), []int{0, 2, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Whatever is reported, each member of the scope gets tuples in each cycle,
// and nobody else.
func TestSetLoadNeverStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "n")
		kind := rapid.SampledFrom([]Kind{Shuffle, LocalOrShuffle}).Draw(t, "kind")
		local := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "local")
		g := mustNewRapid(t, Spec{Kind: kind, Targets: tasks(n), Local: local, Rand: seeded(rapid.Uint64().Draw(t, "seed"))})
		for range rapid.IntRange(1, 30).Draw(t, "reports") {
			load := rapid.SliceOfN(rapid.Float64Range(0, 1), n, n).Draw(t, "load")
			g.SetLoad(load)
			members := g.balance.members()
			for i, c := range deal(g, len(g.ring)) {
				if slices.Contains(members, int32(i)) != (c > 0) {
					t.Fatalf("target %d got %d of a cycle of %d among %v", i, c, len(g.ring), members)
				}
			}
		}
	})
}

func TestSetLoadSteadyKeepsRing(t *testing.T) {
	g := mustNew(t, Spec{Kind: Shuffle, Targets: tasks(3), Rand: seeded(1)})
	g.One(nil)
	if n := testing.AllocsPerRun(10, func() { g.SetLoad([]float64{0.5, 0.5, 0.5}) }); n != 0 {
		t.Errorf("%v allocations without any change", n)
	}
	if got := deal(g, 2); slices.Max(got) != 1 {
		t.Errorf("the round started again: %v", got)
	}
}

func TestSetLoadOfOtherKinds(t *testing.T) {
	for _, k := range []Kind{Fields, Global, All, Direct, PartialKey} {
		mustNew(t, Spec{Kind: k, Targets: tasks(2)}).SetLoad([]float64{0, 1})
	}
	defer func() {
		const want = "grouping: load of 1 targets reported to a global grouping over 2"
		if got := recover(); got != want {
			t.Errorf("panic %v, want %q", got, want)
		}
	}()
	mustNew(t, Spec{Kind: Global, Targets: tasks(2)}).SetLoad([]float64{0})
}
