package transport

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// account counts what one sender has under way to one executor or acker task
// of ours.
type account struct {
	s      *session
	class  creditClass
	id     int32
	window int64

	// Owned by the reader of the connection.
	received int64 // counted against the credits, since the session began
	tuples   *Batch
	acker    *AckerBatch
	dropped  int // tuples of the frame at hand that were left out

	// Guarded by s.mu.
	released int64 // given back by the consumer
	told     int64 // of these, known to the sender or about to be
	due      bool  // in s.due
}

// session is our end of a link: what we know about one life of a sending
// worker. It outlives connections.
type session struct {
	from     WorkerID
	peerLife uint64
	life     uint64
	window   [creditClasses]int64
	ackBytes int // received bytes that are worth an ack
	wake     chan struct{}

	// attaching serialises connections that want to be the current one.
	attaching sync.Mutex
	current   *inbound

	// Owned by the reader of the current connection.
	dec      decoder
	unpacked []byte
	touched  []*account // with a batch from the frame at hand
	outcomes []acker.Outcome
	lots     []outcomeLot
	controls [][]byte

	mu       sync.Mutex
	accounts [creditClasses]map[int32]*account // written by the reader, under mu
	received uint64                            // last data frame
	unacked  int                               // bytes since the last ack
	ackDue   bool
	due      []*account // with enough released to be told
	free     freeBatches
}

// outcomeLot is a part of session.outcomes for one spout task.
type outcomeLot struct {
	task int32
	end  int
}

// newSession begins a session. onRefused is told of tuples that are left out.
func newSession(h hello, life uint64, cfg *Config, origins Origins, onRefused func(error)) *session {
	s := &session{
		from: h.from, peerLife: h.life, life: life,
		window: [creditClasses]int64{tupleCredits: int64(cfg.TupleCredits), ackerCredits: int64(cfg.AckerCredits)},
		// Often enough that the sender's buffers stay in its cache, and well
		// before its window is full.
		ackBytes: min(cfg.WindowBytes/4, 256<<10),
		wake:     make(chan struct{}, 1),
		dec:      decoder{origins: origins, codecs: cfg.Codecs, onRefused: onRefused},
	}
	s.free.limit = 4 * cfg.TupleCredits
	for class := range s.accounts {
		s.accounts[class] = make(map[int32]*account)
	}
	return s
}

// frame takes a data frame in: either all of it is handed to recv, or nothing.
// It returns what it handed over.
func (s *session) frame(h header, payload []byte, recv Receiver) (frameCount, error) {
	if h.seq <= s.received {
		return frameCount{frames: 1, bytes: headerBytes + len(payload), duplicates: 1}, nil
	}
	if h.seq != s.received+1 {
		return frameCount{}, fmt.Errorf("frame %d follows frame %d", h.seq, s.received)
	}
	n := frameCount{frames: 1, bytes: headerBytes + len(payload)}
	if h.flags&flagS2 != 0 {
		var err error
		if payload, err = s.unpack(payload); err != nil {
			return frameCount{}, fmt.Errorf("frame %d: %w", h.seq, err)
		}
	}
	if err := s.decode(payload); err != nil {
		s.discard()
		return frameCount{}, fmt.Errorf("frame %d: %w", h.seq, err)
	}
	s.deliver(recv, &n)
	s.mu.Lock()
	s.received = h.seq
	s.unacked += headerBytes + len(payload)
	if s.unacked >= s.ackBytes {
		s.askAck()
	}
	s.mu.Unlock()
	return n, nil
}

func (s *session) unpack(b []byte) ([]byte, error) {
	n, err := s2.DecodedLen(b)
	if err != nil {
		return nil, fmt.Errorf("compressed length: %w", err)
	}
	if n > maxPackedBytes {
		return nil, fmt.Errorf("unpacks to %d bytes, more than the limit of %d", n, maxPackedBytes)
	}
	if n > len(s.unpacked) {
		s.unpacked = make([]byte, n)
	}
	out, err := s2.Decode(s.unpacked, b)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return out, nil
}

// decode reads all records of a frame into touched, outcomes and controls.
func (s *session) decode(payload []byte) error {
	r := reader{b: payload}
	for r.remaining() > 0 {
		switch kind := recordKind(r.byte()); kind {
		case recordTuples:
			s.decodeTuples(&r)
		case recordAcker:
			s.decodeAcker(&r)
		case recordOutcomes:
			var task int32
			task, s.outcomes = r.outcomes(s.outcomes)
			s.lots = append(s.lots, outcomeLot{task, len(s.outcomes)})
		case recordControl:
			s.controls = append(s.controls, append([]byte(nil), r.block()...))
		default:
			r.fail("unknown record kind %d", kind)
		}
	}
	return r.err
}

func (s *session) decodeTuples(r *reader) {
	ex, n := r.tuplesHead()
	if r.err != nil {
		return
	}
	a := s.account(r, tupleCredits, int32(ex), n)
	if a == nil {
		return
	}
	if a.tuples == nil {
		a.tuples = s.takeBatch(a, n)
		s.touched = append(s.touched, a)
	}
	b := a.tuples
	at := len(b.Tuples)
	b.Tuples = growTuples(b.Tuples, n)
	kept := s.dec.tuples(r, ex, b.Tuples[at:])
	if r.err != nil {
		return // with b as long as it was touched, for discard to clear
	}
	b.Tuples = b.Tuples[:at+kept]
	a.dropped += n - kept
}

func (s *session) decodeAcker(r *reader) {
	task, msgs, fails, resets := r.ackerHead()
	if r.err != nil {
		return
	}
	a := s.account(r, ackerCredits, task, msgs+fails+resets)
	if a == nil {
		return
	}
	if a.acker == nil {
		a.acker = s.takeAcker(a)
		s.touched = append(s.touched, a)
	}
	r.acker(a.acker, msgs, fails, resets)
}

// account finds the account of a destination and checks that n more are
// within its credits. A batch of the frame at hand is counted on delivery.
func (s *session) account(r *reader, class creditClass, id int32, n int) *account {
	a := s.accounts[class][id]
	if a == nil {
		a = &account{s: s, class: class, id: id, window: s.window[class]}
		s.mu.Lock()
		s.accounts[class][id] = a
		s.mu.Unlock()
	}
	under := a.received + int64(n+a.dropped)
	if a.tuples != nil {
		under += int64(len(a.tuples.Tuples))
	}
	if a.acker != nil {
		under += int64(a.acker.len())
	}
	s.mu.Lock()
	under -= a.released
	s.mu.Unlock()
	if under > a.window {
		r.fail("%d under way to task %d, more than the credits of %d", under, id, a.window)
		return nil
	}
	return a
}

// deliver hands over what decode read.
func (s *session) deliver(recv Receiver, n *frameCount) {
	for i, a := range s.touched {
		s.touched[i] = nil
		if b := a.tuples; b != nil {
			a.tuples = nil
			b.credits = len(b.Tuples) + a.dropped
			a.received += int64(b.credits)
			n.tuples += len(b.Tuples)
			n.dropped += a.dropped
			a.dropped = 0
			if len(b.Tuples) == 0 {
				b.Release()
			} else {
				recv.Tuples(s.from, ExecutorID(a.id), b)
			}
		}
		if b := a.acker; b != nil {
			a.acker = nil
			b.credits = b.len()
			a.received += int64(b.credits)
			n.acker += b.credits
			recv.Acker(s.from, storm.TaskID(a.id), b)
		}
	}
	s.touched = s.touched[:0]
	start := 0
	for _, lot := range s.lots {
		recv.Outcomes(s.from, storm.TaskID(lot.task), s.outcomes[start:lot.end:lot.end])
		start = lot.end
	}
	n.outcomes += start
	s.lots, s.outcomes = s.lots[:0], s.outcomes[:0]
	for _, msg := range s.controls {
		recv.Control(s.from, msg)
	}
	s.controls = nil
}

// discard forgets what decode read before it failed.
func (s *session) discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.touched {
		if a.tuples != nil {
			a.tuples.clear()
			s.free.putTuples(a.tuples)
			a.tuples, a.dropped = nil, 0
		}
		if a.acker != nil {
			a.acker.clear()
			s.free.putAcker(a.acker)
			a.acker = nil
		}
	}
	clear(s.touched)
	s.touched, s.lots, s.outcomes, s.controls = s.touched[:0], s.lots[:0], s.outcomes[:0], nil
}
