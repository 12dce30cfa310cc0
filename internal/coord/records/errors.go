package records

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/wire"
)

// MaxErrors is how many errors of a component are kept.
const MaxErrors = 10

// Errors are what a component has reported, newest first, at most MaxErrors;
// none is no error.
func (s *Store) Errors(ctx context.Context, id cluster.TopologyID, component string) ([]cluster.ErrorRecord, error) {
	dir := s.path(dirErrors, string(id), escape(component))
	names, err := s.errorNames(ctx, dir)
	if err != nil {
		return nil, err
	}
	slices.Reverse(names)
	var corrupt *CorruptError
	out := make([]cluster.ErrorRecord, 0, min(len(names), MaxErrors))
	for _, name := range names[:min(len(names), MaxErrors)] {
		r, _, err := read(ctx, s, dir+"/"+name, wire.DecodeError)
		if c, ok := errors.AsType[*CorruptError](err); ok {
			corrupt = first(corrupt, c)
			continue
		}
		if errors.Is(err, coord.ErrNoNode) {
			continue // newer ones have pushed it out meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, orNil(corrupt)
}

// errorNames are the names of a component's errors, oldest first; none if there
// is no such folder.
func (s *Store) errorNames(ctx context.Context, dir string) ([]string, error) {
	names, _, err := s.s.Children(ctx, dir)
	if errors.Is(err, coord.ErrNoNode) {
		return nil, nil
	}
	// All numbers have ten digits, so that the sorted names are in order.
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "e") }), err
}

// LastError is what a component has reported last, if anything.
func (s *Store) LastError(ctx context.Context, id cluster.TopologyID, component string) (cluster.ErrorRecord, bool, error) {
	r, _, err := read(ctx, s, s.path(dirErrors, string(id), escape(component)+lastError), wire.DecodeError)
	if errors.Is(err, coord.ErrNoNode) {
		return cluster.ErrorRecord{}, false, nil
	}
	return r, err == nil, err
}

// ErrorComponents are the components that have reported errors, sorted; none is
// no error.
func (s *Store) ErrorComponents(ctx context.Context, id cluster.TopologyID) ([]string, error) {
	names, _, err := s.s.Children(ctx, s.path(dirErrors, string(id)))
	if errors.Is(err, coord.ErrNoNode) {
		return []string{}, nil
	}
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		names[i] = unescape(strings.TrimSuffix(name, lastError))
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// AddError keeps an error that a component has reported, as its last and among
// its MaxErrors newest ones.
func (s *Store) AddError(ctx context.Context, id cluster.TopologyID, component string, r cluster.ErrorRecord) error {
	data, err := wire.EncodeError(r)
	if err != nil {
		return err
	}
	dir := s.path(dirErrors, string(id), escape(component))
	err = again(dir, func() (bool, error) {
		_, err := s.s.Create(ctx, dir+"/e", data, coord.Persistent|coord.Sequential)
		if errors.Is(err, coord.ErrNoNode) {
			return false, s.makeDir(ctx, dir)
		}
		if err != nil {
			return false, err
		}
		_, err = s.put(ctx, dir+lastError, data, coord.AnyVersion, nil)
		if errors.Is(err, coord.ErrNoNode) {
			return true, nil // the topology's errors have just been removed, this one too
		}
		return true, err
	})
	if err != nil {
		return err
	}
	names, err := s.errorNames(ctx, dir)
	if err != nil {
		return err
	}
	for _, old := range names[:max(0, len(names)-MaxErrors)] {
		if err := s.remove(ctx, dir+"/"+old); err != nil {
			return err
		}
	}
	return nil
}

// RemoveErrors removes all that a topology's components have reported.
func (s *Store) RemoveErrors(ctx context.Context, id cluster.TopologyID) error {
	return s.removeTree(ctx, s.path(dirErrors, string(id)))
}
