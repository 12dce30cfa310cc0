package ring

import (
	"slices"
	"testing"
	"time"
)

// given is for how long those that are recalled are called upon.
func given(cfg Config) time.Duration { return recallFor * cfg.PingEvery }

// restart gives a node a new life in which it recalls others, and joins as it would
// with a registry that names the seeds.
func (w *world) restart(a *actor, recalled, seeds []*actor) {
	w.start(a)
	var nodes []Node
	for _, r := range recalled {
		nodes = append(nodes, r.node)
	}
	a.m.Recall(nodes)
	w.join(a, append([]*actor{a}, seeds...)...)
}

// expectAt looks at a node's picture: how many it knows to be on the ring, itself
// included, and whether it is sure.
func (w *world) expectAt(a *actor, joined, complete bool, living, recalled int) {
	w.tb.Helper()
	m := a.m
	if m.Joined() != joined || m.Complete() != complete || m.Finds() != complete || len(m.Living()) != living || len(m.Recalled()) != recalled {
		w.tb.Errorf("%s at %v: joined %t, complete %t, finds %t, %d nodes, %d recalled; want %t, %t, %d, %d", a.node.ID, w.now,
			m.Joined(), m.Complete(), m.Finds(), len(m.Living()), len(m.Recalled()), joined, complete, living, recalled)
	}
}

// TestRecallWhoAnswers: a node that is restarted while nobody is registered finds
// its ring by those that it knew, and is not sure of itself before.
func TestRecallWhoAnswers(t *testing.T) {
	w := newWorld(t, 1, Default(), 3, 4)
	w.stable()
	w.run(5 * time.Second)
	a, b, c := w.actors[0], w.actors[1], w.actors[2]
	w.crash(a)
	w.run(100 * time.Millisecond)
	w.restart(a, []*actor{a, b, c}, nil)
	w.expectAt(a, false, false, 1, 2)
	// What the registry says every other moment changes nothing.
	w.perform(a, a.m.Join(nil, w.now))
	w.expectAt(a, false, false, 1, 2)
	w.run(time.Second)
	w.expectAt(a, true, true, 3, 0)
}

// TestRecallTheGone: those that are gone for good are waited for once, and so long.
func TestRecallTheGone(t *testing.T) {
	w := newWorld(t, 1, Default(), 3, 4)
	a, b, c := w.actors[0], w.actors[1], w.actors[2]
	w.restart(a, []*actor{b, c}, nil)
	w.run(given(w.cfg) - 1)
	w.expectAt(a, false, false, 1, 2)
	sent := w.sent
	w.run(1)
	w.expectAt(a, true, true, 1, 0)
	if sent < 10 || sent > 30 {
		t.Errorf("they were called %d times", sent)
	}
	w.run(time.Minute)
	if w.sent != sent {
		t.Errorf("%d messages more", w.sent-sent)
	}
	// Whoever comes after all is welcome.
	w.restart(b, []*actor{a}, nil)
	w.run(time.Second)
	w.expectAt(a, true, true, 2, 0)
	w.expectAt(b, true, true, 2, 0)
}

// TestRecallEachOther: when all are restarted and the registry is empty, nobody is
// a ring of its own.
func TestRecallEachOther(t *testing.T) {
	for _, late := range []time.Duration{0, time.Second, 9 * time.Second} {
		w := newWorld(t, 1, Default(), 2, 4)
		a, b := w.actors[0], w.actors[1]
		w.onEvent = func(_ *actor, e Event) {
			if e.Kind == Conflict || e.Kind == Died {
				t.Errorf("%v of %s", e.Kind, e.Node.ID)
			}
		}
		w.restart(a, []*actor{b}, nil)
		w.run(late)
		w.expectAt(a, false, false, 1, 1)
		w.restart(b, []*actor{a}, nil)
		w.expectAt(b, false, false, 1, 1)
		w.run(1100 * time.Millisecond)
		w.expectAt(a, true, true, 2, 0)
		w.expectAt(b, true, true, 2, 0)
	}
}

// TestRecallTheRest: some that find each other are not the whole ring while they
// recall one more, until it comes, or for so long.
func TestRecallTheRest(t *testing.T) {
	for _, comes := range []bool{true, false} {
		w := newWorld(t, 1, Default(), 3, 4)
		a, b, c := w.actors[0], w.actors[1], w.actors[2]
		w.restart(a, []*actor{b, c}, nil)
		w.restart(b, []*actor{a, c}, nil)
		w.run(7 * time.Second) // longer than one waits for seeds
		w.expectAt(a, true, false, 2, 1)
		w.expectAt(b, true, false, 2, 1)
		living := 2
		if comes {
			living = 3
			w.restart(c, []*actor{a, b}, nil)
			w.run(time.Second)
			w.expectAt(c, true, true, 3, 0)
		} else {
			w.run(given(w.cfg) - w.now - 1)
			w.expectAt(a, true, false, 2, 1)
			w.run(1)
		}
		w.expectAt(a, true, true, living, 0)
		w.expectAt(b, true, true, living, 0)
	}
}

// TestRecallTheOblivious: one that was left with neither memory nor registry is
// found by those that recall it.
func TestRecallTheOblivious(t *testing.T) {
	w := newWorld(t, 1, Default(), 3, 4)
	a, b, c := w.actors[0], w.actors[1], w.actors[2]
	w.restart(a, []*actor{b, c}, nil)
	w.restart(b, []*actor{a, c}, nil)
	w.run(5 * time.Second)
	w.restart(c, nil, nil)
	w.expectAt(c, true, true, 1, 0)
	w.run(1100 * time.Millisecond)
	for _, x := range []*actor{a, b, c} {
		w.expectAt(x, true, true, 3, 0)
	}
}

// TestRecallTheDead: of whom the ring says that it is dead is not waited for.
func TestRecallTheDead(t *testing.T) {
	w := newWorld(t, 1, Default(), 4, 4)
	w.stable()
	w.run(5 * time.Second)
	a, b, c, d := w.actors[0], w.actors[1], w.actors[2], w.actors[3]
	w.crash(a)
	w.crash(b)
	w.run(20 * time.Second)
	w.restart(a, []*actor{b, c, d}, nil)
	w.run(1100 * time.Millisecond)
	w.expectAt(a, true, true, 3, 0)
}

// TestRecallBesideSeeds: with a registry as it should be, a node that recalls others
// is whole as soon as one that does not, and has their newest addresses.
func TestRecallBesideSeeds(t *testing.T) {
	w := newWorld(t, 1, Default(), 8, 4)
	w.stable()
	w.run(5 * time.Second)
	a, moved := w.actors[0], w.actors[1]
	w.crash(a)
	old := moved.node
	delete(w.byAddr, old.Addr)
	moved.node.Addr = "elsewhere:1"
	w.byAddr[moved.node.Addr] = moved
	w.start(moved)
	w.join(moved, w.actors[2])
	w.run(time.Second)

	w.start(a)
	a.m.Recall([]Node{old, w.actors[2].node, w.actors[3].node})
	w.join(a, w.actors...)
	if !slices.Contains(a.m.Recalled(), moved.node) {
		t.Errorf("it recalls %v", a.m.Recalled())
	}
	w.run(100 * time.Millisecond)
	w.expectAt(a, true, true, 8, 0)
}

// TestRecallSeedsThatDoNotAnswer: seeds are waited for as before, whatever is
// recalled.
func TestRecallSeedsThatDoNotAnswer(t *testing.T) {
	w := newWorld(t, 1, Default(), 3, 4)
	a, b, c := w.actors[0], w.actors[1], w.actors[2]
	w.restart(a, []*actor{c}, []*actor{b})
	w.run(time.Minute)
	w.expectAt(a, false, false, 1, 0)
	w.start(b)
	w.join(b)
	w.run(1100 * time.Millisecond)
	w.expectAt(a, true, true, 2, 0)
}

// TestRecallSleeper: the time in which this node did not run does not count.
func TestRecallSleeper(t *testing.T) {
	w := newWorld(t, 1, Default(), 2, 4)
	a, b := w.actors[0], w.actors[1]
	w.restart(a, []*actor{b}, nil)
	w.run(time.Second)
	w.sleep(a, time.Minute)
	w.run(time.Minute + 5*time.Second)
	w.expectAt(a, false, false, 1, 1)
	w.run(5 * time.Second)
	w.expectAt(a, true, true, 1, 0)
}

func TestRecallTakes(t *testing.T) {
	w := newWorld(t, 1, Default(), 2, 4)
	a, b := w.actors[0], w.actors[1]
	w.start(a)
	twin := b.node
	twin.Addr = "elsewhere:1"
	a.m.Recall([]Node{a.node, b.node, {ID: "x"}, twin})
	if got := a.m.Recalled(); !slices.Equal(got, []Node{b.node}) {
		t.Errorf("it recalls %v", got)
	}
}
