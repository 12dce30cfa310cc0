package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/cluster"
)

// What `monitor` can watch, and the window it reads.
const (
	watchEmitted     = "emitted"
	watchTransferred = "transferred"
	allTime          = ":all-time"
)

type monitorFlags struct {
	clusterFlags
	interval                 int
	component, stream, watch string
	asJSON                   bool
}

// monitor is the command `monitor`. Scripts read its columns: they are Storm's.
func (v *verbs) monitor() *cobra.Command {
	var f monitorFlags
	cmd := verb(&f.clusterFlags, "monitor TOPOLOGY", "Watch the throughput of a component", `Print, until interrupted, how many tuples a component emits or sends on a stream.
Without -m, list the topology's components.`)
	cmd.Args = takes(1, 1, whichTopology)
	cmd.ValidArgsFunction = v.completeTopologies(&f.clusterFlags, 1)
	flags := cmd.Flags()
	flags.IntVarP(&f.interval, "interval", "i", 4, "look every `SECS`")
	flags.StringVarP(&f.component, "component", "m", "", "watch `COMPONENT`")
	flags.StringVarP(&f.stream, "stream", "s", "default", "watch `STREAM`")
	flags.StringVarP(&f.watch, "watch", "w", watchEmitted, "watch `WHAT`: emitted or transferred")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON, one object a line")
	completeNothing(cmd, "interval", "component", "stream")
	mustComplete(cmd.RegisterFlagCompletionFunc("watch", cobra.FixedCompletions([]cobra.Completion{watchEmitted, watchTransferred}, cobra.ShellCompDirectiveNoFileComp)))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.interval < 1 || f.interval > int(time.Hour/time.Second):
			return usagef("--interval is %d; it must be from 1 to 3600", f.interval)
		case f.watch != watchEmitted && f.watch != watchTransferred:
			return usagef("--watch is %q; it must be %s or %s", f.watch, watchEmitted, watchTransferred)
		case f.stream == "":
			return usagef("--stream is empty; it must name a stream")
		}
		return v.ask(cmd, &f.clusterFlags, func(ctx context.Context, n leader) error {
			if f.component == "" {
				return v.listComponents(ctx, n, args[0], f.asJSON)
			}
			return v.watch(ctx, n, args[0], &f)
		})
	}
	return cmd
}

func (v *verbs) listComponents(ctx context.Context, n leader, name string, asJSON bool) error {
	info, err := n.Topology(ctx, name, cluster.NoErrors)
	if err != nil {
		return fmt.Errorf("monitor %s: %w", name, err)
	}
	if asJSON {
		return v.printLine(map[string]any{"topology": name, "components": componentsOf(info)})
	}
	const rule = "------------------"
	fmt.Fprintf(v.stdout, "Available components for %s :\n%s\n", name, rule)
	for _, c := range componentsOf(info) {
		fmt.Fprintln(v.stdout, c)
	}
	fmt.Fprintf(v.stdout, "%s\nPlease use -m to specify one component\n", rule)
	return nil
}

func componentsOf(info cluster.TopologyInfo) []string {
	ids := map[string]bool{}
	for _, e := range info.ExecutorList {
		ids[e.Component] = true
	}
	return slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(ids))))
}

// sample is one line of `monitor`.
type sample struct {
	Topology    string  `json:"topology"`
	Component   string  `json:"component"`
	Parallelism int     `json:"parallelism"`
	Stream      string  `json:"stream"`
	MS          int64   `json:"time_diff_ms"`
	Watch       string  `json:"watch"`
	Tuples      int64   `json:"tuples"`
	Throughput  float64 `json:"kilotuples_per_sec"`
}

func (v *verbs) watch(ctx context.Context, n leader, name string, f *monitorFlags) error {
	if !f.asJSON {
		fmt.Fprintf(v.stdout, "topology\tcomponent\tparallelism\tstream\ttime-diff ms\t%s\tthroughput (Kt/s)\n", f.watch)
	}
	last, before := int64(0), time.Now()
	return poll(ctx, time.Duration(f.interval)*time.Second, func() (bool, error) {
		info, err := n.Topology(ctx, name, cluster.NoErrors)
		if err != nil {
			return false, fmt.Errorf("monitor %s: %w", name, err)
		}
		executors, total, err := count(info, f)
		if err != nil {
			return false, fmt.Errorf("monitor %s: %w", name, err)
		}
		now := time.Now()
		s := sample{
			Topology: name, Component: f.component, Parallelism: executors, Stream: f.stream, Watch: f.watch,
			MS: now.Sub(before).Milliseconds(), Tuples: total - last,
		}
		if s.Tuples < 0 { // a worker was started anew and counts from 0
			s.Tuples = total
		}
		if s.MS > 0 {
			s.Throughput = float64(s.Tuples) / float64(s.MS)
		}
		last, before = total, now
		if f.asJSON {
			return false, v.printLine(s)
		}
		_, err = fmt.Fprintf(v.stdout, "%s\t%s\t%d\t%s\t%d\t%d\t%s\n", s.Topology, s.Component, s.Parallelism, s.Stream, s.MS, s.Tuples, decimal(s.Throughput))
		return false, err
	})
}

// count is how many executors the component has, and how many tuples they have
// emitted or sent on the stream.
func count(info cluster.TopologyInfo, f *monitorFlags) (executors int, total int64, err error) {
	seen := map[string]bool{}
	for _, e := range info.ExecutorList {
		if e.Component != f.component {
			continue
		}
		executors++
		if e.Stats == nil {
			continue
		}
		counts := e.Stats.Emitted
		if f.watch == watchTransferred {
			counts = e.Stats.Transferred
		}
		for stream, n := range counts[allTime] {
			seen[stream] = true
			if stream == f.stream {
				total += n
			}
		}
	}
	switch {
	case executors == 0:
		return 0, 0, fmt.Errorf("component: %s not found; there are %s", f.component, strings.Join(componentsOf(info), ", "))
	case len(seen) > 0 && !seen[f.stream]:
		return 0, 0, fmt.Errorf("stream: %s not found; there are %s", f.stream, strings.Join(slices.Sorted(maps.Keys(seen)), ", "))
	}
	return executors, total, nil
}

// decimal is a number with a decimal point in any case, as Java prints it.
func decimal(x float64) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
