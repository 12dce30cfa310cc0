package nimbus

import (
	"context"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/nimbus/scheduler"
	"github.com/stormring/stormring/nimbus/survey"
)

// This file tells supervisors how long it took to find out that workers were lost
// which they are to replace: people are shown that with the recovery of their state.

// losses are the executors that were lost and have no place yet.
type losses map[cluster.TopologyID]map[cluster.Executor]loss

// loss is one of them.
type loss struct {
	detect  time.Duration // from its last sign of life
	noticed time.Time
}

// noteLosses takes down which executors with state are lost since the last look.
func (r *reign) noteLosses(w survey.World) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.n.cfg.Clock.Now()
	for id, t := range w.Topologies {
		if t.Code == nil || !t.Code.Layout.Stateful() {
			continue
		}
		for _, p := range t.Record.Assignment {
			_, lives := w.Supervisors[p.Slot.Supervisor]
			if lives && !r.ears.Silent(w.NowSecs, id, p) {
				delete(r.losses[id], p.Executor)
				continue
			}
			if _, known := r.losses[id][p.Executor]; known {
				continue
			}
			if r.losses[id] == nil {
				r.losses[id] = map[cluster.Executor]loss{}
			}
			silence := max(0, w.NowSecs-r.ears.Last(id, p))
			r.losses[id][p.Executor] = loss{detect: time.Duration(silence) * time.Second, noticed: now}
		}
	}
}

// tellLosses keeps in the store, before the assignment is written, which of its workers
// replace lost ones. Of several that one worker replaces the longest outage counts.
func (r *reign) tellLosses(ctx context.Context, t survey.Topology, p scheduler.TopologyPlan, nowSecs int64) error {
	now := r.n.cfg.Clock.Now()
	worst := map[cluster.Slot]records.Loss{}
	for _, m := range p.Moves {
		l, ok := r.losses[t.ID][m.Executor]
		if !ok {
			continue
		}
		told := records.Loss{Slot: m.To, StartSecs: nowSecs, Detect: l.detect, Place: now.Sub(l.noticed)}
		if old, ok := worst[m.To]; !ok || told.Detect+told.Place > old.Detect+old.Place {
			worst[m.To] = told
		}
	}
	if len(worst) == 0 {
		return nil
	}
	var list []records.Loss
	for _, slot := range p.Assignment.Slots() {
		if l, ok := worst[slot]; ok {
			list = append(list, l)
		}
	}
	return r.checkFence(r.store.PutLosses(ctx, t.ID, list, r.fence))
}

// over forgets the losses that are made good.
func (l losses) over(p scheduler.TopologyPlan) {
	for _, m := range p.Moves {
		delete(l[p.ID], m.Executor)
	}
}
