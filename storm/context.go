package storm

import (
	"context"
	"log/slog"
	"maps"
	"slices"
)

// TopologyContext tells a component where it stands: its task, its worker and
// the topology around it. It may be read from any goroutine; hooks are added
// during Open and Prepare only.
type TopologyContext struct {
	spec    ContextSpec
	hooks   []TaskHook
	metrics metrics
}

// ContextSpec is what the runtime fills a TopologyContext from.
type ContextSpec struct {
	// Context ends when the task stops.
	Context      context.Context
	Topology     *Topology // with the system's components
	TopologyID   string
	TopologyName string
	Conf         Config // topology and component configuration, merged
	Component    string
	Task         TaskID
	// Tasks are the tasks of every component, sorted ascending.
	Tasks map[string][]TaskID
	// WorkerTasks are the tasks that run in this worker, sorted ascending.
	WorkerTasks []TaskID
	WorkerPort  int
	Logger      *slog.Logger
	// Shared are the values that the tasks and hooks of a worker share.
	Shared *SharedValues
}

// NewTopologyContext is called by the runtime.
func NewTopologyContext(spec ContextSpec) *TopologyContext {
	return &TopologyContext{spec: spec}
}

// Context ends when the task stops; pass it to blocking calls.
func (c *TopologyContext) Context() context.Context { return c.spec.Context }

// TopologyID is the topology's unique id.
func (c *TopologyContext) TopologyID() string { return c.spec.TopologyID }

// TopologyName is the name that the topology was submitted under.
func (c *TopologyContext) TopologyName() string { return c.spec.TopologyName }

// Topology is the whole topology, the system's components included. It must
// not be changed.
func (c *TopologyContext) Topology() *Topology { return c.spec.Topology }

// Conf is the configuration of this component. It must not be changed.
func (c *TopologyContext) Conf() Config { return c.spec.Conf }

// Component is the id of this component.
func (c *TopologyContext) Component() string { return c.spec.Component }

// Task is the id of this task.
func (c *TopologyContext) Task() TaskID { return c.spec.Task }

// TaskIndex is the rank of this task among the tasks of its component, from 0.
func (c *TopologyContext) TaskIndex() int {
	return slices.Index(c.spec.Tasks[c.spec.Component], c.spec.Task)
}

// ComponentTasks are the tasks of a component, sorted ascending; nil if there
// is no such component.
func (c *TopologyContext) ComponentTasks(component string) []TaskID {
	return slices.Clone(c.spec.Tasks[component])
}

// ComponentOf is the component that a task belongs to, or "".
func (c *TopologyContext) ComponentOf(task TaskID) string {
	for id, tasks := range c.spec.Tasks {
		if _, ok := slices.BinarySearch(tasks, task); ok {
			return id
		}
	}
	return ""
}

// Streams are the ids of the streams that this component declares, sorted.
func (c *TopologyContext) Streams() []string {
	comp := c.spec.Topology.Components[c.spec.Component]
	if comp == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(comp.Streams))
}

// OutputFields are the fields that a component declares for a stream; ok is
// false if there is no such component or stream.
func (c *TopologyContext) OutputFields(component, stream string) (fields Fields, ok bool) {
	comp := c.spec.Topology.Components[component]
	if comp == nil {
		return nil, false
	}
	s, ok := comp.Streams[stream]
	return slices.Clone(s.Fields), ok
}

// Sources are the streams that this component subscribes to.
func (c *TopologyContext) Sources() []Input {
	comp := c.spec.Topology.Components[c.spec.Component]
	if comp == nil {
		return nil
	}
	return slices.Clone(comp.Inputs)
}

// Target is one subscription to a stream of this component.
type Target struct {
	Stream    string
	Component string
	Grouping  Grouping
}

// Targets are the subscriptions to the streams of this component, by stream
// and component.
func (c *TopologyContext) Targets() []Target { return c.spec.Topology.Targets(c.spec.Component) }

// WorkerTasks are the tasks that run in the same worker, sorted ascending.
func (c *TopologyContext) WorkerTasks() []TaskID { return slices.Clone(c.spec.WorkerTasks) }

// WorkerPort is the port of this worker's slot.
func (c *TopologyContext) WorkerPort() int { return c.spec.WorkerPort }

// Logger logs into the worker's log under the names of component and task.
func (c *TopologyContext) Logger() *slog.Logger { return c.spec.Logger }

// Shared are values that the tasks and worker hooks of one worker share.
func (c *TopologyContext) Shared() *SharedValues { return c.spec.Shared }

// AddHook has h called for this task from now on. Call it in Open or Prepare.
func (c *TopologyContext) AddHook(h TaskHook) { c.hooks = append(c.hooks, h) }

// Hooks are the hooks added so far.
func (c *TopologyContext) Hooks() []TaskHook { return c.hooks }
