package nimbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/nimbus/election"
	"github.com/stormring/stormring/nimbus/survey"
)

// Leader is the nimbus that leads. Errors: ErrNotLeader if none does.
func (n *Nimbus) Leader(ctx context.Context) (cluster.NimbusSummary, error) {
	if _, err := n.leading(); err == nil {
		return cluster.NimbusSummary{
			Host: n.cfg.Host, Port: n.cfg.Port, UptimeSecs: int(n.nowSecs() - n.started.Unix()), Leader: true, Version: Version, TLSPort: n.cfg.TLSPort,
		}, nil
	}
	t, err := n.current()
	if err != nil {
		return cluster.NimbusSummary{}, err
	}
	first, ok, err := election.Leader(ctx, t.session, n.root)
	if err != nil {
		return cluster.NimbusSummary{}, err
	}
	all, err := t.store.Nimbuses(ctx)
	if err != nil {
		return cluster.NimbusSummary{}, err
	}
	// This nimbus would know if it was itself.
	if s, known := all[first.ID]; ok && known && first.ID != n.ID() {
		out := n.summary(s)
		out.Leader = true
		return out, nil
	}
	return cluster.NimbusSummary{}, fmt.Errorf("no nimbus leads at the moment; try again: %w", ErrNotLeader)
}

func (n *Nimbus) summary(r cluster.NimbusRecord) cluster.NimbusSummary {
	return cluster.NimbusSummary{
		Host: r.Host, Port: r.Port, UptimeSecs: int(max(0, n.nowSecs()-r.StartedSecs)), Leader: r.Leader, Version: r.Version, TLSPort: r.TLSPort,
	}
}

// nimbuses are all, by host and port. Who leads is the election's to say; of
// itself this one knows.
func (n *Nimbus) nimbuses(ctx context.Context, s *records.Store) ([]cluster.NimbusSummary, error) {
	all, err := s.Nimbuses(ctx)
	if err != nil {
		return nil, err
	}
	first, _, err := election.Leader(ctx, s.Session(), n.root)
	if err != nil {
		return nil, err
	}
	_, lerr := n.leading()
	out := make([]cluster.NimbusSummary, 0, len(all))
	for id, r := range all {
		s := n.summary(r)
		s.Leader = id == first.ID
		if id == n.ID() {
			s.Leader = lerr == nil
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b cluster.NimbusSummary) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	return out, nil
}

// world reads what answers are made of.
func (n *Nimbus) world(ctx context.Context) (survey.World, *term, error) {
	t, err := n.current()
	if err != nil {
		return survey.World{}, nil, err
	}
	w := survey.World{NowSecs: n.nowSecs()}
	if w.Topologies, err = n.loadTopologies(ctx, t.store); err != nil {
		return w, t, err
	}
	if err := n.addSupervisors(ctx, t, &w); err != nil {
		return w, t, err
	}
	for id, topology := range w.Topologies {
		holders, err := t.store.BlobHolders(ctx, string(id)+codeEnd)
		if err != nil && !errors.Is(err, coord.ErrNoNode) {
			return w, t, err
		}
		topology.Replication = max(1, len(holders))
		w.Topologies[id] = topology
	}
	w.Nimbuses, err = n.nimbuses(ctx, t.store)
	return w, t, err
}

func (n *Nimbus) addSupervisors(ctx context.Context, t *term, w *survey.World) error {
	ids, err := t.store.Supervisors(ctx)
	if err != nil {
		return err
	}
	signs, err := loadSigns(ctx, t.store, ids)
	if err != nil {
		return err
	}
	standings, err := t.store.Standings(ctx)
	if err != nil {
		return err
	}
	w.Supervisors = map[cluster.SupervisorID]survey.Supervisor{}
	r, lerr := n.leading()
	if lerr == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		w.Supervisors = r.living(w.NowSecs, standings)
		for id, topology := range w.Topologies {
			topology.Reason = r.reasons[id]
			w.Topologies[id] = topology
		}
	}
	for id, sign := range signs {
		s, ok := w.Supervisors[id]
		if lerr == nil && !ok && !r.ears.New(id) {
			continue // lost, though its znode is there
		}
		s.Record, s.Present, s.Standin, s.Standing = sign.Record, true, false, standings[id]
		w.Supervisors[id] = s
	}
	return nil
}
