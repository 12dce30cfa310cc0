package checkpoint

import "time"

// Event is something that happened to a coordinator: Tick, Loaded, Stored,
// Broken or Answer.
//
//sumtype:decl
type Event interface{ event() }

// Tick says that time has passed.
type Tick struct{}

// Loaded answers a Load. Err says that the record could not be read.
type Loaded struct {
	Record Record
	Err    error
}

// Outcome is what became of a Store.
type Outcome uint8

// The outcomes of a Store.
const (
	// Written says that the record is there.
	Written Outcome = iota + 1
	// Refused says that another record was there than expected.
	Refused
	// Unknown says that it may be there, or come to be there later.
	Unknown
)

// Stored answers the Store of Next.
type Stored struct {
	Next    Record
	Outcome Outcome
}

// Broken says that something was lost which a checkpoint cannot do without: a
// task that started again, or a tree of a spout that rewinds that failed.
type Broken struct{ Reason string }

func (Tick) event()   {}
func (Loaded) event() {}
func (Stored) event() {}
func (Broken) event() {}
func (Answer) event() {}

// Effect is something that a coordinator wants done: Load, Store, Send; or told:
// Slow, Done, Abandoned, RolledBack, Ended.
//
//sumtype:decl
type Effect interface{ effect() }

// Load wants the record read, and answered by Loaded, always.
type Load struct{}

// Store wants Next written if the record is Expect, and answered by Stored,
// always. The zero Record stands for no record.
type Store struct{ Expect, Next Record }

// Send wants the marker sent to all spout tasks.
type Send struct{ Marker Marker }

// Slow says that a checkpoint takes longer than the interval, once for each.
type Slow struct {
	TxID    int64
	Phase   Phase
	For     time.Duration
	Missing []int32
}

// Done says that a checkpoint was committed.
type Done struct {
	Version Version
	Took    time.Duration
}

// Abandoned says that a checkpoint was given up. Nothing is lost; the next one
// holds what it would have held.
type Abandoned struct {
	TxID   int64
	Reason string
}

// RolledBack says that all go back to the last committed version.
type RolledBack struct {
	TxID   int64
	Reason string
}

// Ended says that a later placement has taken over: nothing more will be done.
type Ended struct{ By uint64 }

func (Load) effect()       {}
func (Store) effect()      {}
func (Send) effect()       {}
func (Slow) effect()       {}
func (Done) effect()       {}
func (Abandoned) effect()  {}
func (RolledBack) effect() {}
func (Ended) effect()      {}
