package recovery

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// best is the least maximum over all ways of giving items to holders.
func best(items []item, load map[NodeID]float64) float64 {
	if len(items) == 0 {
		top := 0.0
		for _, l := range load {
			top = max(top, l)
		}
		return top
	}
	out := -1.0
	for _, id := range items[0].holders {
		load[id] += float64(items[0].Bytes)
		if m := best(items[1:], load); out < 0 || m < out {
			out = m
		}
		load[id] -= float64(items[0].Bytes)
	}
	return out
}

func TestBalanceIsNearTheBest(t *testing.T) {
	exact, worst := 0, 1.0
	const runs = 400
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 3 + rng.IntN(4)
		var items []item
		for i := range 4 + rng.IntN(6) {
			perm := rng.Perm(n)[:1+rng.IntN(3)]
			it := item{Part: Part{Shard: i, Until: 1, Bytes: int64(1 + rng.IntN(20))}}
			for _, j := range perm {
				it.holders = append(it.holders, id(j))
			}
			slices.Sort(it.holders)
			items = append(items, it)
		}
		given := balance(items, nil, func(_ NodeID, it item) float64 { return float64(it.Bytes) })
		got, count := 0.0, 0
		for node, list := range given {
			sum := 0.0
			for _, it := range list {
				if !slices.Contains(it.holders, node) {
					t.Fatalf("seed %d: %s sends shard %d, which it does not have", seed, node, it.Shard)
				}
				sum += float64(it.Bytes)
				count++
			}
			got = max(got, sum)
		}
		want := best(items, map[NodeID]float64{})
		if count != len(items) {
			t.Fatalf("seed %d: %d of %d items are given out", seed, count, len(items))
		}
		if got == want {
			exact++
		}
		worst = max(worst, got/want)
	}
	t.Logf("best in %d of %d, worst ratio %.3f", exact, runs, worst)
	if exact < runs*9/10 || worst > 1.34 {
		t.Errorf("best in %d of %d, worst ratio %.3f", exact, runs, worst)
	}
}

// TestEqualShardsAreSpreadExactly: with shards of one size the paths find the best.
func TestEqualShardsAreSpreadExactly(t *testing.T) {
	in := lan(8, 125e6, 125e6, time.Millisecond)
	in.Mode = Star
	for i := range 64 {
		in.Pieces = append(in.Pieces, Whole(i, 4<<20, 4<<20, 1, id(i%3), id(i%8), id((i*5+1)%8)))
	}
	p, err := Make(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Flows {
		if f.Bytes != 8*4<<20 {
			t.Errorf("%s sends %d bytes, want 8 shards", f.Node, f.Bytes)
		}
	}
}

// TestPlansAreWhole: in every mode every part is read once by one who has it, each
// holder appears once, bounds are kept, and the order of the input does not matter.
func TestPlansAreWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		in := randomInput(rand.New(rand.NewPCG(seed, 1)))
		p, err := Make(in)
		if err != nil {
			rt.Fatal(err)
		}
		shuffled := in
		shuffled.Pieces = slices.Clone(in.Pieces)
		slices.Reverse(shuffled.Pieces)
		shuffled.Nodes = slices.Clone(in.Nodes)
		slices.Reverse(shuffled.Nodes)
		if q, _ := Make(shuffled); !reflect.DeepEqual(p, q) {
			rt.Fatalf("two plans of one input:\n%s\n%s", p, q)
		}
		w, _ := newWorld(in)
		for _, m := range []Mode{Star, Line, Tree} {
			items, _ := w.items()
			checkFlows(rt, w, m, w.build(m, items, nil))
		}
		text, err := json.Marshal(p)
		var back Plan
		if err != nil || json.Unmarshal(text, &back) != nil || back.String() != p.String() {
			rt.Fatalf("does not survive JSON: %v\n%s", err, text)
		}
	})
}

func checkFlows(rt *rapid.T, w *world, m Mode, flows []*Flow) {
	read := map[int][]bool{}
	seen := map[NodeID]bool{}
	var visit func(f *Flow, to NodeID, depth int)
	visit = func(f *Flow, to NodeID, depth int) {
		if seen[f.Node] || f.To != to {
			rt.Fatalf("%s: %s appears twice or sends to %s instead of %s", m, f.Node, f.To, to)
		}
		seen[f.Node] = true
		if m == Star && depth > 1 || m == Line && (depth > w.Params.LineLength || len(f.From) > 1) || m == Tree && len(f.From) > w.Params.TreeFanin {
			rt.Fatalf("%s: %d below %s at depth %d", m, len(f.From), f.Node, depth)
		}
		for _, p := range f.Own {
			chain := w.piece(p.Shard).Chain
			if read[p.Shard] == nil {
				read[p.Shard] = make([]bool, len(chain))
			}
			for i := p.First; i < p.Until; i++ {
				if read[p.Shard][i] || !slices.Contains(chain[i].Holders, f.Node) {
					rt.Fatalf("%s: %s reads %+v, which it does not have or another reads", m, f.Node, p)
				}
				read[p.Shard][i] = true
			}
		}
		for _, from := range f.From {
			visit(from, f.Node, depth+1)
		}
	}
	for _, f := range flows {
		visit(f, w.Receiver.ID, 1)
	}
	for _, p := range w.Pieces {
		if len(read[p.Shard]) != len(p.Chain) || slices.Contains(read[p.Shard], false) {
			rt.Fatalf("%s: shard %d is read as %v", m, p.Shard, read[p.Shard])
		}
	}
}

func TestPlanText(t *testing.T) {
	in := lan(3, 125e6, 125e6, time.Millisecond)
	in.Owner, in.Version, in.Mode, in.Params.LineLength = "wc-1/count/4", 17, Line, 3
	in.Pieces = []Piece{
		Whole(0, 1<<20, 1<<20, 1, "n00"), Whole(1, 1<<20, 1<<20, 1, "n01"), Whole(2, 1<<20, 1<<20, 1, "n02"),
		Whole(3, 1<<20, 1<<20, 1, "r", "n02"), Whole(4, 1<<20, 1<<20, 1),
		{Shard: 5, Chain: []Object{{1 << 20, []NodeID{"n00"}}, {1 << 10, []NodeID{"n01"}}}},
	}
	p, err := Make(in)
	if err != nil {
		t.Fatal(err)
	}
	const want = `Recovery of wc-1/count/4, version 17, at r: line
line was asked for; predicted 37ms, limited by the links, star 36ms.
6 shards, 4.0 MiB over links, 1.0 MiB from the own disk; at most 1 streams at a time
`
	_, flows, _ := strings.Cut(p.String(), "\n\n")
	_, flows, _ = strings.Cut(flows, "\n\n")
	const wantFlows = `r -> r: 1.0 MiB, own 3
n01 -> r: 4.0 MiB, own 1,5[1:2], merges what 1 below send
  n00 -> n01: 3.0 MiB, own 0,5[0:1], passes on what 1 below send
    n02 -> n00: 1.0 MiB, own 2
no living copy is known of shards 4
`
	if !strings.HasPrefix(p.String(), want) {
		t.Errorf("the plan begins with\n%s", p)
	}
	if flows != wantFlows {
		t.Errorf("flows are\n%s", flows)
	}
}

func TestBadInput(t *testing.T) {
	for want, in := range map[string]Input{
		"shard 1 is listed twice":       {Pieces: []Piece{Whole(1, 1, 1, 1, "a"), Whole(1, 1, 1, 1, "b")}},
		"the chain of shard 2 is empty": {Pieces: []Piece{{Shard: 2}}},
		"shard 3 has a negative size":   {Pieces: []Piece{Whole(3, -1, 1, 1, "a")}},
		`recovery mode "ring"`:          {Mode: "ring"},
	} {
		if _, err := Make(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestOwnersHaveHeadsOfTheirOwn: several lines at once, of holders whose links were
// measured to be nearly alike, do not all end at the same one; slower ones are
// never last.
func TestOwnersHaveHeadsOfTheirOwn(t *testing.T) {
	const owners, holders = 60, 12
	last := map[NodeID]int{}
	for o := range owners {
		in := lan(holders, 25e6, 25e6, time.Millisecond).disjoint(12*mega, 2)
		in.Mode, in.Owner = Line, "owner "+strconv.Itoa(o)
		for i := range in.Nodes {
			in.Nodes[i].Up += int64(i) * 50e3
			if i >= holders/2 {
				in.Nodes[i].Up /= 2
			}
		}
		p, err := Make(in)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Flows) != 1 {
			t.Fatalf("%d lines", len(p.Flows))
		}
		last[p.Flows[0].Node]++
	}
	for id, n := range last {
		if id >= "n06" || n > owners/3 {
			t.Errorf("%s is the last of %d of %d lines", id, n, owners)
		}
	}
	if len(last) != holders/2 {
		t.Errorf("%d of %d fast holders are last in a line", len(last), holders/2)
	}
}
