package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// MultilangResult is one thing that was measured with a child in another
// language: medians over the runs. Every tuple is emitted again and acked.
type MultilangResult struct {
	Child string `json:"child"`
	// What is "pipe" (`cat FILE | child | cat`, which is the limit), "bolt" (a
	// shell bolt by itself) or "topology" (a spout and the bolt in a worker).
	What string `json:"what"`
	// Executors are pipes in "pipe".
	Executors int `json:"executors"`
	// Window is topology.shellbolt.max.pending; 0 for a pipe.
	Window       int     `json:"window,omitempty"`
	TuplesPerSec float64 `json:"tuples_per_sec"`
	// OfPipe is the share of what as many pipes move in the same run.
	OfPipe        float64 `json:"of_pipe,omitempty"`
	P50Nanos      int64   `json:"latency_p50_ns,omitempty"` // with a window of 1
	P99Nanos      int64   `json:"latency_p99_ns,omitempty"`
	GoCPUNanos    float64 `json:"go_cpu_ns_per_tuple,omitempty"`
	ChildCPUNanos float64 `json:"child_cpu_ns_per_tuple,omitempty"`
	// GoShare is GoCPUNanos by ChildCPUNanos.
	GoShare        float64 `json:"go_cpu_of_child,omitempty"`
	AllocsPerTuple float64 `json:"allocs_per_tuple,omitempty"`
	BytesPerTuple  float64 `json:"alloc_bytes_per_tuple,omitempty"`
	ResidentBytes  int64   `json:"resident_bytes,omitempty"`
	// OtherCPU is the share of the machine that other processes used; 0 for a
	// pipe.
	OtherCPU float64  `json:"other_cpu"`
	Targets  []Target `json:"targets,omitempty"`
}

// Target is what a figure of a result should be.
type Target struct {
	// Figure is the name of the figure as JSON has it.
	Figure string  `json:"figure"`
	Min    float64 `json:"min,omitempty"` // 0 is none
	Max    float64 `json:"max,omitempty"` // 0 is none
	Met    bool    `json:"met"`
}

// MultilangReport is what RunMultilang returns.
type MultilangReport struct {
	Machine  Machine           `json:"machine"`
	Settings Settings          `json:"settings"`
	Results  []MultilangResult `json:"results"`
	// Skipped are the languages whose interpreter is not there, and why.
	Skipped []string `json:"skipped,omitempty"`
}

// The windows that are measured. The middle one is Storm's default.
const (
	oneWindow     = 1
	defaultWindow = 100
	largeWindow   = 1000
)

// The targets.
const (
	minOfPipe   = 0.85
	maxP50Nanos = 60_000
	maxGoShare  = 0.35
	// manyExecutors run on all cores at once.
	manyExecutors = 4
)

// RunMultilang measures components in other languages: Python as Storm's own
// module does it, then our adapters for Python and whatever else is installed.
// All runs of all measurements take turns. Without Python it returns an error;
// if ctx ends, the report is of the runs that were finished.
func RunMultilang(ctx context.Context, o Options) (MultilangReport, error) {
	return runMultilang(ctx, allScripts(), o)
}

func runMultilang(ctx context.Context, scripts []script, o Options) (report MultilangReport, err error) {
	o.Runs = max(o.Runs, 1)
	report = MultilangReport{
		Machine:  ReadMachine(),
		Settings: Settings{Seconds: o.Time.Seconds(), WarmUpSeconds: o.WarmUp.Seconds(), Runs: o.Runs, Conf: o.Conf, MaxPending: shellSpoutPending},
		Results:  []MultilangResult{},
	}
	dir, err := os.MkdirTemp("", "stormring-bench-")
	if err != nil {
		return report, fmt.Errorf("a folder for the scripts: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var all []*series
	for _, s := range scripts {
		c, err := s.install(ctx, dir)
		switch {
		case errors.Is(err, exec.ErrNotFound) && !s.needed:
			report.Skipped = append(report.Skipped, err.Error())
			continue
		case err != nil:
			return report, fmt.Errorf("%s: %w", s.name, err)
		}
		all = append(all, c.series(o)...)
	}
	err = runSeries(ctx, all, o)
	for _, s := range all {
		if len(s.runs) > 0 {
			report.Results = append(report.Results, s.result())
		}
	}
	sortResults(report.Results)
	return report, err
}

// sortResults puts the limit before what is compared with it.
func sortResults(list []MultilangResult) {
	slices.SortStableFunc(list, func(a, b MultilangResult) int {
		if a.Child != b.Child || a.Executors != b.Executors {
			return 0
		}
		return cmp.Compare(rank(a), rank(b))
	})
}

func rank(r MultilangResult) int {
	if r.What == whatPipe {
		return 0
	}
	return max(r.Window, 1)
}

// runSeries runs every measurement once, then all of them again.
func runSeries(ctx context.Context, all []*series, o Options) error {
	for i := range o.Runs {
		for _, s := range all {
			if o.Begin != nil {
				o.Begin(s.name(), i)
			}
			r, err := s.measure(ctx)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", s.name(), err)
			}
			s.runs = append(s.runs, r)
		}
	}
	return nil
}

// series are the runs of one measurement.
type series struct {
	child             string
	what              string
	executors, window int
	measure           func(context.Context) (Result, error)
	limit             *series // the pipes that it is compared with
	targets           []Target
	runs              []Result
}

func (s *series) name() string {
	parts := []string{s.child, s.what}
	if s.executors > 1 {
		parts = append(parts, fmt.Sprintf("×%d", s.executors))
	}
	if s.window > 0 {
		parts = append(parts, fmt.Sprintf("window %d", s.window))
	}
	return strings.Join(parts, " ")
}

// series are the measurements of one child, in the order of a run.
func (c *command) series(o Options) []*series {
	ours := c.name == ourPython
	one := c.pipeSeries(o, 1)
	list := []*series{
		c.boltSeries(o, 1, defaultWindow), one, c.boltSeries(o, 1, largeWindow), c.boltSeries(o, 1, oneWindow),
	}
	if c.needed {
		list[0].targets = []Target{{Figure: figureOfPipe, Min: minOfPipe}, {Figure: figureGoShare, Max: maxGoShare}}
		list[2].targets = []Target{{Figure: figureOfPipe, Min: minOfPipe}}
	}
	if ours {
		list[3].targets = []Target{{Figure: figureP50, Max: maxP50Nanos}}
		list = append(list, &series{
			child: c.name, what: whatTopology, executors: 1, window: defaultWindow, measure: func(ctx context.Context) (Result, error) { return c.topology(ctx, o) },
		})
	}
	for _, s := range list {
		if s != one {
			s.limit = one
		}
	}
	if !ours || runtime.NumCPU() == 1 {
		return list
	}
	many := c.pipeSeries(o, manyExecutors)
	bolts := c.boltSeries(o, manyExecutors, defaultWindow)
	bolts.limit, bolts.targets = many, []Target{{Figure: figureOfPipe, Min: minOfPipe}}
	return append(list, bolts, many)
}

func (c *command) pipeSeries(o Options, times int) *series {
	var p *pipes
	return &series{child: c.name, what: whatPipe, executors: times, measure: func(ctx context.Context) (Result, error) {
		if p == nil {
			var err error
			if p, err = newPipes(ctx, c, o.Time, times); err != nil {
				return Result{}, err
			}
		}
		rate, err := p.rate(ctx)
		return Result{TuplesPerSec: rate}, err
	}}
}

func (c *command) boltSeries(o Options, executors, window int) *series {
	return &series{child: c.name, what: whatBolt, executors: executors, window: window, measure: func(ctx context.Context) (Result, error) {
		return c.bolts(ctx, o, executors, window)
	}}
}

// shellSpoutPending is topology.max.spout.pending of the topology.
const shellSpoutPending = 1000

// topology measures the bolt in a whole worker.
func (c *command) topology(ctx context.Context, o Options) (Result, error) {
	m := newMeter()
	m.children = c.cpu
	b := storm.NewTopologyBuilder()
	b.SetSpout("spout", func() storm.Spout { return &spout{shape: shape{acked: true, fields: 2}, meter: m} }, 1)
	b.SetBolt(shellComponent, func() storm.Bolt { return multilang.NewBolt(c.spec()) }, 1).ShuffleGrouping("spout")
	t, err := b.Build()
	if err != nil {
		return Result{}, err
	}
	conf := storm.Config{string(storm.ConfTopologyShellboltMaxPending): defaultWindow}
	conf.SetNumAckers(1)
	conf.SetMaxSpoutPending(shellSpoutPending)
	return m.run(ctx, "bench-"+c.name, &storm.Instance{Topology: t, Conf: conf}, o)
}

const (
	whatPipe     = "pipe"
	whatBolt     = "bolt"
	whatTopology = "topology"
)

const (
	figureOfPipe  = "of_pipe"
	figureP50     = "latency_p50_ns"
	figureGoShare = "go_cpu_of_child"
)

// result is the medians. Shares of the limit are taken run by run.
func (s *series) result() MultilangResult {
	runs := slices.Clone(s.runs)
	if s.limit != nil {
		for i := range min(len(runs), len(s.limit.runs)) {
			runs[i].Ratio = runs[i].TuplesPerSec / s.limit.runs[i].TuplesPerSec
		}
		// The last run may have been interrupted before its limit was measured.
		runs = runs[:max(1, min(len(runs), len(s.limit.runs)))]
	}
	m := median(runs)
	r := MultilangResult{
		Child: s.child, What: s.what, Executors: s.executors, Window: s.window, TuplesPerSec: m.TuplesPerSec, OfPipe: m.Ratio,
		P50Nanos: m.P50Nanos, P99Nanos: m.P99Nanos, GoCPUNanos: m.CPUNanos, ChildCPUNanos: m.ChildCPUNanos,
		AllocsPerTuple: m.AllocsPerTuple, BytesPerTuple: m.BytesPerTuple, ResidentBytes: m.ResidentBytes, OtherCPU: m.OtherCPU,
	}
	if r.ChildCPUNanos > 0 {
		r.GoShare = r.GoCPUNanos / r.ChildCPUNanos
	}
	for _, t := range s.targets {
		v := map[string]float64{figureOfPipe: r.OfPipe, figureP50: float64(r.P50Nanos), figureGoShare: r.GoShare}[t.Figure]
		if v == 0 {
			continue // it could not be measured
		}
		t.Met = v >= t.Min && (t.Max == 0 || v < t.Max)
		r.Targets = append(r.Targets, t)
	}
	return r
}
