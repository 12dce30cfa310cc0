package nimbus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/nimbus/scheduler"
	"github.com/stormring/stormring/nimbus/survey"
)

// attempts is how often a round begins anew because a record has changed
// meanwhile.
const attempts = 3

// round reads the cluster, plans, and writes the assignments that change.
// Those in fresh are placed anew. Where nothing changes, nothing is written.
func (r *reign) round(ctx context.Context, fresh map[cluster.TopologyID]bool) error {
	var err error
	for range attempts {
		err = r.try(ctx, fresh)
		if !errors.Is(err, coord.ErrBadVersion) && !errors.Is(err, coord.ErrNodeExists) {
			return err
		}
	}
	return fmt.Errorf("assignments were changed by another in the meantime, %d times: %w", attempts, err)
}

func (r *reign) try(ctx context.Context, fresh map[cluster.TopologyID]bool) error {
	w, err := r.look(ctx)
	if err != nil {
		return err
	}
	r.noteLosses(w)
	plan := r.plan(w, fresh)
	r.keepReasons(w, plan)
	for _, p := range plan.Topologies {
		t := w.Topologies[p.ID]
		// A topology of which nothing can be placed has no assignment at first.
		if !p.Changed && (t.Assigned || len(p.Assignment) == 0) {
			continue
		}
		record := survey.Record(w, t, p.Assignment, string(p.ID))
		if err := r.tellLosses(ctx, t, p, w.NowSecs); err != nil {
			if gone(err) {
				return err
			}
			r.n.cfg.Logger.Warn("how long a loss went unnoticed cannot be told", "topology", p.ID, "error", err)
		}
		_, err := r.store.PutAssignment(ctx, p.ID, record, t.RecordVersion, r.fence)
		if err = r.checkFence(err); err != nil {
			return fmt.Errorf("assignment of %s: %w", p.ID, err)
		}
		r.losses.over(p)
		r.n.cfg.Logger.Info("topology is placed", "topology", p.ID, "placed", len(p.Moves), "stay", len(p.Stay), "without", len(p.Unplaced), "why", p.WhyNot)
	}
	return nil
}

// look reads all that a plan depends on.
func (r *reign) look(ctx context.Context) (survey.World, error) {
	topologies, err := r.n.loadTopologies(ctx, r.store)
	if err != nil {
		return survey.World{}, err
	}
	ids, err := r.supervisors(ctx)
	if err != nil {
		return survey.World{}, err
	}
	signs, err := loadSigns(ctx, r.store, ids)
	if err != nil {
		return survey.World{}, err
	}
	standings, err := r.store.Standings(ctx)
	if err != nil {
		return survey.World{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.n.nowSecs()
	w := survey.World{NowSecs: now, Topologies: topologies}
	for _, id := range r.ears.Look(now, signs, survey.Mentioned(topologies)) {
		listed := r.black.Fail(id, now)
		r.n.cfg.Logger.Warn("supervisor is lost; what ran there is placed elsewhere", "supervisor", id, "blacklisted", listed)
	}
	w.Supervisors = r.living(now, standings)
	return w, nil
}

// living are the supervisors, with all that is known of them. r.mu is held.
func (r *reign) living(now int64, standings map[cluster.SupervisorID]cluster.Standing) map[cluster.SupervisorID]survey.Supervisor {
	out := r.ears.Living()
	for id, s := range out {
		s.Standing, s.Blacklisted = standings[id], r.black.Listed(id, now)
		out[id] = s
	}
	return out
}

// supervisors lists the znodes of supervisors, and watches for others.
func (r *reign) supervisors(ctx context.Context) ([]cluster.SupervisorID, error) {
	if r.supWatch != nil {
		return r.store.Supervisors(ctx)
	}
	ids, watch, err := r.store.SupervisorsW(ctx)
	r.supWatch = watch
	return ids, err
}

// plan has the scheduler decide. Supervisors leave the blacklist if slots are
// missing.
func (r *reign) plan(w survey.World, fresh map[cluster.TopologyID]bool) scheduler.Plan {
	r.mu.Lock()
	defer r.mu.Unlock()
	snapshot := w.Snapshot(r.n.rules, r.ears, fresh)
	for _, t := range snapshot.Topologies {
		failed := map[cluster.Slot]bool{}
		for _, e := range t.Dead {
			if p, ok := t.Current.Find(e); ok && !failed[p.Slot] {
				failed[p.Slot] = true
				listed := r.black.Fail(p.Slot.Supervisor, w.NowSecs)
				r.n.cfg.Logger.Warn("worker shows no life; what ran there is placed anew", "topology", t.ID, "slot", p.Slot, "blacklisted", listed)
			}
		}
	}
	for i, s := range snapshot.Supervisors {
		snapshot.Supervisors[i].Blacklisted = r.black.Listed(s.ID, w.NowSecs)
	}
	r.mu.Unlock() // the ring may be asked
	plan := r.schedule(w, snapshot)
	r.mu.Lock()
	missing := 0
	for _, t := range plan.Topologies {
		missing += t.MissingSlots
	}
	if listed := r.black.All(w.NowSecs); missing > 0 && len(listed) > 0 {
		for _, id := range listed {
			r.black.Release(id)
		}
		r.n.cfg.Logger.Info("slots are missing; supervisors are taken off the blacklist", "supervisors", listed, "slots", missing)
		for i := range snapshot.Supervisors {
			snapshot.Supervisors[i].Blacklisted = false
		}
		plan = scheduler.Schedule(snapshot)
	}
	return plan
}

// schedule has the scheduler decide, a second time with what is known of where
// state lies if something that keeps state is to move.
func (r *reign) schedule(w survey.World, snapshot scheduler.Snapshot) scheduler.Plan {
	plan := scheduler.Schedule(snapshot)
	if r.n.cfg.Kept == nil {
		return plan
	}
	again := false
	for i := range snapshot.Topologies {
		t := &snapshot.Topologies[i]
		p, _ := plan.Of(t.ID)
		code := w.Topologies[t.ID].Code
		// What never had a place has no state yet.
		if code == nil || !code.Layout.Stateful() || !slices.ContainsFunc(p.Moves, func(m scheduler.Move) bool { return m.From != (cluster.Slot{}) }) {
			continue
		}
		t.Kept = map[cluster.Executor]map[cluster.SupervisorID]int64{}
		for task, at := range r.n.cfg.Kept(t.ID) {
			for _, e := range t.Executors {
				if e.First <= task && task <= e.Last {
					add(t.Kept, e.Executor, at)
				}
			}
		}
		again = again || len(t.Kept) > 0
	}
	if !again {
		return plan
	}
	return scheduler.Schedule(snapshot)
}

func add(kept map[cluster.Executor]map[cluster.SupervisorID]int64, e cluster.Executor, at map[cluster.SupervisorID]int64) {
	if kept[e] == nil {
		kept[e] = map[cluster.SupervisorID]int64{}
	}
	for id, bytes := range at {
		kept[e][id] += bytes
	}
}

// keepReasons keeps what the scheduler says of topologies, for people.
func (r *reign) keepReasons(w survey.World, plan scheduler.Plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range plan.Topologies {
		var parts []string
		switch t := w.Topologies[p.ID]; {
		case t.Broken != "":
			parts = []string{t.Broken}
		default:
			if p.WhyNot != "" {
				parts = append(parts, fmt.Sprintf("%d of %d executors are not placed: %s", len(p.Unplaced), len(p.Unplaced)+len(p.Assignment), p.WhyNot))
			}
			parts = append(parts, p.Notes...)
		}
		r.reasons[p.ID] = strings.Join(parts, "; ")
	}
}
