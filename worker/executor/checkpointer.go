package executor

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/checkpoint"
	"github.com/stormring/stormring/worker/queue"
)

// Records keeps a topology's commit record.
type Records interface {
	// Record is what is there; the zero Record if nothing is.
	Record(ctx context.Context) (checkpoint.Record, error)
	// Swap writes next in place of expect.
	Swap(ctx context.Context, expect, next checkpoint.Record) checkpoint.Outcome
}

// CheckpointerSpec is the executor of the checkpoint task.
type CheckpointerSpec struct {
	// Config needs no Epoch: it follows from the record.
	Config checkpoint.Config
	// Sources are the tasks of spouts, which Send brings markers to.
	Sources []storm.TaskID
	Send    func(task storm.TaskID, m checkpoint.Marker)
	Records Records
	Logger  *slog.Logger
}

// Checkpointer runs the checkpoint task: it drives a checkpoint.Coordinator.
type Checkpointer struct {
	spec    CheckpointerSpec
	inbox   *queue.Inbox[*Batch] // posts only
	flow    Flow
	machine *checkpoint.Coordinator // nil before the record was read first, and while it rests
	// rival is what the record was when it was last looked at, while another placement
	// leads; nil if none does.
	rival   *checkpoint.Record
	timer   *time.Timer
	retryAt time.Time
	ctx     context.Context //nolint:containedctx // of reads and writes of the record; ends with Close
	cancel  context.CancelFunc
	calls   sync.WaitGroup
	status  atomic.Pointer[CheckpointStatus]
	active  sync.Once
}

var _ Executor = (*Checkpointer)(nil)

// CheckpointStatus is what others may know of a topology's checkpoints.
type CheckpointStatus struct {
	// Phase is where the coordinator stands, in Storm's spelling.
	Phase string
	// Committed is the last committed version, At when it was, zero if not by
	// this executor, and Took how long it was under way.
	Committed checkpoint.Version
	At        time.Time
	Took      time.Duration
	// Done, Abandoned and RolledBack count checkpoints, Slow those that took
	// longer than the interval.
	Done, Abandoned, RolledBack, Slow uint64
}

// NewCheckpointer makes the executor; nothing happens before Run.
func NewCheckpointer(s CheckpointerSpec) *Checkpointer {
	x := &Checkpointer{spec: s, inbox: queue.New[*Batch](1), timer: time.NewTimer(time.Hour)}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	x.status.Store(&CheckpointStatus{Phase: checkpoint.Loading.String()})
	return x
}

// Flow implements Executor: markers are counted by who sends them on.
func (x *Checkpointer) Flow() *Flow { return &x.flow }

// QueueLen implements Executor.
func (x *Checkpointer) QueueLen() int { return x.inbox.Len() }

// QueueLimit implements Executor.
func (x *Checkpointer) QueueLimit() int { return x.inbox.Limit() }

// Close implements Executor.
func (x *Checkpointer) Close() {
	x.cancel()
	x.inbox.Close()
}

// Status is what the executor last published.
func (x *Checkpointer) Status() CheckpointStatus { return *x.status.Load() }

// Activate begins the checkpoints, when the topology is active for the first time.
// From then on they go on, so that what is under way gets acked.
func (x *Checkpointer) Activate() { x.active.Do(func() { x.inbox.Urge(x.read) }) }

// Answer brings the answer of a task.
func (x *Checkpointer) Answer(a checkpoint.Answer) { x.tell(a) }

// Broken tells that all must go back to the last commit.
func (x *Checkpointer) Broken(reason string) { x.tell(checkpoint.Broken{Reason: reason}) }

// Installing tells whether the first era of this executor is not under way yet:
// whoever starts meanwhile is reached by it.
func (x *Checkpointer) Installing() bool {
	switch x.Status().Phase {
	case checkpoint.Loading.String(), checkpoint.Claiming.String(), checkpoint.Installing.String():
		return x.Status().RolledBack == 0
	}
	return false
}

func (x *Checkpointer) tell(e checkpoint.Event) {
	x.inbox.Urge(func() { x.step(e) })
}

// Run implements Executor.
func (x *Checkpointer) Run() error {
	defer x.calls.Wait()
	defer x.cancel()
	defer x.timer.Stop()
	x.retryAt = time.Now().Add(never)
	for {
		posts, ok := x.inbox.TakePosts()
		if !ok {
			return nil
		}
		runPosts(posts)
		due := x.retryAt
		if x.machine != nil {
			x.step(checkpoint.Tick{})
			due = x.machine.Due()
		}
		x.inbox.Wait(x.timer, max(time.Until(due), time.Microsecond))
		if x.machine == nil && !time.Now().Before(x.retryAt) {
			x.read()
		}
	}
}

// never is later than anything that is waited for.
const never = 24 * time.Hour

// read asks for the record, for the epoch to take.
func (x *Checkpointer) read() {
	x.retryAt = time.Now().Add(never)
	x.call(func() {
		r, err := x.spec.Records.Record(x.ctx)
		x.inbox.Urge(func() { x.begin(r, err) })
	})
}

// begin makes the machine, with an epoch above all earlier ones. Its lower half is
// random, so that two that begin at once differ.
func (x *Checkpointer) begin(r checkpoint.Record, err error) {
	if x.machine != nil {
		return
	}
	if err != nil {
		x.spec.Logger.Warn("the commit record of the topology's state cannot be read; trying again", "error", err)
		x.retryAt = time.Now().Add(x.spec.Config.Interval)
		return
	}
	if x.rival != nil && *x.rival != r {
		x.rival, x.retryAt = &r, time.Now().Add(x.watch())
		return // the other one is at work
	}
	if x.rival != nil {
		x.spec.Logger.Warn("the placement that led checkpoints has committed nothing for a while; this one leads again", "for", x.watch())
		x.rival = nil
	}
	cfg := x.spec.Config
	cfg.Epoch = (r.Epoch>>16+1)<<16 | uint64(rand.Uint32()&0xffff) //nolint:gosec // has to differ, no more
	x.machine = checkpoint.NewCoordinator(cfg)
}

// watch is after how long without news from the record another placement is taken for
// gone. Whoever starts last leads, and that may be one that a supervisor has started
// by what it knew before, and ends in a moment.
func (x *Checkpointer) watch() time.Duration {
	const intervals, least = 10, 5 * time.Second
	return max(intervals*x.spec.Config.Interval, least)
}

// rest leaves the checkpoints to another placement for as long as that is at work.
func (x *Checkpointer) rest() {
	x.machine, x.rival = nil, &checkpoint.Record{}
	x.retryAt = time.Now().Add(x.watch())
}

func (x *Checkpointer) call(f func()) { x.calls.Go(f) }

// step tells the machine what happened and does what it wants.
func (x *Checkpointer) step(e checkpoint.Event) {
	if x.machine == nil {
		return
	}
	now := time.Now()
	st := x.Status()
	for _, e := range x.machine.Step(now, e) {
		switch e := e.(type) {
		case checkpoint.Load:
			x.call(func() {
				r, err := x.spec.Records.Record(x.ctx)
				if err != nil && x.ctx.Err() == nil {
					x.spec.Logger.Warn("the commit record of the topology's state cannot be read; trying again", "error", err)
				}
				x.tell(checkpoint.Loaded{Record: r, Err: err})
			})
		case checkpoint.Store:
			x.call(func() {
				x.tell(checkpoint.Stored{Next: e.Next, Outcome: x.spec.Records.Swap(x.ctx, e.Expect, e.Next)})
			})
		case checkpoint.Send:
			for _, task := range x.spec.Sources {
				x.spec.Send(task, e.Marker)
			}
		case checkpoint.Slow, checkpoint.Done, checkpoint.Abandoned, checkpoint.RolledBack, checkpoint.Ended:
			x.show(now, e, &st)
		}
	}
	st.Phase, st.Committed = x.machine.Phase().String(), x.machine.Record().Committed
	x.status.Store(&st)
	if x.machine.Phase() == checkpoint.Retired {
		x.rest()
	}
}

// show tells people.
func (x *Checkpointer) show(now time.Time, e checkpoint.Effect, st *CheckpointStatus) {
	log := x.spec.Logger
	switch e := e.(type) {
	case checkpoint.Slow:
		st.Slow++
		log.Warn("a checkpoint takes longer than the interval", "txid", e.TxID, "phase", e.Phase, "for", e.For, "waits_for_tasks", e.Missing)
	case checkpoint.Done:
		st.Done++
		st.At, st.Took = now, e.Took
		log.Debug("checkpoint committed", "version", e.Version, "took", e.Took)
	case checkpoint.Abandoned:
		st.Abandoned++
		log.Warn("a checkpoint was given up; the next one holds what it would have held", "txid", e.TxID, "reason", e.Reason)
	case checkpoint.RolledBack:
		st.RolledBack++
		log.Warn("all tasks go back to the last committed checkpoint", "reason", e.Reason)
	case checkpoint.Ended:
		log.Warn("checkpoints are led by a later placement of their task; this one rests while that is at work")
	case checkpoint.Load, checkpoint.Store, checkpoint.Send: // done already
	}
}
