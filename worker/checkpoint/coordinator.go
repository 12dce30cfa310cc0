package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Phase is where the coordinator stands. The last four are Storm's states,
// committing in two steps.
type Phase uint8

// The phases of a coordinator.
const (
	// Loading waits for the record.
	Loading Phase = iota + 1
	// Claiming waits for the record to name the new era.
	Claiming
	// Installing waits for all stateful tasks to have their state.
	Installing
	// Committed waits for the next interval.
	Committed
	// Preparing waits for all stateful tasks to have theirs safe.
	Preparing
	// PreCommitting waits for the components that act before a commit.
	PreCommitting
	// Committing waits for the record to name the version.
	Committing
	// Retired is the end: a newer placement of the checkpoint task has taken over.
	Retired
)

// String is the phase's name in Storm's spelling.
func (p Phase) String() string {
	names := [...]string{"", "LOADING", "CLAIMING", "INSTALLING", "COMMITTED", "PREPARING", "PRECOMMITTING", "COMMITTING", "RETIRED"}
	if int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("PHASE %d", uint8(p))
}

// Config is what a coordinator has to know.
type Config struct {
	// Stateful are the tasks that keep state, spouts and bolts.
	Stateful []int32
	// Epoch is the placement of the checkpoint task; a later one is greater.
	Epoch uint64
	// Interval is from the start of a checkpoint to that of the next, and the
	// shortest time between two rollbacks.
	Interval time.Duration
	// Timeout is how long tasks may take to prepare, all together. Each one that
	// passes doubles both time-outs, up to 16 times; each commit halves them.
	Timeout time.Duration
	// InstallTimeout is how long they may take to install their state.
	InstallTimeout time.Duration
	// MaxTimeouts is the number of checkpoints that may time out in a row before
	// all goes back to the last committed one.
	MaxTimeouts int
}

// Check says what is wrong with the configuration.
func (c Config) Check() error {
	switch {
	case c.Interval <= 0:
		return fmt.Errorf("checkpoint interval %v: it must be above 0", c.Interval)
	case c.Timeout <= 0 || c.InstallTimeout <= 0:
		return fmt.Errorf("checkpoint time-outs %v and %v: they must be above 0", c.Timeout, c.InstallTimeout)
	case c.MaxTimeouts < 1:
		return fmt.Errorf("checkpoints that may time out in a row: %d, must be at least 1", c.MaxTimeouts)
	}
	return nil
}

// Coordinator is the checkpoint task's machine: it begins checkpoints, one at a
// time, and decides which of them are committed. It is fed with Step.
type Coordinator struct {
	cfg   Config
	phase Phase
	// record is the last that was read or written for certain.
	record Record
	// writing is the record whose outcome is awaited, zero if none.
	writing Record
	era     Era
	tx      int64 // the last transaction of this era
	missing map[int32]bool
	pre     map[int32]bool
	// started is when the checkpoint under way, or the installation, began.
	started time.Time
	// due is when the phase ends by itself: the next try, checkpoint or time-out.
	due      time.Time
	slow     bool // told already that this one is slow
	pause    bool // the next checkpoint pauses spouts
	timeouts int
	// patience doubles time-outs: what can only be done slowly gets done.
	patience int
	// recovered is when the last recovery began.
	recovered time.Time
	// fresh tells that no era was begun by this machine yet.
	fresh bool
	out   []Effect
}

// NewCoordinator makes the machine of a checkpoint task that has just started,
// first or again. The first Tick makes it read the record.
func NewCoordinator(cfg Config) *Coordinator {
	return &Coordinator{cfg: cfg, phase: Loading, fresh: true}
}

// Phase is where it stands.
func (c *Coordinator) Phase() Phase { return c.phase }

// Record is the record as it last knew it.
func (c *Coordinator) Record() Record { return c.record }

// Due is when the next Tick is wanted; a zero time means at once.
func (c *Coordinator) Due() time.Time {
	if slowAt := c.started.Add(c.cfg.Interval); c.working() && !c.slow && slowAt.Before(c.due) {
		return slowAt
	}
	return c.due
}

// working tells whether a checkpoint is under way.
func (c *Coordinator) working() bool {
	return c.phase == Preparing || c.phase == PreCommitting || c.phase == Committing
}

// Step tells the machine what happened and returns what is to be done, in order.
func (c *Coordinator) Step(now time.Time, ev Event) []Effect {
	c.out = nil
	if c.phase == Retired {
		return nil
	}
	switch ev := ev.(type) {
	case Tick:
		c.tick(now)
	case Loaded:
		c.loaded(now, ev)
	case Stored:
		c.stored(now, ev)
	case Answer:
		c.answer(now, ev)
	case Broken:
		// Before Installing nobody has heard of the coming era yet: whoever
		// restarts will be reached by it.
		if c.phase > Claiming {
			c.recoverAll(now, ev.Reason)
		}
	}
	return c.out
}

func (c *Coordinator) do(e Effect) { c.out = append(c.out, e) }

func (c *Coordinator) tick(now time.Time) {
	if c.working() && !c.slow && now.Sub(c.started) >= c.cfg.Interval {
		c.slow = true
		c.do(Slow{TxID: c.tx, Phase: c.phase, For: now.Sub(c.started), Missing: c.waitsFor()})
	}
	if now.Before(c.due) {
		return
	}
	switch c.phase {
	case Loading:
		c.load(now)
	case Installing:
		c.recoverAll(now, fmt.Sprintf("tasks %v have not installed their state within %v", c.waitsFor(), c.due.Sub(c.started)))
		c.patience = min(c.patience+1, maxPatience)
	case Committed:
		c.begin(now)
	case Preparing, PreCommitting:
		c.timeouts++
		reason := fmt.Sprintf("tasks %v have not answered within %v", c.waitsFor(), c.due.Sub(c.started))
		c.patience = min(c.patience+1, maxPatience)
		if c.timeouts >= c.cfg.MaxTimeouts {
			c.recoverAll(now, fmt.Sprintf("%d checkpoints in a row timed out, the last: %s", c.timeouts, reason))
			return
		}
		c.pause = true
		c.abandon(now, reason)
	case Claiming, Committing, Retired:
		// A write is waited for, however long: its outcome decides.
	}
}

// maxPatience allows 16 times the configured time-outs.
const maxPatience = 4

// never is a due time for phases that do not end by themselves.
func never(now time.Time) time.Time { return now.Add(100 * 365 * 24 * time.Hour) }

func (c *Coordinator) load(now time.Time) {
	c.due = never(now)
	c.do(Load{})
}

// recoverAll leads everybody back to the committed version in a new era. What
// was written last may or may not be there, so the record decides.
func (c *Coordinator) recoverAll(now time.Time, reason string) {
	c.do(RolledBack{TxID: c.tx, Reason: reason})
	c.phase, c.writing, c.timeouts = Loading, Record{}, 0
	c.due = c.recovered.Add(c.cfg.Interval)
	if !now.Before(c.due) {
		c.load(now)
	}
}

// retry reads the record again, after a pause.
func (c *Coordinator) retry(now time.Time) {
	c.phase, c.writing = Loading, Record{}
	c.due = now.Add(c.cfg.Interval)
}

func (c *Coordinator) loaded(now time.Time, ev Loaded) {
	switch {
	case c.phase != Loading:
		return // from before a change of mind
	case ev.Err != nil:
		c.retry(now)
		return
	case c.replaced(ev.Record):
		return
	}
	c.record = ev.Record
	c.recovered = now
	next := ev.Record
	next.Last++
	next.Epoch = c.cfg.Epoch
	c.phase = Claiming
	c.write(now, next)
}

// replaced retires the machine if a later placement wrote the record.
func (c *Coordinator) replaced(r Record) bool {
	if r.Epoch <= c.cfg.Epoch {
		return false
	}
	c.phase = Retired
	c.do(Ended{By: r.Epoch})
	return true
}

func (c *Coordinator) write(now time.Time, next Record) {
	c.writing = next
	c.due = never(now)
	c.do(Store{Expect: c.record, Next: next})
}

func (c *Coordinator) stored(now time.Time, ev Stored) {
	if ev.Next != c.writing || c.phase != Claiming && c.phase != Committing {
		return
	}
	claiming := c.phase == Claiming
	if ev.Outcome != Written {
		c.writing = Record{}
		if claiming {
			c.retry(now)
			return
		}
		c.recoverAll(now, "it is not certain that the commit record was written")
		return
	}
	c.record, c.writing = ev.Next, Record{}
	if claiming {
		c.install(now)
		return
	}
	c.timeouts, c.patience = 0, max(c.patience-1, 0)
	c.do(Send{Marker: c.marker(Commit)})
	c.do(Done{Version: c.record.Committed, Took: now.Sub(c.started)})
	c.rest(now)
}

func (c *Coordinator) marker(a Action) Marker {
	return Marker{Action: a, Era: c.era, TxID: c.tx, Committed: c.record.Committed}
}

func (c *Coordinator) install(now time.Time) {
	c.phase, c.era, c.tx = Installing, c.record.Last, c.record.Committed.TxID
	c.started, c.due = now, now.Add(c.cfg.InstallTimeout<<c.patience)
	c.expect(c.cfg.Stateful)
	action := Rollback
	if c.fresh {
		action, c.fresh = InitState, false
	}
	c.do(Send{Marker: c.marker(action)})
	if len(c.missing) == 0 {
		c.started = now
		c.rest(now)
	}
}

func (c *Coordinator) expect(tasks []int32) {
	c.missing = make(map[int32]bool, len(tasks))
	for _, t := range tasks {
		c.missing[t] = true
	}
}

func (c *Coordinator) waitsFor() []int32 { return slices.Sorted(maps.Keys(c.missing)) }

// rest waits for the next checkpoint, which is never begun before this one ended.
func (c *Coordinator) rest(now time.Time) {
	c.phase = Committed
	c.due = c.started.Add(c.cfg.Interval)
	if c.due.Before(now) {
		c.due = now
	}
}

func (c *Coordinator) begin(now time.Time) {
	c.tx++
	c.phase, c.slow = Preparing, false
	c.started, c.due = now, now.Add(c.cfg.Timeout<<c.patience)
	c.expect(c.cfg.Stateful)
	c.pre = map[int32]bool{}
	m := c.marker(Prepare)
	m.Pause, c.pause = c.pause, false
	c.do(Send{Marker: m})
	if len(c.missing) == 0 {
		c.commit(now)
	}
}

func (c *Coordinator) abandon(now time.Time, reason string) {
	c.do(Send{Marker: c.marker(Abandon)})
	c.do(Abandoned{TxID: c.tx, Reason: reason})
	c.rest(now)
}

func (c *Coordinator) answer(now time.Time, a Answer) {
	if c.phase <= Claiming || a.Era != c.era {
		return
	}
	if a.Kind == Failed {
		c.failed(now, a)
		return
	}
	waited := map[Phase]AnswerKind{Installing: Installed, Preparing: Prepared, PreCommitting: PreCommitted}
	if waited[c.phase] != a.Kind || c.phase != Installing && a.TxID != c.tx || !c.missing[a.Task] {
		return
	}
	delete(c.missing, a.Task)
	if c.phase == Preparing && a.PreCommits {
		c.pre[a.Task] = true
	}
	if len(c.missing) > 0 {
		return
	}
	switch {
	case c.phase == Installing:
		c.started = now
		c.rest(now)
	case c.phase == Preparing && len(c.pre) > 0:
		c.phase, c.missing = PreCommitting, c.pre
		c.do(Send{Marker: c.marker(PreCommit)})
	default:
		c.commit(now)
	}
}

func (c *Coordinator) failed(now time.Time, a Answer) {
	reason := fmt.Sprintf("task %d: %s", a.Task, a.Reason)
	switch {
	case a.Rollback || c.phase == Installing:
		c.recoverAll(now, reason)
	case (c.phase == Preparing || c.phase == PreCommitting) && a.TxID == c.tx:
		c.pause = a.Crowded
		c.abandon(now, reason)
	}
}

func (c *Coordinator) commit(now time.Time) {
	c.phase = Committing
	next := c.record
	next.Committed = Version{TxID: c.tx, Era: c.era}
	c.write(now, next)
}
