package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/stormring/stormring/sr3/shard"
)

var small = tuning{writeBuffer: 1 << 20, leastDead: 64 << 20, mostRecords: 1 << 16, stretch: 1 << 20, pieces: mostPieces}

// pieces is how many files of the reserve a disk has.
func (d *disk) pieces() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for fd := range d.files {
		if fd.Type == storage.TypeTemp && fd.Num >= firstPiece {
			n++
		}
	}
	return n
}

func (d *disk) free() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.room - d.used
}

// fill puts objects until the disk is full, and gives those that are stored.
func fill(t *testing.T, s *Store, size int) (items []Item) {
	t.Helper()
	for v := shard.Version(1); ; v++ {
		it := base(t, int(v)%8, v, size)
		err := s.Put(t.Context(), it)
		if errors.Is(err, ErrFull) {
			return items
		}
		ok(t, err)
		items = append(items, it)
		synctest.Wait() // the reserve grows when nothing else is to be done
	}
}

// TestFullDiskDeletes: on a full disk deletions go through at once, what they free is
// cleaned away, and then all may write again; and so over and over.
func TestFullDiskDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.set(40<<20, nil)
		s, err := Open(Options{Storage: d, tuning: small})
		ok(t, err)
		kept := fill(t, s, 200<<10)
		if n := d.pieces(); n != mostPieces {
			t.Fatalf("the reserve has %d pieces", n)
		}
		for round := range 3 {
			gone := kept[:len(kept)/2]
			kept = kept[len(gone):]
			// With the first deletion the reserve is used. The disk stays full for others.
			ok(t, s.Delete(t.Context(), gone[0].Ref))
			is(t, s.Put(t.Context(), base(t, 9, shard.Version(round+1), 3<<20)), ErrFull, "no space left")
			ok(t, s.Put(t.Context(), kept[0])) // which is here
			if u := s.Usage(); u.Full == "" {
				t.Error("usage does not tell that the disk is full")
			}
			ok(t, s.Delete(t.Context(), refsOf(gone[1:]...)...))
			<-time.After(2 * time.Second) // a look, a second later at most
			synctest.Wait()
			if u := s.Usage(); u.Full != "" || d.pieces() != mostPieces {
				t.Fatalf("round %d: %+v, %d pieces, %d bytes are free", round, u, d.pieces(), d.free())
			}
			for _, it := range kept {
				get(t, s, it)
			}
			for v := shard.Version(1000 * (round + 1)); ; v++ {
				it := base(t, int(v)%8, v, 200<<10)
				if err := s.Put(t.Context(), it); err != nil {
					is(t, err, ErrFull)
					break
				}
				kept = append(kept, it)
			}
			if len(kept) < len(gone) {
				t.Errorf("round %d: only %d objects fit, %d were deleted", round, len(kept), len(gone))
			}
		}
		ok(t, s.Close())
		s, err = Open(Options{Storage: d, tuning: small}) // on the full disk
		ok(t, err)
		ok(t, s.Delete(t.Context(), kept[0].Ref))
		for _, it := range kept[1:] {
			get(t, s, it)
		}
		if s.Has(kept[0].Ref) {
			t.Error("it was deleted")
		}
		ok(t, s.Close())
		<-time.After(2 * time.Second) // goleveldb needs one to let go
	})
}

// TestFullDiskCleansByItself: garbage that lies about is cleaned away when the disk is
// full, though nobody deletes anything now.
func TestFullDiskCleansByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.set(40<<20, nil)
		s, err := Open(Options{Storage: d, tuning: small})
		ok(t, err)
		var items []Item
		for v := range shard.Version(60) {
			it := base(t, int(v)%8, v+1, 200<<10)
			ok(t, s.Put(t.Context(), it))
			items = append(items, it)
			synctest.Wait()
		}
		ok(t, s.Delete(t.Context(), refsOf(items[:50]...)...))
		d.set(d.used, nil)
		is(t, s.Put(t.Context(), base(t, 9, 1, 200<<10)), ErrFull)
		<-time.After(3 * time.Second)
		synctest.Wait()
		if u := s.Usage(); u.Full != "" {
			t.Fatalf("%+v, %d bytes are free", u, d.free())
		}
		ok(t, s.Put(t.Context(), base(t, 9, 1, 200<<10)))
		for _, it := range items[50:] {
			get(t, s, it)
		}
		ok(t, s.Close())
		<-time.After(2 * time.Second)
	})
}

// TestFullDiskCrash: power goes while deletions are made on the reserve.
func TestFullDiskCrash(t *testing.T) {
	type crash struct {
		disk       *disk
		gone, kept []Item
	}
	var crashes []crash
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 7))
		d := newDisk()
		d.set(24<<20, nil)
		s, err := Open(Options{Storage: d, tuning: small})
		ok(t, err)
		kept := fill(t, s, 200<<10)
		for range 4 {
			gone := kept[:3]
			kept = kept[3:]
			ok(t, s.Delete(context.Background(), refsOf(gone...)...))
			crashes = append(crashes, crash{d.crash(r), gone, kept})
		}
		ok(t, s.Close())
		<-time.After(2 * time.Second)
	})
	// In no bubble, where what leveldb.Recover leaves behind would be missed.
	for _, c := range crashes {
		c.disk.set(24<<20, nil)
		after, err := Open(Options{Storage: c.disk, tuning: small})
		ok(t, err)
		for _, it := range c.gone {
			if after.Has(it.Ref) {
				t.Errorf("%v is back", it.Ref.ObjectID)
			}
		}
		for _, it := range c.kept {
			get(t, after, it)
		}
		ok(t, after.Delete(context.Background(), c.kept[0].Ref))
		ok(t, after.Close())
	}
}

// TestReserveIsFound: the pieces outlive the store; one that was cut off is not kept.
func TestReserveIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		s, err := Open(Options{Storage: d, tuning: small})
		ok(t, err)
		if n := d.pieces(); n != 0 {
			t.Errorf("an empty store has %d pieces", n)
		}
		ok(t, s.Put(t.Context(), base(t, 0, 1, 100<<10)))
		synctest.Wait()
		if n := d.pieces(); n != 5 { // twice the object and 1 MiB, in pieces of 256 KiB
			t.Errorf("the reserve has %d pieces", n)
		}
		ok(t, s.Close())
		d.mu.Lock()
		third := d.files[storage.FileDesc{Type: storage.TypeTemp, Num: firstPiece + 2}]
		third.data = third.data[:1000]
		d.mu.Unlock()
		f := files{stor: d, lent: true}
		if n, err := f.findPieces(small.writeBuffer / 4); n != 2 || err != nil || d.pieces() != 2 {
			t.Errorf("found %d pieces, %d are there, error %v", n, d.pieces(), err)
		}
		s, err = Open(Options{Storage: d, tuning: small})
		ok(t, err)
		synctest.Wait()
		if n := d.pieces(); n != 5 {
			t.Errorf("the reserve has %d pieces", n)
		}
		ok(t, s.Close())
		<-time.After(2 * time.Second)
	})
}
