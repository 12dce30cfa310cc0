package slot

import (
	"time"

	"github.com/stormring/stormring/internal/cluster"
)

// Event is something that happened: one of the types below. What is said of a
// launch or of a request that is over does no harm.
//
//sumtype:decl
type Event interface{ event() }

// Tick says that time has passed.
type Tick struct{}

// Assign says what should run; nil for nothing. It may be said again and again.
type Assign struct {
	Assignment *Assignment
	// Read: the assignments were read since the supervisor began, and say so.
	// Otherwise the caller repeats what the slot wants, since it knows more of it.
	Read bool
}

// BlobsReady answers [Localise].
type BlobsReady struct{ Request Serial }

// BlobsFailed answers [Localise] too.
type BlobsFailed struct {
	Request Serial
	Why     string
}

// BlobsChanged says that a topology's blobs have newer versions than those
// that were fetched.
type BlobsChanged struct{ Topology cluster.TopologyID }

// Started answers [Launch]: there is a process.
type Started struct {
	Launch Serial
	PID    int
}

// LaunchFailed answers [Launch] too: there is no process and will be none.
type LaunchFailed struct {
	Launch Serial
	Why    string
}

// Exited says that the process is gone, for whatever reason, with all that it
// started.
type Exited struct {
	Launch Serial
	// Code is the exit code, -1 if it is not known.
	Code int
}

// Heartbeat is a sign of life. At is when the worker gave it.
type Heartbeat struct {
	Launch Serial
	At     time.Time
}

// Adopt is the first event after a supervisor's restart, if there is a record.
// Before it, the caller takes hold of the blobs of the record's worker again,
// under their number; other holds are void. What the record wants may have been
// moved meanwhile: until an [Assign] was read, or for [Config.AssignmentWait],
// nothing is launched. A worker that lives is taken over at once.
type Adopt struct {
	Record Record
	// Alive: a process of the record's launch is there. To find it is more
	// than to look for the PID, which may not have been recorded yet, or be
	// another's by now.
	Alive bool
	// LastHeartbeat is the last one that is known of; zero if there is none.
	LastHeartbeat time.Time
}

// Shutdown says that the supervisor ends and leaves its workers running.
// Nothing is done after it.
type Shutdown struct{}

func (Tick) event()         {}
func (Assign) event()       {}
func (BlobsReady) event()   {}
func (BlobsFailed) event()  {}
func (BlobsChanged) event() {}
func (Started) event()      {}
func (LaunchFailed) event() {}
func (Exited) event()       {}
func (Heartbeat) event()    {}
func (Adopt) event()        {}
func (Shutdown) event()     {}

// Effect is something for the caller to do: one of the types below.
//
//sumtype:decl
type Effect interface{ effect() }

// Persist writes the record down. It comes first in a step, and the rest waits
// until it is on disk: a launch that is not on record would be lost sight of.
type Persist struct{ Record Record }

// Localise fetches the blobs of an assignment and holds them under a number
// until [Release]. The answer is [BlobsReady] or [BlobsFailed]; a failed one
// is released too.
type Localise struct {
	Request    Serial
	Assignment Assignment
	// Update asks for the newest versions of what is there already.
	Update bool
}

// Release lets go of what was held under a number, or gives up fetching it.
type Release struct{ Request Serial }

// Launch starts a process. The answer is [Started] or [LaunchFailed]; when the
// process ends, [Exited].
type Launch struct{ Worker Worker }

// SoftKill asks the process of a launch to end. If it is still being started,
// it is asked as soon as it is there.
type SoftKill struct{ Launch Serial }

// HardKill ends the process of a launch, and all that it started, by force.
type HardKill struct{ Launch Serial }

// Clear removes what a dead worker leaves behind: its directory. A supervisor
// that starts also clears what no record names.
type Clear struct{ Launch Serial }

// Note is for the log and for a counter.
type Note struct {
	What What
	// Text says it to a person.
	Text string
}

// What is what a [Note] is about, as a counter's name has it.
type What string

// What there are notes about.
const (
	StateChanged      What = "state-changed"
	WorkerDied        What = "worker-died"
	StartTimedOut     What = "start-timed-out"
	HeartbeatTimedOut What = "heartbeat-timed-out"
	Killing           What = "killing"
	WontDie           What = "will-not-die"
	FetchFailed       What = "fetch-failed"
	BackedOff         What = "backed-off"
	Adopted           What = "adopted"
	LeftRunning       What = "left-running"
)

func (Persist) effect()  {}
func (Localise) effect() {}
func (Release) effect()  {}
func (Launch) effect()   {}
func (SoftKill) effect() {}
func (HardKill) effect() {}
func (Clear) effect()    {}
func (Note) effect()     {}
