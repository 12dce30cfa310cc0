package checkpoint

import (
	"flag"
	"testing"
)

var (
	worlds = flag.Int("worlds", 200, "number of simulated worlds")
	seed   = flag.Uint64("seed", 0, "the first seed")
)

// run lets a world have its chaos and then its peace.
func run(seed uint64) *world {
	w := newWorld(seed)
	for range 500 + w.rng.IntN(3000) {
		w.step()
	}
	w.chaos = false
	const enough = 60_000
	n := 0
	for ; n < enough && !w.finished(); n++ {
		w.step()
	}
	if n == enough {
		w.fail("no end after %d steps of peace: record %+v, coordinator %v missing %v", enough, w.record, w.leader.Phase(), w.leader.waitsFor())
	}
	// Checkpoints go on.
	for before := w.commits; w.commits < before+2; n++ {
		if n > 2*enough {
			w.fail("checkpoints have stopped: %v", w.leader.Phase())
		}
		w.step()
	}
	return w
}

// Run go test -run Worlds -seed N -worlds 1 to replay a seed that failed.
func TestWorlds(t *testing.T) {
	total := map[string]int{}
	n := *worlds
	if raceEnabled {
		n = min(n, 30) // nothing here is concurrent
	}
	for i := range n {
		w := run(*seed + uint64(i))
		total["commits"] += w.commits
		total["dropped"] += w.drops
		total["held"] += w.held
		for k, n := range w.gaveUp {
			total[k] += n
		}
	}
	t.Log(total)
	if n >= 100 {
		for _, k := range []string{"commits", "dropped", "held", "rollback", "abandon", "slow", "ended"} {
			if total[k] == 0 {
				t.Errorf("no world has seen %q: %v", k, total)
			}
		}
	}
}

func TestWorldsReplay(t *testing.T) {
	for s := range uint64(5) {
		a, b := run(s), run(s)
		if a.trace != b.trace || a.commits != b.commits {
			t.Errorf("seed %d has two histories: %x and %x", s, a.trace, b.trace)
		}
	}
}
