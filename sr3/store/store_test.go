package store

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/stormring/stormring/sr3/shard"
)

func manifest(v shard.Version, e shard.Epoch, refs ...shard.Ref) *shard.Manifest {
	m := &shard.Manifest{Owner: testOwner, Version: v, Epoch: e, CreatedMillis: 1700000000000, Replicas: 3}
	for _, r := range refs {
		r.Holders = []shard.NodeID{"a", "b"}
		m.Shards = append(m.Shards, []shard.Ref{r})
	}
	return m
}

func get(tb testing.TB, s *Store, it Item) {
	tb.Helper()
	b, err := s.Get(context.Background(), it.Ref)
	ok(tb, err)
	if string(b) != string(it.Stored) {
		tb.Fatalf("%v: other bytes came back", it.Ref.ObjectID)
	}
}

func is(tb testing.TB, err, want error, words ...string) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Fatalf("got error %v, want %v", err, want)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			tb.Fatalf("error %q does not say %q", err, w)
		}
	}
}

func refsOf(items ...Item) []shard.Ref {
	var refs []shard.Ref
	for _, it := range items {
		refs = append(refs, it.Ref)
	}
	return refs
}

func sameRefs(a, b []shard.Ref) bool {
	return slices.EqualFunc(a, b, func(a, b shard.Ref) bool {
		return a.ObjectID == b.ObjectID && a.Size == b.Size && a.Stored == b.Stored && a.Checksum == b.Checksum
	})
}

// What is stored is found, before and after the store is opened again.
func TestStoreKeepsWhatItIsGiven(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by", "open")
	s := open(t, Options{Dir: dir})
	ctx := t.Context()
	items := []Item{
		base(t, 0, 1, 32), base(t, 1, 1, chunkSize-1), base(t, 2, 1, chunkSize), base(t, 3, 1, chunkSize+1),
		base(t, 4, 1, 9<<20), object(t, testOwner, 4, 2, 3, shard.Delta, 100),
	}
	ok(t, s.Put(ctx, items...))
	ok(t, s.Put(ctx))
	m := manifest(1, 1, items[0].Ref, items[1].Ref)
	ok(t, s.PutManifest(ctx, m))
	ok(t, s.PutManifest(ctx, manifest(7, 1)))
	other := shard.Owner{Topology: "a", Component: "b", Task: -1}
	ok(t, s.Fence(ctx, other, 5))
	for range 2 {
		for _, it := range items {
			get(t, s, it)
			if !s.Has(it.Ref) {
				t.Errorf("%v is not here", it.Ref.ObjectID)
			}
		}
		if got := s.Objects(testOwner); !sameRefs(got, refsOf(items...)) {
			t.Errorf("objects are %v", got)
		}
		if got := s.Owners(); !slices.Equal(got, []shard.Owner{other, testOwner}) {
			t.Errorf("owners are %v", got)
		}
		if got := s.Versions(testOwner); !slices.Equal(got, []shard.Version{1, 7}) {
			t.Errorf("versions are %v", got)
		}
		back, err := s.Manifest(testOwner, 1)
		ok(t, err)
		want, _ := m.Encode()
		if got, _ := back.Encode(); string(got) != string(want) {
			t.Errorf("manifest is %v", back)
		}
		if f := s.Fenced(other); f != 5 || s.Fenced(testOwner) != 0 {
			t.Errorf("fence is %d", f)
		}
		u := s.Usage()
		if u.Owners != 2 || u.Objects != 6 || u.Manifests != 2 || u.Bytes < 9<<20 || u.DiskBytes < u.Bytes || u.Full+u.Readonly != "" {
			t.Errorf("usage is %+v", u)
		}
		ok(t, s.Close())
		ok(t, s.Close())
		s = open(t, Options{Dir: dir})
	}
	_, err := s.Get(ctx, base(t, 9, 9, 50).Ref)
	is(t, err, ErrNotFound)
	_, err = s.Manifest(testOwner, 2)
	is(t, err, ErrNotFound)
	if s.Versions(shard.Owner{}) != nil || s.Objects(shard.Owner{}) != nil {
		t.Error("there is something of an owner that is not here")
	}
	_, err = Open(Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "another process has it open") {
		t.Errorf("opening it twice: %v", err)
	}
	ok(t, s.Close())
	is(t, s.Put(ctx, items[0]), ErrClosed)
	if _, err := s.Get(ctx, items[0].Ref); err == nil {
		t.Error("a closed store gives objects")
	}
}

func TestRules(t *testing.T) {
	s := open(t, Options{Storage: storage.NewMemStorage()})
	ctx := t.Context()
	a := base(t, 0, 1, 100)
	twin := base(t, 0, 1, 200) // same name, other bytes
	fresh := base(t, 1, 1, 100)
	ok(t, s.Put(ctx, a))
	ok(t, s.Put(ctx, a, a))
	is(t, s.Put(ctx, fresh, twin), ErrConflict)
	is(t, s.Put(ctx, base(t, 2, 1, 40), base(t, 2, 1, 50)), ErrConflict)
	if s.Has(fresh.Ref) || s.Has(twin.Ref) {
		t.Error("part of a refused Put is here")
	}
	bad := base(t, 3, 1, 100)
	bad.Stored[99] ^= 1
	is(t, s.Put(ctx, bad), ErrDamaged)

	ok(t, s.PutManifest(ctx, manifest(1, 1)))
	ok(t, s.PutManifest(ctx, manifest(1, 1)))
	is(t, s.PutManifest(ctx, manifest(1, 2)), ErrConflict, "of epoch 1")

	ok(t, s.Fence(ctx, testOwner, 4))
	ok(t, s.Fence(ctx, testOwner, 4))
	is(t, s.Fence(ctx, testOwner, 3), ErrFenced, "epoch 4")
	ok(t, s.Fence(ctx, testOwner, 5))
	is(t, s.Put(ctx, a), ErrFenced, "epoch 5")
	is(t, s.PutManifest(ctx, manifest(2, 4)), ErrFenced, "epoch 5")
	// What is committed may come back all the same.
	ok(t, s.Restore(ctx, a))
	ok(t, s.RestoreManifest(ctx, manifest(2, 4)))
	ok(t, s.DeleteManifest(ctx, testOwner, 2))
	if _, err := s.Get(ctx, a.Ref); err != nil || !s.Has(a.Ref) {
		t.Errorf("a restored object is not there: %v", err)
	}
	ok(t, s.Put(ctx, object(t, testOwner, 0, 2, 5, shard.Base, 64)))

	ok(t, s.Delete(ctx))
	ok(t, s.Delete(ctx, twin.Ref, fresh.Ref)) // not here with these bytes
	get(t, s, a)
	ok(t, s.Delete(ctx, a.Ref))
	_, err := s.Get(ctx, a.Ref)
	is(t, err, ErrNotFound)
	ok(t, s.DeleteManifest(ctx, testOwner, 1))
	ok(t, s.DeleteManifest(ctx, testOwner, 1))
	if len(s.Versions(testOwner)) != 0 {
		t.Error("the manifest is still here")
	}
	ok(t, s.DropOwner(ctx, testOwner))
	ok(t, s.DropOwner(ctx, testOwner))
	if len(s.Owners()) != 0 || s.Fenced(testOwner) != 0 || s.Usage().Bytes != 0 {
		t.Errorf("left are %v, %+v", s.Owners(), s.Usage())
	}
	ok(t, s.Put(ctx, a))
	get(t, s, a)

	long := shard.Owner{Topology: strings.Repeat("x", maxName+1)}
	is(t, s.Fence(ctx, long, 1), shard.ErrTooLarge)
	is(t, s.Put(ctx, object(t, long, 0, 1, 1, shard.Base, 40)), shard.ErrTooLarge)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	is(t, s.Put(gone, fresh), context.Canceled)
	_, err = s.Get(gone, a.Ref)
	is(t, err, context.Canceled)
}

func TestHold(t *testing.T) {
	d := newDisk()
	s := open(t, Options{Storage: d})
	ctx := t.Context()
	a, b := base(t, 0, 1, 100), base(t, 1, 1, 100)
	ok(t, s.Put(ctx, a, b))
	one, two := s.Hold(a.Ref), s.Hold(a.Ref, b.Ref)
	ok(t, s.Delete(ctx, a.Ref))
	ok(t, s.DropOwner(ctx, testOwner))
	if s.Has(a.Ref) || len(s.Objects(testOwner)) != 0 {
		t.Error("what is deleted is listed")
	}
	get(t, s, a)
	one()
	one()
	get(t, s, a)
	ok(t, s.Put(ctx, b)) // takes the deletion back
	two()
	_, err := s.Get(ctx, a.Ref)
	is(t, err, ErrNotFound)
	get(t, s, b)
	ok(t, s.Put(ctx, base(t, 2, 1, 40))) // a batch after the release: a is off the disk
	ok(t, s.Close())
	s = open(t, Options{Storage: d})
	if s.Has(a.Ref) || !s.Has(b.Ref) {
		t.Error("the release did not delete what it should")
	}
}

// Callers at the same time share fsyncs, and all get what they stored.
func TestConcurrentWriters(t *testing.T) {
	d := newDisk()
	s := open(t, Options{Storage: d})
	before := d.syncs
	var wg sync.WaitGroup
	const callers, each = 16, 20
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				it := base(t, c, shard.Version(i+1), 1000)
				if err := s.Put(context.Background(), it); err != nil {
					t.Error(err)
				}
				if _, err := s.Get(context.Background(), it.Ref); err != nil {
					t.Error(err)
				}
				if i%3 == 0 {
					if err := s.Delete(context.Background(), it.Ref); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := len(s.Objects(testOwner)); n != callers*(each-7) {
		t.Errorf("%d objects are here", n)
	}
	if writes := callers * (each + 7); d.syncs-before > writes {
		t.Errorf("%d fsyncs for %d writes", d.syncs-before, writes)
	}
}
