package transport

import (
	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// Batch is what arrived for an executor in one go. Who gets it owns it until
// Release.
type Batch struct {
	// Tuples may be copied and the copies kept; the slice may not.
	Tuples []storm.Tuple

	from    *account
	credits int
}

// Release gives the memory and the credits of b back; b must not be used
// afterwards. Any goroutine may call it, once.
func (b *Batch) Release() {
	if b.from == nil {
		panic("transport: a Batch is released twice")
	}
	a, n := b.from, b.credits
	b.clear()
	a.release(n, b, nil)
}

func (b *Batch) clear() {
	clear(b.Tuples) // so that it keeps no values alive
	b.Tuples, b.from = b.Tuples[:0], nil
}

// AckerBatch is what arrived for an acker task in one go. Who gets it owns it
// until Release.
type AckerBatch struct {
	Msgs   []acker.Message
	Fails  []track.Root
	Resets []track.Root

	from    *account
	credits int
}

func (b *AckerBatch) len() int { return len(b.Msgs) + len(b.Fails) + len(b.Resets) }

// Release gives the memory and the credits of b back; b must not be used
// afterwards. Any goroutine may call it, once.
func (b *AckerBatch) Release() {
	if b.from == nil {
		panic("transport: an AckerBatch is released twice")
	}
	a, n := b.from, b.credits
	b.clear()
	a.release(n, nil, b)
}

func (b *AckerBatch) clear() {
	b.Msgs, b.Fails, b.Resets, b.from = b.Msgs[:0], b.Fails[:0], b.Resets[:0], nil
}

// Receiver takes what arrives. Its methods are called by one goroutine per
// connection and must not block. Credits bound what it has to hold: for each
// sending worker, TupleCredits tuples an executor and AckerCredits messages an
// acker task.
//
// Order is kept among the calls for one executor, acker task or spout task,
// and among control messages; not between those.
type Receiver interface {
	// Tuples takes tuples for the tasks of dst.
	Tuples(from WorkerID, dst ExecutorID, b *Batch)
	// Acker takes messages for an acker task.
	Acker(from WorkerID, task storm.TaskID, b *AckerBatch)
	// Outcomes takes news for a spout task. The slice is used again after the
	// call.
	Outcomes(from WorkerID, task storm.TaskID, outcomes []acker.Outcome)
	// Control takes a message of the runtime itself.
	Control(from WorkerID, msg []byte)
}
