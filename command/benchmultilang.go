package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/bench"
)

// benchMultilang is the command `bench multilang`.
func (e *env) benchMultilang() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "multilang",
		Short: "Measure components in other languages",
		Long: `Measure components in other languages, beside what a pipe can do: cat FILE |
child | cat, with the same script and the same tuples. Each tuple has two fields,
97 bytes; it is emitted again and acked. Everything takes turns with everything
else, so that shares compare even on a machine that is not left alone.

  python-stock  Python as Storm's own module: one line read, one written and one
                flush a message, but no waiting for task ids
  python        Python with Stormring's adapter
  node, ruby    the same, where they are installed

A bolt is a shell bolt by itself, with so many tuples under way; a topology is a
spout and the bolt in a worker. CPU time is per tuple, latency from a tuple to its
ack.`,
		Example: "  stormring bench multilang --runs 5 --time 3s",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.runBenchMultilang(cmd.Context(), f)
		},
	}
	f.add(cmd, 2*time.Second, 500*time.Millisecond)
	return cmd
}

func (e *env) runBenchMultilang(ctx context.Context, f benchFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	return e.measure(ctx, f, func(o bench.Options) (measured, error) {
		report, err := bench.RunMultilang(ctx, o)
		others := make([]float64, len(report.Results))
		for i, r := range report.Results {
			others[i] = r.OtherCPU
		}
		return measured{
			report: report, show: func() error { return e.printMultilang(report) }, others: others,
			done: fmt.Sprintf("%d measurements", len(report.Results)),
		}, err
	})
}

func (e *env) printMultilang(r bench.MultilangReport) error {
	e.describeBench(r.Machine, r.Settings)
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	widest := 0
	for _, s := range r.Results {
		widest = max(widest, len(nameOfShell(s)))
	}
	row(w, []string{strings.Repeat(" ", widest), "window", "tuples/s", "of pipe", "p50", "p99", "Go CPU", "child CPU", "Go/child", "allocs", "others' CPU", "target", "met"})
	for _, s := range r.Results {
		others := none
		if s.Window > 0 {
			others = fmt.Sprintf("%.0f %%", 100*s.OtherCPU)
		}
		cells := []string{
			fmt.Sprintf("%-*s", widest, nameOfShell(s)), figure("%.0f", float64(s.Window)), figure("%.0f", s.TuplesPerSec), figure("%.0f %%", 100*s.OfPipe),
			latency(s.P50Nanos), latency(s.P99Nanos), micros(s.GoCPUNanos), micros(s.ChildCPUNanos), figure("%.0f %%", 100*s.GoShare),
			figure("%.1f", s.AllocsPerTuple), others,
		}
		row(w, append(cells, showTargets(s.Targets)...))
	}
	err := w.Flush()
	for _, s := range r.Skipped {
		fmt.Fprintf(e.stdout, "\n%s\n", s)
	}
	return cmp.Or(err, e.stdout.err)
}

// nameOfShell is a row's name, such as "python bolt ×4".
func nameOfShell(r bench.MultilangResult) string {
	if r.Executors > 1 {
		return fmt.Sprintf("%s %s ×%d", r.Child, r.What, r.Executors)
	}
	return r.Child + " " + r.What
}

// figure shows a number, or none if it was not measured.
func figure(format string, v float64) string {
	if v == 0 {
		return none
	}
	return fmt.Sprintf(format, v)
}

func micros(ns float64) string {
	return figure("%.2fµs", ns/1000)
}

// showTargets is the last two cells of a row.
func showTargets(targets []bench.Target) []string {
	if len(targets) == 0 {
		return []string{none, none}
	}
	var wanted, met []string
	for _, t := range targets {
		var text string
		switch t.Figure {
		case "of_pipe":
			text = fmt.Sprintf("of pipe ≥ %.0f %%", 100*t.Min)
		case "go_cpu_of_child":
			text = fmt.Sprintf("Go/child < %.0f %%", 100*t.Max)
		default:
			text = fmt.Sprintf("p50 < %v", round(time.Duration(t.Max)))
		}
		wanted, met = append(wanted, text), append(met, map[bool]string{true: "yes", false: "no"}[t.Met])
	}
	return []string{strings.Join(wanted, ", "), strings.Join(met, ", ")}
}
