package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/stormring/stormring/internal/coord"
)

// attempts is how often a change is tried that others get in the way of. Each
// of them has then made a change, so more than a few in a row means that two
// daemons fight over one record.
const attempts = 10

// read is a record and its Stat.
func read[T any](ctx context.Context, s *Store, path string, decode func([]byte) (T, error)) (T, coord.Stat, error) {
	data, stat, err := s.s.Get(ctx, path)
	return decoded(path, data, stat, err, decode)
}

func decoded[T any](path string, data []byte, stat coord.Stat, err error, decode func([]byte) (T, error)) (T, coord.Stat, error) {
	var zero T
	if err != nil {
		return zero, coord.Stat{}, err
	}
	record, err := decode(data)
	if err != nil {
		return zero, stat, &CorruptError{Path: path, Err: err}
	}
	return record, stat, nil
}

// readW is read with a watch: on the record, or on its creation.
func readW[T any](ctx context.Context, s *Store, path string, decode func([]byte) (T, error)) (T, coord.Stat, <-chan coord.Event, error) {
	for range attempts {
		data, stat, ch, err := s.s.GetW(ctx, path)
		if !errors.Is(err, coord.ErrNoNode) {
			record, stat, err := decoded(path, data, stat, err, decode)
			return record, stat, ch, err
		}
		noNode := err
		exists, _, ch, err := s.s.ExistsW(ctx, path)
		if exists {
			continue // it has just been created
		}
		if err == nil {
			err = noNode
		}
		var zero T
		return zero, coord.Stat{}, ch, err
	}
	var zero T
	return zero, coord.Stat{}, nil, contended(path)
}

// names are the children of dir as N.
func names[N ~string](ctx context.Context, s *Store, dir string) ([]N, error) {
	children, _, err := s.s.Children(ctx, s.dir(dir))
	return as[N](children), err
}

// namesW is names with a watch.
func namesW[N ~string](ctx context.Context, s *Store, dir string) ([]N, <-chan coord.Event, error) {
	children, _, ch, err := s.s.ChildrenW(ctx, s.dir(dir))
	return as[N](children), ch, err
}

func as[N ~string](children []string) []N {
	out := make([]N, len(children))
	for i, c := range children {
		out[i] = N(c)
	}
	return out
}

// contended is a change that others have got in the way of too often.
func contended(path string) error {
	return fmt.Errorf("records: %s was changed by others %d times meanwhile; find out who else writes it", path, attempts)
}

// again tries f until it is done.
func again(path string, f func() (done bool, err error)) error {
	for range attempts {
		if done, err := f(); done || err != nil {
			return err
		}
	}
	return contended(path)
}

// lostRace reports whether err says that another changed the znode, rather
// than that something is wrong.
func lostRace(err error) bool {
	return errors.Is(err, coord.ErrNoNode) || errors.Is(err, coord.ErrNodeExists) || errors.Is(err, coord.ErrBadVersion)
}

// makeDir creates a persistent znode and its parents, as far as they are not
// there.
func (s *Store) makeDir(ctx context.Context, path string) error {
	return again(path, func() (bool, error) {
		_, err := s.s.Create(ctx, path, nil, coord.Persistent)
		switch {
		case err == nil, errors.Is(err, coord.ErrNodeExists):
			return true, nil
		case errors.Is(err, coord.ErrNoNode):
			return false, s.makeDir(ctx, coord.Parent(path))
		default:
			return false, err
		}
	})
}

// put creates or sets a persistent record, with ops before it in the same
// Multi, and returns its version. v is a version, Absent or coord.AnyVersion.
func (s *Store) put(ctx context.Context, path string, data []byte, v Version, ops []coord.Op) (Version, error) {
	create := coord.CreateOp{Path: path, Data: data, Mode: coord.Persistent}
	if v == Absent {
		_, err := s.last(ctx, ops, create)
		return 0, err
	}
	var version Version
	err := again(path, func() (bool, error) {
		r, err := s.last(ctx, ops, coord.SetOp{Path: path, Data: data, Version: v})
		if v != coord.AnyVersion || !failedAt(err, len(ops), coord.ErrNoNode) {
			version = r.Stat.Version
			return true, err
		}
		if _, err = s.last(ctx, ops, create); failedAt(err, len(ops), coord.ErrNodeExists) {
			return false, nil
		}
		version = 0
		return true, err
	})
	return version, err
}

// last performs ops and then op, and returns what came of op.
func (s *Store) last(ctx context.Context, ops []coord.Op, op coord.Op) (coord.Result, error) {
	all := make([]coord.Op, 0, len(ops)+1)
	all = append(append(all, ops...), op)
	results, err := s.s.Multi(ctx, all...)
	if err != nil {
		return coord.Result{}, err
	}
	return results[len(results)-1], nil
}

// failedAt reports whether a Multi failed with this error at this operation.
func failedAt(err error, index int, target error) bool {
	var op *coord.OpError
	return errors.As(err, &op) && op.Index == index && errors.Is(err, target)
}

// putEphemeral makes data the content of an ephemeral znode of this session.
// One of another session, which the daemon that wrote it has left, is replaced.
func (s *Store) putEphemeral(ctx context.Context, path string, data []byte) error {
	create := coord.CreateOp{Path: path, Data: data, Mode: coord.Ephemeral}
	return again(path, func() (bool, error) {
		exists, stat, err := s.s.Exists(ctx, path)
		if err != nil {
			return false, err
		}
		switch {
		case !exists:
			_, err = s.s.Create(ctx, path, data, coord.Ephemeral)
			if errors.Is(err, coord.ErrNoNode) { // the parent
				return true, err
			}
		case stat.EphemeralOwner == s.s.ID():
			_, err = s.s.Set(ctx, path, data, coord.AnyVersion)
		default:
			_, err = s.s.Multi(ctx, coord.DeleteOp{Path: path, Version: stat.Version}, create)
		}
		if lostRace(err) {
			return false, nil
		}
		return true, err
	})
}

// remove deletes a znode, which may be absent.
func (s *Store) remove(ctx context.Context, path string) error {
	err := s.s.Delete(ctx, path, coord.AnyVersion)
	if errors.Is(err, coord.ErrNoNode) {
		return nil
	}
	return err
}

// removeTree deletes a znode, which may be absent, and all below it.
func (s *Store) removeTree(ctx context.Context, path string) error {
	return again(path, func() (bool, error) {
		err := s.remove(ctx, path)
		if !errors.Is(err, coord.ErrNotEmpty) {
			return true, err
		}
		children, _, err := s.s.Children(ctx, path)
		if errors.Is(err, coord.ErrNoNode) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		for _, c := range children {
			if err := s.removeTree(ctx, path+"/"+c); err != nil {
				return false, err
			}
		}
		return false, nil
	})
}
