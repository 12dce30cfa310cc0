package executor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
	"github.com/stormring/stormring/worker/executor"
	"github.com/stormring/stormring/worker/grouping"
	"github.com/stormring/stormring/worker/queue"
	"github.com/stormring/stormring/worker/stats"
)

// wire is what fake lanes write down, in the order of sending.
type wire struct {
	mu   sync.Mutex
	log  []string
	fail error // what the lanes return from now on
}

func (w *wire) send(format string, args ...any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
	return w.fail
}

func (w *wire) since() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := strings.Join(w.log, "; ")
	w.log = nil
	return s
}

// tupleLane is a lane to another worker: it copies what it needs and gives the
// same batch back, or none.
type tupleLane struct {
	w    *wire
	name string
	keep bool
}

func (l *tupleLane) Send(b *executor.Batch, n int) (*executor.Batch, error) {
	var vals []string
	for i := range b.Tuples {
		vals = append(vals, b.Tuples[i].Value(0).String())
	}
	err := l.w.send("%s %d of %d: %s", l.name, n, len(b.Tuples), strings.Join(vals, " "))
	if l.keep || err != nil {
		return nil, err
	}
	b.Reset()
	return b, nil
}

type ackLane struct{ w *wire }

func (l *ackLane) Send(b *executor.AckBatch, n int) (*executor.AckBatch, error) {
	err := l.w.send("acks %d: %d %d %d", n, len(b.Messages), len(b.Fails), len(b.Resets))
	b.Reset()
	return b, err
}

type outcomeLane struct {
	w    *wire
	name string
}

func (l *outcomeLane) Send(b *executor.OutcomeBatch, n int) (*executor.OutcomeBatch, error) {
	var out []string
	for _, o := range b.Outcomes {
		out = append(out, fmt.Sprintf("%s %d/%d", o.Kind, o.Root.Task(), o.Root.Seq()))
	}
	return nil, l.w.send("%s %d: %s", l.name, n, strings.Join(out, " "))
}

// bench is one bolt executor between fake lanes: tasks 5 and 6 of "a", which
// reads from "s" and emits to tasks 8 and 9 of "b" by the parity of the value.
type bench struct {
	wire   wire
	inbox  *executor.TupleInbox
	coarse atomic.Int64
	exec   *executor.Bolt
	origin *track.Origin
	err    chan error
}

func newBench(t *testing.T, batch int, keep bool, like actorBolt) *bench {
	t.Helper()
	x := &bench{inbox: queue.New[*executor.Batch](1000), err: make(chan error, 1)}
	x.origin = &track.Origin{Component: "s", Stream: storm.DefaultStream, Task: 3, ID: 1, Fields: []string{"x"}}
	out := &track.Origin{Component: "a", Stream: storm.DefaultStream, Task: 5, ID: 2, Fields: []string{"x"}}
	lanes := []executor.Lane[*executor.Batch]{&tupleLane{&x.wire, "even", keep}, &tupleLane{&x.wire, "odd", keep}}
	spec := executor.Spec{
		Component: "a", BatchSize: batch, Seed: 1, Coarse: &x.coarse, Ackers: []executor.Lane[*executor.AckBatch]{&ackLane{&x.wire}},
		Stats:  stats.New(stats.Spec{Component: "a", Outputs: []string{storm.DefaultStream}, Inputs: []stats.Input{{Component: "tick"}, {Component: "s"}}}, time.Now()),
		Report: func(storm.TaskID, error) {},
	}
	for _, id := range []storm.TaskID{5, 6} {
		g, err := grouping.New(grouping.Spec{Kind: grouping.Custom, Targets: []storm.TaskID{8, 9}, Custom: byParity{}})
		if err != nil {
			t.Fatal(err)
		}
		spec.Tasks = append(spec.Tasks, executor.TaskSpec{
			ID: id, Context: storm.NewTopologyContext(storm.ContextSpec{Context: t.Context(), Task: id}),
			Streams:     []executor.Stream{{Origin: out, Subs: []executor.Subscription{{Component: "b", Grouping: g, Lanes: lanes}}}},
			StreamIndex: map[string]int{storm.DefaultStream: 0},
		})
	}
	newBolt := newCast().bolt(like)
	x.exec = executor.NewBolt(executor.BoltSpec{
		Spec: spec, Inbox: x.inbox, NumInputs: 2, Inputs: []int32{0, 1, 0},
		New: func() (storm.Bolt, error) { return newBolt(), nil },
	})
	go func() { x.err <- x.exec.Run() }()
	t.Cleanup(x.exec.Close)
	return x
}

type byParity struct{}

func (byParity) Choose(_ storm.TaskID, t *storm.Tuple) []storm.TaskID {
	return []storm.TaskID{8 + storm.TaskID(t.Int(0)%2)}
}

// feed sends tuples to task 5 in one batch, tracked if root is not 0.
func (x *bench) feed(t *testing.T, root track.Root, vals ...int64) {
	t.Helper()
	b := &executor.Batch{}
	for _, v := range vals {
		var anchors []track.Anchor
		if root != 0 {
			anchors = []track.Anchor{{Root: root + track.Root(v), Edge: 1}}
		}
		b.Tuples = append(b.Tuples, storm.NewTuple(x.origin, 5, anchors, storm.Int(v)))
	}
	if _, err := x.inbox.Push(b, len(vals)); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func TestFullBatchesGoAtOnceTheRestWhenIdle(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x := newBench(t, 3, keep, actorBolt{execute: pass})
			x.feed(t, 0, 2, 4, 6, 8, 1)
			if got := x.wire.since(); got != "even 3 of 3: 2 4 6; even 1 of 1: 8; odd 1 of 1: 1" {
				t.Errorf("sent %s", got)
			}
			x.feed(t, 0, 3)
			x.feed(t, 0, 5, 7, 9, 10)
			if got := x.wire.since(); got != "odd 1 of 1: 3; odd 3 of 3: 5 7 9; even 1 of 1: 10" {
				t.Errorf("sent %s", got)
			}
			if f := x.exec.Flow(); f.Sent.Load() != 10 || f.Done.Load() != 10 {
				t.Errorf("%d sent, %d done", f.Sent.Load(), f.Done.Load())
			}
		})
	}
}

func TestAcksGoBeforeTuples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newBench(t, 100, false, actorBolt{execute: func(b *actorBolt, t storm.Tuple) error {
			b.out.Emit(&t, t.Value(0))
			switch t.Int(0) {
			case 2:
				b.out.Fail(&t)
			case 4:
				b.out.ResetTimeout(&t)
			}
			b.out.Ack(&t)
			return nil
		}})
		x.feed(t, track.MakeRoot(3, 100), 2, 4, 6)
		// Emission and ack of one input are one message.
		if got := x.wire.since(); got != "acks 5: 3 1 1; even 3 of 3: 2 4 6" {
			t.Errorf("sent %s", got)
		}
	})
}

func TestEdgesOfForgottenInputsAreHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept []storm.Tuple
		x := newBench(t, 100, false, actorBolt{execute: func(b *actorBolt, t storm.Tuple) error {
			kept = append(kept, t)
			b.out.Emit(&t, t.Value(0))
			if t.Int(0) == 6 { // the others never
				b.out.Ack(&t)
			}
			return nil
		}})
		x.feed(t, track.MakeRoot(3, 100), 2, 4, 6)
		if got := x.wire.since(); got != "acks 1: 1 0 0; even 3 of 3: 2 4 6" {
			t.Errorf("sent %s", got)
		}
		for i, want := range []string{"", "", "acks 2: 2 0 0", ""} {
			x.exec.Rotate()
			synctest.Wait()
			if got := x.wire.since(); got != want {
				t.Errorf("rotation %d sent %q, want %q", i+1, got, want)
			}
		}
	})
}

func TestBusyBoltFlushesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x *bench
		x = newBench(t, 100, false, actorBolt{execute: func(b *actorBolt, t storm.Tuple) error {
			b.out.Emit(nil, t.Value(0))
			if t.Int(0) == 4 {
				x.coarse.Add(1) // as the worker does every few milliseconds
			}
			return nil
		}})
		x.feed(t, 0, 2, 4, 6)
		if got := x.wire.since(); got != "even 2 of 2: 2 4; even 1 of 1: 6" {
			t.Errorf("sent %s", got)
		}
	})
}

func TestALaneThatEndsStopsQuietly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shut := 0
		x := newBench(t, 1, false, actorBolt{execute: pass, shut: func() error { shut++; return nil }})
		x.wire.fail = errors.New("worker is stopping")
		x.feed(t, 0, 2, 4)
		if err := <-x.err; err != nil || shut != 2 {
			t.Errorf("ended with %v, %d tasks were cleaned up", err, shut)
		}
		if got := x.wire.since(); got != "even 1 of 1: 2" {
			t.Errorf("sent %s", got)
		}
	})
}

func TestSharedLanesShareABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{batch: 4}, func(b *storm.TopologyBuilder, c *cast) {
			b.SetSpout("s", c.spout(actorSpout{}), 1)
			// Both tasks of a are in one executor, behind one lane.
			b.SetBolt("a", c.bolt(actorBolt{}), 1).SetNumTasks(2).AllGrouping("s")
		})
		r.activate(true)
		r.emit("s", 1, 2)
		for _, task := range r.l.Tasks["a"] {
			if got := r.cast.bolts[task].values(); !slices.Equal(got, []string{"1", "2"}) {
				t.Errorf("task %d holds %v", task, got)
			}
		}
	})
}

func TestAckerSendsOutcomesBySpout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w wire
		inbox := queue.New[*executor.AckBatch](10)
		one, two := &outcomeLane{&w, "one"}, &outcomeLane{&w, "two"}
		x := executor.NewAcker(executor.AckerSpec{
			Spec: executor.Spec{
				Component: storm.AckerComponent, Tasks: []executor.TaskSpec{{ID: 1}}, BatchSize: 3,
				Stats:  stats.New(stats.Spec{Component: storm.AckerComponent, Inputs: []stats.Input{{Component: "acks"}}}, time.Now()),
				Spouts: map[storm.TaskID]executor.Lane[*executor.OutcomeBatch]{2: one, 3: two, 4: one},
			},
			Inbox: inbox,
		})
		ended := make(chan error, 1)
		go func() { ended <- x.Run() }()
		complete := func(roots ...track.Root) *executor.AckBatch {
			b := &executor.AckBatch{}
			for _, r := range roots {
				b.Messages = append(b.Messages, acker.Message{Root: r | acker.InitFlag, Val: 7}, acker.Message{Root: r, Val: 7})
			}
			return b
		}
		root := track.MakeRoot
		b := complete(root(2, 1), root(3, 1), root(9, 1), root(4, 1), root(2, 2), root(1, 1))
		b.Messages = append(b.Messages, acker.Message{Root: root(3, 2) | acker.InitFlag, Val: 7}, acker.Message{Root: root(2, 9) | acker.InitFlag, Val: 7})
		b.Fails = []track.Root{root(3, 2)}
		b.Resets = []track.Root{root(2, 9)}
		if err := inbox.Give(b, b.Len()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := w.since(); got != "one 3: ack 2/1 ack 4/1 ack 2/2; two 2: ack 3/1 fail 3/2; one 1: reset-timeout 2/9" &&
			got != "one 3: ack 2/1 ack 4/1 ack 2/2; one 1: reset-timeout 2/9; two 2: ack 3/1 fail 3/2" {
			t.Errorf("sent %s", got)
		}
		if empty := inbox.Free(); empty != nil && empty.Len() != 0 {
			t.Errorf("an empty batch has %d messages", empty.Len())
		}
		if x.QueueLimit() != 10 || x.QueueLen() != 0 {
			t.Errorf("queue %d of %d", x.QueueLen(), x.QueueLimit())
		}
		x.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestAckerForgetsAfterThreeRotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{ackers: 1, announce: true}, chain)
		r.activate(true)
		r.emit("s", 1)
		x := r.of(storm.AckerComponent)[0].exec.(*executor.Acker)
		for range 3 {
			x.Rotate() // of the acker alone: its spout still waits
		}
		synctest.Wait()
		r.ackAll("a")
		r.cast.expect(t, "")
		r.rotate()
		r.rotate()
		r.cast.expect(t, "fail 1")
	})
}

func TestQueueFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, settings{batch: 1, absent: "a"}, chain)
		r.activate(true)
		r.emit("s", 1, 2, 3)
		a, s := r.of("a")[0].exec, r.of("s")[0].exec
		if a.QueueLen() != 3 || a.QueueLimit() != 1000 || s.QueueLen() != 0 || s.QueueLimit() != 1000 {
			t.Errorf("a %d of %d, s %d of %d", a.QueueLen(), a.QueueLimit(), s.QueueLen(), s.QueueLimit())
		}
		if sent, done := r.flows(); sent != 3 || done != 0 {
			t.Errorf("%d sent, %d done", sent, done)
		}
	})
}
