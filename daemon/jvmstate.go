package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/supervisor/jvm"
	"github.com/stormring/stormring/supervisor/jvmstate"
	"github.com/stormring/stormring/worker"
	"github.com/stormring/stormring/worker/checkpoint"
	"github.com/stormring/stormring/worker/process"
)

// JVMAgent keeps the state of Java topologies on the ring for the JVMs of a host. It is
// a process of its own, which a supervisor starts and which outlives it, as workers do.
type JVMAgent struct {
	Conf *conf.Conf
	// Ring is the address of the supervisor's node, by which the others are found.
	Ring string
	// Dir is the supervisor's local directory.
	Dir    string
	Logger *slog.Logger
}

// Run serves until ctx ends, or until neither JVMs nor a supervisor need it.
func (a JVMAgent) Run(ctx context.Context) error {
	store, err := ZooKeeper(a.Conf, a.Logger)
	if err != nil {
		return err
	}
	all := newRingRecords(a.Conf, store)
	agent, err := jvmAgent(a, all)
	if err != nil {
		return errors.Join(err, all.close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watching sync.WaitGroup
	watching.Go(func() {
		unneeded(ctx, a.Dir, agent)
		cancel()
	})
	err = agent.Run(ctx)
	cancel()
	watching.Wait()
	return errors.Join(err, all.close())
}

// jvmAgent is the agent itself.
func jvmAgent(a JVMAgent, all *ringRecords) (*jvmstate.Agent, error) {
	return jvmstate.New(jvmstate.Config{
		File: jvm.StateFile(a.Dir), Logger: a.Logger,
		Open: func(topology cluster.TopologyID, settings string) (jvmstate.Store, error) {
			return openJVMStates(a, all, topology, settings)
		},
	})
}

// jvmStates is the state of a Java topology on the ring.
type jvmStates struct {
	*states
	host    *conf.Conf
	conf    *conf.Conf // of the topology, as its first connection has it
	records *ringRecords
}

func openJVMStates(a JVMAgent, all *ringRecords, topology cluster.TopologyID, settings string) (jvmstate.Store, error) {
	c, err := stateConf(a.Conf, settings)
	if err != nil {
		return nil, fmt.Errorf("the configuration of topology %s: %w", topology, err)
	}
	ring := func() string { return a.Ring }
	s, err := newStates(process.StatesSpec{Topology: topology, Conf: c, Ring: ring, Logger: a.Logger.With("topology", topology)})
	if err != nil {
		return nil, err
	}
	return &jvmStates{states: s, host: a.Conf, conf: c, records: all}, nil
}

// stateConf is the configuration with the settings of a topology or a component.
func stateConf(host *conf.Conf, settings string) (*conf.Conf, error) {
	own := map[string]any{}
	if settings != "" {
		var err error
		if own, err = conf.ParseJSON(settings); err != nil {
			return nil, err
		}
		if own == nil {
			own = map[string]any{}
		}
	}
	// A JVM has all of its state, or none.
	own[string(storm.ConfTopologySr3Resume)] = "full"
	return host.Topology(own)
}

// Close implements jvmstate.Store. The agent goes on, without the memory of a topology
// that may not come back.
func (s *jvmStates) Close() {
	s.states.Close()
	debug.FreeOSMemory()
}

// Keep implements jvmstate.Store.
func (s *jvmStates) Keep(n jvmstate.Namespace) (jvmstate.Keeper, error) {
	c, err := stateConf(s.host, n.Settings)
	if err != nil {
		return nil, fmt.Errorf("the configuration of %s: %w", n.Component, err)
	}
	// The agent serves many workers: each tells of its own loss.
	own := *s.states
	own.noticed, own.detect = n.Noticed, n.Detect
	return own.Keep(worker.KeepSpec{Component: n.Component, Task: storm.TaskID(n.Task), Conf: c, Post: n.Post})
}

// Join implements jvmstate.Store.
func (s *jvmStates) Join(ctx context.Context, component string, task int32) error {
	err := s.records.with(ctx, func(r *records.Store) error {
		return r.AddState(ctx, s.topology, records.State{Component: component, Task: task})
	})
	if err != nil {
		return fmt.Errorf("take down that %s has a state: %w", component, err)
	}
	return nil
}

// Unsaved implements jvmstate.Store.
func (s *jvmStates) Unsaved(ctx context.Context, v checkpoint.Version) ([]string, error) {
	var owners []shard.Owner
	err := s.records.with(ctx, func(r *records.Store) error {
		all, err := r.States(ctx, s.topology)
		for _, one := range all {
			owners = append(owners, s.owner(one.Component, one.Task))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("who has a state: %w", err)
	}
	unsaved, err := s.client.Unsaved(ctx, owners, versionOf(v))
	names := make([]string, len(unsaved))
	for i, o := range unsaved {
		names[i] = o.String()
	}
	return names, err
}
