package executor_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/executor"
)

// counting emits tracked tuples with ids 1, 2, … up to last, one a call.
func counting(last int64) func(s *actorSpout) error {
	next := map[storm.TaskID]int64{}
	return func(s *actorSpout) error {
		if next[s.task] < last {
			next[s.task]++
			s.out.EmitTracked(storm.Int(next[s.task]), storm.Int(next[s.task]))
		}
		return nil
	}
}

func TestMaxSpoutPendingIsExact(t *testing.T) {
	for _, batch := range []int{1, 3, 100} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, settings{ackers: 1, maxPending: 3, batch: batch}, func(b *storm.TopologyBuilder, c *cast) {
				b.SetSpout("s", c.spout(actorSpout{next: counting(1000)}), 1).SetNumTasks(2)
				b.SetBolt("a", c.bolt(actorBolt{}), 1).ShuffleGrouping("s")
			})
			r.activate(true)
			for round := range 10 {
				held := r.actorBolt("a").held
				perTask := map[storm.TaskID]int{}
				for i := range held {
					perTask[held[i].SourceTask()]++
				}
				if len(held) != 6 || perTask[r.l.Tasks["s"][0]] != 3 || perTask[r.l.Tasks["s"][1]] != 3 {
					t.Fatalf("batch size %d, round %d: in flight are %v", batch, round, perTask)
				}
				if st := r.spout("s").State(); st.Pending != 6 || st.Exhausted {
					t.Fatalf("state is %+v", st)
				}
				settle := func(b *actorBolt) {
					if round%2 == 0 {
						b.out.Ack(&b.held[0])
					} else {
						b.out.Fail(&b.held[0])
					}
					b.held = b.held[1:]
				}
				r.at("a", settle)
			}
			if got := r.actorSpout("s").out.Pending(); got != 3 {
				t.Errorf("the collector says %d", got)
			}
		})
	}
}

func TestPendingDoesNotCountUntrackedTuples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r := newRig(t, settings{ackers: 1, maxPending: 1}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{next: func(s *actorSpout) error {
				if n++; n <= 50 {
					s.out.Emit(storm.Int(int64(n)))
				}
				return nil
			}}), 1)
			b.SetBolt("a", c.bolt(actorBolt{}), 1).ShuffleGrouping("s")
		})
		r.activate(true)
		if got := len(r.actorBolt("a").held); got != 50 {
			t.Errorf("%d tuples came", got)
		}
	})
}

func TestWithoutAckersPendingDoesNotLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{maxPending: 1}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{next: counting(20)}), 1)
			b.SetBolt("a", c.bolt(actorBolt{}), 1).ShuffleGrouping("s")
		})
		r.activate(true)
		if got := strings.Count(r.cast.since(), "ack "); got != 20 {
			t.Errorf("%d acks", got)
		}
	})
}

// activeSpout is an actor that notes when it is activated.
type activeSpout struct{ actorSpout }

func (s *activeSpout) Activate()   { s.cast.note("activate") }
func (s *activeSpout) Deactivate() { s.cast.note("deactivate") }

func TestActivation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 1, maxPending: 1}, func(b *storm.TopologyBuilder, c *cast) {
			next := counting(1000)
			b.SetSpout("s", func() storm.Spout {
				return &activeSpout{actorSpout{
					cast: c, next: next,
					open: func(*actorSpout, *storm.TopologyContext) error { c.note("open"); return nil },
					shut: func() error { c.note("close"); return nil },
				}}
			}, 1)
			b.SetBolt("a", c.bolt(actorBolt{execute: func(b *actorBolt, t storm.Tuple) error {
				b.held = append(b.held, t)
				c.note("got %v", t.Value(0))
				return nil
			}}), 1).ShuffleGrouping("s")
		})
		r.cast.expect(t, "") // not opened while the topology has never been active
		r.activate(false)
		r.cast.expect(t, "")
		if st := r.spout("s").State(); !st.Paused {
			t.Errorf("deactivated before the first activation: %+v", st)
		}
		r.activate(true)
		r.cast.expect(t, "open, activate, got 1")
		r.activate(true)
		r.cast.expect(t, "")
		r.activate(false)
		r.cast.expect(t, "deactivate")
		if st := r.spout("s").State(); !st.Paused || st.Pending != 1 {
			t.Errorf("deactivated: %+v", st)
		}
		r.ackAll("a") // acks arrive all the same, but nothing new is emitted
		r.cast.expect(t, "ack 1")
		r.activate(true)
		r.cast.expect(t, "activate, got 2")
		r.activate(false)
		r.rotate()
		r.rotate() // and so do time-outs
		r.cast.expect(t, "deactivate, fail 2")
		r.of("s")[0].exec.Close()
		r.cast.expect(t, "close")
	})
}

func TestSpoutNeverActiveClosesQuietly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 1}, chain)
		r.rotate()
		r.stop()
		if len(r.ended) != 0 {
			t.Errorf("ended with %v", r.ended)
		}
		r.cast.expect(t, "")
	})
}

// boundedSpout is an actor that ends.
type boundedSpout struct {
	actorSpout
	left *int
}

func (s *boundedSpout) Exhausted() bool { return *s.left == 0 }

func TestBoundedSpouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, calls := 3, 0
		r := newRig(t, settings{ackers: 1}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", func() storm.Spout {
				return &boundedSpout{actorSpout{cast: c, next: func(s *actorSpout) error {
					calls++
					if left > 0 {
						s.out.EmitTracked(storm.Int(int64(left)), storm.Int(int64(left)))
						left--
					}
					return nil
				}, fail: func(s *actorSpout, id storm.Value) {
					c.note("fail %v", id)
					left++
				}}, &left}
			}, 1)
			b.SetBolt("a", c.bolt(actorBolt{}), 1).ShuffleGrouping("s")
		})
		spout := r.spout("s")
		if st := spout.State(); st.Exhausted {
			t.Errorf("exhausted before it is opened: %+v", st)
		}
		r.activate(true)
		if st := spout.State(); !st.Exhausted || st.Pending != 3 || calls != 4 {
			t.Errorf("after the end: %+v, %d calls of NextTuple", st, calls)
		}
		r.at("a", func(b *actorBolt) {
			b.out.Ack(&b.held[0])
			b.out.Fail(&b.held[1])
			b.held = b.held[2:]
		})
		// The failed one was emitted again, by NextTuple.
		r.cast.expect(t, "ack 3, fail 2")
		if st := spout.State(); !st.Exhausted || st.Pending != 2 || calls != 6 {
			t.Errorf("after a fail: %+v, %d calls of NextTuple", st, calls)
		}
		r.ackAll("a")
		r.cast.expect(t, "ack 1, ack 1")
		if st := spout.State(); st != (executor.SpoutState{Exhausted: true}) || calls != 6 {
			t.Errorf("in the end: %+v, %d calls of NextTuple", st, calls)
		}
		if sent, done := r.flows(); sent != 4 || done != 4 {
			t.Errorf("%d sent, %d done", sent, done)
		}
	})
}

// TestEmissionsOfAckAreSettled has Ack emit on a stream that nobody reads when
// NextTuple is not called any more.
func TestEmissionsOfAckAreSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 1
		r := newRig(t, settings{ackers: 1}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", func() storm.Spout {
				return &boundedSpout{actorSpout{cast: c, next: func(s *actorSpout) error {
					if left > 0 {
						left--
						s.out.EmitTracked(storm.Int(1), storm.Int(1))
					}
					return nil
				}, declare: func(d *storm.OutputFieldsDeclarer) {
					d.Declare("x")
					d.DeclareStream("log", "x")
				}, ack: func(s *actorSpout, id storm.Value) {
					c.note("ack %v", id)
					if n, _ := id.AsInt(); n == 1 {
						s.out.EmitStream("log", storm.Int(2), id)
					}
				}}, &left}
			}, 1)
			b.SetBolt("a", c.bolt(actorBolt{}), 1).ShuffleGrouping("s")
		})
		r.activate(true)
		r.ackAll("a")
		r.cast.expect(t, "ack 1, ack 2")
	})
}

func TestFailMayEmitAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 1}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{fail: func(s *actorSpout, id storm.Value) {
				c.note("fail %v", id)
				s.out.EmitTracked(id, id)
			}}), 1)
			b.SetBolt("a", c.bolt(actorBolt{}), 1).ShuffleGrouping("s")
		})
		r.activate(true)
		r.emit("s", 1, 2)
		for range 3 {
			r.failAll("a")
			r.cast.expect(t, "fail 1, fail 2")
		}
		r.rotate()
		r.rotate()
		r.cast.expect(t, "fail 1, fail 2")
		r.at("a", func(b *actorBolt) {
			if len(b.held) != 4 {
				t.Errorf("%d tuples", len(b.held))
			}
			b.settle(b.out.Ack)
		})
		r.cast.expect(t, "ack 1, ack 2")
	})
}

func TestFailAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 1}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{fail: func(s *actorSpout, id storm.Value) {
				c.note("fail %v", id)
				s.out.EmitTracked(id, id)
			}}), 1)
			b.SetBolt("a", c.bolt(actorBolt{}), 1).ShuffleGrouping("s")
		})
		r.activate(true)
		r.emit("s", 1, 2, 3)
		r.spout("s").FailAll()
		r.cast.expect(t, "fail 1, fail 2, fail 3")
		r.ackAll("a") // acks of the old trees come too late, those of the new ones count
		r.cast.expect(t, "ack 1, ack 2, ack 3")
	})
}

// TestSuspects: what was in flight at a loss fails if it has no outcome soon,
// what came later does not.
func TestSuspects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 1}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{fail: func(_ *actorSpout, id storm.Value) { c.note("fail %v", id) }}), 1)
			b.SetBolt("a", c.bolt(actorBolt{}), 1).ShuffleGrouping("s")
		})
		r.activate(true)
		r.spout("s").FailSuspects() // of nothing
		r.emit("s", 1, 2)
		r.spout("s").Suspect()
		r.emit("s", 3)
		r.spout("s").Suspect()
		r.emit("s", 4)
		r.spout("s").FailSuspects()
		r.cast.expect(t, "fail 1, fail 2")
		r.spout("s").FailSuspects()
		r.cast.expect(t, "fail 3")
		r.ackAll("a")
		r.cast.expect(t, "ack 4")
	})
}

// TestBusySpoutPublishes asks a spout that never rests for its counts.
func TestBusySpoutPublishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		calls := 0
		r = newRig(t, settings{ackers: 1}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{next: func(s *actorSpout) error {
				switch calls++; calls {
				case 1, 2:
					s.out.EmitTracked(storm.Int(1), storm.Int(1))
					r.coarse.Add(1)
				case 3:
					sent, _ := r.flows()
					c.note("emitted %d, pending %d, sent %d", r.window("s").Emitted, r.spout("s").State().Pending, sent)
				}
				return nil
			}}), 1)
			b.SetBolt("a", c.bolt(actorBolt{}), 1).ShuffleGrouping("s")
		})
		r.activate(true)
		r.cast.expect(t, "emitted 2, pending 2, sent 2")
	})
}

func TestIdleSpoutIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		r := newRig(t, settings{ackers: 1}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{next: func(*actorSpout) error { calls.Add(1); return nil }}), 1)
		})
		r.activate(true)
		before := calls.Load()
		<-time.After(time.Second)
		synctest.Wait()
		// Rests of at most 1 ms each, and hardly shorter ones after the first few.
		if n := calls.Load() - before; n < 1000 || n > 1010 {
			t.Errorf("%d calls in a second", n)
		}
		r.activate(false)
		before = calls.Load()
		<-time.After(time.Second)
		if n := calls.Load() - before; n != 0 {
			t.Errorf("%d calls while inactive", n)
		}
	})
}

func TestSpoutOpensEachTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 1}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{open: func(s *actorSpout, ctx *storm.TopologyContext) error {
				c.note("open %d", ctx.TaskIndex())
				s.out.EmitTracked(storm.String(fmt.Sprint("o", ctx.TaskIndex())), storm.Int(0))
				return nil
			}}), 1).SetNumTasks(3)
			b.SetBolt("a", c.bolt(actorBolt{}), 1).ShuffleGrouping("s")
		})
		r.activate(true)
		r.cast.expect(t, "open 0, open 1, open 2")
		r.ackAll("a")
		r.cast.expect(t, "ack o0, ack o1, ack o2")
	})
}
