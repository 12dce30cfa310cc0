package layout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
)

const (
	// GoPrefix begins the class names of what is written in Go. Behind it
	// stands the name of the definition that makes it; the arguments say which
	// part of it is meant: a component's id, or for a grouping the ids of
	// subscriber, component and stream.
	GoPrefix = "go:"
	// PartialKeyClass is the class name of the partial-key grouping; its
	// arguments are the fields.
	PartialKeyClass = GoPrefix + "partial-key"
)

// Describe is the description of a topology that a definition has made, for
// submission. Its code is named by the definition. Layout.Topology has been
// given the system's components, whose code is empty.
func Describe(t *storm.Topology, definition string) (cluster.Topology, error) {
	out := cluster.Topology{Components: map[string]cluster.Component{}}
	for id, c := range t.Components {
		d := cluster.Component{Kind: cluster.Bolt, Streams: maps.Clone(c.Streams), Parallelism: c.Hint}
		switch {
		case id == storm.CheckpointComponent:
			d.Kind, d.Object.Serialized = cluster.Spout, []byte{}
		case c.IsSpout():
			d.Kind = cluster.Spout
			d.Object.Class = &cluster.Class{Name: GoPrefix + definition, Args: []any{id}}
		case c.NewBolt != nil:
			d.Object.Class = &cluster.Class{Name: GoPrefix + definition, Args: []any{id}}
		default:
			d.Object.Serialized = []byte{}
		}
		if len(c.Conf) > 0 {
			text, err := json.Marshal(c.Conf)
			if err != nil {
				return out, fmt.Errorf("component %q: its configuration cannot be sent: %w", id, err)
			}
			d.Conf = string(text)
		}
		for _, in := range c.Inputs {
			d.Inputs = append(d.Inputs, cluster.Input{
				Component: in.Component, Stream: in.Stream, Grouping: describeGrouping(in, definition, id),
			})
		}
		slices.SortFunc(d.Inputs, cluster.Input.Compare)
		out.Components[id] = d
	}
	return out, nil
}

var described = map[storm.GroupingKind]cluster.GroupingKind{
	storm.GroupShuffle:        cluster.GroupShuffle,
	storm.GroupLocalOrShuffle: cluster.GroupLocalOrShuffle,
	storm.GroupFields:         cluster.GroupFields,
	storm.GroupGlobal:         cluster.GroupFields, // of no field
	storm.GroupAll:            cluster.GroupAll,
	storm.GroupNone:           cluster.GroupNone,
	storm.GroupDirect:         cluster.GroupDirect,
	storm.GroupPartialKey:     cluster.GroupCustomObject,
	storm.GroupCustom:         cluster.GroupCustomObject,
}

func describeGrouping(in storm.Input, definition, subscriber string) cluster.Grouping {
	g := cluster.Grouping{Kind: described[in.Grouping.Kind]}
	switch in.Grouping.Kind {
	case storm.GroupFields:
		g.Fields = slices.Clone(in.Grouping.Fields)
	case storm.GroupPartialKey:
		g.Class = &cluster.Class{Name: PartialKeyClass}
		for _, f := range in.Grouping.Fields {
			g.Class.Args = append(g.Class.Args, f)
		}
	case storm.GroupCustom:
		g.Class = &cluster.Class{Name: GoPrefix + definition, Args: []any{subscriber, in.Component, in.Stream}}
	default: // the kind says it all
	}
	return g
}

// Code finds what a description only names. What it cannot find it says when
// the function that it returns is called, so that the task fails that wants it.
type Code interface {
	Spout(id string, o cluster.Object) func() (storm.Spout, error)
	Bolt(id string, o cluster.Object) func() (storm.Bolt, error)
	Grouping(id string, in cluster.Input) func() (storm.CustomGrouping, error)
}

// Resolve makes a topology that can run of its description. It refuses
// configurations of components that are no JSON.
func Resolve(t cluster.Topology, code Code) (*storm.Topology, error) {
	out := &storm.Topology{Components: map[string]*storm.Component{}}
	for _, id := range t.IDs(0) {
		d := t.Components[id]
		settings, err := conf.ParseJSON(d.Conf)
		if err != nil {
			return nil, fmt.Errorf("component %q: its configuration: %w", id, err)
		}
		c := &storm.Component{ID: id, Hint: d.Parallelism, Conf: settings, Streams: maps.Clone(d.Streams)}
		if d.Kind == cluster.Spout {
			c.NewSpout = code.Spout(id, d.Object)
		} else {
			c.NewBolt = code.Bolt(id, d.Object)
		}
		for _, in := range d.Inputs {
			c.Inputs = append(c.Inputs, storm.Input{Component: in.Component, Stream: in.Stream, Grouping: resolveGrouping(id, in, code)})
		}
		out.Components[id] = c
	}
	return out, nil
}

func resolveGrouping(id string, in cluster.Input, code Code) storm.Grouping {
	switch g := in.Grouping; g.Kind {
	case cluster.GroupFields:
		if len(g.Fields) == 0 {
			return storm.Grouping{Kind: storm.GroupGlobal}
		}
		return storm.Grouping{Kind: storm.GroupFields, Fields: slices.Clone(g.Fields)}
	case cluster.GroupAll:
		return storm.Grouping{Kind: storm.GroupAll}
	case cluster.GroupNone:
		return storm.Grouping{Kind: storm.GroupNone}
	case cluster.GroupDirect:
		return storm.Grouping{Kind: storm.GroupDirect}
	case cluster.GroupLocalOrShuffle:
		return storm.Grouping{Kind: storm.GroupLocalOrShuffle}
	case cluster.GroupShuffle:
		return storm.Grouping{Kind: storm.GroupShuffle}
	default:
		if g.Class != nil && g.Class.Name == PartialKeyClass {
			fields := make(storm.Fields, len(g.Class.Args))
			for i, a := range g.Class.Args {
				fields[i], _ = a.(string)
			}
			return storm.Grouping{Kind: storm.GroupPartialKey, Fields: fields}
		}
	}
	return storm.Grouping{Kind: storm.GroupCustom, Custom: code.Grouping(id, in)}
}

// Plan lays out a description: tasks, executors and the system's components,
// but nothing in it can run.
func Plan(t cluster.Topology, settings storm.Config) (*Layout, error) {
	resolved, err := Resolve(t, noCode{})
	if err != nil {
		return nil, err
	}
	return New(resolved, settings)
}

// noCode is for layouts that are only looked at.
type noCode struct{}

func (noCode) Spout(id string, _ cluster.Object) func() (storm.Spout, error) {
	return func() (storm.Spout, error) { return nil, errNoCode(id) }
}

func (noCode) Bolt(id string, _ cluster.Object) func() (storm.Bolt, error) {
	return func() (storm.Bolt, error) { return nil, errNoCode(id) }
}

func (noCode) Grouping(id string, _ cluster.Input) func() (storm.CustomGrouping, error) {
	return func() (storm.CustomGrouping, error) { return nil, errNoCode(id) }
}

func errNoCode(id string) error {
	return fmt.Errorf("component %q: this layout was made to be looked at and has no code", id)
}

// System is the description of l's topology with the system's components and
// streams, as nimbus shows it. t is the description that l was planned from.
func (l *Layout) System(t cluster.Topology) (cluster.Topology, error) {
	full, err := Describe(l.Topology, "")
	if err != nil {
		return t, err
	}
	out := t
	out.Components = map[string]cluster.Component{}
	for id, d := range full.Components {
		given, ok := t.Components[id]
		if ok {
			d.Kind, d.Object, d.Parallelism = given.Kind, given.Object, given.Parallelism
			for i := range d.Inputs {
				for _, in := range given.Inputs {
					if in.Component == d.Inputs[i].Component && in.Stream == d.Inputs[i].Stream {
						d.Inputs[i].Grouping = in.Grouping
					}
				}
			}
		}
		out.Components[id] = d
	}
	return out, nil
}
