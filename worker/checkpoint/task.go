package checkpoint

import (
	"fmt"

	"github.com/stormring/stormring/internal/assert"
)

// TaskEffect is something that a task's machine wants done, in order: Forward,
// Reply, LoadState, SaveState, ThawState, RunPreCommit, StateCommitted, AckAll,
// FailAll, RunHeld, DropHeld.
type TaskEffect interface{ taskEffect() }

// Forward wants the marker sent to every task that this one can send to, in
// line with its tuples, with the number of tuples that were sent there in the
// marker's era. The numbers begin at 0 with the marker that begins an era.
type Forward struct{ Marker Marker }

// Reply wants the answer sent to the coordinator, beside the tuples.
type Reply struct{ Answer Answer }

// LoadState wants the task's state replaced by that of a version, InitState
// called, and Loaded afterwards. The zero Version is empty state. If Running,
// PreRollback is called first. It supersedes a LoadState that is not done.
type LoadState struct {
	Version Version
	Running bool
}

// SaveState wants PrePrepare called and the state frozen before anything else is
// done; then, aside, the changes since Base saved and Saved called. The manifest
// must be refused if there is one of this version: a task that started again may
// be asked for the same.
type SaveState struct{ Version, Base Version }

// ThawState says that a version will not be committed: what changed in it
// belongs to the next one. A save that is under way is stopped.
type ThawState struct{ TxID int64 }

// RunPreCommit wants PreCommit called, and PreCommitted afterwards.
type RunPreCommit struct{ TxID int64 }

// StateCommitted says that a version is committed, and changes count from it.
type StateCommitted struct{ Version Version }

// AckAll wants acks passed on. One commit may have many of them, a block of acks each.
type AckAll[A any] struct{ Acks []A }

// FailAll wants tuples failed: what they did was rolled back.
type FailAll[A any] struct{ Acks []A }

// RunHeld wants all held tuples executed, in order, before anything else comes in.
type RunHeld struct{}

// DropHeld wants all held tuples failed.
type DropHeld struct{}

func (Forward) taskEffect()        {}
func (Reply) taskEffect()          {}
func (LoadState) taskEffect()      {}
func (SaveState) taskEffect()      {}
func (ThawState) taskEffect()      {}
func (RunPreCommit) taskEffect()   {}
func (StateCommitted) taskEffect() {}
func (AckAll[A]) taskEffect()      {}
func (FailAll[A]) taskEffect()     {}
func (RunHeld) taskEffect()        {}
func (DropHeld) taskEffect()       {}

// Task is the machine of one task: an Aligner and, if it keeps state, a
// Participant, in the order in which they must act. A is what settles one ack.
type Task[A any] struct {
	id    int32
	align *Aligner
	part  *Participant[A] // nil for stateless tasks
	// paused is set while a transaction that pauses spouts is under way.
	paused bool
}

// NewTask joins the parts. part is nil for tasks without state.
func NewTask[A any](id int32, align *Aligner, part *Participant[A]) *Task[A] {
	assert.That(part == nil || part.task == id, "task %d got another's participant", id)
	return &Task[A]{id: id, align: align, part: part}
}

// Era is the one the task is in; 0 before the first, when it must not emit.
func (t *Task[A]) Era() Era { return t.align.Era() }

// Open tells whether the task may execute and emit.
func (t *Task[A]) Open() bool {
	return t.align.Era() != 0 && (t.part == nil || t.part.Open())
}

// Paused tells whether a spout must not emit though it is Open, so that nothing
// comes behind a marker.
func (t *Task[A]) Paused() bool { return t.paused }

// Tuple says what to do with a tuple of an input; if it is to be held, hold it
// before doing the effects. While the task is not Open held tuples are bounded by
// not taking more in: what opens it does not come through the inbox.
func (t *Task[A]) Tuple(input int) (Verdict, []TaskEffect) {
	v := t.align.Arrive(input)
	if v == Drop {
		return Drop, nil
	}
	if !t.Open() {
		return Hold, nil
	}
	if v == Hold && t.align.Full() {
		tx := t.align.GiveUp()
		reason := fmt.Sprintf("more than %d tuples came behind the marker of transaction %d before all inputs had it", t.align.maxHeld, tx)
		answer := t.failed(tx, false, reason)
		answer.Answer.Crowded = true
		return Hold, []TaskEffect{answer, RunHeld{}}
	}
	return v, nil
}

// Settle takes in the ack of a tuple, which was executed in the given era.
func (t *Task[A]) Settle(ack A, era Era) Settlement {
	if t.part == nil {
		return AckNow
	}
	return t.part.Settle(ack, era)
}

// Marker takes in a marker of an input, which has sent that many tuples to this
// task in the marker's era.
func (t *Task[A]) Marker(input int, m Marker, sent int64) []TaskEffect {
	cut := t.align.Mark(input, m, sent)
	var out []TaskEffect
	if cut.Lost != "" {
		answer := t.failed(m.TxID, true, cut.Lost)
		answer.Answer.Era = m.Era
		out = append(out, answer)
	}
	if cut.Begun {
		out = append(out, DropHeld{})
	}
	if cut.Act {
		out = append(out, t.act(m)...)
	}
	if cut.Release && t.Open() {
		out = append(out, RunHeld{})
	}
	return out
}

// act puts the marker between what was emitted before and what will be after.
func (t *Task[A]) act(m Marker) []TaskEffect {
	// PreCommit leaves it as it is; whatever else comes ends or renews it.
	if m.Action != PreCommit {
		t.paused = m.Action == Prepare && m.Pause
	}
	if t.part == nil {
		return []TaskEffect{Forward{m}}
	}
	out := t.part.Step(m)
	return append(out, Forward{m})
}

// Ended says that nothing will come from an input any more.
func (t *Task[A]) Ended(input int) []TaskEffect {
	m, complete := t.align.End(input)
	if !complete {
		return nil
	}
	return append(t.act(m), RunHeld{})
}

// Loaded says what became of LoadState.
func (t *Task[A]) Loaded(v Version, err error) []TaskEffect {
	out := t.part.Loaded(v, err)
	if !t.part.Open() {
		return out
	}
	if len(out) == 0 {
		return nil
	}
	// What is held may be behind a marker; nobody keeps the two apart.
	if tx := t.align.GiveUp(); tx != 0 {
		out = append(out, t.failed(tx, false, "its state was not in place"))
	}
	return append(out, RunHeld{})
}

// Saved says what became of SaveState; rollback, that PrePrepare failed.
func (t *Task[A]) Saved(v Version, err error, rollback bool) []TaskEffect {
	return t.part.Saved(v, err, rollback)
}

// PreCommitted says what became of RunPreCommit.
func (t *Task[A]) PreCommitted(tx int64, err error) []TaskEffect {
	return t.part.PreCommitted(tx, err)
}

func (t *Task[A]) failed(tx int64, rollback bool, reason string) Reply {
	return Reply{Answer{Task: t.id, Kind: Failed, Era: t.Era(), TxID: tx, Rollback: rollback, Reason: reason}}
}
