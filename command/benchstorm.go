package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/bench/compare"
)

type compareFlags struct {
	opts     compare.Options
	each     time.Duration
	warmUp   time.Duration
	stateMiB int
	systems  []string
	quick    bool
	out      string
	render   bool
	quiet    bool
}

// systemNames are what --systems takes, in the order of compare.Systems.
func systemNames() []string { return []string{"storm", "jar", "go"} }

// benchStorm is the command `bench storm`.
func (e *env) benchStorm() *cobra.Command {
	f := compareFlags{out: filepath.Join("docs", "results")}
	cmd := &cobra.Command{
		Use:   "storm [TOPOLOGY…]",
		Short: "Measure stock Apache Storm and Stormring side by side",
		Long: `Measure stock Apache Storm and Stormring side by side on this machine, with the same
topologies over the same ZooKeeper. scripts/compare-storm gets all that this needs, and
runs it. Topologies, all by default:

` + shapeList() + `
Figures are merged into ` + compare.JSONName + `, from which ` + compare.PageName + ` and the plots beside it
are made.`,
		Example: "  scripts/compare-storm null words --runs 1 --out /tmp/results",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return shapeNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.opts.Topologies = args
			return e.runBenchStorm(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.each, "time", 10*time.Second, "`TIME` of each measurement")
	flags.DurationVar(&f.warmUp, "warm-up", 10*time.Second, "`TIME` before each measurement that does not count")
	flags.BoolVar(&f.quick, "quick", false, "one run of 3 s after 5 s, and a state of 32 MiB")
	s := &f.opts.Settings
	flags.IntVar(&s.Runs, "runs", 3, "run everything `N` times and show the medians")
	flags.IntVar(&s.Workers, "workers", 1, "each topology has `N` workers")
	flags.IntVar(&s.Executors, "executors", 1, "each component has `N` executors")
	flags.IntVar(&s.Pending, "pending", 2000, "each spout has `N` tuples under way, where they are acked")
	flags.IntVar(&s.Rate, "rate", 1000, "the spout emits `N` tuples/s when latency is measured")
	flags.IntVar(&f.stateMiB, "state", 256, "the state has `N` MiB")
	flags.IntVar(&s.Size, "value", 1024, "each value of the state has `N` bytes")
	flags.StringSliceVar(&f.systems, "systems", systemNames(), "measure these `SYSTEMS`: storm, jar (Stormring with the same jar), go (in Go)")
	flags.StringVar(&f.out, "out", f.out, "the `DIR` of the results")
	flags.BoolVar(&f.render, "render", false, "measure nothing: make the page and the plots of the figures")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	flags.StringVar(&f.opts.ZooKeeper, "zookeeper", "", "the ADDRESS `HOST:PORT` of ZooKeeper")
	flags.StringVar(&f.opts.Java, "java", "java", "the program `FILE` that runs Java")
	flags.StringVar(&f.opts.StormLibs, "storm-libs", "", "the `DIR` with the jars of Storm's daemons")
	flags.StringVar(&f.opts.WorkerLibs, "worker-libs", "", "the `DIR` with the jars of Storm's workers, named after the release")
	flags.StringVar(&f.opts.StateLibs, "state-libs", "", "the `DIR` with the jars of Storm's state in Redis")
	flags.StringVar(&f.opts.Jar, "jar", "", "the `FILE` with the topologies in Java")
	flags.StringVar(&f.opts.Dir, "dir", "", "the `DIR` where everything runs")
	flags.BoolVar(&f.opts.Keep, "keep", false, "leave logs and journals in the folder of --dir")
	completeNothing(cmd, "time", "warm-up", "runs", "workers", "executors", "pending", "rate", "state", "value", "zookeeper")
	mustComplete(cmd.RegisterFlagCompletionFunc("systems", cobra.FixedCompletions(systemNames(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func shapeNames() []string {
	var names []string
	for _, s := range compare.Shapes() {
		names = append(names, s.Name)
	}
	return names
}

func shapeList() string {
	var b strings.Builder
	for _, s := range compare.Shapes() {
		fmt.Fprintf(&b, "  %-9s %s\n", s.Name, s.Title)
	}
	return b.String()
}

// complete refuses values that make no sense, and takes over those that do.
func (f *compareFlags) complete() error {
	for _, name := range f.opts.Topologies {
		if names := shapeNames(); !slices.Contains(names, name) {
			return usagef("there is no topology %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	for _, name := range f.systems {
		i := slices.Index(systemNames(), name)
		if i < 0 {
			return usagef("--systems has %q; there are %s", name, strings.Join(systemNames(), ", "))
		}
		f.opts.Systems = append(f.opts.Systems, compare.Systems()[i])
	}
	if f.quick {
		f.opts.Settings.Runs, f.each, f.warmUp, f.stateMiB = 1, 3*time.Second, 5*time.Second, 32
	}
	s := &f.opts.Settings
	for _, n := range []struct {
		flag     string
		n, least int
	}{
		{"runs", s.Runs, 1}, {"workers", s.Workers, 1}, {"executors", s.Executors, 1}, {"pending", s.Pending, 1}, {"rate", s.Rate, 1},
		{"state", f.stateMiB, 1}, {"value", s.Size, 8},
	} {
		if n.n < n.least {
			return usagef("--%s is %d; it must be at least %d", n.flag, n.n, n.least)
		}
	}
	if f.each <= 0 || f.warmUp < 0 {
		return usagef("--time is %s and --warm-up %s; the first must be positive, the second not negative", f.each, f.warmUp)
	}
	s.Seconds, s.WarmUpSeconds, s.Keys = f.each.Seconds(), f.warmUp.Seconds(), max(1, f.stateMiB<<20/s.Size)
	if f.render {
		return nil
	}
	for flag, value := range map[string]string{
		"zookeeper": f.opts.ZooKeeper, "storm-libs": f.opts.StormLibs, "worker-libs": f.opts.WorkerLibs, "state-libs": f.opts.StateLibs,
		"jar": f.opts.Jar, "dir": f.opts.Dir,
	} {
		if value == "" {
			return usagef("--%s is missing; scripts/compare-storm sees to that", flag)
		}
	}
	return nil
}

func (e *env) runBenchStorm(ctx context.Context, f compareFlags) error {
	if err := f.complete(); err != nil {
		return err
	}
	path := filepath.Join(f.out, compare.JSONName)
	before, err := readResults[compare.Report](path)
	if err != nil {
		return err
	}
	if f.render {
		return e.keepComparison(f.out, before)
	}
	if f.opts.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program, to start its daemons: %w", err)
	}
	v := readVersion()
	f.opts.Version = v.Version
	if len(v.Revision) > 12 && v.Version == "devel" {
		f.opts.Version = v.Revision[:12]
	}
	screen := newScreen(e.stderr, f.quiet)
	f.opts.Say = screen.put
	report, failed := compare.Run(ctx, f.opts)
	screen.clear()
	if failed != nil && ctx.Err() != nil {
		fmt.Fprintf(e.stderr, "interrupted; %d results were finished and are kept\n", len(report.Results))
		failed = errInterrupted
	}
	if len(report.Results)+len(report.Failures) == 0 {
		return failed
	}
	if n := len(report.Failures); n > 0 && failed == nil {
		failed = fmt.Errorf("%d measurements failed; see above", n)
	}
	if err := compare.Print(e.stdout, report); err != nil {
		return err
	}
	return cmp.Or(failed, e.keepComparison(f.out, compare.Merge(before, report)), e.stdout.err)
}

// keepComparison writes the figures and what is made of them.
func (e *env) keepComparison(dir string, r compare.Report) error {
	files, err := compare.Render(r)
	if err != nil {
		return err
	}
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	files[compare.JSONName] = append(body, '\n')
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil { //nolint:gosec // results are for everybody
			return err
		}
	}
	return nil
}
