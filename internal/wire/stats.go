package wire

import (
	"fmt"

	"github.com/stormring/stormring/internal/cluster"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// windows are the keys of statistics that Storm's clients look up without
// asking whether they are there.
func windows() [4]string { return [4]string{"600", "10800", "86400", ":all-time"} }

// ExecutorStatsToThrift is s as Storm's ExecutorStats, with all windows in
// every map. Nil stays nil. It fails unless s is either a bolt's or a spout's.
func ExecutorStatsToThrift(s *cluster.ExecutorStats) (*gen.ExecutorStats, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // statistics are optional wherever they are
	}
	if err := oneArm("ExecutorSpecificStats", s.Bolt != nil, s.Spout != nil); err != nil {
		return nil, fmt.Errorf("wire: specific: %w", err)
	}
	x := &gen.ExecutorStats{
		Emitted:     byOutput(s.Emitted),
		Transferred: byOutput(s.Transferred),
		Specific:    &gen.ExecutorSpecificStats{},
		Rate:        s.Rate,
	}
	if b := s.Bolt; b != nil {
		x.Specific.Bolt = &gen.BoltStats{
			Acked:        byInput(b.Acked),
			Failed:       byInput(b.Failed),
			ProcessMsAvg: byInput(b.ProcessMS),
			Executed:     byInput(b.Executed),
			ExecuteMsAvg: byInput(b.ExecuteMS),
		}
	} else {
		x.Specific.Spout = &gen.SpoutStats{
			Acked:         byOutput(s.Spout.Acked),
			Failed:        byOutput(s.Spout.Failed),
			CompleteMsAvg: byOutput(s.Spout.CompleteMS),
		}
	}
	return x, nil
}

// ExecutorStatsFromThrift are the statistics of x; nil stays nil. It refuses
// those that are of no kind known here.
func ExecutorStatsFromThrift(x *gen.ExecutorStats) (*cluster.ExecutorStats, error) {
	if x == nil {
		return nil, nil //nolint:nilnil // statistics are optional wherever they are
	}
	if x.Specific == nil {
		return nil, fmt.Errorf("wire: specific: %w", errAbsent)
	}
	bolt, spout := x.Specific.Bolt, x.Specific.Spout
	if err := oneArm("ExecutorSpecificStats", bolt != nil, spout != nil); err != nil {
		return nil, fmt.Errorf("wire: specific: %w", err)
	}
	s := &cluster.ExecutorStats{
		Emitted:     set(cluster.OutputCounts(x.Emitted)),
		Transferred: set(cluster.OutputCounts(x.Transferred)),
		Rate:        x.Rate,
	}
	if spout != nil {
		s.Spout = &cluster.SpoutStats{
			Acked:      set(cluster.OutputCounts(spout.Acked)),
			Failed:     set(cluster.OutputCounts(spout.Failed)),
			CompleteMS: set(cluster.OutputMeans(spout.CompleteMsAvg)),
		}
		return s, nil
	}
	var err error
	s.Bolt, err = boltStatsFromThrift(bolt)
	return s, err
}

func boltStatsFromThrift(x *gen.BoltStats) (*cluster.BoltStats, error) {
	b := &cluster.BoltStats{}
	for _, counts := range []struct {
		name string
		from map[string]map[*gen.GlobalStreamId]int64
		to   *cluster.InputCounts
	}{
		{"acked", x.Acked, &b.Acked},
		{"failed", x.Failed, &b.Failed},
		{"executed", x.Executed, &b.Executed},
	} {
		m, err := triedDict(counts.name, counts.from, streams)
		if err != nil {
			return nil, fmt.Errorf("wire: bolt: %w", err)
		}
		*counts.to = m
	}
	for _, means := range []struct {
		name string
		from map[string]map[*gen.GlobalStreamId]float64
		to   *cluster.InputMeans
	}{
		{"process_ms_avg", x.ProcessMsAvg, &b.ProcessMS},
		{"execute_ms_avg", x.ExecuteMsAvg, &b.ExecuteMS},
	} {
		m, err := triedDict(means.name, means.from, streams)
		if err != nil {
			return nil, fmt.Errorf("wire: bolt: %w", err)
		}
		*means.to = m
	}
	return b, nil
}

// byOutput is in with all windows.
func byOutput[V any](in map[string]map[string]V) map[string]map[string]V {
	out := dict(in, set)
	for _, w := range windows() {
		out[w] = set(out[w])
	}
	return out
}

// byInput is in with all windows.
func byInput[V any](in map[string]map[cluster.StreamID]V) map[string]map[*gen.GlobalStreamId]V {
	out := make(map[string]map[*gen.GlobalStreamId]V, len(in))
	for w, counts := range in {
		out[w] = make(map[*gen.GlobalStreamId]V, len(counts))
		for id, n := range counts {
			out[w][streamToThrift(id)] = n
		}
	}
	for _, w := range windows() {
		out[w] = set(out[w])
	}
	return out
}

// streams is a map by stream whose keys can be compared.
func streams[V any](in map[*gen.GlobalStreamId]V) (map[cluster.StreamID]V, error) {
	out := make(map[cluster.StreamID]V, len(in))
	for x, n := range in {
		out[streamFromThrift(x)] = n
	}
	if len(out) != len(in) {
		return nil, fmt.Errorf("%d of %d streams are there twice", len(in)-len(out), len(in))
	}
	return out, nil
}
