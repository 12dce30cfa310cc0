package simulation

import (
	"errors"
	"time"

	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/worker/checkpoint"
)

// versionOf is a checkpoint's version as the ring has it.
func versionOf(v checkpoint.Version) shard.Version {
	return shard.Version(v.Era)<<40 | shard.Version(v.TxID)
}

func (w *ringWorld) newLeader() {
	w.epoch++
	w.note("leader %d", w.epoch)
	w.leader = checkpoint.NewCoordinator(checkpoint.Config{
		Stateful: w.plan.Stateful, Epoch: w.epoch, Interval: time.Second, Timeout: 3 * time.Second,
		InstallTimeout: 6 * time.Second, MaxTimeouts: 3,
	})
	w.lead(w.leader, checkpoint.Tick{})
}

// restartLeader starts another checkpoint task; the old one may not know.
func (w *ringWorld) restartLeader() {
	w.zombie = nil
	if w.chance(2) {
		w.zombie = w.leader
	}
	w.newLeader()
}

// lead tells a coordinator what happened and does what it says.
func (w *ringWorld) lead(c *checkpoint.Coordinator, ev checkpoint.Event) {
	if c == nil || c != w.leader && c != w.zombie {
		return
	}
	for _, e := range c.Step(w.time(), ev) {
		switch e := e.(type) {
		case checkpoint.Load:
			w.after(w.millis(1, 30), func() { w.readRecord(c) })
		case checkpoint.Store:
			w.after(w.millis(1, 30), func() { w.storeRecord(c, e) })
		case checkpoint.Send:
			for _, t := range w.plan.Sources {
				w.enqueue(leaderTask, t, ringItem{marker: e.Marker})
			}
		case checkpoint.Done:
			w.note("committed %v", e.Version)
			w.Counts.Commits++
		case checkpoint.RolledBack:
			w.note("rolled back: %s", e.Reason)
			w.Counts.Rollbacks++
		case checkpoint.Abandoned:
			w.note("abandoned %d: %s", e.TxID, e.Reason)
		case checkpoint.Slow, checkpoint.Ended:
			w.note("%T%+v", e, e)
		}
	}
	// At the due time, if nothing else has changed it by then.
	due := c.Due()
	w.after(max(due.Sub(w.time()), 0), func() {
		if c.Due().Equal(due) && c.Phase() != checkpoint.Retired {
			w.lead(c, checkpoint.Tick{})
		}
	})
}

func (w *ringWorld) answer(a checkpoint.Answer) {
	for range 1 + w.rng.IntN(20)/19 {
		if w.fault(80) {
			continue
		}
		w.after(w.millis(1, 30), func() {
			w.note("answer %+v", a)
			w.lead(w.leader, a)
			w.lead(w.zombie, a)
		})
	}
}

var errStoreAway = errors.New("the coordination store is away")

func (w *ringWorld) readRecord(c *checkpoint.Coordinator) {
	if w.storeAway || w.fault(10) {
		w.lead(c, checkpoint.Loaded{Err: errStoreAway})
		return
	}
	w.lead(c, checkpoint.Loaded{Record: w.record})
}

func (w *ringWorld) storeRecord(c *checkpoint.Coordinator, s checkpoint.Store) {
	if w.storeAway || w.fault(10) {
		if w.chance(2) { // it may come through later
			w.after(w.millis(10, 2000), func() { w.compareAndSet(s) })
		}
		w.lead(c, checkpoint.Stored{Next: s.Next, Outcome: checkpoint.Unknown})
		return
	}
	outcome := checkpoint.Refused
	if w.compareAndSet(s) {
		outcome = checkpoint.Written
	}
	w.lead(c, checkpoint.Stored{Next: s.Next, Outcome: outcome})
}

func (w *ringWorld) compareAndSet(s checkpoint.Store) bool {
	if w.record != s.Expect {
		return false
	}
	w.note("record %+v", s.Next)
	w.before, w.record = w.record, s.Next
	if s.Next.Committed != s.Expect.Committed {
		w.truth.commit(w, s.Next.Committed)
		w.tempt("commit")
	}
	return true
}
