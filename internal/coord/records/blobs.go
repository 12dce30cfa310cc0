package records

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stormring/stormring/internal/coord"
)

// BlobKeys are the keys of all blobs that the store knows, sorted.
func (s *Store) BlobKeys(ctx context.Context) ([]string, error) {
	return names[string](ctx, s, dirBlobs)
}

// BlobHolders are the nimbuses that have a blob, by id, with the version that
// each has. Errors: coord.ErrNoNode for an unknown key.
func (s *Store) BlobHolders(ctx context.Context, key string) (map[string]int, error) {
	dir := s.path(dirBlobs, key)
	children, _, err := s.s.Children(ctx, dir)
	if err != nil {
		return nil, err
	}
	holders := make(map[string]int, len(children))
	var corrupt *CorruptError
	for _, name := range children {
		id, version, err := parseHolder(name)
		if err != nil {
			corrupt = first(corrupt, &CorruptError{Path: dir + "/" + name, Err: err})
			continue
		}
		holders[id] = max(holders[id], version)
	}
	return holders, orNil(corrupt)
}

// holderName is the name of a holder's znode: <nimbus id>-<version>.
func holderName(nimbusID string, version int) string { return nimbusID + "-" + strconv.Itoa(version) }

func parseHolder(name string) (nimbusID string, version int, err error) {
	i := strings.LastIndexByte(name, '-')
	if i < 1 {
		return "", 0, errors.New("the name is not <nimbus id>-<version>")
	}
	version, err = strconv.Atoi(name[i+1:])
	if err != nil || version < 0 {
		return "", 0, fmt.Errorf("the name is not <nimbus id>-<version>: %q is no version", name[i+1:])
	}
	return name[:i], version, nil
}

// HoldBlob tells that a nimbus has a version of a blob, for as long as this
// session lasts. It replaces what was told of that nimbus before, by whatever
// session.
func (s *Store) HoldBlob(ctx context.Context, key, nimbusID string, version int) error {
	if version < 0 {
		return fmt.Errorf("records: blob %q: %d is no version, they begin at 0", key, version)
	}
	dir := s.path(dirBlobs, key)
	path := s.path(dirBlobs, key, holderName(nimbusID, version))
	return again(path, func() (bool, error) {
		olds, err := s.heldBy(ctx, dir, nimbusID)
		if errors.Is(err, coord.ErrNoNode) {
			return false, s.makeDir(ctx, dir)
		}
		if err != nil {
			return false, err
		}
		exists, stat, err := s.s.Exists(ctx, path)
		if err != nil {
			return false, err
		}
		mine := exists && stat.EphemeralOwner == s.s.ID()
		var ops []coord.Op
		for _, old := range olds {
			if old != path || !mine {
				ops = append(ops, coord.DeleteOp{Path: old, Version: coord.AnyVersion})
			}
		}
		if !mine {
			ops = append(ops, coord.CreateOp{Path: path, Mode: coord.Ephemeral})
		}
		if len(ops) == 0 {
			return true, nil
		}
		if _, err = s.s.Multi(ctx, ops...); lostRace(err) {
			return false, nil
		}
		return true, err
	})
}

// heldBy are the paths of what is told of one nimbus.
func (s *Store) heldBy(ctx context.Context, dir, nimbusID string) ([]string, error) {
	children, _, err := s.s.Children(ctx, dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range children {
		if id, _, err := parseHolder(name); err == nil && id == nimbusID {
			out = append(out, dir+"/"+name)
		}
	}
	return out, nil
}

// ReleaseBlob tells that a nimbus does not have a blob any more.
func (s *Store) ReleaseBlob(ctx context.Context, key, nimbusID string) error {
	paths, err := s.heldBy(ctx, s.path(dirBlobs, key), nimbusID)
	if errors.Is(err, coord.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := s.remove(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// NextBlobVersion is a version that a blob has not had yet: the first is 1, and
// no two calls return the same until RemoveBlob, after which versions begin
// anew.
func (s *Store) NextBlobVersion(ctx context.Context, key string) (int, error) {
	dir := s.path(dirBlobVersions, key)
	next := 0
	err := again(dir, func() (bool, error) {
		children, stat, err := s.s.Children(ctx, dir)
		if errors.Is(err, coord.ErrNoNode) {
			return false, s.makeDir(ctx, dir)
		}
		if err != nil {
			return false, err
		}
		holders, err := s.BlobHolders(ctx, key)
		if err != nil && !errors.Is(err, coord.ErrNoNode) && !isCorrupt(err) {
			return false, err
		}
		newest := 0
		for _, version := range holders {
			newest = max(newest, version)
		}
		// Who has seen the same folder loses against whoever is first, also when a
		// third one has made and removed the number meanwhile.
		ops := []coord.Op{coord.SetOp{Path: dir, Version: stat.Version}}
		for _, name := range children {
			if n, err := strconv.Atoi(name); err == nil {
				newest = max(newest, n)
				ops = append(ops, coord.DeleteOp{Path: dir + "/" + name, Version: coord.AnyVersion})
			}
		}
		next = newest + 1
		// The number is the name, as with Storm.
		create := coord.CreateOp{Path: dir + "/" + strconv.Itoa(next), Mode: coord.Persistent}
		if _, err = s.s.Multi(ctx, append([]coord.Op{create}, ops...)...); lostRace(err) {
			return false, nil
		}
		return true, err
	})
	return next, err
}

func isCorrupt(err error) bool {
	_, ok := errors.AsType[*CorruptError](err)
	return ok
}

// RemoveBlob forgets a blob: who has it, and its versions.
func (s *Store) RemoveBlob(ctx context.Context, key string) error {
	if err := s.removeTree(ctx, s.path(dirBlobs, key)); err != nil {
		return err
	}
	return s.removeTree(ctx, s.path(dirBlobVersions, key))
}
