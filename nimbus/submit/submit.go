// Package submit decides whether a topology may be submitted and what is kept
// of it: it checks in the order of Storm's nimbus, since the order decides
// which error a client sees, and adds to configuration and components what
// Storm adds. It is pure.
//
// Begin at [Name], which comes first, then [Settings], then [Finish].
package submit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
)

// maxName is how many bytes a name may have: keys of blobs are file names.
const maxName = 200

// Keys that nimbus sets or takes out of a topology's configuration.
const (
	KeyID             = "storm.id"
	KeyZKPayload      = "storm.zookeeper.topology.auth.payload"
	KeyZKScheme       = "storm.zookeeper.topology.auth.scheme"
	KeySuperACL       = "storm.zookeeper.superACL"
	KeySlotsLimit     = "nimbus.slots.perTopology"
	KeyExecutorsLimit = "nimbus.executors.perTopology"
)

// Name says what is wrong with a topology's name, or nil.
func Name(name string) error {
	switch {
	case name == "":
		return errors.New("the name of a topology must not be empty")
	case len(name) > maxName:
		return fmt.Errorf("the name of the topology has %d bytes; at most %d are allowed", len(name), maxName)
	case strings.ContainsAny(name, `/.:\`):
		return fmt.Errorf(`topology name %q: it must not contain any of / . : \`, name)
	case !regexp.MustCompile(`^[\p{L}\p{M}\p{N}\p{Pc} _-]+$`).MatchString(name):
		return fmt.Errorf("topology name %q: only letters, digits, spaces, _ and - are allowed, since keys of blobs are made of it", name)
	}
	return nil
}

// Settings reads the configuration that was submitted, and checks it on top of
// the cluster's. The first result is what was submitted, the second the merged
// one.
func Settings(c *conf.Conf, text string) (map[string]any, *conf.Conf, error) {
	own, err := conf.ParseJSON(text)
	if err != nil {
		return nil, nil, fmt.Errorf("the configuration of the topology: %w", err)
	}
	if own == nil {
		own = map[string]any{}
	}
	merged, err := c.Topology(own)
	if err != nil {
		return nil, nil, err
	}
	return own, merged, nil
}

// BlobKeys are the keys of the blobs that the topology needs, sorted: those of
// topology.blobstore.map and its dependencies.
func BlobKeys(merged *conf.Conf, t cluster.Topology) []string {
	keys := slices.Collect(maps.Keys(merged.Map(storm.ConfTopologyBlobstoreMap)))
	keys = append(keys, t.DependencyJars...)
	keys = append(keys, t.DependencyArtifacts...)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Request is a submission whose name and configuration are checked.
type Request struct {
	ID       cluster.TopologyID
	Name     string
	Own      map[string]any // what was submitted; it is not changed
	Topology cluster.Topology
	// User and Principal are who submits.
	User, Principal string
	// Program says that the topology brings a program of Go.
	Program bool
	// JVM gives the workers of Storm that can run a topology that was made with
	// version ("" if it does not say), or says why none can; nil: none can.
	JVM func(version string) (JVM, error)
}

// JVM is the workers of Storm that run a topology.
type JVM struct {
	// Release is that of Storm; "" if workers of Go run it.
	Release string
	// State tells that some supervisor can keep their state on the ring.
	State bool
}

// Ready is what is kept of a submission.
type Ready struct {
	Conf     map[string]any
	Topology cluster.Topology
	Layout   *layout.Layout
	Needs    map[string]cluster.Granted
	// Executors are the numbers of executors by component, the system's too.
	Executors map[string]int
	Workers   int
}

// Finish checks the topology itself and makes what is kept of it.
func Finish(c *conf.Conf, r Request) (*Ready, error) {
	if err := checkShape(r.Topology); err != nil {
		return nil, err
	}
	jvm, err := jvmFor(r)
	if err != nil {
		return nil, err
	}
	settings := Layers(c, r.Own)
	provider, err := stateProvider(settings, r.Topology, jvm)
	if err != nil {
		return nil, err
	}
	delete(settings, string(conf.JVMVersion))
	if jvm.Release != "" {
		settings[string(conf.JVMVersion)] = jvm.Release
	}
	if provider != "" {
		settings[string(storm.ConfTopologyStateProvider)] = provider
	}
	plan, err := layout.Plan(r.Topology, settings)
	if err != nil {
		return nil, err
	}
	if err := checkInputs(plan.Topology); err != nil {
		return nil, err
	}
	out := &Ready{Layout: plan, Workers: plan.Workers, Executors: map[string]int{}}
	if out.Needs, err = Needs(plan); err != nil {
		return nil, err
	}
	if err := checkHeap(plan, out.Needs); err != nil {
		return nil, err
	}
	for _, e := range plan.Executors {
		out.Executors[e.Component]++
	}
	if err := checkLimits(c, plan); err != nil {
		return nil, err
	}
	out.Conf = finalConf(r, plan)
	if err := kryo(out.Conf, settings, r.Topology); err != nil {
		return nil, err
	}
	if delete(out.Conf, string(conf.JVMVersion)); jvm.Release != "" {
		out.Conf[string(conf.JVMVersion)] = jvm.Release
	}
	if provider != "" {
		out.Conf[string(storm.ConfTopologyStateProvider)] = provider
	}
	out.Topology, err = withTasks(r.Topology, plan)
	return out, err
}

// Layers is what the cluster has configured, under a topology's own.
func Layers(c *conf.Conf, own map[string]any) storm.Config {
	out := storm.Config{}
	for key, v := range c.All() {
		if c.Layer(key) != "" {
			out[key] = v
		}
	}
	maps.Copy(out, own)
	return out
}

// finalConf is what was submitted with what nimbus adds and takes away. What
// tasks and workers follow from is written down, so that another default
// somewhere else changes nothing.
func finalConf(r Request, plan *layout.Layout) map[string]any {
	out := map[string]any{}
	maps.Copy(out, r.Own)
	for _, key := range []string{KeyZKPayload, KeyZKScheme, string(conf.StormWorkersArtifacts), string(conf.StormLocalHostname)} {
		delete(out, key)
	}
	out[KeyID] = string(r.ID)
	out[string(storm.ConfTopologyName)] = r.Name
	out[string(storm.ConfTopologySubmitterPrincipal)] = r.Principal
	out[string(storm.ConfTopologySubmitterUser)] = r.User
	out[string(storm.ConfTopologyWorkers)] = plan.Workers
	out[string(storm.ConfTopologyAckerExecutors)] = plan.Ackers
	out[string(storm.ConfTopologyEventloggerExecutors)] = plan.Conf.Int(storm.ConfTopologyEventloggerExecutors)
	if plan.Conf.Has(string(storm.ConfTopologyMaxTaskParallelism)) {
		out[string(storm.ConfTopologyMaxTaskParallelism)] = plan.Conf.Int(storm.ConfTopologyMaxTaskParallelism)
	}
	users := slices.Clone(plan.Conf.Strings(storm.ConfTopologyUsers))
	for _, u := range []string{r.Principal, r.User} {
		if u != "" && !slices.Contains(users, u) {
			users = append(users, u)
		}
	}
	if users == nil {
		users = []string{}
	}
	out[string(storm.ConfTopologyUsers)] = users
	return out
}

// withTasks writes each component's number of tasks into its configuration:
// it stays for the topology's life.
func withTasks(t cluster.Topology, plan *layout.Layout) (cluster.Topology, error) {
	out := t
	out.Components = maps.Clone(t.Components)
	for id, c := range t.Components {
		values, err := conf.ParseJSON(c.Conf)
		if err != nil {
			return t, fmt.Errorf("component %q: its configuration: %w", id, err)
		}
		if values == nil {
			values = map[string]any{}
		}
		values[string(storm.ConfTopologyTasks)] = len(plan.Tasks[id])
		text, err := json.Marshal(values)
		if err != nil {
			return t, fmt.Errorf("component %q: its configuration: %w", id, err)
		}
		c.Conf = string(text)
		out.Components[id] = c
	}
	return out, nil
}
