package client

import (
	"context"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// ClusterSummary is all of the cluster in short.
func (c *Client) ClusterSummary(ctx context.Context) (cluster.ClusterSummary, error) {
	s, err := ask(ctx, c, (*conn).GetClusterInfo)
	if err != nil {
		return cluster.ClusterSummary{}, err
	}
	return wire.ClusterSummaryFromThrift(s), nil
}

// TopologyPage is what the UI shows of the topology with this id in a window
// ("600", "10800", "86400" seconds or ":all-time"), with or without Storm's own
// components. Errors: ErrNotAlive.
func (c *Client) TopologyPage(ctx context.Context, id cluster.TopologyID, window string, system bool) (cluster.TopologyPage, error) {
	p, err := ask(ctx, c, func(x *conn, ctx context.Context) (*gen.TopologyPageInfo, error) {
		return x.GetTopologyPageInfo(ctx, string(id), window, system)
	})
	if err != nil {
		return cluster.TopologyPage{}, err
	}
	return wire.TopologyPageFromThrift(p)
}

// ComponentPage is what the UI shows of a component. Errors: ErrNotAlive, also
// if the topology has no such component.
func (c *Client) ComponentPage(ctx context.Context, id cluster.TopologyID, component, window string, system bool) (cluster.ComponentPage, error) {
	p, err := ask(ctx, c, func(x *conn, ctx context.Context) (*gen.ComponentPageInfo, error) {
		return x.GetComponentPageInfo(ctx, string(id), component, window, system)
	})
	if err != nil {
		return cluster.ComponentPage{}, err
	}
	return wire.ComponentPageFromThrift(p)
}

// SupervisorPage is what the UI shows of a supervisor, or of all on a host.
func (c *Client) SupervisorPage(ctx context.Context, id cluster.SupervisorID, host string, system bool) (cluster.SupervisorPage, error) {
	p, err := ask(ctx, c, func(x *conn, ctx context.Context) (*gen.SupervisorPageInfo, error) {
		return x.GetSupervisorPageInfo(ctx, string(id), host, system)
	})
	if err != nil {
		return cluster.SupervisorPage{}, err
	}
	return wire.SupervisorPageFromThrift(p), nil
}

// TopologyHistory is the ids of topologies that were submitted, by a user or,
// if user is "", by all.
func (c *Client) TopologyHistory(ctx context.Context, user string) ([]cluster.TopologyID, error) {
	h, err := ask1(ctx, c, (*conn).GetTopologyHistory, user)
	if err != nil {
		return nil, err
	}
	ids := make([]cluster.TopologyID, len(h.TopoIds))
	for i, id := range h.TopoIds {
		ids[i] = cluster.TopologyID(id)
	}
	return ids, nil
}

// OwnerSummaries is what an owner's topologies use, or if owner is "" those of
// each owner.
func (c *Client) OwnerSummaries(ctx context.Context, owner string) ([]cluster.OwnerSummary, error) {
	all, err := ask1(ctx, c, (*conn).GetOwnerResourceSummaries, owner)
	if err != nil {
		return nil, err
	}
	out := make([]cluster.OwnerSummary, len(all))
	for i, s := range all {
		out[i] = wire.OwnerSummaryFromThrift(s)
	}
	return out, nil
}

// NimbusConf is nimbus's configuration as JSON text.
func (c *Client) NimbusConf(ctx context.Context) (string, error) {
	return ask(ctx, c, (*conn).GetNimbusConf)
}
