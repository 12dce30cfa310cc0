package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
	"github.com/syndtr/goleveldb/leveldb/util"

	"github.com/stormring/stormring/sr3/shard"
)

// Get gives all stored bytes of an object, verified. They are the caller's.
// Errors wrap ErrNotFound, or ErrDamaged: then the object is dropped and OnDamage
// told. A sector that the disk cannot read (EIO) is damage too.
func (s *Store) Get(ctx context.Context, ref shard.Ref) ([]byte, error) {
	s.mu.RLock()
	r := s.find(ref)
	s.mu.RUnlock()
	if r == nil {
		return nil, fmt.Errorf("%v: %w", ref.ObjectID, ErrNotFound)
	}
	stored := make([]byte, 0, r.stored)
	err := s.readChunks(ctx, r, func(c []byte) error {
		stored = append(stored, c...)
		return nil
	})
	if err == nil {
		err = shard.Verify(r.ref(), stored)
	}
	if err != nil {
		return nil, s.unreadable(r, err)
	}
	return stored, nil
}

// Manifest gives the owner's manifest of a version. Errors wrap ErrNotFound, or
// ErrDamaged: then it is dropped.
func (s *Store) Manifest(o shard.Owner, v shard.Version) (*shard.Manifest, error) {
	s.mu.RLock()
	r := s.index.manifest(o, v)
	s.mu.RUnlock()
	if r == nil {
		return nil, fmt.Errorf("manifest of %v version %v: %w", o, v, ErrNotFound)
	}
	b := make([]byte, 0, r.stored)
	err := s.readChunks(context.Background(), r, func(c []byte) error {
		b = append(b, c...)
		return nil
	})
	if err == nil && xxhash.Sum64(b) != r.sum {
		err = fmt.Errorf("manifest of %v version %v: another checksum: %w", o, v, ErrDamaged)
	}
	if err != nil {
		return nil, s.unreadable(r, err)
	}
	m, err := shard.DecodeManifest(b)
	if err != nil {
		return nil, s.unreadable(r, err)
	}
	return m, nil
}

// readChunks gives a record's chunks in order. They are valid until yield
// returns. Errors wrap ErrDamaged if a chunk is missing or has another length.
func (s *Store) readChunks(ctx context.Context, r *record, yield func([]byte) error) error {
	s.dbMu.RLock()
	defer s.dbMu.RUnlock()
	if s.db == nil {
		return fmt.Errorf("store %s: %w", s.where(), s.unusable())
	}
	it := s.db.ldb.NewIterator(&util.Range{Start: key(r.number, 0), Limit: key(r.number, headPart)}, nil)
	defer it.Release()
	left := r.stored
	for i := range r.chunks() {
		if err := ctx.Err(); err != nil {
			return err
		}
		want := min(left, chunkSize)
		if !it.Next() {
			return chunkError(r, i, it.Error())
		}
		if _, part, ok := parseKey(it.Key()); !ok || part != uint32(i) || int64(len(it.Value())) != want {
			return chunkError(r, i, nil)
		}
		if err := yield(it.Value()); err != nil {
			return err
		}
		left -= want
	}
	return nil
}

// chunkError is about a chunk that is not there, or could not be read.
func chunkError(r *record, i int, err error) error {
	// A block that was cut off is read without an error, or with one of these.
	if err != nil && !corrupted(err) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read chunk %d of %d: %w", i, r.chunks(), err)
	}
	if err != nil {
		return fmt.Errorf("chunk %d of %d: %w: %w", i, r.chunks(), err, ErrDamaged)
	}
	return fmt.Errorf("chunk %d of %d is missing: %w", i, r.chunks(), ErrDamaged)
}

// unreadable says what a failed read means, and drops what is damaged.
func (s *Store) unreadable(r *record, err error) error {
	name := r.name()
	if !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("store %s: %s: %w", s.where(), name, err)
	}
	if !s.drop(r) {
		// It was deleted while it was read, so what was missing is no damage.
		return fmt.Errorf("%s: deleted meanwhile: %w", name, ErrNotFound)
	}
	s.o.Log.Warn("damaged; dropped it, to be fetched from another holder", "dir", s.where(), "what", name, "err", err)
	if r.what == anObject && s.o.OnDamage != nil {
		s.o.OnDamage(r.ref())
	}
	return fmt.Errorf("store %s: %s: %w", s.where(), name, err)
}

func (r *record) name() string {
	if r.what == anObject {
		return r.object.id(r.owner).String()
	}
	return fmt.Sprintf("manifest of %v version %v", r.owner, r.version)
}

// drop hides a record and has the committer delete it. It is false if the
// record is not the present one of its name.
func (s *Store) drop(r *record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.index.manifest(r.owner, r.version)
	if r.what == anObject {
		now = s.index.object(r.object.id(r.owner))
	}
	if now == nil || now.number != r.number {
		return false
	}
	s.index.hide(now)
	s.letLoose(now)
	return true
}

// letLoose has the committer delete a record; mu is held.
func (s *Store) letLoose(r *record) {
	s.loose[r.number] = true
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// unusable says why there is no database.
func (s *Store) unusable() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.trouble != nil {
		return s.trouble
	}
	return ErrClosed
}
