// Package survey is what a nimbus knows of its cluster, and what it makes of
// that for the scheduler. It is pure.
//
// Begin at [World]: records of topologies and supervisors as the coordination
// store has them, with what [Ears] has heard of supervisors and workers since
// this nimbus began to lead. [World.Snapshot] is the scheduler's view of it, and
// [Record] the way back from the scheduler's plan to the store.
package survey

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
)

// World is all that is known at one time.
type World struct {
	NowSecs     int64
	Supervisors map[cluster.SupervisorID]Supervisor
	Topologies  map[cluster.TopologyID]Topology
	Nimbuses    []cluster.NimbusSummary
}

// Supervisor is what is known of a supervisor that lives.
type Supervisor struct {
	Record cluster.SupervisorRecord
	// Present: its znode is there. One that is not may be restarting: its
	// workers stay, and it gets no new ones.
	Present bool
	// Standin: nothing is known of it but that executors are assigned to it.
	Standin     bool
	Standing    cluster.Standing
	Blacklisted bool
	// Used are ports on which a worker runs.
	Used []cluster.Port
	// Report is its last; nil if there has been none lately.
	Report *cluster.SupervisorReport
}

// Topology is what is known of a topology.
type Topology struct {
	ID   cluster.TopologyID
	Base cluster.Base
	// BaseVersion and RecordVersion are those of the znodes that were read.
	BaseVersion, RecordVersion int32
	// Assigned: there is a record of its assignment.
	Assigned bool
	Record   cluster.AssignmentRecord
	// Code is nil if it cannot be read; Broken then says why. Broken may also
	// tell of another record that cannot be read.
	Code   *Code
	Broken string
	// Reason is what the scheduler says of it.
	Reason string
	// Replication is how many copies of its code there are.
	Replication int
}

// Code is what a topology's blobs hold, with what follows from it.
type Code struct {
	User   cluster.Topology
	Conf   map[string]any
	Layout *layout.Layout
	// Needs are what an executor of each component asks for.
	Needs map[string]cluster.Granted
}

// Executors are all executors that t should have, by first task. The numbers
// that a rebalance has asked for come before those of the code. It is nil if
// the code cannot be read.
func (t Topology) Executors() []layout.Executor {
	if t.Code == nil {
		return nil
	}
	var out []layout.Executor
	counts := map[string]int{}
	for _, e := range t.Code.Layout.Executors {
		counts[e.Component]++
	}
	for id, tasks := range t.Code.Layout.Tasks {
		n := counts[id]
		if want := t.Base.Executors[id]; want > 0 {
			n = want
		}
		out = append(out, cut(id, tasks, min(max(n, 1), len(tasks)))...)
	}
	slices.SortFunc(out, func(a, b layout.Executor) int { return cmp.Compare(a.First, b.First) })
	return out
}

// cut splits tasks into executors whose sizes differ by at most one, the
// larger ones first.
func cut(component string, tasks []storm.TaskID, executors int) []layout.Executor {
	out := make([]layout.Executor, 0, executors)
	next := 0
	for i := range executors {
		size := len(tasks) / executors
		if i < len(tasks)%executors {
			size++
		}
		out = append(out, layout.Executor{Component: component, First: tasks[next], Last: tasks[next+size-1]})
		next += size
	}
	return out
}

// Component is the component of an executor of t, or "".
func (t Topology) Component(e cluster.Executor) string {
	if t.Code == nil {
		return ""
	}
	return t.Code.Layout.ComponentOf(e.First)
}

// IDs are the topologies' ids, sorted.
func (w World) IDs() []cluster.TopologyID { return slices.Sorted(maps.Keys(w.Topologies)) }

// Named is the topology with this name.
func (w World) Named(name string) (Topology, bool) {
	for _, id := range w.IDs() {
		if w.Topologies[id].Base.Name == name {
			return w.Topologies[id], true
		}
	}
	return Topology{}, false
}

// Plus is the sum of what two ask for.
func Plus(a, b cluster.Granted) cluster.Granted {
	a.OnHeap += b.OnHeap
	a.OffHeap += b.OffHeap
	a.CPU += b.CPU
	if len(b.Generic) > 0 {
		sum := maps.Clone(a.Generic)
		if sum == nil {
			sum = map[string]float64{}
		}
		for name, v := range b.Generic {
			sum[name] += v
		}
		a.Generic = sum
	}
	return a
}

// resources is a need in the scheduler's words.
func resources(g cluster.Granted) cluster.Resources {
	return cluster.Resources{MemoryMB: g.OnHeap + g.OffHeap, CPU: g.CPU, Generic: g.Generic}
}
