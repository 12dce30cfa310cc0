package recovery

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestHold: what nobody asked for waits for what is wanted.
func TestHold(t *testing.T) {
	held := func() *desk {
		in := starOf(Whole(0, mega, mega, 1, "n00"), Whole(1, mega, mega, 1, "n01"), Whole(2, mega, mega, 1, "n02"))
		in.Params.Hold = 250 * time.Millisecond
		d := newDesk(t, in)
		if out := d.say(Tick{}); len(out) != 0 {
			t.Fatalf("before anything is wanted: %+v", out)
		}
		if at, ok := d.tr.Next(); !ok || at.Sub(simEpoch) != 251*time.Millisecond {
			t.Fatalf("looks again at %v", at.Sub(simEpoch))
		}
		return d
	}
	opens := func(what string, out []Command, urgent bool, want ...NodeID) []Open {
		t.Helper()
		all := only[Open](out)
		var nodes []NodeID
		for _, o := range all {
			nodes = append(nodes, o.Flow.Node)
			if o.Urgent != urgent {
				t.Errorf("%s: the stream of %s is urgent: %v", what, o.Flow.Node, o.Urgent)
			}
		}
		if !slices.Equal(nodes, want) {
			t.Fatalf("%s: opens %v, want %v", what, nodes, want)
		}
		return all
	}

	d := held()
	wanted := opens("wanted", d.say(Wanted{Shard: 1}), true, "n01")[0]
	opens("nothing more is asked for", d.say(Proceed{}), false)
	opens("the wanted one has come", d.say(chunkOf(wanted.Stream, 1, Content{1, mega}, 0, mega)), false)
	opens("and is installed", d.say(Installed{Shard: 1}), false, "n00", "n02")

	opens("nobody asks", held().say(Proceed{}), false, "n00", "n01", "n02")

	d = held()
	d.now = simEpoch.Add(251 * time.Millisecond)
	opens("nobody says anything", d.tr.Handle(d.now, Tick{}), false, "n00", "n01", "n02")

	d = held()
	opens("wanted", d.say(Wanted{Shard: 2}), true, "n02")
	d.now = d.now.Add(249 * time.Millisecond)
	opens("it takes long", d.tr.Handle(d.now, Tick{}), false)
	opens("too long", d.say(Tick{}), false, "n00", "n01")
}

// gaveUp is when a stream is cancelled if nothing more happens.
func gaveUp(d *desk) time.Duration {
	began := d.now
	for range 1000 {
		at, ok := d.tr.Next()
		if !ok {
			break
		}
		d.now = at
		if out := d.tr.Handle(at, Tick{}); len(only[Cancel](out)) > 0 {
			return at.Sub(began)
		}
	}
	return 0
}

// TestStall: how long a stream may be silent follows from rates that were measured.
func TestStall(t *testing.T) {
	ms := time.Millisecond
	two := func(change func(*Input)) *desk {
		in := starOf(Whole(0, mega, mega, 1, "n00"), Whole(1, 8*mega, 8*mega, 1, "n01"))
		in.Params.StarFanin = 2
		change(&in)
		return newDesk(t, in)
	}
	slow := func(in *Input) {
		for i := range in.Nodes {
			in.Nodes[i].Up = 128 << 10
		}
	}
	for _, c := range []struct {
		name   string
		change func(*Input)
		other  bool // is heard meanwhile
		want   time.Duration
	}{
		{"others are heard", func(*Input) {}, true, leastStall},
		{"nobody is heard", func(*Input) {}, false, time.Second},
		{"a long way", func(in *Input) { in.Nodes[0].RTT = 200 * ms }, true, 826 * ms},
		{"slow links: eight chunks, and four round trips", slow, true, 4004 * ms},
		{"nothing measured", func(in *Input) { *in = change(*in, unmeasure) }, true, 3 * time.Second},
	} {
		d := two(c.change)
		open := only[Open](d.say(Tick{}))
		if len(open) != 2 {
			t.Fatalf("%s: opens %d", c.name, len(open))
		}
		of := map[NodeID]StreamID{}
		for _, o := range open {
			of[o.Flow.Node] = o.Stream
		}
		d.now = d.now.Add(-ms)
		for node, shard := range map[NodeID]int{"n00": 0, "n01": 1} {
			d.tr.Handle(d.now, chunkOf(of[node], shard, Content{1, int64(mega) << (3 * shard)}, 0, 1024))
		}
		began, at := d.now, int64(1024)
		var took time.Duration
		for took == 0 && d.now.Sub(began) < 10*time.Second {
			d.now = d.now.Add(10 * ms)
			e := Event(Tick{})
			if c.other {
				e = chunkOf(of["n01"], 1, Content{1, 8 * mega}, at, 1)
				at++
			}
			if out := d.tr.Handle(d.now, e); len(only[Cancel](out)) > 0 {
				took = d.now.Sub(began)
			}
		}
		if took < c.want || took > c.want+10*ms {
			t.Errorf("%s: given up after %v, want %v", c.name, took, c.want)
		}
	}
}

func change(in Input, f func(*Input)) Input { f(&in); return in }

func unmeasure(in *Input) {
	in.Receiver.Down = 0
	for i := range in.Nodes {
		in.Nodes[i].Up, in.Nodes[i].Down = 0, 0
	}
}

// TestOwnPause: while this process stands still, nobody is silent.
func TestOwnPause(t *testing.T) {
	d := newDesk(t, starOf(Whole(0, mega, mega, 1, "n00")))
	open := only[Open](d.say(Tick{}))[0]
	d.say(chunkOf(open.Stream, 0, Content{1, mega}, 0, 1024))
	at, _ := d.tr.Next()
	d.now = at.Add(5 * time.Second)
	if out := d.tr.Handle(d.now, Tick{}); len(only[Cancel](out)) != 0 {
		t.Fatalf("after a pause of its own: %+v", out)
	}
	// It was silent for 750 ms before.
	if got := gaveUp(d); got != 250*time.Millisecond {
		t.Errorf("then it is given up after %v, want 250ms", got)
	}
}

// TestAside: streams that the shell does not read from, since a task waits for
// another shard, are not silent.
func TestAside(t *testing.T) {
	in := starOf(Whole(0, mega, mega, 1, "n00"), Whole(1, 8*mega, 8*mega, 1, "n01"), Whole(2, 8*mega, 8*mega, 1, "n01"))
	d := newDesk(t, in)
	of := map[NodeID]StreamID{}
	for _, o := range only[Open](d.say(Tick{})) {
		of[o.Flow.Node] = o.Stream
	}
	d.say(chunkOf(of["n00"], 0, Content{1, mega}, 0, 1024))
	d.say(chunkOf(of["n01"], 1, Content{1, 8 * mega}, 0, 1024))
	urgent := only[Open](d.say(Wanted{Shard: 2}))[0]
	began := d.now
	for at := int64(0); ; at++ {
		d.now = d.now.Add(10 * time.Millisecond)
		out := d.tr.Handle(d.now, chunkOf(urgent.Stream, 2, Content{1, 8 * mega}, at, 1))
		if len(only[Cancel](out)) > 0 {
			break
		}
	}
	if took := d.now.Sub(began); took != AsideFor+leastStall {
		t.Errorf("given up after %v, want %v", took, AsideFor+leastStall)
	}
}

// TestNoFalseAlarms has senders stop for up to a quarter of a second, as busy
// machines do, again and again, in all modes: nobody is given up for it.
func TestNoFalseAlarms(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 11))
		in := lan(3+rng.IntN(8), int64(5+rng.IntN(40))*1e6, int64(20+rng.IntN(100))*1e6, time.Duration(1+rng.IntN(20))*time.Millisecond)
		in.Mode = []Mode{Star, Line, Tree}[seed%3]
		in.Params.Chunk, in.Params.LineLength, in.Params.StarFanin = 256<<10, 4, 16
		in.Receiver.Install = 400e6
		if rng.IntN(2) == 0 {
			in = in.reducing(int64(4+rng.IntN(12))<<20, 1+rng.IntN(6))
		} else {
			in = in.disjoint(int64(8+rng.IntN(64))<<20, 3)
		}
		s, _ := newSim(t, in, seed)
		var pause func()
		pause = func() {
			for _, n := range s.nodes {
				if n.ID != s.w.Receiver.ID && rng.IntN(4) == 0 {
					n.free["up"] = max(n.free["up"], s.now) + 0.25*rng.Float64()
				}
			}
			s.at(s.now+0.3+rng.Float64(), pause)
		}
		s.at(0.1, pause)
		s.run(1e6)
		if s.done < 0 {
			s.fail("is not done")
		}
		if r := s.tr.Report(); r.Replans > 0 {
			s.fail("somebody was given up: %v", r.Notes)
		}
	}
}

// TestFastHeads: in a tree of slow and fast nodes the fast ones carry what the slow
// ones send, within their sites.
func TestFastHeads(t *testing.T) {
	in := lan(12, 2e6, 25e6, time.Millisecond).disjoint(12*mega, 2)
	in.Mode, in.Params.TreeFanin, in.Receiver.MaxStreams, in.Params.Chunk = Tree, 3, 3, 64<<10
	for i := range in.Nodes {
		n := &in.Nodes[i]
		n.Site = []string{"x", "y", "z"}[i/4]
		if i%4 > 1 {
			n.Up = 25e6
		}
	}
	p, err := Make(in)
	if err != nil {
		t.Fatal(err)
	}
	var heads []NodeID
	for _, f := range p.Flows {
		heads = append(heads, f.Node)
		for _, g := range f.From {
			if w, _ := newWorld(in); w.nodes[g.Node].Site != w.nodes[f.Node].Site || len(g.From) > 0 {
				t.Errorf("%s sends by way of %s, with %d behind it", g.Node, f.Node, len(g.From))
			}
		}
	}
	slices.Sort(heads)
	if len(heads) != 3 || heads[0] != "n02" && heads[0] != "n03" || heads[1] != "n06" && heads[1] != "n07" || heads[2] != "n10" && heads[2] != "n11" {
		t.Errorf("the heads are %v", heads)
	}
	// A slow one has 1 MiB at 2 MB/s.
	if got := p.Predicted.TotalMS; got < 524 || got > 650 {
		t.Errorf("predicted %.0f ms", got)
	}
}
