package records

import (
	"context"
	"errors"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/wire"
)

// Supervisors are the ids of the supervisors that have a session, sorted.
func (s *Store) Supervisors(ctx context.Context) ([]cluster.SupervisorID, error) {
	return names[cluster.SupervisorID](ctx, s, dirSupervisors)
}

// SupervisorsW is Supervisors with a watch that tells of supervisors that come
// and go.
func (s *Store) SupervisorsW(ctx context.Context) ([]cluster.SupervisorID, <-chan coord.Event, error) {
	return namesW[cluster.SupervisorID](ctx, s, dirSupervisors)
}

// Supervisor is a supervisor's sign of life; its Stat tells when it was given.
func (s *Store) Supervisor(ctx context.Context, id cluster.SupervisorID) (cluster.SupervisorRecord, coord.Stat, error) {
	return read(ctx, s, s.path(dirSupervisors, string(id)), wire.DecodeSupervisor)
}

// SupervisorW is Supervisor with a watch.
func (s *Store) SupervisorW(ctx context.Context, id cluster.SupervisorID) (cluster.SupervisorRecord, coord.Stat, <-chan coord.Event, error) {
	return readW(ctx, s, s.path(dirSupervisors, string(id)), wire.DecodeSupervisor)
}

// PutSupervisor gives a supervisor's sign of life, which lasts as long as this
// session or until the next. It replaces one of another session.
func (s *Store) PutSupervisor(ctx context.Context, id cluster.SupervisorID, r cluster.SupervisorRecord) error {
	data, err := wire.EncodeSupervisor(r)
	if err != nil {
		return err
	}
	return s.putEphemeral(ctx, s.path(dirSupervisors, string(id)), data)
}

// Nimbuses are the nimbuses that have a session, by id: host:port.
func (s *Store) Nimbuses(ctx context.Context) (map[string]cluster.NimbusRecord, error) {
	return all(ctx, s, dirNimbuses, wire.DecodeNimbus, func(id string) string { return id })
}

// PutNimbus tells that there is a nimbus, for as long as this session lasts. It
// replaces what another session told.
func (s *Store) PutNimbus(ctx context.Context, id string, r cluster.NimbusRecord) error {
	data, err := wire.EncodeNimbus(r)
	if err != nil {
		return err
	}
	return s.putEphemeral(ctx, s.path(dirNimbuses, id), data)
}

// all are the records of a folder that can be read, with the error of the first
// that cannot.
func all[K comparable, T any](ctx context.Context, s *Store, dir string, decode func([]byte) (T, error), key func(name string) K) (map[K]T, error) {
	children, _, err := s.s.Children(ctx, s.dir(dir))
	if err != nil {
		return nil, err
	}
	out := make(map[K]T, len(children))
	var corrupt *CorruptError
	for _, name := range children {
		record, _, err := read(ctx, s, s.path(dir, name), decode)
		if c, ok := errors.AsType[*CorruptError](err); ok {
			corrupt = first(corrupt, c)
			continue
		}
		if errors.Is(err, coord.ErrNoNode) {
			continue // it has gone meanwhile
		}
		if err != nil {
			return nil, err
		}
		out[key(name)] = record
	}
	return out, orNil(corrupt)
}

func first(a, b *CorruptError) *CorruptError {
	if a != nil {
		return a
	}
	return b
}

// orNil is e without a nil pointer in an interface.
func orNil(e *CorruptError) error {
	if e == nil {
		return nil
	}
	return e
}
