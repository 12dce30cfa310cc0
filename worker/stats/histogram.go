package stats

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The distribution of a latency: from 64 ns to 10 min with two significant
// digits. Longer latencies count as 10 min.
const (
	lowest  = 1 << lowestBits // nanoseconds
	highest = 10 * time.Minute
	digits  = 2

	lowestBits = 6
	// halfBits is what HdrHistogram derives from two digits: 2^(halfBits+1)
	// steps of 64 ns, then 2^halfBits steps for each doubling.
	halfBits = 7
	// octaves is how often the first range doubles until it holds highest.
	octaves = 26
	slots   = (octaves + 2) << halfBits

	// percentileStep is the bucket of the ten-minute window of a histogram.
	// It is coarser than that of the counts, since a mark is kilobytes large.
	percentileStep = shortWindow / 5
)

// histogram is the side of an HdrHistogram that is written: the same slots,
// as atomic counters. They wrap, which does no harm: only what was added in
// the last minutes is ever looked at.
type histogram [slots]atomic.Uint32

// slot is the index of n nanoseconds in HdrHistogram's counts.
func slot(n uint64) int {
	n = min(n, uint64(highest))
	octave := max(bits.Len64(n)-(lowestBits+halfBits+1), 0)
	return octave<<halfBits + int(n>>(octave+lowestBits))
}

func (h *histogram) record(n uint64) { h[slot(n)].Add(1) }

// read copies the counters without the zeros at the end.
func (h *histogram) read() []uint32 {
	vals := make([]uint32, 0, slots)
	used := 0
	for i := range h {
		v := h[i].Load()
		vals = append(vals, v)
		if v != 0 {
			used = i + 1
		}
	}
	return append([]uint32(nil), vals[:used]...)
}

func (h *histogram) rotate(marks []mark[uint32], now time.Duration) []mark[uint32] {
	if h == nil {
		return nil
	}
	return rotate(marks, now, shortWindow, percentileStep, h.read)
}

// since is the distribution of the ten minutes before now.
func (h *histogram) since(marks []mark[uint32], now time.Duration) *Distribution {
	if h == nil {
		return nil
	}
	base := marks[baseIndex(marks, now-shortWindow)].vals
	var counts [slots]int64
	used := 0
	for i := range h {
		v := h[i].Load()
		if i < len(base) {
			v -= base[i]
		}
		if v != 0 {
			counts[i] = int64(v)
			used = i + 1
		}
	}
	return newDistribution(append([]int64(nil), counts[:used]...))
}

// Distribution is how a latency was spread over the last ten minutes (up to
// twelve), in all streams of an executor or of several. It never changes. A
// nil Distribution has no samples.
type Distribution struct {
	counts []int64 // as HdrHistogram numbers them; zeros at the end are left out
	total  uint64
}

func newDistribution(counts []int64) *Distribution {
	d := &Distribution{counts: counts}
	for _, n := range counts {
		d.total += uint64(n)
	}
	return d
}

// Percentiles are the usual points of a distribution.
type Percentiles struct {
	P50, P90, P99, P999, Max time.Duration
}

// Samples is the number of latencies in d.
func (d *Distribution) Samples() uint64 {
	if d == nil {
		return 0
	}
	return d.total
}

// Quantile is the latency that the share q (0 to 1) of the samples did not
// exceed, at most 1 % or 64 ns too high. It is 0 without samples.
func (d *Distribution) Quantile(q float64) time.Duration { return d.quantiles(q)[0] }

// Percentiles are the usual points of d, all 0 without samples. One call is
// cheaper than several of Quantile.
func (d *Distribution) Percentiles() Percentiles {
	v := d.quantiles(0.5, 0.9, 0.99, 0.999, 1)
	return Percentiles{v[0], v[1], v[2], v[3], v[4]}
}

func (d *Distribution) quantiles(qs ...float64) []time.Duration {
	values := make([]time.Duration, len(qs))
	if d.Samples() == 0 {
		return values
	}
	h := hdrhistogram.Import(&hdrhistogram.Snapshot{
		LowestTrackableValue:  lowest,
		HighestTrackableValue: int64(highest),
		SignificantFigures:    digits,
		Counts:                d.counts,
	})
	percents := make([]float64, len(qs))
	for i, q := range qs {
		percents[i] = 100 * q
	}
	for i, n := range h.ValueAtPercentilesSlice(percents) {
		// HdrHistogram answers with the upper end of a slot, which may lie
		// above what can be recorded.
		values[i] = min(time.Duration(n), highest)
	}
	return values
}

// join is what several distributions hold together, nil if all are nil.
func join(ds []*Distribution) *Distribution {
	var sum *Distribution
	for _, d := range ds {
		switch {
		case d == nil:
			continue
		case sum == nil:
			sum = &Distribution{}
		}
		if more := len(d.counts) - len(sum.counts); more > 0 {
			sum.counts = append(sum.counts, make([]int64, more)...)
		}
		for i, n := range d.counts {
			sum.counts[i] += n
		}
		sum.total += d.total
	}
	return sum
}
