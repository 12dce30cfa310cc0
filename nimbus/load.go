package nimbus

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/nimbus/survey"
)

// readers is how many records are read at once.
const readers = 16

// loadTopologies reads all topologies but those of which only a tombstone is
// left. What is wrong with one is written in it and does not concern others.
func (n *Nimbus) loadTopologies(ctx context.Context, s *records.Store) (map[cluster.TopologyID]survey.Topology, error) {
	ids, err := s.Topologies(ctx)
	if err != nil {
		return nil, err
	}
	buried, err := tombstones(ctx, s)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	out := make(map[cluster.TopologyID]survey.Topology, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for _, id := range ids {
		if slices.Contains(buried, id) {
			continue
		}
		g.Go(func() error {
			t, err := n.loadTopology(ctx, s, id)
			if errors.Is(err, coord.ErrNoNode) {
				return nil // removed meanwhile
			}
			mu.Lock()
			defer mu.Unlock()
			out[id] = t
			return err
		})
	}
	return out, g.Wait()
}

func (n *Nimbus) loadTopology(ctx context.Context, s *records.Store, id cluster.TopologyID) (survey.Topology, error) {
	t := survey.Topology{ID: id, RecordVersion: records.Absent}
	var err error
	t.Base, t.BaseVersion, err = s.Base(ctx, id)
	if broken, ok := errors.AsType[*records.CorruptError](err); ok {
		t.Base = cluster.Base{Name: id.Name(), Status: cluster.StatusInactive}
		t.Broken = broken.Error()
	} else if err != nil {
		return t, err
	}
	t.Record, t.RecordVersion, err = s.Assignment(ctx, id)
	broken, corrupt := errors.AsType[*records.CorruptError](err)
	switch {
	case corrupt:
		// It is written anew, from whatever version.
		t.Broken, t.RecordVersion, t.Record = broken.Error(), coord.AnyVersion, cluster.AssignmentRecord{}
	case errors.Is(err, coord.ErrNoNode):
		t.RecordVersion = records.Absent
	case err != nil:
		return t, err
	default:
		t.Assigned = true
	}
	t.Record.Assignment.Sort()
	code, err := n.catalog.code(ctx, id)
	if ctx.Err() != nil {
		return t, ctx.Err()
	}
	if err != nil {
		t.Broken = err.Error()
	}
	if t.Broken == "" || corrupt && err == nil {
		t.Code = code
	}
	return t, nil
}

// tombstones are the topologies of which only blobs are left.
func tombstones(ctx context.Context, s *records.Store) ([]cluster.TopologyID, error) {
	ids, err := s.Lives(ctx)
	if err != nil {
		return nil, err
	}
	var out []cluster.TopologyID
	for _, id := range ids {
		life, ok, err := s.Life(ctx, id)
		if _, corrupt := errors.AsType[*records.CorruptError](err); corrupt {
			continue
		}
		if err != nil {
			return nil, err
		}
		if ok && life.Removed {
			out = append(out, id)
		}
	}
	return out, nil
}

// loadSigns reads supervisors' znodes. One that cannot be read counts as not
// there.
func loadSigns(ctx context.Context, s *records.Store, ids []cluster.SupervisorID) (map[cluster.SupervisorID]survey.Sign, error) {
	var mu sync.Mutex
	out := make(map[cluster.SupervisorID]survey.Sign, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for _, id := range ids {
		g.Go(func() error {
			record, stat, err := s.Supervisor(ctx, id)
			if _, corrupt := errors.AsType[*records.CorruptError](err); corrupt || errors.Is(err, coord.ErrNoNode) {
				return nil
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			out[id] = survey.Sign{Record: record, Change: stat.Mzxid}
			return nil
		})
	}
	return out, g.Wait()
}
