package executor

import (
	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
	"github.com/stormring/stormring/worker/queue"
)

// Batch is tuples on their way to one executor.
type Batch struct {
	Tuples []storm.Tuple
	// Home takes the batch back when it belongs to a connection; nil if it
	// belongs to the inbox.
	Home interface{ Release() }
}

// Reset empties the batch so that it keeps no user data alive.
func (b *Batch) Reset() {
	clear(b.Tuples)
	b.Tuples = b.Tuples[:0]
}

// AckBatch is messages on their way to one acker task.
type AckBatch struct {
	Messages []acker.Message
	Fails    []track.Root
	Resets   []track.Root
	// Home takes the batch back when it belongs to a connection; nil if it
	// belongs to the inbox.
	Home interface{ Release() }
}

// Len is the number of messages of all kinds.
func (b *AckBatch) Len() int { return len(b.Messages) + len(b.Fails) + len(b.Resets) }

// Reset empties the batch.
func (b *AckBatch) Reset() {
	b.Messages, b.Fails, b.Resets = b.Messages[:0], b.Fails[:0], b.Resets[:0]
}

// OutcomeBatch is results of trees on their way to one spout executor.
type OutcomeBatch struct{ Outcomes []acker.Outcome }

// Lane takes batches to one executor, in this worker or another. Send may wait
// for room. It returns an empty batch to fill next, perhaps the one it was
// given, or nil. The error ends the sender: its worker is stopping.
type Lane[B any] interface {
	Send(b B, n int) (B, error)
}

// The inboxes of the three kinds of executor.
type (
	// TupleInbox feeds a bolt.
	TupleInbox = queue.Inbox[*Batch]
	// AckInbox feeds an acker.
	AckInbox = queue.Inbox[*AckBatch]
	// OutcomeInbox feeds a spout.
	OutcomeInbox = queue.Inbox[*OutcomeBatch]
)

// Local is the lane to an executor of the same worker, with back-pressure.
type Local[B any] struct{ Inbox *queue.Inbox[B] }

// Send implements Lane.
func (l Local[B]) Send(b B, n int) (B, error) { return l.Inbox.Push(b, n) }

// Unbounded is the lane to an executor of the same worker for what is bounded
// elsewhere, and for an executor's lane to itself.
type Unbounded[B any] struct{ Inbox *queue.Inbox[B] }

// Send implements Lane.
func (l Unbounded[B]) Send(b B, n int) (B, error) { return l.Inbox.Offer(b, n) }
