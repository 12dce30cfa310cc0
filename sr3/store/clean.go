package store

import (
	"fmt"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"
)

// cleanIf takes one stretch of garbage away, if there is enough of it, nobody
// waits and the memory table, which must be rewritten for it, is rather empty; or
// if there is twice as much as there should be. It tells whether it did.
func (s *Store) cleanIf() bool {
	if s.w.lean {
		return s.cleanLean()
	}
	if s.trouble != nil || !s.index.dirty(s.o.tuning) {
		return false
	}
	quiet := len(s.queue) == 0 && s.w.inMemory < int64(s.o.tuning.writeBuffer/2)
	if c := s.o.tuning; !quiet && s.index.dead < 2*max(c.leastDead, s.index.live/3) {
		return false
	}
	if err := s.clean(s.index.stretch(s.o.tuning.stretch)); err != nil {
		s.setTrouble(err)
		return false
	}
	return true
}

// clean removes dead records. Their tombstones must not share a table with
// anything else: such a table would span the log, and its compaction rewrite all
// of it. So the memory table is emptied before and after.
func (s *Store) clean(garbage []*record) error {
	if len(garbage) == 0 {
		return nil
	}
	end := util.Range{Start: key(s.index.last(), headPart)}
	if err := s.db.ldb.CompactRange(end); err != nil {
		return fmt.Errorf("empty the memory table: %w", err)
	}
	var b leveldb.Batch
	gone := make(map[*record]bool, len(garbage))
	for _, r := range garbage {
		for i := range r.chunks() {
			b.Delete(key(r.number, uint32(i)))
		}
		b.Delete(key(r.number, headPart))
		gone[r] = true
	}
	if err := s.db.ldb.Write(&b, &opt.WriteOptions{Sync: true}); err != nil {
		return fmt.Errorf("delete what is dead: %w", err)
	}
	s.w.inMemory = 0
	s.mu.Lock()
	s.index.forget(gone)
	s.mu.Unlock()
	stretch := util.Range{Start: key(garbage[0].number, 0), Limit: key(garbage[len(garbage)-1].number, headPart)}
	if err := s.db.ldb.CompactRange(stretch); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	return nil
}
