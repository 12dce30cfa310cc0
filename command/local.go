package command

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

// localFlags are the flags that every topology has under `local`.
type localFlags struct {
	workers     int
	runFor      time.Duration
	quiet       bool
	debug       bool
	settings    []string
	file        string
	metricsAddr string
}

func (e *env) local() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "local TOPOLOGY",
		Short: "Run a topology on this machine, without any server",
		Long: `Run a topology in this process until its input is processed, until --run-for
has passed or until Ctrl-C; the last two first let what is under way finish.
Each topology has flags of its own: stormring local TOPOLOGY --help.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("which topology? stormring topologies lists them")
			}
			_, err := e.definition(args[0])
			return err
		},
	}
	for _, d := range e.program.Topologies {
		cmd.AddCommand(e.localTopology(d))
	}
	return cmd
}

func (e *env) localTopology(d storm.Definition) *cobra.Command {
	var f localFlags
	own := flag.NewFlagSet(d.Name, flag.ContinueOnError)
	build := d.Setup(own)
	cmd := &cobra.Command{
		Use:   d.Name,
		Short: d.Summary,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("workers") && f.workers < 1 {
				return usagef("--workers is %d; it must be at least 1", f.workers)
			}
			base, top, err := f.layers()
			if err != nil {
				return err
			}
			instance, err := build(storm.Env{Args: args, Stdin: e.stdin})
			if err != nil {
				return err
			}
			return e.runLocal(cmd.Context(), local.Options{
				Name: d.Name, Instance: instance, Base: base, Conf: top, RunFor: f.runFor, MetricsAddr: f.metricsAddr,
			}, f)
		},
	}
	flags := cmd.Flags()
	flags.AddGoFlagSet(own)
	flags.IntVar(&f.workers, "workers", 0, "number of workers, connected by TCP (default: topology.workers, 1)")
	flags.DurationVar(&f.runFor, "run-for", 0, "end the run after so long, such as 30s (0: no limit)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	flags.BoolVar(&f.debug, "debug", false, "log more")
	flags.StringArrayVarP(&f.settings, "set", "c", nil, "set a configuration key, as key=value; may be repeated")
	flags.StringVar(&f.file, "config", "", "read this storm.yaml (default: $STORM_CONF_DIR, ./conf, ~/.storm)")
	flags.StringVar(&f.metricsAddr, "metrics-addr", "", "serve Prometheus metrics at this host:port")
	return cmd
}

// layers are the configuration below and above the topology's own: storm.yaml,
// and what the command line sets.
func (f *localFlags) layers() (base, top storm.Config, err error) {
	if f.runFor < 0 {
		return nil, nil, usagef("--run-for is %s; it must not be negative", f.runFor)
	}
	file, err := conf.Load(conf.Options{File: f.file})
	if err != nil {
		return nil, nil, err
	}
	if top, err = conf.ParseOverrides(f.settings); err != nil {
		return nil, nil, usagef("%w", err)
	}
	if f.workers > 0 {
		top[string(storm.ConfTopologyWorkers)] = f.workers
	}
	if err := conf.Validate(top); err != nil {
		return nil, nil, usagef("%w", err)
	}
	return file.All(), top, nil
}

// runLocal runs the topology, shows how it goes and prints its result.
func (e *env) runLocal(ctx context.Context, opts local.Options, f localFlags) error {
	restore := tuneGC()
	defer restore()
	screen := newScreen(e.stderr, f.quiet)
	level := slog.LevelWarn
	if f.debug {
		level = slog.LevelDebug
	}
	opts.Logger = slog.New(slog.NewTextHandler(screen, &slog.HandlerOptions{Level: level}))
	topology, err := local.New(opts)
	if err != nil {
		return err
	}
	stopShow := screen.show(topology.Progress)
	res, err := topology.Run(ctx)
	stopShow()
	if err != nil {
		return err
	}
	return e.finish(opts.Instance, res, f.quiet)
}

func (e *env) finish(instance *storm.Instance, res local.Result, quiet bool) error {
	if instance.Report != nil {
		if err := instance.Report(e.stdout, res.Partial); err != nil {
			return err
		}
	}
	if res.Partial && (res.Interrupted || !quiet) {
		fmt.Fprintln(e.stderr, "the result is partial: the run was ended before all input was processed")
	}
	if res.Undrained > 0 {
		fmt.Fprintf(e.stderr, "%d tuples were still being processed when the run ended\n", res.Undrained)
	}
	if !quiet {
		fmt.Fprintln(e.stderr, summary(res))
	}
	if res.Interrupted {
		return errInterrupted
	}
	return nil
}

// tuneGC lets the heap grow further between collections than Go does by
// itself: a topology's live heap is small against what streams through it.
// GOGC and GOMEMLIMIT of the user win.
func tuneGC() (restore func()) {
	old := debug.SetGCPercent(gcPercent)
	if old != defaultGCPercent {
		debug.SetGCPercent(old)
		return func() {}
	}
	return func() { debug.SetGCPercent(old) }
}

const (
	defaultGCPercent = 100
	gcPercent        = 400
)
