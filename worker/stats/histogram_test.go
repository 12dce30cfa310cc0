package stats

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

func reference() *hdrhistogram.Histogram {
	return hdrhistogram.New(lowest, int64(highest), digits)
}

// nanoseconds draws latencies of all magnitudes.
func nanoseconds() *rapid.Generator[int64] {
	return rapid.Custom(func(t *rapid.T) int64 {
		shift := rapid.IntRange(0, 62).Draw(t, "magnitude")
		return rapid.Int64Range(0, math.MaxInt64>>shift).Draw(t, "ns")
	})
}

func TestSlotIsHdrHistograms(t *testing.T) {
	if n := len(reference().Export().Counts); n != slots {
		t.Fatalf("HdrHistogram has %d slots, we have %d", n, slots)
	}
	check := func(n int64) (got, want int) {
		h := reference()
		if err := h.RecordValue(min(n, int64(highest))); err != nil {
			return slot(uint64(n)), -1
		}
		return slot(uint64(n)), slices.Index(h.Export().Counts, 1)
	}
	edges := []int64{0, 1, 63, 64, 16383, 16384, 16511, 16512, 32767, 32768, int64(highest) - 1, int64(highest), int64(highest) + 1, math.MaxInt64}
	for _, n := range edges {
		if got, want := check(n); got != want {
			t.Errorf("slot(%d) = %d, want %d", n, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := nanoseconds().Draw(t, "n")
		if got, want := check(n); got != want {
			t.Fatalf("slot(%d) = %d, want %d", n, got, want)
		}
	})
}

func TestDistributionMatchesHdrHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(nanoseconds(), 1, 200).Draw(t, "samples")
		e := New(spoutSpec(), t0)
		want := reference()
		for i, n := range samples {
			e.ObserveComplete(i%2, time.Duration(n))
			if err := want.RecordValue(min(n, int64(highest))); err != nil {
				t.Fatal(err)
			}
		}
		d := e.Snapshot(at(time.Second)).Complete
		if d.Samples() != uint64(len(samples)) {
			t.Fatalf("%d samples, want %d", d.Samples(), len(samples))
		}
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 1} {
			got, exact := d.Quantile(q), min(time.Duration(want.ValueAtPercentile(100*q)), highest)
			if got != exact {
				t.Fatalf("quantile %v: %v, want %v", q, got, exact)
			}
		}
		p := d.Percentiles()
		if p != (Percentiles{d.Quantile(0.5), d.Quantile(0.9), d.Quantile(0.99), d.Quantile(0.999), d.Quantile(1)}) {
			t.Fatalf("percentiles %+v", p)
		}
		slices.Sort(samples)
		top := min(time.Duration(samples[len(samples)-1]), highest)
		if p.Max < top || p.Max > top+top/100+lowest {
			t.Fatalf("max %v of %v", p.Max, top)
		}
	})
}

func TestDistributionForgets(t *testing.T) {
	e := New(boltSpec(), t0)
	observe := func(d time.Duration, n int) {
		for range n {
			e.ObserveExecute(0, d)
			e.ObserveProcess(1, 2*d)
		}
	}
	observe(time.Second, 10)
	e.Tick(at(2 * time.Minute))
	observe(time.Millisecond, 5)
	e.Tick(at(4 * time.Minute))
	observe(time.Microsecond, 1)
	tests := []struct {
		at      time.Duration
		samples uint64
		max     time.Duration // of execute, the lower end
	}{
		{4 * time.Minute, 16, time.Second},
		{12*time.Minute - 1, 16, time.Second},
		{12 * time.Minute, 6, time.Millisecond},
		{14*time.Minute - 1, 6, time.Millisecond},
		{14 * time.Minute, 1, time.Microsecond},
	}
	for _, tc := range tests {
		s := e.Snapshot(at(tc.at))
		if s.Execute.Samples() != tc.samples || s.Process.Samples() != tc.samples {
			t.Errorf("at %v: %d and %d samples, want %d", tc.at, s.Execute.Samples(), s.Process.Samples(), tc.samples)
		}
		if got := s.Execute.Percentiles().Max; got < tc.max || got > tc.max+tc.max/100+lowest {
			t.Errorf("at %v: max %v, want %v", tc.at, got, tc.max)
		}
		if got := s.Process.Percentiles().Max; got < 2*tc.max || got > 2*tc.max+2*tc.max/100+lowest {
			t.Errorf("at %v: max of process %v, want %v", tc.at, got, 2*tc.max)
		}
	}
}

func TestDistributionSurvivesWrap(t *testing.T) {
	e := New(spoutSpec(), t0)
	i := slot(1000)
	e.complete[i].Store(math.MaxUint32 - 1)
	e.Tick(at(2 * time.Minute))
	for range 5 {
		e.ObserveComplete(0, 1000)
	}
	if got := e.Snapshot(at(12 * time.Minute)).Complete.Samples(); got != 5 {
		t.Errorf("%d samples, want 5", got)
	}
}
