package executor_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stormring/stormring/storm"
)

// flaky plays a topology in which bolts fail tuples at random.
type flaky struct {
	t    *testing.T
	ids  int64
	done chan struct{}

	mu    sync.Mutex
	seen  map[int64]map[string]int // by id: how often each bolt has got it
	acked map[int64]int
	fails int
}

// replaying is a spout that emits each id until it is acked.
func (f *flaky) replaying() *actorSpout {
	next := int64(0)
	var again []storm.Value
	emit := func(s *actorSpout, id storm.Value) { s.out.EmitTracked(id, id) }
	return &actorSpout{
		next: func(s *actorSpout) error {
			switch {
			case len(again) > 0:
				emit(s, again[0])
				again = again[1:]
			case next < f.ids:
				next++
				emit(s, storm.Int(next))
			}
			return nil
		},
		fail: func(_ *actorSpout, id storm.Value) {
			again = append(again, id)
			f.mu.Lock()
			f.fails++
			f.mu.Unlock()
		},
		ack: func(_ *actorSpout, v storm.Value) {
			id, _ := v.AsInt()
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.acked[id]++; len(f.acked) == int(f.ids) && f.acked[id] == 1 {
				close(f.done)
			}
		},
	}
}

// saw notes that a bolt executes a tuple.
func (f *flaky) saw(bolt string, t *storm.Tuple) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := t.Int(0)
	if f.seen[id] == nil {
		f.seen[id] = map[string]int{}
	}
	f.seen[id][bolt]++
}

// bolt fails every seventh tuple at random, holds some back, and emits the
// others one to three times.
func (f *flaky) bolt(name string, seed uint64, emits bool) actorBolt {
	random := rand.New(rand.NewPCG(seed, 7))
	return actorBolt{execute: func(b *actorBolt, t storm.Tuple) error {
		f.saw(name, &t)
		if emits {
			for range 1 + random.IntN(3) {
				b.out.Emit(&t, t.Value(0))
			}
		}
		switch random.IntN(14) {
		case 0, 1:
			b.out.Fail(&t)
		case 2, 3: // settled later, with a join if something else is held
			b.held = append(b.held, t)
			if len(b.held) == 3 {
				if emits {
					b.out.EmitAnchors(storm.DefaultStream, b.held, b.held[0].Value(0))
				}
				b.settle(b.out.Ack)
			}
		default:
			b.out.Ack(&t)
		}
		return nil
	}}
}

// TestEveryTupleIsAckedInTheEnd loses nothing though bolts fail, hold back and
// join tuples at random while time-outs pass.
func TestEveryTupleIsAckedInTheEnd(t *testing.T) {
	for seed := range uint64(3) {
		f := &flaky{t: t, ids: 1500, done: make(chan struct{}), seen: map[int64]map[string]int{}, acked: map[int64]int{}}
		r := newRig(t, settings{ackers: int(seed) + 1, maxPending: 100, batch: 8, limit: 64}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(*f.replaying()), 1)
			b.SetBolt("a", func() storm.Bolt { return c.bolt(f.bolt("a", seed, true))() }, 2).FieldsGrouping("s", "x")
			b.SetBolt("b", func() storm.Bolt { return c.bolt(f.bolt("b", seed+100, false))() }, 2).SetNumTasks(3).ShuffleGrouping("a")
		})
		r.spout("s").SetActive(true)
		f.rotateUntilDone(r)
		r.stop()
		f.check(r)
	}
}

// rotateUntilDone lets time-outs pass while the topology gets somewhere: what
// bolts hold back comes again.
func (f *flaky) rotateUntilDone(r *rig) {
	stuck := 0
	for {
		select {
		case <-f.done:
			return
		default:
		}
		f.mu.Lock()
		before := len(f.acked)
		f.mu.Unlock()
		// A time-out must be longer than a tree takes, or all trees time out.
		waited := make(chan struct{})
		r.of("a")[0].tuples.Urge(func() { close(waited) })
		<-waited
		f.mu.Lock()
		if len(f.acked) == before {
			stuck++
		} else {
			stuck = 0
		}
		f.mu.Unlock()
		if stuck > 200 {
			stuck = 0
			for _, u := range r.units {
				if x, ok := u.exec.(interface{ Rotate() }); ok {
					x.Rotate()
				}
			}
		}
	}
}

func (f *flaky) check(r *rig) {
	t := f.t
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(r.ended) != 0 {
		t.Errorf("ended with %v", r.ended)
	}
	for id := int64(1); id <= f.ids; id++ {
		if f.acked[id] != 1 {
			t.Errorf("id %d was acked %d times", id, f.acked[id])
		}
		if f.seen[id]["a"] == 0 || f.seen[id]["b"] == 0 {
			t.Errorf("id %d was processed %v", id, f.seen[id])
		}
	}
	if f.fails < int(f.ids)/7 {
		t.Errorf("only %d fails: the bolts do not do what they should", f.fails)
	}
	if w := r.window("s"); w.Acked != uint64(f.ids) || w.Failed != uint64(f.fails) {
		t.Errorf("the statistics count %d acked and %d failed, want %d and %d", w.Acked, w.Failed, f.ids, f.fails)
	}
}
