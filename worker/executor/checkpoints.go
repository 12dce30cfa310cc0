package executor

import (
	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/checkpoint"
)

// Checkpoints is what the tasks of an executor need to take part in the
// checkpoints of their topology (package checkpoint).
type Checkpoints struct {
	// Inputs are the tasks whose tuples and markers come here: for spouts the
	// checkpoint task.
	Inputs []storm.TaskID
	// Targets are the tasks that markers are forwarded to.
	Targets []MarkerTarget
	// Markers is the origin of the markers of each task, by its place in Tasks.
	Markers []*track.Origin
	// Rewinds tells that all spouts keep state, so that after a failure every tuple
	// behind the last commit comes again, and no other. Then no version may hold what
	// a task has failed or, without state, has still in hand: all tasks answer.
	Rewinds bool
	// MaxHeld bounds the tuples that a task holds back.
	MaxHeld int
	// Tasks is one more than the largest task id.
	Tasks int
	// Answer brings an answer to the checkpoint task, Broken the word that all must
	// go back to the last commit.
	Answer func(checkpoint.Answer)
	Broken func(reason string)
	// Keep makes the keeper of a task, whose calls of its own run through post on
	// the task's goroutine. It is nil for components without state.
	Keep func(task storm.TaskID, post func(func())) (Keeper, error)
}

// MarkerTarget is one task that gets this executor's markers.
type MarkerTarget struct {
	Task storm.TaskID
	Lane Lane[*Batch]
}

// Keeper keeps the state of one task. Its methods are called on the task's
// goroutine; the functions it is given may be called on any.
type Keeper interface {
	// State is the state, the same for good.
	State() storm.State
	// Load makes the state what version v holds, for use in era, and calls
	// done when tuples may be executed. It supersedes one that is under way, whose
	// done may still be called. The zero Version is empty state.
	Load(v checkpoint.Version, era checkpoint.Era, done func(error))
	// Save takes the state down before it returns, and calls done when what
	// changed since base is safe as version v.
	Save(v, base checkpoint.Version, done func(error))
	// Thaw ends the save of a transaction: its changes belong to the next.
	Thaw(tx int64)
	// Committed tells that a saved version is what the state goes back to.
	Committed(v checkpoint.Version)
	// Close ends what is under way and waits for it.
	Close()
}

// The values of a marker, in the order of layout.MarkerFields.
func markerValues(m checkpoint.Marker, sent int64) []storm.Value {
	return []storm.Value{
		storm.Int(m.TxID), storm.Int(int64(m.Action)), storm.Int(int64(m.Era)),
		storm.Int(m.Committed.TxID), storm.Int(int64(m.Committed.Era)), storm.Bool(m.Pause), storm.Int(sent),
	}
}

// markerOf reads a marker that markerValues wrote.
func markerOf(tp *storm.Tuple) (m checkpoint.Marker, sent int64) {
	return checkpoint.Marker{
		TxID: tp.Int(0), Action: checkpoint.Action(tp.Int(1)), Era: checkpoint.Era(tp.Int(2)),
		Committed: checkpoint.Version{TxID: tp.Int(3), Era: checkpoint.Era(tp.Int(4))}, Pause: tp.Bool(5),
	}, tp.Int(6)
}
