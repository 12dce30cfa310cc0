package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
)

// Checkpoint is the commit record of a topology's state: what a recovery
// restores. The zero Checkpoint stands for none.
type Checkpoint struct {
	// Committed is the version that is committed.
	Committed int64 `json:"committed"`
	// Last is the newest era that was begun, Claimant the placement of the
	// checkpoint task that began it.
	Last     int64  `json:"last"`
	Claimant uint64 `json:"claimant"`
}

func decodeJSON[T any](data []byte) (v T, err error) {
	err = json.Unmarshal(data, &v)
	return v, err
}

// Checkpoint is the commit record of a topology, as new as it was anywhere when this
// was called: who reads it may have heard of it from who wrote it.
func (s *Store) Checkpoint(ctx context.Context, id cluster.TopologyID) (Checkpoint, error) {
	path := s.path(dirCheckpoints, string(id))
	if y, ok := s.s.(coord.Syncer); ok {
		if err := y.Sync(ctx, path); err != nil {
			return Checkpoint{}, err
		}
	}
	c, _, err := read(ctx, s, path, decodeJSON[Checkpoint])
	if errors.Is(err, coord.ErrNoNode) {
		return Checkpoint{}, nil
	}
	return c, err
}

// SwapCheckpoint writes next in place of expect; false says that another record
// was there. After an error nobody knows which is.
func (s *Store) SwapCheckpoint(ctx context.Context, id cluster.TopologyID, expect, next Checkpoint) (bool, error) {
	path := s.path(dirCheckpoints, string(id))
	now, stat, err := read(ctx, s, path, decodeJSON[Checkpoint])
	v := stat.Version
	if errors.Is(err, coord.ErrNoNode) {
		v = Absent
	} else if err != nil {
		return false, err
	}
	if now != expect {
		return false, nil
	}
	data, err := json.Marshal(next)
	if err != nil {
		return false, fmt.Errorf("records: commit record of %s: %w", id, err)
	}
	if _, err = s.put(ctx, path, data, v, nil); lostRace(err) {
		return false, nil
	}
	return err == nil, err
}

// RemoveCheckpoint removes the commit record of a topology that is gone.
func (s *Store) RemoveCheckpoint(ctx context.Context, id cluster.TopologyID) error {
	return s.remove(ctx, s.path(dirCheckpoints, string(id)))
}

// RingNode is a node of the ring as others find it.
type RingNode struct {
	Addr      string `json:"addr"`
	Host      string `json:"host"`
	Rack      string `json:"rack,omitempty"`
	Positions int    `json:"positions"`
}

// RingNodes are the nodes that live, by the ids of their supervisors.
func (s *Store) RingNodes(ctx context.Context) (map[cluster.SupervisorID]RingNode, error) {
	return all(ctx, s, dirRing, decodeJSON[RingNode], func(name string) cluster.SupervisorID { return cluster.SupervisorID(name) })
}

// PutRingNode makes a node known for as long as the session lives.
func (s *Store) PutRingNode(ctx context.Context, id cluster.SupervisorID, n RingNode) error {
	data, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("records: ring node %s: %w", id, err)
	}
	return s.putEphemeral(ctx, s.path(dirRing, string(id)), data)
}
