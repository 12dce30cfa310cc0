package wire

import (
	"fmt"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// SupervisorReportToThrift is r as Stormring's SupervisorReport. It fails for
// statistics that are of no kind.
func SupervisorReportToThrift(r cluster.SupervisorReport) (*gen.SupervisorReport, error) {
	workers, err := tried("workers", r.Workers, workerReportToThrift)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	x := &gen.SupervisorReport{SupervisorID: string(r.Supervisor), Workers: workers}
	if len(r.Waiting) > 0 {
		x.Waiting = make(map[int64]string, len(r.Waiting))
		for port, why := range r.Waiting {
			x.Waiting[int64(port)] = why
		}
	}
	return x, nil
}

// SupervisorReportFromThrift is what a supervisor tells. It refuses statistics
// that are of no kind known here.
func SupervisorReportFromThrift(x *gen.SupervisorReport) (cluster.SupervisorReport, error) {
	if x == nil {
		return cluster.SupervisorReport{}, fmt.Errorf("wire: SupervisorReport: %w", errAbsent)
	}
	workers, err := tried("workers", x.Workers, workerReportFromThrift)
	if err != nil {
		return cluster.SupervisorReport{}, fmt.Errorf("wire: %w", err)
	}
	r := cluster.SupervisorReport{Supervisor: cluster.SupervisorID(x.SupervisorID), Workers: workers}
	if len(x.Waiting) > 0 {
		r.Waiting = make(map[cluster.Port]string, len(x.Waiting))
		for port, why := range x.Waiting {
			r.Waiting[cluster.Port(port)] = why
		}
	}
	return r, nil
}

func workerReportToThrift(r cluster.WorkerReport) (*gen.WorkerReport, error) {
	executors, err := tried("executors", r.Executors, executorReportToThrift)
	return &gen.WorkerReport{
		TopologyID: string(r.Topology),
		Port:       clamp(r.Port),
		TimeSecs:   r.TimeSecs,
		UptimeSecs: clamp(r.UptimeSecs),
		Executors:  executors,
	}, err
}

func workerReportFromThrift(x *gen.WorkerReport) (cluster.WorkerReport, error) {
	executors, err := tried("executors", x.Executors, executorReportFromThrift)
	return cluster.WorkerReport{
		Topology:   cluster.TopologyID(x.TopologyID),
		Port:       cluster.Port(x.Port),
		TimeSecs:   x.TimeSecs,
		UptimeSecs: int(x.UptimeSecs),
		Executors:  executors,
	}, err
}

func executorReportToThrift(r cluster.ExecutorReport) (*gen.ExecutorReport, error) {
	stats, err := ExecutorStatsToThrift(r.Stats)
	return &gen.ExecutorReport{Executor: executorToThrift(r.Executor), ComponentID: r.Component, Stats: stats}, err
}

func executorReportFromThrift(x *gen.ExecutorReport) (cluster.ExecutorReport, error) {
	stats, err := ExecutorStatsFromThrift(x.Stats)
	return cluster.ExecutorReport{Executor: executorFromThrift(x.Executor), Component: x.ComponentID, Stats: stats}, err
}

func executorToThrift(e cluster.Executor) *gen.ExecutorInfo {
	return &gen.ExecutorInfo{TaskStart: int32(e.First), TaskEnd: int32(e.Last)}
}

func executorFromThrift(x *gen.ExecutorInfo) cluster.Executor {
	if x == nil {
		return cluster.Executor{}
	}
	return cluster.Executor{First: storm.TaskID(x.TaskStart), Last: storm.TaskID(x.TaskEnd)}
}

// HeartbeatFromThrift is what a worker of Storm's tells: which executors live,
// without their components and what they do, and not on which port.
func HeartbeatFromThrift(x *gen.SupervisorWorkerHeartbeat) cluster.WorkerReport {
	if x == nil {
		return cluster.WorkerReport{}
	}
	return cluster.WorkerReport{
		Topology: cluster.TopologyID(x.StormID),
		TimeSecs: x.TimeSecs,
		Executors: required(x.Executors, func(e *gen.ExecutorInfo) cluster.ExecutorReport {
			return cluster.ExecutorReport{Executor: executorFromThrift(e)}
		}),
	}
}

// HeartbeatsFromThrift is what a supervisor of Storm's tells of its workers;
// see HeartbeatFromThrift.
func HeartbeatsFromThrift(x *gen.SupervisorWorkerHeartbeats) cluster.SupervisorReport {
	if x == nil {
		return cluster.SupervisorReport{}
	}
	return cluster.SupervisorReport{
		Supervisor: cluster.SupervisorID(x.SupervisorID),
		Workers:    required(x.WorkerHeartbeats, HeartbeatFromThrift),
	}
}

// WorkerBeatFromThrift is what a worker of Storm's tells of its executors, by first
// task. It refuses statistics that are of no kind known here.
func WorkerBeatFromThrift(x *gen.ClusterWorkerHeartbeat) (cluster.WorkerReport, error) {
	r := cluster.WorkerReport{Topology: cluster.TopologyID(x.StormID), TimeSecs: x.TimeSecs, UptimeSecs: int(x.UptimeSecs)}
	for e, s := range x.ExecutorStats {
		stats, err := ExecutorStatsFromThrift(s)
		if err != nil {
			return r, fmt.Errorf("wire: executor_stats: %w", err)
		}
		r.Executors = append(r.Executors, cluster.ExecutorReport{Executor: executorFromThrift(e), Stats: stats})
	}
	slices.SortFunc(r.Executors, func(a, b cluster.ExecutorReport) int { return a.Executor.Compare(b.Executor) })
	return r, nil
}
