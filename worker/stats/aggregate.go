package stats

import "time"

// Aggregate adds up the snapshots of the executors of one component: counts
// and latencies are summed, distributions joined, Capacity is the highest.
// Without snapshots it is the zero Snapshot.
func Aggregate(snaps []Snapshot) Snapshot {
	if len(snaps) == 0 {
		return Snapshot{}
	}
	sum := Snapshot{
		Component: snaps[0].Component,
		Spout:     snaps[0].Spout,
		Windows:   make(map[string]Window, len(snaps[0].Windows)),
	}
	for _, s := range snaps {
		sum.Executors += s.Executors
		sum.Uptime = max(sum.Uptime, s.Uptime)
		sum.Capacity = max(sum.Capacity, s.Capacity)
		for name, w := range s.Windows {
			sum.Windows[name] = sum.Windows[name].add(w)
		}
	}
	sum.Execute = joined(snaps, func(s *Snapshot) *Distribution { return s.Execute })
	sum.Process = joined(snaps, func(s *Snapshot) *Distribution { return s.Process })
	sum.Complete = joined(snaps, func(s *Snapshot) *Distribution { return s.Complete })
	return sum
}

func joined(snaps []Snapshot, kind func(*Snapshot) *Distribution) *Distribution {
	ds := make([]*Distribution, len(snaps))
	for i := range snaps {
		ds[i] = kind(&snaps[i])
	}
	return join(ds)
}

// add counts v into w, whose maps it makes or changes, and returns w.
func (w Window) add(v Window) Window {
	if w.Outputs == nil {
		w.Outputs = make(map[string]Output, len(v.Outputs))
		w.Inputs = make(map[Input]Received, len(v.Inputs))
	}
	w.Span = max(w.Span, v.Span)
	for stream, b := range v.Outputs {
		a := w.Outputs[stream]
		w.Outputs[stream] = Output{
			Emitted:     a.Emitted + b.Emitted,
			Transferred: a.Transferred + b.Transferred,
			Acked:       a.Acked + b.Acked,
			Failed:      a.Failed + b.Failed,
			Complete:    a.Complete.plus(b.Complete),
		}
	}
	for in, b := range v.Inputs {
		a := w.Inputs[in]
		w.Inputs[in] = Received{
			Executed: a.Executed + b.Executed,
			Acked:    a.Acked + b.Acked,
			Failed:   a.Failed + b.Failed,
			Execute:  a.Execute.plus(b.Execute),
			Process:  a.Process.plus(b.Process),
		}
	}
	return w
}

// ByComponent aggregates snapshots of any executors by component id.
func ByComponent(snaps []Snapshot) map[string]Snapshot {
	groups := make(map[string][]Snapshot)
	for _, s := range snaps {
		groups[s.Component] = append(groups[s.Component], s)
	}
	sums := make(map[string]Snapshot, len(groups))
	for id, group := range groups {
		sums[id] = Aggregate(group)
	}
	return sums
}

// TopologyTotals is the line that Storm's UI shows of a whole topology.
type TopologyTotals struct {
	Span                 time.Duration // the longest of the executors'
	Emitted, Transferred uint64        // by all components
	// Acked, Failed and Complete are those of the spouts: tuple trees.
	Acked, Failed uint64
	Complete      Latency
}

// Topology is the total of all executors of a topology by window name. Storm's
// own components and streams, whose names start with "__", only count if
// system is true.
func Topology(snaps []Snapshot, system bool) map[string]TopologyTotals {
	totals := make(map[string]TopologyTotals, len(Windows()))
	for _, name := range Windows() {
		var sum TopologyTotals
		for _, s := range snaps {
			if system || !isSystem(s.Component) {
				sum = sum.add(s.Windows[name], s.Spout, system)
			}
		}
		totals[name] = sum
	}
	return totals
}

func (t TopologyTotals) add(w Window, spout, system bool) TopologyTotals {
	c := w.Totals(system)
	t.Span = max(t.Span, w.Span)
	t.Emitted += c.Emitted
	t.Transferred += c.Transferred
	if spout {
		t.Acked += c.Acked
		t.Failed += c.Failed
		t.Complete = t.Complete.plus(c.Complete)
	}
	return t
}
