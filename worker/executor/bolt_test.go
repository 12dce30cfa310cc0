package executor_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/executor"
)

func TestTicksReachEachTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{}), 1)
			b.SetBolt("a", c.bolt(actorBolt{execute: func(b *actorBolt, t storm.Tuple) error {
				c.note("%d tick %t %s %v", b.task, t.IsTick(), t.SourceComponent(), t.ByField("rate_secs"))
				b.out.Ack(&t)
				return nil
			}}), 2).SetNumTasks(3).ShuffleGrouping("s")
		})
		for _, u := range r.of("a") {
			tick := storm.NewTuple(r.l.TickOrigin(), 0, nil, storm.Int(5))
			u.tuples.Urge(func() { u.exec.(*executor.Bolt).Tick(tick) })
			synctest.Wait()
		}
		r.cast.expect(t, "1 tick true __system 5, 2 tick true __system 5, 3 tick true __system 5")
		if w := r.window("a"); w.Executed != 3 || w.Acked != 3 {
			t.Errorf("%d executed, %d acked", w.Executed, w.Acked)
		}
	})
}

func TestTuplesReachTheirTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 1, batch: 3}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{}), 1)
			b.SetBolt("a", c.bolt(actorBolt{execute: pass}), 2).SetNumTasks(4).FieldsGrouping("s", "x")
			b.SetBolt("b", c.bolt(actorBolt{execute: func(b *actorBolt, t storm.Tuple) error {
				if b.task != t.Dst() {
					return fmt.Errorf("task %d got a tuple for %d", b.task, t.Dst())
				}
				b.held = append(b.held, t)
				b.out.Ack(&t)
				return nil
			}}), 2).SetNumTasks(3).FieldsGrouping("a", "x")
		})
		r.activate(true)
		for range 3 { // the same values go to the same tasks each time
			r.emit("s", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		}
		if got := strings.Count(r.cast.since(), "ack "); got != 30 {
			t.Errorf("%d acks", got)
		}
		owner := map[int64]storm.TaskID{}
		for _, task := range r.l.Tasks["b"] {
			for _, tp := range r.cast.bolts[task].held {
				v := tp.Int(0)
				if before, ok := owner[v]; ok && before != task {
					t.Errorf("%d went to tasks %d and %d", v, before, task)
				}
				owner[v] = task
			}
		}
		if len(owner) != 10 {
			t.Errorf("values that came: %v", owner)
		}
	})
}

func TestTuplesOfATaskStayInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		r := newRig(t, settings{ackers: 1, batch: 7, limit: 10}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{}), 1)
			b.SetBolt("a", c.bolt(actorBolt{execute: pass}), 1).ShuffleGrouping("s")
			b.SetBolt("b", c.bolt(actorBolt{execute: func(b *actorBolt, t storm.Tuple) error {
				b.held = append(b.held, t)
				b.out.Ack(&t)
				return nil
			}}), 1).ShuffleGrouping("a")
		})
		r.activate(true)
		s := r.actorSpout("s")
		r.do(s.out.Do, func() {
			for i := range n {
				s.out.EmitTracked(storm.Int(int64(i)), storm.Int(int64(i)))
			}
		})
		held := r.actorBolt("b").held
		if len(held) != n {
			t.Fatalf("%d tuples came", len(held))
		}
		for i := range held {
			if held[i].Int(0) != int64(i) {
				t.Fatalf("tuple %d is %d", i, held[i].Int(0))
			}
		}
	})
}

// TestKeptTuplesNeverChange keeps tuples while their batches are used again
// and again.
func TestKeptTuplesNeverChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wide := func(i int64) []storm.Value {
			return []storm.Value{storm.Int(i), storm.String(fmt.Sprint("v", i)), storm.List(storm.Int(i)), storm.Bytes([]byte{byte(i)}), storm.Nil()}
		}
		r := newRig(t, settings{ackers: 1, batch: 5}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{}), 1)
			b.SetBolt("a", c.bolt(actorBolt{declare: func(d *storm.OutputFieldsDeclarer) {
				d.Declare("x")
				d.DeclareStream("wide", "a", "b", "c", "d", "e")
			}, execute: func(b *actorBolt, t storm.Tuple) error {
				b.held = append(b.held, t)
				b.out.EmitStream("wide", &t, wide(t.Int(0))...)
				if n := len(b.held); n%2 == 0 { // every second one joins with the one before
					b.out.EmitAnchors(storm.DefaultStream, b.held[n-2:], t.Value(0))
					b.out.Ack(&b.held[n-2])
					b.out.Ack(&b.held[n-1])
				}
				return nil
			}}), 1).ShuffleGrouping("s")
			b.SetBolt("b", c.bolt(actorBolt{}), 1).ShuffleGrouping("a").
				Grouping("a", "wide", storm.Grouping{Kind: storm.GroupShuffle})
		})
		r.activate(true)
		const n = 400
		for i := range int64(n) {
			r.emit("s", i)
		}
		for i, tp := range r.actorBolt("a").held {
			if tp.Int(0) != int64(i) || tp.SourceComponent() != "s" || !tp.IsTracked() {
				t.Fatalf("tuple %d is now %v", i, tp)
			}
		}
		narrow, next := 0, int64(0)
		for _, tp := range r.actorBolt("b").held {
			if tp.SourceStream() == storm.DefaultStream {
				narrow++
				if tp.Int(0)%2 != 1 || len(tp.Anchors()) != 2 {
					t.Fatalf("joined tuple is now %v with anchors %v", tp, tp.Anchors())
				}
				continue
			}
			if !storm.List(tp.Values()...).Equal(storm.List(wide(next)...)) {
				t.Fatalf("wide tuple %d is now %v", next, tp)
			}
			next++
		}
		if narrow != n/2 || next != n {
			t.Errorf("%d narrow and %d wide tuples came", narrow, next)
		}
		// Their anchors are the right ones still: acking them all ends all trees.
		if got := r.cast.since(); got != "" {
			t.Errorf("ended too early: %s", got)
		}
		r.ackAll("b")
		if got := strings.Count(r.cast.since(), "ack "); got != n {
			t.Errorf("%d trees were acked", got)
		}
	})
}

// home counts the batches that come home.
type home struct{ n atomic.Int64 }

func (h *home) Release() { h.n.Add(1) }

func TestBatchesOfAConnectionGoHome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 1}, chain)
		h := &home{}
		b := &executor.Batch{Home: h, Tuples: []storm.Tuple{
			storm.NewTuple(r.l.Origin(int32(r.l.Tasks["s"][0]), 0), r.l.Tasks["a"][0], nil, storm.Int(1)),
		}}
		synctest.Wait()
		if err := r.of("a")[0].tuples.Give(b, 1); err != nil {
			t.Fatal(err)
		}
		acks := &executor.AckBatch{Home: h}
		if err := r.of(storm.AckerComponent)[0].acks.Give(acks, 1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if h.n.Load() != 2 || len(b.Tuples) != 1 || b.Tuples[0].Int(0) != 1 {
			t.Errorf("released %d times, %d tuples are left", h.n.Load(), len(b.Tuples))
		}
		if free := r.of("a")[0].tuples.Free(); free != nil {
			t.Error("the batch was given to the executor's own producers too")
		}
	})
}

func TestDirectEmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		declare := func(d *storm.OutputFieldsDeclarer) { d.DeclareDirectStream("direct", "x") }
		r := newRig(t, settings{ackers: 1}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{declare: declare}), 1)
			b.SetBolt("a", c.bolt(actorBolt{declare: declare}), 2).Grouping("s", "direct", storm.Grouping{Kind: storm.GroupDirect})
			b.SetBolt("b", c.bolt(actorBolt{}), 2).Grouping("a", "direct", storm.Grouping{Kind: storm.GroupDirect})
		})
		r.activate(true)
		s := r.actorSpout("s")
		to := r.l.Tasks["a"][0]
		r.do(s.out.Do, func() {
			s.out.EmitDirect(to, "direct", storm.Int(1), storm.Int(10))
			s.out.EmitDirect(to, "direct", storm.Nil(), storm.Int(11))
		})
		far := r.l.Tasks["b"][1]
		r.at("a", func(b *actorBolt) {
			b.out.EmitDirect(far, "direct", &b.held[0], storm.Int(20))
			b.out.EmitDirectAnchors(far, "direct", b.held, storm.Int(21))
			b.settle(b.out.Ack)
		})
		b := r.cast.bolts[far]
		if got := b.values(); !slices.Equal(got, []string{"20", "21"}) {
			t.Errorf("task %d holds %v", far, got)
		}
		r.cast.expect(t, "")
		r.do(b.out.Do, func() { b.settle(b.out.Ack) })
		r.cast.expect(t, "ack 1")
		if w := r.window("a"); w.Emitted != 2 || w.Transferred != 2 {
			t.Errorf("%d emitted, %d transferred", w.Emitted, w.Transferred)
		}
	})
}

func TestEmitTellsTheTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 1}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{}), 1)
			b.SetBolt("a", c.bolt(actorBolt{}), 2).AllGrouping("s")
			b.SetBolt("b", c.bolt(actorBolt{}), 1).ShuffleGrouping("s").ShuffleGrouping("a")
		})
		r.activate(true)
		s := r.actorSpout("s")
		r.do(s.out.Do, func() { s.cast.note("%v", s.out.EmitTracked(storm.Int(1), storm.Int(1))) })
		r.at("a", func(b *actorBolt) { b.cast.note("%v", b.out.Emit(nil, storm.Int(1))) })
		// Tasks: acker 1, a 2 and 3, b 4.
		r.cast.expect(t, "[2 3 4], [4]")
	})
}

func TestHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *cast
		hook := func(name string) storm.TaskHook {
			return storm.TaskHook{
				Prepare: func(ctx *storm.TopologyContext) { c.note("%s prepare %s", name, ctx.Component()) },
				Cleanup: func() { c.note("%s cleanup", name) },
				Emit: func(stream string, t *storm.Tuple, to []storm.TaskID) {
					c.note("%s emit %s %v %v", name, stream, t.Values(), to)
				},
				SpoutAck:    func(id storm.Value, _ time.Duration) { c.note("%s spout ack %v", name, id) },
				SpoutFail:   func(id storm.Value, _ time.Duration) { c.note("%s spout fail %v", name, id) },
				BoltExecute: func(t *storm.Tuple, _ time.Duration) { c.note("%s execute %v", name, t.Values()) },
				BoltAck:     func(source, stream string) { c.note("%s ack %s %s", name, source, stream) },
				BoltFail:    func(source, stream string) { c.note("%s fail %s %s", name, source, stream) },
			}
		}
		// A hook of which nothing is set must not matter.
		set := settings{ackers: 1, hooks: []storm.TaskHook{{}}}
		r := newRig(t, set, func(b *storm.TopologyBuilder, k *cast) {
			c = k
			b.SetSpout("s", k.spout(actorSpout{
				open: func(_ *actorSpout, ctx *storm.TopologyContext) error { ctx.AddHook(hook("S")); return nil },
				shut: func() error { k.note("close"); return nil },
			}), 1)
			b.SetBolt("a", k.bolt(actorBolt{
				prepare: func(_ *actorBolt, ctx *storm.TopologyContext) error { ctx.AddHook(hook("A")); return nil },
				execute: func(b *actorBolt, t storm.Tuple) error {
					if t.Int(0) == 2 {
						b.out.Fail(&t)
					} else {
						b.out.Ack(&t)
					}
					return nil
				},
			}), 1).ShuffleGrouping("s")
		})
		r.cast.expect(t, "A prepare a")
		r.activate(true)
		r.cast.expect(t, "S prepare s")
		r.emit("s", 1)
		r.cast.expect(t, "S emit default [1] [2], A ack s default, A execute [1], S spout ack 1, ack 1")
		r.emit("s", 2)
		r.cast.expect(t, "S emit default [2] [2], A fail s default, A execute [2], S spout fail 2, fail 2")
		r.of("s")[0].exec.Close()
		r.cast.expect(t, "S cleanup, close")
		r.of("a")[0].exec.Close()
		r.cast.expect(t, "A cleanup")
	})
}

func TestDebugLogsEmissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		r := newRig(t, settings{debug: log}, passing)
		r.activate(true)
		r.emit("s", 5)
		want := "level=INFO msg=emit component=s task=3 stream=default to=[1] values=[5]\n" +
			"level=INFO msg=emit component=a task=1 stream=default to=[2] values=[5]\n"
		if out.String() != want {
			t.Errorf("log is\n%s\nwant\n%s", out.String(), want)
		}
	})
}

func TestCountsAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 2, batch: 10}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{}), 1)
			b.SetBolt("a", c.bolt(actorBolt{}), 2).AllGrouping("s")
		})
		r.activate(true)
		for range 7 {
			r.emit("s", 1, 2, 3)
		}
		for i, task := range r.l.Tasks["a"] {
			b := r.cast.bolts[task]
			r.do(b.out.Do, func() {
				if i == 1 {
					for range 5 {
						b.out.Fail(&b.held[0])
						b.held = b.held[1:]
					}
				}
				b.settle(b.out.Ack)
			})
		}
		s, a := r.window("s"), r.window("a")
		if s.Emitted != 21 || s.Transferred != 42 || s.Acked != 16 || s.Failed != 5 {
			t.Errorf("spout: %d emitted, %d transferred, %d acked, %d failed", s.Emitted, s.Transferred, s.Acked, s.Failed)
		}
		if a.Executed != 42 || a.Acked != 37 || a.Failed != 5 || a.Emitted != 0 {
			t.Errorf("bolt: %d executed, %d acked, %d failed, %d emitted", a.Executed, a.Acked, a.Failed, a.Emitted)
		}
		if st := r.spout("s").State(); st.Pending != 0 {
			t.Errorf("%d are pending", st.Pending)
		}
	})
}
