package nimbus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/stormring/stormring/internal/assert"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/nimbus/lifecycle"
	"github.com/stormring/stormring/nimbus/submit"
	"github.com/stormring/stormring/storm"
)

func messageTimeout(c *conf.Conf) time.Duration {
	return c.Duration(storm.ConfTopologyMessageTimeoutSecs)
}

// step steps an action of a tracked topology and performs what comes of it.
func (r *reign) step(ctx context.Context, id cluster.TopologyID, a lifecycle.Action) error {
	t := r.tracked[id]
	assert.That(t != nil, "a step of %s, which is not tracked", id)
	if code, err := r.n.catalog.code(ctx, id); err == nil {
		t.rules = r.n.lifecycleRules(code.Layout.Conf)
	}
	next, effects, err := t.rules.Step(t.state, a, r.n.cfg.Clock.Now())
	switch {
	case errors.Is(err, lifecycle.ErrRefused):
		return as(ErrIllegalState, err)
	case errors.Is(err, lifecycle.ErrInvalid):
		return as(ErrInvalidTopology, err)
	case err != nil:
		return err
	}
	for _, e := range effects {
		if err := r.perform(ctx, id, t, e); err != nil {
			r.tryAgain(id)
			return fmt.Errorf("topology %s: %T: %w", id, e, err)
		}
	}
	t.state, t.again = next, false
	if next.Removed {
		r.freeName(id)
	}
	if next.Over() {
		r.drop(id)
	}
	return nil
}

func (r *reign) perform(ctx context.Context, id cluster.TopologyID, t *tracked, e lifecycle.Effect) error {
	switch e := e.(type) {
	case lifecycle.Persist:
		return r.persist(ctx, e.State)
	case lifecycle.Delay:
		t.due = e.At
	case lifecycle.Spouts:
		// Supervisors read the status in the base, which was persisted.
	case lifecycle.Apply:
		return r.apply(ctx, id, e.Changes)
	case lifecycle.Reschedule:
		if e.Fresh {
			return r.round(ctx, map[cluster.TopologyID]bool{id: true})
		}
		r.wakeUp()
	case lifecycle.RemoveAssignment:
		return r.store.RemoveAssignment(ctx, id)
	case lifecycle.RemoveRecords:
		return errors.Join(r.store.RemoveTopologyExtras(ctx, id), r.store.RemoveBase(ctx, id))
	case lifecycle.DeleteBlobs:
		if err := r.deleteDependencies(ctx, id); err != nil {
			return err
		}
		return r.deleteBlobs(ctx, id)
	case lifecycle.Forget:
		return r.store.RemoveLife(ctx, id)
	default:
		panic(fmt.Sprintf("nimbus: unknown effect %T", e))
	}
	return nil
}

// persist writes a state. The due time, which Storm does not know, comes
// before the status that makes it count, and goes after it.
func (r *reign) persist(ctx context.Context, s lifecycle.State) error {
	id := s.Topology
	pending := !s.Due.IsZero()
	if pending {
		life := records.Life{Due: s.Due.UTC().Truncate(time.Millisecond), Removed: s.Removed, WaitSecs: int(s.Wait / time.Second)}
		if err := r.store.PutLife(ctx, id, life); err != nil || s.Removed {
			return err
		}
	}
	err := r.changeBase(ctx, id, func(b *cluster.Base) error {
		next, err := withState(*b, s)
		*b = next
		return err
	})
	if err != nil || pending {
		return err
	}
	return r.store.RemoveLife(ctx, id)
}

// changeBase changes a topology's record. One that cannot be read is written
// anew.
func (r *reign) changeBase(ctx context.Context, id cluster.TopologyID, change func(*cluster.Base) error) error {
	base, version, err := r.store.Base(ctx, id)
	if _, corrupt := errors.AsType[*records.CorruptError](err); corrupt {
		base, version = cluster.Base{Name: id.Name(), LaunchedSecs: r.n.nowSecs()}, coord.AnyVersion
	} else if err != nil {
		return err
	}
	if err := change(&base); err != nil {
		return err
	}
	_, err = r.store.SetBase(ctx, id, base, version, r.fence)
	return r.checkFence(err)
}

func (r *reign) checkFence(err error) error {
	return fenced(r.fence.Path, err)
}

// apply writes a rebalance's changes: numbers into the base, the rest into the
// blobs.
func (r *reign) apply(ctx context.Context, id cluster.TopologyID, c lifecycle.Changes) error {
	var owner string
	err := r.changeBase(ctx, id, func(b *cluster.Base) error {
		owner = b.Owner
		if c.Workers > 0 {
			b.Workers = c.Workers
		}
		if len(c.Executors) > 0 {
			b.Executors = maps.Clone(b.Executors)
			if b.Executors == nil {
				b.Executors = map[string]int{}
			}
			maps.Copy(b.Executors, c.Executors)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if c.Workers == 0 && len(c.Conf) == 0 && len(c.Resources) == 0 {
		return nil
	}
	code, err := r.n.catalog.code(ctx, id)
	if err != nil {
		return err
	}
	var user *cluster.Topology
	if len(c.Resources) > 0 {
		changed, err := submit.WithResources(code.User, c.Resources)
		if err != nil {
			return err
		}
		user = &changed
	}
	var settings map[string]any
	if c.Workers > 0 || len(c.Conf) > 0 {
		settings = maps.Clone(code.Conf)
		maps.Copy(settings, c.Conf)
		if c.Workers > 0 {
			settings[string(storm.ConfTopologyWorkers)] = c.Workers
		}
	}
	if err := r.n.catalog.write(ctx, id, owner, user, settings); err != nil {
		return err
	}
	return r.term.announceBlobs(ctx, id, user != nil, settings != nil, false)
}

func (r *reign) deleteBlobs(ctx context.Context, id cluster.TopologyID) error {
	if err := r.n.catalog.remove(ctx, id); err != nil {
		return err
	}
	for _, key := range blobKeys(id) {
		if err := r.store.RemoveBlob(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// deleteDependencies deletes the jars that a client uploaded for this topology
// alone, as Storm does. Artifacts stay: others may come to use them. It goes
// before the code, which has their names.
func (r *reign) deleteDependencies(ctx context.Context, id cluster.TopologyID) error {
	code, err := r.n.catalog.code(ctx, id)
	if err != nil {
		if gone(err) || ctx.Err() != nil {
			return err
		}
		return nil // a broken topology names none
	}
	if len(code.User.DependencyJars) == 0 {
		return nil
	}
	others, err := r.n.loadTopologies(ctx, r.store)
	if err != nil {
		return err
	}
	for _, key := range code.User.DependencyJars {
		used := false
		for other, t := range others {
			used = used || other != id && t.Code != nil && uses(t.Code, key)
		}
		if used {
			continue
		}
		if err := errors.Join(r.n.cfg.Blobs.Delete(ctx, key), r.store.RemoveBlob(ctx, key)); err != nil {
			return err
		}
	}
	return nil
}

// sweep deletes what is left of topologies that are nowhere, and old uploads. Only an
// error that ends the reign is returned.
func (r *reign) sweep(ctx context.Context) error {
	err := r.n.cfg.Blobs.Sweep(ctx)
	keys, kerr := r.n.cfg.Blobs.Keys(ctx)
	err = errors.Join(err, kerr)
	done := map[cluster.TopologyID]bool{}
	for _, key := range keys {
		id, ok := topologyOf(key)
		if !ok || done[id] || r.tracked[id] != nil || r.n.isUnderway(id) {
			continue
		}
		done[id] = true
		r.n.cfg.Logger.Info("blobs of a topology that is not there are deleted", "topology", id)
		err = errors.Join(err, r.erase(ctx, id))
	}
	written, werr := r.store.Extras(ctx)
	err = errors.Join(err, werr)
	for _, id := range written {
		// Its workers wrote it while they ended.
		if r.tracked[id] == nil && !r.n.isUnderway(id) {
			err = errors.Join(err, r.store.RemoveTopologyExtras(ctx, id))
		}
	}
	if err != nil && !gone(err) {
		r.n.cfg.Logger.Warn("not all that is left over could be deleted; it is tried again", "error", err)
		return nil
	}
	return err
}
