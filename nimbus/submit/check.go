package submit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
)

// reserved begins the ids that are the system's.
const reserved = "__"

// checkShape checks each component by itself.
func checkShape(t cluster.Topology) error {
	for _, id := range t.IDs(0) {
		c := t.Components[id]
		switch {
		case id == "":
			return fmt.Errorf("a component has an empty id")
		case strings.HasPrefix(id, reserved):
			return fmt.Errorf("component %q: ids that begin with %s are the system's", id, reserved)
		case c.Kind == cluster.Spout && len(c.Inputs) > 0:
			return fmt.Errorf("spout %q has inputs; a spout has none", id)
		case c.Parallelism < 0:
			return fmt.Errorf("component %q: its parallelism is %d; it must be at least 1", id, c.Parallelism)
		}
		for _, stream := range slices.Sorted(maps.Keys(c.Streams)) {
			if strings.HasPrefix(stream, reserved) {
				return fmt.Errorf("component %q: stream %q: ids that begin with %s are the system's", id, stream, reserved)
			}
		}
		if _, err := conf.ParseJSON(c.Conf); err != nil {
			return fmt.Errorf("component %q: its configuration: %w", id, err)
		}
		if len(c.Object.Serialized) == 0 && c.Object.Shell == nil && c.Object.Class == nil {
			return fmt.Errorf("component %q has no object", id)
		}
	}
	return nil
}

// namedParts is how many parts a message names.
const namedParts = 3

// jvmFor is the workers of Storm that run the topology; zero if workers of Go do.
func jvmFor(r Request) (JVM, error) {
	java := layout.Java(r.Topology, r.Program)
	if len(java) == 0 {
		return JVM{}, nil
	}
	if ours := layout.Go(r.Topology); len(ours) > 0 {
		return JVM{}, fmt.Errorf("%s, and %s: workers of Go cannot run the one, nor a JVM the other; make two topologies of it", java[0], ours[0])
	}
	if more := len(java) - namedParts; more > 0 {
		java = append(java[:namedParts:namedParts], fmt.Sprintf("and %d more", more))
	}
	wanted := strings.Join(java, ", ")
	if r.JVM == nil {
		return JVM{}, fmt.Errorf("the topology needs a JVM, and none can be had here: %s", wanted)
	}
	jvm, err := r.JVM(r.Topology.StormVersion)
	if err != nil {
		return JVM{}, fmt.Errorf("the topology needs a JVM: %s. %w", wanted, err)
	}
	return jvm, nil
}

// stateProvider is the class that keeps the state of a topology that Storm's workers
// run; "" to leave it as it is. What somebody has set stays. Kept on the ring it is
// if that is what was set, which no supervisor may be able to do, or if nothing was.
func stateProvider(settings storm.Config, t cluster.Topology, jvm JVM) (string, error) {
	const key = string(storm.ConfTopologyStateProvider)
	if jvm.Release == "" {
		return "", nil
	}
	_, stateful := t.Components[checkpointSpout]
	switch set := settings[key]; {
	case set == cluster.RingStateProvider && !jvm.State:
		return "", fmt.Errorf("%s is %s, and no supervisor with the workers of Storm %s has the jar for it: run on them: stormring jvm install %s",
			key, cluster.RingStateProvider, jvm.Release, jvm.Release)
	case set == nil && stateful && jvm.State:
		return cluster.RingStateProvider, nil
	case set == cluster.RingStateProvider:
		return cluster.RingStateProvider, nil
	}
	return "", nil
}

// checkInputs checks subscriptions. As in Storm, t has the system's streams, to
// which users may subscribe, and the fields of a grouping may be those of any
// stream of the source.
func checkInputs(t *storm.Topology) error {
	for _, id := range t.ComponentIDs() {
		if strings.HasPrefix(id, reserved) {
			continue
		}
		for _, in := range t.Components[id].Inputs {
			source, ok := t.Components[in.Component]
			if !ok {
				return fmt.Errorf("component %q subscribes to %q, which is not in the topology", id, in.Component)
			}
			if _, ok := source.Streams[in.Stream]; !ok {
				return fmt.Errorf("component %q subscribes to stream %q of %q, which does not declare it", id, in.Stream, in.Component)
			}
			if in.Grouping.Kind != storm.GroupFields {
				continue
			}
			for _, f := range in.Grouping.Fields {
				if !declares(source, f) {
					return fmt.Errorf("component %q groups by field %q, which no stream of %q declares", id, f, in.Component)
				}
			}
		}
	}
	return nil
}

func declares(c *storm.Component, field string) bool {
	for _, s := range c.Streams {
		if slices.Contains(s.Fields, field) {
			return true
		}
	}
	return false
}

// checkHeap refuses components of which one executor does not fit into a worker.
func checkHeap(plan *layout.Layout, needs map[string]cluster.Granted) error {
	limit := plan.Conf.Float(storm.ConfTopologyWorkerMaxHeapSizeMB)
	for _, id := range slices.Sorted(maps.Keys(needs)) {
		if n := needs[id]; n.OnHeap > limit {
			return fmt.Errorf("component %q asks for %g MB of memory on the heap, but a worker has at most %g; raise %s or lower %s",
				id, n.OnHeap, limit, storm.ConfTopologyWorkerMaxHeapSizeMB, storm.ConfTopologyComponentResourcesOnheapMemoryMB)
		}
	}
	return nil
}

func checkLimits(c *conf.Conf, plan *layout.Layout) error {
	for _, l := range []struct {
		key, what, lower string
		n                int
	}{
		{KeySlotsLimit, "workers", string(storm.ConfTopologyWorkers), plan.Workers},
		{KeyExecutorsLimit, "executors", "the parallelism of its components", len(plan.Executors)},
	} {
		v := c.Value(l.key)
		if v == nil {
			continue
		}
		limit, err := storm.Key[int](l.key).Parse(v)
		if err != nil {
			return err
		}
		if l.n > limit {
			return fmt.Errorf("the topology wants %d %s; this cluster allows %d (%s): lower %s", l.n, l.what, limit, l.key, l.lower)
		}
	}
	return nil
}
