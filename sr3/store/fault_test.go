package store

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/stormring/stormring/sr3/shard"
)

// A power cut at any moment: what was acknowledged is there, what was deleted is
// not, and nothing else than what was given.
func TestCrash(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := newDisk()
		s := open(t, Options{Storage: d, tuning: tuning{writeBuffer: 1 << 20, leastDead: 1 << 20, mostRecords: 50, stretch: 512 << 10}})
		l := ledger{given: make(map[shard.ObjectID]Item), must: make(map[shard.ObjectID]bool), gone: make(map[shard.ObjectID]bool)}
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for c := range 3 {
			wg.Go(func() {
				for v := range shard.Version(40) {
					select {
					case <-stop:
						return
					default:
						l.write(t, s, base(t, c, v+1, []int{100, 300 << 10, 100, 1 << 20}[int(v)%4]), v%5 == 0)
					}
				}
			})
		}
		for range 3 {
			<-time.After(time.Duration(r.IntN(20)) * time.Millisecond)
			l.crash(t, d, r)
		}
		close(stop)
		wg.Wait()
		ok(t, s.Close())
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// ledger knows what was given to a store, and what must be there or not.
type ledger struct {
	mu         sync.Mutex
	given      map[shard.ObjectID]Item
	must, gone map[shard.ObjectID]bool
}

func (l *ledger) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (l *ledger) write(t *testing.T, s *Store, it Item, keep bool) {
	id := it.Ref.ObjectID
	l.set(func() { l.given[id] = it })
	if err := s.Put(context.Background(), it); err != nil {
		t.Error(err)
	}
	if keep {
		l.set(func() { l.must[id] = true })
		return
	}
	if err := s.Delete(context.Background(), it.Ref); err != nil {
		t.Error(err)
	}
	l.set(func() { l.gone[id] = true })
}

// crash looks at what a power cut now would leave.
func (l *ledger) crash(t *testing.T, d *disk, r *rand.Rand) {
	l.mu.Lock()
	must, gone, c := maps.Clone(l.must), maps.Clone(l.gone), d.crash(r)
	given := maps.Clone(l.given)
	l.mu.Unlock()
	s := open(t, Options{Storage: c})
	for id := range must {
		get(t, s, given[id])
	}
	for _, ref := range s.Objects(testOwner) {
		if gone[ref.ObjectID] {
			t.Errorf("%v is back", ref.ObjectID)
		}
		get(t, s, given[ref.ObjectID])
	}
	ok(t, s.Put(context.Background(), base(t, 9, 9, 1<<20)))
	get(t, s, base(t, 9, 9, 1<<20))
	ok(t, s.Close())
}

// Whatever fails, for whatever reason: the error says why, reading goes on, and
// writing resumes once the reason is gone.
func TestTrouble(t *testing.T) {
	fails := func(err error, ops ...string) func(string, storage.FileDesc) error {
		return func(op string, _ storage.FileDesc) error {
			if slices.Contains(ops, op) {
				return &os.PathError{Op: op, Path: "x", Err: err}
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		room int64
		fail func(string, storage.FileDesc) error
		want error
		says string
	}{
		"full":            {room: 1, want: ErrFull, says: "free space"},
		"full soon":       {room: 600 << 10, want: ErrFull, says: "no space left"},
		"quota":           {fail: fails(syscall.EDQUOT, "write"), want: ErrFull, says: "quota"},
		"read-only":       {fail: fails(syscall.EROFS, "write", "create", "meta", "sync"), want: ErrFull, says: "make that directory writable"},
		"no permission":   {fail: fails(syscall.EACCES, "create"), want: nil},
		"sync fails":      {fail: fails(syscall.EIO, "sync"), want: syscall.EIO, says: "check that disk"},
		"write fails":     {fail: fails(syscall.EIO, "write"), want: syscall.EIO, says: "check that disk"},
		"manifest fails":  {fail: fails(syscall.EIO, "meta"), want: nil},
		"full at syncing": {fail: fails(syscall.ENOSPC, "sync"), want: ErrFull, says: "no room"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk()
			cl := &clock{time.Unix(1000, 0)}
			s := open(t, Options{Storage: d, Now: cl.now, tuning: tuning{writeBuffer: 1 << 20, leastDead: 1 << 20, mostRecords: 50, stretch: 1 << 20}})
			ctx := t.Context()
			a := base(t, 0, 1, 300<<10)
			ok(t, s.Put(ctx, a))
			room := int64(1 << 40)
			if c.room > 0 {
				room = d.used + c.room
			}
			d.set(room, c.fail)
			var lost []Item
			for v := range shard.Version(6) {
				it := base(t, 1, v, 200<<10)
				if err := s.Put(ctx, it); err != nil {
					if c.want != nil {
						is(t, err, c.want, c.says, "in memory")
					}
					lost = append(lost, it)
				} else {
					get(t, s, it)
				}
				get(t, s, a)
			}
			if c.want != nil && len(lost) == 0 {
				t.Fatal("no write failed")
			}
			if u := s.Usage(); len(lost) > 0 && u.Full+u.Readonly == "" {
				t.Errorf("usage does not tell: %+v", u)
			}
			if c.want != nil {
				ok(t, s.Put(ctx, a)) // which is here
			}
			d.set(1<<40, nil)
			cl.t = cl.t.Add(2 * retryAfter)
			for _, it := range lost {
				ok(t, s.Put(ctx, it))
			}
			if u := s.Usage(); u.Full+u.Readonly != "" {
				t.Errorf("still in trouble: %+v", u)
			}
			ok(t, s.Close())
			s = open(t, Options{Storage: d})
			for _, it := range append(lost, a) {
				get(t, s, it)
			}
		})
	}
}

// Without a write a store in trouble looks by itself whether it is over.
func TestHealsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		s, err := Open(Options{Storage: d})
		ok(t, err)
		d.set(d.used, nil)
		is(t, s.Put(t.Context(), base(t, 0, 1, 1000)), ErrFull)
		d.set(1<<40, nil)
		<-time.After(retryAfter)
		synctest.Wait()
		if u := s.Usage(); u.Full != "" {
			t.Errorf("still in trouble: %+v", u)
		}
		ok(t, s.Close())
		<-time.After(2 * time.Second) // goleveldb needs one to let go
	})
}

// A bit that flips anywhere in the tables: what comes back is right or missing.
func TestBitFlips(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 2))
		d := newDisk()
		s := open(t, Options{Storage: d})
		var items []Item
		for i := range 8 {
			items = append(items, base(t, i, 1, []int{100, 40 << 10, 600 << 10}[i%3]))
		}
		ok(t, s.Put(t.Context(), items...))
		ok(t, s.PutManifest(t.Context(), manifest(1, 1, refsOf(items[:3]...)...)))
		ok(t, s.Close())
		s = open(t, Options{Storage: d}) // now it is in tables
		ok(t, s.Close())
		for range 1 + r.IntN(5) {
			d.flip(r, storage.TypeTable|storage.TypeManifest)
		}
		var told []shard.Ref
		s = open(t, Options{Storage: d, OnDamage: func(ref shard.Ref) { told = append(told, ref) }})
		var scrubbed []shard.Ref
		ok(t, s.Scrub(t.Context(), 0, func(ref shard.Ref) { scrubbed = append(scrubbed, ref) }))
		if !sameRefs(told, scrubbed) {
			t.Errorf("OnDamage was told %v, damaged %v", told, scrubbed)
		}
		for _, it := range items {
			b, err := s.Get(t.Context(), it.Ref)
			if err == nil && !bytes.Equal(b, it.Stored) {
				t.Errorf("seed %d: wrong bytes", seed)
			}
			if err != nil {
				is(t, err, ErrNotFound) // since Scrub dropped it
			}
			ok(t, s.Put(t.Context(), it))
			get(t, s, it)
		}
		ok(t, s.Close())
	}
}

// Damage that is found by reading drops the object, for good.
func TestGetDropsWhatIsDamaged(t *testing.T) {
	d := newDisk()
	s := open(t, Options{Storage: d})
	a, b := base(t, 0, 1, 300<<10), base(t, 1, 1, 1000)
	ok(t, s.Put(t.Context(), a, b))
	ok(t, s.PutManifest(t.Context(), manifest(1, 1, a.Ref)))
	ok(t, s.Close())
	var told []shard.Ref
	s = open(t, Options{Storage: d, OnDamage: func(ref shard.Ref) { told = append(told, ref) }})
	d.mu.Lock()
	for fd, f := range d.files {
		if i := bytes.Index(f.data, a.Stored[270<<10:271<<10]); i >= 0 && fd.Type == storage.TypeTable {
			f.data[i] ^= 1
		}
		if i := bytes.Index(f.data, []byte("SR3m")); i >= 0 && fd.Type == storage.TypeTable {
			f.data[i+10] ^= 1
		}
	}
	d.mu.Unlock()
	_, err := s.Get(t.Context(), a.Ref)
	is(t, err, ErrDamaged)
	_, err = s.Manifest(testOwner, 1)
	is(t, err, ErrDamaged)
	if !sameRefs(told, refsOf(a)) || s.Has(a.Ref) || len(s.Versions(testOwner)) != 0 {
		t.Errorf("told %v, still here %v %v", told, s.Objects(testOwner), s.Versions(testOwner))
	}
	get(t, s, b)
	ok(t, s.Put(t.Context(), a))
	get(t, s, a)
	ok(t, s.Close())
	s = open(t, Options{Storage: d})
	get(t, s, a)

	d.mu.Lock()
	d.failRead = syscall.EIO
	d.mu.Unlock()
	_, err = s.Get(t.Context(), b.Ref)
	is(t, err, ErrDamaged)
}

// A folder that is beyond recovery is moved away, loudly, and not deleted.
func TestDamagedFolder(t *testing.T) {
	for name, c := range map[string]struct {
		breakIt func(t *testing.T, dir string)
		aside   bool
	}{
		"no CURRENT":     {breakIt: func(t *testing.T, dir string) { remove(t, dir, "CURRENT") }},
		"no MANIFEST":    {breakIt: func(t *testing.T, dir string) { remove(t, dir, "MANIFEST-*") }},
		"no tables":      {breakIt: func(t *testing.T, dir string) { remove(t, dir, "*.ldb") }},
		"empty MANIFEST": {breakIt: func(t *testing.T, dir string) { overwrite(t, dir, "MANIFEST-*", nil) }},
		"table is a folder": {aside: true, breakIt: func(t *testing.T, dir string) {
			remove(t, dir, "CURRENT")
			remove(t, dir, "*.ldb")
			ok(t, os.Symlink("/nowhere/at/all", filepath.Join(dir, "000099.ldb")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			s := open(t, Options{Dir: dir})
			a := base(t, 0, 1, 1<<20)
			ok(t, s.Put(t.Context(), a))
			ok(t, s.Close())
			s = open(t, Options{Dir: dir})
			ok(t, s.Close())
			c.breakIt(t, dir)
			var log strings.Builder
			cl := &clock{time.Unix(1234, 0)}
			s = open(t, Options{Dir: dir, Now: cl.now, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if !strings.Contains(log.String(), "damaged") {
				t.Errorf("log says %q", log.String())
			}
			_, err := os.Stat(dir + ".damaged-1234")
			if moved := err == nil; moved != c.aside {
				t.Errorf("moved away: %v", moved)
			}
			if !s.Has(a.Ref) {
				ok(t, s.Put(t.Context(), a))
			}
			get(t, s, a)
		})
	}
}

func remove(t *testing.T, dir, pattern string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	ok(t, err)
	for _, n := range names {
		ok(t, os.Remove(n))
	}
}

func overwrite(t *testing.T, dir, pattern string, b []byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	ok(t, err)
	for _, n := range names {
		ok(t, os.WriteFile(n, b, 0o600))
	}
}

// Bytes that the database gives without complaint, and that are not those of the
// object, are not handed on.
func TestWrongBytesInTheDatabase(t *testing.T) {
	s := open(t, Options{Storage: storage.NewMemStorage()})
	item := base(t, 1, 1, 100)
	ok(t, s.Put(t.Context(), item))
	s.mu.RLock()
	r := s.find(item.Ref)
	s.mu.RUnlock()
	wrong := bytes.Clone(item.Stored)
	wrong[len(wrong)-1] ^= 1
	ok(t, s.db.ldb.Put(key(r.number, 0), wrong, nil))
	if _, err := s.Get(t.Context(), item.Ref); !errors.Is(err, ErrDamaged) {
		t.Errorf("get: %v", err)
	}
	ok(t, s.Close())
}
