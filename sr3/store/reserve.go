package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/syndtr/goleveldb/leveldb/storage"
)

// The reserve is room on the disk that files without meaning hold. When the disk is
// full it is given up, so that what was deleted can be taken down and cleaned away,
// which needs room at first. It is made again before anything else is written.
const (
	// firstPiece is the number of its first file. goleveldb numbers its temporary
	// files from 0.
	firstPiece = 1 << 30
	// mostPieces is of how many pieces it is, each a quarter of a write buffer: for
	// opening the database (two buffers, see heal.go), and for cleaning (see needs).
	mostPieces = 24
	// growAgain is how long the reserve is left as it is if there is no room for more.
	growAgain = 10 * time.Second
	// cleanAgain is how long cleaning waits after it has failed on a full disk, and the
	// longest time between two looks whether the reserve can be made whole.
	cleanAgain = 30 * time.Second
)

func (s *Store) pieceBytes() int { return s.o.tuning.writeBuffer / 4 }

// wantedPieces is how large the reserve should be: a small store needs little.
func (s *Store) wantedPieces() int {
	all, piece := s.index.live+s.index.dead, int64(s.pieceBytes())
	if all == 0 {
		return 0
	}
	return int(min(int64(s.o.tuning.pieces), (2*all+roomToSpare+piece-1)/piece))
}

// grow adds a piece to the reserve, if it lacks one and nobody waits. It tells whether
// it did.
func (s *Store) grow() bool {
	if s.trouble != nil || len(s.queue) > 0 || s.w.pieces >= s.wantedPieces() || s.o.Now().Before(s.w.growAfter) {
		return false
	}
	if err := s.addPiece(); err != nil {
		// That is trouble only for who wants to write.
		s.w.growAfter = s.o.Now().Add(growAgain)
		return false
	}
	return true
}

func (s *Store) addPiece() error {
	if err := s.files.makePiece(s.w.pieces, s.pieceBytes()); err != nil {
		return fmt.Errorf("the reserve: %w", err)
	}
	s.w.pieces++
	return nil
}

// countPieces finds the reserve of a database that has just been opened.
func (s *Store) countPieces() {
	n, err := s.files.findPieces(s.pieceBytes())
	if err != nil && s.trouble == nil {
		s.o.Log.Warn("the reserve for a full disk cannot be looked at", "dir", s.where(), "err", err)
	}
	s.w.pieces = n
}

// giveUp gives the reserve up; false if there is none.
func (s *Store) giveUp() bool {
	if s.w.pieces == 0 {
		return false
	}
	s.w.pieces = 0
	if err := s.files.dropPieces(); err != nil {
		s.o.Log.Warn("the reserve for a full disk cannot be given up", "dir", s.where(), "err", err)
		return false
	}
	s.o.Log.Warn("the disk is full: nothing but deletions is written, on what was kept in reserve for them", "dir", s.where())
	return true
}

// refill makes the reserve whole again after it was given up, if so many bytes fit
// beside it. Then all may write. It looks less and less often.
func (s *Store) refill(bytes int64) bool {
	now := s.o.Now()
	if wait := s.w.refill.Sub(now); wait > 0 && wait <= s.w.refillWait {
		return false
	}
	s.w.refillWait = min(max(2*s.w.refillWait, retryAfter), cleanAgain)
	s.w.refill = now.Add(s.w.refillWait)
	missing := max(0, s.wantedPieces()-s.w.pieces)
	err := s.files.tryRoom(int64(missing*s.pieceBytes()) + s.w.inMemory + bytes + roomToSpare)
	for ; err == nil && missing > 0; missing-- {
		err = s.addPiece()
	}
	if err != nil {
		s.setTrouble(err)
		return false
	}
	s.healed()
	return true
}

// refuse answers requests that have to wait for the reserve to be whole. What needs no
// writing succeeds.
func (s *Store) refuse(batch []*request) {
	for _, r := range batch {
		st := s.newStage()
		err := r.stage(st)
		switch {
		case err != nil:
		case len(st.records) > 0:
			err = explain(s.where(), s.trouble)
		default:
			s.apply(st)
		}
		r.done <- err
	}
}

// cleanLean takes a little garbage away on a full disk; false if there is nothing to be
// gained, or no room to do it.
func (s *Store) cleanLean() bool {
	now := s.o.Now()
	if !s.worthCleaning() || now.Before(s.w.cleanAfter) {
		return false
	}
	garbage := s.index.stretch(int64(s.o.tuning.writeBuffer))
	err := s.files.tryRoom(s.needs(garbage))
	if err == nil {
		if err = s.clean(garbage); err != nil {
			s.w.lean = false // it has to be opened anew
			s.setTrouble(err)
		}
	}
	if err != nil {
		s.w.cleanAfter = now.Add(cleanAgain)
		return false
	}
	s.w.refill, s.w.refillWait = time.Time{}, 0 // there may be room now
	return true
}

// worthCleaning tells whether there is some garbage.
func (s *Store) worthCleaning() bool { return s.index.dead >= int64(s.pieceBytes()/4) }

// needs is how much room it takes to clean: what is in memory becomes a table, and what
// lives in the tables of the stretch, which may reach beyond its ends, is written again.
func (s *Store) needs(garbage []*record) int64 {
	var live int64
	first, last := garbage[0].number, garbage[len(garbage)-1].number
	for _, r := range s.index.log {
		if r.number >= first && r.number <= last && !r.dead {
			live += r.bytes()
		}
	}
	live = min(live+2*int64(s.o.tuning.writeBuffer), s.index.live)
	return s.w.inMemory + live + roomToSpare
}

// findPieces counts the pieces that are there, and removes what is left of others.
func (f *files) findPieces(bytes int) (n int, err error) {
	fds, err := f.stor.List(storage.TypeTemp)
	if err != nil {
		return 0, err
	}
	there := map[int64]bool{}
	for _, fd := range fds {
		if fd.Num < firstPiece {
			continue
		}
		r, err := f.stor.Open(fd)
		if err != nil {
			return 0, err
		}
		size, err := r.Seek(0, io.SeekEnd)
		if err = errors.Join(err, r.Close()); err != nil {
			return 0, err
		}
		there[fd.Num] = size == int64(bytes)
	}
	for there[firstPiece+int64(n)] {
		n++
	}
	for num := range there {
		if num >= firstPiece+int64(n) {
			err = errors.Join(err, f.stor.Remove(storage.FileDesc{Type: storage.TypeTemp, Num: num}))
		}
	}
	return n, err
}

// makePiece makes piece i. What is written into it cannot be made smaller, whatever
// the file system does to save room.
func (f *files) makePiece(i, bytes int) (err error) {
	fd := storage.FileDesc{Type: storage.TypeTemp, Num: firstPiece + int64(i)}
	defer func() {
		if err != nil {
			_ = f.stor.Remove(fd) // it holds no room
		}
	}()
	if !f.lent {
		err := allocate(filepath.Join(f.dir, fmt.Sprintf("%06d.tmp", fd.Num)), int64(bytes))
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	w, err := f.stor.Create(fd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	chunk := make([]byte, min(bytes, 1<<20))
	noise := rand.NewPCG(uint64(i), 0)
	for at := 0; at+8 <= len(chunk); at += 8 {
		binary.LittleEndian.PutUint64(chunk[at:], noise.Uint64())
	}
	for ; bytes > 0; bytes -= len(chunk) {
		chunk = chunk[:min(bytes, len(chunk))]
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
	return w.Sync()
}

// dropPieces removes all pieces.
func (f *files) dropPieces() error {
	fds, err := f.stor.List(storage.TypeTemp)
	for _, fd := range fds {
		if fd.Num < firstPiece {
			continue
		}
		if err2 := f.stor.Remove(fd); !errors.Is(err2, fs.ErrNotExist) {
			err = errors.Join(err, err2)
		}
	}
	return err
}
