package blobstore

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"path/filepath"
	"strconv"

	"github.com/google/uuid"
)

// staged is content on its way into the store: a file that grows, and the
// checksum of what it has. It is for one goroutine at a time.
type staged struct {
	disk disk
	path string
	file file // nil once closed
	hash hash.Hash
	size int64
}

func stage(d disk, path string) (*staged, error) {
	f, err := d.Create(path)
	if err != nil {
		return nil, err
	}
	return &staged{disk: d, path: path, file: f, hash: sha256.New()}, nil
}

// stage starts a blob's content in a temporary file.
func (s *Store) stage() (*staged, error) {
	st, err := stage(s.disk, filepath.Join(s.blobs, uuid.NewString()+tempEnding))
	if err != nil {
		return nil, fmt.Errorf("begin a blob: %w", err)
	}
	return st, nil
}

// Write adds to the content.
func (st *staged) Write(p []byte) (int, error) {
	n, err := st.file.Write(p)
	st.hash.Write(p[:n])
	st.size += int64(n)
	return n, err
}

// finish has what was written on disk, for good.
func (st *staged) finish() error {
	err := errors.Join(st.file.Sync(), st.file.Close())
	st.file = nil
	return err
}

// drop gives up the content. After a commit has moved the file away it does
// nothing more than to close.
func (st *staged) drop() {
	if st.file != nil {
		_ = st.file.Close() // it is about to go
		st.file = nil
	}
	// A file that stays is swept when the store opens again.
	_ = remove(st.disk, st.path)
}

func (st *staged) sum() string { return hex.EncodeToString(st.hash.Sum(nil)) }

// change is a new content of a blob.
type change struct {
	key   string
	size  int64
	sum   string
	place func(path string) error // puts the content, already on disk, at path
	// version is the one to take; 0 for a new one.
	version   int64
	announced bool
	// meta says what the blob's meta is to be, given what is there if old is
	// not nil; or why it must not be.
	meta func(old *entry) (Meta, error)
}

// commitStaged finishes st and makes it the content of key.
func (s *Store) commitStaged(st *staged, c change) (int64, error) {
	defer st.drop()
	if err := st.finish(); err != nil {
		return 0, fmt.Errorf("store blob %q: %w", c.key, err)
	}
	c.size, c.sum = st.size, st.sum()
	c.place = func(path string) error { return s.disk.Rename(st.path, path) }
	return s.commit(c)
}

// commit makes a change and returns the blob's version.
func (s *Store) commit(c change) (int64, error) {
	s.change.Lock()
	defer s.change.Unlock()
	var old *entry
	switch e, err := s.find(c.key); {
	case err == nil:
		old = &e
	case !errors.Is(err, ErrKeyNotFound):
		return 0, err
	}
	meta, err := c.meta(old)
	if err != nil {
		return 0, err
	}
	r := record{Key: c.key, Version: c.version, Size: c.size, SHA256: c.sum, ACL: meta.ACL, Replication: meta.Replication}
	if r.Version == 0 {
		s.mu.RLock()
		r.Version = max(s.last+1, s.cfg.Clock.Now().UnixMilli())
		s.mu.RUnlock()
	}
	if old != nil && r.Version < old.Version { // an older one in place of what is damaged
		if err := s.raiseMark(old.Version); err != nil {
			return 0, fmt.Errorf("store blob %q: %w", c.key, err)
		}
	}
	data := filepath.Join(s.blobs, r.dataName())
	if err := c.place(data); err != nil {
		return 0, fmt.Errorf("store blob %q: %w", c.key, err)
	}
	done, err := s.writeMeta(r)
	if !done {
		// Nothing points at the content; what stays is swept at the next Open.
		return 0, errors.Join(err, remove(s.disk, data))
	}
	s.put(entry{record: r, announced: c.announced || old != nil && old.announced})
	if err != nil {
		return r.Version, err // the old content stays: a crash may bring its meta back
	}
	if old != nil && old.dataName() != r.dataName() {
		// What stays is swept at the next Open.
		_ = remove(s.disk, filepath.Join(s.blobs, old.dataName()))
	}
	return r.Version, nil
}

// put takes e into the index.
func (s *Store) put(e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[e.Key] = e
	s.last = max(s.last, e.Version)
}

// writeMeta writes a meta file. done tells whether it is there, though it may
// be lost in a crash if there is an error too.
func (s *Store) writeMeta(r record) (done bool, err error) {
	text, err := encodeRecord(r)
	if err == nil && len(text) > maxRecord {
		err = fmt.Errorf("%w: its ACL is too long, %d bytes with the rest", ErrAuthorization, len(text))
	}
	if err == nil {
		done, err = s.writeSmall(r.metaName(), text)
	}
	switch {
	case err == nil:
		return true, nil
	case done:
		return true, fmt.Errorf("store blob %q: %w: %w", r.Key, ErrUncertain, err)
	}
	return false, fmt.Errorf("store the meta of blob %q: %w", r.Key, err)
}

// writeSmall replaces a small file of the store at one stroke.
func (s *Store) writeSmall(name string, text []byte) (done bool, err error) {
	st, err := s.stage()
	if err != nil {
		return false, err
	}
	defer st.drop()
	if _, err := st.Write(text); err != nil {
		return false, err
	}
	if err := st.finish(); err != nil {
		return false, err
	}
	// What the file speaks of must not come after it.
	if err := s.disk.SyncDir(s.blobs); err != nil {
		return false, err
	}
	if err := s.disk.Rename(st.path, filepath.Join(s.blobs, name)); err != nil {
		return false, err
	}
	return true, s.disk.SyncDir(s.blobs)
}

// raiseMark has it on disk that no version up to now is given out again,
// before the last meta file that tells of it goes. change is held.
func (s *Store) raiseMark(version int64) error {
	if version <= s.mark {
		return nil
	}
	s.mu.RLock()
	last := s.last
	s.mu.RUnlock()
	if _, err := s.writeSmall(markName, seal(strconv.AppendInt(nil, last, 10))); err != nil {
		return fmt.Errorf("store the last version: %w", err)
	}
	s.mark = last
	return nil
}
