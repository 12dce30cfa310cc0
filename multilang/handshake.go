package multilang

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/stormring/stormring/storm"
)

// features are the extensions of the protocol that are offered in the
// handshake. A child that knows them names those that it wants in its answer;
// one that does not sees a key that it ignores.
var features = [...]string{featureState, featurePipeline}

const (
	// featureState lets a bolt keep state.
	featureState = "state"
	// featurePipeline lets a spout get commands before it has answered those
	// before.
	featurePipeline = "pipeline"
)

// handshake is the first message to a child.
func handshake(ctx *storm.TopologyContext, pidDir string) map[string]storm.Value {
	offered := make([]any, len(features))
	for i, f := range features {
		offered[i] = f
	}
	return map[string]storm.Value{
		"pidDir":    storm.String(pidDir),
		"conf":      asValue(map[string]any(ctx.Conf())),
		"context":   storm.Map(contextOf(ctx)),
		"stormring": storm.Any(offered),
	}
}

// asValue is storm.Any for settings, of which some hold Go types that it boxes.
func asValue(x any) storm.Value {
	switch x := x.(type) {
	case storm.Config:
		return asValue(map[string]any(x))
	case map[string]any:
		m := make(map[string]storm.Value, len(x))
		for k, v := range x {
			m[k] = asValue(v)
		}
		return storm.Map(m)
	case []any:
		return listOf(x)
	case []int:
		return listOf(x)
	case []map[string]any:
		return listOf(x)
	case map[string]string:
		m := make(map[string]storm.Value, len(x))
		for k, v := range x {
			m[k] = storm.String(v)
		}
		return storm.Map(m)
	}
	return storm.Any(x)
}

func listOf[T any](xs []T) storm.Value {
	vs := make([]storm.Value, len(xs))
	for i, x := range xs {
		vs[i] = asValue(x)
	}
	return storm.List(vs...)
}

// contextOf is a task's place in the topology, with Storm's keys.
func contextOf(ctx *storm.TopologyContext) map[string]storm.Value {
	owners := map[string]storm.Value{}
	topology := ctx.Topology()
	for id := range topology.Components {
		for _, task := range ctx.ComponentTasks(id) {
			owners[strconv.Itoa(int(task))] = storm.String(id)
		}
	}
	fields, streams := map[string]storm.Value{}, []storm.Value{}
	for _, id := range ctx.Streams() {
		streams = append(streams, storm.String(id))
		names, _ := ctx.OutputFields(ctx.Component(), id)
		fields[id] = namesOf(names)
	}
	targets := map[string]map[string]storm.Value{}
	for _, t := range ctx.Targets() {
		put(targets, t.Stream, t.Component, groupingOf(t.Grouping))
	}
	sources, sourceFields := map[string]map[string]storm.Value{}, map[string]map[string]storm.Value{}
	for _, in := range ctx.Sources() {
		put(sources, in.Component, in.Stream, groupingOf(in.Grouping))
		names, _ := ctx.OutputFields(in.Component, in.Stream)
		put(sourceFields, in.Component, in.Stream, namesOf(names))
	}
	return map[string]storm.Value{
		"task->component":          storm.Map(owners),
		"taskid":                   storm.Int(int64(ctx.Task())),
		"componentid":              storm.String(ctx.Component()),
		"streams":                  storm.List(streams...),
		"stream->outputfields":     storm.Map(fields),
		"stream->target->grouping": nested(targets),
		"source->stream->grouping": nested(sources),
		"source->stream->fields":   nested(sourceFields),
	}
}

func put(m map[string]map[string]storm.Value, a, b string, v storm.Value) {
	if m[a] == nil {
		m[a] = map[string]storm.Value{}
	}
	m[a][b] = v
}

func nested(m map[string]map[string]storm.Value) storm.Value {
	out := make(map[string]storm.Value, len(m))
	for k, v := range m {
		out[k] = storm.Map(maps.Clone(v))
	}
	return storm.Map(out)
}

func namesOf(fields storm.Fields) storm.Value {
	vs := make([]storm.Value, len(fields))
	for i, f := range fields {
		vs[i] = storm.String(f)
	}
	return storm.List(vs...)
}

// groupingOf is a grouping as Storm describes it to children.
func groupingOf(g storm.Grouping) storm.Value {
	m := map[string]storm.Value{}
	switch g.Kind {
	case storm.GroupFields:
		m["type"], m["fields"] = storm.String("FIELDS"), namesOf(g.Fields)
	case storm.GroupGlobal: // to Storm it groups by no field
		m["type"], m["fields"] = storm.String("FIELDS"), storm.List()
	case storm.GroupShuffle:
		m["type"] = storm.String("SHUFFLE")
	case storm.GroupLocalOrShuffle:
		m["type"] = storm.String("LOCAL_OR_SHUFFLE")
	case storm.GroupAll:
		m["type"] = storm.String("ALL")
	case storm.GroupNone:
		m["type"] = storm.String("NONE")
	case storm.GroupDirect:
		m["type"] = storm.String("DIRECT")
	case storm.GroupPartialKey, storm.GroupCustom:
		m["type"] = storm.String("CUSTOM_SERIALIZED")
	default:
		m["type"] = storm.String(fmt.Sprint(g.Kind))
	}
	return storm.Map(m)
}
