package worker

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/executor"
	"github.com/stormring/stormring/worker/grouping"
	"github.com/stormring/stormring/worker/queue"
	"github.com/stormring/stormring/worker/stats"
	"github.com/stormring/stormring/worker/transport"
)

// build makes the executors of this worker in two passes: inboxes first, since
// executors refer to each other's.
func (w *Worker) build() error {
	l := w.spec.Layout
	if l.Stateful() {
		if err := w.planCheckpoints(); err != nil {
			return err
		}
	}
	limit := l.Conf.Int(storm.ConfTopologyExecutorReceiveBufferSize)
	for i, e := range l.Executors {
		if w.spec.Placement[i] == w.spec.Index {
			w.units = append(w.units, w.newUnit(e, limit))
		}
	}
	w.byTask = make(map[storm.TaskID]*unit, len(w.units))
	for i := range w.units {
		w.byTask[w.units[i].First] = &w.units[i]
	}
	for _, task := range l.Tasks[storm.AckerComponent] {
		lane, err := w.ackLane(task)
		if err != nil {
			return err
		}
		w.failLanes = append(w.failLanes, lane)
	}
	for i := range w.units {
		if err := w.fill(&w.units[i]); err != nil {
			return err
		}
	}
	w.balance()
	return nil
}

func (w *Worker) newUnit(e layout.Executor, limit int) unit {
	u := unit{Executor: e, done: make(chan struct{})}
	comp := w.spec.Layout.Topology.Components[e.Component]
	s := stats.Spec{Component: e.Component, Spout: comp.IsSpout(), Outputs: w.spec.Layout.Streams(e.Component)}
	switch {
	case e.Component == storm.AckerComponent:
		u.acks = queue.New[*executor.AckBatch](limit)
		s.Inputs = []stats.Input{{Component: storm.SystemComponent, Stream: storm.AckAckStream}}
	case e.Component == storm.CheckpointComponent:
		u.check, s.Spout = true, true
	case comp.IsSpout():
		u.outs = queue.New[*executor.OutcomeBatch](limit)
	default:
		u.tuple = queue.New[*executor.Batch](limit)
		s.Inputs = inputsOf(comp)
	}
	u.stats = stats.New(s, w.start)
	return u
}

// inputsOf are the statistics' inputs of a bolt; the first is the system's
// ticks.
func inputsOf(c *storm.Component) []stats.Input {
	ins := []stats.Input{{Component: storm.SystemComponent, Stream: storm.TickStream}}
	for _, in := range c.Inputs {
		ins = append(ins, stats.Input{Component: in.Component, Stream: in.Stream})
	}
	return ins
}

// inputIndex maps origins to positions in inputsOf.
func (w *Worker) inputIndex(c *storm.Component) []int32 {
	l := w.spec.Layout
	index := make([]int32, l.NumOrigins())
	for i, in := range c.Inputs {
		stream := slices.Index(l.Streams(in.Component), in.Stream)
		for _, task := range l.Tasks[in.Component] {
			index[l.Origin(int32(task), uint16(stream)).ID] = int32(i + 1)
		}
	}
	return index
}

func (w *Worker) fill(u *unit) error {
	comp := w.spec.Layout.Topology.Components[u.Component]
	if u.check {
		w.check = w.newCheckpointer()
		u.exec = w.check
		return nil
	}
	timed := w.spec.Layout.Conf.Bool(storm.ConfTopologyEnableMessageTimeouts)
	spec, err := w.executorSpec(u, comp)
	if err != nil {
		return fmt.Errorf("component %q: %w", u.Component, err)
	}
	switch {
	case u.acks != nil:
		x := executor.NewAcker(executor.AckerSpec{Spec: spec, Inbox: u.acks, Timed: timed})
		u.exec = x
		w.ackers = append(w.ackers, x)
		w.rotateEvery(x.Rotate)
	case u.outs != nil:
		c := w.spec.Layout.ComponentConf(u.Component)
		x := executor.NewSpout(executor.SpoutSpec{
			Spec: spec, Inbox: u.outs, New: comp.NewSpout,
			MaxPending: c.Int(storm.ConfTopologyMaxSpoutPending),
			Timed:      timed,
			FirstSeq:   rand.Uint64() & track.SeqMask, //nolint:gosec // only needs to differ from the last incarnation's
			IdleWait:   c.Duration(storm.ConfTopologySleepSpoutWaitStrategyTimeMS),
		})
		u.exec = x
		w.spouts = append(w.spouts, x)
		if x.Shuffles() {
			w.balanced = append(w.balanced, x)
		}
		w.rotateEvery(x.Rotate)
	default:
		x := executor.NewBolt(executor.BoltSpec{
			Spec: spec, Inbox: u.tuple, New: comp.NewBolt,
			Inputs: w.inputIndex(comp), NumInputs: len(comp.Inputs) + 1,
		})
		u.exec = x
		w.bolts = append(w.bolts, x)
		if x.Shuffles() {
			w.balanced = append(w.balanced, x)
		}
		w.rotateEvery(x.Rotate)
		w.tickEvery(u, x)
	}
	return nil
}

func (w *Worker) executorSpec(u *unit, comp *storm.Component) (executor.Spec, error) {
	l := w.spec.Layout
	spec := executor.Spec{
		Component: u.Component,
		BatchSize: l.Conf.Int(conf.BatchSize),
		Seed:      rand.Uint64(), //nolint:gosec // edges need to be spread, not secret
		Stats:     u.stats,
		Coarse:    &w.coarse,
		Report:    func(task storm.TaskID, err error) { w.errors.report(u.Component, task, err) },
		Debug:     l.ComponentConf(u.Component).Bool(storm.ConfTopologyDebug),
		Logger:    w.log,
	}
	spec.Ackers = w.failLanes
	if u.outs == nil && l.Ackers > 0 {
		lanes, err := w.spoutLanes()
		if err != nil {
			return spec, err
		}
		spec.Spouts = lanes
	}
	index := map[string]int{}
	for i, id := range l.Streams(u.Component) {
		if !isSystemStream(id) {
			index[id] = i
		}
	}
	for _, task := range u.Tasks() {
		t := executor.TaskSpec{ID: task, StreamIndex: index, Context: w.taskContext(comp, task)}
		u.contexts = append(u.contexts, t.Context)
		streams, err := w.streams(u, comp, task, t.Context)
		if err != nil {
			return spec, err
		}
		t.Streams = streams
		spec.Tasks = append(spec.Tasks, t)
	}
	if l.Stateful() && u.acks == nil {
		cp, err := w.checkpoints(u)
		if err != nil {
			return spec, err
		}
		spec.Checkpoints = cp
	}
	return spec, nil
}

func isSystemStream(id string) bool {
	return len(id) >= 2 && id[:2] == "__" || id == storm.CheckpointStream
}

func (w *Worker) taskContext(comp *storm.Component, task storm.TaskID) *storm.TopologyContext {
	l := w.spec.Layout
	return storm.NewTopologyContext(storm.ContextSpec{
		Context: w.taskCt, Topology: l.Topology, TopologyID: w.spec.TopologyID, TopologyName: w.spec.TopologyName,
		Conf: l.ComponentConf(comp.ID).All(), Component: comp.ID, Task: task, Tasks: l.Tasks,
		WorkerTasks: w.workerTasks(), WorkerPort: w.spec.Port,
		Logger: w.log.With("component", comp.ID, "task", int(task)), Shared: w.shared,
	})
}

func (w *Worker) workerTasks() []storm.TaskID {
	var tasks []storm.TaskID
	for i := range w.units {
		tasks = append(tasks, w.units[i].Tasks()...)
	}
	slices.Sort(tasks)
	return tasks
}

// streams are the output streams of a task with all who subscribe to them.
func (w *Worker) streams(u *unit, comp *storm.Component, task storm.TaskID, ctx *storm.TopologyContext) ([]executor.Stream, error) {
	l := w.spec.Layout
	targets := l.Topology.Targets(comp.ID)
	ids := l.Streams(comp.ID)
	out := make([]executor.Stream, len(ids))
	for i, id := range ids {
		out[i].Origin = l.Origin(int32(task), uint16(i))
		if isSystemStream(id) {
			continue // acks and the like have ways of their own
		}
		for _, t := range targets {
			if t.Stream != id {
				continue
			}
			sub, err := w.subscription(u, t, comp.Streams[id].Fields, ctx)
			if err != nil {
				return nil, fmt.Errorf("stream %q to component %q: %w", id, t.Component, err)
			}
			out[i].Subs = append(out[i].Subs, sub)
		}
	}
	return out, nil
}

func (w *Worker) subscription(u *unit, t storm.Target, fields storm.Fields, ctx *storm.TopologyContext) (executor.Subscription, error) {
	l := w.spec.Layout
	spec := grouping.Spec{
		Targets:     l.Tasks[t.Component],
		HigherBound: l.Conf.Float(storm.ConfTopologyLocalityAwareHigherBound),
		LowerBound:  l.Conf.Float(storm.ConfTopologyLocalityAwareLowerBound),
		Rand:        rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), //nolint:gosec // spreads load
	}
	sub := executor.Subscription{Component: t.Component}
	for _, task := range spec.Targets {
		x := l.ExecutorOf(task)
		spec.Local = append(spec.Local, w.spec.Placement[x] == w.spec.Index)
		lane, err := w.tupleLane(u, x)
		if err != nil {
			return sub, err
		}
		sub.Lanes = append(sub.Lanes, lane)
	}
	for _, f := range t.Grouping.Fields {
		spec.Fields = append(spec.Fields, slices.Index(fields, f))
	}
	if err := setKind(&spec, t.Grouping, ctx); err != nil {
		return sub, err
	}
	g, err := grouping.New(spec)
	sub.Grouping = g
	return sub, err
}

// setKind translates what the author wrote.
func setKind(spec *grouping.Spec, g storm.Grouping, ctx *storm.TopologyContext) error {
	switch g.Kind {
	case storm.GroupShuffle:
		spec.Kind = grouping.Shuffle
	case storm.GroupLocalOrShuffle:
		spec.Kind = grouping.LocalOrShuffle
	case storm.GroupFields:
		spec.Kind = grouping.Fields
	case storm.GroupGlobal:
		spec.Kind = grouping.Global
	case storm.GroupAll:
		spec.Kind = grouping.All
	case storm.GroupNone:
		spec.Kind = grouping.None
	case storm.GroupDirect:
		spec.Kind = grouping.Direct
	case storm.GroupPartialKey:
		spec.Kind = grouping.PartialKey
	case storm.GroupCustom:
		custom, err := g.Custom()
		if err != nil {
			return err
		}
		custom.Prepare(ctx, slices.Clone(spec.Targets))
		spec.Kind, spec.Custom = grouping.Custom, custom
	default:
		return fmt.Errorf("unknown grouping %d", g.Kind)
	}
	return nil
}

// tupleLane is the way from u to the executor at index x of the layout.
func (w *Worker) tupleLane(u *unit, x int) (executor.Lane[*executor.Batch], error) {
	to := w.spec.Layout.Executors[x]
	if w.spec.Placement[x] != w.spec.Index {
		key := laneKey{u.First, to.First}
		if lane := w.lanes[key]; lane != nil {
			return lane, nil
		}
		way, err := w.route(x)
		if err != nil {
			return nil, err
		}
		w.lanes[key] = &tupleLane{l: w.links, route: way, dst: transport.ExecutorID(to.First)}
		return w.lanes[key], nil
	}
	inbox := w.byTask[to.First].tuple
	if to.First == u.First {
		// An executor that waited for itself would wait for ever.
		return executor.Unbounded[*executor.Batch]{Inbox: inbox}, nil
	}
	return executor.Local[*executor.Batch]{Inbox: inbox}, nil
}

// laneKey names a lane to another worker by its ends, so that all tasks of an
// executor share it.
type laneKey struct{ from, to storm.TaskID }

func (w *Worker) route(x int) (*route, error) {
	if w.links == nil {
		return nil, fmt.Errorf("executors are placed on worker %d, but this worker has no network", w.spec.Placement[x])
	}
	return w.links.route(x)
}

func (w *Worker) ackLane(task storm.TaskID) (executor.Lane[*executor.AckBatch], error) {
	x := w.spec.Layout.ExecutorOf(task)
	if w.spec.Placement[x] != w.spec.Index {
		way, err := w.route(x)
		if err != nil {
			return nil, err
		}
		return &ackLane{l: w.links, route: way, task: task}, nil
	}
	return executor.Local[*executor.AckBatch]{Inbox: w.byTask[w.spec.Layout.Executors[x].First].acks}, nil
}

// spoutLanes are the ways from an acker to all spout tasks.
func (w *Worker) spoutLanes() (map[storm.TaskID]executor.Lane[*executor.OutcomeBatch], error) {
	lanes := map[storm.TaskID]executor.Lane[*executor.OutcomeBatch]{}
	for x, e := range w.spec.Layout.Executors {
		if !w.spec.Layout.Topology.Components[e.Component].IsSpout() {
			continue
		}
		var lane executor.Lane[*executor.OutcomeBatch]
		if w.spec.Placement[x] != w.spec.Index {
			way, err := w.route(x)
			if err != nil {
				return nil, err
			}
			lane = &outcomeLane{route: way, task: e.First}
		} else {
			lane = executor.Unbounded[*executor.OutcomeBatch]{Inbox: w.byTask[e.First].outs}
		}
		for _, task := range e.Tasks() {
			lanes[task] = lane
		}
	}
	return lanes, nil
}
