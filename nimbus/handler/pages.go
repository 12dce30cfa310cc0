package handler

import (
	"context"
	"errors"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
	"github.com/stormring/stormring/nimbus"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// GetLeader is the nimbus that leads. Storm answers without a result if there
// is none, which its clients take for an exception too; this one says why.
func (h *handler) GetLeader(ctx context.Context) (*gen.NimbusSummary, error) {
	leader, err := h.nimbus.Leader(ctx)
	if errors.Is(err, nimbus.ErrNotLeader) {
		return nil, &refusal{"no nimbus leads at the moment: try again", err}
	}
	return answer(ctx, h, unauthorized, sure(wire.NimbusSummaryToThrift))(leader, err)
}

// GetNimbusConf is the cluster's configuration as JSON.
func (h *handler) GetNimbusConf(ctx context.Context) (string, error) {
	return answer(ctx, h, unauthorized, same[string])(h.nimbus.NimbusConf())
}

// GetClusterInfo is all of the cluster in short.
func (h *handler) GetClusterInfo(ctx context.Context) (*gen.ClusterSummary, error) {
	return answer(ctx, h, unauthorized, sure(wire.ClusterSummaryToThrift))(h.nimbus.ClusterSummary(ctx))
}

// GetTopologyHistory is the ids of a user's topologies; of all if user is "".
func (h *handler) GetTopologyHistory(ctx context.Context, user string) (*gen.TopologyHistoryInfo, error) {
	return answer(ctx, h, unauthorized, func(ids []cluster.TopologyID) (*gen.TopologyHistoryInfo, error) {
		names, err := each(func(id cluster.TopologyID) string { return string(id) })(ids)
		return &gen.TopologyHistoryInfo{TopoIds: names}, err
	})(h.nimbus.TopologyHistory(ctx, user))
}

// GetOwnerResourceSummaries is what an owner's topologies use; of all owners if
// owner is "".
func (h *handler) GetOwnerResourceSummaries(ctx context.Context, owner string) ([]*gen.OwnerResourceSummary, error) {
	return answer(ctx, h, unauthorized, each(wire.OwnerSummaryToThrift))(h.nimbus.OwnerSummaries(ctx, owner))
}

// GetTopologyPageInfo is the UI's page of a topology.
func (h *handler) GetTopologyPageInfo(ctx context.Context, id, window string, system bool) (*gen.TopologyPageInfo, error) {
	return answer(ctx, h, acts, sure(wire.TopologyPageToThrift))(h.nimbus.TopologyPage(ctx, cluster.TopologyID(id), window, system))
}

// GetComponentPageInfo is the UI's page of a component.
func (h *handler) GetComponentPageInfo(ctx context.Context, id, component, window string, system bool) (*gen.ComponentPageInfo, error) {
	return answer(ctx, h, acts, wire.ComponentPageToThrift)(h.nimbus.ComponentPage(ctx, cluster.TopologyID(id), component, window, system))
}

// GetSupervisorPageInfo is the UI's page of a supervisor or a host.
func (h *handler) GetSupervisorPageInfo(ctx context.Context, id, host string, system bool) (*gen.SupervisorPageInfo, error) {
	return answer(ctx, h, acts, sure(wire.SupervisorPageToThrift))(h.nimbus.SupervisorPage(ctx, cluster.SupervisorID(id), host, system))
}
