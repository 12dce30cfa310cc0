package blobstore

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// pageSize is how many keys a page of a listing has, as with Storm.
const pageSize = 100

// session is something that a client does in several calls. The kind of thing
// is that of which there is one: up, down or, with neither, keys.
type session struct {
	id string

	mu   sync.Mutex // guards what follows
	used time.Time
	over bool
	up   *upload
	down *reader
	keys []string // still to be listed
}

// upload is a blob that is being created or updated.
type upload struct {
	*staged
	key  string
	meta func(old *entry) (Meta, error)
}

// end closes what the session has; mu is held.
func (x *session) end() {
	if x.over {
		return
	}
	x.over = true
	if x.up != nil {
		x.up.drop()
	}
	if x.down != nil {
		_ = x.down.Close() // nothing was written
	}
}

// sessions are those that are open.
type sessions struct {
	cfg Config

	mu     sync.Mutex // guards what follows; who holds it only tries a session's mu
	open   map[string]*session
	coming int // places taken by those that are being made
	closed bool
}

func newSessions(cfg Config) *sessions {
	return &sessions{cfg: cfg, open: map[string]*session{}}
}

// begin makes a session with what fill puts into it, if there is room.
func (t *sessions) begin(fill func(*session) error) (*session, error) {
	if err := t.reserve(); err != nil {
		return nil, err
	}
	x := &session{id: uuid.NewString()}
	err := fill(x)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.coming--
	if err == nil && t.closed {
		x.end()
		err = ErrClosed
	}
	if err != nil {
		return nil, err
	}
	x.used = t.cfg.Clock.Now()
	t.open[x.id] = x
	return x, nil
}

func (t *sessions) reserve() error {
	t.mu.Lock()
	full := len(t.open)+t.coming >= t.cfg.MaxSessions
	t.mu.Unlock()
	if full {
		t.sweep(t.cfg.Clock.Now())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return ErrClosed
	}
	if n := len(t.open) + t.coming; n >= t.cfg.MaxSessions {
		return fmt.Errorf("%w: %d sessions of blobs are open, the limit (MaxSessions) is %d", ErrTooMany, n, t.cfg.MaxSessions)
	}
	t.coming++
	return nil
}

// use finds the session id, which has to be of the kind that is told, and
// locks it: the caller calls done.
func (t *sessions) use(id, kind string, is func(*session) bool) (x *session, done func(), err error) {
	t.mu.Lock()
	x = t.open[id]
	t.mu.Unlock()
	if x == nil {
		return nil, nil, fmt.Errorf("session %q: %w", id, ErrSession)
	}
	now := t.cfg.Clock.Now()
	x.mu.Lock()
	switch {
	case !is(x):
		err = fmt.Errorf("session %q is not %s: %w", id, kind, ErrSession)
	case !x.over && now.Sub(x.used) >= t.cfg.SessionIdle:
		x.end()
		fallthrough
	case x.over:
		err = fmt.Errorf("session %q is over: %w", id, ErrSession)
	}
	if err != nil {
		over := x.over
		x.mu.Unlock()
		if over {
			t.forget(x)
		}
		return nil, nil, err
	}
	return x, func() {
		x.used = t.cfg.Clock.Now()
		over := x.over
		x.mu.Unlock()
		if over {
			t.forget(x)
		}
	}, nil
}

func (t *sessions) forget(x *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, x.id)
}

// sweep ends those that are idle and returns how many.
func (t *sessions) sweep(now time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for id, x := range t.open {
		if !x.mu.TryLock() {
			continue // in use: not idle
		}
		if !x.over && now.Sub(x.used) >= t.cfg.SessionIdle {
			x.end()
			n++
		}
		if x.over {
			delete(t.open, id)
		}
		x.mu.Unlock()
	}
	return n
}

// close ends all.
func (t *sessions) close() {
	t.mu.Lock()
	all := t.open
	t.open, t.closed = map[string]*session{}, true
	t.mu.Unlock()
	for _, x := range all {
		x.mu.Lock()
		x.end()
		x.mu.Unlock()
	}
}

// BeginCreate begins the upload of a new blob. The blob is there once the
// upload is finished; until then others may begin one for the same key, and
// the first to finish wins: a client that died half-way keeps nobody waiting.
// The creator who is given full access.
// Errors: ErrInvalidKey, ErrKeyExists, ErrAuthorization, ErrTooMany.
func (s *Store) BeginCreate(key string, meta Meta, who Subject) (id string, err error) {
	meta, err = s.ready(key, meta, who)
	if err != nil {
		return "", err
	}
	if s.Exists(key) {
		return "", exists(key)
	}
	return s.beginUpload(key, func(old *entry) (Meta, error) {
		if old != nil {
			return Meta{}, exists(key)
		}
		return meta, nil
	})
}

// BeginUpdate begins the upload of a new content of a blob; who may write it.
// Errors: ErrKeyNotFound, ErrAuthorization, ErrTooMany.
func (s *Store) BeginUpdate(key string, who Subject) (id string, err error) {
	e, err := s.find(key)
	if err != nil {
		return "", err
	}
	if err := s.check(key, e.ACL, who, Write); err != nil {
		return "", err
	}
	return s.beginUpload(key, func(old *entry) (Meta, error) {
		if old == nil {
			return Meta{}, notFound(key)
		}
		return old.meta(), nil // it may have changed meanwhile
	})
}

func (s *Store) beginUpload(key string, meta func(*entry) (Meta, error)) (string, error) {
	x, err := s.sessions.begin(func(x *session) error {
		st, err := s.stage()
		x.up = &upload{staged: st, key: key, meta: meta}
		return err
	})
	if err != nil {
		return "", err
	}
	return x.id, nil
}

func isUpload(x *session) bool   { return x.up != nil }
func isDownload(x *session) bool { return x.down != nil }
func isListing(x *session) bool  { return x.up == nil && x.down == nil }

// UploadChunk adds chunk to an upload. If the disk does not take it the upload
// is over. Errors: ErrSession.
func (s *Store) UploadChunk(id string, chunk []byte) error {
	x, done, err := s.sessions.use(id, "an upload", isUpload)
	if err != nil {
		return err
	}
	defer done()
	if _, err := x.up.Write(chunk); err != nil {
		x.end()
		return fmt.Errorf("upload of blob %q: %w; begin anew", x.up.key, err)
	}
	return nil
}

// FinishUpload makes what has been uploaded the blob's content; when it
// returns, a crash does not lose it. The session is over, whatever happens.
// Errors: ErrSession; ErrKeyExists or ErrKeyNotFound if the key has come or
// gone since the beginning.
func (s *Store) FinishUpload(id string) (version int64, err error) {
	x, done, err := s.sessions.use(id, "an upload", isUpload)
	if err != nil {
		return 0, err
	}
	defer done()
	x.over = true // commitStaged takes care of the file
	return s.commitStaged(x.up.staged, change{key: x.up.key, meta: x.up.meta})
}

// UploadKey is the key of the blob that an upload is for, which whoever
// announces blobs wants to know. Errors: ErrSession.
func (s *Store) UploadKey(id string) (string, error) {
	x, done, err := s.sessions.use(id, "an upload", isUpload)
	if err != nil {
		return "", err
	}
	defer done()
	return x.up.key, nil
}

// CancelUpload ends an upload and forgets what was uploaded.
// Errors: ErrSession.
func (s *Store) CancelUpload(id string) error {
	x, done, err := s.sessions.use(id, "an upload", isUpload)
	if err != nil {
		return err
	}
	defer done()
	x.end()
	return nil
}

// Download is the answer to BeginDownload.
type Download struct {
	Session string
	Version int64
	Size    int64 // in bytes
}

// BeginDownload begins the download of a blob; who may read it. What comes is
// one version to its end, though the blob is changed or deleted meanwhile.
// Errors: ErrKeyNotFound, ErrAuthorization, ErrTooMany, ErrDamaged.
func (s *Store) BeginDownload(key string, who Subject) (Download, error) {
	x, err := s.sessions.begin(func(x *session) (err error) {
		x.down, err = s.open(key, who)
		return err
	})
	if err != nil {
		return Download{}, err
	}
	r := x.down.rec
	return Download{Session: x.id, Version: r.Version, Size: r.Size}, nil
}

// DownloadChunk is the next bytes of a download; none at the end, which is the
// end of the session too. The last bytes come only if the checksum is right.
// Errors: ErrSession, ErrDamaged.
func (s *Store) DownloadChunk(id string) ([]byte, error) {
	x, done, err := s.sessions.use(id, "a download", isDownload)
	if err != nil {
		return nil, err
	}
	defer done()
	chunk := make([]byte, min(int64(s.cfg.ChunkSize), x.down.left))
	if len(chunk) > 0 {
		_, err = io.ReadFull(x.down, chunk)
	}
	if err != nil {
		x.end()
		return nil, err
	}
	if len(chunk) == 0 {
		x.end()
	}
	return chunk, nil
}

// List is a page of the keys of all blobs, sorted, and the session to ask for
// the next; "" begins. An empty page is the end of the session. Keys that come
// after the beginning are not listed. Errors: ErrSession, ErrTooMany.
func (s *Store) List(id string) (keys []string, session string, err error) {
	if id == "" {
		if id, err = s.beginList(); err != nil {
			return nil, "", err
		}
	}
	x, done, err := s.sessions.use(id, "a listing", isListing)
	if err != nil {
		return nil, "", err
	}
	defer done()
	n := min(pageSize, len(x.keys))
	keys, x.keys = slices.Clone(x.keys[:n]), x.keys[n:]
	if n == 0 {
		x.end()
	}
	return keys, id, nil
}

func (s *Store) beginList() (string, error) {
	x, err := s.sessions.begin(func(x *session) error {
		x.keys = s.Keys("")
		return nil
	})
	if err != nil {
		return "", err
	}
	return x.id, nil
}
