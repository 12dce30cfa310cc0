package multilang

import (
	"io"
	"sync"
	"time"

	"github.com/stormring/stormring/multilang/protocol"
)

// outbox is what is to be written to a child, on two lanes: answers that it
// waits for, and the rest. It also knows what the child owes: an answer to a
// heartbeat or command, and inputs.
//
// The inputs in flight are those of which nobody knows whether the child has
// read them: neither settled, nor followed by a heartbeat that was answered. A
// bolt that holds on to its inputs, for a batch or a window, can therefore hold
// any number of them; one that is slow holds no more than the limit.
//
// A child that settles nothing may be silent until it has done all that is in
// flight. Before it is known how long that takes there is little, so that it is
// not taken for one that hangs.
type outbox struct {
	enc protocol.Encoder
	w   io.WriteCloser
	// wake and room have capacity 1. room tells the task that it may look
	// again whether it has room.
	wake, room chan struct{}
	maxPending int
	// patience is how long a child may be silent over all that is in flight;
	// its time-out is a multiple of that. 0: for ever.
	patience time.Duration

	mu      sync.Mutex
	limit   int  // of inputs in flight, up to maxPending
	settles bool // the child has acked or failed an input
	alive   bool // it has answered a heartbeat
	beats   int  // that were sent
	answers []byte
	rest    []byte
	closed  bool
	asleep  bool      // the writer waits for wake
	owed    int       // answers to heartbeats or commands
	since   time.Time // when the child last gave one or began to owe
	epoch   uint64    // counts heartbeats
	before  int       // inputs in flight since before the heartbeat that is owed
	after   int       // inputs in flight since then
}

const (
	// firstLimit is how many inputs a child gets before it has shown how fast it
	// is.
	firstLimit = 8
	// maxQueuedBytes is how much may wait for the writer before the task does.
	maxQueuedBytes = 1 << 20
	// maxAnswerBytes is how much may wait on the lane of answers before a child
	// that does not read them is not listened to.
	maxAnswerBytes = 16 << 20
)

func newOutbox(enc protocol.Encoder, w io.WriteCloser, maxPending int) *outbox {
	return &outbox{enc: enc, w: w, maxPending: maxPending, limit: min(maxPending, firstLimit), wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// run writes until the outbox is closed and empty, or the pipe is broken.
func (o *outbox) run() error {
	defer o.w.Close()
	var answers, rest []byte
	for {
		o.mu.Lock()
		o.answers, answers = answers[:0], o.answers
		o.rest, rest = rest[:0], o.rest
		closed := o.closed
		o.asleep = len(answers)+len(rest) == 0 && !closed
		asleep := o.asleep
		o.mu.Unlock()
		if asleep {
			<-o.wake
			continue
		}
		if len(answers)+len(rest) == 0 {
			return nil
		}
		if len(rest) >= maxQueuedBytes || len(answers) >= maxAnswerBytes {
			o.makeRoom()
		}
		for _, b := range [][]byte{answers, rest} {
			if len(b) == 0 {
				continue
			}
			if _, err := o.w.Write(b); err != nil {
				return err
			}
		}
		answers, rest = shrink(answers), shrink(rest)
	}
}

// shrink lets a buffer go that one large message has made large.
func shrink(b []byte) []byte {
	if cap(b) > 4*maxQueuedBytes {
		return nil
	}
	return b[:0]
}

// close has the writer end once everything is written.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.rouse()
	o.mu.Unlock()
}

// abort has the writer end at once.
func (o *outbox) abort() {
	o.close()
	o.w.Close()
}

// rouse wakes the writer if it sleeps. mu is held.
func (o *outbox) rouse() {
	if o.asleep {
		o.asleep = false
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
}

func (o *outbox) makeRoom() {
	select {
	case o.room <- struct{}{}:
	default:
	}
}

// full reports whether another input has to wait.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.rest) >= maxQueuedBytes {
		return true
	}
	if o.before+o.after < o.limit {
		return false
	}
	// An answer will tell that the child has read them.
	if o.owed == 0 {
		o.beat()
	}
	return true
}

// choked reports whether so many answers wait that no more requests may be
// served.
func (o *outbox) choked() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.answers) >= maxAnswerBytes
}

// send queues what add appends, on the lane of answers or the other one.
func (o *outbox) send(answer bool, add func(dst []byte) ([]byte, error)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	lane := &o.rest
	if answer {
		lane = &o.answers
	}
	b, err := add(*lane)
	if err != nil {
		return err
	}
	*lane = b
	o.rouse()
	return nil
}

// command queues a command to a spout. owes tells that it then owes an answer.
func (o *outbox) command(name, id string, owes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if owes {
		if o.owed++; o.owed == 1 {
			o.since = time.Now()
		}
	}
	o.rest = o.enc.Command(o.rest, name, id)
	o.rouse()
}

// heartbeat asks a bolt for a sign of life, unless it owes one already.
func (o *outbox) heartbeat() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.owed == 0 {
		o.beat()
	}
}

func (o *outbox) beat() {
	o.owed, o.since = 1, time.Now()
	o.epoch++
	o.beats++
	o.before, o.after = o.after, 0
	o.rest = o.enc.Heartbeat(o.rest)
	o.rouse()
}

// synced notes an answer to a heartbeat or command.
func (o *outbox) synced() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.owed == 0 {
		return
	}
	o.owed--
	o.alive = true
	now := time.Now()
	o.adapt(now.Sub(o.since))
	o.since = now
	o.before = 0
	o.makeRoom() // or for the next heartbeat, to ask whether it has read the rest
}

// adapt sets the limit for a child that settles nothing: took is how long it was
// for what was in flight.
func (o *outbox) adapt(took time.Duration) {
	switch {
	case o.settles:
	case o.patience > 0 && took > o.patience:
		o.limit = max(1, o.limit/2)
	case o.before >= o.limit/2 && took < o.patience/4 || o.patience == 0:
		o.limit = min(o.maxPending, 2*o.limit)
	}
}

// sent notes an input. mu is held.
func (o *outbox) sent() {
	if o.deaf() {
		o.since = time.Now() // only from now on does it owe anything
	}
	o.after++
}

// deaf reports whether the child may not know heartbeats, as those made for
// Storm before 0.9.3: it has nothing to do, and has answered none. Then there is
// no need of it. mu is held.
func (o *outbox) deaf() bool { return o.beats > 0 && !o.alive && o.before+o.after == 0 }

// settled notes that an input of an epoch is not in flight any more. The task
// calls it, so nobody needs to be told.
func (o *outbox) settled(epoch uint64) {
	switch {
	case epoch == o.epoch:
		o.after--
	case epoch+1 == o.epoch && o.before > 0:
		o.before--
	}
}

// owes tells since when the child owes something, as far as that is known, and
// whether it may not know that it does.
func (o *outbox) owes() (since time.Time, yes, deaf bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.since, o.owed > 0, o.deaf()
}
