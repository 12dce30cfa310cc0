package command

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/bench"
	"github.com/stormring/stormring/internal/conf"
)

type benchFlags struct {
	opts     bench.Options
	asJSON   bool
	compare  string
	settings []string
}

func (e *env) bench() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench [SCENARIO…]",
		Short: "Measure the runtime on this machine",
		Long:  "Measure the runtime on this machine. Scenarios, all by default:\n\n" + scenarioList(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.runBench(cmd, args, f)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.opts.Time, "time", 3*time.Second, "time of each run")
	flags.DurationVar(&f.opts.WarmUp, "warm-up", time.Second, "time before each run that does not count")
	flags.IntVar(&f.opts.Runs, "runs", 3, "runs of each scenario; the medians are shown")
	flags.IntVar(&f.opts.Rate, "rate", 0, "tuples/s of the latency scenarios (default 1000)")
	flags.StringVar(&f.compare, "compare", "", `"raw" measures the bare hand-off beside it`)
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	flags.StringArrayVarP(&f.settings, "set", "c", nil, "set a configuration key, as key=value; may be repeated")
	return cmd
}

func scenarioList() string {
	var b strings.Builder
	for _, s := range bench.Scenarios() {
		fmt.Fprintf(&b, "  %-12s %s\n", s.Name, s.Summary)
	}
	return b.String()
}

func (e *env) runBench(cmd *cobra.Command, names []string, f benchFlags) error {
	chosen, err := chooseScenarios(names)
	if err != nil {
		return err
	}
	switch {
	case f.compare != "" && f.compare != "raw":
		return usagef("--compare is %q; only raw can be compared with", f.compare)
	case f.opts.Time <= 0 || f.opts.WarmUp < 0:
		return usagef("--time must be positive and --warm-up must not be negative")
	case f.opts.Runs < 1:
		return usagef("--runs is %d; it must be at least 1", f.opts.Runs)
	case f.opts.Rate < 0:
		return usagef("--rate is %d; it must not be negative", f.opts.Rate)
	}
	f.opts.Raw = f.compare == "raw"
	if f.opts.Conf, err = conf.ParseOverrides(f.settings); err != nil {
		return usagef("%w", err)
	}
	defer tuneGC()()
	report, err := bench.Run(cmd.Context(), chosen, f.opts)
	if cmd.Context().Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	if f.asJSON {
		return e.printJSON(report)
	}
	return e.printBench(report, f.opts.Raw)
}

func chooseScenarios(names []string) ([]bench.Scenario, error) {
	all := bench.Scenarios()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []bench.Scenario
	for _, name := range names {
		found := false
		for _, s := range all {
			if s.Name == name {
				chosen = append(chosen, s)
				found = true
			}
		}
		if !found {
			return nil, usagef("there is no scenario %q; there are\n%s", name, strings.TrimRight(scenarioList(), "\n"))
		}
	}
	return chosen, nil
}

func (e *env) printBench(r bench.Report, raw bool) error {
	fmt.Fprintf(e.stdout, "%s, %d cores, %s %s, %s, GOGC=%d; medians of %d runs of %.3gs\n\n",
		r.Machine.CPU, r.Machine.Cores, r.Machine.OS, r.Machine.Kernel, r.Machine.Go, r.Machine.GOGC, r.Results[0].Runs, r.Seconds)
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "scenario\tM tuples/s\tCPU ns\tallocs\tB\tp50\tp99\tmax\tRSS MiB\tothers' CPU\t"
	if raw {
		head += "raw M/s\traw CPU ns\tof raw\t"
	}
	fmt.Fprintln(w, head)
	for _, s := range r.Results {
		fmt.Fprintf(w, "%s\t%.3f\t%.1f\t%.3f\t%.1f\t%s\t%s\t%s\t%.0f\t%.0f %%\t", s.Scenario, s.TuplesPerSec/1e6, s.CPUNanos, s.AllocsPerTuple, s.BytesPerTuple,
			latency(s.P50Nanos), latency(s.P99Nanos), latency(s.MaxNanos), float64(s.ResidentBytes)/(1<<20), 100*s.OtherCPU)
		if raw && s.RawTuplesPerSec > 0 {
			fmt.Fprintf(w, "%.3f\t%.1f\t%.0f %%\t", s.RawTuplesPerSec/1e6, s.RawCPUNanos, 100*s.Ratio)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// latency shows nanoseconds, or nothing where none was measured.
func latency(ns int64) string {
	if ns == 0 {
		return "-"
	}
	return round(time.Duration(ns)).String()
}
