package simulation

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/shard"
)

// ringSeeds is how many worlds of state on the ring there are by default.
const ringSeeds = 100

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
	if !w.run(chaosFor, nil) {
		return w
	}
	w.soothe()
	until := w.now + peaceFor
	for round := range 2 {
		before := w.record.Committed
		next := w.now
		done := w.run(until, func() bool {
			if w.now < next {
				return false
			}
			next = w.now + time.Second
			return w.working(before) && (cfg.Brutal || w.whole()) || cfg.Brutal && w.now > chaosFor+20*time.Second && w.lost()
		})
		if w.err != nil {
			return w
		}
		if cfg.Brutal && w.lost() {
			w.Counts.Lost++
			return w
		}
		if !done {
			w.broken("no end: %s", w.stuck())
			return w
		}
		if round == 0 {
			for _, id := range w.ids {
				w.kill(w.tasks[id], false)
			}
		}
	}
	return w
}

// stuck says what a world waits for.
func (w *ringWorld) stuck() string {
	s := fmt.Sprintf("record %+v, leader %v", w.record, w.leader.Phase())
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
	return ringConfig{Seed: seed, Brutal: seed%5 == 4, Mode: ringModes[seed%4]}
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
	t.Errorf("%v\nagain: go test ./simulation -run TestRingWorlds -seed %d -trace 1000", w.err, w.cfg.Seed)
	for _, line := range again.trace[max(0, len(again.trace)-*traceFlag):] {
		t.Log(line)
	}
}

func TestRingWorlds(t *testing.T) {
	codec := newRingCodec(t)
	from, count := ringSeedsOf(t)
	const lanes = 4
	for lane := range uint64(lanes) {
		t.Run(strconv.FormatUint(lane, 10), func(t *testing.T) {
			t.Parallel()
			for seed := from + lane; seed < from+count; seed += lanes {
				w := runRing(ringConfigOf(seed), codec, false)
				if w.err != nil {
					explainRing(t, w)
					return
				}
				t.Logf("seed %d: %+v", seed, w.Counts)
			}
		})
	}
}
