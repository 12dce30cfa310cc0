package ring

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// sizes are a ring where everybody knows everybody, and one where nobody does.
var sizes = map[string]Config{"full view": Default(), "chord only": chordOnly()}

func eachSize(t *testing.T, do func(t *testing.T, cfg Config)) {
	t.Helper()
	for name, cfg := range sizes {
		t.Run(name, func(t *testing.T) { do(t, cfg) })
	}
}

// counts counts the events of each kind.
func (w *world) counts() *[lastEvent + 1]int {
	c := new([lastEvent + 1]int)
	w.onEvent = func(_ *actor, e Event) { c[e.Kind]++ }
	return c
}

func TestAlone(t *testing.T) {
	w := newWorld(t, 1, Default(), 1, 4)
	a := w.actors[0]
	w.start(a)
	w.join(a, a)
	w.run(time.Minute)
	if w.sent != 0 || !a.m.Joined() || !a.m.Complete() {
		t.Errorf("%d messages, joined %t, complete %t", w.sent, a.m.Joined(), a.m.Complete())
	}
	out := a.m.Lookup(7, 99, w.now)
	if len(out.Events) != 1 || out.Events[0].Kind != Found || out.Events[0].Node != a.node || out.Events[0].Token != 99 {
		t.Errorf("lookup: %+v", out.Events)
	}
	if h := a.m.Holders(7, 3); len(h) != 1 || h[0] != a.node {
		t.Errorf("holders: %+v", h)
	}
	if e := a.m.Explain(); e.Estimate != 1 || len(e.Positions) != 4 || len(e.Members) != 0 {
		t.Errorf("explained: %+v", e)
	}
}

// Two that start at once and hear of each other first do not take themselves for the
// whole ring while there is a third that should be there; after a while they do.
func TestJoinedButNotMet(t *testing.T) {
	w := newWorld(t, 1, Default(), 3, 4)
	a, b, c := w.actors[0], w.actors[1], w.actors[2]
	w.start(a)
	w.start(b)
	w.join(a, b, c)
	w.join(b, a, c)
	w.run(time.Second)
	if !a.m.Joined() || a.m.Complete() || a.m.Finds() {
		t.Errorf("joined %t, complete %t, finds %t", a.m.Joined(), a.m.Complete(), a.m.Finds())
	}
	w.run(5 * time.Second)
	if !a.m.Complete() || !a.m.Finds() || len(a.m.Living()) != 2 {
		t.Errorf("later: complete %t, finds %t, %d nodes", a.m.Complete(), a.m.Finds(), len(a.m.Living()))
	}
	w.start(c)
	w.join(c, a, b)
	w.run(time.Second)
	if !c.m.Complete() || len(c.m.Living()) != 3 {
		t.Errorf("the third: complete %t, %d nodes", c.m.Complete(), len(c.m.Living()))
	}
}

func TestSeedsThatDoNotAnswer(t *testing.T) {
	w := newWorld(t, 1, Default(), 3, 4)
	a, b := w.actors[0], w.actors[1]
	w.start(a)
	w.join(a, b, w.actors[2])
	w.run(20 * time.Second)
	if a.m.Joined() {
		t.Fatal("joined nobody")
	}
	w.start(b)
	w.join(b)
	w.run(3 * time.Second)
	if !a.m.Joined() || len(a.m.Living()) != 2 || len(b.m.Living()) != 2 {
		t.Errorf("joined %t, %d and %d nodes", a.m.Joined(), len(a.m.Living()), len(b.m.Living()))
	}
}

func TestJoinAllAtOnce(t *testing.T) {
	eachSize(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, 1, cfg, 64, 2)
		for _, a := range w.actors {
			w.start(a)
			w.join(a, w.actors[:3]...)
		}
		t.Logf("right after %d rounds", w.settle(40))
	})
}

// TestCrashIsSeen: everybody knows of a crash before long, and nobody of one
// that was not.
func TestCrashIsSeen(t *testing.T) {
	w := newWorld(t, 1, Default(), 100, DefaultPositions)
	w.stable()
	w.run(10 * time.Second)
	c := w.counts()
	w.crash(w.actors[7])
	w.run(7 * time.Second)
	if c[Died] != 99 {
		t.Errorf("after 7 s %d of 99 know of the death", c[Died])
	}
	w.run(time.Minute)
	if c[Died] != 99 || c[Joined] != 0 {
		t.Errorf("%d deaths, %d joins", c[Died], c[Joined])
	}
}

// TestLossIsNoDeath: with each tenth message lost, and one link cut for ever,
// nobody dies.
func TestLossIsNoDeath(t *testing.T) {
	eachSize(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, 1, cfg, 30, 1)
		w.stable()
		v := w.truth()
		x, y := v.points[3].Node.ID, v.points[4].Node.ID // neighbours
		w.lose = 0.1
		w.part = func(a, b *actor) bool {
			return a.node.ID == x && b.node.ID == y || a.node.ID == y && b.node.ID == x
		}
		c := w.counts()
		w.run(5 * time.Minute)
		if c[Died] != 0 {
			t.Errorf("%d deaths, %d suspicions", c[Died], c[Suspected])
		}
	})
}

// TestSleeperAccusesNobody: who did not run for a while blames nobody for what
// it did not hear, and is back soon after it was thought dead.
func TestSleeperAccusesNobody(t *testing.T) {
	eachSize(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, 1, cfg, 20, 2)
		w.stable()
		sleeper := w.actors[5]
		accused, dead, back := 0, 0, 0
		w.onEvent = func(a *actor, e Event) {
			switch {
			case e.Kind == Died && a == sleeper:
				accused++
			case e.Kind == Died && e.Node.ID == sleeper.node.ID:
				dead++
			case e.Kind == Joined && e.Node.ID == sleeper.node.ID:
				back++
			}
		}
		w.run(5 * time.Second)
		w.sleep(sleeper, 30*time.Second)
		w.run(25 * time.Second)
		if dead == 0 {
			t.Error("nobody missed it")
		}
		w.run(5 * time.Second)
		rounds := w.settle(15)
		if accused != 0 || back < dead {
			t.Errorf("it called %d dead; %d saw it die, %d saw it return", accused, dead, back)
		}
		t.Logf("right %d rounds after it woke up", rounds)
	})
}

func TestLeave(t *testing.T) {
	eachSize(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, 1, cfg, 40, 2)
		w.stable()
		w.run(5 * time.Second)
		c := w.counts()
		a := w.actors[3]
		w.perform(a, a.m.Leave(w.now))
		w.after(time.Second, func() { w.crash(a) })
		w.run(3 * time.Second)
		w.settle(5)
		if c[Died]+c[Suspected] != 0 || c[Departed] == 0 {
			t.Errorf("%d saw it leave, %d suspected it, %d saw it die", c[Departed], c[Suspected], c[Died])
		}
		w.start(a)
		w.join(a, w.actors[8])
		w.run(2 * time.Second)
		w.settle(20)
	})
}

// TestLeaveAndJoin: the same machine may come back.
func TestLeaveAndJoin(t *testing.T) {
	w := newWorld(t, 1, Default(), 5, 2)
	w.stable()
	a := w.actors[0]
	w.perform(a, a.m.Leave(w.now))
	w.run(3 * time.Second)
	if n := len(w.actors[1].m.Living()); n != 4 {
		t.Fatalf("%d nodes", n)
	}
	w.join(a, w.actors[2])
	w.run(time.Second)
	w.settle(5)
}

// TestRestart: a node that comes back at once, elsewhere, with a lower
// incarnation than before, is the same node for all.
func TestRestart(t *testing.T) {
	w := newWorld(t, 1, Default(), 10, 4)
	w.stable()
	w.run(5 * time.Second)
	c := w.counts()
	a := w.actors[4]
	delete(w.byAddr, a.node.Addr)
	a.node.Addr = "elsewhere:1"
	w.byAddr[a.node.Addr] = a
	w.start(a)
	a.m.inc = 0
	w.join(a, w.actors[0])
	w.run(time.Second)
	w.settle(3)
	if c[Died] != 0 || c[Conflict] > 1 {
		t.Errorf("%d deaths, %d conflicts", c[Died], c[Conflict])
	}
}

// TestTwoOfOneID: two processes under one id are noticed.
func TestTwoOfOneID(t *testing.T) {
	w := newWorld(t, 1, Default(), 5, 4)
	w.stable()
	twin := w.actors[4].node
	twin.Addr = "elsewhere:1"
	b := w.add(twin)
	w.start(b)
	c := w.counts()
	w.join(b, w.actors[0])
	w.run(time.Minute)
	if c[Conflict] < 10 {
		t.Errorf("%d conflicts", c[Conflict])
	}
}

// TestParted: each half of a parted ring is a ring; after it heals there is one
// again, and neither buries the other.
func TestParted(t *testing.T) {
	eachSize(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, 1, cfg, 40, 2)
		w.stable()
		for _, a := range w.actors {
			a.m.SetSeeds([]Node{w.actors[0].node, w.actors[1].node, w.actors[2].node})
		}
		left := make(map[*actor]bool)
		for i, a := range w.actors {
			left[a] = i%3 == 0
		}
		w.part = func(from, to *actor) bool { return left[from] != left[to] }
		w.run(40 * time.Second)
		for _, side := range []bool{true, false} {
			for _, a := range w.actors {
				a.up = left[a] == side
			}
			if s := w.wrongs(); s != "" {
				t.Errorf("parted: %s", s)
			}
		}
		for _, a := range w.actors {
			a.up = true
			w.perform(a, a.m.Tick(w.now))
		}
		w.part = nil
		c := w.counts()
		t.Logf("right %d rounds after", w.settle(40))
		w.run(time.Minute)
		if c[Died] != 0 {
			t.Errorf("%d deaths after all was well", c[Died])
		}
	})
}

// TestTwoRings: rings that never knew of each other become one when one node
// of one is told of one node of the other.
func TestTwoRings(t *testing.T) {
	eachSize(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, 1, cfg, 40, 2)
		for i, a := range w.actors {
			w.start(a)
			w.join(a, w.actors[i%2])
		}
		w.run(40 * time.Second)
		w.actors[6].m.SetSeeds([]Node{w.actors[9].node})
		t.Logf("one ring after %d rounds", w.settle(90))
	})
}

// TestLookupPassesOver: right after a crash of a third, before anybody is known
// to be dead, most lookups end, at nodes that were right before the crash.
func TestLookupPassesOver(t *testing.T) {
	w := newWorld(t, 1, chordOnly(), 100, 1)
	w.stable()
	w.run(10 * time.Second)
	for _, a := range w.actors[:33] {
		w.crash(a)
	}
	for i, a := range w.actors[40:] {
		w.perform(a, a.m.Lookup(w.rng.Uint64(), uint64(i), w.now))
	}
	w.run(w.cfg.LookupFor + time.Second)
	ended := 0
	for i := range w.actors[40:] {
		if w.found[uint64(i)].Kind == Found {
			ended++
		}
	}
	if ended != 60 {
		t.Errorf("%d of 60 lookups ended", ended)
	}
}

// TestFoundIsForHolders: in large rings the successors of a Found are enough
// for placement.
func TestFoundIsForHolders(t *testing.T) {
	w := newWorld(t, 1, chordOnly(), 200, 2)
	for i, a := range w.actors {
		a.node.Host, a.node.Rack = fmt.Sprint("h", i/2), "" // eight nodes may be of too few racks
	}
	w.stable()
	if w.actors[0].m.Complete() {
		t.Error("thinks that it knows all")
	}
	v := w.truth()
	if wrong, lost, _ := w.lookups(100); wrong+lost > 0 {
		t.Errorf("%d lookups end wrong, %d do not end", wrong, lost)
	}
	for _, e := range w.found {
		want := Holders(v, e.Key, 3)
		if got := Holders(NewView(e.Successors), e.Key, 3); !slices.Equal(got, want) {
			t.Fatalf("%v, not %v", got, want)
		}
	}
}

// TestQuietRing: what a ring costs when nothing happens.
func TestQuietRing(t *testing.T) {
	eachSize(t, func(t *testing.T, cfg Config) {
		w := newWorld(t, 1, cfg, 100, DefaultPositions)
		w.stable()
		w.run(20 * time.Second)
		each := float64(w.sent) / 100 / 20
		t.Logf("%.1f messages a node and second", each)
		if most := map[bool]float64{true: 20, false: 250}[cfg.FullView > 0]; each > most {
			t.Errorf("%.1f messages a node and second, at most %.0f", each, most)
		}
	})
}

// TestGrowAndShrink: a ring that grows beyond the full view and shrinks again
// is right in each size.
func TestGrowAndShrink(t *testing.T) {
	cfg := Default()
	cfg.FullView = 32
	w := newWorld(t, 1, cfg, 100, 2)
	for i, a := range w.actors {
		w.start(a)
		w.join(a, w.actors[:min(i+1, 4)]...)
		w.run(200 * time.Millisecond)
	}
	w.settle(30)
	if w.actors[50].m.Complete() {
		t.Error("100 nodes are not too many")
	}
	for _, a := range w.actors[10:] {
		w.perform(a, a.m.Leave(w.now))
		w.after(time.Second, func() { w.crash(a) })
		w.run(500 * time.Millisecond)
	}
	w.settle(90)
	if !w.actors[5].m.Complete() {
		t.Error("10 nodes are too many")
	}
}

func TestNewRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	good := node("a", 3)
	for name, change := range map[string]func(c *Config, n *Node){
		"no id":         func(_ *Config, n *Node) { n.ID = "" },
		"no address":    func(_ *Config, n *Node) { n.Addr = "" },
		"no position":   func(_ *Config, n *Node) { n.Positions = 0 },
		"positions":     func(_ *Config, n *Node) { n.Positions = MaxPositions + 1 },
		"long rack":     func(_ *Config, n *Node) { n.Rack = string(make([]byte, MaxName+1)) },
		"no successors": func(c *Config, _ *Node) { c.Successors = 0 },
		"full view":     func(c *Config, _ *Node) { c.FullView = maxFullView + 1 },
		"helpers":       func(c *Config, _ *Node) { c.Helpers = -1 },
		"no time":       func(c *Config, _ *Node) { c.GossipEvery = 0 },
		"time-outs":     func(c *Config, _ *Node) { c.MinTimeout = c.MaxTimeout + 1 },
		"pause":         func(c *Config, _ *Node) { c.Pause = c.PingEvery },
	} {
		cfg, n := Default(), good
		change(&cfg, &n)
		if _, err := New(cfg, n, 1, rng); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := New(Default(), good, 1, rng); err != nil {
		t.Error(err)
	}
}
