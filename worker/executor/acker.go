package executor

import (
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// AckerSpec is an acker task; ackers have one task an executor.
type AckerSpec struct {
	Spec
	Inbox *AckInbox
	// Spouts maps spout tasks to their lanes.
	Spouts map[storm.TaskID]Lane[*OutcomeBatch]
	// Timed tells that Rotate is called once a message time-out.
	Timed bool
}

// Acker follows trees and tells spouts how they end.
type Acker struct {
	core
	inbox   *AckInbox
	ledger  *acker.Ledger
	lanes   []*outcomeOutbox // by spout task; nil for other tasks
	dirty   []*outcomeOutbox
	empties []*AckBatch
}

var _ Executor = (*Acker)(nil)

type outcomeOutbox struct {
	lane  Lane[*OutcomeBatch]
	batch *OutcomeBatch
	dirty bool
}

// NewAcker makes the executor.
func NewAcker(s AckerSpec) *Acker {
	x := &Acker{inbox: s.Inbox, ledger: acker.NewLedger()}
	if s.Timed {
		x.ledger = acker.NewTimedLedger()
	}
	x.init(s.Spec)
	boxes := map[Lane[*OutcomeBatch]]*outcomeOutbox{}
	for task, lane := range s.Spouts {
		for len(x.lanes) <= int(task) {
			x.lanes = append(x.lanes, nil)
		}
		if boxes[lane] == nil {
			boxes[lane] = &outcomeOutbox{lane: lane, batch: &OutcomeBatch{}}
		}
		x.lanes[task] = boxes[lane]
	}
	return x
}

// QueueLen implements Executor.
func (x *Acker) QueueLen() int { return x.inbox.Len() }

// QueueLimit implements Executor.
func (x *Acker) QueueLimit() int { return x.inbox.Limit() }

// Close implements Executor.
func (x *Acker) Close() { x.inbox.Close() }

// Rotate lets one message time-out pass.
func (x *Acker) Rotate() { x.inbox.Urge(x.ledger.Rotate) }

// Run implements Executor.
func (x *Acker) Run() error {
	x.enter(x.Tasks[0].ID, atCounting)
	err := x.guard(x.loop)
	x.inbox.Close()
	return err
}

func (x *Acker) loop() error {
	for {
		batches, posts, ok := x.inbox.Take(x.empties)
		if !ok {
			return nil
		}
		x.empties = x.empties[:0]
		runPosts(posts)
		for _, b := range batches {
			x.apply(b)
		}
		if x.inbox.Ready() {
			continue
		}
		x.sendAll()
		x.inbox.Wait(nil, 0)
	}
}

func (x *Acker) apply(b *AckBatch) {
	x.ledger.Apply(b.Messages)
	for _, root := range b.Fails {
		x.ledger.Fail(root)
	}
	for _, root := range b.Resets {
		x.ledger.ResetTimeout(root)
	}
	x.Stats.Executed(0, uint64(b.Len()), 0, 0)
	x.queue(x.ledger.Outcomes())
	x.ledger.ClearOutcomes()
	if b.Home != nil {
		b.Home.Release()
		return
	}
	b.Reset()
	x.empties = append(x.empties, b)
}

// queue puts outcomes into the outboxes of their spouts, run by run.
func (x *Acker) queue(outcomes []acker.Outcome) {
	for len(outcomes) > 0 {
		task := outcomes[0].Root.Task()
		n := 1
		for n < len(outcomes) && outcomes[n].Root.Task() == task {
			n++
		}
		if int(task) < len(x.lanes) && x.lanes[task] != nil {
			x.put(x.lanes[task], outcomes[:n])
		}
		outcomes = outcomes[n:]
	}
}

func (x *Acker) put(box *outcomeOutbox, outcomes []acker.Outcome) {
	box.batch.Outcomes = append(box.batch.Outcomes, outcomes...)
	if len(box.batch.Outcomes) >= x.BatchSize {
		x.send(box)
		return
	}
	if !box.dirty {
		box.dirty = true
		x.dirty = append(x.dirty, box)
	}
}

func (x *Acker) send(box *outcomeOutbox) {
	n := len(box.batch.Outcomes)
	if n == 0 {
		return
	}
	empty, err := box.lane.Send(box.batch, n)
	if err != nil {
		panic(stopped{err})
	}
	if empty == nil {
		empty = &OutcomeBatch{}
	}
	box.batch = empty
}

func (x *Acker) sendAll() {
	for _, box := range x.dirty {
		box.dirty = false
		x.send(box)
	}
	x.dirty = x.dirty[:0]
}
