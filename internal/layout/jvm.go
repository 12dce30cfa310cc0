package layout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
)

// Java names the parts of a topology that only a JVM can run, in order; none if
// workers of Go can run it all. Names of classes that are neither ours nor built in
// are Java's unless program says that the topology brings a program of Go, in whose
// registry they may be.
func Java(t cluster.Topology, program bool) []string {
	var parts []string
	for _, id := range t.IDs(0) {
		c := t.Components[id]
		switch o := c.Object; {
		case len(o.Serialized) > 0:
			parts = append(parts, fmt.Sprintf("component %q is an object of Java (serialized_java)", id))
		case o.Class != nil && !program && !isOurs(o.Class.Name):
			parts = append(parts, fmt.Sprintf("component %q is a %s", id, o.Class.Name))
		}
		for _, in := range c.Inputs {
			switch g := in.Grouping; {
			case len(g.Serialized) > 0:
				parts = append(parts, fmt.Sprintf("component %q groups %q by an object of Java (custom_serialized)", id, in.Component))
			case g.Class != nil && !program && !isOurs(g.Class.Name):
				parts = append(parts, fmt.Sprintf("component %q groups %q by a %s", id, in.Component, g.Class.Name))
			}
		}
	}
	if len(t.WorkerHooks) > 0 {
		parts = append(parts, "it has worker hooks")
	}
	return parts
}

// Go names the parts that only a worker of Go can run.
func Go(t cluster.Topology) []string {
	var parts []string
	for _, id := range t.IDs(0) {
		c := t.Components[id]
		if c.Object.Class != nil && strings.HasPrefix(c.Object.Class.Name, GoPrefix) {
			parts = append(parts, fmt.Sprintf("component %q is written in Go", id))
		}
		for _, in := range c.Inputs {
			if g := in.Grouping.Class; g != nil && strings.HasPrefix(g.Name, GoPrefix) {
				parts = append(parts, fmt.Sprintf("component %q groups %q by %s, which is written in Go", id, in.Component, strings.TrimPrefix(g.Name, GoPrefix)))
			}
		}
	}
	return parts
}

func isOurs(class string) bool {
	return strings.HasPrefix(class, GoPrefix) || slices.Contains(Builtins(), class)
}

const (
	eventLogger      = "__eventlogger"
	metricsConsumers = "__metrics_"
)

// addForJVM adds the components that only workers of Storm have, so that tasks are
// numbered as they number them: what logs events, and consumers of metrics.
func (l *Layout) addForJVM() error {
	n := l.Workers
	if l.Conf.Has(string(storm.ConfTopologyEventloggerExecutors)) {
		n = l.Conf.Int(storm.ConfTopologyEventloggerExecutors)
	}
	if n > 0 {
		l.addHidden(eventLogger, n)
	}
	seen := map[string]int{}
	for i, entry := range l.Conf.List(storm.ConfTopologyMetricsConsumerRegister) {
		info, _ := entry.(map[string]any)
		class, _ := info["class"].(string)
		if class == "" {
			return fmt.Errorf("%s: entry %d has no class", storm.ConfTopologyMetricsConsumerRegister, i+1)
		}
		hint := 1
		if v, ok := info["parallelism.hint"]; ok {
			var err error
			if hint, err = storm.ConfTopologyTasks.Parse(v); err != nil {
				return fmt.Errorf("%s: the parallelism.hint of %s: %w", storm.ConfTopologyMetricsConsumerRegister, class, err)
			}
		}
		id := metricsConsumers + class
		if seen[class]++; seen[class] > 1 {
			id += fmt.Sprintf("#%d", seen[class])
		}
		l.addHidden(id, hint)
	}
	return nil
}

// addHidden adds a bolt of the system's whose streams matter to nobody here.
func (l *Layout) addHidden(id string, tasks int) {
	c := &storm.Component{
		ID: id, Hint: tasks, Conf: storm.Config{string(storm.ConfTopologyTasks): tasks}, Streams: map[string]storm.StreamSpec{},
	}
	addCommon(c)
	l.Topology.Components[id] = c
}
