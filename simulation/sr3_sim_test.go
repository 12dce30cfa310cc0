package simulation

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

const (
	chaosFor = 40 * time.Second
	peaceFor = 150 * time.Second
)

// runRing lets a world have its chaos and its peace, and then loses all tasks at
// once.
func runRing(cfg ringConfig, codec *shard.Codec, tracing bool) *ringWorld {
	w := newRingWorld(cfg, codec)
	w.tracing = tracing
	w.after(5*time.Second+w.millis(0, 3000), w.chaos)
	chaos := chaosFor
	if cfg.Seed%4 == 1 {
		w.after(15*time.Second, w.hush)
		chaos *= 2
	}
	if !w.run(chaos, nil) {
		return w
	}
	if cfg.Brutal && w.chance(2) {
		w.ravage()
	}
	w.soothe()
	if w.quiet && !w.mends() {
		return w
	}
	if w.recovers() || w.err != nil {
		return w
	}
	for _, id := range w.ids {
		w.kill(w.tasks[id], false)
	}
	if w.recovers() || w.err != nil {
		return w
	}
	if cfg.Seed%8 == 5 && !cfg.Brutal && !slices.ContainsFunc(w.hosts, func(h *ringHost) bool { return h.slow > 0 }) {
		long := versionOf(w.record.Committed)
		w.run(w.now+4*w.keepCfg.Grace, nil)
		if left := w.leftover(long); left != "" {
			w.broken("%s", left)
		}
	}
	return w
}

// mends ends the quiet of a world, before that once the nodes have brought back by
// themselves all copies that were lost.
func (w *ringWorld) mends() bool {
	if !w.cfg.Brutal && !w.run(w.now+peaceFor, w.whole) {
		if w.err == nil {
			w.broken("copies are missing, and nobody brings them: %s", w.stuck())
		}
		return false
	}
	w.quiet = false
	w.newLeader()
	return true
}

// recovers runs a world until all is well again, or never can be: then it is over.
func (w *ringWorld) recovers() (over bool) {
	before := w.record.Committed
	next := w.now + 10*time.Second
	lost := false
	done := w.run(w.now+peaceFor, func() bool {
		if w.now < next {
			return false
		}
		next = w.now + time.Second
		if !w.cfg.Brutal {
			return w.working(before) && w.whole()
		}
		settled, gone := w.settled()
		lost = gone
		return settled && (gone || w.working(before))
	})
	switch {
	case w.err != nil:
	case !done:
		w.broken("no end: %s", w.stuck())
	case lost:
		w.Counts.Lost++
		return true
	}
	return false
}

// stuck says what a world waits for.
func (w *ringWorld) stuck() string {
	s := fmt.Sprintf("record %+v", w.record)
	if w.leader != nil {
		s += fmt.Sprintf(", leader %v", w.leader.Phase())
	}
	for _, id := range w.ids {
		t := w.tasks[id]
		if t.down() {
			s += fmt.Sprintf("; task %d is down", id)
			continue
		}
		s += fmt.Sprintf("; task %d era %d open %v", id, t.task.Era(), t.task.Open())
		if l := t.loading; l != nil {
			s += fmt.Sprintf(" loading %v seeking %v waiting %v", l.v, l.seeking, l.waiting)
		}
	}
	for _, h := range w.hosts {
		if h.node == nil {
			s += fmt.Sprintf("; %s is down", h.id)
		} else if health := h.keeper.Health(); !health.Whole() || !h.machine.Complete() {
			s += fmt.Sprintf("; %s complete %v: %+v", h.id, h.machine.Complete(), health)
		}
	}
	return s
}

func ringSeedsOf(t *testing.T) (from, count uint64) {
	t.Helper()
	if *seedFlag >= 0 {
		return uint64(*seedFlag), 1
	}
	if env := os.Getenv("STORMRING_SEEDS"); env != "" {
		n, err := strconv.Atoi(env)
		if err != nil {
			t.Fatalf("STORMRING_SEEDS: %v", err)
		}
		return 0, uint64(n)
	}
	if *seedsFlag > 0 {
		return 0, uint64(*seedsFlag)
	}
	return 0, ringSeeds
}

// ringConfigOf is the world of a seed: every fifth is brutal, and each mode has
// its turn.
func ringConfigOf(seed uint64) ringConfig {
	return ringConfig{Seed: seed, Brutal: seed%5 == 4, Mode: ringModes[seed/4%4]}
}

func newRingCodec(t *testing.T) *shard.Codec {
	t.Helper()
	codec, err := shard.NewCodec(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

// explainRing runs a world again to show how it came to its end.
func explainRing(t *testing.T, w *ringWorld) {
	t.Helper()
	again := runRing(w.cfg, w.codec, true)
	t.Errorf("%v\nagain: go test ./simulation -run TestRingWorlds -args -seed %d -trace 1000", w.err, w.cfg.Seed)
	for _, line := range again.trace[max(0, len(again.trace)-*traceFlag):] {
		t.Log(line)
	}
}

// TestRingWorlds runs worlds of state on the ring: what is committed is never lost
// while fewer disks are than there are copies, and never wrong.
func TestRingWorlds(t *testing.T) {
	codec := newRingCodec(t)
	from, count := ringSeedsOf(t)
	// Worlds are small and make much garbage.
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	const lanes = 4
	sums := make([]ringCounts, lanes)
	t.Run("lanes", func(t *testing.T) {
		for lane := range uint64(lanes) {
			t.Run(strconv.FormatUint(lane, 10), func(t *testing.T) {
				t.Parallel()
				failed := 0
				for seed := from + lane; seed < from+count; seed += lanes {
					w := runRing(ringConfigOf(seed), codec, false)
					if w.err != nil {
						explainRing(t, w)
						if failed++; failed == 5 {
							return
						}
						continue
					}
					sums[lane].add(&w.Counts)
				}
			})
		}
	})
	var sum ringCounts
	for i := range sums {
		sum.add(&sums[i])
	}
	t.Logf("%+v", sum)
	if count < 100 || t.Failed() {
		return
	}
	for _, f := range (*ringWorld)(nil).faults() {
		if sum.Faults[f.name] == 0 {
			t.Errorf("no world has seen the fault %q", f.name)
		}
	}
	for _, m := range moments {
		if sum.Tempted[m] == 0 {
			t.Errorf("no world has seen a fault amid a %s", m)
		}
	}
	for what, n := range map[string]int{
		"commits": sum.Commits, "rollbacks": sum.Rollbacks, "loads": sum.Loads, "waits": sum.Waits, "short saves": sum.Short,
		"folds": sum.Folds, "repairs": sum.Repairs, "moves": sum.Moved, "sweeps": sum.Swept, "fenced writes": sum.Fenced, "losses": sum.Lost,
		"stars": sum.Modes[recovery.Star], "lines": sum.Modes[recovery.Line], "trees": sum.Modes[recovery.Tree],
	} {
		if n == 0 {
			t.Errorf("no world has seen %s", what)
		}
	}
}

func (c *ringCounts) add(n *ringCounts) {
	c.Commits += n.Commits
	c.Rollbacks += n.Rollbacks
	c.Loads += n.Loads
	c.Waits += n.Waits
	c.Short += n.Short
	c.Folds += n.Folds
	c.Repairs += n.Repairs
	c.Moved += n.Moved
	c.Swept += n.Swept
	c.Asked += n.Asked
	c.Offers += n.Offers
	c.Fenced += n.Fenced
	c.Lost += n.Lost
	c.Events += n.Events
	if c.Faults == nil {
		c.Faults, c.Tempted, c.Modes = make(map[string]int), make(map[string]int), make(map[recovery.Mode]int)
	}
	for k, v := range n.Faults {
		c.Faults[k] += v
	}
	for k, v := range n.Tempted {
		c.Tempted[k] += v
	}
	for k, v := range n.Modes {
		c.Modes[k] += v
	}
}

// The same seed is the same world, event by event.
func TestRingWorldsReplay(t *testing.T) {
	codec := newRingCodec(t)
	// Each mode, with and without brutality and quiet.
	seeds := []uint64{0, 4, 9, 13, 5, 8, 12, 14, 3}
	for _, seed := range seeds[:1+ringSeeds/12] {
		a, b := runRing(ringConfigOf(seed), codec, false), runRing(ringConfigOf(seed), codec, false)
		if a.history.Sum64() != b.history.Sum64() || a.Counts.Events != b.Counts.Events {
			t.Errorf("seed %d has two histories: %x of %d events and %x of %d", seed, a.history.Sum64(), a.Counts.Events, b.history.Sum64(), b.Counts.Events)
		}
	}
}

// The checks find what is done wrong on purpose.
func TestRingChecksFindBugs(t *testing.T) {
	codec := newRingCodec(t)
	for bug, says := range map[string]string{
		"forgets":           "hosts, was on", // says that an object is stored, and it is not
		"believes":          "hosts, was on", // lets copies go that others did not confirm
		"drops a delta":     "of words-1",    // leaves a delta out of a manifest
		"mixes versions":    "",              // sends a newer object than was asked for
		"counts the silent": "hosts, was on", // takes a holder that did not answer for one that has it
		"no fence":          "older than",    // takes what an older placement writes
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(200) {
				cfg := ringConfigOf(seed)
				cfg.Bug = bug
				w := runRing(cfg, codec, false)
				if w.err == nil {
					continue
				}
				if !strings.Contains(w.err.Error(), says) {
					t.Errorf("found as: %v", w.err)
				}
				t.Log(w.err)
				return
			}
			t.Error("it is not found")
		})
	}
}
