package handler

import (
	"context"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

const acts = notAlive | unauthorized

// Activate lets spouts emit.
func (h *handler) Activate(ctx context.Context, name string) error {
	return h.fail(ctx, acts, h.nimbus.Activate(ctx, name))
}

// Deactivate silences spouts.
func (h *handler) Deactivate(ctx context.Context, name string) error {
	return h.fail(ctx, acts, h.nimbus.Deactivate(ctx, name))
}

// KillTopology kills after the topology's own wait.
func (h *handler) KillTopology(ctx context.Context, name string) error {
	return h.KillTopologyWithOpts(ctx, name, nil)
}

// KillTopologyWithOpts kills.
func (h *handler) KillTopologyWithOpts(ctx context.Context, name string, options *gen.KillOptions) error {
	return h.fail(ctx, acts, h.nimbus.Kill(ctx, name, wire.KillOptionsFromThrift(options)))
}

const rebalances = notAlive | invalidTopology | unauthorized

// Rebalance places anew.
func (h *handler) Rebalance(ctx context.Context, name string, options *gen.RebalanceOptions) error {
	return h.fail(ctx, rebalances, h.nimbus.Rebalance(ctx, name, wire.RebalanceOptionsFromThrift(options)))
}

// PlanRebalance tells what a rebalance would do.
func (h *handler) PlanRebalance(ctx context.Context, name string, options *gen.RebalanceOptions) (string, error) {
	return answer(ctx, h, rebalances, same[string])(h.nimbus.PlanRebalance(ctx, name, wire.RebalanceOptionsFromThrift(options)))
}

// UploadNewCredentials adds credentials.
func (h *handler) UploadNewCredentials(ctx context.Context, name string, creds *gen.Credentials) error {
	if creds == nil {
		return refuse("uploadNewCredentials of topology %s: the credentials are missing", name)
	}
	return h.fail(ctx, rebalances, h.nimbus.UploadCredentials(ctx, name, wire.CredentialsFromThrift(creds)))
}

// Debug says how much is logged of tuples.
func (h *handler) Debug(ctx context.Context, name, component string, enable bool, sampling float64) error {
	return h.fail(ctx, acts, h.nimbus.Debug(ctx, name, component, cluster.DebugOptions{Enable: enable, Sampling: sampling}))
}

// SetLogConfig changes levels of loggers. What the interface calls a name is
// the topology's id.
func (h *handler) SetLogConfig(ctx context.Context, id string, config *gen.LogConfig) error {
	if config == nil {
		return refuse("setLogConfig of topology %s: the levels are missing", id)
	}
	levels, err := wire.LogConfigFromThrift(config)
	if err != nil {
		return refuse("setLogConfig of topology %s: %v", id, err)
	}
	return h.fail(ctx, nothing, h.nimbus.SetLogConfig(ctx, cluster.TopologyID(id), levels))
}

// GetLogConfig is the levels of loggers; the name is an id here too.
func (h *handler) GetLogConfig(ctx context.Context, id string) (*gen.LogConfig, error) {
	return answer(ctx, h, nothing, wire.LogConfigToThrift)(h.nimbus.LogConfig(ctx, cluster.TopologyID(id)))
}

// GetTopologySummaries is all topologies in short.
func (h *handler) GetTopologySummaries(ctx context.Context) ([]*gen.TopologySummary, error) {
	return answer(ctx, h, unauthorized, each(wire.TopologySummaryToThrift))(h.nimbus.TopologySummaries(ctx))
}

// GetTopologySummary is a topology in short.
func (h *handler) GetTopologySummary(ctx context.Context, id string) (*gen.TopologySummary, error) {
	return answer(ctx, h, acts, sure(wire.TopologySummaryToThrift))(h.nimbus.TopologySummary(ctx, cluster.TopologyID(id)))
}

// GetTopologySummaryByName is a topology in short.
func (h *handler) GetTopologySummaryByName(ctx context.Context, name string) (*gen.TopologySummary, error) {
	return answer(ctx, h, acts, sure(wire.TopologySummaryToThrift))(h.nimbus.TopologySummaryByName(ctx, name))
}

// GetTopologyInfo is a topology with its executors and all errors.
func (h *handler) GetTopologyInfo(ctx context.Context, id string) (*gen.TopologyInfo, error) {
	return h.GetTopologyInfoWithOpts(ctx, id, nil)
}

// GetTopologyInfoWithOpts is a topology with its executors.
func (h *handler) GetTopologyInfoWithOpts(ctx context.Context, id string, options *gen.GetInfoOptions) (*gen.TopologyInfo, error) {
	choice, err := wire.ErrorsChoiceFromThrift(options)
	if err != nil {
		return nil, refuse("getTopologyInfoWithOpts of %s: %v", id, err)
	}
	return answer(ctx, h, acts, wire.TopologyInfoToThrift)(h.nimbus.TopologyInfo(ctx, cluster.TopologyID(id), choice))
}

// GetTopologyInfoByName is a topology with its executors and all errors.
func (h *handler) GetTopologyInfoByName(ctx context.Context, name string) (*gen.TopologyInfo, error) {
	return h.GetTopologyInfoByNameWithOpts(ctx, name, nil)
}

// GetTopologyInfoByNameWithOpts is a topology with its executors.
func (h *handler) GetTopologyInfoByNameWithOpts(ctx context.Context, name string, options *gen.GetInfoOptions) (*gen.TopologyInfo, error) {
	choice, err := wire.ErrorsChoiceFromThrift(options)
	if err != nil {
		return nil, refuse("getTopologyInfoByNameWithOpts of %s: %v", name, err)
	}
	return answer(ctx, h, acts, wire.TopologyInfoToThrift)(h.nimbus.TopologyInfoByName(ctx, name, choice))
}

// GetTopologyConf is a topology's configuration as JSON.
func (h *handler) GetTopologyConf(ctx context.Context, id string) (string, error) {
	return answer(ctx, h, acts, same[string])(h.nimbus.TopologyConf(ctx, cluster.TopologyID(id)))
}

// GetTopology is a topology with Storm's own components.
func (h *handler) GetTopology(ctx context.Context, id string) (*gen.StormTopology, error) {
	return answer(ctx, h, acts, wire.TopologyToThrift)(h.nimbus.Topology(ctx, cluster.TopologyID(id)))
}

// GetUserTopology is a topology as it was submitted.
func (h *handler) GetUserTopology(ctx context.Context, id string) (*gen.StormTopology, error) {
	return answer(ctx, h, acts, wire.TopologyToThrift)(h.nimbus.UserTopology(ctx, cluster.TopologyID(id)))
}

// SetWorkerProfiler refuses: workers of Go have no profiler of Java's.
func (h *handler) SetWorkerProfiler(context.Context, string, *gen.ProfileRequest) error {
	return refuse("workers cannot be profiled from here; a worker's own monitor serves its profiles")
}

// GetComponentPendingProfileActions is none: none is ever taken.
func (h *handler) GetComponentPendingProfileActions(context.Context, string, string, gen.ProfileAction) ([]*gen.ProfileRequest, error) {
	return []*gen.ProfileRequest{}, nil
}
