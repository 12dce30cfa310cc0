package worker

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/checkpoint"
	"github.com/stormring/stormring/worker/executor"
	"github.com/stormring/stormring/worker/monitor"
)

// States keeps the state of a topology's tasks, and its commit record.
type States interface {
	executor.Records
	// Keep makes the keeper of a task.
	Keep(KeepSpec) (executor.Keeper, error)
}

// KeepSpec is a task whose state is to be kept.
type KeepSpec struct {
	Component string
	Task      storm.TaskID
	// Conf is what the component sees.
	Conf *conf.Conf
	// Post runs a function on the task's goroutine, soon.
	Post func(func())
}

// Measured is a Keeper that has numbers for monitoring. Measures may be called
// by any goroutine.
type Measured interface {
	Measures() []monitor.Value
}

// checkpointValues are the numbers of the checkpoint task.
func checkpointValues(s executor.CheckpointStatus, now time.Time) []monitor.Value {
	values := []monitor.Value{
		{Name: monitor.CheckpointsCommitted, Value: float64(s.Done)},
		{Name: monitor.CheckpointsAbandoned, Value: float64(s.Abandoned)},
		{Name: monitor.CheckpointsSlow, Value: float64(s.Slow)},
		{Name: monitor.Rollbacks, Value: float64(s.RolledBack)},
	}
	if !s.At.IsZero() {
		values = append(values,
			monitor.Value{Name: monitor.CheckpointSeconds, Value: s.Took.Seconds()},
			monitor.Value{Name: monitor.CheckpointAge, Value: now.Sub(s.At).Seconds()})
	}
	return values
}

// statesOf are the numbers of the state of an executor's tasks.
func (w *Worker) statesOf(name string, u *unit) []monitor.Labeled {
	var out []monitor.Labeled
	for _, task := range u.Tasks() {
		if m, ok := w.measured.Load(task); ok {
			out = append(out, monitor.Labeled{
				Topology: w.spec.TopologyID, Worker: name, Component: u.Component,
				Tasks: monitor.TaskRange(int32(task), int32(task)), Values: m.(Measured).Measures(), //nolint:forcetypeassert // nothing else is stored
			})
		}
	}
	return out
}

// heldPerBuffer is how many receive buffers of tuples a task may hold back.
const heldPerBuffer = 16

// installTimeout is when an era is begun anew in which tasks have not got their state.
// Those that are about to get it go on.
const installTimeout = 10 * time.Second

// mostTimeouts is the number of checkpoints that may time out in a row.
const mostTimeouts = 3

// planCheckpoints finds out who takes part in checkpoints.
func (w *Worker) planCheckpoints() error {
	l := w.spec.Layout
	var components []checkpoint.Component
	for id, c := range l.Topology.Components {
		if c.NewSpout == nil && c.NewBolt == nil {
			continue // of the system
		}
		one := checkpoint.Component{ID: id, Stateful: l.ComponentConf(id).Bool(storm.ConfTopologySr3Stateful)}
		for _, task := range l.Tasks[id] {
			one.Tasks = append(one.Tasks, int32(task))
		}
		for _, in := range c.Inputs {
			if !isSystemStream(in.Stream) {
				one.Inputs = append(one.Inputs, in.Component)
			}
		}
		components = append(components, one)
	}
	var err error
	w.plan, err = checkpoint.NewPlan(components)
	if w.spec.States == nil {
		w.spec.States = NewMemoryStates()
	}
	return err
}

// checkpoints is what an executor needs to take part.
func (w *Worker) checkpoints(u *unit) (*executor.Checkpoints, error) {
	l := w.spec.Layout
	c := l.ComponentConf(u.Component)
	cp := &executor.Checkpoints{
		MaxHeld: heldPerBuffer * l.Conf.Int(storm.ConfTopologyExecutorReceiveBufferSize),
		Tasks:   l.NumTasks() + 1,
		Rewinds: w.plan.Rewinds,
		Answer:  w.answer, Broken: w.broken,
	}
	for _, in := range w.plan.InputsOf(u.Component) {
		cp.Inputs = append(cp.Inputs, storm.TaskID(in))
	}
	if u.outs != nil {
		cp.Inputs = l.Tasks[storm.CheckpointComponent]
	}
	for _, task := range w.plan.TargetsOf(u.Component) {
		lane, err := w.tupleLane(u, l.ExecutorOf(storm.TaskID(task)))
		if err != nil {
			return nil, err
		}
		cp.Targets = append(cp.Targets, executor.MarkerTarget{Task: storm.TaskID(task), Lane: lane})
	}
	for i, id := range l.Streams(u.Component) {
		if id != storm.CheckpointStream {
			continue
		}
		for _, task := range u.Tasks() {
			cp.Markers = append(cp.Markers, l.Origin(int32(task), uint16(i)))
		}
	}
	if c.Bool(storm.ConfTopologySr3Stateful) {
		cp.Keep = func(task storm.TaskID, post func(func())) (executor.Keeper, error) {
			k, err := w.spec.States.Keep(KeepSpec{Component: u.Component, Task: task, Conf: c, Post: post})
			if m, ok := k.(Measured); ok && err == nil {
				w.measured.Store(task, m)
			}
			return k, err
		}
	}
	return cp, nil
}

func (w *Worker) newCheckpointer() *executor.Checkpointer {
	c := w.spec.Layout.Conf
	spec := executor.CheckpointerSpec{
		Config: checkpoint.Config{
			Stateful:       w.answering(),
			Interval:       c.Duration(storm.ConfTopologyStateCheckpointIntervalMS),
			Timeout:        c.Duration(storm.ConfTopologyStateSynchronizationTimeoutSecs),
			InstallTimeout: min(installTimeout, c.Duration(storm.ConfTopologyStateSynchronizationTimeoutSecs)),
			MaxTimeouts:    mostTimeouts,
		},
		Send: w.mark, Records: w.spec.States, Logger: w.log,
	}
	for _, task := range w.plan.Sources {
		spec.Sources = append(spec.Sources, storm.TaskID(task))
	}
	return executor.NewCheckpointer(spec)
}

// answering are the tasks that a checkpoint waits for.
func (w *Worker) answering() []int32 {
	if !w.plan.Rewinds {
		return w.plan.Stateful
	}
	var all []int32
	for id, c := range w.spec.Layout.Topology.Components {
		if c.NewSpout == nil && c.NewBolt == nil {
			continue // of the system
		}
		for _, task := range w.spec.Layout.Tasks[id] {
			all = append(all, int32(task))
		}
	}
	slices.Sort(all)
	return all
}

// The kinds of control messages about checkpoints; JSON follows.
const (
	markMessage = iota + loadMessage + 1
	answerMessage
	brokenMessage
	startedMessage
)

// mark is what a markMessage says.
type mark struct {
	Task   storm.TaskID      `json:"task"`
	Marker checkpoint.Marker `json:"marker"`
}

// mark brings a marker to a spout's task.
func (w *Worker) mark(task storm.TaskID, m checkpoint.Marker) {
	for i, u := range w.kind(isSpout) {
		if u.First <= task && task <= u.Last {
			w.spouts[i].Marker(task, m)
			return
		}
	}
	w.control(task, markMessage, mark{task, m})
}

// answer brings an answer to the checkpoint task.
func (w *Worker) answer(a checkpoint.Answer) {
	if w.check != nil {
		w.check.Answer(a)
		return
	}
	w.control(w.checkpointTask(), answerMessage, a)
}

// broken tells the checkpoint task that all must go back.
func (w *Worker) broken(reason string) {
	if w.check != nil {
		w.check.Broken(reason)
		return
	}
	w.control(w.checkpointTask(), brokenMessage, reason)
}

func (w *Worker) checkpointTask() storm.TaskID {
	return w.spec.Layout.Tasks[storm.CheckpointComponent][0]
}

// started are the workers, by their first task, that have said they began.
type started struct {
	mu   sync.Mutex
	seen map[storm.TaskID]bool
}

// sayStarted tells the checkpoint task that the tasks of this worker are in no era.
func (w *Worker) sayStarted() {
	if w.spec.Layout.Stateful() && w.check == nil && len(w.units) > 0 {
		w.control(w.checkpointTask(), startedMessage, w.units[0].First)
	}
}

// sawStarted has all go back if another worker began anew. The first time is no
// loss: markers wait for it.
func (w *Worker) sawStarted(first storm.TaskID) {
	w.started.mu.Lock()
	again := w.started.seen[first]
	if w.started.seen == nil {
		w.started.seen = map[storm.TaskID]bool{}
	}
	w.started.seen[first] = true
	w.started.mu.Unlock()
	if w.check != nil && (again || !w.check.Installing()) {
		w.check.Broken(fmt.Sprintf("the worker with task %d has started", first))
	}
}

// control sends a control message to the worker of a task. It may get lost with
// that worker.
func (w *Worker) control(task storm.TaskID, kind byte, what any) {
	text, err := json.Marshal(what)
	if err != nil {
		panic(fmt.Sprintf("a control message of kind %d: %v", kind, err)) // cannot be: our own types
	}
	way, err := w.route(w.spec.Layout.ExecutorOf(task))
	if err != nil {
		w.log.Error("no way to another worker", "task", task, "error", err)
		return
	}
	if p := way.now(); p != nil {
		if err := p.SendControl(append([]byte{kind}, text...)); err != nil {
			w.log.Debug("a word about checkpoints is lost", "task", task, "error", err) // it is closed
		}
	}
}

// hear takes in a control message.
func (w *Worker) hear(msg []byte) error {
	if len(msg) == 0 {
		return fmt.Errorf("an empty control message")
	}
	text := msg[1:]
	switch msg[0] {
	case loadMessage:
		return w.learn(msg)
	case markMessage:
		return heard(text, func(m mark) {
			for i, u := range w.kind(isSpout) {
				if u.First <= m.Task && m.Task <= u.Last && w.spec.Layout.Stateful() {
					w.spouts[i].Marker(m.Task, m.Marker)
				}
			}
		})
	case answerMessage:
		return heard(text, func(a checkpoint.Answer) {
			if w.check != nil {
				w.check.Answer(a)
			}
		})
	case brokenMessage:
		return heard(text, func(reason string) {
			if w.check != nil {
				w.check.Broken(reason)
			}
		})
	case startedMessage:
		return heard(text, w.sawStarted)
	default:
		return fmt.Errorf("a control message of kind %d is not understood", msg[0])
	}
}

func heard[T any](text []byte, do func(T)) error {
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("a control message: %w", err)
	}
	do(v)
	return nil
}
