package executor_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stormring/stormring/storm"
)

// blocked is a chain whose bolt b does not run, so that a is held up when its
// inbox is full.
func blocked(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, settings{ackers: 1, batch: 1, limit: 2, absent: "b"}, passing)
	r.activate(true)
	r.emit("s", 1, 2)
	r.emit("s", 3)
	return r
}

// take is what was queued for an absent bolt.
func (r *rig) take(component string) (n int) {
	batches, _, _ := r.of(component)[0].tuples.Take(nil)
	for _, b := range batches {
		n += len(b.Tuples)
	}
	synctest.Wait()
	return n
}

func TestBackPressureReachesTheSpout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		emitted := int64(0)
		r := newRig(t, settings{ackers: 1, batch: 1, limit: 2, absent: "b"}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{next: func(s *actorSpout) error {
				emitted++
				s.out.Emit(storm.Int(emitted))
				return nil
			}}), 1)
			b.SetBolt("a", c.bolt(actorBolt{execute: pass}), 1).ShuffleGrouping("s")
			b.SetBolt("b", c.bolt(actorBolt{}), 1).ShuffleGrouping("a")
		})
		r.activate(true)
		before := emitted
		if before > 10 {
			t.Errorf("%d tuples were emitted against the pressure", before)
		}
		for range 100 {
			if n := r.take("b"); n != 2 {
				t.Fatalf("%d tuples were queued, want 2", n)
			}
		}
		if n := emitted - before; n < 195 || n > 205 {
			t.Errorf("%d tuples were emitted for 200 taken", n)
		}
	})
}

func TestDoWhileBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := blocked(t)
		called := false
		a := r.actorBolt("a")
		r.do(a.out.Do, func() { called = true }) // returns, though a is held up
		if called {
			t.Fatal("called while the task was held up: two goroutines would use it")
		}
		if n := r.take("b"); n != 2 || !called {
			t.Errorf("%d tuples taken, called %t", n, called)
		}
	})
}

func TestDoWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := blocked(t)
		a := r.actorBolt("a")
		ctx, cancel := context.WithCancel(t.Context())
		calls, accepted := 0, 0
		var all sync.WaitGroup
		var mu sync.Mutex
		for range 1100 {
			all.Go(func() {
				err := a.out.Do(ctx, func() { calls++ })
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					accepted++
				} else if !errors.Is(err, context.Canceled) {
					t.Errorf("error is %v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		if accepted != 1024 || calls != 0 {
			t.Errorf("%d accepted, %d called", accepted, calls)
		}
		r.take("b")
		if calls != accepted {
			t.Errorf("%d accepted, %d called in the end", accepted, calls)
		}
	})
}

func TestDoAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 1}, chain)
		r.activate(true)
		a, s := r.actorBolt("a"), r.actorSpout("s")
		r.stop()
		for _, do := range []func(context.Context, func()) error{a.out.Do, s.out.Do} {
			if err := do(t.Context(), func() { t.Error("called") }); !errors.Is(err, storm.ErrStopped) {
				t.Errorf("error is %v", err)
			}
		}
	})
}

func TestCloseReleasesABlockedExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := blocked(t)
		a := r.actorBolt("a")
		for range 1024 {
			if err := a.out.Do(t.Context(), func() {}); err != nil {
				t.Fatal(err)
			}
		}
		waiting := make(chan error, 1)
		go func() { waiting <- a.out.Do(t.Context(), func() {}) }()
		synctest.Wait()
		r.of("a")[0].exec.Close()
		if err := <-waiting; !errors.Is(err, storm.ErrStopped) {
			t.Errorf("error is %v", err)
		}
		r.stop() // b's inbox closes, which ends a too
		if len(r.ended) != 0 {
			t.Errorf("ended with %v", r.ended)
		}
	})
}

// TestDoFromManyGoroutines has each input answered by a goroutine of its own.
func TestDoFromManyGoroutines(t *testing.T) {
	const n = 2000
	var answers sync.WaitGroup
	acks, sum := 0, int64(0)
	done := make(chan struct{})
	r := newRig(t, settings{ackers: 2, batch: 16, maxPending: 200, limit: 50}, func(b *storm.TopologyBuilder, c *cast) {
		b.SetSpout("s", c.spout(actorSpout{next: counting(n), ack: func(*actorSpout, storm.Value) {
			if acks++; acks == n {
				close(done)
			}
		}}), 1)
		b.SetBolt("a", c.bolt(actorBolt{execute: func(b *actorBolt, tp storm.Tuple) error {
			answers.Go(func() {
				if err := b.out.Do(context.Background(), func() {
					b.out.Emit(&tp, storm.Int(2*tp.Int(0)))
					b.out.Ack(&tp)
				}); err != nil {
					t.Error(err)
				}
			})
			return nil
		}}), 2).ShuffleGrouping("s")
		b.SetBolt("b", c.bolt(actorBolt{execute: func(b *actorBolt, t storm.Tuple) error {
			sum += t.Int(0)
			b.out.Ack(&t)
			return nil
		}}), 1).ShuffleGrouping("a")
	})
	r.spout("s").SetActive(true)
	<-done
	answers.Wait()
	r.stop()
	if want := int64(n * (n + 1)); sum != want || len(r.ended) != 0 {
		t.Errorf("sum is %d, want %d; ended %v", sum, want, r.ended)
	}
}
