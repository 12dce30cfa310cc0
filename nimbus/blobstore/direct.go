package blobstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// copyBuffer is how many bytes are under way between a reader and the disk.
const copyBuffer = 256 << 10

// Put stores what r has as the blob key, new or anew, for nimbus itself, and
// returns its version. Errors: ErrInvalidKey, ErrAuthorization for an ACL that
// makes no sense, those of r and ctx.
func (s *Store) Put(ctx context.Context, key string, meta Meta, r io.Reader) (int64, error) {
	meta, err := s.ready(key, meta, Self())
	if err != nil {
		return 0, err
	}
	st, err := s.copyIn(ctx, key, r)
	if err != nil {
		return 0, err
	}
	return s.commitStaged(st, change{key: key, meta: always(meta)})
}

// Import stores a blob as another nimbus has it: with that version. A version
// that is not newer than what is here is an ErrStale and is not read; but what
// is damaged here makes way for any.
func (s *Store) Import(ctx context.Context, key string, version int64, meta Meta, r io.Reader) error {
	if err := s.importable(key, version); err != nil {
		return err
	}
	st, err := s.copyIn(ctx, key, r)
	if err != nil {
		return err
	}
	return s.importStaged(st, key, version, meta)
}

// importStaged is Import of what has been written to st.
func (s *Store) importStaged(st *staged, key string, version int64, meta Meta) error {
	c := change{key: key, version: version, announced: true}
	c.meta = func(*entry) (Meta, error) {
		if err := s.importable(key, version); err != nil {
			return Meta{}, err
		}
		// As it is there: it was made normal there.
		return meta, checkACL(key, meta.ACL)
	}
	_, err := s.commitStaged(st, c)
	return err
}

// importable tells whether a version is wanted here.
func (s *Store) importable(key string, version int64) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if version <= 0 {
		return fmt.Errorf("import blob %q: version %d is not a version", key, version)
	}
	e, err := s.find(key)
	switch {
	case errors.Is(err, ErrKeyNotFound):
		return nil
	case err != nil:
		return err
	case version <= e.Version && !e.damaged:
		return fmt.Errorf("import blob %q: %w: it has %d, this is %d", key, ErrStale, e.Version, version)
	}
	return nil
}

// Get opens a blob for nimbus itself. What is read is one version to its end;
// the last bytes come only if the checksum is right, else ErrDamaged. The
// caller closes it.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, ReadableMeta, error) {
	if err := ctx.Err(); err != nil {
		return nil, ReadableMeta{}, err
	}
	r, err := s.open(key, Self())
	if err != nil {
		return nil, ReadableMeta{}, err
	}
	return struct {
		io.Reader
		io.Closer
	}{until(ctx, r), r}, r.rec.readable(), nil
}

// Meta is what is known of a blob; who needs to be able to read or administer
// it. Errors: ErrKeyNotFound, ErrAuthorization.
func (s *Store) Meta(key string, who Subject) (ReadableMeta, error) {
	e, err := s.find(key)
	if err != nil {
		return ReadableMeta{}, err
	}
	if err := s.checkAny(key, e.ACL, who, Read|Admin); err != nil {
		return ReadableMeta{}, err
	}
	return e.readable(), nil
}

// SetMeta changes a blob's meta, not its version; who administers it and stays
// able to. A replication of 0 or less leaves that as it is.
// Errors: ErrKeyNotFound, ErrAuthorization.
func (s *Store) SetMeta(key string, meta Meta, who Subject) error {
	s.change.Lock()
	defer s.change.Unlock()
	e, err := s.find(key)
	if err != nil {
		return err
	}
	if err := s.check(key, e.ACL, who, Admin); err != nil {
		return err
	}
	if meta.Replication <= 0 {
		meta.Replication = e.Replication
	}
	if meta, err = s.normal(key, meta, who, Admin); err != nil {
		return err
	}
	r := e.record
	r.ACL, r.Replication = meta.ACL, meta.Replication
	done, err := s.writeMeta(r)
	if done {
		s.mu.Lock()
		defer s.mu.Unlock()
		e = s.entries[key] // it may have turned out damaged
		e.record = r
		s.entries[key] = e
	}
	return err
}

// Delete deletes a blob; who may write it. Downloads of it go on.
// Errors: ErrKeyNotFound, ErrAuthorization.
func (s *Store) Delete(key string, who Subject) error {
	s.change.Lock()
	defer s.change.Unlock()
	e, err := s.find(key)
	if err != nil {
		return err
	}
	if err := s.check(key, e.ACL, who, Write); err != nil {
		return err
	}
	if err := s.raiseMark(e.Version); err != nil {
		return fmt.Errorf("delete blob %q: %w", key, err)
	}
	if err := s.disk.Remove(filepath.Join(s.blobs, e.metaName())); err != nil {
		return fmt.Errorf("delete blob %q: %w", key, err)
	}
	s.mu.Lock()
	delete(s.entries, key)
	s.mu.Unlock()
	if err := s.disk.SyncDir(s.blobs); err != nil {
		return fmt.Errorf("delete blob %q: %w: %w", key, ErrUncertain, err)
	}
	// What stays is swept at the next Open.
	_ = remove(s.disk, filepath.Join(s.blobs, e.dataName()))
	return nil
}

// Exists tells whether there is such a blob.
func (s *Store) Exists(key string) bool {
	_, err := s.find(key)
	return err == nil
}

// Keys is the keys that begin with prefix, sorted.
func (s *Store) Keys(prefix string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var keys []string
	for key := range s.entries {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// ready checks key and makes meta normal for a blob that who creates.
func (s *Store) ready(key string, meta Meta, who Subject) (Meta, error) {
	if err := CheckKey(key); err != nil {
		return Meta{}, err
	}
	return s.normal(key, meta, who, everything)
}

// always is a change.meta for blobs that are new or replaced.
func always(meta Meta) func(*entry) (Meta, error) {
	return func(*entry) (Meta, error) { return meta, nil }
}

// copyIn stages all that r has.
func (s *Store) copyIn(ctx context.Context, key string, r io.Reader) (*staged, error) {
	st, err := s.stage()
	if err != nil {
		return nil, err
	}
	// Without the wrapper a *os.File would choose its own way past the buffer.
	_, err = io.CopyBuffer(struct{ io.Writer }{st}, until(ctx, r), make([]byte, copyBuffer))
	if err != nil {
		st.drop()
		return nil, fmt.Errorf("store blob %q: %w", key, err)
	}
	return st, nil
}

// readerFunc is a function that reads.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// until is r until ctx ends.
func until(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}
