// Package slot is the life of one slot of a supervisor: which worker should
// run in it, and what to do next so that it does. [Slot.Step] takes what
// happened and the time, and returns what to do; nothing in it can block.
// Start there.
//
// The caller, who owns the Slot, performs effects in their order, answers each
// with the event that its comment names, and steps [Tick] when [Slot.Deadline]
// has come. It may die at any point: the next one steps [Adopt] with the last
// record and takes over the worker that was left running. What that record wants
// may be out of date: see [Config.AssignmentWait].
package slot

import (
	"fmt"
	"slices"
	"time"

	"github.com/stormring/stormring/internal/assert"
	"github.com/stormring/stormring/internal/cluster"
)

// Serial numbers the launches and the blob requests of a slot, both in one
// row. A launch's number is never used again, not even after a restart.
type Serial uint64

// Assignment is what should run in a slot.
type Assignment struct {
	Topology cluster.TopologyID
	// Executors are never changed once they are in use.
	Executors []cluster.Executor
	// Need is what the worker may use of the host.
	Need cluster.Resources
	// Timeout is the silence after which the topology wants its worker to
	// count as dead: topology.worker.timeout.secs, or 0. It can only raise
	// what the supervisor has, up to [Config.MaxHeartbeatTimeout].
	Timeout time.Duration
}

// Same reports whether a worker that was started for a can stay for b. The
// order of executors does not matter, nor does the timeout.
func (a Assignment) Same(b Assignment) bool {
	if a.Topology != b.Topology || !a.Need.Equal(b.Need) || len(a.Executors) != len(b.Executors) {
		return false
	}
	return slices.Equal(a.Executors, b.Executors) || slices.Equal(sorted(a.Executors), sorted(b.Executors))
}

// String is the topology and the executors, for people.
func (a Assignment) String() string { return fmt.Sprintf("%s%v", a.Topology, a.Executors) }

func sorted(list []cluster.Executor) []cluster.Executor {
	list = slices.Clone(list)
	slices.SortFunc(list, cluster.Executor.Compare)
	return list
}

// Worker is one launch of a worker process.
type Worker struct {
	Launch Serial
	// Blobs is the request that fetched what it runs on.
	Blobs      Serial
	Assignment Assignment
	// PID is the process, or 0 while it is not known.
	PID int
	// Launched is when the launch was decided.
	Launched time.Time
}

// Record is what must outlive the supervisor.
type Record struct {
	// Last is the highest number in use.
	Last Serial
	// Want is what should run; nil for nothing.
	Want *Assignment
	// Worker is the launch whose process may be alive; nil if there is none.
	Worker *Worker
	// Failures counts workers that died soon after their launch, one after
	// the other.
	Failures int
}

// Slot is the machine of one slot. It is not safe for concurrent use. Its
// state is not stored but follows from what there is (see [Slot.State]):
//
//	EMPTY
//	  | assigned
//	  v
//	WAITING_FOR_BLOB_LOCALIZATION --+
//	  |            ^                | failed: again after a pause
//	  | localised  +----------------+
//	  v
//	WAITING_FOR_WORKER_START
//	  | first heartbeat
//	  v
//	RUNNING
//
// From the last two it goes on like this; between the states named KILL it can
// still change, as long as the process lives:
//
//	silent or died -----> KILL_AND_RELAUNCH
//	                        | dead, and a pause is over
//	                        v
//	                      WAITING_FOR_WORKER_START
//
//	blobs changed ------> KILL_BLOB_UPDATE
//	                        | dead
//	                        v
//	                      WAITING_FOR_BLOB_UPDATE --+
//	                        |            ^          | failed: again after a pause
//	                        | localised  +----------+
//	                        v
//	                      WAITING_FOR_WORKER_START
//
//	assigned otherwise -> KILL
//	                        | dead
//	                        v
//	                      WAITING_FOR_BLOB_LOCALIZATION, or
//	                      WAITING_FOR_WORKER_START if the blobs are there by
//	                      then, or EMPTY if nothing is wanted
//
// A new assignment leads out of every state. Its blobs are fetched while the
// old worker dies. A worker that died soon and often stays in
// KILL_AND_RELAUNCH, without a process, until its back-off is over.
type Slot struct {
	cfg     Config
	now     time.Time // of the latest step
	started bool      // a step was made
	stopped bool      // the supervisor is shutting down
	dirty   bool      // the record changed in this step
	out     []Effect

	last    Serial
	want    *Assignment
	worker  *process
	next    *prep // blobs for the next launch
	trouble trouble
	// doubtful is until when nothing is launched, since what is wanted is only
	// what an earlier supervisor knew.
	doubtful time.Time
}

// process is a worker that may be alive.
type process struct {
	Worker
	// since is from when its first heartbeat is waited for.
	since time.Time
	// beat is the latest heartbeat, zero if there was none.
	beat time.Time
	// stale: its blobs have changed since they were fetched.
	stale bool
	// killed is how far its killing is.
	killed phase
	// until is when the next step of the killing is due.
	until time.Time
}

// phase is how far a killing is.
type phase uint8

const (
	unharmed phase = iota
	softly         // asked to stop
	hard           // stopped by force
)

// prep is a request for blobs.
type prep struct {
	request    Serial
	assignment Assignment
	update     bool // for a worker that ran before
	ready      bool
	retry      time.Time // set if it failed: when to try again
}

// trouble is what went wrong lately.
type trouble struct {
	deaths    int       // early ones, without a long life between them
	fetches   int       // failed requests for blobs, one after the other
	notBefore time.Time // of the next launch
	why       string    // the latest of them, in words
}

// New is an empty slot. cfg must be valid.
func New(cfg Config) *Slot {
	assert.That(cfg.Validate() == nil, "slot configuration: %v", cfg.Validate())
	return &Slot{cfg: cfg}
}

// Step says what to do about ev. A time before that of the step before counts
// as that. What is overdue is done in the same step, after ev.
func (s *Slot) Step(now time.Time, ev Event) []Effect {
	if s.stopped {
		return nil
	}
	if now.After(s.now) {
		s.now = now
	}
	s.out, s.dirty = nil, false
	before := s.State()
	s.take(ev)
	s.started = true
	if s.stopped {
		return s.out
	}
	s.advance()
	if after := s.State(); after != before {
		s.note(StateChanged, "%v -> %v", before, after)
	}
	if s.dirty {
		s.out = slices.Insert(s.out, 0, Effect(Persist{s.Record()}))
	}
	return s.out
}

// Record is what has to be kept at this time.
func (s *Slot) Record() Record {
	r := Record{Last: s.last, Want: s.want, Failures: s.trouble.deaths}
	if s.worker != nil {
		r.Worker = new(s.worker.Worker)
	}
	return r
}

func (s *Slot) take(ev Event) {
	switch ev := ev.(type) {
	case Tick:
	case Assign:
		if ev.Read {
			s.doubtful = time.Time{}
		}
		s.assign(ev.Assignment)
	case BlobsReady:
		s.blobsReady(ev)
	case BlobsFailed:
		s.blobsFailed(ev)
	case BlobsChanged:
		s.blobsChanged(ev)
	case Started:
		if s.is(ev.Launch) && s.worker.PID != ev.PID {
			s.worker.PID, s.dirty = ev.PID, true
		}
	case LaunchFailed:
		if s.is(ev.Launch) {
			s.note(WorkerDied, "launch %d failed: %s", ev.Launch, ev.Why)
			s.gone("its launch failed: " + ev.Why)
		}
	case Exited:
		if s.is(ev.Launch) {
			s.note(WorkerDied, "worker %d ended with code %d", ev.Launch, ev.Code)
			s.gone(fmt.Sprintf("it ended with code %d", ev.Code))
		}
	case Heartbeat:
		s.heartbeat(ev)
	case Adopt:
		s.adopt(ev)
	case Shutdown:
		s.stopped = true
		if s.worker != nil {
			s.note(LeftRunning, "worker %d is left running", s.worker.Launch)
		}
	default:
		panic(fmt.Sprintf("slot: unknown event %T", ev))
	}
}

// is reports whether launch is the worker of this slot; what is said of others
// comes too late.
func (s *Slot) is(launch Serial) bool { return s.worker != nil && s.worker.Launch == launch }

func (s *Slot) assign(a *Assignment) {
	if a != nil {
		a = new(*a)
		a.Executors = sorted(a.Executors)
	}
	switch {
	case a == nil && s.want == nil:
		return
	case a != nil && s.want != nil && a.Same(*s.want):
		if a.Timeout == s.want.Timeout {
			return
		}
	default:
		s.trouble = trouble{}
	}
	s.want, s.dirty = a, true
}

func (s *Slot) heartbeat(ev Heartbeat) {
	if !s.is(ev.Launch) || s.worker.killed != unharmed {
		return
	}
	at := ev.At
	if at.After(s.now) {
		at = s.now // a clock that is ahead must not prolong a life
	}
	if at.After(s.worker.beat) {
		s.worker.beat = at
	}
}

// adopt takes over what an earlier supervisor left.
func (s *Slot) adopt(ev Adopt) {
	assert.That(!s.started, "a slot adopts before anything else")
	s.last, s.want, s.trouble.deaths = ev.Record.Last, ev.Record.Want, ev.Record.Failures
	s.doubtful = s.now.Add(s.cfg.AssignmentWait)
	w := ev.Record.Worker
	if w == nil {
		return
	}
	if !ev.Alive {
		s.note(WorkerDied, "worker %d died while nobody looked", w.Launch)
		s.do(Clear{w.Launch}, Release{w.Blobs})
		s.dirty = true
		return
	}
	s.worker = &process{Worker: *w, since: s.now}
	if !ev.LastHeartbeat.IsZero() {
		// Nobody listened for a while. It gets time to be heard again.
		s.worker.beat = s.now
	}
	s.note(Adopted, "worker %d, process %d", w.Launch, w.PID)
}
