// Package cluster has the control plane's nouns: topologies, supervisors,
// slots, executors and who runs where. They are plain values that every daemon
// shares; what is decided about them is decided elsewhere, in nimbus/scheduler
// above all.
//
// Begin at [Assignment]: an executor runs in a slot, and a slot is a port of a
// supervisor.
package cluster

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stormring/stormring/storm"
)

// TopologyID names one submission of a topology: <name>-<counter>-<seconds>.
type TopologyID string

// Name is the topology's name: the id without counter and seconds, or the
// whole id if it has none.
func (id TopologyID) Name() string {
	name := string(id)
	for range 2 {
		i := strings.LastIndexByte(name, '-')
		if i < 0 {
			return string(id)
		}
		name = name[:i]
	}
	return name
}

// SupervisorID names a supervisor for the life of its local directory.
type SupervisorID string

// Port is a TCP port of a supervisor's host, on which one worker listens.
type Port int

// Slot is the place of one worker.
type Slot struct {
	Supervisor SupervisorID
	Port       Port
}

// String is supervisor:port.
func (s Slot) String() string { return fmt.Sprintf("%s:%d", s.Supervisor, s.Port) }

// IsZero reports whether s is no slot at all.
func (s Slot) IsZero() bool { return s == Slot{} }

// Compare orders slots by supervisor and then by port.
func (s Slot) Compare(o Slot) int {
	return cmp.Or(cmp.Compare(s.Supervisor, o.Supervisor), cmp.Compare(s.Port, o.Port))
}

// Executor is a range of tasks of one component, both ends included. Within a
// topology, it says which executor is meant.
type Executor struct {
	First, Last storm.TaskID
}

// String is [first,last].
func (e Executor) String() string { return fmt.Sprintf("[%d,%d]", e.First, e.Last) }

// Compare orders executors by first and then by last task.
func (e Executor) Compare(o Executor) int {
	return cmp.Or(cmp.Compare(e.First, o.First), cmp.Compare(e.Last, o.Last))
}

// TopologyStatus is what a topology is told to do.
type TopologyStatus uint8

// The statuses, with Storm's numbers.
const (
	// StatusActive: spouts emit.
	StatusActive TopologyStatus = iota + 1
	// StatusInactive: workers run, spouts are silent.
	StatusInactive
	// StatusRebalancing: it is about to be placed anew.
	StatusRebalancing
	// StatusKilled: it is about to be removed.
	StatusKilled
)

// String is the name that Storm uses on the wire and on the screen.
func (s TopologyStatus) String() string {
	switch s {
	case StatusActive:
		return "ACTIVE"
	case StatusInactive:
		return "INACTIVE"
	case StatusRebalancing:
		return "REBALANCING"
	case StatusKilled:
		return "KILLED"
	default:
		return fmt.Sprintf("TopologyStatus(%d)", uint8(s))
	}
}
