package store

import (
	"sync"

	"github.com/stormring/stormring/sr3/shard"
)

// hold is that of an object.
type hold struct {
	times int
	// doomed: it was deleted while it was held.
	doomed bool
}

// Hold keeps Delete and DropOwner from taking these objects away until release
// is called, once or more: what is deleted meanwhile is not listed any more,
// but Get still gives it. Objects that are not here may be held too. Holds do not
// survive Close, nor does a deletion that waits for one.
func (s *Store) Hold(refs ...shard.Ref) (release func()) {
	ids := make([]shard.ObjectID, len(refs))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range refs {
		ids[i] = refs[i].ObjectID
		h := s.holds[ids[i]]
		if h == nil {
			h = &hold{}
			s.holds[ids[i]] = h
		}
		h.times++
	}
	return sync.OnceFunc(func() { s.release(ids) })
}

func (s *Store) release(ids []shard.ObjectID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		h := s.holds[id]
		if h.times--; h.times > 0 {
			continue
		}
		delete(s.holds, id)
		if r := s.index.object(id); r != nil && h.doomed {
			s.index.hide(r)
			s.letLoose(r)
		}
	}
}

// doomed tells whether a record was deleted and is only held; mu is held.
func (s *Store) doomed(r *record) bool {
	if len(s.holds) == 0 {
		return false
	}
	h := s.holds[r.object.id(r.owner)]
	return h != nil && h.doomed
}

// doom has a record deleted when it is released; false if nobody holds it. mu
// is held.
func (s *Store) doom(r *record) bool {
	h := s.holds[r.object.id(r.owner)]
	if r.what != anObject || h == nil {
		return false
	}
	h.doomed = true
	return true
}

// spare takes back a doom: the object has been put again. mu is held.
func (s *Store) spare(id shard.ObjectID) {
	if h := s.holds[id]; h != nil {
		h.doomed = false
	}
}
