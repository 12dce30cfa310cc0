package blobstore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/clock"
)

// Config is what a Store needs to know. Zero values stand for the defaults.
type Config struct {
	// Dir is where blobs and uploads lie; Open makes it.
	Dir    string
	Clock  clock.Clock  // default: clock.Real
	Logger *slog.Logger // default: says nothing
	// SessionIdle is after how long without a call a session, or an upload that
	// is not finished, ends; default 600 s.
	SessionIdle time.Duration
	// InboxExpiry is how long a finished upload waits to be adopted
	// (nimbus.inbox.jar.expiration.secs); default 1 h.
	InboxExpiry time.Duration
	// ACLValidation has ACLs enforced (storm.blobstore.acl.validation.enabled).
	ACLValidation bool
	// Admins are users who may do everything.
	Admins []string
	// Replication is that of blobs that do not say; default 3.
	Replication int
	// ChunkSize is the most bytes of a download's chunk; default 64 KiB.
	ChunkSize int
	// MaxSessions is how many uploads, downloads and listings of blobs may be
	// open at once, each upload and download with an open file; default 1024.
	MaxSessions int
	// MaxUploads is how many uploads to the inbox may be unfinished at once;
	// default 64.
	MaxUploads int
}

// withDefaults fills in what is not set.
func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.SessionIdle = cmp.Or(c.SessionIdle, 600*time.Second)
	c.InboxExpiry = cmp.Or(c.InboxExpiry, time.Hour)
	c.Replication = cmp.Or(c.Replication, 3)
	c.ChunkSize = cmp.Or(c.ChunkSize, 64<<10)
	c.MaxSessions = cmp.Or(c.MaxSessions, 1024)
	c.MaxUploads = cmp.Or(c.MaxUploads, 64)
	return c
}

// Store is the blobs of one nimbus. It is safe for use by several goroutines.
type Store struct {
	cfg      Config
	disk     disk
	dir      string // absolute
	blobs    string // where blobs and unfinished ones lie
	sessions *sessions
	inbox    *inbox
	lock     io.Closer

	// change is held by who changes blobs on disk, one at a time. It is taken
	// before mu.
	change sync.Mutex
	// mark is the version, on disk, below which none is given out again. change
	// guards it.
	mark int64

	mu      sync.RWMutex // guards what follows
	entries map[string]entry
	last    int64 // the highest version ever given or taken
	closed  bool
}

// entry is what the store knows of a blob. Entries are replaced, not changed.
type entry struct {
	record
	// damaged: the content on disk is not what the record says.
	damaged bool
	// announced: other nimbuses could know of it; see Replicator.
	announced bool
}

// Open opens the store in cfg.Dir, sweeps what a crash has left there and
// looks at what there is. A blob that is damaged does not keep the rest away:
// it is logged. Errors: ErrInUse, and those of the file system.
func Open(cfg Config) (*Store, error) {
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("blob store %s: %w", cfg.Dir, err)
	}
	d := realDisk{}
	if err := d.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("blob store: make its directory: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("blob store %s: %w", dir, err)
	}
	s, err := openOn(d, dir, cfg)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.lock = lock
	return s, nil
}

// openOn is Open on a disk, without the lock.
func openOn(d disk, dir string, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	s := &Store{
		cfg:      cfg,
		disk:     d,
		dir:      dir,
		blobs:    filepath.Join(dir, "blobs"),
		sessions: newSessions(cfg),
		entries:  map[string]entry{},
	}
	s.inbox = newInbox(cfg, d, filepath.Join(dir, "inbox"))
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("open blob store %s: %w", dir, err)
	}
	return s, nil
}

// Close ends all sessions and unfinished uploads and gives the directory back.
// Readers that Get has given stay good. Closing again does nothing.
func (s *Store) Close() error {
	s.change.Lock() // let a change that is under way end
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	s.change.Unlock()
	if was {
		return nil
	}
	s.sessions.close()
	s.inbox.close()
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

// Sweep ends sessions that have been idle too long and removes uploads that
// nobody has finished or adopted in time. Nimbus calls it at least every
// nimbus.cleanup.inbox.freq.secs with the time of the store's clock.
func (s *Store) Sweep(now time.Time) error {
	if n := s.sessions.sweep(now); n > 0 {
		s.cfg.Logger.Info("blob sessions ended for lack of calls", "sessions", n, "idle", s.cfg.SessionIdle)
	}
	return s.inbox.sweep(now)
}

// find is the entry of key.
func (s *Store) find(key string) (entry, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.findLocked(key)
}

// findLocked is find with mu held.
func (s *Store) findLocked(key string) (entry, error) {
	if s.closed {
		return entry{}, ErrClosed
	}
	e, ok := s.entries[key]
	if !ok {
		return entry{}, notFound(key)
	}
	return e, nil
}

func notFound(key string) error { return &KeyError{Key: key, Kind: ErrKeyNotFound} }
func exists(key string) error   { return &KeyError{Key: key, Kind: ErrKeyExists} }
