package command

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
			conf, err := f.conf()
			if err != nil {
				return err
			}
			instance, err := build(storm.Env{Args: args, Stdin: e.stdin})
			if err != nil {
				return err
			}
			return e.runLocal(cmd.Context(), d.Name, instance, conf, f)
		},
	}
	flags := cmd.Flags()
	flags.AddGoFlagSet(own)
	flags.IntVar(&f.workers, "workers", 1, "number of workers, connected by TCP")
	flags.DurationVar(&f.runFor, "run-for", 0, "end the run after so long, such as 30s (0: no limit)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	flags.BoolVar(&f.debug, "debug", false, "log more")
	flags.StringArrayVarP(&f.settings, "config", "c", nil, "set a Storm configuration key, as key=value; may be repeated")
	flags.StringVar(&f.metricsAddr, "metrics-addr", "", "serve Prometheus metrics at this host:port")
	return cmd
}

// conf is the configuration from the command line. A value is JSON, or text if
// it is not.
func (f *localFlags) conf() (storm.Config, error) {
	conf := storm.Config{}
	for _, s := range f.settings {
		key, text, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return nil, usagef("-c %q is not key=value", s)
		}
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			v = text
		}
		conf[key] = v
	}
	if f.workers < 1 {
		return nil, usagef("--workers is %d; it must be at least 1", f.workers)
	}
	if f.runFor < 0 {
		return nil, usagef("--run-for is %s; it must not be negative", f.runFor)
	}
	if _, ok := conf[string(storm.ConfTopologyWorkers)]; !ok || f.workers > 1 {
		conf[string(storm.ConfTopologyWorkers)] = f.workers
	}
	return conf, nil
}

// runLocal runs the topology, shows how it goes and prints its result.
func (e *env) runLocal(ctx context.Context, name string, instance *storm.Instance, conf storm.Config, f localFlags) error {
	restore := tuneGC()
	defer restore()
	screen := newScreen(e.stderr, f.quiet)
	level := slog.LevelWarn
	if f.debug {
		level = slog.LevelDebug
	}
	topology, err := local.New(local.Options{
		Name: name, Instance: instance, Conf: conf, RunFor: f.runFor, MetricsAddr: f.metricsAddr,
		Logger: slog.New(slog.NewTextHandler(screen, &slog.HandlerOptions{Level: level})),
	})
	if err != nil {
		return err
	}
	stopShow := screen.show(topology.Progress)
	res, err := topology.Run(ctx)
	stopShow()
	if err != nil {
		return err
	}
	return e.finish(instance, res, f.quiet)
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
