package blobstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// The names in the inbox. A jar has its own name once it is finished.
const (
	jarPrefix  = "stormjar-"
	jarEnding  = ".jar"
	partEnding = ".part"
)

// jar is a file in the inbox.
type jar struct {
	location string // its path once it is finished

	mu     sync.Mutex // guards what follows
	used   time.Time
	over   bool
	staged *staged // until it is finished
	size   int64   // from then on
	sum    string  // "" if it was finished before the store was opened
}

// inbox is the uploads of jars. Only locations that are in jars are known, so
// that what a client says never becomes a path.
type inbox struct {
	cfg  Config
	disk disk
	dir  string

	mu     sync.Mutex // guards what follows; who holds it only tries a jar's mu
	jars   map[string]*jar
	open   int // of them, those that are not finished
	closed bool
}

func newInbox(cfg Config, d disk, dir string) *inbox {
	return &inbox{cfg: cfg, disk: d, dir: dir, jars: map[string]*jar{}}
}

// load takes in what was finished and removes what was not.
func (b *inbox) load() error {
	files, err := b.disk.ReadDir(b.dir)
	if err != nil {
		return err
	}
	now := b.cfg.Clock.Now()
	for _, f := range files {
		path := filepath.Join(b.dir, f.name)
		switch {
		case !strings.HasPrefix(f.name, jarPrefix): // not ours
		case strings.HasSuffix(f.name, partEnding):
			if err := remove(b.disk, path); err != nil {
				return err
			}
		case strings.HasSuffix(f.name, jarEnding):
			used := f.modified
			if used.After(now) {
				used = now // the clock was set back
			}
			b.jars[path] = &jar{location: path, used: used, size: f.size}
		}
	}
	return nil
}

// begin makes an unfinished jar, if there is room.
func (b *inbox) begin() (*jar, error) {
	if err := b.reserve(); err != nil {
		return nil, err
	}
	location := filepath.Join(b.dir, jarPrefix+uuid.NewString()+jarEnding)
	st, err := stage(b.disk, location+partEnding)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && b.closed {
		st.drop()
		err = ErrClosed
	}
	if err != nil {
		b.open--
		return nil, fmt.Errorf("begin an upload: %w", err)
	}
	j := &jar{location: location, used: b.cfg.Clock.Now(), staged: st}
	b.jars[location] = j
	return j, nil
}

func (b *inbox) reserve() error {
	b.mu.Lock()
	full := b.open >= b.cfg.MaxUploads
	b.mu.Unlock()
	if full {
		if err := b.sweep(b.cfg.Clock.Now()); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return ErrClosed
	case b.open >= b.cfg.MaxUploads:
		return fmt.Errorf("%w: %d uploads are unfinished, the limit (MaxUploads) is %d", ErrTooMany, b.open, b.cfg.MaxUploads)
	}
	b.open++
	return nil
}

// use finds and locks a jar; the caller calls done.
func (b *inbox) use(location string, finished bool) (j *jar, done func(), err error) {
	b.mu.Lock()
	j = b.jars[location]
	b.mu.Unlock()
	if j == nil {
		return nil, nil, fmt.Errorf("upload %q: %w: this nimbus gave no such location, or its time is over", location, ErrSession)
	}
	now := b.cfg.Clock.Now()
	j.mu.Lock()
	switch {
	case j.over || b.expired(j, now):
		err = fmt.Errorf("upload %q: its time is over: %w", location, ErrSession)
	case finished && j.staged != nil:
		err = fmt.Errorf("upload %q is not finished: %w", location, ErrSession)
	case !finished && j.staged == nil:
		err = fmt.Errorf("upload %q is finished already: %w", location, ErrSession)
	}
	if err != nil {
		j.mu.Unlock()
		return nil, nil, err
	}
	return j, func() {
		j.used = b.cfg.Clock.Now()
		j.mu.Unlock()
	}, nil
}

// expired tells whether nobody wants j any more; its mu is held.
func (b *inbox) expired(j *jar, now time.Time) bool {
	if j.staged != nil {
		return now.Sub(j.used) >= min(b.cfg.SessionIdle, b.cfg.InboxExpiry)
	}
	return now.Sub(j.used) >= b.cfg.InboxExpiry
}

// fail gives an unfinished jar up; its mu is held.
func (b *inbox) fail(j *jar) {
	j.over = true
	j.staged.drop()
}

// sweep removes what has expired or failed.
func (b *inbox) sweep(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for location, j := range b.jars {
		if !j.mu.TryLock() {
			continue // in use
		}
		if !j.over && !b.expired(j, now) {
			j.mu.Unlock()
			continue
		}
		err := b.discard(j)
		j.mu.Unlock()
		if err != nil {
			errs = append(errs, fmt.Errorf("remove the upload: %w", err))
			continue // the next sweep tries again
		}
		delete(b.jars, location)
		b.cfg.Logger.Info("removed an upload that nobody wants any more", "location", location)
	}
	return errors.Join(errs...)
}

// discard removes j's file; both mu are held.
func (b *inbox) discard(j *jar) error {
	j.over = true
	if j.staged == nil {
		return remove(b.disk, j.location)
	}
	j.staged.drop()
	b.open--
	return nil
}

// close ends the unfinished ones; the others wait for the next Open.
func (b *inbox) close() {
	b.mu.Lock()
	all := b.jars
	b.jars, b.closed = map[string]*jar{}, true
	b.mu.Unlock()
	for _, j := range all {
		j.mu.Lock()
		j.over = true
		if j.staged != nil {
			j.staged.drop()
		}
		j.mu.Unlock()
	}
}

// BeginFileUpload begins the upload of a jar that is to be submitted, and
// returns its location: a path, as Storm has it, though it means nothing to
// the client. Errors: ErrTooMany.
func (s *Store) BeginFileUpload() (location string, err error) {
	j, err := s.inbox.begin()
	if err != nil {
		return "", err
	}
	return j.location, nil
}

// UploadFileChunk adds chunk to a jar. If the disk does not take it the upload
// is over. Errors: ErrSession.
func (s *Store) UploadFileChunk(location string, chunk []byte) error {
	j, done, err := s.inbox.use(location, false)
	if err != nil {
		return err
	}
	defer done()
	if _, err := j.staged.Write(chunk); err != nil {
		s.inbox.fail(j)
		return fmt.Errorf("upload %q: %w; begin anew", location, err)
	}
	return nil
}

// FinishFileUpload ends the upload of a jar: from now on it can be adopted, for
// Config.InboxExpiry, also by a nimbus that is started again meanwhile.
// Errors: ErrSession.
func (s *Store) FinishFileUpload(location string) error {
	j, done, err := s.inbox.use(location, false)
	if err != nil {
		return err
	}
	defer done()
	err = j.staged.finish()
	if err == nil {
		err = s.disk.Rename(j.staged.path, location)
	}
	if err == nil {
		err = s.disk.SyncDir(s.inbox.dir)
	}
	if err != nil {
		s.inbox.fail(j)
		return fmt.Errorf("finish upload %q: %w; begin anew", location, err)
	}
	j.size, j.sum, j.staged = j.staged.size, j.staged.sum(), nil
	s.inbox.finished()
	return nil
}

// finished counts one unfinished jar less.
func (b *inbox) finished() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
}

// Upload is a finished jar, open to be looked at. Its user closes it.
type Upload struct {
	io.ReaderAt
	io.Closer
	Size int64 // in bytes
}

// OpenUpload opens a finished jar, so that nimbus can see what was submitted.
// Errors: ErrSession.
func (s *Store) OpenUpload(location string) (Upload, error) {
	j, done, err := s.inbox.use(location, true)
	if err != nil {
		return Upload{}, err
	}
	defer done()
	f, err := s.disk.Open(location)
	if err != nil {
		return Upload{}, fmt.Errorf("open upload %q: %w", location, err)
	}
	return Upload{ReaderAt: f, Closer: f, Size: j.size}, nil
}

// Adopt makes a finished jar the content of the blob key, new or anew, for
// nimbus itself, and returns its version. The content is not copied where the
// disk knows hard links. The location stays good until it expires: a program
// that submits two topologies may upload its jar once.
// Errors: ErrSession, and those of Put.
func (s *Store) Adopt(ctx context.Context, location, key string, meta Meta) (version int64, err error) {
	meta, err = s.ready(key, meta, Self())
	if err != nil {
		return 0, err
	}
	j, done, err := s.inbox.use(location, true)
	if err != nil {
		return 0, err
	}
	defer done()
	if j.sum == "" {
		if j.sum, j.size, err = s.sumOf(ctx, location); err != nil {
			return 0, fmt.Errorf("adopt upload %q: %w", location, err)
		}
	}
	linked := true
	version, err = s.commit(change{
		key: key, size: j.size, sum: j.sum, meta: always(meta),
		place: func(path string) error {
			// A crash may have left the name, and Link replaces nothing.
			if err := remove(s.disk, path); err != nil {
				return err
			}
			err := s.disk.Link(location, path)
			linked = err == nil
			return err
		},
	})
	if linked {
		return version, err
	}
	f, err := s.disk.Open(location)
	if err != nil {
		return 0, fmt.Errorf("adopt upload %q: %w", location, err)
	}
	defer f.Close()
	return s.Put(ctx, key, meta, f)
}

// sumOf is the checksum and the size of a file.
func (s *Store) sumOf(ctx context.Context, path string) (sum string, size int64, err error) {
	f, err := s.disk.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.CopyBuffer(h, until(ctx, f), make([]byte, copyBuffer))
	return hex.EncodeToString(h.Sum(nil)), size, err
}
