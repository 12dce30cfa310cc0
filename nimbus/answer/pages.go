package answer

import (
	"maps"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/survey"
)

// Page is what the UI shows of a topology, in a window; "" is all time. last
// are the last errors by component.
func (v *View) Page(t survey.Topology, window string, system bool, last map[string]cluster.ErrorRecord) (cluster.TopologyPage, error) {
	window = orAllTime(window)
	out := cluster.TopologyPage{
		TopologySummary: v.Topology(t), Spouts: map[string]cluster.AggregateStats{}, Bolts: map[string]cluster.AggregateStats{},
		Debug: debug(t, string(t.ID)), Workers: v.Workers(t), Stats: v.topologyStats(t, system),
	}
	var err error
	if out.Conf, err = Conf(t); err != nil || t.Code == nil {
		return out, err
	}
	byComponent := v.byComponent(t)
	for id := range t.Code.Layout.Tasks {
		if IsSystem(id) && !system {
			continue
		}
		sum := v.component(t, id, byComponent[id], window, system)
		if e, ok := last[id]; ok {
			sum.LastError = &e
		}
		if sum.Kind == cluster.Spout {
			out.Spouts[id] = sum
		} else {
			out.Bolts[id] = sum
		}
	}
	return out, nil
}

func orAllTime(window string) string {
	if slices.Contains(Windows(), window) {
		return window
	}
	return AllTime
}

func debug(t survey.Topology, key string) *cluster.DebugOptions {
	if o, ok := t.Base.Debug[key]; ok {
		return &o
	}
	return nil
}

func (v *View) byComponent(t survey.Topology) map[string][]cluster.ExecutorSummary {
	out := map[string][]cluster.ExecutorSummary{}
	for _, p := range t.Record.Assignment {
		e := v.executor(t, p)
		out[e.Component] = append(out[e.Component], e)
	}
	return out
}

// component sums a component's executors. Its numbers of executors and tasks
// are those that it should have.
func (v *View) component(t survey.Topology, id string, executors []cluster.ExecutorSummary, window string, system bool) cluster.AggregateStats {
	var sum tally
	for _, e := range executors {
		sum.add(e, window, system)
	}
	sum.Kind, sum.Resources = kindOf(t, id), needs(t, id)
	sum.Executors, sum.Tasks = 0, len(t.Code.Layout.Tasks[id])
	for _, e := range t.Executors() {
		if e.Component == id {
			sum.Executors++
		}
	}
	return sum.result()
}

// needs is what an executor of a component asks for, by Storm's names.
func needs(t survey.Topology, id string) map[string]float64 {
	g := t.Code.Needs[id]
	out := map[string]float64{"onheap.memory.mb": g.OnHeap, "offheap.memory.mb": g.OffHeap, cluster.CPUName: g.CPU}
	maps.Copy(out, g.Generic)
	return out
}

// topologyStats are the sums of all components: what they emit, and what comes
// of the spouts' tuples.
func (v *View) topologyStats(t survey.Topology, system bool) cluster.TopologyStats {
	out := cluster.TopologyStats{
		Emitted: map[string]int64{}, Transferred: map[string]int64{}, Acked: map[string]int64{}, Failed: map[string]int64{}, CompleteMS: map[string]float64{},
	}
	for _, w := range Windows() {
		var all, spouts tally
		for _, p := range t.Record.Assignment {
			e := v.executor(t, p)
			if IsSystem(e.Component) && !system {
				continue
			}
			all.add(e, w, system)
			if e.Stats.Spout != nil {
				spouts.add(e, w, system)
			}
		}
		out.Emitted[w], out.Transferred[w] = all.Emitted, all.Transferred
		out.Acked[w], out.Failed[w] = spouts.Acked, spouts.Failed
		out.CompleteMS[w] = spouts.complete.value()
	}
	return out
}

// ComponentPage is what the UI shows of a component; false if the topology has
// none of that id.
func (v *View) ComponentPage(t survey.Topology, id, window string, system bool, errors []cluster.ErrorRecord) (cluster.ComponentPage, bool) {
	window = orAllTime(window)
	if t.Code == nil || t.Code.Layout.Topology.Components[id] == nil {
		return cluster.ComponentPage{}, false
	}
	out := cluster.ComponentPage{
		Component: id, Kind: kindOf(t, id), Topology: t.ID, TopologyName: t.Base.Name, TopologyStatus: t.Base.Status.String(),
		Tasks: len(t.Code.Layout.Tasks[id]), Windows: map[string]cluster.AggregateStats{}, Errors: errors,
		Debug: debug(t, id), Resources: needs(t, id),
	}
	executors := v.byComponent(t)[id]
	for _, w := range Windows() {
		out.Windows[w] = v.component(t, id, executors, w, system)
	}
	out.Executors = out.Windows[window].Executors
	out.Inputs = inputs(executors, window, system)
	out.Outputs = outputStats(executors, window, system)
	for _, e := range executors {
		var one tally
		one.add(e, window, system)
		one.Kind = out.Kind
		out.ExecutorStats = append(out.ExecutorStats, cluster.ExecutorPage{Summary: e, Stats: one.result()})
	}
	return out, true
}

// inputs are a bolt's sums by input.
func inputs(executors []cluster.ExecutorSummary, window string, system bool) map[cluster.StreamID]cluster.AggregateStats {
	sums := map[cluster.StreamID]*tally{}
	for _, e := range executors {
		b := e.Stats.Bolt
		if b == nil {
			continue
		}
		of := func(in cluster.StreamID) *tally {
			if sums[in] == nil {
				sums[in] = &tally{AggregateStats: cluster.AggregateStats{Kind: cluster.Bolt}}
			}
			return sums[in]
		}
		for in, n := range b.Executed[window] {
			of(in).Executed += n
			of(in).execute.add(b.ExecuteMS[window][in], n)
		}
		for in, n := range b.Acked[window] {
			of(in).Acked += n
			of(in).process.add(b.ProcessMS[window][in], n)
		}
		for in, n := range b.Failed[window] {
			of(in).Failed += n
		}
	}
	out := map[cluster.StreamID]cluster.AggregateStats{}
	for in, s := range sums {
		if system || !IsSystem(in.Stream) {
			out[in] = s.result()
		}
	}
	return out
}

// outputStats are sums by stream.
func outputStats(executors []cluster.ExecutorSummary, window string, system bool) map[string]cluster.AggregateStats {
	sums := map[string]*tally{}
	of := func(stream string, kind cluster.ComponentKind) *tally {
		if sums[stream] == nil {
			sums[stream] = &tally{AggregateStats: cluster.AggregateStats{Kind: kind}}
		}
		return sums[stream]
	}
	for _, e := range executors {
		kind := cluster.Bolt
		if e.Stats.Spout != nil {
			kind = cluster.Spout
			for stream, n := range e.Stats.Spout.Acked[window] {
				of(stream, kind).Acked += n
				of(stream, kind).complete.add(e.Stats.Spout.CompleteMS[window][stream], n)
			}
			for stream, n := range e.Stats.Spout.Failed[window] {
				of(stream, kind).Failed += n
			}
		}
		for stream, n := range e.Stats.Emitted[window] {
			of(stream, kind).Emitted += n
		}
		for stream, n := range e.Stats.Transferred[window] {
			of(stream, kind).Transferred += n
		}
	}
	out := map[string]cluster.AggregateStats{}
	for stream, s := range sums {
		if system || !IsSystem(stream) {
			out[stream] = s.result()
		}
	}
	return out
}
