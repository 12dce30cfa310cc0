package overview

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

// found is the state of task 3 on a and b, with a shard that c has as far as the
// manifest knows, and one that only b has, for d is dead. Of task 4 nothing is
// committed.
func found() []Found {
	o := owner(3)
	m := &shard.Manifest{Owner: o, Version: 12, Epoch: 1, Replicas: 2, Shards: [][]shard.Ref{
		chain(o, 0, 4, []shard.NodeID{"a", "b"}, []shard.NodeID{"a", "b"}),
		chain(o, 1, 4, []shard.NodeID{"b", "c"}),
		chain(o, 2, 4, []shard.NodeID{"b", "d"}),
		chain(o, 3, 4, []shard.NodeID{"a", "c"}),
	}}
	return []Found{{Owner: owner(4)}, {
		Owner: o, Version: 12, Manifest: m, Have: map[shard.NodeID]protocol.HaveAnswer{
			"a": {Spans: []protocol.Span{{Until: 2}, {Shard: 3, Until: 1}, {Shard: 9, Until: 1}, {Shard: -1}}},
			"b": {Spans: []protocol.Span{{Until: 2}, {Shard: 1, Until: 1}, {Shard: 2, Until: 7}}},
		},
	}}
}

func TestPlans(t *testing.T) {
	r := MakeRing(three())
	all := MakeTopology(id, &r, reports(), now)
	task := int32(3)
	for _, c := range []struct {
		file  string
		q     PlanRequest
		lost  int // shards
		tasks int // with lost state
		on    string
	}{
		{"plan.txt", PlanRequest{}, 0, 0, "a"},
		{"plan_b.txt", PlanRequest{Fail: []string{"host-b"}}, 1, 1, "a"},
		{"plan_line.txt", PlanRequest{Fail: []string{"a"}, Mode: recovery.Line, Task: &task, On: "10.0.0.c"}, 0, 0, "c"},
		{"plan_all.txt", PlanRequest{Fail: []string{"host-a", "10.0.0.b:6629"}, Component: "count"}, 0, 1, ""},
	} {
		c.q.Topology = id
		got, err := MakePlans(c.q, &r, &all, found())
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		golden(t, c.file, got.Text())
		if got.LostShards != c.lost || got.LostTasks != c.tasks || got.Tasks[0].On != c.on {
			t.Errorf("%s: %d shards of %d tasks lost, on %q", c.file, got.LostShards, got.LostTasks, got.Tasks[0].On)
		}
	}
}

func TestPlanJSON(t *testing.T) {
	r := MakeRing(three())
	all := MakeTopology(id, &r, reports(), now)
	got, err := MakePlans(PlanRequest{Topology: id, Fail: []string{"b"}, Mode: recovery.Star}, &r, &all, found())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.json", string(text)+"\n")
}

func TestPlansThatCannotBe(t *testing.T) {
	r := MakeRing(three())
	all := MakeTopology(id, &r, reports(), now)
	for _, c := range []struct {
		q    PlanRequest
		want string
	}{
		{PlanRequest{Fail: []string{"zz"}}, `no node of the ring is on "zz"; there are host-a, host-b, host-c`},
		{PlanRequest{On: "host-d"}, `no living node of the ring is on "host-d"; there are host-a, host-b, host-c`},
		{PlanRequest{On: "host-a", Fail: []string{"host-a"}}, `host-a is to be lost, so nothing can be rebuilt on it`},
	} {
		c.q.Topology = id
		if _, err := MakePlans(c.q, &r, &all, found()); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestParamsAreThoseOfTheComponent, and so are links those to the receiver.
func TestInput(t *testing.T) {
	r := MakeRing(three())
	q := PlanRequest{Topology: id, Params: func(component string) recovery.Params { return recovery.Params{StarFanin: len(component)} }}
	p := planning{q: q, ring: &r, lost: map[shard.NodeID]bool{}}
	f := found()[1]
	f.Lack = map[shard.NodeID]bool{"c": true}
	in := p.input(&f)
	p.receiver(&in, r.find("a"))
	if in.Params.StarFanin != 5 || in.Receiver.ID != "a" || in.Receiver.Site != "r1" || in.Receiver.Down != 100e6 {
		t.Errorf("got %+v, %+v", in.Receiver, in.Params)
	}
	var nodes []string
	for _, n := range in.Nodes {
		nodes = append(nodes, string(n.ID))
		if want := map[shard.NodeID]int64{"b": 100e6, "c": 50e6}[n.ID]; n.Up != want {
			t.Errorf("%s: got %+v", n.ID, n)
		}
	}
	if !slices.Equal(nodes, []string{"a", "b", "c"}) || in.Nodes[1].RTT != 500_000 || in.Nodes[1].Streams != 2 {
		t.Errorf("got %+v", in.Nodes)
	}
	if h := in.Pieces[1].Chain[0].Holders; !slices.Equal(h, []shard.NodeID{"b"}) {
		t.Errorf("c said that it lacks shard 1, which is at %v", h)
	}
}

// TestLossIsNamed: a shard is named as lost if and only if no one has all of its
// objects left.
func TestLossIsNamed(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(t *rapid.T) {
		var answers []Answer
		for _, n := range names {
			others := map[string]string{}
			for _, o := range names {
				if o != n {
					others[o] = "alive"
				}
			}
			answers = append(answers, answer(status(n, others)))
		}
		r := MakeRing(answers)
		o, have := owner(1), map[shard.NodeID]protocol.HaveAnswer{}
		for _, n := range names {
			have[shard.NodeID(n)] = protocol.HaveAnswer{}
		}
		fail := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID).Draw(t, "fail")
		m := &shard.Manifest{Owner: o, Version: 12, Replicas: 2}
		var want []int
		for i := range 4 {
			holders := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID).Draw(t, "holders")
			var ids []shard.NodeID
			left := false
			for _, h := range holders {
				ids = append(ids, shard.NodeID(h))
				a := have[shard.NodeID(h)]
				a.Spans = append(a.Spans, protocol.Span{Shard: i, Until: 1})
				have[shard.NodeID(h)] = a
				left = left || !slices.Contains(fail, h)
			}
			m.Shards = append(m.Shards, chain(o, i, 4, ids))
			if !left {
				want = append(want, i)
			}
		}
		var none Topology
		got, err := MakePlans(PlanRequest{Topology: id, Fail: fail}, &r, &none, []Found{{Owner: o, Version: 12, Manifest: m, Have: have}})
		if err != nil {
			t.Fatal(err)
		}
		var lost []int
		for _, l := range got.Tasks[0].Lost {
			lost = append(lost, l.Shard)
		}
		if !slices.Equal(lost, want) || got.LostShards != len(want) {
			t.Fatalf("lost %v, want %v", lost, want)
		}
		if on := got.Tasks[0].On; on == "" || slices.Contains(fail, on) {
			t.Fatalf("rebuilt on %q, of which %v fail", on, fail)
		}
	})
}
