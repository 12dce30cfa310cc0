package process

import (
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/worker"
	"github.com/stormring/stormring/worker/stats"
)

const (
	// statsEvery is how often pulses carry statistics.
	statsEvery = 3 * time.Second
	// maxErrors is how many errors wait for the supervisor at most; the oldest
	// go first. They were throttled and are in the log.
	maxErrors = 100
)

// reported keeps an error of a component for the supervisor.
func (p *process) reported(e worker.ErrorInfo) {
	p.mu.Lock()
	if len(p.errors) == maxErrors {
		p.errors = p.errors[1:]
		p.said = max(p.said-1, 0)
	}
	p.errors = append(p.errors, cluster.TaskError{Component: e.Component, Task: int(e.Task), Text: e.Text, TimeMS: e.Time.UnixMilli()})
	p.mu.Unlock()
	p.hurry()
}

// pulse is a sign of life.
func (p *process) pulse() cluster.Pulse {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	out := cluster.Pulse{
		TimeMS: now.UnixMilli(), UptimeSecs: int(now.Sub(p.started) / time.Second),
		Errors: append([]cluster.TaskError(nil), p.errors...), Failure: p.failure,
	}
	p.said = len(p.errors)
	if !p.ready {
		return out
	}
	var snapshots []stats.Snapshot
	if now.Sub(p.stats) >= statsEvery {
		p.stats = now
		snapshots = p.worker.Stats(now)
	}
	for i, e := range p.worker.Executors() {
		r := cluster.ExecutorReport{Executor: cluster.Executor{First: e.First, Last: e.Last}, Component: e.Component}
		if snapshots != nil {
			r.Stats = executorStats(snapshots[i])
		}
		out.Executors = append(out.Executors, r)
	}
	return out
}

// sent forgets what the pulse has told.
func (p *process) sent() {
	p.mu.Lock()
	p.errors = p.errors[p.said:]
	p.said = 0
	p.mu.Unlock()
	select {
	case p.told <- struct{}{}:
	default:
	}
}

// executorStats are statistics in Storm's shape.
func executorStats(s stats.Snapshot) *cluster.ExecutorStats {
	out := &cluster.ExecutorStats{Emitted: cluster.OutputCounts{}, Transferred: cluster.OutputCounts{}, Rate: 1}
	spout := &cluster.SpoutStats{Acked: cluster.OutputCounts{}, Failed: cluster.OutputCounts{}, CompleteMS: cluster.OutputMeans{}}
	bolt := &cluster.BoltStats{
		Acked: cluster.InputCounts{}, Failed: cluster.InputCounts{}, Executed: cluster.InputCounts{},
		ProcessMS: cluster.InputMeans{}, ExecuteMS: cluster.InputMeans{},
	}
	for name, w := range s.Windows {
		emitted, transferred := map[string]int64{}, map[string]int64{}
		acked, failed, complete := map[string]int64{}, map[string]int64{}, map[string]float64{}
		for stream, o := range w.Outputs {
			if o.Emitted == 0 && o.Transferred == 0 && o.Acked == 0 && o.Failed == 0 {
				continue // as in Storm, a stream without a tuple is not there
			}
			emitted[stream], transferred[stream] = int64(o.Emitted), int64(o.Transferred)
			acked[stream], failed[stream], complete[stream] = int64(o.Acked), int64(o.Failed), o.Complete.Millis()
		}
		out.Emitted[name], out.Transferred[name] = emitted, transferred
		spout.Acked[name], spout.Failed[name], spout.CompleteMS[name] = acked, failed, complete
		inputs(bolt, name, w)
	}
	if s.Spout {
		out.Spout = spout
	} else {
		out.Bolt = bolt
	}
	return out
}

// inputs fills in a window of a bolt.
func inputs(b *cluster.BoltStats, name string, w stats.Window) {
	b.Acked[name], b.Failed[name], b.Executed[name] = map[cluster.StreamID]int64{}, map[cluster.StreamID]int64{}, map[cluster.StreamID]int64{}
	b.ProcessMS[name], b.ExecuteMS[name] = map[cluster.StreamID]float64{}, map[cluster.StreamID]float64{}
	for in, r := range w.Inputs {
		if r.Executed == 0 && r.Acked == 0 && r.Failed == 0 {
			continue
		}
		id := cluster.StreamID{Component: in.Component, Stream: in.Stream}
		b.Acked[name][id], b.Failed[name][id], b.Executed[name][id] = int64(r.Acked), int64(r.Failed), int64(r.Executed)
		b.ProcessMS[name][id], b.ExecuteMS[name][id] = r.Process.Millis(), r.Execute.Millis()
	}
}
