package wire

import (
	"fmt"

	"github.com/stormring/stormring/internal/cluster"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// TopologyInfoToThrift is i as Storm's TopologyInfo. It fails for statistics
// that are of no kind. An executor's statistics should not be nil, for some
// clients of Storm look into them without asking; empty ones are given all
// windows.
func TopologyInfoToThrift(i cluster.TopologyInfo) (*gen.TopologyInfo, error) {
	executors, err := tried("executors", i.ExecutorList, executorSummaryToThrift)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return &gen.TopologyInfo{
		ID:                  string(i.ID),
		Name:                i.Name,
		UptimeSecs:          clamp(i.UptimeSecs),
		Executors:           executors,
		Status:              i.Status,
		Errors:              dict(i.Errors, errorsToThrift),
		ComponentDebug:      unset(dict(i.Debug, DebugOptionsToThrift)),
		StormVersion:        optional(i.StormVersion),
		SchedStatus:         optional(i.SchedStatus),
		Owner:               &i.Owner,
		ReplicationCount:    new(clamp(i.Replication)),
		RequestedMemonheap:  &i.Resources.Requested.OnHeap,
		RequestedMemoffheap: &i.Resources.Requested.OffHeap,
		RequestedCPU:        &i.Resources.Requested.CPU,
		AssignedMemonheap:   &i.Resources.Assigned.OnHeap,
		AssignedMemoffheap:  &i.Resources.Assigned.OffHeap,
		AssignedCPU:         &i.Resources.Assigned.CPU,
	}, nil
}

// TopologyInfoFromThrift is a topology with its executors. The numbers of
// tasks, executors and workers, which Storm leaves out, are counted.
func TopologyInfoFromThrift(x *gen.TopologyInfo) (cluster.TopologyInfo, error) {
	if x == nil {
		return cluster.TopologyInfo{}, fmt.Errorf("wire: TopologyInfo: %w", errAbsent)
	}
	i := cluster.TopologyInfo{
		TopologySummary: cluster.TopologySummary{
			ID:           cluster.TopologyID(x.ID),
			Name:         x.Name,
			Status:       x.Status,
			UptimeSecs:   int(x.UptimeSecs),
			Owner:        value(x.Owner),
			StormVersion: value(x.StormVersion),
			SchedStatus:  value(x.SchedStatus),
			Replication:  int(value(x.ReplicationCount)),
			Resources: pair(
				granted(x.RequestedMemonheap, x.RequestedMemoffheap, x.RequestedCPU, nil),
				granted(x.AssignedMemonheap, x.AssignedMemoffheap, x.AssignedCPU, nil),
			),
		},
		Errors: dict(x.Errors, errorsFromThrift),
		Debug:  unset(dict(x.ComponentDebug, DebugOptionsFromThrift)),
	}
	var err error
	if i.ExecutorList, err = tried("executors", x.Executors, executorSummaryFromThrift); err != nil {
		return i, fmt.Errorf("wire: %w", err)
	}
	type address struct {
		host string
		port cluster.Port
	}
	workers := map[address]bool{}
	for _, e := range i.ExecutorList {
		i.Tasks += max(0, int(e.Executor.Last)-int(e.Executor.First)+1)
		workers[address{e.Host, e.Port}] = true
	}
	i.Executors, i.Workers = len(i.ExecutorList), len(workers)
	return i, nil
}

func errorsToThrift(records []cluster.ErrorRecord) []*gen.ErrorInfo {
	return required(records, ErrorRecordToThrift)
}

func errorsFromThrift(x []*gen.ErrorInfo) []cluster.ErrorRecord {
	return required(x, ErrorRecordFromThrift)
}

func executorSummaryToThrift(s cluster.ExecutorSummary) (*gen.ExecutorSummary, error) {
	stats, err := ExecutorStatsToThrift(s.Stats)
	return &gen.ExecutorSummary{
		ExecutorInfo: executorToThrift(s.Executor),
		ComponentID:  s.Component,
		Host:         s.Host,
		Port:         clamp(s.Port),
		UptimeSecs:   clamp(s.UptimeSecs),
		Stats:        stats,
	}, err
}

func executorSummaryFromThrift(x *gen.ExecutorSummary) (cluster.ExecutorSummary, error) {
	if x == nil {
		return cluster.ExecutorSummary{}, errAbsent
	}
	stats, err := ExecutorStatsFromThrift(x.Stats)
	return cluster.ExecutorSummary{
		Executor:   executorFromThrift(x.ExecutorInfo),
		Component:  x.ComponentID,
		Host:       x.Host,
		Port:       cluster.Port(x.Port),
		UptimeSecs: int(x.UptimeSecs),
		Stats:      stats,
	}, err
}
