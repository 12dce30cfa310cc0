package submit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
)

// Storm's spout of checkpoints sends an object of a class that nobody registers, so
// that with Storm a topology with state runs in one worker only, unless it has Kryo fall back on
// Java's serialization.
const (
	checkpointSpout  = "$checkpointspout"
	checkpointAction = "org.apache.storm.spout.CheckPointState$Action"
)

// kryo adds to a topology's configuration what its components register to be
// serialized. Workers of Storm read it there alone, since what one component emits
// another has to read. Trident's classes are registered so.
func kryo(out, settings map[string]any, t cluster.Topology) error {
	classes := map[string]any{} // to their serializers, or nil
	var decorators []any
	take := func(values map[string]any) error {
		register, err := listAt(values, string(storm.ConfTopologyKryoRegister))
		if err != nil {
			return err
		}
		for _, e := range register {
			switch e := e.(type) {
			case string:
				classes[e] = nil
			case map[string]any:
				maps.Copy(classes, e)
			default:
				return fmt.Errorf("%s: %v is neither the name of a class nor a map from one to its serializer", storm.ConfTopologyKryoRegister, e)
			}
		}
		more, err := listAt(values, string(storm.ConfTopologyKryoDecorators))
		for _, d := range more {
			if !slices.Contains(decorators, d) {
				decorators = append(decorators, d)
			}
		}
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(t.Components)) {
		values, err := conf.ParseJSON(t.Components[id].Conf)
		if err == nil {
			err = take(values)
		}
		if err != nil {
			return fmt.Errorf("component %q: its configuration: %w", id, err)
		}
	}
	if _, ok := t.Components[checkpointSpout]; ok {
		classes[checkpointAction] = nil
	}
	if len(classes) == 0 && len(decorators) == 0 {
		return nil // what was submitted stays as it is
	}
	if err := take(settings); err != nil { // the topology's own word counts
		return err
	}
	register := []any{}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		if classes[class] == nil {
			register = append(register, class)
		} else {
			register = append(register, map[string]any{class: classes[class]})
		}
	}
	if len(register) > 0 {
		out[string(storm.ConfTopologyKryoRegister)] = register
	}
	if len(decorators) > 0 {
		out[string(storm.ConfTopologyKryoDecorators)] = decorators
	}
	return nil
}

// listAt is the list at key; nil if there is none.
func listAt(values map[string]any, key string) ([]any, error) {
	switch v := values[key].(type) {
	case nil:
		return nil, nil
	case []any:
		return v, nil
	case []string:
		var out []any
		for _, s := range v {
			out = append(out, s)
		}
		return out, nil
	case map[string]any: // as Storm's nimbus writes it
		return []any{v}, nil
	default:
		return nil, fmt.Errorf("%s: %v is no list", key, v)
	}
}
