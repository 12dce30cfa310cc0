package local

import (
	"time"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker"
	"github.com/stormring/stormring/worker/monitor"
	"github.com/stormring/stormring/worker/stats"
)

// Progress is what a run has done so far.
type Progress struct {
	Elapsed time.Duration
	// Read is the share of the input that was read, from 0 to 1; negative if
	// the topology cannot tell.
	Read float64
	// Executed counts the tuples that bolts have executed.
	Executed uint64
	// Emitted counts the tuples that spouts have emitted; Acked and Failed are
	// trees.
	Emitted, Acked, Failed uint64
	Pending                int
	// P50 and P99 are complete latencies if the topology tracks tuples, else
	// execute latencies; 0 if none was measured.
	P50, P99 time.Duration
}

var _ monitor.Source = (*watch)(nil)

// Progress reads the state of the run. It may be called at any time.
func (t *watch) Progress() Progress {
	p := Progress{Elapsed: time.Since(t.start), Read: -1}
	if t.progress != nil {
		p.Read = t.progress()
	}
	var sum counts
	var spouts, bolts []stats.Snapshot
	for _, s := range t.posts {
		w, past := s.history()
		if w == nil {
			continue
		}
		p.Pending += w.Rest().Pending
		sum = sum.plus(past)
		for _, snap := range sum.add(w) {
			switch {
			case snap.Spout:
				spouts = append(spouts, snap)
			case snap.Component != storm.AckerComponent:
				bolts = append(bolts, snap)
			}
		}
	}
	p.Executed, p.Emitted, p.Acked, p.Failed = sum.executed, sum.emitted, sum.acked, sum.failed
	latency := stats.Aggregate(spouts).Complete
	if latency.Samples() == 0 {
		latency = stats.Aggregate(bolts).Execute
	}
	if latency.Samples() > 0 {
		p.P50, p.P99 = latency.Quantile(0.5), latency.Quantile(0.99)
	}
	return p
}

// counts are numbers of tuples, and of trees acked and failed.
type counts struct{ executed, emitted, acked, failed uint64 }

// add counts what a worker did in its life and returns the statistics it was
// read from.
func (c *counts) add(w *worker.Worker) []stats.Snapshot {
	snaps := w.Stats(time.Now())
	for _, snap := range snaps {
		totals := snap.Windows[stats.AllTime].Totals(false)
		switch {
		case snap.Spout:
			c.emitted += totals.Emitted
			c.acked += totals.Acked
			c.failed += totals.Failed
		case snap.Component != storm.AckerComponent:
			c.executed += totals.Executed
		}
	}
	return snaps
}

func (c counts) plus(d counts) counts {
	return counts{c.executed + d.executed, c.emitted + d.emitted, c.acked + d.acked, c.failed + d.failed}
}

// Snapshots implements monitor.Source.
func (t *watch) Snapshots() []monitor.Labeled {
	var out []monitor.Labeled
	for _, s := range t.posts {
		out = append(out, s.snapshots()...)
	}
	return out
}

// Errors are the reported errors of all workers by component.
func (t *watch) Errors() map[string][]worker.ErrorInfo {
	out := map[string][]worker.ErrorInfo{}
	for _, s := range t.posts {
		if w := s.worker(); w != nil {
			for id, list := range w.Errors() {
				out[id] = append(out[id], list...)
			}
		}
	}
	return out
}
