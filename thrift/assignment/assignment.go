// Package assignment has the part of Storm's interface that the Thrift compiler
// cannot turn into Go: Assignment, whose maps have lists and structs as keys,
// and the three calls that carry it. A newcomer starts at [Assignment]; the
// calls are in calls.go, the codec in codec.go and fields.go.
package assignment

import (
	"cmp"

	"github.com/stormring/stormring/thrift/gen/storm"
)

// Executor is a range of tasks, both ends included; Storm's list of two.
type Executor struct {
	First, Last int64
}

func (e Executor) compare(o Executor) int {
	return cmp.Or(cmp.Compare(e.First, o.First), cmp.Compare(e.Last, o.Last))
}

// Slot is a port of a supervisor; Storm's NodeInfo with one port.
type Slot struct {
	// Node is the supervisor's id.
	Node string
	Port int64
}

func (s Slot) compare(o Slot) int {
	return cmp.Or(cmp.Compare(s.Node, o.Node), cmp.Compare(s.Port, o.Port))
}

// Assignment says where a topology's executors run. A map may be nil for an
// empty one.
type Assignment struct {
	// MasterCodeDir is required by Storm, and read by nobody.
	MasterCodeDir string
	// NodeHost has the host of each supervisor in it.
	NodeHost map[string]string
	// Executors has the slot of each executor.
	Executors map[Executor]Slot
	// StartSecs has the Unix time in seconds when each executor got its slot.
	StartSecs map[Executor]int64
	Resources map[Slot]*storm.WorkerResources
	// SharedOffHeap has megabytes by supervisor.
	SharedOffHeap map[string]float64
	// Owner is empty if it is not told.
	Owner string
}

// ByTopology is Storm's SupervisorAssignments: an assignment by topology id.
type ByTopology map[string]*Assignment
