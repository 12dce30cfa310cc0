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
	"maps"
	"slices"

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
	Conf     storm.Config
	// Tasks are the tasks of each component, sorted ascending.
	Tasks map[string][]storm.TaskID
	// Executors are all executors by first task.
	Executors []Executor
	// Workers is the number of workers wanted.
	Workers int
	// Ackers is the number of acker tasks.
	Ackers int

	streams map[string][]string // sorted stream ids of each component
	owner   []string            // component by task id
	origins []*track.Origin     // by id; 0 is the system's tick
	offsets []int32             // first origin id by task id
}

// New lays out t. It refuses settings that make no sense, naming the key.
func New(t *storm.Topology, conf storm.Config) (*Layout, error) {
	l := &Layout{Conf: conf, Tasks: map[string][]storm.TaskID{}, streams: map[string][]string{}}
	var err error
	if l.Workers, err = positive(conf, storm.ConfTopologyWorkers, 1); err != nil {
		return nil, err
	}
	l.Ackers = l.Workers
	if v := conf[string(storm.ConfTopologyAckerExecutors)]; v != nil {
		if l.Ackers, err = storm.ConfTopologyAckerExecutors.Parse(v); err != nil {
			return nil, err
		}
		if l.Ackers < 0 {
			return nil, fmt.Errorf("%s is %d; it must not be negative", storm.ConfTopologyAckerExecutors, l.Ackers)
		}
	}
	l.Topology = withSystem(t, l.Ackers)
	if err := l.number(conf); err != nil {
		return nil, err
	}
	l.makeOrigins()
	return l, nil
}

func positive(conf storm.Config, key storm.Key[int], otherwise int) (int, error) {
	v := conf[string(key)]
	if v == nil {
		return otherwise, nil
	}
	n, err := key.Parse(v)
	if err != nil {
		return 0, err
	}
	if n < 1 {
		return 0, fmt.Errorf("%s is %d; it must be at least 1", key, n)
	}
	return n, nil
}

// number gives every component its tasks and executors.
func (l *Layout) number(conf storm.Config) error {
	limit, err := positive(conf, storm.ConfTopologyMaxTaskParallelism, track.MaxTask)
	if err != nil {
		return err
	}
	next := storm.TaskID(1)
	l.owner = []string{storm.SystemComponent}
	for _, id := range l.Topology.ComponentIDs() {
		c := l.Topology.Components[id]
		n, err := l.taskCount(c, limit)
		if err != nil {
			return fmt.Errorf("component %q: %w", id, err)
		}
		if int(next)+n-1 > track.MaxTask {
			return fmt.Errorf("component %q: the topology has more than %d tasks; lower parallelism or topology.max.task.parallelism", id, track.MaxTask)
		}
		l.streams[id] = sortedStreams(c)
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

func (l *Layout) taskCount(c *storm.Component, limit int) (int, error) {
	switch c.ID {
	case storm.SystemComponent:
		return 0, nil
	case storm.AckerComponent:
		return l.Ackers, nil
	}
	if own, err := positive(c.Conf, storm.ConfTopologyMaxTaskParallelism, limit); err != nil {
		return 0, err
	} else if own < limit {
		limit = own
	}
	n, err := positive(c.Conf, storm.ConfTopologyTasks, max(c.Hint, 1))
	return min(n, limit), err
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
// with the component's on top.
func (l *Layout) ComponentConf(component string) storm.Config {
	merged := maps.Clone(l.Conf)
	if merged == nil {
		merged = storm.Config{}
	}
	if c := l.Topology.Components[component]; c != nil {
		maps.Copy(merged, c.Conf)
	}
	return merged
}
