package answer

import (
	"github.com/stormring/stormring/internal/cluster"
)

// Windows are the time spans of statistics, in seconds but for the last.
func Windows() []string { return []string{"600", "10800", "86400", AllTime} }

const (
	// AllTime is the window since the start.
	AllTime = ":all-time"
	// tenMinutes is the window of which capacity is told.
	tenMinutes     = "600"
	tenMinutesSecs = 600
)

// noStats are those of an executor that has not told any.
func noStats(kind cluster.ComponentKind) *cluster.ExecutorStats {
	out := &cluster.ExecutorStats{Emitted: outputs(), Transferred: outputs(), Rate: 1}
	if kind == cluster.Spout {
		out.Spout = &cluster.SpoutStats{Acked: outputs(), Failed: outputs(), CompleteMS: cluster.OutputMeans(windows[map[string]float64]())}
		return out
	}
	inputs := func() cluster.InputCounts { return cluster.InputCounts(windows[map[cluster.StreamID]int64]()) }
	means := func() cluster.InputMeans { return cluster.InputMeans(windows[map[cluster.StreamID]float64]()) }
	out.Bolt = &cluster.BoltStats{Acked: inputs(), Failed: inputs(), Executed: inputs(), ProcessMS: means(), ExecuteMS: means()}
	return out
}

func outputs() cluster.OutputCounts { return cluster.OutputCounts(windows[map[string]int64]()) }

func windows[M ~map[K]V, K comparable, V any]() map[string]M {
	out := map[string]M{}
	for _, w := range Windows() {
		out[w] = M{}
	}
	return out
}

// mean is a mean of means, each of which counts as often as it was measured.
type mean struct{ sum, n float64 }

func (m *mean) add(value float64, n int64) {
	m.sum += value * float64(n)
	m.n += float64(n)
}

func (m mean) value() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum / m.n
}

// tally sums executors in one window.
type tally struct {
	cluster.AggregateStats
	complete, execute, process mean
}

// add adds an executor. Streams of the system count only if asked for.
func (t *tally) add(e cluster.ExecutorSummary, window string, system bool) {
	t.Executors++
	t.Tasks += int(e.Executor.Last-e.Executor.First) + 1
	s := e.Stats
	if s == nil {
		return
	}
	t.Emitted += total(s.Emitted[window], system)
	t.Transferred += total(s.Transferred[window], system)
	if s.Spout != nil {
		t.Acked += total(s.Spout.Acked[window], system)
		t.Failed += total(s.Spout.Failed[window], system)
		for stream, ms := range s.Spout.CompleteMS[window] {
			if system || !IsSystem(stream) {
				t.complete.add(ms, s.Spout.Acked[window][stream])
			}
		}
	}
	if b := s.Bolt; b != nil {
		t.Acked += inTotal(b.Acked[window], system)
		t.Failed += inTotal(b.Failed[window], system)
		t.Executed += inTotal(b.Executed[window], system)
		for in, ms := range b.ExecuteMS[window] {
			t.execute.add(ms, b.Executed[window][in])
		}
		for in, ms := range b.ProcessMS[window] {
			t.process.add(ms, b.Acked[window][in])
		}
		t.Capacity = max(t.Capacity, capacity(e))
	}
}

// sum is what was added up.
func (t *tally) result() cluster.AggregateStats {
	out := t.AggregateStats
	out.CompleteMS, out.ExecuteMS, out.ProcessMS = t.complete.value(), t.execute.value(), t.process.value()
	return out
}

// capacity is the share of the last ten minutes in which a bolt's executor was
// at work.
func capacity(e cluster.ExecutorSummary) float64 {
	if e.Stats == nil || e.Stats.Bolt == nil {
		return 0
	}
	busy := 0.0
	for in, ms := range e.Stats.Bolt.ExecuteMS[tenMinutes] {
		busy += ms * float64(e.Stats.Bolt.Executed[tenMinutes][in])
	}
	span := min(tenMinutesSecs, e.UptimeSecs)
	if span <= 0 {
		return 0
	}
	return busy / float64(span*1000)
}

func total(by map[string]int64, system bool) int64 {
	var sum int64
	for stream, n := range by {
		if system || !IsSystem(stream) {
			sum += n
		}
	}
	return sum
}

func inTotal(by map[cluster.StreamID]int64, system bool) int64 {
	var sum int64
	for in, n := range by {
		if system || !IsSystem(in.Stream) {
			sum += n
		}
	}
	return sum
}
