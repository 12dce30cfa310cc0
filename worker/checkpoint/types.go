package checkpoint

import "fmt"

// Era numbers what lies between two rollbacks of a topology, from 1. All tuples
// and markers belong to one; those of older eras change nothing.
type Era uint64

// Version names what one checkpoint took down. Together the two numbers are
// never used twice: within an era each attempt has a transaction id of its own,
// and a new era goes on from the last committed one. The zero Version is the
// empty state that a topology begins with.
type Version struct {
	// TxID is the checkpoint's transaction id, from 1.
	TxID int64
	// Era is the one in which it was taken.
	Era Era
}

// String is the version as logs show it.
func (v Version) String() string { return fmt.Sprintf("%d of era %d", v.TxID, v.Era) }

// Record is the one durable word about a topology's checkpoints. It is written
// with compare-and-set only, and the zero Record stands for none.
type Record struct {
	// Committed is what a recovery restores.
	Committed Version
	// Last is the newest era that was begun.
	Last Era
	// Epoch is the placement of the checkpoint task that began it. In a topology that
	// Storm's own workers run, where package jvmstate writes the record, its lowest byte
	// is the phase of Storm's checkpoint spout (0 it was never there, 1 preparing what
	// follows Committed, 2 committing Committed, 3 committed), and the rest tells one
	// such spout from the next. Its transactions begin at 0 and are one more here.
	Epoch uint64
}

// Action is what a marker asks for. The first four are Storm's.
type Action uint8

// The actions of markers.
const (
	// InitState begins an era with the marker's committed version, when the
	// checkpoint task starts.
	InitState Action = iota + 1
	// Prepare takes a version down.
	Prepare
	// Commit says that the marker's committed version is.
	Commit
	// Rollback begins an era like InitState, in a topology that runs.
	Rollback
	// PreCommit asks components that want to act before the commit to do so.
	PreCommit
	// Abandon gives a transaction up; the next one follows in the same era.
	Abandon
)

// String is the name of the action in Storm's spelling.
func (a Action) String() string {
	switch a {
	case InitState:
		return "initstate"
	case Prepare:
		return "prepare"
	case Commit:
		return "commit"
	case Rollback:
		return "rollback"
	case PreCommit:
		return "precommit"
	case Abandon:
		return "abandon"
	default:
		return fmt.Sprintf("action %d", uint8(a))
	}
}

// Marker is what flows between the tuples. All markers name the last committed
// version, so that a lost commit is made up for by whatever comes next.
type Marker struct {
	Action    Action
	Era       Era
	TxID      int64
	Committed Version
	// Pause, with Prepare, has spouts emit nothing until the transaction ends.
	Pause bool
}

// begins tells whether the marker is the first of an era.
func (m Marker) begins() bool { return m.Action == InitState || m.Action == Rollback }

// AnswerKind is what a task tells the coordinator.
type AnswerKind uint8

// The kinds of answers.
const (
	// Installed says that the state of the era's version is in place.
	Installed AnswerKind = iota + 1
	// Prepared says that the state of the transaction is safe.
	Prepared
	// PreCommitted says that the component has acted before the commit.
	PreCommitted
	// Failed says that the transaction, or the installation, cannot succeed.
	Failed
)

// Answer is a task's word to the coordinator. Answers may be lost, doubled and
// late.
type Answer struct {
	Task int32
	Kind AnswerKind
	Era  Era
	TxID int64
	// PreCommits, with Prepared, asks for a PreCommit before the commit.
	PreCommits bool
	// Rollback, with Failed, says that giving the transaction up is not enough:
	// tuples or state are lost.
	Rollback bool
	// Crowded, with Failed, says that too many tuples came behind the marker: the
	// next transaction is one that pauses spouts.
	Crowded bool
	// Reason, with Failed, is for people.
	Reason string
}
