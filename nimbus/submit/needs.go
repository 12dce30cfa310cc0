package submit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
)

// keyResources holds generic resources, by name.
const keyResources = "topology.component.resources.map"

// The keys by which a component, and an acker, asks for resources.
var (
	componentKeys = [3]string{
		string(storm.ConfTopologyComponentResourcesOnheapMemoryMB),
		string(storm.ConfTopologyComponentResourcesOffheapMemoryMB),
		string(storm.ConfTopologyComponentCPUPcorePercent),
	}
	ackerKeys = [3]string{
		"topology.acker.resources.onheap.memory.mb",
		"topology.acker.resources.offheap.memory.mb",
		"topology.acker.cpu.pcore.percent",
	}
)

// Needs is what one executor of each component asks for, by component.
func Needs(plan *layout.Layout) (map[string]cluster.Granted, error) {
	out := make(map[string]cluster.Granted, len(plan.Tasks))
	for id := range plan.Tasks {
		need, err := needOf(plan, id)
		if err != nil {
			return nil, fmt.Errorf("component %q: %w", id, err)
		}
		out[id] = need
	}
	return out, nil
}

func needOf(plan *layout.Layout, id string) (cluster.Granted, error) {
	c := plan.Conf
	need := cluster.Granted{
		OnHeap:  c.Float(storm.ConfTopologyComponentResourcesOnheapMemoryMB),
		OffHeap: c.Float(storm.ConfTopologyComponentResourcesOffheapMemoryMB),
		CPU:     c.Float(storm.ConfTopologyComponentCPUPcorePercent),
	}
	if id == storm.AckerComponent {
		err := ask(&need, c.Value, ackerKeys)
		return need, err
	}
	if err := ask(&need, c.Value, [3]string{}); err != nil {
		return need, err
	}
	own := plan.Topology.Components[id].Conf
	err := ask(&need, func(key string) any { return own[key] }, componentKeys)
	return need, err
}

// ask overrides need by what the given configuration says.
func ask(need *cluster.Granted, value func(string) any, keys [3]string) error {
	if m, ok := value(keyResources).(map[string]any); ok && len(m) > 0 {
		need.Generic = maps.Clone(need.Generic)
		for _, name := range slices.Sorted(maps.Keys(m)) {
			v, err := amount(keyResources+"."+name, m[name])
			if err != nil {
				return err
			}
			switch name {
			case "onheap.memory.mb", componentKeys[0]:
				need.OnHeap = v
			case "offheap.memory.mb", componentKeys[1]:
				need.OffHeap = v
			case cluster.CPUName, componentKeys[2]:
				need.CPU = v
			default:
				if need.Generic == nil {
					need.Generic = map[string]float64{}
				}
				need.Generic[name] = v
			}
		}
	}
	for i, to := range []*float64{&need.OnHeap, &need.OffHeap, &need.CPU} {
		if v := value(keys[i]); keys[i] != "" && v != nil {
			n, err := amount(keys[i], v)
			if err != nil {
				return err
			}
			*to = n
		}
	}
	return nil
}

func amount(key string, v any) (float64, error) {
	n, err := storm.Key[float64](key).Parse(v)
	if err == nil && !(n >= 0) {
		err = fmt.Errorf("%s is %g; it must be at least 0", key, n)
	}
	return n, err
}

// WithResources is t with other needs: component, name of the resource, amount.
// Names are those of the configuration's keys, or those of generic resources.
func WithResources(t cluster.Topology, overrides map[string]map[string]float64) (cluster.Topology, error) {
	out := t
	out.Components = maps.Clone(t.Components)
	for id, needs := range overrides {
		c, ok := out.Components[id]
		if !ok {
			continue
		}
		values, err := conf.ParseJSON(c.Conf)
		if err != nil {
			return t, fmt.Errorf("component %q: its configuration: %w", id, err)
		}
		if values == nil {
			values = map[string]any{}
		}
		generic, _ := values[keyResources].(map[string]any)
		generic = maps.Clone(generic)
		for name, v := range needs {
			switch name {
			case componentKeys[0], "onheap.memory.mb":
				values[componentKeys[0]] = v
			case componentKeys[1], "offheap.memory.mb":
				values[componentKeys[1]] = v
			case componentKeys[2], cluster.CPUName:
				values[componentKeys[2]] = v
			default:
				if generic == nil {
					generic = map[string]any{}
				}
				generic[name] = v
			}
		}
		if len(generic) > 0 {
			values[keyResources] = generic
		}
		text, err := json.Marshal(values)
		if err != nil {
			return t, fmt.Errorf("component %q: its configuration: %w", id, err)
		}
		c.Conf = string(text)
		out.Components[id] = c
	}
	return out, nil
}
