package executor

import (
	"fmt"
	"slices"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
	"github.com/stormring/stormring/worker/grouping"
)

// outbox collects tuples for one destination executor.
type outbox struct {
	lane  Lane[*Batch]
	batch *Batch
	dirty bool // in the list of those to be flushed
}

// ackOutbox collects messages for one acker task.
type ackOutbox struct {
	lane  Lane[*AckBatch]
	batch *AckBatch
	dirty bool
}

// stopped unwinds an executor whose worker is stopping.
type stopped struct{ cause error }

// output is the sending half of an executor: every task of it emits here.
type output struct {
	batchSize int
	boxes     []*outbox // those in use, each once
	dirty     []*outbox
	ackers    []*ackOutbox // by acker index
	dirtyAcks []*ackOutbox
	outcomes  outcomes
	random    uint64 // state of the generator of edges
	sent      uint64 // tuples put into outboxes
	flow      Flow
}

func (o *output) init(batchSize int, seed uint64, ackers []Lane[*AckBatch]) {
	o.batchSize, o.random = max(batchSize, 1), seed|1
	for _, lane := range ackers {
		o.ackers = append(o.ackers, &ackOutbox{lane: lane, batch: &AckBatch{}})
	}
}

// box is the one outbox for a lane.
func (o *output) box(lane Lane[*Batch]) *outbox {
	for _, b := range o.boxes {
		if b.lane == lane {
			return b
		}
	}
	b := &outbox{lane: lane, batch: &Batch{}}
	o.boxes = append(o.boxes, b)
	return b
}

// edge is a random number that is never 0 (xorshift64*).
func (o *output) edge() uint64 {
	x := o.random
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	o.random = x
	return x * 0x2545F4914F6CDD1D
}

// put copies t into an outbox.
func (o *output) put(box *outbox, t *storm.Tuple) {
	o.sent++
	b := box.batch
	n := len(b.Tuples)
	if n == cap(b.Tuples) {
		b.Tuples = slices.Grow(b.Tuples, max(n, 1))
	}
	b.Tuples = b.Tuples[:n+1]
	t.CopyTo(&b.Tuples[n])
	if n++; n >= o.batchSize {
		o.send(box)
	} else if n == 1 && !box.dirty {
		box.dirty = true
		o.dirty = append(o.dirty, box)
	}
}

// send hands the batch over. What was sent is published first, before anyone
// can publish its execution.
func (o *output) send(box *outbox) {
	o.flow.Sent.Store(o.sent)
	empty, err := box.lane.Send(box.batch, len(box.batch.Tuples))
	if err != nil {
		panic(stopped{err})
	}
	if empty == nil {
		empty = &Batch{}
	}
	box.batch = empty
}

// acker is the outbox for the acker task that follows a tree.
func (o *output) acker(root track.Root) *ackOutbox {
	if len(o.ackers) == 1 {
		return o.ackers[0]
	}
	return o.ackers[acker.Choose(root&^track.First, len(o.ackers))]
}

// message sends m to the acker of root.
func (o *output) message(root track.Root, m acker.Message) {
	box := o.acker(root)
	b := box.batch
	b.Messages = append(b.Messages, m)
	if n := len(b.Messages); n == 1 || n >= o.batchSize {
		o.ackQueued(box)
	}
}

func (o *output) fail(root track.Root) {
	box := o.acker(root)
	box.batch.Fails = append(box.batch.Fails, root)
	o.ackQueued(box)
}

func (o *output) resetTimeout(root track.Root) {
	box := o.acker(root)
	box.batch.Resets = append(box.batch.Resets, root)
	o.ackQueued(box)
}

// ackQueued sends a full batch, or remembers that there is one to be flushed.
func (o *output) ackQueued(box *ackOutbox) {
	if box.batch.Len() >= o.batchSize {
		o.sendAcks(box)
	} else if !box.dirty {
		box.dirty = true
		o.dirtyAcks = append(o.dirtyAcks, box)
	}
}

func (o *output) sendAcks(box *ackOutbox) {
	empty, err := box.lane.Send(box.batch, box.batch.Len())
	if err != nil {
		panic(stopped{err})
	}
	if empty == nil {
		empty = &AckBatch{}
	}
	box.batch = empty
}

// flush sends what is collected: outcomes and acks first, since they free
// others.
func (o *output) flush() {
	o.outcomes.flush()
	for _, box := range o.dirtyAcks {
		box.dirty = false
		if box.batch.Len() > 0 {
			o.sendAcks(box)
		}
	}
	o.dirtyAcks = o.dirtyAcks[:0]
	for _, box := range o.dirty {
		box.dirty = false
		if len(box.batch.Tuples) > 0 {
			o.send(box)
		}
	}
	o.dirty = o.dirty[:0]
}

// Subscription is one consumer of a stream, as a task of the emitter sees it.
type Subscription struct {
	Component string
	Grouping  *grouping.Grouping
	// Lanes are parallel to the grouping's targets.
	Lanes []Lane[*Batch]
}

// Stream is one output stream of one task.
type Stream struct {
	Origin *track.Origin
	Subs   []Subscription
}

// stream is a Stream made ready for emitting.
type stream struct {
	origin      *track.Origin
	only        *subscription // if there is one, which takes one task a tuple
	arity       int
	subs        []subscription
	emitted     uint64 // not yet in the statistics
	transferred uint64
}

type subscription struct {
	component string
	grouping  *grouping.Grouping
	kind      grouping.Kind
	single    bool
	tasks     []storm.TaskID
	boxes     []*outbox
	chosen    []int32
}

func (o *output) streams(specs []Stream) []stream {
	streams := make([]stream, len(specs))
	for i, spec := range specs {
		s := stream{origin: spec.Origin, arity: len(spec.Origin.Fields)}
		for _, sub := range spec.Subs {
			in := subscription{
				component: sub.Component, grouping: sub.Grouping, kind: sub.Grouping.Kind(),
				single: sub.Grouping.Single(), tasks: sub.Grouping.Targets(),
			}
			for _, lane := range sub.Lanes {
				in.boxes = append(in.boxes, o.box(lane))
			}
			s.subs = append(s.subs, in)
		}
		if len(s.subs) == 1 && s.subs[0].single {
			s.only = &s.subs[0]
		}
		streams[i] = s
	}
	return streams
}

// wrongArity refuses a tuple that does not fit its stream.
func (s *stream) wrongArity(t *storm.Tuple) {
	panic(&storm.UsageError{Reason: fmt.Sprintf("component %q emits %d values on stream %q, which declares %d fields %q",
		s.origin.Component, t.Len(), s.origin.Stream, s.arity, s.origin.Fields)})
}

// many asks a grouping that may choose any number of tasks.
func (in *subscription) many(s *stream, t *storm.Tuple) []int32 {
	if in.kind == grouping.Direct {
		panic(&storm.UsageError{Reason: fmt.Sprintf("component %q emits on direct stream %q without naming a task; use EmitDirect", s.origin.Component, s.origin.Stream)})
	}
	chosen, err := in.grouping.Choose(t, in.chosen[:0])
	if err != nil {
		panic(&storm.UsageError{Reason: fmt.Sprintf("component %q stream %q to component %q: %v", s.origin.Component, s.origin.Stream, in.component, err)})
	}
	in.chosen = chosen
	return chosen
}

// direct finds the subscription that task belongs to.
func (s *stream) direct(task storm.TaskID) (box *outbox) {
	for i := range s.subs {
		in := &s.subs[i]
		for j, id := range in.tasks {
			if id != task {
				continue
			}
			if in.kind != grouping.Direct {
				panic(&storm.UsageError{Reason: fmt.Sprintf("component %q emits directly to task %d of component %q on stream %q, which subscribes by another grouping", s.origin.Component, task, in.component, s.origin.Stream)})
			}
			return in.boxes[j]
		}
	}
	panic(&storm.UsageError{Reason: fmt.Sprintf("component %q emits directly to task %d on stream %q, but that task does not subscribe to it", s.origin.Component, task, s.origin.Stream)})
}
