package store

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/syndtr/goleveldb/leveldb/storage"
)

// fileSystem is one that can become full, and read-only.
type fileSystem interface {
	dir() string
	// open is that of Options.
	open(dir string, readOnly bool) (storage.Storage, error)
	setFull(full bool)
	setReadOnly(readOnly bool)
}

// TestFullFileSystem: a file system that is full, and one that is read-only: a folder
// whose writes are counted, and a real one where one can be had.
func TestFullFileSystem(t *testing.T) {
	t.Run("counted", func(t *testing.T) { testFull(t, &partition{at: t.TempDir(), room: 24 << 20}) })
	const child = "STORMRING_TEST_OWN_NAMESPACE"
	t.Run("tmpfs", func(t *testing.T) {
		m := &mounted{t: t, at: t.TempDir()}
		if err := m.mount(0); err == nil {
			defer func() { ok(t, syscall.Unmount(m.at, 0)) }()
			testFull(t, m)
			return
		} else if os.Getenv(child) != "" {
			t.Fatal(err)
		}
		// Whoever may not mount may where nobody else sees it.
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullFileSystem$/^tmpfs$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		if _, ran := errors.AsType[*exec.ExitError](err); ran {
			t.Errorf("%v\n%s", err, out)
		} else if err != nil {
			t.Logf("this machine mounts nothing for us, not even in a namespace (%v): the counted folder has to do", err)
		}
	})
}

func testFull(t *testing.T, f fileSystem) {
	cl := &clock{time.Unix(1000, 0)}
	dir := filepath.Join(f.dir(), "store")
	o := Options{Dir: dir, Now: cl.now, openFile: f.open}
	s := open(t, o)
	ctx := t.Context()
	a, gone, b := base(t, 0, 1, 1<<20), base(t, 3, 1, 1<<20), base(t, 1, 1, 1<<20)
	ok(t, s.Put(ctx, a, gone))
	awaitFile(t, filepath.Join(dir, strconv.Itoa(firstPiece+1)+".tmp"), 4<<20) // the last of two
	f.setFull(true)
	is(t, s.Put(ctx, b), ErrFull, dir, "no space left", "free space")
	get(t, s, a)
	if s.Usage().Full == "" {
		t.Error("usage does not say that the disk is full")
	}
	ok(t, s.Delete(ctx, gone.Ref)) // on the reserve
	if s.Has(gone.Ref) {
		t.Error("what was deleted is here")
	}
	is(t, s.Put(ctx, base(t, 1, 2, 12<<20)), ErrFull) // that is not what the reserve is for
	f.setFull(true)                                   // what was given up is taken by others
	ok(t, s.Close())
	s = open(t, o) // on a full disk
	get(t, s, a)
	is(t, s.Put(ctx, b), ErrFull)
	f.setFull(false)
	cl.t = cl.t.Add(time.Minute)
	ok(t, s.Put(ctx, b))
	get(t, s, b)
	if s.Has(gone.Ref) {
		t.Error("what was deleted is back")
	}
	ok(t, s.Close())

	f.setReadOnly(true)
	s = open(t, o)
	get(t, s, a)
	get(t, s, b)
	c := base(t, 2, 1, 1000)
	is(t, s.Put(ctx, c), ErrFull, "read-only")
	is(t, s.Delete(ctx, a.Ref), ErrFull, "read-only")
	if s.Usage().Readonly == "" {
		t.Error("usage does not say that the disk is read-only")
	}
	f.setReadOnly(false)
	cl.t = cl.t.Add(time.Minute)
	ok(t, s.Put(ctx, c))
	get(t, s, c)
	ok(t, s.Close())
}

// awaitFile waits until a file is there, with so many bytes.
func awaitFile(t *testing.T, path string, bytes int64) {
	t.Helper()
	limit, tick := time.NewTimer(10*time.Second), time.NewTicker(time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for {
		if info, err := os.Stat(path); err == nil && info.Size() == bytes {
			return
		}
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("there is no %s", path)
		}
	}
}

// mounted is a tmpfs.
type mounted struct {
	t  *testing.T
	at string
}

func (m *mounted) dir() string { return m.at }

func (m *mounted) mount(flags uintptr) error {
	return syscall.Mount("tmpfs", m.at, "tmpfs", flags, "size=24m")
}

func (m *mounted) open(dir string, readOnly bool) (storage.Storage, error) {
	return storage.OpenFile(dir, readOnly)
}

func (m *mounted) setFull(full bool) {
	ballast := filepath.Join(m.at, "ballast"+strconv.FormatInt(time.Now().UnixNano(), 36))
	if full {
		if err := os.WriteFile(ballast, make([]byte, 64<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			m.t.Fatalf("the disk did not become full: %v", err)
		}
		return
	}
	all, err := filepath.Glob(filepath.Join(m.at, "ballast*"))
	ok(m.t, err)
	for _, name := range all {
		ok(m.t, os.Remove(name))
	}
}

func (m *mounted) setReadOnly(readOnly bool) {
	flags := uintptr(syscall.MS_REMOUNT)
	if readOnly {
		flags |= syscall.MS_RDONLY
	}
	ok(m.t, m.mount(flags))
}

// partition is a folder that lets only so many bytes in.
type partition struct {
	at string

	mu       sync.Mutex
	room     int64
	ballast  int64
	readOnly bool
}

func (p *partition) dir() string { return p.at }

func (p *partition) open(dir string, readOnly bool) (storage.Storage, error) {
	if err := p.writable("open", dir); err != nil && !readOnly {
		return nil, err
	}
	s, err := storage.OpenFile(dir, readOnly)
	if err != nil {
		return nil, err
	}
	return counted{s, p}, nil
}

func (p *partition) used() (sum int64) {
	_ = filepath.WalkDir(p.at, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it has just gone
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

func (p *partition) setFull(full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ballast = 0
	if full {
		p.ballast = p.room - p.used()
	}
}

func (p *partition) setReadOnly(readOnly bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readOnly = readOnly
}

func (p *partition) writable(op, path string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readOnly {
		return &os.PathError{Op: op, Path: path, Err: syscall.EROFS}
	}
	return nil
}

// counted is the storage of a folder in a partition.
type counted struct {
	storage.Storage
	p *partition
}

func (c counted) Create(fd storage.FileDesc) (storage.Writer, error) {
	if err := c.p.writable("create", fd.String()); err != nil {
		return nil, err
	}
	w, err := c.Storage.Create(fd)
	return countedWriter{w, c.p}, err
}

func (c counted) SetMeta(fd storage.FileDesc) error {
	if err := c.p.writable("write", "CURRENT"); err != nil {
		return err
	}
	return c.Storage.SetMeta(fd)
}

func (c counted) Remove(fd storage.FileDesc) error {
	if err := c.p.writable("remove", fd.String()); err != nil {
		return err
	}
	return c.Storage.Remove(fd)
}

func (c counted) Rename(from, to storage.FileDesc) error {
	if err := c.p.writable("rename", from.String()); err != nil {
		return err
	}
	return c.Storage.Rename(from, to)
}

type countedWriter struct {
	storage.Writer
	p *partition
}

func (w countedWriter) Write(b []byte) (int, error) {
	if err := w.p.writable("write", "a file"); err != nil {
		return 0, err
	}
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	free := max(0, w.p.room-w.p.ballast-w.p.used())
	n, err := w.Writer.Write(b[:min(len(b), int(free))])
	if err == nil && n < len(b) {
		err = &os.PathError{Op: "write", Path: "a file", Err: syscall.ENOSPC}
	}
	return n, err
}
