package wire

import (
	"fmt"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// TopologyToThrift is t as Storm's StormTopology. It fails if a component has
// no code, or something in t is of no kind that can be said.
func TopologyToThrift(t cluster.Topology) (*gen.StormTopology, error) {
	x := &gen.StormTopology{
		Spouts:              map[string]*gen.SpoutSpec{},
		Bolts:               map[string]*gen.Bolt{},
		StateSpouts:         map[string]*gen.StateSpoutSpec{},
		WorkerHooks:         list(t.WorkerHooks, notNil),
		DependencyJars:      list(t.DependencyJars, same),
		DependencyArtifacts: list(t.DependencyArtifacts, same),
		StormVersion:        optional(t.StormVersion),
		JdkVersion:          optional(t.JDKVersion),
		SharedMemory:        unset(dict(t.SharedMemory, sharedMemoryToThrift)),
		// Sorted, for a set has no order, and each once, for it is one.
		ComponentToSharedMemory: unset(dict(t.ComponentSharedMemory, uniqueNames)),
	}
	for _, id := range t.IDs(0) {
		c := t.Components[id]
		object, common, err := componentToThrift(c)
		if err != nil {
			return nil, fmt.Errorf("wire: component %q: %w", id, err)
		}
		switch c.Kind {
		case cluster.Bolt:
			x.Bolts[id] = &gen.Bolt{BoltObject: object, Common: common}
		case cluster.Spout:
			x.Spouts[id] = &gen.SpoutSpec{SpoutObject: object, Common: common}
		default:
			return nil, fmt.Errorf("wire: component %q: %w", id, unknown("kind of component", int64(c.Kind)))
		}
	}
	return x, nil
}

// TopologyFromThrift is what a client submitted. It refuses objects, groupings
// and arguments of kinds that are not known here, state spouts, and what one
// map of components cannot hold: an id that is both a spout and a bolt.
func TopologyFromThrift(x *gen.StormTopology) (cluster.Topology, error) {
	if x == nil {
		return cluster.Topology{}, fmt.Errorf("wire: topology: %w", errAbsent)
	}
	t := cluster.Topology{
		Components:            make(map[string]cluster.Component, len(x.Spouts)+len(x.Bolts)),
		WorkerHooks:           list(x.WorkerHooks, notNil),
		DependencyJars:        list(x.DependencyJars, same),
		DependencyArtifacts:   list(x.DependencyArtifacts, same),
		StormVersion:          value(x.StormVersion),
		JDKVersion:            value(x.JdkVersion),
		ComponentSharedMemory: unset(dict(x.ComponentToSharedMemory, uniqueNames)),
		SharedMemory:          unset(dict(x.SharedMemory, sharedMemoryFromThrift)),
	}
	for id := range x.StateSpouts {
		return t, fmt.Errorf("wire: state_spouts[%q]: there are no state spouts; use a spout", id)
	}
	for id, s := range x.Spouts {
		c, err := componentFromThrift(cluster.Spout, s.SpoutObject, s.Common)
		if err != nil {
			return t, fmt.Errorf("wire: spouts[%q]: %w", id, err)
		}
		t.Components[id] = c
	}
	for id, b := range x.Bolts {
		if _, twice := t.Components[id]; twice {
			return t, fmt.Errorf("wire: bolts[%q]: there is a spout with this id; rename one", id)
		}
		c, err := componentFromThrift(cluster.Bolt, b.BoltObject, b.Common)
		if err != nil {
			return t, fmt.Errorf("wire: bolts[%q]: %w", id, err)
		}
		t.Components[id] = c
	}
	return t, nil
}

func same(s string) string { return s }

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func uniqueNames(names []string) []string {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

func sharedMemoryToThrift(m cluster.SharedMemory) *gen.SharedMemory {
	return &gen.SharedMemory{
		Name:          m.Name,
		OnHeap:        optional(m.OnHeap),
		OffHeapWorker: optional(m.OffHeapWorker),
		OffHeapNode:   optional(m.OffHeapNode),
	}
}

func sharedMemoryFromThrift(x *gen.SharedMemory) cluster.SharedMemory {
	return cluster.SharedMemory{
		Name:          x.Name,
		OnHeap:        value(x.OnHeap),
		OffHeapWorker: value(x.OffHeapWorker),
		OffHeapNode:   value(x.OffHeapNode),
	}
}

func componentToThrift(c cluster.Component) (*gen.ComponentObject, *gen.ComponentCommon, error) {
	object, err := objectToThrift(c.Object)
	if err != nil {
		return nil, nil, fmt.Errorf("object: %w", err)
	}
	inputs := make(map[*gen.GlobalStreamId]*gen.Grouping, len(c.Inputs))
	seen := make(map[cluster.StreamID]bool, len(c.Inputs))
	for _, in := range c.Inputs {
		id := cluster.StreamID{Component: in.Component, Stream: in.Stream}
		if seen[id] {
			return nil, nil, twice(id)
		}
		seen[id] = true
		g, err := groupingToThrift(in.Grouping)
		if err != nil {
			return nil, nil, fmt.Errorf("grouping of stream %q of %q: %w", in.Stream, in.Component, err)
		}
		inputs[streamToThrift(id)] = g
	}
	return object, &gen.ComponentCommon{
		Inputs:          inputs,
		Streams:         dict(c.Streams, streamInfoToThrift),
		ParallelismHint: optional(clamp(c.Parallelism)),
		JSONConf:        optional(c.Conf),
	}, nil
}

func componentFromThrift(kind cluster.ComponentKind, object *gen.ComponentObject, common *gen.ComponentCommon) (cluster.Component, error) {
	c := cluster.Component{Kind: kind}
	if common == nil {
		return c, fmt.Errorf("common: %w", errAbsent)
	}
	var err error
	if c.Object, err = objectFromThrift(object); err != nil {
		return c, fmt.Errorf("object: %w", err)
	}
	c.Streams = dict(common.Streams, streamInfoFromThrift)
	c.Parallelism = int(value(common.ParallelismHint))
	c.Conf = value(common.JSONConf)
	for id, x := range common.Inputs {
		g, err := groupingFromThrift(x)
		if err != nil {
			return c, fmt.Errorf("grouping of stream %q of %q: %w", id.StreamId, id.ComponentId, err)
		}
		c.Inputs = append(c.Inputs, cluster.Input{Component: id.ComponentId, Stream: id.StreamId, Grouping: g})
	}
	slices.SortFunc(c.Inputs, cluster.Input.Compare)
	for i := 1; i < len(c.Inputs); i++ {
		if a := c.Inputs[i]; a.Compare(c.Inputs[i-1]) == 0 {
			return c, twice(cluster.StreamID{Component: a.Component, Stream: a.Stream})
		}
	}
	return c, nil
}

func streamInfoToThrift(s storm.StreamSpec) *gen.StreamInfo {
	return &gen.StreamInfo{OutputFields: required(s.Fields, same), Direct: s.Direct}
}

func streamInfoFromThrift(x *gen.StreamInfo) storm.StreamSpec {
	return storm.StreamSpec{Fields: list(x.OutputFields, same), Direct: x.Direct}
}

// twice refuses a stream that is in a map a second time, which only maps on the
// wire can have.
func twice(id cluster.StreamID) error {
	return fmt.Errorf("stream %q of %q is there twice", id.Stream, id.Component)
}

func streamToThrift(id cluster.StreamID) *gen.GlobalStreamId {
	return &gen.GlobalStreamId{ComponentId: id.Component, StreamId: id.Stream}
}

func streamFromThrift(x *gen.GlobalStreamId) cluster.StreamID {
	return cluster.StreamID{Component: x.ComponentId, Stream: x.StreamId}
}
