package wire

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/cluster"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// supervisors are s as they come back: Storm has no standing, and its UI needs
// memory and CPU.
func supervisors(s []cluster.SupervisorSummary) {
	for i := range s {
		s[i].Standing = ""
		resources := map[string]float64{cluster.MemoryName: 0, cluster.CPUName: 0}
		maps.Copy(resources, s[i].Resources)
		s[i].Resources = resources
	}
}

func dropGeneric(r *cluster.ResourcePair) { r.Requested.Generic, r.Assigned.Generic = nil, nil }

func workers(s []cluster.WorkerSummary) {
	for i := range s {
		dropGeneric(&s[i].Resources)
	}
}

func TestSummaries(t *testing.T) {
	encode, decode := through(surely(ClusterSummaryToThrift), gen.NewClusterSummary, surely(ClusterSummaryFromThrift))
	roundTrip(t, encode, decode, func(t *rapid.T) cluster.ClusterSummary {
		return draw[cluster.ClusterSummary](t, "cluster")
	}, func(s cluster.ClusterSummary) cluster.ClusterSummary {
		supervisors(s.Supervisors)
		for i := range s.Supervisors {
			if s.Supervisors[i].Version == gen.NewSupervisorSummary().Version {
				s.Supervisors[i].Version = ""
			}
		}
		return s
	})
	encodeS, decodeS := through(surely(SupervisorPageToThrift), gen.NewSupervisorPageInfo, surely(SupervisorPageFromThrift))
	roundTrip(t, encodeS, decodeS, func(t *rapid.T) cluster.SupervisorPage {
		return draw[cluster.SupervisorPage](t, "page")
	}, func(p cluster.SupervisorPage) cluster.SupervisorPage {
		supervisors(p.Supervisors)
		workers(p.Workers)
		return p
	})
	encodeO, decodeO := through(surely(OwnerSummaryToThrift), gen.NewOwnerResourceSummary, surely(OwnerSummaryFromThrift))
	roundTrip(t, encodeO, decodeO, func(t *rapid.T) cluster.OwnerSummary {
		return draw[cluster.OwnerSummary](t, "owner")
	}, func(s cluster.OwnerSummary) cluster.OwnerSummary {
		dropGeneric(&s.Resources)
		if s.Guaranteed != nil {
			s.Guaranteed.Generic = nil
		}
		return s
	})
}

func drawInfo(t *rapid.T) cluster.TopologyInfo {
	i := cluster.TopologyInfo{
		TopologySummary: draw[cluster.TopologySummary](t, "summary"),
		Errors:          draw[map[string][]cluster.ErrorRecord](t, "errors"),
		Debug:           draw[map[string]cluster.DebugOptions](t, "debug"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "executors") {
		i.ExecutorList = append(i.ExecutorList, drawSummary(t))
	}
	return i
}

func drawSummary(t *rapid.T) cluster.ExecutorSummary {
	s := draw[cluster.ExecutorSummary](t, "executor")
	s.Executor.First, s.Executor.Last = min(s.Executor.First, s.Executor.Last), max(s.Executor.First, s.Executor.Last)
	if s.Stats != nil {
		s.Stats = drawStats(t)
	}
	return s
}

func TestTopologyInfo(t *testing.T) {
	encode, decode := through(TopologyInfoToThrift, gen.NewTopologyInfo, TopologyInfoFromThrift)
	roundTrip(t, encode, decode, drawInfo, func(i cluster.TopologyInfo) cluster.TopologyInfo {
		dropGeneric(&i.Resources)
		i.Version = ""
		type place struct {
			host string
			port cluster.Port
		}
		places := map[place]bool{}
		i.Tasks, i.Executors = 0, len(i.ExecutorList)
		for n := range i.ExecutorList {
			e := &i.ExecutorList[n]
			e.Stats = filled(e.Stats)
			i.Tasks += int(e.Executor.Last) - int(e.Executor.First) + 1
			places[place{e.Host, e.Port}] = true
		}
		i.Workers = len(places)
		return i
	})
}

// aggregate is s as it comes back for a component of this kind.
func aggregate(kind cluster.ComponentKind, s cluster.AggregateStats) cluster.AggregateStats {
	s.Kind = kind
	if kind == cluster.Spout {
		s.ExecuteMS, s.ProcessMS, s.Executed, s.Capacity = 0, 0, 0, 0
	} else {
		s.CompleteMS = 0
	}
	return s
}

func TestTopologyPage(t *testing.T) {
	encode, decode := through(surely(TopologyPageToThrift), gen.NewTopologyPageInfo, TopologyPageFromThrift)
	roundTrip(t, encode, decode, func(t *rapid.T) cluster.TopologyPage {
		return draw[cluster.TopologyPage](t, "page")
	}, func(p cluster.TopologyPage) cluster.TopologyPage {
		workers(p.Workers)
		if p.Conf == "" {
			p.Conf = "{}"
		}
		for id, s := range p.Spouts {
			p.Spouts[id] = aggregate(cluster.Spout, s)
		}
		for id, s := range p.Bolts {
			p.Bolts[id] = aggregate(cluster.Bolt, s)
		}
		s := &p.Stats
		s.Emitted, s.Transferred, s.Acked = windowed(s.Emitted), windowed(s.Transferred), windowed(s.Acked)
		s.Failed, s.CompleteMS = windowed(s.Failed), windowed(s.CompleteMS)
		counts := []map[string]int64{s.Emitted, s.Transferred, s.Acked, s.Failed}
		for _, from := range counts {
			for w := range from {
				s.CompleteMS[w] += 0
			}
		}
		for w := range s.CompleteMS {
			for _, to := range counts {
				to[w] += 0
			}
		}
		return p
	})
}

func TestComponentPage(t *testing.T) {
	encode, decode := through(ComponentPageToThrift, gen.NewComponentPageInfo, ComponentPageFromThrift)
	roundTrip(t, encode, decode, func(t *rapid.T) cluster.ComponentPage {
		p := cluster.ComponentPage{
			Component: rapid.String().Draw(t, "component"), Kind: draw[cluster.ComponentKind](t, "kind"),
			Topology: draw[cluster.TopologyID](t, "topology"), TopologyName: rapid.String().Draw(t, "name"),
			TopologyStatus: rapid.String().Draw(t, "status"), Executors: draw[int](t, "executors"), Tasks: draw[int](t, "tasks"),
			Windows: draw[map[string]cluster.AggregateStats](t, "windows"),
			Inputs:  draw[map[cluster.StreamID]cluster.AggregateStats](t, "inputs"),
			Outputs: draw[map[string]cluster.AggregateStats](t, "outputs"),
			Errors:  draw[[]cluster.ErrorRecord](t, "errors"), Debug: draw[*cluster.DebugOptions](t, "debug"),
			Resources: draw[map[string]float64](t, "resources"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "pages") {
			p.ExecutorStats = append(p.ExecutorStats, cluster.ExecutorPage{
				Summary: drawSummary(t), Stats: draw[cluster.AggregateStats](t, "stats"),
			})
		}
		return p
	}, func(p cluster.ComponentPage) cluster.ComponentPage {
		for w, s := range p.Windows {
			p.Windows[w] = aggregate(p.Kind, s)
		}
		for id, s := range p.Inputs {
			p.Inputs[id] = aggregate(p.Kind, s)
		}
		for id, s := range p.Outputs {
			p.Outputs[id] = aggregate(p.Kind, s)
		}
		for i := range p.ExecutorStats {
			e := &p.ExecutorStats[i]
			e.Stats = aggregate(p.Kind, e.Stats)
			e.Summary.Stats = filled(e.Summary.Stats)
		}
		return p
	})
}

// What Storm's UI reads without asking is there even if there is nothing to
// say.
func TestPagesHaveWhatTheUINeeds(t *testing.T) {
	spout, bolt := map[string]cluster.AggregateStats{"words": {}}, map[string]cluster.AggregateStats{"split": {}}
	p := TopologyPageToThrift(cluster.TopologyPage{Spouts: spout, Bolts: bolt})
	s := p.TopologyStats
	for name, windows := range map[string]int{
		"emitted": len(s.WindowToEmitted), "transferred": len(s.WindowToTransferred), "acked": len(s.WindowToAcked),
		"failed": len(s.WindowToFailed), "complete": len(s.WindowToCompleteLatenciesMs),
	} {
		if windows != 4 {
			t.Errorf("%s has %d windows, want 4", name, windows)
		}
	}
	if x := p.IDToSpoutAggStats["words"]; *x.Type != gen.ComponentType_SPOUT || x.CommonStats.ResourcesMap == nil || x.SpecificStats.Spout == nil || x.LastError != nil {
		t.Errorf("the spout's statistics are %v", x)
	}
	if x := p.IDToBoltAggStats["split"]; *x.Type != gen.ComponentType_BOLT || x.CommonStats.ResourcesMap == nil || x.SpecificStats.Bolt == nil {
		t.Errorf("the bolt's statistics are %v", x)
	}
	if p.TopologyConf == nil || *p.TopologyConf != "{}" || p.Owner == nil || p.SchedStatus != nil || p.DebugOptions != nil || p.Workers != nil {
		t.Errorf("the page is %v", p)
	}
	if p := TopologyPageToThrift(cluster.TopologyPage{}); p.IDToBoltAggStats == nil || p.IDToSpoutAggStats == nil {
		t.Errorf("the page has not both maps: %v", p)
	}

	c, err := ComponentPageToThrift(cluster.ComponentPage{Kind: cluster.Bolt})
	if err != nil {
		t.Fatal(err)
	}
	if c.WindowToStats == nil || c.GsidToInputStats == nil || c.SidToOutputStats == nil || c.ExecStats == nil || c.Errors == nil || c.ResourcesMap == nil {
		t.Errorf("the component's page is %v", c)
	}
	total := ClusterSummaryToThrift(cluster.ClusterSummary{Supervisors: make([]cluster.SupervisorSummary, 1)}).Supervisors[0].TotalResources
	if !maps.Equal(total, map[string]float64{"memory.mb": 0, "cpu.pcore.percent": 0}) {
		t.Errorf("total_resources is %v", total)
	}
	if x := TopologySummaryToThrift(cluster.TopologySummary{}); x.Owner == nil || x.StormVersion != nil || x.RequestedGenericResources != nil {
		t.Errorf("the summary is %v", x)
	}
	if x := SupervisorPageToThrift(cluster.SupervisorPage{}); x.SupervisorSummaries == nil || x.WorkerSummaries == nil {
		t.Errorf("the supervisor's page is %v", x)
	}
	info, err := TopologyInfoToThrift(cluster.TopologyInfo{})
	if err != nil || info.Errors == nil || info.Executors == nil {
		t.Errorf("the info is %v, %v", info, err)
	}
}
