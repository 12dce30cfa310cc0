package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/bench"
	"github.com/stormring/stormring/bench/recovery"
)

// benchState is the command `bench state`.
func (e *env) benchState() *cobra.Command {
	var f benchFlags
	o, nodes := bench.StateOptions{Keys: 1_000_000, Interval: time.Second}, 3
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Measure what checkpoints of state cost",
		Long: `Measure what checkpoints of state cost: a word count whose counts are state, saved
on a ring of nodes, beside the same run whose state is never saved. The nodes are
processes of their own, as supervisors are, but share the processors with the
topology, so this is more than it costs where they have hosts of their own; with one
replica it is nearer to that.

A pause is the longest time between two looks of the bolt at the clock, 64 words
apart, whatever it was for; a freeze is what a checkpoint stops the bolt for. CPU is
that of a word in the worker, and in the nodes.`,
		Example: "  stormring bench state --keys 1000000 --interval 1s --runs 3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.runBenchState(cmd.Context(), f, o, nodes)
		},
	}
	f.add(cmd, 10*time.Second, 5*time.Second)
	cmd.Flags().IntVar(&o.Keys, "keys", o.Keys, "number of different words")
	cmd.Flags().DurationVar(&o.Interval, "interval", o.Interval, "time between checkpoints")
	cmd.Flags().StringSliceVar(&o.Words, "words", []string{"zipf", "uniform"}, "how often each word comes, as in a text or all alike")
	cmd.Flags().IntVar(&nodes, "nodes", nodes, "number of ring nodes")
	return cmd
}

func (e *env) runBenchState(ctx context.Context, f benchFlags, o bench.StateOptions, nodes int) error {
	if err := f.check(); err != nil {
		return err
	}
	switch {
	case o.Keys < 2:
		return usagef("--keys is %d; it must be at least 2", o.Keys)
	case o.Interval < 100*time.Millisecond:
		return usagef("--interval is %v; it must be at least 100ms", o.Interval)
	case len(o.Words) == 0 || slices.ContainsFunc(o.Words, func(w string) bool { return w != "zipf" && w != "uniform" }):
		return usagef("--words is %q; zipf and uniform are known", strings.Join(o.Words, ","))
	case nodes < 1:
		return usagef("--nodes is %d; it must be at least 1", nodes)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Ring = func(ctx context.Context) (bench.StateRing, error) {
		return recovery.StartRing(ctx, recovery.RingOptions{Nodes: nodes, Command: roleLine(self)})
	}
	return e.measure(ctx, f, func(plain bench.Options) (measured, error) {
		o.Options = plain
		report, err := bench.RunState(ctx, o)
		others := make([]float64, len(report.Results))
		for i, r := range report.Results {
			others[i] = r.OtherCPU
		}
		return measured{
			report: report, show: func() error { return e.printState(report) }, others: others,
			done: fmt.Sprintf("%d measurements", len(report.Results)),
		}, err
	})
}

func (e *env) printState(r bench.StateReport) error {
	e.describeBench(r.Machine, r.Settings)
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	const widest = len("uniform")
	row(w, []string{strings.Repeat(" ", widest), "kept", "replicas", "words/s", "cost", "CPU", "nodes' CPU", "longest pause", "freeze", "checkpoints", "took", "MiB each"})
	for _, s := range r.Results {
		cells := []string{
			fmt.Sprintf("%-*s", widest, s.Words), s.Kept, figure("%.0f", float64(s.Replicas)), figure("%.0f", s.TuplesPerSec),
			figure("%.1f %%", 100*s.Cost), micros(s.CPUNanos), micros(s.ChildCPUNanos), latency(s.MaxNanos), figure("%.2f ms", s.FreezeMS),
			figure("%.0f", float64(s.Checkpoints)), figure("%.0f ms", s.TookMS), figure("%.1f", float64(s.Bytes)/(1<<20)),
		}
		row(w, cells)
	}
	return cmp.Or(w.Flush(), e.stdout.err)
}
