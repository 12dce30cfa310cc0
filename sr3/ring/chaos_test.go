package ring

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// seeds are how many worlds of each kind are run.
func seeds(t *testing.T) uint64 {
	t.Helper()
	if env := os.Getenv("STORMRING_SEEDS"); env != "" {
		n, err := strconv.ParseUint(env, 10, 64)
		if err != nil {
			t.Fatalf("STORMRING_SEEDS: %v", err)
		}
		return n
	}
	return fewSeeds
}

// kind is a kind of world: its size, and its faults by their weights.
type kind struct {
	nodes, positions int
	fullView         int
	lose, double     float64
	slowest          time.Duration
	crash, leave     int // weights of what happens to a node that is up
	sleep, part      int
	// rounds is after how many stabilisation rounds without faults all is right.
	rounds int
}

var kinds = map[string]kind{
	"churn":         {nodes: 16, positions: 4, fullView: 512, crash: 3, leave: 3, rounds: 60},
	"bad network":   {nodes: 12, positions: 4, fullView: 512, lose: 0.2, double: 0.1, slowest: 400 * time.Millisecond, rounds: 60},
	"parted":        {nodes: 12, positions: 4, fullView: 512, part: 5, rounds: 90},
	"everything":    {nodes: 20, positions: 3, fullView: 512, lose: 0.1, double: 0.1, slowest: 200 * time.Millisecond, crash: 3, leave: 1, sleep: 2, part: 2, rounds: 90},
	"chord churn":   {nodes: 40, positions: 1, fullView: 0, crash: 3, leave: 3, rounds: 90},
	"chord trouble": {nodes: 32, positions: 2, fullView: 0, lose: 0.05, double: 0.05, slowest: 100 * time.Millisecond, crash: 2, sleep: 1, part: 2, rounds: 120},
	"between":       {nodes: 40, positions: 2, fullView: 24, lose: 0.02, double: 0.02, crash: 3, leave: 2, rounds: 120},
}

// chaos is a world of this kind that has gone through its faults.
func (k kind) chaos(t *testing.T, seed uint64) *world {
	t.Helper()
	cfg := Default()
	cfg.FullView = k.fullView
	w := newWorld(t, seed, cfg, k.nodes, k.positions)
	w.lose, w.double, w.encode = k.lose, k.double, seed%4 == 0
	w.slowest = max(k.slowest, 20*time.Millisecond)
	w.onEvent = func(a *actor, e Event) {
		if e.Node.ID == a.node.ID && (e.Kind == Died || e.Kind == Departed || e.Kind == Suspected) {
			t.Fatalf("seed %d: %s says of itself: %s", seed, a.node.ID, e.Kind)
		}
	}
	for _, a := range w.actors {
		w.start(a)
		w.join(a, w.actors...)
		w.run(time.Duration(w.rng.Int64N(int64(500 * time.Millisecond))))
	}
	for range 40 {
		w.run(time.Duration(w.rng.Int64N(int64(2 * time.Second))))
		k.mischief(w)
	}
	w.lose, w.double, w.part, w.slowest = 0, 0, nil, 20*time.Millisecond
	for slices.ContainsFunc(w.living(), func(a *actor) bool { return a.drowsy }) {
		w.run(time.Second)
	}
	for _, a := range w.actors {
		if !a.up && w.rng.IntN(2) == 0 {
			w.comeBack(a)
		}
	}
	for _, a := range w.living() {
		if a.m.phase != gone {
			w.join(a, w.actors...)
		}
	}
	return w
}

// comeBack restarts a node; what it knew is gone or not, and so is the registry,
// until all is calm.
func (w *world) comeBack(a *actor) {
	known := a.m.Living()
	w.start(a)
	if w.rng.IntN(2) == 0 {
		a.m.Recall(known)
	}
	if w.rng.IntN(2) == 0 {
		w.join(a, w.actors...)
		return
	}
	w.join(a)
}

// mischief does one thing to one node, or to the network.
func (k kind) mischief(w *world) {
	a := w.actors[w.rng.IntN(len(w.actors))]
	what := w.rng.IntN(12)
	if !a.up {
		if what < 8 {
			w.comeBack(a)
		}
		return
	}
	for i, weight := range []int{k.crash, k.leave, k.sleep, k.part} {
		if what -= weight; what >= 0 {
			continue
		}
		switch i {
		case 0:
			w.crash(a)
		case 1:
			w.perform(a, a.m.Leave(w.now))
			w.after(time.Second, func() { w.crash(a) })
		case 2:
			w.sleep(a, time.Duration(w.rng.Int64N(int64(20*time.Second))))
		case 3:
			w.cut()
		}
		return
	}
}

// cut parts the network in two for a while, sometimes in one direction only.
func (w *world) cut() {
	side := make(map[*actor]bool)
	for _, a := range w.actors {
		side[a] = w.rng.IntN(2) == 0
	}
	oneWay := w.rng.IntN(4) == 0
	mine := func(from, to *actor) bool { return side[from] != side[to] && (!oneWay || side[from]) }
	w.part = mine
	w.after(time.Duration(w.rng.Int64N(int64(30*time.Second))), func() { w.part = nil })
}

func TestChaos(t *testing.T) {
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			longest := 0
			for seed := range seeds(t) {
				w := k.chaos(t, seed)
				longest = max(longest, w.settle(k.rounds))
				if wrong, lost, _ := w.lookups(50); wrong+lost > 0 {
					t.Fatalf("seed %d: %d lookups end wrong, %d do not end", seed, wrong, lost)
				}
				w.sent = 0
				w.run(10 * time.Second)
				if s := w.wrongs(); s != "" {
					t.Fatalf("seed %d: later on: %s", seed, s)
				}
				if each := float64(w.sent) / 10 / float64(len(w.actors)); each > 80 {
					t.Fatalf("seed %d: %.0f messages a node and second in a quiet ring", seed, each)
				}
			}
			t.Logf("right after at most %d rounds", longest)
		})
	}
}

// TestSameSeed: two histories of one seed are identical.
func TestSameSeed(t *testing.T) {
	for _, name := range []string{"everything", "chord trouble"} {
		for seed := range uint64(2) {
			var sums [2]string
			for i := range sums {
				w := kinds[name].chaos(t, seed)
				w.run(10 * time.Second)
				sums[i] = fmt.Sprintf("%x after %d messages", w.history.Sum64(), w.sent)
			}
			if sums[0] != sums[1] {
				t.Errorf("%s, seed %d: %s, then %s", name, seed, sums[0], sums[1])
			}
		}
	}
}
