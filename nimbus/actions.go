package nimbus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/nimbus/lifecycle"
	"github.com/stormring/stormring/nimbus/submit"
	"github.com/stormring/stormring/nimbus/survey"
	"github.com/stormring/stormring/storm"
)

// act steps an action of the topology with this name.
func (n *Nimbus) act(ctx context.Context, name string, a func(id cluster.TopologyID) (lifecycle.Action, error)) error {
	r, err := n.leading()
	if err != nil {
		return err
	}
	return r.do(ctx, func(ctx context.Context) error {
		id, ok := r.named(name)
		if !ok {
			return notAlive(name)
		}
		action, err := a(id)
		if err != nil {
			return err
		}
		if t := r.tracked[id]; t.again {
			// A step failed before; what is in the store counts.
			if err := r.takeUp(ctx, id); err != nil {
				return err
			}
			if t = r.tracked[id]; t == nil || t.again {
				return asf(ErrIllegalState, "topology %s: the last change of it failed and is tried again; try later", name)
			}
		}
		return r.step(ctx, id, action)
	})
}

func just(a lifecycle.Action) func(cluster.TopologyID) (lifecycle.Action, error) {
	return func(cluster.TopologyID) (lifecycle.Action, error) { return a, nil }
}

// Activate lets a topology's spouts emit. Errors: ErrNotLeader, ErrNotAlive,
// ErrIllegalState if it is killed or rebalancing.
func (n *Nimbus) Activate(ctx context.Context, name string) error {
	return n.act(ctx, name, just(lifecycle.Activate{}))
}

// Deactivate silences a topology's spouts. Errors are those of Activate.
func (n *Nimbus) Deactivate(ctx context.Context, name string) error {
	return n.act(ctx, name, just(lifecycle.Deactivate{}))
}

// Kill removes a topology after a wait. Errors: ErrNotLeader, ErrNotAlive.
func (n *Nimbus) Kill(ctx context.Context, name string, o cluster.KillOptions) error {
	return n.act(ctx, name, just(lifecycle.Kill{Wait: seconds(o.WaitSecs)}))
}

func seconds(n *int) *time.Duration {
	if n == nil {
		return nil
	}
	d := time.Duration(*n) * time.Second
	return &d
}

// Rebalance places a topology anew after a wait and with changes. Errors:
// ErrNotLeader, ErrNotAlive, ErrInvalidTopology, ErrIllegalState.
func (n *Nimbus) Rebalance(ctx context.Context, name string, o cluster.RebalanceOptions) error {
	return n.act(ctx, name, func(id cluster.TopologyID) (lifecycle.Action, error) {
		c, err := n.rebalance(ctx, id, o)
		return lifecycle.Rebalance{Wait: seconds(o.WaitSecs), Changes: c}, err
	})
}

// rebalance checks the options of a rebalance.
func (n *Nimbus) rebalance(ctx context.Context, id cluster.TopologyID, o cluster.RebalanceOptions) (lifecycle.Changes, error) {
	code, err := n.catalog.code(ctx, id)
	if err != nil {
		return lifecycle.Changes{}, asf(ErrIllegalState, "topology %s cannot be rebalanced: %v", id, err)
	}
	own, err := submit.CheckRebalance(n.cfg.Conf, code.User, o)
	if err != nil {
		return lifecycle.Changes{}, as(ErrInvalidTopology, fmt.Errorf("topology %s cannot be rebalanced: %w", id, err))
	}
	out := lifecycle.Changes{Executors: o.Executors, Resources: o.Resources, Conf: own}
	if o.Workers != nil {
		out.Workers = *o.Workers
	} else if v, ok := own[string(storm.ConfTopologyWorkers)]; ok && v != nil {
		if out.Workers, err = storm.ConfTopologyWorkers.Parse(v); err != nil {
			return out, as(ErrInvalidTopology, err)
		}
	}
	return out, nil
}

// PlanRebalance tells what a rebalance would do. Nothing is changed. Errors are
// those of Rebalance.
func (n *Nimbus) PlanRebalance(ctx context.Context, name string, o cluster.RebalanceOptions) (string, error) {
	r, err := n.leading()
	if err != nil {
		return "", err
	}
	id, ok := r.named(name)
	if !ok {
		return "", notAlive(name)
	}
	c, err := n.rebalance(ctx, id, o)
	if err != nil {
		return "", err
	}
	return r.foresee(ctx, id, func(w survey.World) (survey.Topology, error) {
		t, ok := w.Topologies[id]
		if !ok || t.Code == nil {
			return t, notAlive(name)
		}
		if s := t.Base.Status; s == cluster.StatusKilled || s == cluster.StatusRebalancing {
			return t, asf(ErrIllegalState, "topology %s is %s and cannot be rebalanced", name, s)
		}
		if c.Workers > 0 {
			t.Base.Workers = c.Workers
		}
		t.Base.Executors = maps.Clone(t.Base.Executors)
		maps.Copy(t.Base.Executors, c.Executors)
		return withNeeds(n.cfg.Conf, t, c)
	})
}

// withNeeds is t with the needs and the configuration that a rebalance asks for.
func withNeeds(base *conf.Conf, t survey.Topology, c lifecycle.Changes) (survey.Topology, error) {
	user, err := submit.WithResources(t.Code.User, c.Resources)
	if err != nil {
		return t, as(ErrInvalidTopology, err)
	}
	code := *t.Code
	code.User, code.Conf = user, maps.Clone(code.Conf)
	maps.Copy(code.Conf, c.Conf)
	fresh, err := planned(base, code)
	if err != nil {
		return t, as(ErrInvalidTopology, err)
	}
	t.Code = fresh
	return t, nil
}

// Debug says how much of a component's tuples is logged; of all components if
// component is "". Errors: ErrNotLeader, ErrNotAlive, ErrKeyNotFound.
func (n *Nimbus) Debug(ctx context.Context, name, component string, o cluster.DebugOptions) error {
	r, err := n.leading()
	if err != nil {
		return err
	}
	return r.do(ctx, func(ctx context.Context) error {
		id, ok := r.named(name)
		if !ok {
			return notAlive(name)
		}
		key := component
		if key == "" {
			key = string(id)
		} else if code, err := n.catalog.code(ctx, id); err == nil && code.Layout.Topology.Components[component] == nil {
			return asf(ErrKeyNotFound, "topology %s has no component %q", name, component)
		}
		return r.changeBase(ctx, id, func(b *cluster.Base) error {
			b.Debug = maps.Clone(b.Debug)
			if b.Debug == nil {
				b.Debug = map[string]cluster.DebugOptions{}
			}
			b.Debug[key] = o
			return nil
		})
	})
}

// SetLogConfig changes levels of loggers of the topology with this id. Errors:
// ErrNotLeader, ErrNotAlive.
func (n *Nimbus) SetLogConfig(ctx context.Context, id cluster.TopologyID, c cluster.LogConfig) error {
	r, err := n.leading()
	if err != nil {
		return err
	}
	return r.do(ctx, func(ctx context.Context) error {
		if !r.alive(id) {
			return notAlive(string(id))
		}
		old, err := r.store.LogConfig(ctx, id)
		if err != nil && !errors.Is(err, coord.ErrNoNode) {
			return err
		}
		return r.store.PutLogConfig(ctx, id, mergeLogConfig(old, c, n.cfg.Clock.Now()))
	})
}

// mergeLogConfig is old as c changes it: what was there before is unchanged,
// and levels that end do so counted from now.
func mergeLogConfig(old, c cluster.LogConfig, now time.Time) cluster.LogConfig {
	out := cluster.LogConfig{}
	for logger, l := range old {
		l.Action = cluster.LogLevelUnchanged
		out[logger] = l
	}
	for logger, l := range c {
		switch l.Action {
		case cluster.LogLevelRemove:
			delete(out, logger)
		case cluster.LogLevelUpdate:
			l.TimeoutEpochMS = 0
			if l.TimeoutSecs > 0 {
				l.TimeoutEpochMS = now.Add(time.Duration(l.TimeoutSecs) * time.Second).UnixMilli()
			}
			out[logger] = l
		case cluster.LogLevelUnchanged:
		}
	}
	return out
}

func (r *reign) alive(id cluster.TopologyID) bool {
	t := r.tracked[id]
	return t != nil && !t.state.Removed && (!t.state.Over() || t.again)
}

// UploadCredentials adds to a topology's credentials. Errors: ErrNotLeader,
// ErrNotAlive, ErrAuthorization if the named owner is not the topology's.
func (n *Nimbus) UploadCredentials(ctx context.Context, name string, c cluster.Credentials) error {
	r, err := n.leading()
	if err != nil {
		return err
	}
	return r.do(ctx, func(ctx context.Context) error {
		id, ok := r.named(name)
		if !ok {
			return notAlive(name)
		}
		base, _, err := r.store.Base(ctx, id)
		if err != nil {
			return err
		}
		if c.Owner != "" && c.Owner != base.Owner && c.Owner != base.Principal {
			return asf(ErrAuthorization, "topology %s belongs to %q, not to %q", name, base.Owner, c.Owner)
		}
		all, err := r.store.Credentials(ctx, id)
		if err != nil && !errors.Is(err, coord.ErrNoNode) {
			return err
		}
		all.Values = maps.Clone(all.Values)
		if all.Values == nil {
			all.Values = map[string]string{}
		}
		maps.Copy(all.Values, c.Values)
		all.Owner = base.Owner
		return r.store.PutCredentials(ctx, id, all)
	})
}

// Report takes what a supervisor tells. Errors: ErrNotLeader.
func (n *Nimbus) Report(ctx context.Context, report cluster.SupervisorReport) error {
	r, err := n.leading()
	if err != nil {
		return err
	}
	r.mu.Lock()
	news := r.ears.Hear(n.nowSecs(), report)
	r.mu.Unlock()
	if news {
		r.wakeUp()
	}
	return ctx.Err()
}

// SetStanding says what becomes of a supervisor's slots. Errors: ErrNotLeader,
// ErrKeyNotFound.
func (n *Nimbus) SetStanding(ctx context.Context, id cluster.SupervisorID, s cluster.Standing) error {
	r, err := n.leading()
	if err != nil {
		return err
	}
	return r.do(ctx, func(ctx context.Context) error {
		known, err := r.store.Supervisors(ctx)
		if err != nil {
			return err
		}
		if s != cluster.Open && !slices.Contains(known, id) {
			return asf(ErrKeyNotFound, "there is no supervisor %q", id)
		}
		if err := r.store.PutStanding(ctx, id, s); err != nil {
			return fmt.Errorf("standing of supervisor %s: %w", id, err)
		}
		r.wakeUp()
		return nil
	})
}

// Standings are those of supervisors that are not open.
func (n *Nimbus) Standings(ctx context.Context) (map[cluster.SupervisorID]cluster.Standing, error) {
	t, err := n.current()
	if err != nil {
		return nil, err
	}
	return t.store.Standings(ctx)
}
