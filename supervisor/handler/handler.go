// Package handler is Storm's service Supervisor over a supervisor: what Storm's
// own workers and nimbus call. Stormring's workers use internal/link instead,
// and its nimbus the coordination store.
//
// Begin at [Processor], which package thrift serves.
package handler

import (
	"context"
	"fmt"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
	"github.com/stormring/stormring/thrift/assignment"
	"github.com/stormring/stormring/thrift/gen/storm"
)

// Supervisor is what the service needs of a supervisor.
type Supervisor interface {
	// Assignment is where a topology runs; false if there is none.
	Assignment(id cluster.TopologyID) (cluster.AssignmentRecord, bool)
	// Heard takes a worker's sign of life; false if there is no such worker.
	Heard(id cluster.TopologyID, executors []cluster.Executor) bool
	// Refresh has assignments read again soon.
	Refresh()
}

// Processor is the service. Its calls do not wait for anything.
func Processor(s Supervisor) apache.TProcessor {
	h := &handler{s}
	p := storm.NewSupervisorProcessor(h)
	assignment.AddSupervisor(p, h)
	return p
}

type handler struct{ s Supervisor }

// SendSupervisorWorkerHeartbeat takes a worker's sign of life. One of a worker
// that is not known is no error, since Storm's workers take that for a
// supervisor that is broken.
func (h *handler) SendSupervisorWorkerHeartbeat(_ context.Context, beat *storm.SupervisorWorkerHeartbeat) error {
	r := wire.HeartbeatFromThrift(beat)
	executors := make([]cluster.Executor, len(r.Executors))
	for i, e := range r.Executors {
		executors[i] = e.Executor
	}
	h.s.Heard(r.Topology, executors)
	return nil
}

// SendSupervisorAssignments is nimbus's hint that assignments have changed. What
// counts is what is written in the coordination store: anybody can call this.
func (h *handler) SendSupervisorAssignments(context.Context, assignment.ByTopology) error {
	h.s.Refresh()
	return nil
}

// GetLocalAssignmentForStorm is where a topology runs.
func (h *handler) GetLocalAssignmentForStorm(_ context.Context, id string) (*assignment.Assignment, error) {
	r, ok := h.s.Assignment(cluster.TopologyID(id))
	if !ok {
		return nil, &storm.NotAliveException{Msg: fmt.Sprintf("no assignment of topology %q is known to this supervisor", id)}
	}
	return wire.AssignmentToThrift(r)
}
