package wire

import (
	"cmp"
	"fmt"

	"github.com/stormring/stormring/internal/cluster"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// TopologyPageToThrift is p as Storm's TopologyPageInfo, with all that Storm's
// UI reads without asking. It also wants topology.message.timeout.secs in Conf,
// which is the caller's to give.
func TopologyPageToThrift(p cluster.TopologyPage) *gen.TopologyPageInfo {
	requested, assigned := p.Resources.Requested, p.Resources.Assigned
	x := &gen.TopologyPageInfo{
		ID:                        string(p.ID),
		Name:                      &p.Name,
		UptimeSecs:                new(clamp(p.UptimeSecs)),
		Status:                    &p.Status,
		NumTasks:                  new(clamp(p.Tasks)),
		NumWorkers:                new(clamp(p.TopologySummary.Workers)),
		NumExecutors:              new(clamp(p.Executors)),
		TopologyConf:              new(cmp.Or(p.Conf, "{}")),
		IDToSpoutAggStats:         make(map[string]*gen.ComponentAggregateStats, len(p.Spouts)),
		IDToBoltAggStats:          make(map[string]*gen.ComponentAggregateStats, len(p.Bolts)),
		SchedStatus:               optional(p.SchedStatus),
		TopologyStats:             topologyStatsToThrift(p.Stats),
		Owner:                     &p.Owner,
		ReplicationCount:          new(clamp(p.Replication)),
		Workers:                   list(p.Workers, workerSummaryToThrift),
		StormVersion:              optional(p.StormVersion),
		TopologyVersion:           optional(p.Version),
		RequestedMemonheap:        &requested.OnHeap,
		RequestedMemoffheap:       &requested.OffHeap,
		RequestedCPU:              &requested.CPU,
		AssignedMemonheap:         &assigned.OnHeap,
		AssignedMemoffheap:        &assigned.OffHeap,
		AssignedCPU:               &assigned.CPU,
		RequestedGenericResources: unset(requested.Generic),
		AssignedGenericResources:  unset(assigned.Generic),
	}
	for id, s := range p.Spouts {
		x.IDToSpoutAggStats[id] = aggregateToThrift(cluster.Spout, s)
	}
	for id, s := range p.Bolts {
		x.IDToBoltAggStats[id] = aggregateToThrift(cluster.Bolt, s)
	}
	if p.Debug != nil {
		x.DebugOptions = DebugOptionsToThrift(*p.Debug)
	}
	return x
}

// TopologyPageFromThrift is what the UI shows of a topology. It refuses
// statistics that are of no kind known here.
func TopologyPageFromThrift(x *gen.TopologyPageInfo) (cluster.TopologyPage, error) {
	if x == nil {
		return cluster.TopologyPage{}, fmt.Errorf("wire: TopologyPageInfo: %w", errAbsent)
	}
	p := cluster.TopologyPage{
		TopologySummary: cluster.TopologySummary{
			ID:           cluster.TopologyID(x.ID),
			Name:         value(x.Name),
			Status:       value(x.Status),
			UptimeSecs:   int(value(x.UptimeSecs)),
			Tasks:        int(value(x.NumTasks)),
			Executors:    int(value(x.NumExecutors)),
			Workers:      int(value(x.NumWorkers)),
			Owner:        value(x.Owner),
			StormVersion: value(x.StormVersion),
			Version:      value(x.TopologyVersion),
			SchedStatus:  value(x.SchedStatus),
			Replication:  int(value(x.ReplicationCount)),
			Resources: pair(
				granted(x.RequestedMemonheap, x.RequestedMemoffheap, x.RequestedCPU, x.RequestedGenericResources),
				granted(x.AssignedMemonheap, x.AssignedMemoffheap, x.AssignedCPU, x.AssignedGenericResources),
			),
		},
		Conf:    value(x.TopologyConf),
		Stats:   topologyStatsFromThrift(x.TopologyStats),
		Debug:   debugOptional(x.DebugOptions),
		Workers: list(x.Workers, workerSummaryFromThrift),
	}
	var err error
	if p.Spouts, err = triedDict("id_to_spout_agg_stats", x.IDToSpoutAggStats, aggregateFromThrift); err != nil {
		return p, fmt.Errorf("wire: %w", err)
	}
	if p.Bolts, err = triedDict("id_to_bolt_agg_stats", x.IDToBoltAggStats, aggregateFromThrift); err != nil {
		return p, fmt.Errorf("wire: %w", err)
	}
	return p, nil
}

func debugOptional(x *gen.DebugOptions) *cluster.DebugOptions {
	if x == nil {
		return nil
	}
	return new(DebugOptionsFromThrift(x))
}

// topologyStatsToThrift gives each map the windows of all, and those that
// Storm has, so that a window found in one is there in the others.
func topologyStatsToThrift(s cluster.TopologyStats) *gen.TopologyStats {
	x := &gen.TopologyStats{
		WindowToEmitted:             dict(s.Emitted, itself),
		WindowToTransferred:         dict(s.Transferred, itself),
		WindowToCompleteLatenciesMs: make(map[string]float64, len(s.CompleteMS)),
		WindowToAcked:               dict(s.Acked, itself),
		WindowToFailed:              dict(s.Failed, itself),
	}
	all := map[string]bool{}
	for _, w := range windows() {
		all[w] = true
	}
	for w, ms := range s.CompleteMS {
		x.WindowToCompleteLatenciesMs[w] = ms
		all[w] = true
	}
	counts := []map[string]int64{x.WindowToEmitted, x.WindowToTransferred, x.WindowToAcked, x.WindowToFailed}
	for _, m := range counts {
		for w := range m {
			all[w] = true
		}
	}
	for w := range all {
		for _, m := range counts {
			m[w] += 0
		}
		x.WindowToCompleteLatenciesMs[w] += 0
	}
	return x
}

func itself(n int64) int64 { return n }

func topologyStatsFromThrift(x *gen.TopologyStats) cluster.TopologyStats {
	if x == nil {
		x = &gen.TopologyStats{}
	}
	return cluster.TopologyStats{
		Emitted:     set(x.WindowToEmitted),
		Transferred: set(x.WindowToTransferred),
		Acked:       set(x.WindowToAcked),
		Failed:      set(x.WindowToFailed),
		CompleteMS:  set(x.WindowToCompleteLatenciesMs),
	}
}

// aggregateToThrift is s as a component's of the given kind, whatever kind s
// says; Storm's UI needs all parts of it.
func aggregateToThrift(kind cluster.ComponentKind, s cluster.AggregateStats) *gen.ComponentAggregateStats {
	x := &gen.ComponentAggregateStats{
		Type: new(gen.ComponentType(kind)),
		CommonStats: &gen.CommonAggregateStats{
			NumExecutors: new(clamp(s.Executors)),
			NumTasks:     new(clamp(s.Tasks)),
			Emitted:      &s.Emitted,
			Transferred:  &s.Transferred,
			Acked:        &s.Acked,
			Failed:       &s.Failed,
			ResourcesMap: set(s.Resources),
		},
		SpecificStats: &gen.SpecificAggregateStats{},
	}
	if kind == cluster.Spout {
		x.SpecificStats.Spout = &gen.SpoutAggregateStats{CompleteLatencyMs: &s.CompleteMS}
	} else {
		x.SpecificStats.Bolt = &gen.BoltAggregateStats{
			ExecuteLatencyMs: &s.ExecuteMS,
			ProcessLatencyMs: &s.ProcessMS,
			Executed:         &s.Executed,
			Capacity:         &s.Capacity,
		}
	}
	if s.LastError != nil {
		x.LastError = ErrorRecordToThrift(*s.LastError)
	}
	return x
}

func aggregateFromThrift(x *gen.ComponentAggregateStats) (cluster.AggregateStats, error) {
	if x == nil {
		return cluster.AggregateStats{}, errAbsent
	}
	if x.SpecificStats == nil {
		return cluster.AggregateStats{}, fmt.Errorf("specific_stats: %w", errAbsent)
	}
	bolt, spout := x.SpecificStats.Bolt, x.SpecificStats.Spout
	if err := oneArm("SpecificAggregateStats", bolt != nil, spout != nil); err != nil {
		return cluster.AggregateStats{}, fmt.Errorf("specific_stats: %w", err)
	}
	common := x.CommonStats
	if common == nil {
		common = &gen.CommonAggregateStats{}
	}
	s := cluster.AggregateStats{
		Kind:        cluster.Bolt,
		Executors:   int(value(common.NumExecutors)),
		Tasks:       int(value(common.NumTasks)),
		Emitted:     value(common.Emitted),
		Transferred: value(common.Transferred),
		Acked:       value(common.Acked),
		Failed:      value(common.Failed),
		Resources:   set(common.ResourcesMap),
	}
	if x.LastError != nil {
		s.LastError = new(ErrorRecordFromThrift(x.LastError))
	}
	if spout != nil {
		s.Kind = cluster.Spout
		s.CompleteMS = value(spout.CompleteLatencyMs)
		return s, nil
	}
	s.ExecuteMS = value(bolt.ExecuteLatencyMs)
	s.ProcessMS = value(bolt.ProcessLatencyMs)
	s.Executed = value(bolt.Executed)
	s.Capacity = value(bolt.Capacity)
	return s, nil
}

// ComponentPageToThrift is p as Storm's ComponentPageInfo, with all that
// Storm's UI reads without asking. It fails for statistics that are of no kind,
// and if the component is of none.
func ComponentPageToThrift(p cluster.ComponentPage) (*gen.ComponentPageInfo, error) {
	if p.Kind != cluster.Bolt && p.Kind != cluster.Spout {
		return nil, fmt.Errorf("wire: component_type: %w", unknown("kind of component", int64(p.Kind)))
	}
	aggregate := func(s cluster.AggregateStats) *gen.ComponentAggregateStats { return aggregateToThrift(p.Kind, s) }
	executors, err := tried("exec_stats", p.ExecutorStats, func(e cluster.ExecutorPage) (*gen.ExecutorAggregateStats, error) {
		summary, err := executorSummaryToThrift(e.Summary)
		return &gen.ExecutorAggregateStats{ExecSummary: summary, Stats: aggregate(e.Stats)}, err
	})
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	x := &gen.ComponentPageInfo{
		ComponentID:      p.Component,
		ComponentType:    gen.ComponentType(p.Kind),
		TopologyID:       new(string(p.Topology)),
		TopologyName:     &p.TopologyName,
		NumExecutors:     new(clamp(p.Executors)),
		NumTasks:         new(clamp(p.Tasks)),
		WindowToStats:    dict(p.Windows, aggregate),
		GsidToInputStats: make(map[*gen.GlobalStreamId]*gen.ComponentAggregateStats, len(p.Inputs)),
		SidToOutputStats: dict(p.Outputs, aggregate),
		ExecStats:        executors,
		Errors:           errorsToThrift(p.Errors),
		TopologyStatus:   &p.TopologyStatus,
		ResourcesMap:     set(p.Resources),
	}
	for id, s := range p.Inputs {
		x.GsidToInputStats[streamToThrift(id)] = aggregate(s)
	}
	if p.Debug != nil {
		x.DebugOptions = DebugOptionsToThrift(*p.Debug)
	}
	return x, nil
}

// ComponentPageFromThrift is what the UI shows of a component. It refuses kinds
// and statistics that are not known here.
func ComponentPageFromThrift(x *gen.ComponentPageInfo) (cluster.ComponentPage, error) {
	if x == nil {
		return cluster.ComponentPage{}, fmt.Errorf("wire: ComponentPageInfo: %w", errAbsent)
	}
	p := cluster.ComponentPage{
		Component:      x.ComponentID,
		Kind:           cluster.ComponentKind(x.ComponentType),
		Topology:       cluster.TopologyID(value(x.TopologyID)),
		TopologyName:   value(x.TopologyName),
		TopologyStatus: value(x.TopologyStatus),
		Executors:      int(value(x.NumExecutors)),
		Tasks:          int(value(x.NumTasks)),
		Errors:         errorsFromThrift(x.Errors),
		Debug:          debugOptional(x.DebugOptions),
		Resources:      set(x.ResourcesMap),
	}
	if x.ComponentType != gen.ComponentType_BOLT && x.ComponentType != gen.ComponentType_SPOUT {
		return p, fmt.Errorf("wire: component_type: %w", unknown("kind of component", int64(x.ComponentType)))
	}
	var err error
	if p.Windows, err = triedDict("window_to_stats", x.WindowToStats, aggregateFromThrift); err != nil {
		return p, fmt.Errorf("wire: %w", err)
	}
	if p.Outputs, err = triedDict("sid_to_output_stats", x.SidToOutputStats, aggregateFromThrift); err != nil {
		return p, fmt.Errorf("wire: %w", err)
	}
	if p.Inputs, err = inputStatsFromThrift(x.GsidToInputStats); err != nil {
		return p, fmt.Errorf("wire: gsid_to_input_stats: %w", err)
	}
	if p.ExecutorStats, err = tried("exec_stats", x.ExecStats, executorPageFromThrift); err != nil {
		return p, fmt.Errorf("wire: %w", err)
	}
	return p, nil
}

func inputStatsFromThrift(x map[*gen.GlobalStreamId]*gen.ComponentAggregateStats) (map[cluster.StreamID]cluster.AggregateStats, error) {
	byStream, err := streams(x)
	if err != nil {
		return nil, err
	}
	out := make(map[cluster.StreamID]cluster.AggregateStats, len(byStream))
	for id, s := range byStream {
		if out[id], err = aggregateFromThrift(s); err != nil {
			return nil, fmt.Errorf("stream %q of %q: %w", id.Stream, id.Component, err)
		}
	}
	return out, nil
}

func executorPageFromThrift(x *gen.ExecutorAggregateStats) (cluster.ExecutorPage, error) {
	summary, err := executorSummaryFromThrift(x.ExecSummary)
	if err != nil {
		return cluster.ExecutorPage{}, fmt.Errorf("exec_summary: %w", err)
	}
	stats, err := aggregateFromThrift(x.Stats)
	if err != nil {
		return cluster.ExecutorPage{}, fmt.Errorf("stats: %w", err)
	}
	return cluster.ExecutorPage{Summary: summary, Stats: stats}, nil
}
