package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/bench"
)

const (
	// raw is what --compare can compare with.
	raw = "raw"
	// maxRate is the most that --rate can ask for: one tuple a nanosecond.
	maxRate = int(time.Second)
	// busy is the share of the machine in other hands from which on figures
	// are in doubt.
	busy = 0.1
)

type benchFlags struct {
	opts     bench.Options
	asJSON   bool
	quiet    bool
	compare  string
	settings []string
}

// bench is the command `bench`.
func (e *env) bench() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench [SCENARIO…]",
		Short: "Measure the runtime on this machine",
		Long: "Measure the runtime on this machine. Scenarios, all by default:\n\n" + scenarioList() + `
CPU time, allocations and bytes are per tuple, or per tree of tuples where they
are acked. Latency is from emit to the last bolt, at --rate.`,
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.runBench(cmd.Context(), args, f)
		},
	}
	flags := cmd.Flags()
	f.add(cmd, 3*time.Second, time.Second)
	flags.IntVar(&f.opts.Rate, "rate", 1000, "`N` tuples/s in the latency scenarios")
	flags.StringVar(&f.compare, "compare", "", "with `raw`, measure the bare hand-off too, in turn with each scenario that has one")
	flags.StringArrayVarP(&f.settings, "set", "c", nil, "set a configuration key, as `KEY=VALUE`; may be repeated")
	completeNothing(cmd, "rate", "set")
	cmd.AddCommand(e.benchMultilang(), e.benchState(), e.benchRecovery(), e.benchStorm())
	mustComplete(cmd.RegisterFlagCompletionFunc("compare", cobra.FixedCompletions([]cobra.Completion{raw}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// add adds the flags that all measurements have.
func (f *benchFlags) add(cmd *cobra.Command, each, warmUp time.Duration) {
	flags := cmd.Flags()
	flags.DurationVar(&f.opts.Time, "time", each, "`TIME` of each run")
	flags.DurationVar(&f.opts.WarmUp, "warm-up", warmUp, "`TIME` before each run that does not count")
	flags.IntVar(&f.opts.Runs, "runs", 3, "run everything `N` times and show the medians")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	completeNothing(cmd, "time", "warm-up", "runs")
}

func scenarioList() string {
	var b strings.Builder
	for _, s := range bench.Scenarios() {
		fmt.Fprintf(&b, "  %-12s %s\n", s.Name, s.Summary)
	}
	return b.String()
}

func completeScenarios(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var list []cobra.Completion
	for _, s := range bench.Scenarios() {
		list = append(list, cobra.CompletionWithDesc(s.Name, s.Summary))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func (e *env) runBench(ctx context.Context, names []string, f benchFlags) error {
	chosen, err := chooseScenarios(names)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	if f.opts.Rate < 1 || f.opts.Rate > maxRate {
		return usagef("--rate is %d; it must be from 1 to %d", f.opts.Rate, maxRate)
	}
	if f.opts.Conf, err = parseSettings(f.settings); err != nil {
		return err
	}
	return e.measure(ctx, f, func(o bench.Options) (measured, error) {
		report, err := bench.Run(ctx, chosen, o)
		others := make([]float64, len(report.Results))
		for i, s := range report.Results {
			others[i] = s.OtherCPU
		}
		return measured{
			report: report, show: func() error { return e.printBench(report, o.Raw) }, others: others,
			done: fmt.Sprintf("%d of %d scenarios", len(report.Results), len(chosen)),
		}, err
	})
}

// measured is what came of a measurement.
type measured struct {
	report any // for JSON
	show   func() error
	others []float64 // of each result, the share of the machine in other hands
	done   string    // how much of it there is, if it was interrupted
}

// measure measures, shows how it goes and prints what came of it, or of its
// part if it is interrupted.
func (e *env) measure(ctx context.Context, f benchFlags, run func(bench.Options) (measured, error)) error {
	restore := tuneGC()
	defer restore()
	screen := newScreen(e.stderr, f.quiet)
	f.opts.Begin = func(what string, run int) {
		screen.put(fmt.Sprintf("%s, run %d of %d", what, run+1, f.opts.Runs))
	}
	m, err := run(f.opts)
	screen.clear()
	interrupted := err != nil && errors.Is(err, context.Cause(ctx))
	if err != nil && !interrupted {
		return err
	}
	if f.asJSON {
		err = e.printJSON(m.report)
	} else if len(m.others) > 0 {
		err = m.show()
	}
	if most := slices.Max(append(m.others, 0)); !f.quiet {
		e.warnOfOthers(most)
	}
	if interrupted {
		fmt.Fprintf(e.stderr, "the result is partial: interrupted after %s\n", m.done)
		return errInterrupted
	}
	return err
}

// check refuses values that make no sense, and takes over those that do.
func (f *benchFlags) check() error {
	switch {
	case f.compare != "" && f.compare != raw:
		return usagef("--compare is %q; only %s can be compared with", f.compare, raw)
	case f.opts.Time <= 0:
		return usagef("--time is %s; it must be positive", f.opts.Time)
	case f.opts.WarmUp < 0:
		return usagef("--warm-up is %s; it must not be negative", f.opts.WarmUp)
	case f.opts.Runs < 1:
		return usagef("--runs is %d; it must be at least 1", f.opts.Runs)
	}
	f.opts.Raw = f.compare == raw
	return nil
}

func chooseScenarios(names []string) ([]bench.Scenario, error) {
	all := bench.Scenarios()
	if len(names) == 0 {
		return all, nil
	}
	byName := map[string]bench.Scenario{}
	known := make([]string, len(all))
	for i, s := range all {
		byName[s.Name] = s
		known[i] = s.Name
	}
	var chosen []bench.Scenario
	for _, name := range names {
		s, ok := byName[name]
		if !ok {
			return nil, usagef("there is no scenario %q; there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, s)
	}
	return chosen, nil
}

// warnOfOthers says so if the machine was not left alone: others used up to so
// much of it.
func (e *env) warnOfOthers(most float64) {
	if most >= busy {
		fmt.Fprintf(e.stderr, "other processes used up to %.0f %% of the machine; alone, the figures would be better\n", 100*most)
	}
}

// describeBench tells what the figures depend on.
func (e *env) describeBench(m bench.Machine, s bench.Settings) {
	runs := fmt.Sprintf("one run of %.3g s", s.Seconds)
	if s.Runs > 1 {
		runs = fmt.Sprintf("medians of %d runs of %.3g s", s.Runs, s.Seconds)
	}
	fmt.Fprintf(e.stdout, "%s, %d cores, %s %s, %s, GOGC=%d; %s after %.3g s\n\n", m.CPU, m.Cores, m.OS, m.Kernel, m.Go, m.GOGC, runs, s.WarmUpSeconds)
}

func (e *env) printBench(r bench.Report, withRaw bool) error {
	e.describeBench(r.Machine, r.Settings)
	widest := 0
	for _, s := range r.Results {
		widest = max(widest, len(s.Scenario))
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := []string{strings.Repeat(" ", widest), "M tuples/s", "CPU ns", "allocs", "B", "p50", "p99", "max", "RSS MiB", "others' CPU"}
	if withRaw {
		head = append(head, "raw M/s", "raw CPU ns", "of raw")
	}
	row(w, head)
	for _, s := range r.Results {
		cells := []string{
			fmt.Sprintf("%-*s", widest, s.Scenario), fmt.Sprintf("%.3f", s.TuplesPerSec/1e6), fmt.Sprintf("%.1f", s.CPUNanos),
			fmt.Sprintf("%.3f", s.AllocsPerTuple), fmt.Sprintf("%.1f", s.BytesPerTuple),
			latency(s.P50Nanos), latency(s.P99Nanos), latency(s.MaxNanos),
			fmt.Sprintf("%.0f", float64(s.ResidentBytes)/(1<<20)), fmt.Sprintf("%.0f %%", 100*s.OtherCPU),
		}
		switch {
		case withRaw && s.RawTuplesPerSec > 0:
			cells = append(cells, fmt.Sprintf("%.3f", s.RawTuplesPerSec/1e6), fmt.Sprintf("%.1f", s.RawCPUNanos), fmt.Sprintf("%.0f %%", 100*s.Ratio))
		case withRaw:
			cells = append(cells, none, none, none)
		}
		row(w, cells)
	}
	return cmp.Or(w.Flush(), e.stdout.err)
}

// row writes cells to a tabwriter.
func row(w *tabwriter.Writer, cells []string) {
	fmt.Fprintf(w, "%s\t\n", strings.Join(cells, "\t"))
}

// none stands where there is no figure.
const none = "-"

// latency shows nanoseconds, or none if none was measured.
func latency(ns int64) string {
	if ns == 0 {
		return none
	}
	return round(time.Duration(ns)).String()
}
