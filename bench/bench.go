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
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker"
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
	Raw bool
	// Conf lies on top of the scenarios' own configuration.
	Conf storm.Config
	// Begin, if set, is told of every run as it begins; runs count from 0.
	Begin func(scenario string, run int)
}

// Result is what a scenario showed: medians over the runs.
type Result struct {
	Scenario string `json:"scenario"`
	// Rate is how many tuples/s were asked for; 0 is as many as can be.
	Rate           int     `json:"rate,omitempty"`
	TuplesPerSec   float64 `json:"tuples_per_sec"`
	CPUNanos       float64 `json:"cpu_ns_per_tuple"`
	ChildCPUNanos  float64 `json:"child_cpu_ns_per_tuple,omitempty"` // of child processes
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
}

// Settings are what the figures of a report depend on.
type Settings struct {
	Seconds       float64      `json:"seconds_per_run"`
	WarmUpSeconds float64      `json:"warm_up_seconds"`
	Runs          int          `json:"runs"`
	MaxPending    int          `json:"max_spout_pending"` // of the acked scenarios
	Conf          storm.Config `json:"conf,omitempty"`
}

// Report is what Run returns.
type Report struct {
	Machine  Machine  `json:"machine"`
	Settings Settings `json:"settings"`
	Results  []Result `json:"results"`
}

// Run measures the scenarios one after the other. The report is of those that
// were finished, whatever the error.
func Run(ctx context.Context, scenarios []Scenario, o Options) (Report, error) {
	o.Runs = max(o.Runs, 1)
	report := Report{
		Machine: ReadMachine(),
		Settings: Settings{
			Seconds: o.Time.Seconds(), WarmUpSeconds: o.WarmUp.Seconds(), Runs: o.Runs, MaxPending: maxPending, Conf: o.Conf,
		},
		Results: []Result{},
	}
	for _, s := range scenarios {
		if o.Rate > 0 && s.shape.rate > 0 {
			s.shape.rate = o.Rate
		}
		var runs []Result
		for i := range o.Runs {
			if o.Begin != nil {
				o.Begin(s.Name, i)
			}
			r, err := s.run(ctx, o)
			if err != nil {
				return report, fmt.Errorf("scenario %q: %w", s.Name, err)
			}
			runs = append(runs, r)
		}
		r := median(runs)
		r.Scenario, r.Rate = s.Name, s.shape.rate
		report.Results = append(report.Results, r)
	}
	return report, nil
}

// run is one run, and one of the floor if wanted.
func (s Scenario) run(ctx context.Context, o Options) (Result, error) {
	r, err := s.once(ctx, o)
	floor := s.shape.floor()
	if err != nil || !o.Raw || floor == nil {
		return r, err
	}
	raw, err := measureRaw(ctx, floor, o)
	if err != nil {
		return r, fmt.Errorf("the floor: %w", err)
	}
	r.RawTuplesPerSec, r.RawCPUNanos = raw.TuplesPerSec, raw.CPUNanos
	r.Ratio = r.TuplesPerSec / raw.TuplesPerSec
	return r, nil
}

// drainFor is how long the end of a run waits for tuples under way; nobody
// needs them.
const drainFor = time.Second

// once runs the topology once.
func (s Scenario) once(ctx context.Context, o Options) (Result, error) {
	m := newMeter()
	instance, err := s.shape.instance(m)
	if err != nil {
		return Result{}, err
	}
	return m.run(ctx, "bench-"+s.Name, instance, o)
}

// run measures a topology whose components report to m.
func (m *meter) run(ctx context.Context, name string, instance *storm.Instance, o Options) (Result, error) {
	return m.runWith(ctx, name, instance, o, nil)
}

// runWith is run with something that keeps state.
func (m *meter) runWith(ctx context.Context, name string, instance *storm.Instance, o Options, states worker.States) (Result, error) {
	topology, err := local.New(local.Options{
		Name: name, Instance: instance, Conf: o.Conf, DrainFor: drainFor, Logger: slog.New(slog.DiscardHandler), States: states,
	})
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
	return r, err
}

// patience is how long a run may take to move its first tuple.
const patience = 10 * time.Second

// errStuck ends a run in which nothing moves.
var errStuck = fmt.Errorf("no tuple arrived within %s", patience)

// measure waits for the warm-up, then counts for the time of the run.
func (m *meter) measure(ctx context.Context, o Options) (Result, error) {
	if err := m.await(ctx, o.WarmUp, 0); err != nil {
		return Result{}, err
	}
	m.latency.Store(new(latencies))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, child, all, n, start := ownCPU(), m.childCPU(), machineCPU(), m.count.Load(), time.Now()
	if err := m.await(ctx, o.Time, n); err != nil {
		return Result{}, err
	}
	took, count := time.Since(start), float64(m.count.Load()-n)
	used, childUsed := ownCPU()-cpu, m.childCPU()-child
	others := machineCPU() - all - used - childUsed
	runtime.ReadMemStats(&after)
	r := Result{
		TuplesPerSec:   count / took.Seconds(),
		CPUNanos:       float64(used) / count,
		ChildCPUNanos:  float64(childUsed) / count,
		AllocsPerTuple: float64(after.Mallocs-before.Mallocs) / count,
		BytesPerTuple:  float64(after.TotalAlloc-before.TotalAlloc) / count,
		ResidentBytes:  residentBytes(),
		OtherCPU:       min(max(0, float64(others)/float64(took)/float64(runtime.NumCPU())), 1),
	}
	r.P50Nanos, r.P99Nanos, r.MaxNanos = m.latency.Load().read()
	return r, nil
}

// await waits for d, and then until more than n tuples have been counted.
func (m *meter) await(ctx context.Context, d time.Duration, n int64) error {
	const step = time.Millisecond
	timer := time.NewTimer(d)
	defer timer.Stop()
	for late := time.Duration(0); ; late += step {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		switch {
		case m.count.Load() > n:
			return nil
		case late >= patience:
			return errStuck
		}
		timer.Reset(step)
	}
}

// middle is the median of v, which it sorts.
func middle(v []float64) float64 {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// median takes each figure's median over the runs.
func median(runs []Result) Result {
	pick := func(get func(Result) float64) float64 {
		v := make([]float64, len(runs))
		for i, r := range runs {
			v[i] = get(r)
		}
		return middle(v)
	}
	whole := func(get func(Result) int64) int64 {
		return int64(math.Round(pick(func(r Result) float64 { return float64(get(r)) })))
	}
	return Result{
		TuplesPerSec:    pick(func(r Result) float64 { return r.TuplesPerSec }),
		CPUNanos:        pick(func(r Result) float64 { return r.CPUNanos }),
		ChildCPUNanos:   pick(func(r Result) float64 { return r.ChildCPUNanos }),
		AllocsPerTuple:  pick(func(r Result) float64 { return r.AllocsPerTuple }),
		BytesPerTuple:   pick(func(r Result) float64 { return r.BytesPerTuple }),
		P50Nanos:        whole(func(r Result) int64 { return r.P50Nanos }),
		P99Nanos:        whole(func(r Result) int64 { return r.P99Nanos }),
		MaxNanos:        whole(func(r Result) int64 { return r.MaxNanos }),
		ResidentBytes:   whole(func(r Result) int64 { return r.ResidentBytes }),
		RawTuplesPerSec: pick(func(r Result) float64 { return r.RawTuplesPerSec }),
		RawCPUNanos:     pick(func(r Result) float64 { return r.RawCPUNanos }),
		Ratio:           pick(func(r Result) float64 { return r.Ratio }),
		OtherCPU:        pick(func(r Result) float64 { return r.OtherCPU }),
	}
}
