package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/syndtr/goleveldb/leveldb/storage"
)

const (
	// retryAfter is how long a store in trouble waits between two attempts.
	retryAfter = time.Second
	// roomToSpare is how many bytes must fit beside what is known to be written.
	roomToSpare = 1 << 20
)

// setTrouble takes note of a failed write, after which goleveldb must be opened
// again.
func (s *Store) setTrouble(err error) {
	s.mu.Lock()
	first := s.trouble == nil
	s.trouble = err
	s.mu.Unlock()
	if first {
		s.o.Log.Error("cannot write; will try again", "dir", s.where(), "err", explain(s.where(), err))
	}
}

// heal tries to open the database for writing again: at once after a failure
// that is not for want of room, else at most once in retryAfter. It needs room
// for what is in journals, and for bytes beside; for deletions the reserve is given
// up if there is none. The old one stays until a trial file shows that there is room,
// so that reading goes on.
func (s *Store) heal(bytes int64, may, deletes bool) bool {
	reserve := deletes && s.w.pieces > 0
	if !reserve && (!may || s.tooSoon()) {
		return false
	}
	err := s.reopen(bytes)
	if full := err; err != nil && reserve && noRoom(err) && s.giveUp() {
		if err = s.reopen(bytes); err == nil {
			s.setTrouble(full)
			s.w.lean, s.w.journaled, s.w.inMemory = true, 0, 0
			s.w.refill, s.w.refillWait = s.o.Now().Add(retryAfter), retryAfter
			return true
		}
	}
	if err != nil {
		s.setTrouble(err)
		return false
	}
	s.w.journaled, s.w.inMemory = 0, 0
	s.healed()
	return true
}

// tooSoon tells whether an attempt was made within retryAfter; else this is one.
func (s *Store) tooSoon() bool {
	now := s.o.Now()
	if wait := s.w.heal.Sub(now); wait > 0 && wait <= retryAfter {
		return true
	}
	s.w.heal = now.Add(retryAfter)
	return false
}

// healed takes note that all goes well again.
func (s *Store) healed() {
	s.mu.Lock()
	s.trouble = nil
	s.mu.Unlock()
	s.w.lean = false
	s.o.Log.Info("writing works again", "dir", s.where())
}

func (s *Store) reopen(bytes int64) error {
	if s.files.readOnly || s.files.stor == nil {
		return s.reopenFolder()
	}
	if err := s.files.tryRoom(min(s.w.journaled, int64(2*s.o.tuning.writeBuffer)) + bytes + roomToSpare); err != nil {
		return err
	}
	s.dbMu.Lock()
	defer s.dbMu.Unlock()
	// What it complains about when it closes is known.
	_ = s.db.close()
	s.db = nil
	return s.load()
}

// reopenFolder is for a folder that could be opened only for reading, or not at
// all.
func (s *Store) reopenFolder() error {
	writable, err := s.files.openFile(s.o.Dir, false)
	if err != nil && !lockedByUs(err) {
		return err
	}
	if err == nil {
		_ = writable.Close()
	}
	s.dbMu.Lock()
	defer s.dbMu.Unlock()
	_ = s.db.close()
	s.db = nil
	if err := s.files.close(); err != nil {
		return err
	}
	if err := s.files.open(nil); err != nil {
		return err
	}
	return s.load()
}

// load opens the database and replaces the index; dbMu is held.
func (s *Store) load() error {
	db, trouble, err := s.files.database()
	if err != nil {
		return err
	}
	x, err := db.load(s.o.Log, trouble == nil)
	if err != nil {
		return errors.Join(err, db.close())
	}
	s.db, s.w.next = db, db.last+1
	s.countPieces()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index = x
	for n := range s.loose {
		if r := x.at(n); r != nil && !r.dead {
			x.hide(r)
		} else {
			delete(s.loose, n)
		}
	}
	return trouble
}

// tryRoom writes a file of so many bytes and removes it.
func (f *files) tryRoom(bytes int64) (err error) {
	fd := storage.FileDesc{Type: storage.TypeTemp, Num: 1}
	w, err := f.stor.Create(fd)
	if err != nil {
		return err
	}
	defer func() {
		if err2 := w.Close(); err == nil {
			err = err2
		}
		if err2 := f.stor.Remove(fd); err == nil && err2 != nil {
			err = fmt.Errorf("remove the trial file: %w", err2)
		}
	}()
	chunk := make([]byte, min(bytes, 1<<20))
	for ; bytes > 0; bytes -= int64(len(chunk)) {
		if _, err := w.Write(chunk[:min(bytes, int64(len(chunk)))]); err != nil {
			return err
		}
	}
	return w.Sync()
}
