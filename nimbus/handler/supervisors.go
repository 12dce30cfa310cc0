package handler

import (
	"context"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
	"github.com/stormring/stormring/thrift/assignment"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// SendSupervisorReport takes what a supervisor tells.
func (h *handler) SendSupervisorReport(ctx context.Context, report *gen.SupervisorReport) error {
	r, err := wire.SupervisorReportFromThrift(report)
	if err != nil {
		return refuse("sendSupervisorReport: %v", err)
	}
	return h.fail(ctx, unauthorized, h.nimbus.Report(ctx, r))
}

// SetSupervisorStanding says whether a supervisor, or all on a host, take
// workers.
func (h *handler) SetSupervisorStanding(ctx context.Context, who string, standing gen.SupervisorStanding) error {
	s, err := wire.StandingFromThrift(standing)
	if err != nil {
		return refuse("setSupervisorStanding of %s: %v", who, err)
	}
	ids, err := h.supervisors(ctx, who)
	if err != nil {
		return h.fail(ctx, reads, err)
	}
	for _, id := range ids {
		if err := h.nimbus.SetStanding(ctx, id, s); err != nil {
			return h.fail(ctx, reads, err)
		}
	}
	return nil
}

// supervisors is those that are meant by an id or a host. If there is none it
// is who, of which nimbus may know nevertheless.
func (h *handler) supervisors(ctx context.Context, who string) ([]cluster.SupervisorID, error) {
	s, err := h.nimbus.ClusterSummary(ctx)
	if err != nil {
		return nil, err
	}
	var ids []cluster.SupervisorID
	for _, one := range s.Supervisors {
		if one.Host == who {
			ids = append(ids, one.ID)
		}
	}
	if id := cluster.SupervisorID(who); len(ids) == 0 ||
		slices.ContainsFunc(s.Supervisors, func(one cluster.SupervisorSummary) bool { return one.ID == id }) {
		return []cluster.SupervisorID{id}, nil
	}
	return ids, nil
}

// GetSupervisorStandings is those that are not open.
func (h *handler) GetSupervisorStandings(ctx context.Context) (map[string]gen.SupervisorStanding, error) {
	return answer(ctx, h, unauthorized, sure(func(all map[cluster.SupervisorID]cluster.Standing) map[string]gen.SupervisorStanding {
		out := make(map[string]gen.SupervisorStanding, len(all))
		for id, s := range all {
			out[string(id)] = wire.StandingToThrift(s)
		}
		return out
	}))(h.nimbus.Standings(ctx))
}

// What follows is for supervisors and workers of Storm's own. They cannot take
// part yet: they would be given workers that they cannot start.

const foreign = "supervisors and workers of Apache Storm cannot take part in this cluster; run stormring supervisor"

// GetSupervisorAssignments refuses: ours read them in the coordination store.
func (h *handler) GetSupervisorAssignments(context.Context, string) (assignment.ByTopology, error) {
	return assignment.ByTopology{}, refuse(foreign)
}

// SendSupervisorWorkerHeartbeats refuses: what it carries names no ports.
func (h *handler) SendSupervisorWorkerHeartbeats(context.Context, *gen.SupervisorWorkerHeartbeats) error {
	return refuse(foreign)
}

// SendSupervisorWorkerHeartbeat refuses: workers here tell their supervisor.
func (h *handler) SendSupervisorWorkerHeartbeat(context.Context, *gen.SupervisorWorkerHeartbeat) error {
	return refuse(foreign)
}

// ProcessWorkerMetrics refuses: workers here serve their metrics themselves.
func (h *handler) ProcessWorkerMetrics(context.Context, *gen.WorkerMetrics) error {
	return refuse(foreign)
}
