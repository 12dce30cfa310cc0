package worker

import (
	"time"

	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/worker/monitor"
	"github.com/stormring/stormring/worker/stats"
	"github.com/stormring/stormring/worker/transport"
)

// Executors are the executors that this worker runs, in the order of Stats.
func (w *Worker) Executors() []layout.Executor {
	out := make([]layout.Executor, len(w.units))
	for i := range w.units {
		out[i] = w.units[i].Executor
	}
	return out
}

// Stats are the statistics of all executors at now.
func (w *Worker) Stats(now time.Time) []stats.Snapshot {
	out := make([]stats.Snapshot, len(w.units))
	for i := range w.units {
		out[i] = w.units[i].stats.Snapshot(now)
	}
	return out
}

// Snapshots are the numbers of the worker for monitoring; name is how the
// worker is called there.
func (w *Worker) Snapshots(name string, now time.Time) []monitor.Labeled {
	var out []monitor.Labeled
	pending := map[*unit]int{}
	n := 0
	for i := range w.units {
		if isSpout(&w.units[i]) {
			pending[&w.units[i]] = w.spouts[n].State().Pending
			n++
		}
	}
	for i := range w.units {
		u := &w.units[i]
		snap := u.stats.Snapshot(now)
		l := monitor.Labeled{
			Topology: w.spec.TopologyID, Worker: name, Component: u.Component,
			Tasks: monitor.TaskRange(int32(u.First), int32(u.Last)), Stats: &snap,
			Values: []monitor.Value{
				{Name: monitor.QueueTuples, Value: float64(u.exec.QueueLen())},
				{Name: monitor.QueueCapacityTuples, Value: float64(u.exec.QueueLimit())},
			},
		}
		if p, ok := pending[u]; ok {
			l.Values = append(l.Values, monitor.Value{Name: monitor.PendingTrees, Value: float64(p)})
		}
		if u.check {
			l.Values = append(l.Values, checkpointValues(w.check.Status(), now)...)
		}
		out = append(out, l)
		out = append(out, w.components(name, u)...)
		out = append(out, w.statesOf(name, u)...)
	}
	if w.links != nil {
		out = append(out, w.connections(name))
	}
	return out
}

// components are what the tasks of an executor count themselves.
func (w *Worker) components(name string, u *unit) []monitor.Labeled {
	var out []monitor.Labeled
	for _, ctx := range u.contexts {
		l := monitor.Labeled{
			Topology: w.spec.TopologyID, Worker: name, Component: u.Component,
			Tasks: monitor.TaskRange(int32(ctx.Task()), int32(ctx.Task())),
		}
		seen := map[string]bool{}
		for _, m := range ctx.Metrics() {
			name := monitor.ComponentName(m.Name, m.Counter)
			if !seen[name] { // two names may be the same to Prometheus
				seen[name] = true
				l.Values = append(l.Values, monitor.Value{Name: name, Value: m.Value})
			}
		}
		if len(l.Values) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// connections sums up what went to the other workers and came from them.
func (w *Worker) connections(name string) monitor.Labeled {
	var sent transport.PeerStats
	reconnects := uint64(0)
	for _, p := range w.links.all() {
		s := p.Stats()
		sent.Tuples += s.Tuples
		sent.Bytes += s.Bytes
		sent.Dropped += s.Dropped
		reconnects += max(s.Connects, 1) - 1
	}
	values := []monitor.Value{
		{Name: monitor.SentTuples, Value: float64(sent.Tuples)},
		{Name: monitor.SentBytes, Value: float64(sent.Bytes)},
		{Name: monitor.DroppedTuples, Value: float64(sent.Dropped)},
		{Name: monitor.Reconnects, Value: float64(reconnects)},
	}
	if ln := w.links.listener.Load(); ln != nil {
		got := ln.Stats()
		values = append(values,
			monitor.Value{Name: monitor.ReceivedTuples, Value: float64(got.Tuples)},
			monitor.Value{Name: monitor.ReceivedBytes, Value: float64(got.Bytes)})
	}
	return monitor.Labeled{Topology: w.spec.TopologyID, Worker: name, Values: values}
}
