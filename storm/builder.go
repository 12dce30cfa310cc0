package storm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// TopologyBuilder puts a topology together. Mistakes are collected and
// reported by Build, all of them at once.
//
// Components are given as functions that make a new instance, since every task
// has one of its own and a restarted worker starts afresh.
type TopologyBuilder struct {
	components map[string]*Component
	hooks      []func() WorkerHook
	registry   *Registry
	errs       []error
}

// NewTopologyBuilder starts an empty topology.
func NewTopologyBuilder() *TopologyBuilder {
	return &TopologyBuilder{components: map[string]*Component{}}
}

// SetSpout adds a spout under id with parallelism executors.
func (b *TopologyBuilder) SetSpout(id string, newSpout func() Spout, parallelism int) *SpoutDeclarer {
	c := b.add(id, parallelism)
	c.NewSpout = func() (Spout, error) {
		if newSpout == nil {
			return nil, errors.New("the function that makes the spout is nil")
		}
		return newSpout(), nil
	}
	return &SpoutDeclarer{declarer{b, c}}
}

// SetBolt adds a bolt under id with parallelism executors.
func (b *TopologyBuilder) SetBolt(id string, newBolt func() Bolt, parallelism int) *BoltDeclarer {
	c := b.add(id, parallelism)
	c.NewBolt = func() (Bolt, error) {
		if newBolt == nil {
			return nil, errors.New("the function that makes the bolt is nil")
		}
		return newBolt(), nil
	}
	return &BoltDeclarer{declarer{b, c}}
}

// SetBasicBolt adds a basic bolt under id with parallelism executors.
func (b *TopologyBuilder) SetBasicBolt(id string, newBolt func() BasicBolt, parallelism int) *BoltDeclarer {
	c := b.add(id, parallelism)
	c.NewBolt = func() (Bolt, error) {
		if newBolt == nil {
			return nil, errors.New("the function that makes the bolt is nil")
		}
		return &basicRunner{BasicBolt: newBolt()}, nil
	}
	return &BoltDeclarer{declarer{b, c}}
}

// Use names the registry in which SetSpoutNamed and SetBoltNamed look.
func (b *TopologyBuilder) Use(r *Registry) { b.registry = r }

// SetSpoutNamed adds the spout registered under name, made with args.
func (b *TopologyBuilder) SetSpoutNamed(id, name string, args []Value, parallelism int) *SpoutDeclarer {
	c := b.add(id, parallelism)
	c.NewSpout = b.registry.FindSpout(name, args)
	return &SpoutDeclarer{declarer{b, c}}
}

// SetBoltNamed adds the bolt or basic bolt registered under name, made with
// args.
func (b *TopologyBuilder) SetBoltNamed(id, name string, args []Value, parallelism int) *BoltDeclarer {
	c := b.add(id, parallelism)
	c.NewBolt = b.registry.FindBolt(name, args)
	return &BoltDeclarer{declarer{b, c}}
}

// AddWorkerHook has a hook run in every worker.
func (b *TopologyBuilder) AddWorkerHook(newHook func() WorkerHook) {
	b.hooks = append(b.hooks, newHook)
}

func (b *TopologyBuilder) add(id string, parallelism int) *Component {
	c := &Component{ID: id, Hint: parallelism, Conf: Config{}}
	if err := checkID("component", id); err != nil {
		b.errs = append(b.errs, err)
	}
	if parallelism < 1 {
		b.fail(id, fmt.Errorf("parallelism is %d; it must be at least 1", parallelism))
	}
	if _, ok := b.components[id]; ok {
		b.fail(id, errors.New("the id is used twice; every component needs its own"))
	}
	b.components[id] = c
	return c
}

func (b *TopologyBuilder) fail(id string, err error) {
	b.errs = append(b.errs, fmt.Errorf("component %q: %w", id, err))
}

// Build checks the topology and returns it. The error names every component
// that is wrong and why.
func (b *TopologyBuilder) Build() (*Topology, error) {
	t := &Topology{Components: maps.Clone(b.components), WorkerHooks: slices.Clone(b.hooks)}
	errs := slices.Clone(b.errs)
	unknown := map[string]bool{} // components whose streams cannot be told
	for _, id := range t.ComponentIDs() {
		if err := declareOutputs(t.Components[id]); err != nil {
			unknown[id] = true
			errs = append(errs, fmt.Errorf("component %q: %w", id, err))
		}
	}
	errs = append(errs, t.problems(unknown)...)
	if len(errs) > 0 {
		return nil, &InvalidTopologyError{Problems: errs}
	}
	t.Warnings = t.cycles()
	if len(t.Warnings) > 0 && t.keepsState() {
		err := errors.New("components keep state, and checkpoints need a topology without cycles")
		for _, w := range t.Warnings {
			errs = append(errs, fmt.Errorf("%s", w))
		}
		return nil, &InvalidTopologyError{Problems: append(errs, err)}
	}
	return t, nil
}

// declareOutputs asks a fresh instance of the component for its streams.
func declareOutputs(c *Component) error {
	var d OutputFieldsDeclarer
	var instance any
	switch {
	case c.NewSpout != nil:
		s, err := c.NewSpout()
		if err != nil {
			return err
		}
		if s == nil {
			return errors.New("the function that makes the spout returned nil")
		}
		s.DeclareOutputFields(&d)
		instance = s
	case c.NewBolt != nil:
		s, err := c.NewBolt()
		if err != nil {
			return err
		}
		if r, ok := s.(*basicRunner); s == nil || ok && r.BasicBolt == nil {
			return errors.New("the function that makes the bolt returned nil")
		}
		s.DeclareOutputFields(&d)
		instance = s
	}
	c.Streams = d.streams
	if conf, ok := instance.(Configured); ok {
		merged := maps.Clone(conf.ComponentConfiguration())
		if merged == nil {
			merged = Config{}
		}
		maps.Copy(merged, c.Conf)
		c.Conf = merged
	}
	if isStateful(instance) {
		c.Conf[string(ConfTopologySr3Stateful)] = true
	}
	return d.err()
}

// keepsState tells whether some component is stateful.
func (t *Topology) keepsState() bool {
	for _, c := range t.Components {
		if stateful, _ := ConfTopologySr3Stateful.Get(c.Conf); stateful {
			return true
		}
	}
	return false
}

// isStateful reports whether a component, or what a basic bolt's runner runs,
// keeps state.
func isStateful(component any) bool {
	_, ok := Unwrap(component).(Stateful)
	return ok
}

type declarer struct {
	b *TopologyBuilder
	c *Component
}

// SpoutDeclarer sets the details of a spout.
type SpoutDeclarer struct{ declarer }

// SetNumTasks sets the number of tasks, which the executors share.
func (d *SpoutDeclarer) SetNumTasks(n int) *SpoutDeclarer {
	return d.SetConf(string(ConfTopologyTasks), n)
}

// SetConf sets one key of the component's configuration.
func (d *SpoutDeclarer) SetConf(key string, value any) *SpoutDeclarer {
	d.c.Conf[key] = value
	return d
}

// BoltDeclarer sets the details of a bolt: its inputs above all.
type BoltDeclarer struct{ declarer }

// SetNumTasks sets the number of tasks, which the executors share.
func (d *BoltDeclarer) SetNumTasks(n int) *BoltDeclarer {
	return d.SetConf(string(ConfTopologyTasks), n)
}

// SetConf sets one key of the component's configuration.
func (d *BoltDeclarer) SetConf(key string, value any) *BoltDeclarer {
	d.c.Conf[key] = value
	return d
}

// ShuffleGrouping subscribes to the default stream of a component: tuples are
// dealt evenly to all tasks.
func (d *BoltDeclarer) ShuffleGrouping(component string) *BoltDeclarer {
	return d.Grouping(component, DefaultStream, Grouping{Kind: GroupShuffle})
}

// LocalOrShuffleGrouping is ShuffleGrouping that prefers tasks in the
// emitter's own worker.
func (d *BoltDeclarer) LocalOrShuffleGrouping(component string) *BoltDeclarer {
	return d.Grouping(component, DefaultStream, Grouping{Kind: GroupLocalOrShuffle})
}

// FieldsGrouping sends tuples that are equal in fields to the same task.
func (d *BoltDeclarer) FieldsGrouping(component string, fields ...string) *BoltDeclarer {
	return d.Grouping(component, DefaultStream, Grouping{Kind: GroupFields, Fields: fields})
}

// PartialKeyGrouping sends tuples that are equal in fields to one of two
// tasks, the one that got less so far.
func (d *BoltDeclarer) PartialKeyGrouping(component string, fields ...string) *BoltDeclarer {
	return d.Grouping(component, DefaultStream, Grouping{Kind: GroupPartialKey, Fields: fields})
}

// GlobalGrouping sends all tuples to the task with the lowest id.
func (d *BoltDeclarer) GlobalGrouping(component string) *BoltDeclarer {
	return d.Grouping(component, DefaultStream, Grouping{Kind: GroupGlobal})
}

// AllGrouping sends every tuple to every task.
func (d *BoltDeclarer) AllGrouping(component string) *BoltDeclarer {
	return d.Grouping(component, DefaultStream, Grouping{Kind: GroupAll})
}

// NoneGrouping sends each tuple to a task picked at random.
func (d *BoltDeclarer) NoneGrouping(component string) *BoltDeclarer {
	return d.Grouping(component, DefaultStream, Grouping{Kind: GroupNone})
}

// DirectGrouping subscribes to tuples that the emitter addresses to a task.
func (d *BoltDeclarer) DirectGrouping(component string) *BoltDeclarer {
	return d.Grouping(component, DefaultStream, Grouping{Kind: GroupDirect})
}

// CustomGrouping lets newGrouping's results choose the tasks.
func (d *BoltDeclarer) CustomGrouping(component string, newGrouping func() CustomGrouping) *BoltDeclarer {
	g := Grouping{Kind: GroupCustom}
	if newGrouping != nil {
		g.Custom = func() (CustomGrouping, error) { return newGrouping(), nil }
	}
	return d.Grouping(component, DefaultStream, g)
}

// Grouping subscribes to any stream of a component by any rule.
func (d *BoltDeclarer) Grouping(component, stream string, g Grouping) *BoltDeclarer {
	d.c.Inputs = append(d.c.Inputs, Input{Component: component, Stream: stream, Grouping: g})
	return d
}
