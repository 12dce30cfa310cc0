package simulation

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	seedsFlag = flag.Int("seeds", 0, "runs of each kind of world; 0 is STORMRING_SEEDS, or a few")
	seedFlag  = flag.Int64("seed", -1, "run this seed only, with a trace if it fails")
	traceFlag = flag.Int("trace", 60, "lines of the trace to show")
)

// worlds are the kinds of world there are.
var worlds = map[string]Config{
	"calm":        {},
	"users":       {Fail: 20, Forget: 10, Hold: 300, Reset: 300},
	"cuts":        {Hold: 200, Cut: 20},
	"crashes":     {Hold: 200, Crash: 4},
	"crash often": {Hold: 300, Reset: 200, Crash: 15},
	"losses":      {Hold: 200, Lose: 30},
	"everything":  {Fail: 10, Forget: 5, Hold: 300, Reset: 200, Crash: 3, Cut: 10, Lose: 5},
	"slow users":  {Forget: 2, Hold: 800, Reset: 600, Crash: 1},
}

func seeds(t *testing.T) []uint64 {
	t.Helper()
	if *seedFlag >= 0 {
		return []uint64{uint64(*seedFlag)}
	}
	n := fewSeeds
	if env := os.Getenv("STORMRING_SEEDS"); env != "" {
		var err error
		if n, err = strconv.Atoi(env); err != nil {
			t.Fatalf("STORMRING_SEEDS: %v", err)
		}
	}
	if *seedsFlag > 0 {
		n = *seedsFlag
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(i)
	}
	return out
}

// run runs one world.
func run(t *testing.T, c Config, trace func(string)) (Counts, error) {
	t.Helper()
	c.Steps, c.Messages = 1500, 15
	w, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if trace != nil {
		w.Trace(trace)
	}
	err = w.Run()
	return w.Counts, err
}

// explain runs a world again to show how it came to its end.
func explain(t *testing.T, name string, c Config) {
	t.Helper()
	var lines []string
	_, err := run(t, c, func(line string) { lines = append(lines, line) })
	lines = lines[max(0, len(lines)-*traceFlag):]
	t.Errorf("%v\nagain: go test ./simulation -run 'TestWorlds/%s' -seed %d -trace %d", err, name, c.Seed, *traceFlag)
	for _, line := range lines {
		t.Log(line)
	}
}

func TestWorlds(t *testing.T) {
	for name, c := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sum Counts
			for _, seed := range seeds(t) {
				c.Seed = seed
				n, err := run(t, c, nil)
				if err != nil {
					explain(t, name, c)
					return
				}
				sum.add(&n)
			}
			t.Logf("%+v", sum)
			if sum.Emitted < 5000 {
				return // too few to judge
			}
			// Worlds in which nothing happens prove nothing.
			for what, dead := range map[string]bool{
				"acks": sum.Acked == 0, "failures": c.Fail > 0 && sum.Failed == 0, "time-outs": c.Forget > 0 && sum.TimedOut == 0,
				"joins": c.Hold > 0 && sum.Joins == 0, "resets": c.Reset > 0 && sum.Resets == 0,
				"crashes": c.Crash > 0 && sum.Crashes == 0, "cuts": c.Cut > 0 && sum.Cuts == 0, "losses": c.Lose > 0 && sum.Lost == 0,
			} {
				if dead {
					t.Errorf("no %s", what)
				}
			}
		})
	}
}

func (c *Counts) add(n *Counts) {
	c.Emitted += n.Emitted
	c.Acked += n.Acked
	c.Failed += n.Failed
	c.TimedOut += n.TimedOut
	c.Crashes += n.Crashes
	c.Cuts += n.Cuts
	c.Lost += n.Lost
	c.Joins += n.Joins
	c.Resets += n.Resets
}

func TestSameSeedSameWorld(t *testing.T) {
	c := worlds["everything"]
	c.Seed = 7
	var first, second []string
	run(t, c, func(line string) { first = append(first, line) })
	run(t, c, func(line string) { second = append(second, line) })
	if len(first) < 1000 || !slices.Equal(first, second) {
		t.Errorf("traces of %d and %d lines differ", len(first), len(second))
	}
}

// The checks find what is wrong with a bolt that tells of children early: if
// its messages are lost, or its acker's worker dies, a tree can look done.
func TestChecksFindUnsafeAcking(t *testing.T) {
	for _, name := range []string{"losses", "crash often"} {
		c := worlds[name]
		c.EdgesAtOnce = true
		for c.Seed = range 1000 {
			if _, err := run(t, c, nil); err != nil {
				if !strings.Contains(err.Error(), "is acked though") {
					t.Error(err)
				}
				t.Log(err)
				break
			}
			if c.Seed == 999 {
				t.Errorf("%s: unsafe acking is not found", name)
			}
		}
	}
}
