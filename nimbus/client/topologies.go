package client

import (
	"context"
	"fmt"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
)

// Kill removes the topology of this name after a wait. Errors: ErrNotAlive,
// ErrUncertain.
func (c *Client) Kill(ctx context.Context, name string, o cluster.KillOptions) error {
	return c.do(ctx, once, func(ctx context.Context, x *conn) error {
		return x.KillTopologyWithOpts(ctx, name, wire.KillOptionsToThrift(o))
	})
}

// Activate lets the spouts of the topology of this name emit. Errors:
// ErrNotAlive, ErrRefused if it is killed or rebalancing.
func (c *Client) Activate(ctx context.Context, name string) error {
	return c.do(ctx, again, func(ctx context.Context, x *conn) error { return x.Activate(ctx, name) })
}

// Deactivate silences them. Errors are those of Activate.
func (c *Client) Deactivate(ctx context.Context, name string) error {
	return c.do(ctx, again, func(ctx context.Context, x *conn) error { return x.Deactivate(ctx, name) })
}

// Rebalance places the topology of this name anew after a wait. Errors:
// ErrNotAlive, ErrInvalidTopology, ErrRefused if it is killed, ErrUncertain.
func (c *Client) Rebalance(ctx context.Context, name string, o cluster.RebalanceOptions) error {
	return c.do(ctx, once, func(ctx context.Context, x *conn) error {
		return x.Rebalance(ctx, name, wire.RebalanceOptionsToThrift(o))
	})
}

// PlanRebalance tells, for people, what a rebalance would do. Errors are those
// of Rebalance.
func (c *Client) PlanRebalance(ctx context.Context, name string, o cluster.RebalanceOptions) (string, error) {
	return ask(ctx, c, func(x *conn, ctx context.Context) (string, error) {
		return x.PlanRebalance(ctx, name, wire.RebalanceOptionsToThrift(o))
	})
}

// UploadCredentials adds to the credentials of the topology of this name.
// Errors: ErrNotAlive, ErrAuthorization.
func (c *Client) UploadCredentials(ctx context.Context, name string, creds cluster.Credentials) error {
	return c.do(ctx, again, func(ctx context.Context, x *conn) error {
		return x.UploadNewCredentials(ctx, name, wire.CredentialsToThrift(creds))
	})
}

// Debug says how much of a component's tuples is logged; of all components if
// component is "". Errors: ErrNotAlive.
func (c *Client) Debug(ctx context.Context, name, component string, o cluster.DebugOptions) error {
	return c.do(ctx, again, func(ctx context.Context, x *conn) error {
		return x.Debug(ctx, name, component, o.Enable, o.Sampling)
	})
}

// SetLogConfig changes levels of loggers of the topology with this id. Errors:
// ErrRefused if it is not alive.
func (c *Client) SetLogConfig(ctx context.Context, id cluster.TopologyID, l cluster.LogConfig) error {
	config, err := wire.LogConfigToThrift(l)
	if err != nil {
		return fmt.Errorf("the log levels cannot be sent: %w", err)
	}
	return c.do(ctx, again, func(ctx context.Context, x *conn) error { return x.SetLogConfig(ctx, string(id), config) })
}

// LogConfig is the levels of the loggers of the topology with this id.
func (c *Client) LogConfig(ctx context.Context, id cluster.TopologyID) (cluster.LogConfig, error) {
	config, err := ask1(ctx, c, (*conn).GetLogConfig, string(id))
	if err != nil {
		return nil, err
	}
	return wire.LogConfigFromThrift(config)
}

// Topologies is all topologies in short.
func (c *Client) Topologies(ctx context.Context) ([]cluster.TopologySummary, error) {
	all, err := ask(ctx, c, (*conn).GetTopologySummaries)
	if err != nil {
		return nil, err
	}
	out := make([]cluster.TopologySummary, len(all))
	for i, s := range all {
		out[i] = wire.TopologySummaryFromThrift(s)
	}
	return out, nil
}

// TopologySummary is the topology of this name in short. Errors: ErrNotAlive.
func (c *Client) TopologySummary(ctx context.Context, name string) (cluster.TopologySummary, error) {
	s, err := ask1(ctx, c, (*conn).GetTopologySummaryByName, name)
	if err != nil {
		return cluster.TopologySummary{}, err
	}
	return wire.TopologySummaryFromThrift(s), nil
}

// Topology is the topology of this name with its executors and as many errors
// as are asked for. Errors: ErrNotAlive.
func (c *Client) Topology(ctx context.Context, name string, errors cluster.ErrorsChoice) (cluster.TopologyInfo, error) {
	i, err := ask2(ctx, c, (*conn).GetTopologyInfoByNameWithOpts, name, wire.ErrorsChoiceToThrift(errors))
	if err != nil {
		return cluster.TopologyInfo{}, err
	}
	return wire.TopologyInfoFromThrift(i)
}

// TopologyConf is the whole configuration, as JSON text, of the topology with
// this id. Errors: ErrNotAlive.
func (c *Client) TopologyConf(ctx context.Context, id cluster.TopologyID) (string, error) {
	return ask1(ctx, c, (*conn).GetTopologyConf, string(id))
}

// SystemTopology is the topology with this id as it runs, with Storm's own
// components. Errors: ErrNotAlive.
func (c *Client) SystemTopology(ctx context.Context, id cluster.TopologyID) (cluster.Topology, error) {
	t, err := ask1(ctx, c, (*conn).GetTopology, string(id))
	if err != nil {
		return cluster.Topology{}, err
	}
	return wire.TopologyFromThrift(t)
}

// UserTopology is the topology with this id as it was submitted. Errors:
// ErrNotAlive.
func (c *Client) UserTopology(ctx context.Context, id cluster.TopologyID) (cluster.Topology, error) {
	t, err := ask1(ctx, c, (*conn).GetUserTopology, string(id))
	if err != nil {
		return cluster.Topology{}, err
	}
	return wire.TopologyFromThrift(t)
}
