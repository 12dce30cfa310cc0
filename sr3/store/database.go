package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/iterator"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"
	"github.com/syndtr/goleveldb/leveldb/util"
)

// settings are those of goleveldb, see the package comment. A block is a record's
// part, since a part is larger than BlockSize; a cache of them would copy
// what the page cache has. Nothing is strict about tables and journals: what is
// damaged is left out, and the record that misses it is dropped by its checksum.
func (f *files) settings() *opt.Options {
	return &opt.Options{
		BlockSize:                    1,
		BlockRestartInterval:         1,
		Compression:                  opt.NoCompression,
		DisableBlockCache:            true,
		DisableLargeBatchTransaction: true, // a failed one keeps its lock for ever
		NoWriteMerge:                 true,
		WriteBuffer:                  f.writeBuffer,
		CompactionTableSize:          f.writeBuffer,
		CompactionTotalSize:          1 << 50, // level 1 holds everything
		IteratorSamplingRate:         1 << 40, // reading must not start compaction
		OpenFilesCacheCapacity:       256,
		Strict:                       opt.StrictJournalChecksum | opt.StrictBlockChecksum,
	}
}

// files are where the database is: a folder, or a storage that was handed in.
type files struct {
	dir  string
	log  *slog.Logger
	now  func() time.Time
	stor storage.Storage
	lent bool
	// openFile opens dir.
	openFile func(dir string, readOnly bool) (storage.Storage, error)
	// writeBuffer is goleveldb's.
	writeBuffer int
	// readOnly: the folder was opened so, since nothing can be written in it.
	readOnly bool
}

func (f *files) open(lent storage.Storage) error {
	if lent != nil {
		f.stor, f.lent = lent, true
		return nil
	}
	stor, err := f.openFile(f.dir, false)
	if err != nil && (noWrites(err) || noRoom(err)) {
		if ro, err2 := f.openFile(f.dir, true); err2 == nil {
			f.stor, f.readOnly = ro, true
			return nil
		}
		return explain(f.dir, err)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("another process has it open; stop that one, or choose another folder: %w", err)
	}
	f.stor, f.readOnly = stor, false
	return err
}

func (f *files) close() error {
	if f.stor == nil || f.lent {
		return nil
	}
	err := f.stor.Close()
	f.stor = nil
	return err
}

// database opens the database, if need be read-only, in which case trouble says
// why. If it is damaged it is recovered, if that fails moved aside.
func (f *files) database() (db *database, trouble, err error) {
	db, trouble, err = f.openOnce()
	if err == nil || !corrupted(err) {
		return db, trouble, err
	}
	f.log.Warn("store is damaged; recovering what can be read", "dir", f.dir, "err", err)
	ldb, err := leveldb.Recover(f.stor, f.settings())
	if err == nil {
		f.log.Warn("store is recovered; records that are missing parts will be dropped when they are read", "dir", f.dir)
		return &database{ldb: ldb}, nil, nil
	}
	if f.lent || !corrupted(err) {
		return nil, nil, explain(f.dir, err)
	}
	if err := f.moveAside(err); err != nil {
		return nil, nil, err
	}
	return f.openOnce()
}

func (f *files) openOnce() (db *database, trouble, err error) {
	if !f.readOnly {
		ldb, err := leveldb.Open(f.stor, f.settings())
		if err == nil {
			return &database{ldb: ldb}, nil, nil
		}
		if !noRoom(err) && !noWrites(err) {
			return nil, nil, err
		}
		trouble = err
	} else {
		trouble = syscall.EROFS
	}
	o := f.settings()
	o.ReadOnly = true
	ldb, err := leveldb.Open(f.stor, o)
	if err != nil {
		return nil, nil, errors.Join(explain(f.dir, trouble), err)
	}
	return &database{ldb: ldb}, trouble, nil
}

func (f *files) moveAside(cause error) error {
	if err := f.close(); err != nil {
		f.log.Warn("closing the damaged store", "dir", f.dir, "err", err)
	}
	aside := fmt.Sprintf("%s.damaged-%d", f.dir, f.now().Unix())
	for i := 1; ; i++ {
		if _, err := os.Lstat(aside); err != nil {
			break
		}
		aside = fmt.Sprintf("%s.damaged-%d-%d", f.dir, f.now().Unix(), i)
	}
	if err := os.Rename(f.dir, aside); err != nil {
		return fmt.Errorf("it is damaged (%w), and cannot be moved away: %w; move it yourself", cause, err)
	}
	f.log.Error("store is damaged beyond recovery; starting with an empty one", "dir", f.dir, "moved", aside, "err", cause)
	return f.open(nil)
}

// database is goleveldb's, opened.
type database struct {
	ldb *leveldb.DB
	// last is the highest number of a record, or of what is left of one.
	last uint64
}

func (d *database) close() error {
	if d == nil {
		return nil
	}
	return d.ldb.Close()
}

// mostUnreadable is how many heads in a row may be beyond reading before the whole
// disk is thought to be.
const mostUnreadable = 100

// load builds the index from the heads of all records. If repair is true,
// chunks without a head at the end, of a write that was cut off, are removed.
func (d *database) load(log *slog.Logger, repair bool) (*index, error) {
	x := newIndex()
	damaged, unreadable := 0, 0
	it := d.ldb.NewIterator(nil, nil)
	defer func() { it.Release() }()
	// Numbers mostly follow each other, and seeking a head does not read chunks.
	for next := uint64(1); ; next++ {
		h, number, err := seekHead(it, next)
		switch {
		case err == nil:
			x.add(&record{number: number, head: h})
			next, unreadable = number, 0
		case errors.Is(err, io.EOF):
			if damaged > 0 {
				log.Warn("heads of records are damaged; what they were is fetched again from other holders", "records", damaged)
			}
			return x, d.findEnd(it, x.last(), repair)
		case errors.Is(err, ErrDamaged):
			damaged++
			next = number
		case corrupted(err) && unreadable < mostUnreadable:
			damaged++
			unreadable++
			it.Release()
			it = d.ldb.NewIterator(nil, nil)
		default:
			return nil, fmt.Errorf("read the records' heads: %w", err)
		}
	}
}

// seekHead gives the first head from a number on, io.EOF if there is none. If the
// head is damaged it gives its number.
func seekHead(it iterator.Iterator, from uint64) (head, uint64, error) {
	for found := it.Seek(key(from, headPart)); found; {
		number, part, good := parseKey(it.Key())
		if !good {
			return head{}, 0, fmt.Errorf("a key %x that is none of ours: this is not a store, or one of a newer version", it.Key())
		}
		if part == headPart {
			h, err := decodeHead(it.Value())
			return h, number, err
		}
		found = it.Seek(key(number, headPart))
	}
	return head{}, 0, cmp.Or(it.Error(), io.EOF)
}

// findEnd finds the last number that is in use, whether it has a head or not.
func (d *database) findEnd(it iterator.Iterator, last uint64, repair bool) error {
	d.last = last
	if !it.Last() {
		return it.Error()
	}
	if number, _, ok := parseKey(it.Key()); ok && number > last {
		d.last = number
		if repair {
			return d.cutOff(last + 1)
		}
	}
	return nil
}

// cutOff removes the parts from a number on.
func (d *database) cutOff(number uint64) error {
	var b leveldb.Batch
	it := d.ldb.NewIterator(&util.Range{Start: key(number, 0)}, nil)
	defer it.Release()
	for it.Next() {
		b.Delete(it.Key())
	}
	if err := it.Error(); err != nil {
		return fmt.Errorf("read the end of the log: %w", err)
	}
	if err := d.ldb.Write(&b, &opt.WriteOptions{Sync: true}); err != nil {
		return fmt.Errorf("remove what is left of a write that was cut off: %w", err)
	}
	return nil
}
