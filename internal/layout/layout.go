// Package layout turns a topology into what runs: the system's components
// added, tasks numbered, executors cut, and dealt to workers.
//
// Begin at New. Everything here follows from the topology and its
// configuration alone, so that every process of a cluster computes the same
// layout by itself. The rules are Storm's: task ids start at 1 over all
// components in the order of Java strings.
package layout

import (
	"fmt"
	"slices"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
)

// Executor is a contiguous range of tasks of one component, run by one thread
// of control.
type Executor struct {
	Component   string
	First, Last storm.TaskID
}

// Tasks are the executor's task ids.
func (e Executor) Tasks() []storm.TaskID {
	tasks := make([]storm.TaskID, 0, e.Last-e.First+1)
	for t := e.First; t <= e.Last; t++ {
		tasks = append(tasks, t)
	}
	return tasks
}

// Layout is a topology made ready to run.
type Layout struct {
	// Topology has the system's components and streams, and each component's
	// topology.tasks in its configuration.
	Topology *storm.Topology
	// Conf is the topology's configuration over the defaults.
	Conf *conf.Conf
	// Tasks are the tasks of each component, sorted ascending.
	Tasks map[string][]storm.TaskID
	// Executors are all executors by first task.
	Executors []Executor
	// Workers is the number of workers wanted.
	Workers int
	// Ackers is the number of acker tasks.
	Ackers int

	confs   map[string]*conf.Conf
	streams map[string][]string // sorted stream ids of each component
	owner   []string            // component by task id
	origins []*track.Origin     // by id; 0 is the system's tick
	offsets []int32             // first origin id by task id
}

// New lays out t with settings, which are merged from all layers but the
// defaults. It refuses settings that make no sense, naming the key.
func New(t *storm.Topology, settings storm.Config) (*Layout, error) {
	c, err := conf.Defaults().Topology(settings)
	if err != nil {
		return nil, err
	}
	l := &Layout{
		Conf: c, Workers: c.Int(storm.ConfTopologyWorkers), Tasks: map[string][]storm.TaskID{},
		confs: map[string]*conf.Conf{}, streams: map[string][]string{},
	}
	l.Ackers = l.Workers
	if c.Has(string(storm.ConfTopologyAckerExecutors)) {
		l.Ackers = c.Int(storm.ConfTopologyAckerExecutors)
	}
	l.Topology = withSystem(t, l.Ackers)
	if c.Has(string(conf.JVMVersion)) {
		if err := l.addForJVM(); err != nil {
			return nil, err
		}
	}
	if err := l.checkState(); err != nil {
		return nil, err
	}
	if err := l.number(); err != nil {
		return nil, err
	}
	l.makeOrigins()
	return l, nil
}

// number gives every component its tasks and executors.
func (l *Layout) number() error {
	next := storm.TaskID(1)
	l.owner = []string{storm.SystemComponent}
	for _, id := range l.Topology.ComponentIDs() {
		c := l.Topology.Components[id]
		l.streams[id] = sortedStreams(c)
		own, err := l.Conf.Component(id, c.Conf)
		if err != nil {
			return err
		}
		l.confs[id] = own
		n, err := l.taskCount(c, own)
		if err != nil {
			return fmt.Errorf("component %q: %w", id, err)
		}
		if n > track.MaxTask+1-int(next) {
			return fmt.Errorf("component %q: the topology has more than %d tasks; lower parallelism or %s", id, track.MaxTask, storm.ConfTopologyMaxTaskParallelism)
		}
		if n == 0 {
			continue
		}
		c.Conf[string(storm.ConfTopologyTasks)] = n
		for i := range n {
			l.Tasks[id] = append(l.Tasks[id], next+storm.TaskID(i))
			l.owner = append(l.owner, id)
		}
		l.Executors = append(l.Executors, cut(id, next, n, min(max(c.Hint, 1), n))...)
		next += storm.TaskID(n)
	}
	return nil
}

// Stateful tells whether some component keeps state, so that the topology takes
// checkpoints.
func (l *Layout) Stateful() bool { return l.Topology.Components[storm.CheckpointComponent] != nil }

// checkState refuses settings under which a stateful topology would never get on.
func (l *Layout) checkState() error {
	if !l.Stateful() {
		return nil
	}
	interval := l.Conf.Duration(storm.ConfTopologyStateCheckpointIntervalMS)
	timeout := l.Conf.Duration(storm.ConfTopologyMessageTimeoutSecs)
	if l.Conf.Bool(storm.ConfTopologyEnableMessageTimeouts) && interval >= timeout {
		return fmt.Errorf("%s is %v, %s is %v: tuples are acked once a checkpoint holds what they did, so the interval must be shorter than the time-out",
			storm.ConfTopologyStateCheckpointIntervalMS, interval, storm.ConfTopologyMessageTimeoutSecs, timeout)
	}
	return nil
}

// taskCount is the number of tasks of c: what it or the topology says, or its
// parallelism, and no more than the limit, where again c comes before the
// topology.
func (l *Layout) taskCount(c *storm.Component, own *conf.Conf) (int, error) {
	switch c.ID {
	case storm.SystemComponent:
		return 0, nil
	case storm.CheckpointComponent:
		return 1, nil
	case storm.AckerComponent:
		return l.Ackers, nil
	}
	n := max(c.Hint, 1)
	if own.Has(string(storm.ConfTopologyTasks)) {
		n = own.Int(storm.ConfTopologyTasks)
	}
	// own leaves a component's own number of tasks out, like all keys that
	// Storm sets itself.
	if v := c.Conf[string(storm.ConfTopologyTasks)]; v != nil {
		var err error
		if n, err = storm.ConfTopologyTasks.Parse(v); err != nil {
			return 0, err
		}
	}
	if n < 1 {
		return 0, fmt.Errorf("%s is %d; it must be at least 1", storm.ConfTopologyTasks, n)
	}
	if own.Has(string(storm.ConfTopologyMaxTaskParallelism)) {
		n = min(n, own.Int(storm.ConfTopologyMaxTaskParallelism))
	}
	return n, nil
}

// cut splits n tasks from first on into executors whose sizes differ by at
// most one, the larger ones first.
func cut(component string, first storm.TaskID, n, executors int) []Executor {
	out := make([]Executor, 0, executors)
	for i := range executors {
		size := n / executors
		if i < n%executors {
			size++
		}
		out = append(out, Executor{component, first, first + storm.TaskID(size) - 1})
		first += storm.TaskID(size)
	}
	return out
}

func sortedStreams(c *storm.Component) []string {
	// The ids of a component's streams sort like component ids.
	probe := storm.Topology{Components: map[string]*storm.Component{}}
	for id := range c.Streams {
		probe.Components[id] = nil
	}
	return probe.ComponentIDs()
}

func (l *Layout) makeOrigins() {
	l.origins = []*track.Origin{{Component: storm.SystemComponent, Stream: storm.TickStream, Task: int32(storm.SystemTask), Fields: storm.Fields{"rate_secs"}}}
	l.offsets = make([]int32, len(l.owner))
	for task := 1; task < len(l.owner); task++ {
		l.offsets[task] = int32(len(l.origins))
		id := l.owner[task]
		for i, stream := range l.streams[id] {
			l.origins = append(l.origins, &track.Origin{
				Component: id, Stream: stream, Task: int32(task), ID: int32(len(l.origins)),
				StreamIndex: uint16(i), Fields: l.Topology.Components[id].Streams[stream].Fields,
			})
		}
	}
}

// Origin is the shared origin of what a task emits on the stream with the
// given index, or nil if there is no such task or stream.
func (l *Layout) Origin(task int32, stream uint16) *track.Origin {
	if task < 1 || int(task) >= len(l.owner) || int(stream) >= len(l.streams[l.owner[task]]) {
		return nil
	}
	return l.origins[l.offsets[task]+int32(stream)]
}

// TickOrigin is the origin of tick tuples.
func (l *Layout) TickOrigin() *track.Origin { return l.origins[0] }

// NumOrigins is one more than the largest id of an origin.
func (l *Layout) NumOrigins() int { return len(l.origins) }

// NumTasks is the number of tasks, which is also the largest task id.
func (l *Layout) NumTasks() int { return len(l.owner) - 1 }

// Streams are the ids of a component's streams in the order of their indexes.
func (l *Layout) Streams(component string) []string { return l.streams[component] }

// ComponentOf is the component of a task, or "".
func (l *Layout) ComponentOf(task storm.TaskID) string {
	if task < 1 || int(task) >= len(l.owner) {
		return ""
	}
	return l.owner[task]
}

// ExecutorOf is the index in Executors of the executor that runs a task, or -1.
func (l *Layout) ExecutorOf(task storm.TaskID) int {
	i, found := slices.BinarySearchFunc(l.Executors, task, func(e Executor, t storm.TaskID) int { return int(e.First - t) })
	if found {
		return i
	}
	if i--; i >= 0 && task <= l.Executors[i].Last {
		return i
	}
	return -1
}

// Deal gives each executor a worker, from 0 to workers-1, round-robin by first
// task, as Storm's even scheduler does.
func (l *Layout) Deal(workers int) []int {
	out := make([]int, len(l.Executors))
	for i := range out {
		out[i] = i % max(workers, 1)
	}
	return out
}

// ComponentConf is the configuration that a component sees: the topology's
// with the component's on top. It is nil if there is no such component.
func (l *Layout) ComponentConf(component string) *conf.Conf { return l.confs[component] }
