package executor_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/executor"
	"github.com/stormring/stormring/worker/grouping"
	"github.com/stormring/stormring/worker/queue"
	"github.com/stormring/stormring/worker/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// settings are what a test may want otherwise.
type settings struct {
	ackers     int
	maxPending int
	announce   bool             // spouts announce all trees, as without time-outs
	batch      int              // 0: 4
	limit      int              // of the inboxes; 0: 1000
	absent     string           // a component whose executors do not run
	hooks      []storm.TaskHook // of every task
	debug      *slog.Logger
}

// rig is a whole topology in one process, without a worker around it: real
// executors and inboxes, joined by the test.
type rig struct {
	settings
	t       *testing.T
	l       *layout.Layout
	cast    *cast
	coarse  atomic.Int64
	units   []*unit
	running sync.WaitGroup

	mu      sync.Mutex
	ended   map[string]error // by component
	reports []string
}

// unit is one executor.
type unit struct {
	layout.Executor
	tuples *executor.TupleInbox
	acks   *executor.AckInbox
	outs   *executor.OutcomeInbox
	stats  *stats.Executor
	exec   executor.Executor
}

// newRig builds and starts the executors, and stops them when the test ends.
// The spouts are not active yet.
func newRig(t *testing.T, s settings, describe func(b *storm.TopologyBuilder, c *cast)) *rig {
	t.Helper()
	r := &rig{settings: s, t: t, cast: newCast(), ended: map[string]error{}}
	if r.batch == 0 {
		r.batch = 4
	}
	if r.limit == 0 {
		r.limit = 1000
	}
	b := storm.NewTopologyBuilder()
	describe(b, r.cast)
	top, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if r.l, err = layout.New(top, storm.Config{"topology.acker.executors": s.ackers}); err != nil {
		t.Fatal(err)
	}
	for _, e := range r.l.Executors {
		r.units = append(r.units, r.newUnit(e))
	}
	for _, u := range r.units {
		r.fill(u)
	}
	for _, u := range r.units {
		if u.Component == r.absent {
			continue
		}
		r.running.Go(func() {
			err := u.exec.Run()
			r.mu.Lock()
			defer r.mu.Unlock()
			if err != nil {
				r.ended[u.Component] = err
			}
		})
	}
	t.Cleanup(r.stop)
	return r
}

// stop closes everything and waits.
func (r *rig) stop() {
	for _, u := range r.units {
		u.exec.Close()
	}
	r.running.Wait()
}

func (r *rig) newUnit(e layout.Executor) *unit {
	u := &unit{Executor: e}
	c := r.l.Topology.Components[e.Component]
	spec := stats.Spec{Component: e.Component, Spout: c.IsSpout(), Outputs: r.l.Streams(e.Component)}
	switch {
	case e.Component == storm.AckerComponent:
		u.acks = queue.New[*executor.AckBatch](r.limit)
		spec.Inputs = []stats.Input{{Component: "acks"}}
	case c.IsSpout():
		u.outs = queue.New[*executor.OutcomeBatch](r.limit)
	default:
		u.tuples = queue.New[*executor.Batch](r.limit)
		spec.Inputs = []stats.Input{{Component: storm.SystemComponent, Stream: storm.TickStream}}
		for _, in := range c.Inputs {
			spec.Inputs = append(spec.Inputs, stats.Input{Component: in.Component, Stream: in.Stream})
		}
	}
	u.stats = stats.New(spec, time.Now())
	return u
}

func (r *rig) fill(u *unit) {
	c := r.l.Topology.Components[u.Component]
	spec := r.spec(u, c)
	switch {
	case u.acks != nil:
		u.exec = executor.NewAcker(executor.AckerSpec{Spec: spec, Inbox: u.acks, Timed: !r.announce})
	case u.outs != nil:
		u.exec = executor.NewSpout(executor.SpoutSpec{
			Spec: spec, Inbox: u.outs, New: c.NewSpout, MaxPending: r.maxPending, Timed: !r.announce, FirstSeq: 1<<48 - 3, IdleWait: time.Millisecond,
		})
	default:
		inputs := make([]int32, r.l.NumOrigins())
		for i, in := range c.Inputs {
			stream := slices.Index(r.l.Streams(in.Component), in.Stream)
			for _, task := range r.l.Tasks[in.Component] {
				inputs[r.l.Origin(int32(task), uint16(stream)).ID] = int32(i + 1)
			}
		}
		u.exec = executor.NewBolt(executor.BoltSpec{Spec: spec, Inbox: u.tuples, New: c.NewBolt, Inputs: inputs, NumInputs: len(c.Inputs) + 1})
	}
}

func (r *rig) spec(u *unit, c *storm.Component) executor.Spec {
	spec := executor.Spec{
		Component: u.Component, BatchSize: r.batch, Seed: uint64(u.First) << 32, Stats: u.stats, Coarse: &r.coarse,
		Debug: r.debug != nil, Logger: r.debug,
		Report: func(task storm.TaskID, err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.reports = append(r.reports, fmt.Sprintf("%d: %v", task, err))
		},
	}
	spec.Spouts = map[storm.TaskID]executor.Lane[*executor.OutcomeBatch]{}
	for _, o := range r.units {
		for _, task := range o.Tasks() {
			if o.outs != nil {
				spec.Spouts[task] = executor.Unbounded[*executor.OutcomeBatch]{Inbox: o.outs}
			}
		}
		if o.acks != nil {
			spec.Ackers = append(spec.Ackers, executor.Local[*executor.AckBatch]{Inbox: o.acks})
		}
	}
	index := map[string]int{}
	for i, id := range r.l.Streams(u.Component) {
		if !strings.HasPrefix(id, "__") {
			index[id] = i
		}
	}
	for _, task := range u.Tasks() {
		ctx := storm.NewTopologyContext(storm.ContextSpec{
			Context: r.t.Context(), Topology: r.l.Topology, Component: u.Component, Task: task, Tasks: r.l.Tasks,
		})
		spec.Tasks = append(spec.Tasks, executor.TaskSpec{
			ID: task, Context: ctx, StreamIndex: index, Streams: r.streams(u, c, task, ctx), Hooks: slices.Clone(r.hooks),
		})
	}
	return spec
}

func (r *rig) streams(u *unit, c *storm.Component, task storm.TaskID, ctx *storm.TopologyContext) []executor.Stream {
	out := make([]executor.Stream, len(r.l.Streams(c.ID)))
	for i, id := range r.l.Streams(c.ID) {
		out[i].Origin = r.l.Origin(int32(task), uint16(i))
		for _, target := range r.l.Topology.Targets(c.ID) {
			if target.Stream == id && !strings.HasPrefix(id, "__") {
				out[i].Subs = append(out[i].Subs, r.subscription(u, target, c.Streams[id].Fields, ctx))
			}
		}
	}
	return out
}

func (r *rig) subscription(u *unit, target storm.Target, fields storm.Fields, ctx *storm.TopologyContext) executor.Subscription {
	kinds := map[storm.GroupingKind]grouping.Kind{
		storm.GroupShuffle: grouping.Shuffle, storm.GroupFields: grouping.Fields, storm.GroupAll: grouping.All,
		storm.GroupDirect: grouping.Direct, storm.GroupCustom: grouping.Custom, storm.GroupGlobal: grouping.Global,
	}
	spec := grouping.Spec{
		Kind: kinds[target.Grouping.Kind], Targets: r.l.Tasks[target.Component], Rand: rand.New(rand.NewPCG(1, uint64(ctx.Task()))),
	}
	for _, f := range target.Grouping.Fields {
		spec.Fields = append(spec.Fields, slices.Index(fields, f))
	}
	if target.Grouping.Kind == storm.GroupCustom {
		custom, err := target.Grouping.Custom()
		if err != nil {
			r.t.Fatal(err)
		}
		custom.Prepare(ctx, spec.Targets)
		spec.Custom = custom
	}
	g, err := grouping.New(spec)
	if err != nil {
		r.t.Fatal(err)
	}
	sub := executor.Subscription{Component: target.Component, Grouping: g}
	for _, task := range spec.Targets {
		to := r.units[r.l.ExecutorOf(task)]
		if to == u {
			sub.Lanes = append(sub.Lanes, executor.Unbounded[*executor.Batch]{Inbox: to.tuples})
		} else {
			sub.Lanes = append(sub.Lanes, executor.Local[*executor.Batch]{Inbox: to.tuples})
		}
	}
	return sub
}

// of are the executors of a component.
func (r *rig) of(component string) (units []*unit) {
	for _, u := range r.units {
		if u.Component == component {
			units = append(units, u)
		}
	}
	return units
}

func (r *rig) spout(component string) *executor.Spout {
	return r.of(component)[0].exec.(*executor.Spout)
}

// activate activates all spouts, or deactivates them, and lets that settle.
func (r *rig) activate(active bool) {
	for _, u := range r.units {
		if s, ok := u.exec.(*executor.Spout); ok {
			s.SetActive(active)
		}
	}
	synctest.Wait()
}

// rotate lets one message time-out pass, everywhere.
func (r *rig) rotate() {
	for _, u := range r.units {
		if x, ok := u.exec.(interface{ Rotate() }); ok {
			x.Rotate()
		}
	}
	synctest.Wait()
}

// flows are all tuples sent and executed.
func (r *rig) flows() (sent, done uint64) {
	for _, u := range r.units {
		done += u.exec.Flow().Done.Load()
	}
	for _, u := range r.units {
		sent += u.exec.Flow().Sent.Load()
	}
	return sent, done
}

// failure is how the executor of a component ended, which must be a TaskError.
func (r *rig) failure(component string) *executor.TaskError {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := errors.AsType[*executor.TaskError](r.ended[component])
	if !ok {
		r.t.Fatalf("%q ended with %v", component, r.ended[component])
	}
	return f
}

// window are the all-time counts of a component.
func (r *rig) window(component string) stats.Totals {
	var snapshots []stats.Snapshot
	for _, u := range r.of(component) {
		snapshots = append(snapshots, u.stats.Snapshot(time.Now()))
	}
	var total stats.Totals
	for _, s := range snapshots {
		w := s.Windows[stats.AllTime].Totals(true)
		total.Emitted += w.Emitted
		total.Transferred += w.Transferred
		total.Executed += w.Executed
		total.Acked += w.Acked
		total.Failed += w.Failed
	}
	return total
}
