package blobstore

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"sync"
	"time"
)

var (
	errCrash  = errors.New("the computer is off")
	errBroken = errors.New("the disk has failed")
)

// memDisk is a disk in memory that can fail at a step and lose power. What is
// durable is only what was synced: the bytes of a file and the names of a
// directory, each by itself.
type memDisk struct {
	mu    sync.Mutex
	dirs  map[string]*memDir
	steps int
	// failAt is the step that fails, 0 for none; power off with it, unless once.
	failAt int
	once   bool
	off    bool
	now    time.Time // stamps files
	open   int
	nolink bool
}

type memDir struct{ now, durable map[string]*inode }

type inode struct {
	data, durable []byte
	modified      time.Time
}

func newMemDisk() *memDisk { return &memDisk{dirs: map[string]*memDir{}} }

// step counts a change and tells whether it fails; mu is held.
func (d *memDisk) step() error {
	if d.off {
		return errCrash
	}
	d.steps++
	if d.steps != d.failAt {
		return nil
	}
	if d.once {
		return errBroken
	}
	d.off = true
	return errCrash
}

// arm has the nth step from now fail.
func (d *memDisk) arm(n int, once bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failAt, d.once = d.steps+n, once
}

func (d *memDisk) disarm() (failed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	failed = d.failAt > 0 && d.steps >= d.failAt
	d.failAt = 0
	return failed
}

// crash is what is found when the power comes back: of what was not synced,
// anything.
func (d *memDisk) crash(rng *rand.Rand) *memDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := newMemDisk()
	inodes := map[*inode]*inode{}
	survivor := func(n *inode) *inode {
		if inodes[n] == nil {
			data := bytes.Clone(n.durable)
			if rng.IntN(2) == 0 && len(n.data) > 0 {
				data = bytes.Clone(n.data[:rng.IntN(len(n.data)+1)])
				if rng.IntN(4) == 0 {
					clear(data[min(len(n.durable), len(data)):])
				}
				if len(data) < len(n.durable) {
					data = bytes.Clone(n.durable)
				}
			}
			inodes[n] = &inode{data: data, durable: bytes.Clone(data), modified: n.modified}
		}
		return inodes[n]
	}
	for name, dir := range d.dirs {
		names := map[string]*inode{}
		for f := range dir.now {
			names[f] = nil
		}
		for f := range dir.durable {
			names[f] = nil
		}
		for f := range names {
			n := dir.durable[f]
			if rng.IntN(2) == 0 {
				n = dir.now[f]
			}
			if n == nil {
				delete(names, f)
			} else {
				names[f] = survivor(n)
			}
		}
		after.dirs[name] = &memDir{now: names, durable: maps.Clone(names)}
	}
	return after
}

func (d *memDisk) at(name string) (*memDir, string, error) {
	dir := d.dirs[path.Dir(name)]
	if dir == nil {
		return nil, "", fs.ErrNotExist
	}
	return dir, path.Base(name), nil
}

func (d *memDisk) Create(name string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return nil, err
	}
	dir, base, err := d.at(name)
	if err != nil {
		return nil, err
	}
	if dir.now[base] != nil {
		return nil, fs.ErrExist
	}
	n := &inode{modified: d.now}
	dir.now[base] = n
	d.open++
	return &memFile{disk: d, n: n}, nil
}

func (d *memDisk) Open(name string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return nil, errCrash
	}
	dir, base, err := d.at(name)
	if err != nil {
		return nil, err
	}
	if dir.now[base] == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	d.open++
	return &memFile{disk: d, n: dir.now[base]}, nil
}

func (d *memDisk) ReadDir(name string) ([]info, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return nil, errCrash
	}
	var all []info
	for f, n := range d.dirs[name].now {
		all = append(all, info{f, int64(len(n.data)), n.modified})
	}
	return all, nil
}

func (d *memDisk) MkdirAll(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return errCrash
	}
	if d.dirs[name] == nil {
		d.dirs[name] = &memDir{now: map[string]*inode{}, durable: map[string]*inode{}}
	}
	return nil
}

func (d *memDisk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	if err := d.link(from, to); err != nil {
		return err
	}
	dir, base, err := d.at(from)
	if err != nil {
		return err
	}
	delete(dir.now, base)
	return nil
}

func (d *memDisk) Link(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	if d.nolink {
		return errors.ErrUnsupported
	}
	if dir, base, err := d.at(to); err != nil || dir.now[base] != nil {
		return errors.Join(fs.ErrExist, err)
	}
	return d.link(from, to)
}

func (d *memDisk) link(from, to string) error {
	src, fromBase, err := d.at(from)
	if err != nil {
		return err
	}
	if src.now[fromBase] == nil {
		return fs.ErrNotExist
	}
	dst, toBase, err := d.at(to)
	if err != nil {
		return err
	}
	dst.now[toBase] = src.now[fromBase]
	return nil
}

func (d *memDisk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	dir, base, err := d.at(name)
	if err != nil {
		return err
	}
	if dir.now[base] == nil {
		return fs.ErrNotExist
	}
	delete(dir.now, base)
	return nil
}

func (d *memDisk) SyncDir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	if dir := d.dirs[name]; dir != nil {
		dir.durable = maps.Clone(dir.now)
	}
	return nil
}

// names is the files in a directory.
func (d *memDisk) names(dir string) map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string]bool{}
	for name := range d.dirs[dir].now {
		all[name] = true
	}
	return all
}

// openFiles is how many files are open.
func (d *memDisk) openFiles() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open
}

type memFile struct {
	disk *memDisk
	n    *inode
	at   int
}

func (f *memFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, int64(f.at))
	f.at += n
	if n > 0 {
		err = nil
	}
	return n, err
}

func (f *memFile) ReadAt(p []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.off {
		return 0, errCrash
	}
	return bytes.NewReader(f.n.data).ReadAt(p, at)
}

func (f *memFile) Write(p []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.step(); err != nil {
		f.n.data = append(f.n.data, p[:len(p)/2]...)
		return len(p) / 2, err
	}
	f.n.data = append(f.n.data, p...)
	return len(p), nil
}

func (f *memFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.step(); err != nil {
		return err
	}
	f.n.durable = bytes.Clone(f.n.data)
	return nil
}

func (f *memFile) Size() (int64, error) { return int64(len(f.n.data)), nil }

func (f *memFile) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.open--
	return nil
}

var _ io.ReaderAt = (*memFile)(nil)
