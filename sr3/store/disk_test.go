package store

import (
	"bytes"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"

	"github.com/syndtr/goleveldb/leveldb/storage"
)

// disk is a storage in memory that knows what is synced and can be told to fail.
type disk struct {
	mu     sync.Mutex
	files  map[storage.FileDesc]*file
	meta   storage.FileDesc
	locked bool
	// room is how many bytes fit; fail, if not nil, fails what changes files.
	room int64
	used int64
	fail func(op string, fd storage.FileDesc) error
	// failRead fails reading.
	failRead error
	syncs    int
}

type file struct {
	data   []byte
	synced int
}

func newDisk() *disk { return &disk{files: make(map[storage.FileDesc]*file), room: 1 << 40} }

// crash gives the disk as it is after a power cut now: what was synced, and of
// the rest of each file some part, the last bytes of which may be garbage.
func (d *disk) crash(r *rand.Rand) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := newDisk()
	c.meta = d.meta
	for fd, f := range d.files {
		n := f.synced
		if rest := len(f.data) - n; rest > 0 {
			n += r.IntN(rest + 1)
		}
		data := bytes.Clone(f.data[:n])
		if n > f.synced && r.IntN(2) == 0 {
			data[n-1] ^= byte(1 + r.IntN(255))
		}
		c.files[fd] = &file{data, n}
		c.used += int64(n)
	}
	return c
}

// flip changes one bit of a file of that type; false if there is none.
func (d *disk) flip(r *rand.Rand, types storage.FileType) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	total := 0
	for fd, f := range d.files {
		if fd.Type&types != 0 {
			total += len(f.data)
		}
	}
	if total == 0 {
		return false
	}
	at := r.IntN(total)
	for fd, f := range maps.All(d.files) {
		if fd.Type&types == 0 {
			continue
		}
		if at < len(f.data) {
			f.data[at] ^= 1 << r.IntN(8)
			return true
		}
		at -= len(f.data)
	}
	return true
}

func (d *disk) set(room int64, fail func(op string, fd storage.FileDesc) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room, d.fail = room, fail
}

func (d *disk) refuse(op string, fd storage.FileDesc) error {
	if d.fail == nil {
		return nil
	}
	return d.fail(op, fd)
}

func (d *disk) Lock() (storage.Locker, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, storage.ErrLocked
	}
	d.locked = true
	return unlocker{d}, nil
}

type unlocker struct{ d *disk }

func (u unlocker) Unlock() {
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	u.d.locked = false
}

func (d *disk) Log(string)   {}
func (d *disk) Close() error { return nil }

func (d *disk) SetMeta(fd storage.FileDesc) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refuse("meta", fd); err != nil {
		return err
	}
	d.meta = fd
	return nil
}

func (d *disk) GetMeta() (storage.FileDesc, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[d.meta] == nil {
		return storage.FileDesc{}, os.ErrNotExist
	}
	return d.meta, nil
}

func (d *disk) List(ft storage.FileType) (fds []storage.FileDesc, _ error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for fd := range d.files {
		if fd.Type&ft != 0 {
			fds = append(fds, fd)
		}
	}
	return fds, nil
}

func (d *disk) Open(fd storage.FileDesc) (storage.Reader, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[fd]
	if f == nil {
		return nil, os.ErrNotExist
	}
	return &diskReader{Reader: bytes.NewReader(bytes.Clone(f.data)), d: d, fd: fd}, nil
}

func (d *disk) Create(fd storage.FileDesc) (storage.Writer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refuse("create", fd); err != nil {
		return nil, err
	}
	if old := d.files[fd]; old != nil {
		d.used -= int64(len(old.data))
	}
	f := &file{}
	d.files[fd] = f
	return &diskWriter{d, fd, f}, nil
}

func (d *disk) Remove(fd storage.FileDesc) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[fd]
	if f == nil {
		return os.ErrNotExist
	}
	d.used -= int64(len(f.data))
	delete(d.files, fd)
	return nil
}

func (d *disk) Rename(from, to storage.FileDesc) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refuse("rename", to); err != nil {
		return err
	}
	if old := d.files[to]; old != nil {
		d.used -= int64(len(old.data))
	}
	d.files[to] = d.files[from]
	delete(d.files, from)
	return nil
}

type diskReader struct {
	*bytes.Reader
	d  *disk
	fd storage.FileDesc
}

func (r *diskReader) ReadAt(b []byte, at int64) (int, error) {
	r.d.mu.Lock()
	err := r.d.failRead
	f := r.d.files[r.fd]
	var n int
	if err == nil && f != nil && at <= int64(len(f.data)) { // as it is now, bit flips included
		if n = copy(b, f.data[at:]); n < len(b) {
			err = io.EOF
		}
		r.d.mu.Unlock()
		return n, err
	}
	r.d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return r.Reader.ReadAt(b, at)
}

func (r *diskReader) Close() error { return nil }

type diskWriter struct {
	d  *disk
	fd storage.FileDesc
	f  *file
}

func (w *diskWriter) Write(b []byte) (int, error) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	if err := w.d.refuse("write", w.fd); err != nil {
		return 0, err
	}
	n := min(len(b), int(max(0, w.d.room-w.d.used)))
	w.f.data = append(w.f.data, b[:n]...)
	w.d.used += int64(n)
	if n < len(b) {
		return n, &os.PathError{Op: "write", Path: w.fd.String(), Err: syscall.ENOSPC}
	}
	return n, nil
}

func (w *diskWriter) Sync() error {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	if err := w.d.refuse("sync", w.fd); err != nil {
		return err
	}
	w.d.syncs++
	w.f.synced = len(w.f.data)
	return nil
}

func (w *diskWriter) Close() error { return nil }
