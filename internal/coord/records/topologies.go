package records

import (
	"context"
	"errors"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/wire"
)

// Topologies are the ids of all topologies that have a base, sorted.
func (s *Store) Topologies(ctx context.Context) ([]cluster.TopologyID, error) {
	return names[cluster.TopologyID](ctx, s, dirStorms)
}

// TopologiesW is Topologies with a watch that tells of topologies that come and
// go.
func (s *Store) TopologiesW(ctx context.Context) ([]cluster.TopologyID, <-chan coord.Event, error) {
	return namesW[cluster.TopologyID](ctx, s, dirStorms)
}

// Base is a topology's base and its version.
func (s *Store) Base(ctx context.Context, id cluster.TopologyID) (cluster.Base, Version, error) {
	b, stat, err := read(ctx, s, s.path(dirStorms, string(id)), wire.DecodeBase)
	return b, stat.Version, err
}

// BaseW is Base with a watch.
func (s *Store) BaseW(ctx context.Context, id cluster.TopologyID) (cluster.Base, Version, <-chan coord.Event, error) {
	b, stat, ch, err := readW(ctx, s, s.path(dirStorms, string(id)), wire.DecodeBase)
	return b, stat.Version, ch, err
}

// CreateBase makes a topology's base, with ops before it. Errors:
// coord.ErrNodeExists, and those of ops.
func (s *Store) CreateBase(ctx context.Context, id cluster.TopologyID, b cluster.Base, ops ...coord.Op) error {
	data, err := wire.EncodeBase(b)
	if err != nil {
		return err
	}
	_, err = s.put(ctx, s.path(dirStorms, string(id)), data, Absent, ops)
	return err
}

// SetBase replaces a topology's base if it is in version v, or in any with
// coord.AnyVersion, with ops before it, and returns the new version. It never
// creates one, so that a topology that was removed stays so. Errors:
// coord.ErrBadVersion, coord.ErrNoNode, and those of ops.
func (s *Store) SetBase(ctx context.Context, id cluster.TopologyID, b cluster.Base, v Version, ops ...coord.Op) (Version, error) {
	data, err := wire.EncodeBase(b)
	if err != nil {
		return 0, err
	}
	r, err := s.last(ctx, ops, coord.SetOp{Path: s.path(dirStorms, string(id)), Data: data, Version: v})
	return r.Stat.Version, err
}

// RemoveBase removes a topology's base: the topology is gone then.
func (s *Store) RemoveBase(ctx context.Context, id cluster.TopologyID) error {
	return s.remove(ctx, s.path(dirStorms, string(id)))
}

// Assignments are the ids of all topologies that have an assignment, sorted.
func (s *Store) Assignments(ctx context.Context) ([]cluster.TopologyID, error) {
	return names[cluster.TopologyID](ctx, s, dirAssignments)
}

// AssignmentsW is Assignments with a watch that tells of assignments that come
// and go, not of their changes.
func (s *Store) AssignmentsW(ctx context.Context) ([]cluster.TopologyID, <-chan coord.Event, error) {
	return namesW[cluster.TopologyID](ctx, s, dirAssignments)
}

// Assignment is where a topology runs, and the record's version.
func (s *Store) Assignment(ctx context.Context, id cluster.TopologyID) (cluster.AssignmentRecord, Version, error) {
	r, stat, err := read(ctx, s, s.path(dirAssignments, string(id)), wire.DecodeAssignment)
	return r, stat.Version, err
}

// AssignmentW is Assignment with a watch.
func (s *Store) AssignmentW(ctx context.Context, id cluster.TopologyID) (cluster.AssignmentRecord, Version, <-chan coord.Event, error) {
	r, stat, ch, err := readW(ctx, s, s.path(dirAssignments, string(id)), wire.DecodeAssignment)
	return r, stat.Version, ch, err
}

// PutAssignment sets where a topology runs if the record is in version v, with
// ops before it, and returns the new version. v may be Absent, or
// coord.AnyVersion for all of these. Errors: coord.ErrBadVersion,
// coord.ErrNoNode, coord.ErrNodeExists, and those of ops.
func (s *Store) PutAssignment(ctx context.Context, id cluster.TopologyID, r cluster.AssignmentRecord, v Version, ops ...coord.Op) (Version, error) {
	data, err := wire.EncodeAssignment(r)
	if err != nil {
		return 0, err
	}
	return s.put(ctx, s.path(dirAssignments, string(id)), data, v, ops)
}

// RemoveAssignment removes where a topology runs: all its workers end.
func (s *Store) RemoveAssignment(ctx context.Context, id cluster.TopologyID) error {
	return s.remove(ctx, s.path(dirAssignments, string(id)))
}

// Credentials are a topology's secrets.
func (s *Store) Credentials(ctx context.Context, id cluster.TopologyID) (cluster.Credentials, error) {
	c, _, err := read(ctx, s, s.path(dirCredentials, string(id)), wire.DecodeCredentials)
	return c, err
}

// CredentialsW is Credentials with a watch.
func (s *Store) CredentialsW(ctx context.Context, id cluster.TopologyID) (cluster.Credentials, <-chan coord.Event, error) {
	c, _, ch, err := readW(ctx, s, s.path(dirCredentials, string(id)), wire.DecodeCredentials)
	return c, ch, err
}

// PutCredentials replaces a topology's secrets, all of them.
func (s *Store) PutCredentials(ctx context.Context, id cluster.TopologyID, c cluster.Credentials) error {
	data, err := wire.EncodeCredentials(c)
	if err != nil {
		return err
	}
	_, err = s.put(ctx, s.path(dirCredentials, string(id)), data, coord.AnyVersion, nil)
	return err
}

// RemoveCredentials removes a topology's secrets.
func (s *Store) RemoveCredentials(ctx context.Context, id cluster.TopologyID) error {
	return s.remove(ctx, s.path(dirCredentials, string(id)))
}

// LogConfig is what a topology's loggers are told.
func (s *Store) LogConfig(ctx context.Context, id cluster.TopologyID) (cluster.LogConfig, error) {
	c, _, err := read(ctx, s, s.path(dirLogConfigs, string(id)), wire.DecodeLogConfig)
	return c, err
}

// LogConfigW is LogConfig with a watch.
func (s *Store) LogConfigW(ctx context.Context, id cluster.TopologyID) (cluster.LogConfig, <-chan coord.Event, error) {
	c, _, ch, err := readW(ctx, s, s.path(dirLogConfigs, string(id)), wire.DecodeLogConfig)
	return c, ch, err
}

// PutLogConfig replaces what a topology's loggers are told, all of it.
func (s *Store) PutLogConfig(ctx context.Context, id cluster.TopologyID, c cluster.LogConfig) error {
	data, err := wire.EncodeLogConfig(c)
	if err != nil {
		return err
	}
	_, err = s.put(ctx, s.path(dirLogConfigs, string(id)), data, coord.AnyVersion, nil)
	return err
}

// RemoveLogConfig removes what a topology's loggers are told.
func (s *Store) RemoveLogConfig(ctx context.Context, id cluster.TopologyID) error {
	return s.remove(ctx, s.path(dirLogConfigs, string(id)))
}

// extras are the folders with more than the base of a topology.
func extras() []string {
	return []string{dirCredentials, dirLogConfigs, dirErrors, dirWorkerbeats, dirProfilers, dirBackpressure, dirCheckpoints, dirLosses, dirStates}
}

// Extras are the ids of all topologies of which there is something that
// RemoveTopologyExtras removes, sorted. A worker of Storm's may write its errors and
// its statistics when its topology is gone already.
func (s *Store) Extras(ctx context.Context) ([]cluster.TopologyID, error) {
	var all []cluster.TopologyID
	for _, dir := range extras() {
		ids, err := names[cluster.TopologyID](ctx, s, dir)
		if err != nil && !errors.Is(err, coord.ErrNoNode) {
			return nil, err
		}
		all = append(all, ids...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// RemoveTopologyExtras removes all that the store has of a topology besides its
// base, its assignment, its life and its blobs: also what only Storm's own
// workers write.
func (s *Store) RemoveTopologyExtras(ctx context.Context, id cluster.TopologyID) error {
	for _, dir := range extras() {
		if err := s.removeTree(ctx, s.path(dir, string(id))); err != nil {
			return err
		}
	}
	return nil
}
