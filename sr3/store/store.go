package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/stormring/stormring/sr3/shard"
)

// MaxObject is the largest object that a store takes, in stored bytes.
const MaxObject = 1 << 30

// Options are those of a store.
type Options struct {
	// Dir is the database's folder, which is made if it is not there.
	Dir string
	// Log gets what an operator should know; nil is none.
	Log *slog.Logger
	// Now is the clock, nil the real one. It only spaces attempts and names
	// folders; a clock that jumps does no harm.
	Now func() time.Time
	// OnDamage is told of each object that Get or Scrub found damaged and
	// dropped. It must not block, and is called without a lock held; may be nil.
	OnDamage func(shard.Ref)
	// Storage takes the place of Dir's files in tests, and for a store in memory.
	// The store does not close it.
	Storage storage.Storage

	// tuning has the sizes; tests make them small. openFile takes the place of
	// goleveldb's, which opens a folder.
	tuning   tuning
	openFile func(dir string, readOnly bool) (storage.Storage, error)
}

// Store keeps objects, manifests and fences. All methods may be called by many
// goroutines at once.
type Store struct {
	o     Options
	files files
	// queue leads to the committer, wake tells it of loose records.
	queue   chan *request
	wake    chan struct{}
	closing chan struct{}
	done    chan struct{}
	close   func() error

	// dbMu is held by readers while they read and by the committer while it
	// changes db.
	dbMu sync.RWMutex
	db   *database

	// mu guards what follows; only the committer takes anything into the index.
	mu    sync.RWMutex
	index *index
	holds map[shard.ObjectID]*hold
	// loose are numbers of records that are to be deleted: hidden, but not
	// durably so.
	loose   map[uint64]bool
	trouble error

	w committer
}

// Open opens the store, or makes it. A damaged database is recovered as far as
// it can be; if it cannot, its folder is renamed to <dir>.damaged-<unix seconds>
// and the store starts empty: other holders have what was in it. Both are logged.
// A disk that is full or read-only is no hindrance if there is a database:
// reading works, and writing as soon as it can.
func Open(o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.tuning == (tuning{}) {
		o.tuning = tuning{writeBuffer: 16 << 20, leastDead: 128 << 20, mostRecords: 1 << 16, stretch: 64 << 20}
		if o.Storage == nil {
			o.tuning.pieces = mostPieces
		}
	}
	s := &Store{
		o:       o,
		queue:   make(chan *request, queueLength),
		wake:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
		holds:   make(map[shard.ObjectID]*hold),
		loose:   make(map[uint64]bool),
		index:   newIndex(),
	}
	s.files = files{dir: o.Dir, log: o.Log, now: o.Now, writeBuffer: o.tuning.writeBuffer, openFile: o.openFile}
	if s.files.openFile == nil {
		s.files.openFile = storage.OpenFile
	}
	if err := s.files.open(o.Storage); err != nil {
		return nil, fmt.Errorf("open store %s: %w", s.where(), err)
	}
	if err := s.start(); err != nil {
		s.files.close()
		return nil, fmt.Errorf("open store %s: %w", s.where(), err)
	}
	s.close = sync.OnceValue(s.stop)
	go s.commitAll()
	return s, nil
}

// start opens the database and builds the index.
func (s *Store) start() error {
	db, trouble, err := s.files.database()
	if err != nil {
		return err
	}
	x, err := db.load(s.o.Log, trouble == nil)
	if err != nil {
		db.close()
		return err
	}
	s.db, s.index, s.w.next = db, x, db.last+1
	s.countPieces()
	if trouble != nil {
		s.setTrouble(trouble)
	}
	return nil
}

// Close ends the committer after the batch that it is at, and closes the
// database. Writes that wait fail with ErrClosed.
func (s *Store) Close() error { return s.close() }

func (s *Store) stop() error {
	close(s.closing)
	<-s.done
	s.dbMu.Lock()
	defer s.dbMu.Unlock()
	err := s.db.close()
	s.db = nil
	if err2 := s.files.close(); err == nil {
		err = err2
	}
	if err != nil && s.trouble == nil {
		return fmt.Errorf("close store %s: %w", s.where(), err)
	}
	return nil
}

func (s *Store) where() string {
	if s.o.Storage != nil && s.o.Dir == "" {
		return "in memory"
	}
	return s.o.Dir
}

// Fenced is the epoch of the owner's fence, 0 if there is none.
func (s *Store) Fenced(o shard.Owner) shard.Epoch {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.fenced(o)
}

// Owners are those of which anything is here, a fence included, in order.
func (s *Store) Owners() []shard.Owner {
	s.mu.RLock()
	owners := make([]shard.Owner, 0, len(s.index.owners))
	for o := range s.index.owners {
		owners = append(owners, o)
	}
	s.mu.RUnlock()
	slices.SortFunc(owners, func(a, b shard.Owner) int {
		return cmp.Or(cmp.Compare(a.Topology, b.Topology), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Task, b.Task))
	})
	return owners
}

// Versions are those of the owner's manifests here, ascending.
func (s *Store) Versions(o shard.Owner) []shard.Version {
	s.mu.RLock()
	defer s.mu.RUnlock()
	have := s.index.owners[o]
	if have == nil {
		return nil
	}
	versions := make([]shard.Version, 0, len(have.manifests))
	for v := range have.manifests {
		versions = append(versions, v)
	}
	slices.Sort(versions)
	return versions
}

// Objects are refs to the owner's objects here, without holders, by slots,
// version, epoch and kind.
func (s *Store) Objects(o shard.Owner) []shard.Ref {
	s.mu.RLock()
	var refs []shard.Ref
	if have := s.index.owners[o]; have != nil {
		for _, r := range have.objects {
			if !s.doomed(r) {
				refs = append(refs, r.ref())
			}
		}
	}
	s.mu.RUnlock()
	slices.SortFunc(refs, func(a, b shard.Ref) int {
		return cmp.Or(cmp.Compare(a.Range.First, b.Range.First), cmp.Compare(a.Range.Slots, b.Range.Slots),
			cmp.Compare(a.Version, b.Version), cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Kind, b.Kind))
	})
	return refs
}

// Has tells whether the object, with this checksum, is here.
func (s *Store) Has(ref shard.Ref) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.find(ref)
	return r != nil && !s.doomed(r)
}

// find gives the record of an object with the checksum of ref, or nil.
func (s *Store) find(ref shard.Ref) *record {
	r := s.index.object(ref.ObjectID)
	if r == nil || r.sum != ref.Checksum || r.stored != ref.Stored {
		return nil
	}
	return r
}

// Usage is how much is here.
type Usage struct {
	Owners, Objects, Manifests int
	// Bytes are the stored bytes of objects and manifests, DiskBytes those of
	// the files, or an estimate without files.
	Bytes, DiskBytes int64
	// Full says why there is no room, Readonly why nothing can be written for any
	// other reason; both are empty while writing works.
	Full, Readonly string
}

// Usage looks at the index, and at the sizes of the files.
func (s *Store) Usage() Usage {
	s.mu.RLock()
	u := Usage{
		Owners: len(s.index.owners), Objects: s.index.objects, Manifests: s.index.manifests,
		Bytes: s.index.stored, DiskBytes: s.index.live + s.index.dead,
	}
	trouble := s.trouble
	s.mu.RUnlock()
	if s.o.Storage == nil {
		if n, err := folderBytes(s.o.Dir); err == nil {
			u.DiskBytes = n
		}
	}
	switch {
	case trouble == nil:
	case noRoom(trouble):
		u.Full = explain(s.where(), trouble).Error()
	default:
		u.Readonly = explain(s.where(), trouble).Error()
	}
	return u
}

// folderBytes is the size of what is in a folder, without the reserve.
func folderBytes(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil // compaction took it away meanwhile
		}
		if err == nil && info.Mode().IsRegular() && filepath.Ext(info.Name()) != ".tmp" {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
