package blobstore

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
)

// reader reads one version of a blob, which stays whole though the blob is
// changed or deleted meanwhile: the file is open. The last bytes come only if
// all had the right checksum.
type reader struct {
	store *Store
	rec   record
	file  file
	hash  hash.Hash
	left  int64
}

// open opens a blob to be read by who.
func (s *Store) open(key string, who Subject) (*reader, error) {
	// Held until the file is open: content is removed only after the index
	// points elsewhere.
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.findLocked(key)
	if err != nil {
		return nil, err
	}
	if err := s.check(key, e.ACL, who, Read); err != nil {
		return nil, err
	}
	if e.damaged {
		return nil, damaged(e.record)
	}
	f, err := s.disk.Open(filepath.Join(s.blobs, e.dataName()))
	if err != nil {
		return nil, fmt.Errorf("read blob %q: %w", key, err)
	}
	return &reader{store: s, rec: e.record, file: f, hash: sha256.New(), left: e.Size}, nil
}

func damaged(r record) error {
	return fmt.Errorf("blob %q, version %d: %w", r.Key, r.Version, ErrDamaged)
}

// Read reads on. Errors: ErrDamaged.
func (r *reader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.file.Read(p[:min(int64(len(p)), r.left)])
	r.hash.Write(p[:n])
	r.left -= int64(n)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return n, fmt.Errorf("read blob %q: %w", r.rec.Key, err)
	case r.left > 0 && err != nil, // it is shorter than it was
		r.left == 0 && hex.EncodeToString(r.hash.Sum(nil)) != r.rec.SHA256:
		r.store.setDamaged(r.rec)
		return 0, damaged(r.rec)
	}
	return n, nil
}

// Close closes the file.
func (r *reader) Close() error { return r.file.Close() }

// setDamaged remembers that a version is no good, so that nobody reads it and
// the Replicator brings it anew.
func (s *Store) setDamaged(r record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.entries[r.Key]; ok && e.Version == r.Version && e.SHA256 == r.SHA256 {
		e.damaged = true
		s.entries[r.Key] = e
	}
}
