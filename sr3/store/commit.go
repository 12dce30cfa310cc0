package store

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"

	"github.com/stormring/stormring/sr3/shard"
)

// queueLength is how many requests wait; their bytes are with their callers.
const queueLength = 128

// batchBytes is about how much goes into one batch, and into memory at once.
func (s *Store) batchBytes() int { return s.o.tuning.writeBuffer / 4 }

// operation is what a request wants. stage looks at the index and at what else
// is in the batch, and then adds all of its changes or fails.
type operation interface {
	stage(st *stage) error
	// bytes is about how much it writes.
	bytes() int64
	// deletes tells whether it takes away; such ones come in batches of their own,
	// since stages of others do not look at what is gone.
	deletes() bool
}

// States of a request: a caller may go away only while nobody looks at its bytes.
const (
	waiting int32 = iota
	taken
	withdrawn
)

type request struct {
	operation
	state atomic.Int32
	done  chan error // capacity 1
}

// committer is what only the committer's goroutine uses.
type committer struct {
	// next is the number of the next record.
	next uint64
	// journaled is how many bytes went into journals since the database was
	// opened, inMemory about how many of them are in the present memory table.
	journaled, inMemory int64
	// batch is used again and again.
	batch leveldb.Batch
	// heal is the earliest time for the next attempt to open the database again.
	heal time.Time
	// pieces are those of the reserve that are there. lean: it was given up, and only
	// deletions are written. See reserve.go.
	pieces                        int
	lean                          bool
	growAfter, cleanAfter, refill time.Time
	refillWait                    time.Duration
}

// commitAll is the committer's goroutine, which Close ends and waits for.
func (s *Store) commitAll() {
	defer close(s.done)
	var left *request
	for {
		cleaned := s.cleanIf()
		first := left
		if first == nil {
			if len(s.queue) == 0 && (cleaned && s.w.lean || s.grow()) {
				continue
			}
			retry, stop := s.retryTimer()
			select {
			case first = <-s.queue:
			case <-s.wake:
			case <-retry:
			case <-s.closing:
				s.refuseAll()
				return
			}
			stop()
		}
		var batch []*request
		batch, left = s.gather(first)
		s.commit(batch)
	}
}

// retryTimer fires when a store in trouble should look again by itself.
func (s *Store) retryTimer() (c <-chan time.Time, stop func()) {
	if s.trouble == nil { // only this goroutine changes it
		return nil, func() {}
	}
	t := time.NewTimer(retryAfter)
	return t.C, func() { t.Stop() }
}

// gather takes what waits, up to batchBytes, and gives back what it took too
// much.
func (s *Store) gather(first *request) (batch []*request, left *request) {
	var bytes int64
	for r := first; r != nil; {
		if r.state.CompareAndSwap(waiting, taken) || r == first && r.state.Load() == taken {
			if len(batch) > 0 && (bytes+r.bytes() > int64(s.batchBytes()) || r.deletes() != batch[0].deletes()) {
				return batch, r
			}
			batch = append(batch, r)
			bytes += r.bytes()
		}
		select {
		case r = <-s.queue:
		default:
			r = nil
		}
	}
	return batch, nil
}

func (s *Store) refuseAll() {
	for {
		select {
		case r := <-s.queue:
			if r.state.CompareAndSwap(waiting, taken) {
				r.done <- ErrClosed
			}
		default:
			return
		}
	}
}

// commit does what the requests want, as far as they may, and tells them. In
// trouble it first tries to open the database again, after which they are looked at
// anew. What needs no writing succeeds in any case. All of a batch delete or none does.
func (s *Store) commit(batch []*request) {
	deletes := len(batch) == 0 || batch[0].deletes()
	if s.w.lean && !deletes && !s.refill(bytesOf(batch)) {
		s.refuse(batch)
		return
	}
	for attempt := range 4 {
		st := s.newStage()
		batch = slices.DeleteFunc(batch, func(r *request) bool {
			err := r.stage(st)
			if err != nil {
				r.done <- err
			}
			return err != nil
		})
		s.finishStage(st)
		if len(st.records) == 0 && (s.trouble == nil || len(batch) > 0) {
			s.apply(st)
			answer(batch, nil)
			return
		}
		if len(st.records) == 0 && s.w.lean {
			s.refill(0)
			return
		}
		if s.trouble != nil && !s.w.lean {
			if !s.heal(st.bytes, attempt == 0, deletes && (len(st.records) > 0 || s.worthCleaning())) {
				break
			}
			continue // with the index as it is now
		}
		err := s.write(st)
		if err == nil {
			s.apply(st)
			answer(batch, nil)
			return
		}
		s.w.lean = false
		s.setTrouble(err)
	}
	answer(batch, explain(s.where(), s.trouble))
}

func bytesOf(batch []*request) (sum int64) {
	for _, r := range batch {
		sum += r.bytes()
	}
	return sum
}

func answer(batch []*request, err error) {
	for _, r := range batch {
		r.done <- err
	}
}

// pending is a record that is about to be written.
type pending struct {
	*record
	payload []byte
}

// stage is a batch in the making.
type stage struct {
	s         *Store
	records   []pending
	bytes     int64
	objects   map[shard.ObjectID]*record
	manifests map[manifestKey]*record
	fences    map[shard.Owner]*record
	gone      map[uint64]bool
	spared    []shard.ObjectID
}

type manifestKey struct {
	owner   shard.Owner
	version shard.Version
}

func (s *Store) newStage() *stage {
	return &stage{
		s:         s,
		objects:   make(map[shard.ObjectID]*record),
		manifests: make(map[manifestKey]*record),
		fences:    make(map[shard.Owner]*record),
		gone:      make(map[uint64]bool),
	}
}

func (st *stage) add(h head, payload []byte) *record {
	r := &record{head: h}
	st.records = append(st.records, pending{r, payload})
	st.bytes += r.bytes()
	return r
}

func (st *stage) fenced(o shard.Owner) shard.Epoch {
	if r := st.fences[o]; r != nil {
		return r.epoch
	}
	return st.s.index.fenced(o)
}

// finishStage numbers the records, and adds the one that deletes.
func (s *Store) finishStage(st *stage) {
	s.mu.RLock()
	maps.Copy(st.gone, s.loose)
	s.mu.RUnlock()
	if len(st.gone) > 0 {
		st.add(head{what: aDeletion, gone: slices.Sorted(maps.Keys(st.gone))}, nil)
	}
	for i := range st.records {
		st.records[i].number = s.w.next + uint64(i)
	}
}

// write makes the stage durable. Its records come in one batch of goleveldb's,
// or in several that are fsynced each if they are large: without its head, which
// comes last, a record is none.
func (s *Store) write(st *stage) error {
	b := &s.w.batch
	b.Reset()
	size := 0
	flush := func() error {
		err := s.db.ldb.Write(b, &opt.WriteOptions{Sync: true})
		b.Reset()
		s.w.journaled += int64(size)
		if s.w.inMemory += int64(size); s.w.inMemory > int64(s.o.tuning.writeBuffer) {
			s.w.inMemory = int64(size)
		}
		size = 0
		return err
	}
	var heads [][2][]byte
	for _, p := range st.records {
		for i := range p.chunks() {
			c := p.payload[i*chunkSize : min((i+1)*chunkSize, len(p.payload))]
			if size+len(c) > 2*s.batchBytes() {
				if err := flush(); err != nil {
					return err
				}
			}
			b.Put(key(p.number, uint32(i)), c)
			size += len(c)
		}
		heads = append(heads, [2][]byte{key(p.number, headPart), p.encode()})
	}
	for _, h := range heads {
		b.Put(h[0], h[1])
		size += len(h[1])
	}
	return flush()
}

// apply makes what was written findable.
func (s *Store) apply(st *stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range st.records {
		s.index.add(p.record)
		s.w.next = p.number + 1
	}
	for n := range st.gone {
		delete(s.loose, n)
	}
	for _, id := range st.spared {
		s.spare(id)
	}
}
