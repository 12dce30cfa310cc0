package wire

import (
	"fmt"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/thrift/assignment"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// AssignmentToThrift is r as Storm's Assignment. It fails for an executor that
// is placed twice.
func AssignmentToThrift(r cluster.AssignmentRecord) (*assignment.Assignment, error) {
	x := &assignment.Assignment{
		MasterCodeDir: r.CodeDir,
		NodeHost:      make(map[string]string, len(r.Hosts)),
		Executors:     make(map[assignment.Executor]assignment.Slot, len(r.Assignment)),
		StartSecs:     make(map[assignment.Executor]int64, len(r.Assignment)),
		Resources:     make(map[assignment.Slot]*gen.WorkerResources, len(r.Resources)),
		SharedOffHeap: make(map[string]float64, len(r.SharedOffHeap)),
		Owner:         r.Owner,
	}
	for id, host := range r.Hosts {
		x.NodeHost[string(id)] = host
	}
	for _, p := range r.Assignment {
		e := assignment.Executor{First: int64(p.Executor.First), Last: int64(p.Executor.Last)}
		if s, twice := x.Executors[e]; twice {
			return nil, fmt.Errorf("wire: executor %v is placed twice, in %s:%d and in %v", p.Executor, s.Node, s.Port, p.Slot)
		}
		x.Executors[e] = slotToThrift(p.Slot)
		x.StartSecs[e] = p.StartSecs
	}
	for s, res := range r.Resources {
		x.Resources[slotToThrift(s)] = &gen.WorkerResources{
			MemOnHeap:        new(res.OnHeap),
			MemOffHeap:       new(res.OffHeap),
			CPU:              new(res.CPU),
			SharedMemOnHeap:  new(res.SharedOnHeap),
			SharedMemOffHeap: new(res.SharedOffHeap),
			Resources:        unset(res.Resources),
			SharedResources:  unset(res.SharedResources),
		}
	}
	for id, mb := range r.SharedOffHeap {
		x.SharedOffHeap[string(id)] = mb
	}
	return x, nil
}

// AssignmentFromThrift is where a topology runs, in its order. An executor
// without a time is there since 0; a time without a place says nothing. It
// refuses executors that are no range of tasks.
func AssignmentFromThrift(x *assignment.Assignment) (cluster.AssignmentRecord, error) {
	if x == nil {
		return cluster.AssignmentRecord{}, fmt.Errorf("wire: Assignment: %w", errAbsent)
	}
	r := cluster.AssignmentRecord{
		CodeDir:       x.MasterCodeDir,
		Hosts:         make(map[cluster.SupervisorID]string, len(x.NodeHost)),
		Resources:     make(map[cluster.Slot]cluster.WorkerResources, len(x.Resources)),
		SharedOffHeap: make(map[cluster.SupervisorID]float64, len(x.SharedOffHeap)),
		Owner:         x.Owner,
	}
	for id, host := range x.NodeHost {
		r.Hosts[cluster.SupervisorID(id)] = host
	}
	r.Assignment = slices.Grow(r.Assignment, len(x.Executors))
	for e, s := range x.Executors {
		executor := cluster.Executor{First: storm.TaskID(e.First), Last: storm.TaskID(e.Last)}
		if e.First > e.Last || int64(executor.First) != e.First || int64(executor.Last) != e.Last {
			return r, fmt.Errorf("wire: executor_node_port: [%d,%d] is no range of tasks", e.First, e.Last)
		}
		r.Assignment = append(r.Assignment, cluster.Placement{Executor: executor, Slot: slotFromThrift(s), StartSecs: x.StartSecs[e]})
	}
	r.Assignment.Sort()
	for s, res := range x.Resources {
		if res == nil {
			return r, fmt.Errorf("wire: worker_resources[%s:%d]: %w", s.Node, s.Port, errAbsent)
		}
		r.Resources[slotFromThrift(s)] = cluster.WorkerResources{
			OnHeap:          value(res.MemOnHeap),
			OffHeap:         value(res.MemOffHeap),
			CPU:             value(res.CPU),
			SharedOnHeap:    value(res.SharedMemOnHeap),
			SharedOffHeap:   value(res.SharedMemOffHeap),
			Resources:       unset(res.Resources),
			SharedResources: unset(res.SharedResources),
		}
	}
	for id, mb := range x.SharedOffHeap {
		r.SharedOffHeap[cluster.SupervisorID(id)] = mb
	}
	return r, nil
}

func slotToThrift(s cluster.Slot) assignment.Slot {
	return assignment.Slot{Node: string(s.Supervisor), Port: int64(s.Port)}
}

func slotFromThrift(s assignment.Slot) cluster.Slot {
	return cluster.Slot{Supervisor: cluster.SupervisorID(s.Node), Port: cluster.Port(s.Port)}
}
