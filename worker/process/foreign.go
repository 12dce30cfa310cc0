package process

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// Code finds the code of a described topology in this program, for a run that
// no supervisor has prepared. Shell components run in the folder resources.
func Code(p storm.Program, t cluster.Topology, resources string) layout.Code {
	return &code{program: p, topology: t, resources: resources, made: map[string]func() (*storm.Topology, error){}}
}

// ownConf is what a component sets for itself. Its text was parsed when the
// topology was resolved, so that it is JSON.
func (c *code) ownConf(id string) map[string]any {
	var own map[string]any
	d := json.NewDecoder(strings.NewReader(c.topology.Components[id].Conf))
	d.UseNumber() // whether a number is whole matters to arguments
	if d.Decode(&own) != nil {
		return nil // empty
	}
	return own
}

// shellOf is the shell component that a class of Flux stands for; ok is false if
// the class is another.
func (c *code) shellOf(id, class string, o *cluster.Class) (spec multilang.Spec, ok bool, err error) {
	if o.Name != class {
		return spec, false, nil
	}
	spec = c.shell(id, &cluster.Shell{})
	spec.Argv = nil
	for i, a := range o.Args {
		word, text := a.(string)
		if !text {
			return spec, true, fmt.Errorf("component %q: argument %d of %s is a %T; its arguments are the words of a command", id, i, class, a)
		}
		spec.Argv = append(spec.Argv, word)
	}
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return spec, true, fmt.Errorf("component %q: %s needs the words of a command as its arguments", id, class)
	}
	env, has := c.ownConf(id)[layout.EnvKey]
	vars, isMap := env.(map[string]any)
	if has && !isMap {
		return spec, true, fmt.Errorf("component %q: %s must be a map of names to texts", id, layout.EnvKey)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		spec.Env = append(spec.Env, fmt.Sprintf("%s=%v", name, vars[name]))
	}
	return spec, true, nil
}

// arguments are what a registered component gets.
func (c *code) arguments(id string, o *cluster.Class) ([]storm.Value, error) {
	given, has := c.ownConf(id)[layout.ArgsKey]
	if !has {
		return values(o.Args), nil
	}
	list, ok := given.([]any)
	if !ok {
		return nil, fmt.Errorf("component %q: %s must be a list", id, layout.ArgsKey)
	}
	out := make([]any, len(list))
	for i, v := range list {
		var err error
		if out[i], err = native(v); err != nil {
			return nil, fmt.Errorf("component %q: %s[%d]: %w", id, layout.ArgsKey, i, err)
		}
	}
	return values(out), nil
}

// native is a value of JSON with its numbers as int64 or float64.
func native(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			return v.Int64()
		}
		return v.Float64()
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = native(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			var err error
			if out[k], err = native(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	default:
		return v, nil
	}
}

// namedSpout is the spout that a class names: a shell component, one that is
// built in, or one of the program's registry, which comes first.
func (c *code) namedSpout(id string, o *cluster.Class) (storm.Spout, error) {
	if !c.registered(o.Name) {
		if spec, ok, err := c.shellOf(id, layout.ShellSpoutClass, o); ok {
			return multilang.NewSpout(spec), err
		}
		if o.Name == layout.TestWordSpoutClass {
			return &wordSpout{}, nil
		}
	}
	args, err := c.arguments(id, o)
	if err != nil {
		return nil, err
	}
	return c.program.Components.FindSpout(o.Name, args)()
}

// namedBolt is namedSpout for bolts.
func (c *code) namedBolt(id string, o *cluster.Class) (storm.Bolt, error) {
	if !c.registered(o.Name) {
		if spec, ok, err := c.shellOf(id, layout.ShellBoltClass, o); ok {
			return c.shellBolt(id, spec), err
		}
		switch o.Name {
		case layout.LogInfoBoltClass:
			return &logBolt{}, nil
		case layout.TestWordCounterClass:
			return &wordCounter{}, nil
		}
	}
	args, err := c.arguments(id, o)
	if err != nil {
		return nil, err
	}
	return c.program.Components.FindBolt(o.Name, args)()
}

func (c *code) registered(name string) bool {
	return c.program.Components != nil && slices.Contains(c.program.Components.Names(), name)
}
