package local

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/storm"
)

var (
	seedsFlag = flag.Int("seeds", 0, "runs of each kind of chaos; 0 is a few")
	seedFlag  = flag.Uint64("seed", 0, "the seed to begin with")
)

// trial is a kind of chaos.
type trial struct {
	name    string
	workers int
	ids     int // messages of each spout task
	plan    plan
	// conf goes on top of what all trials have.
	conf storm.Config
	// seeds is how many runs there are if no flag says otherwise.
	seeds int
}

// trials are run in virtual time, with the workers' connections in memory.
var trials = []trial{
	{name: "calm", workers: 3, ids: 100, seeds: 1},
	{name: "failing bolts", workers: 1, ids: 100, plan: plan{fail: 7}, seeds: 3},
	{name: "failing bolts and timeouts", workers: 2, ids: 60, plan: plan{fail: 7, forget: 50}, seeds: 3},
	{name: "bolts panic", workers: 3, ids: 80, plan: plan{panicIn: "split join sink audit", panics: 4}, seeds: 4},
	{name: "spouts panic", workers: 3, ids: 80, plan: plan{panicIn: "alpha beta", panics: 4}, seeds: 4},
	{name: "one worker panics", workers: 1, ids: 60, plan: plan{panicIn: "alpha beta split join sink audit", panics: 4}, seeds: 3},
	{name: "links are cut", workers: 3, ids: 100, plan: plan{cuts: 20}, seeds: 5},
	{name: "links go silent", workers: 3, ids: 80, plan: plan{cuts: 8, silent: true}, seeds: 5},
	{
		name: "everything", workers: 3, ids: 60, seeds: 8,
		plan: plan{fail: 20, forget: 100, panicIn: "alpha beta split join sink audit", panics: 5, cuts: 15, silent: true},
	},
	{
		name: "everything, little room", workers: 4, ids: 60, seeds: 4,
		plan: plan{fail: 20, forget: 100, panicIn: "alpha beta split join sink audit", panics: 5, cuts: 15},
		conf: storm.Config{"topology.executor.receive.buffer.size": 8, "stormring.batch.size": 4, "topology.max.spout.pending": 20},
	},
}

func (tl *trial) runs() []uint64 {
	n := tl.seeds
	if *seedsFlag > 0 {
		n = *seedsFlag
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = *seedFlag + uint64(i)
	}
	return seeds
}

// start makes a topology for one run.
func (tl *trial) start(t *testing.T, seed uint64, m *mesh) (*Topology, *truth) {
	t.Helper()
	c := newChaos(tl.plan, m, seed)
	tr := newTruth(t, seed, tl.ids, c)
	conf := storm.Config{
		"topology.workers": tl.workers, "topology.acker.executors": 1 + c.below(3),
		"topology.message.timeout.secs": 1 + c.below(2), "topology.max.spout.pending": 5 + c.below(60),
		"topology.sleep.spout.wait.strategy.time.ms": 50, // virtual time is cheap, but not free
	}
	maps.Copy(conf, tl.conf)
	top, err := New(Options{
		Name: "trial", Instance: &storm.Instance{Topology: trialTopology(t, tr, c.oneIn(2))},
		Conf: conf, OnError: tr.onError,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.use(top)
	return top, tr
}

// finish runs the topology to its end and holds the result against the truth.
func finish(t *testing.T, top *Topology, tr *truth, patience time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	res, err := top.Run(ctx)
	if err != nil {
		tr.errorf("Run: %v", err)
	}
	if res.Partial || res.Interrupted || res.Undrained != 0 {
		tr.errorf("result %+v", res)
	}
	c := tr.chaos
	if res.Restarts < min(len(c.fired), 1) || res.Restarts > len(c.fired) {
		tr.errorf("%d restarts after %d panics", res.Restarts, len(c.fired))
	}
	tr.complete(spoutTasks)
	tr.reported()
	if top.Progress().Pending != 0 {
		tr.errorf("%d trees are pending in the end", top.Progress().Pending)
	}
}

func TestChaosInVirtualTime(t *testing.T) {
	for _, tl := range trials {
		t.Run(tl.name, func(t *testing.T) {
			t.Parallel()
			var panics, replays, cuts, fails int
			for _, seed := range tl.runs() {
				ok := t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						m := newMemory()
						defer m.close()
						top, tr := tl.start(t, seed, m)
						finish(t, top, tr, 10*time.Minute)
						panics, replays, cuts, fails = panics+len(tr.chaos.fired), replays+tr.replays, cuts+m.cuts, fails+tr.chaos.failed
					})
				})
				if !ok {
					return
				}
			}
			// Chaos in which nothing happens proves nothing.
			if p := &tl.plan; p.panics > 0 && panics == 0 || p.cuts > 0 && cuts == 0 || p.fail > 0 && fails == 0 {
				t.Errorf("too little happened")
			}
			t.Logf("%d runs: %d panics, %d cuts, %d failed tuples, %d replays", len(tl.runs()), panics, cuts, fails, replays)
		})
	}
}

// The same with sockets and real time, all seeds at once.
func TestChaosOverTCP(t *testing.T) {
	t.Parallel()
	tl := trial{
		workers: 3, ids: 200, seeds: 4, conf: storm.Config{"topology.message.timeout.secs": 1},
		plan: plan{fail: 50, panicIn: "alpha beta split join sink audit", panics: 3, cuts: 12},
	}
	var wg sync.WaitGroup
	for _, seed := range tl.runs() {
		m := newTCP()
		top, tr := tl.start(t, seed, m)
		wg.Go(func() {
			defer m.close()
			finish(t, top, tr, time.Minute)
			t.Logf("seed %d: %d panics, %d cuts, %d replays", seed, len(tr.chaos.fired), m.cuts, tr.replays)
		})
	}
	wg.Wait()
}
