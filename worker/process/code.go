package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// resourcesDir is where a topology's jar has the files of shell components.
const resourcesDir = "resources"

// code finds components in a program: in its definitions, which are made again
// as they were for the submission, and in its registry.
type code struct {
	program  storm.Program
	topology cluster.Topology
	// resources is where shell components run.
	resources string
	args      []string

	mu   sync.Mutex
	made map[string]func() (*storm.Topology, error)
}

func newCode(cfg Config, topology cluster.Topology, settings storm.Config) *code {
	args, _ := conf.TopologyArgs.Get(settings) // not there: it takes none
	c := &code{
		program: cfg.Program, topology: topology, resources: filepath.Join(cfg.Code, resourcesDir),
		args: args, made: map[string]func() (*storm.Topology, error){},
	}
	for name, t := range cfg.Made {
		c.made[name] = func() (*storm.Topology, error) { return t, nil }
	}
	return c
}

// Spout implements layout.Code.
func (c *code) Spout(id string, o cluster.Object) func() (storm.Spout, error) {
	switch {
	case o.Shell != nil:
		return func() (storm.Spout, error) { return multilang.NewSpout(c.shell(id, o.Shell)), nil }
	case o.Class == nil:
		return func() (storm.Spout, error) { return nil, cannotRun(id) }
	case strings.HasPrefix(o.Class.Name, layout.GoPrefix):
		return func() (storm.Spout, error) {
			made, err := c.component(id, o.Class)
			if err != nil {
				return nil, err
			}
			if made.NewSpout == nil {
				return nil, fmt.Errorf("component %q is a spout, but the program makes a bolt of that name", id)
			}
			return made.NewSpout()
		}
	default:
		return func() (storm.Spout, error) { return c.namedSpout(id, o.Class) }
	}
}

// Bolt implements layout.Code.
func (c *code) Bolt(id string, o cluster.Object) func() (storm.Bolt, error) {
	switch {
	case o.Shell != nil:
		return func() (storm.Bolt, error) { return c.shellBolt(id, c.shell(id, o.Shell)), nil }
	case o.Class == nil:
		return func() (storm.Bolt, error) { return nil, cannotRun(id) }
	case strings.HasPrefix(o.Class.Name, layout.GoPrefix):
		return func() (storm.Bolt, error) {
			made, err := c.component(id, o.Class)
			if err != nil {
				return nil, err
			}
			if made.NewBolt == nil {
				return nil, fmt.Errorf("component %q is a bolt, but the program makes a spout of that name", id)
			}
			return made.NewBolt()
		}
	default:
		return func() (storm.Bolt, error) { return c.namedBolt(id, o.Class) }
	}
}

// Grouping implements layout.Code.
func (c *code) Grouping(id string, in cluster.Input) func() (storm.CustomGrouping, error) {
	return func() (storm.CustomGrouping, error) {
		class := in.Grouping.Class
		if class == nil || !strings.HasPrefix(class.Name, layout.GoPrefix) {
			return nil, fmt.Errorf("component %q: the custom grouping on stream %q of %q is written in Java, which is not run yet", id, in.Stream, in.Component)
		}
		made, err := c.component(id, class)
		if err != nil {
			return nil, err
		}
		for _, own := range made.Inputs {
			if own.Component == in.Component && own.Stream == in.Stream && own.Grouping.Custom != nil {
				return own.Grouping.Custom()
			}
		}
		return nil, fmt.Errorf("component %q: the program has no custom grouping on stream %q of %q", id, in.Stream, in.Component)
	}
}

// component is the part of a definition's topology that a class stands for.
func (c *code) component(id string, class *cluster.Class) (*storm.Component, error) {
	name := strings.TrimPrefix(class.Name, layout.GoPrefix)
	t, err := c.definition(name)
	if err != nil {
		return nil, fmt.Errorf("component %q: %w", id, err)
	}
	if len(class.Args) > 0 {
		if own, ok := class.Args[0].(string); ok {
			id = own
		}
	}
	made := t.Components[id]
	if made == nil {
		return nil, fmt.Errorf("topology %q of this program has no component %q; the program that was submitted is another one", name, id)
	}
	return made, nil
}

// definition makes a topology of the program, once.
func (c *code) definition(name string) (*storm.Topology, error) {
	c.mu.Lock()
	made, ok := c.made[name]
	if !ok {
		made = sync.OnceValues(func() (*storm.Topology, error) { return c.instance(name) })
		c.made[name] = made
	}
	c.mu.Unlock()
	return made()
}

func (c *code) instance(name string) (*storm.Topology, error) {
	for _, d := range c.program.Topologies {
		if d.Name != name {
			continue
		}
		instance, err := d.Instance(storm.Env{Args: c.args, Stdin: strings.NewReader("")})
		if err != nil {
			return nil, fmt.Errorf("topology %q cannot be made on this host as it was made for the submission: %w", name, err)
		}
		return instance.Topology, nil
	}
	return nil, fmt.Errorf("this program has no topology %q; submit the program that has it", name)
}

// values are arguments as a registered component gets them.
func values(args []any) []storm.Value {
	out := make([]storm.Value, len(args))
	for i, a := range args {
		out[i] = storm.Any(a)
	}
	return out
}

// shell is a component in another language. Its command gets its script as a
// single argument, as in Storm; a topology without resources runs where its
// other files are.
func (c *code) shell(id string, s *cluster.Shell) multilang.Spec {
	dir := c.resources
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	argv := []string{s.Command}
	if s.Script != "" {
		argv = append(argv, s.Script)
	}
	return multilang.Spec{
		Argv: argv, Dir: dir, Streams: c.topology.Components[id].Streams,
		ShortIntegers: multilang.ShortIntegers(c.topology.StormVersion),
	}
}

// cannotRun says why a component cannot run here.
func cannotRun(id string) error {
	return fmt.Errorf("component %q is an object of Java, which is not run yet", id)
}
