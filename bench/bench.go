// Package bench measures the runtime: named scenarios, each a small topology
// run for a time, with the bare floor beside it if asked.
//
// Begin at Run. A scenario is run in this process, after a warm-up, through
// package local as any topology is; figures are the medians of several runs.
// raw.go is the floor: the same hand-off with no runtime around it.
package bench

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

// Scenario is something to measure.
type Scenario struct {
	Name    string
	Summary string
	shape   shape
}

// shape is what a scenario's topology looks like.
type shape struct {
	acked   bool
	boxed   bool // values of type any
	fields  int  // 1 to 3
	hops    int
	workers int
	rate    int // tuples/s; 0 is as fast as can be
}

// Scenarios are all scenarios.
func Scenarios() []Scenario {
	return []Scenario{
		{"acked", "one bolt, typed values, acked", shape{acked: true, fields: 2, hops: 1, workers: 1}},
		{"acked2", "two bolts, typed values, acked", shape{acked: true, fields: 2, hops: 2, workers: 1}},
		{"unacked", "one bolt, typed values, not acked", shape{fields: 2, hops: 1, workers: 1}},
		{"any", "one bolt, values of type any, acked", shape{acked: true, boxed: true, fields: 2, hops: 1, workers: 1}},
		{"tcp", "spout and bolt in two workers over TCP, not acked", shape{fields: 3, hops: 1, workers: 2}},
		{"tcp-acked", "spout and bolt in two workers over TCP, acked", shape{acked: true, fields: 3, hops: 1, workers: 2}},
		{"latency", "two bolts at 1,000 tuples/s", shape{acked: true, fields: 2, hops: 2, workers: 1, rate: 1000}},
		{"latency-tcp", "one bolt in another worker at 1,000 tuples/s", shape{acked: true, fields: 2, hops: 1, workers: 2, rate: 1000}},
	}
}

// Options say how to measure.
type Options struct {
	Time   time.Duration // of each run, after the warm-up
	WarmUp time.Duration
	Runs   int
	Rate   int // overrides the rate of the latency scenarios; 0 keeps it
	// Raw has the floor measured too, in turn with the scenario.
	Raw  bool
	Conf storm.Config
}

// Result is what a scenario showed: medians over the runs.
type Result struct {
	Scenario       string  `json:"scenario"`
	TuplesPerSec   float64 `json:"tuples_per_sec"`
	CPUNanos       float64 `json:"cpu_ns_per_tuple"`
	AllocsPerTuple float64 `json:"allocs_per_tuple"`
	BytesPerTuple  float64 `json:"alloc_bytes_per_tuple"`
	P50Nanos       int64   `json:"latency_p50_ns"`
	P99Nanos       int64   `json:"latency_p99_ns"`
	MaxNanos       int64   `json:"latency_max_ns"`
	ResidentBytes  int64   `json:"resident_bytes"`
	// RawTuplesPerSec is the floor, 0 if it was not measured or there is none
	// for the scenario; Ratio is the share of it that was reached.
	RawTuplesPerSec float64 `json:"raw_tuples_per_sec,omitempty"`
	RawCPUNanos     float64 `json:"raw_cpu_ns_per_tuple,omitempty"`
	Ratio           float64 `json:"ratio,omitempty"`
	// OtherCPU is the share of the machine that other processes used.
	OtherCPU float64 `json:"other_cpu"`
	Runs     int     `json:"runs"`
}

// Report is what Run returns.
type Report struct {
	Machine Machine  `json:"machine"`
	Seconds float64  `json:"seconds_per_run"`
	Results []Result `json:"results"`
}

// Run measures the scenarios one after the other.
func Run(ctx context.Context, scenarios []Scenario, o Options) (Report, error) {
	report := Report{Machine: ReadMachine(), Seconds: o.Time.Seconds()}
	for _, s := range scenarios {
		var runs []Result
		for range max(o.Runs, 1) {
			r, err := s.once(ctx, o)
			if err != nil {
				return report, fmt.Errorf("scenario %q: %w", s.Name, err)
			}
			if floor := s.shape.floor(); o.Raw && floor != nil {
				raw, err := measureRaw(ctx, floor, o)
				if err != nil {
					return report, err
				}
				r.RawTuplesPerSec, r.RawCPUNanos = raw.TuplesPerSec, raw.CPUNanos
				r.Ratio = r.TuplesPerSec / raw.TuplesPerSec
			}
			runs = append(runs, r)
		}
		report.Results = append(report.Results, median(s.Name, runs))
	}
	return report, nil
}

// once is one run.
func (s Scenario) once(ctx context.Context, o Options) (Result, error) {
	sh := s.shape
	if o.Rate > 0 && sh.rate > 0 {
		sh.rate = o.Rate
	}
	m := &meter{}
	instance, err := sh.instance(m)
	if err != nil {
		return Result{}, err
	}
	topology, err := local.New(local.Options{Name: "bench-" + s.Name, Instance: instance, Conf: o.Conf, DrainFor: time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return Result{}, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var runErr error
	wg.Go(func() { _, runErr = topology.Run(running) })
	r, err := m.measure(ctx, o)
	stop()
	wg.Wait()
	if runErr != nil {
		return Result{}, runErr
	}
	r.Scenario = s.Name
	return r, err
}

// measure waits for the warm-up, then counts for the time of the run.
func (m *meter) measure(ctx context.Context, o Options) (Result, error) {
	if err := wait(ctx, o.WarmUp); err != nil {
		return Result{}, err
	}
	m.latency.Store(new(latencies))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, all, n, start := ownCPU(), machineCPU(), m.count.Load(), time.Now()
	if err := wait(ctx, o.Time); err != nil {
		return Result{}, err
	}
	took, count := time.Since(start), float64(m.count.Load()-n)
	used := ownCPU() - cpu
	others := machineCPU() - all - used
	runtime.ReadMemStats(&after)
	if count == 0 {
		return Result{}, fmt.Errorf("no tuple arrived within %s", o.Time)
	}
	r := Result{
		TuplesPerSec:   count / took.Seconds(),
		CPUNanos:       float64(used) / count,
		AllocsPerTuple: float64(after.Mallocs-before.Mallocs) / count,
		BytesPerTuple:  float64(after.TotalAlloc-before.TotalAlloc) / count,
		ResidentBytes:  residentBytes(),
		OtherCPU:       max(0, float64(others)/float64(took)/float64(runtime.NumCPU())),
	}
	r.P50Nanos, r.P99Nanos, r.MaxNanos = m.latency.Load().read()
	return r, nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// median takes each figure's median over the runs.
func median(name string, runs []Result) Result {
	pick := func(get func(Result) float64) float64 {
		v := make([]float64, len(runs))
		for i, r := range runs {
			v[i] = get(r)
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return Result{
		Scenario:        name,
		TuplesPerSec:    pick(func(r Result) float64 { return r.TuplesPerSec }),
		CPUNanos:        pick(func(r Result) float64 { return r.CPUNanos }),
		AllocsPerTuple:  pick(func(r Result) float64 { return r.AllocsPerTuple }),
		BytesPerTuple:   pick(func(r Result) float64 { return r.BytesPerTuple }),
		P50Nanos:        int64(pick(func(r Result) float64 { return float64(r.P50Nanos) })),
		P99Nanos:        int64(pick(func(r Result) float64 { return float64(r.P99Nanos) })),
		MaxNanos:        int64(pick(func(r Result) float64 { return float64(r.MaxNanos) })),
		ResidentBytes:   int64(pick(func(r Result) float64 { return float64(r.ResidentBytes) })),
		RawTuplesPerSec: pick(func(r Result) float64 { return r.RawTuplesPerSec }),
		RawCPUNanos:     pick(func(r Result) float64 { return r.RawCPUNanos }),
		Ratio:           pick(func(r Result) float64 { return r.Ratio }),
		OtherCPU:        pick(func(r Result) float64 { return r.OtherCPU }),
		Runs:            len(runs),
	}
}
