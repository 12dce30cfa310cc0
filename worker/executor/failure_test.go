package executor_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/executor"
)

// breakage is a way for user code to go wrong.
type breakage struct {
	name  string
	graph func(b *storm.TopologyBuilder, c *cast)
	do    func(r *rig) // after the spouts are active; nil: emit one tuple
	who   string
	doing string
	err   string
	stack bool
}

func sAndA(s actorSpout, a actorBolt) func(b *storm.TopologyBuilder, c *cast) {
	return func(b *storm.TopologyBuilder, c *cast) {
		b.SetSpout("s", c.spout(s), 1)
		b.SetBolt("a", c.bolt(a), 1).ShuffleGrouping("s")
	}
}

func executes(f func(b *actorBolt, t storm.Tuple) error) func(b *storm.TopologyBuilder, c *cast) {
	return sAndA(actorSpout{}, actorBolt{execute: f, declare: func(d *storm.OutputFieldsDeclarer) {
		d.Declare("x")
		d.DeclareDirectStream("direct", "x")
	}})
}

// wild names a task that is none of its targets.
type wild struct{}

func (wild) Prepare(*storm.TopologyContext, []storm.TaskID)   {}
func (wild) Choose(storm.TaskID, *storm.Tuple) []storm.TaskID { return []storm.TaskID{99} }

func nothing(*rig) {}

func boltBreakages() []breakage {
	panics := func(v any) func(*actorBolt, storm.Tuple) error {
		return func(*actorBolt, storm.Tuple) error { panic(v) }
	}
	return []breakage{
		{"Execute returns an error", executes(func(*actorBolt, storm.Tuple) error { return errBroken }), nil, "a", "Execute", "broken", false},
		{"Execute panics with an error", executes(panics(errBroken)), nil, "a", "Execute", "panic: broken", true},
		{"Execute panics with a text", executes(panics("bad")), nil, "a", "Execute", "panic: bad", true},
		{"Execute reads what is not there", executes(func(_ *actorBolt, t storm.Tuple) error { t.Int(3); return nil }), nil, "a", "Execute",
			`panic: storm: value 3 of a tuple of 1 from component "s" stream "default"`, true},
		{"Execute reads beyond a slice", executes(func(_ *actorBolt, t storm.Tuple) error { _ = make([]int, 1)[t.Len()]; return nil }), nil, "a", "Execute",
			"panic: runtime error: index out of range [1] with length 1", true},
		{"unknown stream", executes(func(b *actorBolt, _ storm.Tuple) error { b.out.EmitStream("none", nil); return nil }), nil, "a", "Execute",
			`component "a" emits on stream "none", which it does not declare`, false},
		{"too many values", executes(func(b *actorBolt, _ storm.Tuple) error { b.out.Emit(nil, storm.Int(1), storm.Int(2)); return nil }), nil, "a", "Execute",
			`component "a" emits 2 values on stream "default", which declares 1 fields ["x"]`, false},
		{"too few values directly", executes(func(b *actorBolt, _ storm.Tuple) error { b.out.EmitDirect(1, "direct", nil); return nil }), nil, "a", "Execute",
			`component "a" emits 0 values on stream "direct", which declares 1 fields ["x"]`, false},
		{"directly to a task that does not subscribe", executes(func(b *actorBolt, _ storm.Tuple) error {
			b.out.EmitDirect(77, "direct", nil, storm.Int(1))
			return nil
		}), nil, "a", "Execute", `component "a" emits directly to task 77 on stream "direct", but that task does not subscribe to it`, false},
		{"Prepare returns an error", sAndA(actorSpout{}, actorBolt{prepare: func(*actorBolt, *storm.TopologyContext) error { return errBroken }}),
			nothing, "a", "Prepare", "broken", false},
		{"Prepare panics", sAndA(actorSpout{}, actorBolt{prepare: func(*actorBolt, *storm.TopologyContext) error { panic(errBroken) }}),
			nothing, "a", "Prepare", "panic: broken", true},
		{"a hook panics", sAndA(actorSpout{}, actorBolt{prepare: func(_ *actorBolt, ctx *storm.TopologyContext) error {
			ctx.AddHook(storm.TaskHook{BoltExecute: func(*storm.Tuple, time.Duration) { panic("hook") }})
			return nil
		}}), nil, "a", "Execute", "panic: hook", true},
		{"a call given to Do panics", chain, func(r *rig) { r.at("a", func(*actorBolt) { panic("call") }) }, "a", "a call given to Do", "panic: call", true},
		{"a tick panics", executes(panics("tick")), func(r *rig) {
			u := r.of("a")[0]
			u.tuples.Urge(func() { u.exec.(*executor.Bolt).Tick(storm.NewTuple(r.l.TickOrigin(), 0, nil, storm.Int(1))) })
		}, "a", "Execute", "panic: tick", true},
		{"a tick returns an error", executes(func(*actorBolt, storm.Tuple) error { return errBroken }), func(r *rig) {
			u := r.of("a")[0]
			u.tuples.Urge(func() { u.exec.(*executor.Bolt).Tick(storm.NewTuple(r.l.TickOrigin(), 0, nil, storm.Int(1))) })
		}, "a", "Execute", "broken", false},
		{"Cleanup returns an error", sAndA(actorSpout{}, actorBolt{shut: func() error { return errBroken }}),
			func(r *rig) { r.of("a")[0].exec.Close() }, "a", "Cleanup", "broken", false},
		{"Cleanup panics", sAndA(actorSpout{}, actorBolt{shut: func() error { panic("bad") }}),
			func(r *rig) { r.of("a")[0].exec.Close() }, "a", "Cleanup", "panic: bad", true},
	}
}

func spoutBreakages() []breakage {
	acks := actorBolt{execute: func(b *actorBolt, t storm.Tuple) error { b.out.Ack(&t); return nil }}
	fails := actorBolt{execute: func(b *actorBolt, t storm.Tuple) error { b.out.Fail(&t); return nil }}
	next := func(f func(s *actorSpout) error) func(b *storm.TopologyBuilder, c *cast) {
		return sAndA(actorSpout{next: f}, acks)
	}
	return []breakage{
		{"NextTuple returns an error", next(func(*actorSpout) error { return errBroken }), nothing, "s", "NextTuple", "broken", false},
		{"NextTuple panics", next(func(*actorSpout) error { panic("bad") }), nothing, "s", "NextTuple", "panic: bad", true},
		{"NextTuple emits too much", next(func(s *actorSpout) error { s.out.Emit(); return nil }), nothing, "s", "NextTuple",
			`component "s" emits 0 values on stream "default", which declares 1 fields ["x"]`, false},
		{"NextTuple emits directly on a plain stream", next(func(s *actorSpout) error {
			s.out.EmitDirect(2, storm.DefaultStream, storm.Nil(), storm.Int(1))
			return nil
		}), nothing, "s", "NextTuple", `component "s" emits directly to task 2 of component "a" on stream "default", which subscribes by another grouping`, false},
		{"a plain emission on a direct stream", func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{
				declare: func(d *storm.OutputFieldsDeclarer) { d.DeclareDirectStream("direct", "x") },
				next:    func(s *actorSpout) error { s.out.EmitStream("direct", storm.Nil(), storm.Int(1)); return nil },
			}), 1)
			b.SetBolt("a", c.bolt(actorBolt{}), 1).Grouping("s", "direct", storm.Grouping{Kind: storm.GroupDirect})
		}, nothing, "s", "NextTuple", `component "s" emits on direct stream "direct" without naming a task; use EmitDirect`, false},
		{"a custom grouping names a stranger", func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{next: func(s *actorSpout) error { s.out.Emit(storm.Int(1)); return nil }}), 1)
			b.SetBolt("a", c.bolt(actorBolt{}), 1).CustomGrouping("s", func() storm.CustomGrouping { return wild{} })
		}, nothing, "s", "NextTuple",
			`component "s" stream "default" to component "a": grouping: the custom chooser named tasks [99], which are none of its targets [2]`, false},
		{"Open returns an error", sAndA(actorSpout{open: func(*actorSpout, *storm.TopologyContext) error { return errBroken }}, acks), nothing, "s", "Open", "broken", false},
		{"Open panics", sAndA(actorSpout{open: func(*actorSpout, *storm.TopologyContext) error { panic(errBroken) }}, acks), nothing, "s", "Open", "panic: broken", true},
		{"Ack panics", sAndA(actorSpout{ack: func(*actorSpout, storm.Value) { panic("bad") }}, acks), nil, "s", "Ack", "panic: bad", true},
		{"Fail panics", sAndA(actorSpout{fail: func(*actorSpout, storm.Value) { panic("bad") }}, fails), nil, "s", "Fail", "panic: bad", true},
		{"Fail by time-out panics", sAndA(actorSpout{fail: func(*actorSpout, storm.Value) { panic("bad") }}, actorBolt{}), func(r *rig) {
			r.emit("s", 1)
			r.rotate()
			r.rotate()
		}, "s", "Fail", "panic: bad", true},
		{"a call given to Do panics", chain, func(r *rig) {
			r.do(r.actorSpout("s").out.Do, func() { panic("call") })
		}, "s", "a call given to Do", "panic: call", true},
		{"Close returns an error", sAndA(actorSpout{shut: func() error { return errBroken }}, acks), func(r *rig) { r.of("s")[0].exec.Close() }, "s", "Close", "broken", false},
		{"Close panics", sAndA(actorSpout{shut: func() error { panic("bad") }}, acks), func(r *rig) { r.of("s")[0].exec.Close() }, "s", "Close", "panic: bad", true},
	}
}

func TestFailures(t *testing.T) {
	for _, c := range append(boltBreakages(), spoutBreakages()...) {
		t.Run(c.who+": "+c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, settings{ackers: 1}, c.graph)
				r.activate(true)
				if c.do != nil {
					c.do(r)
				} else {
					r.emit("s", 1)
				}
				synctest.Wait()
				checkFailure(t, r, c)
			})
		})
	}
}

func checkFailure(t *testing.T, r *rig, c breakage) {
	t.Helper()
	f := r.failure(c.who)
	if f.Component != c.who || f.Task != r.l.Tasks[c.who][0] || f.Doing != c.doing || f.Err.Error() != c.err {
		t.Errorf("failure is %v", f)
	}
	if got := f.Stack != ""; got != c.stack {
		t.Errorf("stack:\n%s", f.Stack)
	}
	// The stack must lead to the code that broke, which is in a test file.
	if c.stack && !strings.Contains(f.Stack, "_test.go") {
		t.Errorf("the stack does not show the user's code:\n%s", f.Stack)
	}
	if _, misused := errors.AsType[*storm.UsageError](f); misused && c.stack {
		t.Error("a UsageError has a stack")
	}
	if strings.HasSuffix(c.err, "broken") && !errors.Is(f, errBroken) {
		t.Errorf("%v does not wrap its cause", f)
	}
	u := r.of(c.who)[0]
	var err error
	if u.tuples != nil {
		err = u.tuples.Give(&executor.Batch{}, 0)
	} else {
		err = u.outs.Give(&executor.OutcomeBatch{}, 0)
	}
	if err == nil {
		t.Error("the inbox of the executor is still open: its producers would wait for ever")
	}
}

func TestConstructorsFail(t *testing.T) {
	for _, who := range []string{"s", "a"} {
		synctest.Test(t, func(t *testing.T) {
			spouts, bolts := 0, 0
			registry := storm.NewRegistry() // the first instance only tells its streams
			var c *cast
			registry.Spout("s", func([]storm.Value) (storm.Spout, error) {
				if spouts++; spouts > 1 && who == "s" {
					return nil, errBroken
				}
				return c.spout(actorSpout{})(), nil
			})
			registry.Bolt("a", func([]storm.Value) (storm.Bolt, error) {
				if bolts++; bolts > 1 && who == "a" {
					return nil, errBroken
				}
				return c.bolt(actorBolt{})(), nil
			})
			r := newRig(t, settings{}, func(b *storm.TopologyBuilder, k *cast) {
				c = k
				b.Use(registry)
				b.SetSpoutNamed("s", "s", nil, 1)
				b.SetBoltNamed("a", "a", nil, 1).ShuffleGrouping("s")
			})
			r.activate(true)
			f := r.failure(who)
			want := map[string]string{"s": "Open", "a": "Prepare"}[who]
			if f.Doing != want || !errors.Is(f, errBroken) || f.Stack != "" {
				t.Errorf("failure is %v", f)
			}
		})
	}
}

func TestCleanupGoesOnAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{}, func(b *storm.TopologyBuilder, c *cast) {
			shut := func() error { c.note("shut"); return errBroken }
			b.SetSpout("s", c.spout(actorSpout{shut: shut}), 1).SetNumTasks(3)
			b.SetBolt("a", c.bolt(actorBolt{shut: shut}), 1).SetNumTasks(2).ShuffleGrouping("s")
		})
		r.activate(true)
		r.of("s")[0].exec.Close()
		r.cast.expect(t, "shut, shut, shut")
		r.of("a")[0].exec.Close()
		r.cast.expect(t, "shut, shut")
		if got := r.ended["s"].Error(); strings.Count(got, "Close: broken") != 3 {
			t.Errorf("error is %q", got)
		}
	})
}

func TestFailureText(t *testing.T) {
	f := &executor.TaskError{Component: "count", Task: 7, Doing: "Execute", Err: errBroken, Stack: "goroutine 1"}
	if got := f.Error(); got != `component "count" task 7: Execute: broken` {
		t.Errorf("text is %q", got)
	}
}

func TestReportError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 1}, chain)
		r.activate(true)
		s := r.actorSpout("s")
		r.do(s.out.Do, func() { s.out.ReportError(errBroken) })
		r.at("b", func(b *actorBolt) { b.out.ReportError(errBroken) })
		if got := strings.Join(r.reports, ", "); got != "4: broken, 3: broken" {
			t.Errorf("reported %s", got)
		}
		if len(r.ended) != 0 {
			t.Errorf("ended: %v", r.ended)
		}
	})
}
