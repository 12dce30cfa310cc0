package daemon

import (
	"fmt"
	"log/slog"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/supervisor/jvm"
	"github.com/stormring/stormring/supervisor/jvmstate"
	"github.com/stormring/stormring/worker"
	"github.com/stormring/stormring/worker/process"
)

// jvmAgent is the agent for the state of Java topologies on this host.
func jvmAgent(d Supervisor, local string, ring func() string) (*jvmstate.Agent, error) {
	return jvmstate.New(jvmstate.Config{
		File: jvm.StateFile(local), Logger: d.Logger,
		Open: func(topology cluster.TopologyID, settings string) (jvmstate.Store, error) {
			return openJVMStates(d.Conf, ring, d.Logger, topology, settings)
		},
	})
}

// jvmStates is the state of a Java topology on the ring.
type jvmStates struct {
	process.States
	conf *conf.Conf // the topology's
}

func openJVMStates(host *conf.Conf, ring func() string, log *slog.Logger, topology cluster.TopologyID, settings string) (jvmstate.Store, error) {
	own := map[string]any{}
	if settings != "" {
		var err error
		if own, err = conf.ParseJSON(settings); err != nil {
			return nil, fmt.Errorf("the configuration of topology %s: %w", topology, err)
		}
		if own == nil {
			own = map[string]any{}
		}
	}
	// A JVM has all of its state, or none.
	own[string(storm.ConfTopologySr3Resume)] = "full"
	c, err := host.Topology(own)
	if err != nil {
		return nil, fmt.Errorf("the configuration of topology %s: %w", topology, err)
	}
	s, err := States(process.StatesSpec{Topology: topology, Conf: c, Ring: ring, Logger: log.With("topology", topology)})
	if err != nil {
		return nil, err
	}
	return &jvmStates{States: s, conf: c}, nil
}

// Keep implements jvmstate.Store.
func (s *jvmStates) Keep(component string, task int32, post func(func())) (jvmstate.Keeper, error) {
	return s.States.Keep(worker.KeepSpec{Component: component, Task: storm.TaskID(task), Conf: s.conf, Post: post})
}
