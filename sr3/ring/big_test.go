package ring

import (
	"fmt"
	"math"
	"os"
	"testing"
	"time"
)

// chordOnly is a Config without a full list: what holds in the largest rings.
func chordOnly() Config {
	c := Default()
	c.FullView = 0
	return c
}

func TestLookupsOnStableRings(t *testing.T) {
	for _, n := range []int{16, 256, 4096, 10_000} {
		if n > largest {
			continue
		}
		w := newWorld(t, uint64(n), chordOnly(), n, 1)
		w.stable()
		w.run(200 * time.Millisecond)
		wrong, lost, hops := w.lookups(2000)
		if s := w.wrongs(); s != "" {
			t.Errorf("%d nodes: %s", n, s)
		}
		if wrong != 0 || lost != 0 {
			t.Errorf("%d nodes: %d lookups end wrong, %d do not end", n, wrong, lost)
		}
		if most := math.Log2(float64(n))/2 + 1; hops > most {
			t.Errorf("%d nodes: %.2f hops a lookup, at most %.2f", n, hops, most)
		}
		t.Logf("%d nodes: %.2f hops, limit %.2f", n, hops, math.Log2(float64(n))/2+1)
	}
}

// TestCrashTogether: after a fifth of all nodes crashed together, all successors,
// and so all lookups, are right after 10 stabilisation rounds (of 1 s; the
// failure detector alone takes about five), and all else after 25.
func TestCrashTogether(t *testing.T) {
	sizes := []int{16, 256}
	if os.Getenv("STORMRING_SEEDS") != "" {
		sizes = append(sizes, 4096, 10_000) // a minute
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t, uint64(n), chordOnly(), n, 1)
			w.stable()
			w.run(2 * time.Second)
			for _, i := range w.rng.Perm(n)[:n/5] {
				w.crash(w.actors[i])
			}
			rounds := w.until(w.wrongSuccessors, 10)
			wrong, lost, hops := w.lookups(500)
			if wrong+lost > 0 {
				t.Errorf("%d lookups end wrong, %d do not end", wrong, lost)
			}
			all := rounds + w.settle(25-rounds)
			t.Logf("successors right after %d rounds, %.2f hops; all right after %d", rounds, hops, all)
		})
	}
}
