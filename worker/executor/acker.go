package executor

import (
	"github.com/stormring/stormring/worker/acker"
)

// AckerSpec is an acker task; ackers have one task an executor.
type AckerSpec struct {
	Spec
	Inbox *AckInbox
	// Timed tells that Rotate is called once a message time-out.
	Timed bool
}

// Acker follows trees and tells spouts how they end.
type Acker struct {
	core
	inbox   *AckInbox
	ledger  *acker.Ledger
	empties []*AckBatch
}

var _ Executor = (*Acker)(nil)

// NewAcker makes the executor.
func NewAcker(s AckerSpec) *Acker {
	x := &Acker{inbox: s.Inbox, ledger: acker.NewLedger()}
	if s.Timed {
		x.ledger = acker.NewTimedLedger()
	}
	x.init(s.Spec)
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
		x.flush()
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

// queue puts outcomes into the outboxes of their spouts, run by run. Those of
// spouts that do not exist come from nowhere, and go there.
func (x *Acker) queue(list []acker.Outcome) {
	for len(list) > 0 {
		task := list[0].Root.Task()
		n := 1
		for n < len(list) && list[n].Root.Task() == task {
			n++
		}
		if box := x.outcomes.box(list[0].Root); box != nil {
			x.outcomes.put(box, list[:n]...)
		}
		list = list[n:]
	}
}
