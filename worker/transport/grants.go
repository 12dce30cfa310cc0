package transport

import (
	"slices"

	"github.com/stormring/stormring/storm"
)

// This file is the part of a session that consumers touch when they release
// batches, and what goes back to the sender: acks and grants.

// release takes back n credits and an empty batch. Credits are told to the
// sender when half of the window has come together: a sender that has none
// left has a whole window under way, so the half is reached at the latest when
// the consumer has worked off that, and nobody waits for a grant that never
// comes.
func (a *account) release(n int, tuples *Batch, acker *AckerBatch) {
	s := a.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if tuples != nil {
		s.free.putTuples(tuples)
	}
	if acker != nil {
		s.free.putAcker(acker)
	}
	a.released += int64(n)
	if !a.due && 2*(a.released-a.told) >= a.window {
		a.due = true
		s.due = append(s.due, a)
		s.signal()
	}
}

// signal wakes the writer of the current connection, if it is not awake.
func (s *session) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// askAck lets the writer send an ack. Callers hold mu.
func (s *session) askAck() {
	s.ackDue = true
	s.signal()
}

// ping asks for an ack as the sign of life that the sender wants.
func (s *session) ping() {
	s.mu.Lock()
	s.askAck()
	s.mu.Unlock()
}

// appendAck appends an ack frame with the grants that are due, or nothing.
func (s *session) appendAck(dst []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ackDue && len(s.due) == 0 {
		return dst
	}
	s.ackDue, s.unacked = false, 0
	head := len(dst)
	dst = appendFrame(dst, frameAck, s.received, nil)
	for i, a := range s.due {
		dst = appendGrants(dst, []grantNote{a.tell()})
		s.due[i] = nil
	}
	s.due = s.due[:0]
	putHeader(dst[head:], header{length: len(dst) - head - headerBytes, kind: frameAck, seq: s.received})
	return dst
}

func (a *account) tell() grantNote {
	a.told, a.due = a.released, false
	return grantNote{class: a.class, id: a.id, released: a.released}
}

// standing fills in where this end of the link stands, for a new connection.
func (s *session) standing(p *reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.life, p.received, p.window = s.life, s.received, s.window
	for _, accounts := range s.accounts {
		for _, a := range accounts {
			if a.released > 0 {
				p.grants = append(p.grants, a.tell())
			}
		}
	}
	clear(s.due)
	s.due, s.ackDue, s.unacked = s.due[:0], false, 0
}

// freeBatches are the empty batches of a session.
type freeBatches struct {
	limit  int // of the capacity of all together, in tuples
	cap    int
	tuples []*Batch
	acker  []*AckerBatch
}

const maxFreeAcker = 16

func (f *freeBatches) putTuples(b *Batch) {
	if n := cap(b.Tuples); f.cap+n <= f.limit {
		f.tuples = append(f.tuples, b)
		f.cap += n
	}
}

func (f *freeBatches) putAcker(b *AckerBatch) {
	if len(f.acker) < maxFreeAcker {
		f.acker = append(f.acker, b)
	}
}

func (s *session) takeBatch(a *account, n int) *Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.free
	last := len(f.tuples) - 1
	if last < 0 {
		return &Batch{from: a, Tuples: make([]storm.Tuple, 0, n)}
	}
	b := f.tuples[last]
	f.tuples[last] = nil
	f.tuples = f.tuples[:last]
	f.cap -= cap(b.Tuples)
	b.from = a
	return b
}

func (s *session) takeAcker(a *account) *AckerBatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.free
	last := len(f.acker) - 1
	if last < 0 {
		return &AckerBatch{from: a}
	}
	b := f.acker[last]
	f.acker[last] = nil
	f.acker = f.acker[:last]
	b.from = a
	return b
}

// growTuples makes room for n more tuples, which are zero.
func growTuples(ts []storm.Tuple, n int) []storm.Tuple {
	return slices.Grow(ts, n)[:len(ts)+n]
}
