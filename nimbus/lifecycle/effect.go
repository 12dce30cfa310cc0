package lifecycle

import "time"

// Effect is something for the caller to do: one of the types below. Each may
// be done twice with no harm.
//
//sumtype:decl
type Effect interface{ effect() }

// Persist writes the state down. It is done when a crash cannot undo it. A
// state that is Removed goes where Storm does not look, as a tombstone; while
// there is one, what is left of the topology's other records does not count.
type Persist struct{ State State }

// Delay asks for a [DelayDue] at a time. There is one per topology: a later
// Delay takes the place of an earlier one.
type Delay struct{ At time.Time }

// Spouts tells the topology's workers whether their spouts should emit.
type Spouts struct{ Active bool }

// Apply writes a rebalance's changes into the topology's records.
type Apply struct{ Changes Changes }

// Reschedule places executors. If Fresh, this topology is placed anew from
// scratch, and the effect is done when its new assignment is committed. If
// not, there is room for others: it is enough to wake the scheduling loop.
type Reschedule struct{ Fresh bool }

// RemoveAssignment takes the topology's assignment away, which ends its workers.
type RemoveAssignment struct{}

// RemoveRecords takes away all that the coordination store has of the topology
// but the tombstone: base, credentials, log and profiler configuration, errors
// and heartbeats.
type RemoveRecords struct{}

// DeleteBlobs deletes the topology's code and configuration.
type DeleteBlobs struct{}

// Forget deletes the tombstone, and with it the last trace of the topology.
type Forget struct{}

func (Persist) effect()          {}
func (Delay) effect()            {}
func (Spouts) effect()           {}
func (Apply) effect()            {}
func (Reschedule) effect()       {}
func (RemoveAssignment) effect() {}
func (RemoveRecords) effect()    {}
func (DeleteBlobs) effect()      {}
func (Forget) effect()           {}
