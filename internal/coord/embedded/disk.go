package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stormring/stormring/internal/coord/embedded/tree"
)

// Names of the files in the folder of a store. The snapshot is all znodes; its
// first record has their number and that of the last change, 64 bits each. The
// log is the changes since; after a crash between the writing of the two it may
// begin before.
const (
	snapshotName = "snapshot"
	logName      = "log"
	lockName     = "lock"
	snapshotHead = 16
)

// compactBytes is how long the log grows before a new snapshot takes its place,
// unless the snapshot is longer yet. Not measured: it is read in about 0.1 s.
const compactBytes = 16 << 20

// disk keeps a tree in a folder.
type disk struct {
	dir          string
	lock         *os.File // held while the store is open
	log          *os.File
	logBytes     int64
	compactAfter int64
	buf, record  []byte // reused
}

// load reads the store of a folder, which it makes if there is none, and ends
// the sessions that were.
func load(dir string, maxDataBytes int, now time.Time) (*tree.Tree, *disk, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	lock, err := lockDir(filepath.Join(dir, lockName))
	if err != nil {
		return nil, nil, err
	}
	d := &disk{dir: dir, lock: lock}
	t := tree.New(maxDataBytes)
	for _, part := range []struct {
		name string
		load func(*tree.Tree, []byte) error
	}{{snapshotName, loadSnapshot}, {logName, loadLog}} {
		file, err := d.readFile(part.name)
		if err == nil && file != nil {
			err = part.load(t, file)
		}
		if err != nil {
			d.lock.Close()
			return nil, nil, fmt.Errorf("read %s: %w", filepath.Join(dir, part.name), err)
		}
	}
	t.Bury(now)
	t.Drain() // the new snapshot has it
	if err := d.compact(t); err != nil {
		d.lock.Close()
		return nil, nil, err
	}
	return t, d, nil
}

// readFile is a file's content; nil if there is none.
func (d *disk) readFile(name string) ([]byte, error) {
	file, err := os.ReadFile(filepath.Join(d.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return file, err
}

// loadSnapshot puts a snapshot into a new tree.
func loadSnapshot(t *tree.Tree, file []byte) error {
	count, want, zxid := uint64(0), uint64(0), int64(0)
	whole, err := readFrames(file, func(payload []byte) error {
		if count++; count == 1 {
			if len(payload) != snapshotHead {
				return errCorrupt
			}
			want = 1 + binary.LittleEndian.Uint64(payload)
			zxid = int64(binary.LittleEndian.Uint64(payload[8:]))
			return nil
		}
		z, err := tree.DecodeZnode(payload)
		if err != nil {
			return err
		}
		return t.Restore(z)
	})
	if err != nil {
		return err
	}
	if count == 0 || count != want || whole != len(file) {
		return fmt.Errorf("%w: it has %d records, want %d", errCorrupt, count, want)
	}
	t.RestoreZxid(zxid)
	return nil
}

// loadLog repeats the changes of a log in a tree. A torn end is left out: it
// was never confirmed to anyone.
func loadLog(t *tree.Tree, file []byte) error {
	_, err := readFrames(file, func(payload []byte) error {
		txn, err := tree.DecodeTxn(payload)
		if err != nil {
			return err
		}
		return t.Replay(txn)
	})
	return err
}

// append makes changes durable. After an error the log's end is unknown and
// the disk must not be used any more.
func (d *disk) append(t *tree.Tree, txns []tree.Txn) error {
	d.buf = d.buf[:0]
	for _, txn := range txns {
		if len(txn.Changes) > 0 { // else it is of a session, which does not last
			d.record = tree.AppendTxn(d.record[:0], txn)
			d.buf = appendFrame(d.buf, d.record)
		}
	}
	if len(d.buf) == 0 {
		return nil
	}
	if _, err := d.log.Write(d.buf); err != nil {
		return err
	}
	if err := d.log.Sync(); err != nil {
		return err
	}
	if d.logBytes += int64(len(d.buf)); d.logBytes > d.compactAfter {
		return d.compact(t)
	}
	return nil
}

// compact writes a snapshot and starts the log anew.
func (d *disk) compact(t *tree.Tree) error {
	head := binary.LittleEndian.AppendUint64(nil, uint64(t.Len()))
	head = binary.LittleEndian.AppendUint64(head, uint64(t.Zxid()))
	b := appendFrame([]byte(magic), head)
	err := t.Snapshot(func(z tree.Znode) error {
		d.record = tree.AppendZnode(d.record[:0], z)
		b = appendFrame(b, d.record)
		return nil
	})
	if err != nil {
		return err
	}
	f, err := d.replace(snapshotName, b)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if f, err = d.replace(logName, []byte(magic)); err != nil {
		return err
	}
	if d.log != nil {
		d.log.Close()
	}
	d.log, d.logBytes, d.compactAfter = f, 0, max(compactBytes, int64(len(b)))
	return nil
}

// replace puts a file with the given content in the place of another, at once,
// and returns it open at its end.
func (d *disk) replace(name string, content []byte) (*os.File, error) {
	name = filepath.Join(d.dir, name)
	f, err := os.OpenFile(name+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err == nil {
		err = syncDir(d.dir)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func (d *disk) close() error {
	return errors.Join(d.log.Close(), d.lock.Close())
}
