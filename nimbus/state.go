package nimbus

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/nimbus/lifecycle"
)

// readState is the state of a topology as the store has it; it is over if
// there is no trace of it. A base that cannot be read counts as inactive, so
// that it can be killed.
func readState(ctx context.Context, s *records.Store, id cluster.TopologyID) (lifecycle.State, cluster.Base, error) {
	life, pending, err := s.Life(ctx, id)
	if _, corrupt := errors.AsType[*records.CorruptError](err); err != nil && !corrupt {
		return lifecycle.State{}, cluster.Base{}, err
	}
	if pending && life.Removed {
		state := lifecycle.State{Topology: id, Status: cluster.StatusKilled, Removed: true, Due: life.Due}
		return state, cluster.Base{Name: id.Name()}, nil
	}
	base, _, err := s.Base(ctx, id)
	if _, corrupt := errors.AsType[*records.CorruptError](err); corrupt {
		return lifecycle.New(id, true), cluster.Base{Name: id.Name()}, nil
	}
	if errors.Is(err, coord.ErrNoNode) {
		return lifecycle.State{}, base, nil
	}
	if err != nil {
		return lifecycle.State{}, base, err
	}
	return stateOf(id, base, life, pending), base, nil
}

func stateOf(id cluster.TopologyID, base cluster.Base, life records.Life, known bool) lifecycle.State {
	s := lifecycle.State{Topology: id, Status: base.Status}
	var wait *int
	switch base.Status {
	case cluster.StatusKilled:
		if base.Kill != nil {
			wait = base.Kill.WaitSecs
		}
	case cluster.StatusRebalancing:
		s.Previous = base.Previous
		s.Changes = &lifecycle.Changes{}
		if base.Rebalance != nil {
			wait = base.Rebalance.WaitSecs
			s.Changes = changes(*base.Rebalance)
		}
	default:
		return s
	}
	if wait != nil {
		s.Wait = time.Duration(*wait) * time.Second
	}
	if known {
		s.Due = life.Due
	}
	return s
}

// changes are what a rebalance changes.
func changes(o cluster.RebalanceOptions) *lifecycle.Changes {
	out := &lifecycle.Changes{Executors: o.Executors, Resources: o.Resources}
	if o.Workers != nil {
		out.Workers = *o.Workers
	}
	// What is no JSON was refused when it was asked for.
	if overrides, err := conf.ParseJSON(o.Conf); err == nil {
		out.Conf = overrides
	}
	return out
}

// withState is base in another state.
func withState(base cluster.Base, s lifecycle.State) (cluster.Base, error) {
	base.Status, base.Previous, base.Kill, base.Rebalance = s.Status, s.Previous, nil, nil
	secs := int((s.Wait + time.Second - 1) / time.Second)
	switch s.Status {
	case cluster.StatusKilled:
		base.Kill = &cluster.KillOptions{WaitSecs: &secs}
	case cluster.StatusRebalancing:
		o := &cluster.RebalanceOptions{WaitSecs: &secs}
		if c := s.Changes; c != nil {
			o.Executors, o.Resources = c.Executors, c.Resources
			if c.Workers > 0 {
				o.Workers = &c.Workers
			}
			if len(c.Conf) > 0 {
				text, err := json.Marshal(c.Conf)
				if err != nil {
					return base, err
				}
				o.Conf = string(text)
			}
		}
		base.Rebalance = o
	case cluster.StatusActive, cluster.StatusInactive:
	}
	return base, nil
}
