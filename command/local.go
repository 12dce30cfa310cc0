package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

const localName = "local"

// localFlags are the flags that every topology has under `local`.
type localFlags struct {
	workers     int
	runFor      time.Duration
	quiet       bool
	debug       bool
	settings    []string
	file        string
	metricsAddr string
	data        string
	zookeeper   bool
}

func (f *localFlags) register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.IntVar(&f.workers, "workers", 0, "run in `N` workers, connected by TCP (default: topology.workers, 1)")
	flags.DurationVar(&f.runFor, "run-for", 0, "end the run after `TIME`, such as 30s (0: no limit)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	flags.BoolVar(&f.debug, "debug", false, "log more")
	flags.StringArrayVarP(&f.settings, "set", "c", nil, "set a configuration key, as `KEY=VALUE`; may be repeated")
	flags.StringVar(&f.file, "config", "", "read `FILE` (default: the first storm.yaml in $STORM_CONF_DIR, ./conf if that is not set, or ~/.storm)")
	flags.StringVar(&f.metricsAddr, "metrics-addr", "", "serve Prometheus metrics at `HOST:PORT`")
	flags.StringVar(&f.data, "data", "", "keep all that is submitted in `DIR` (default: nothing outlasts the run)")
	flags.BoolVar(&f.zookeeper, "zookeeper", false, "start the host's ZooKeeper for the cluster, which topologies in Java need")
	completeNothing(cmd, "workers", "run-for", "set", "metrics-addr")
	mustComplete(cmd.MarkPersistentFlagFilename("config", "yaml", "yml"))
	mustComplete(cmd.MarkPersistentFlagDirname("data"))
}

// local is the command `local`.
func (e *env) local() *cobra.Command {
	var f localFlags
	cmd := &cobra.Command{
		Use:   localName + " [TOPOLOGY]",
		Short: "Run a whole cluster in this process, and a topology on it",
		Long: `Run a cluster in this process: nimbus, a supervisor and workers, without
ZooKeeper; topologies in Java need one, which --zookeeper starts beside it. With a
topology, run that until its input is processed, until --run-for has passed or until
Ctrl-C; the last two first let what is under way finish. Without one, print where
nimbus listens and take what clients submit. Another process can list and kill either
way: nimbus.thrift.port is open to this host, a free one if it is taken or 0.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return e.runCluster(cmd, &f)
			}
			return e.whichTopology(cmd, args)
		},
	}
	f.register(cmd)
	for _, d := range e.program.Topologies {
		cmd.AddCommand(e.localTopology(d, &f, cmd.PersistentFlags()))
	}
	return cmd
}

// localTopology is the command that runs d. shared are the flags that it gets
// from `local`.
func (e *env) localTopology(d storm.Definition, f *localFlags, shared *pflag.FlagSet) *cobra.Command {
	return e.perTopology(d, shared, &f.workers, func(ctx context.Context, made made) error {
		base, top, err := f.layers()
		if err != nil {
			return err
		}
		instance, err := made.instance()
		if err != nil {
			return err
		}
		return e.runLocal(ctx, local.Options{
			Name: d.Name, Instance: instance, Base: base, Conf: top, RunFor: f.runFor, MetricsAddr: f.metricsAddr,
		}, f)
	})
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
	if top, err = parseSettings(f.settings); err != nil {
		return nil, nil, err
	}
	if f.workers > 0 {
		top[string(storm.ConfTopologyWorkers)] = f.workers
	}
	return file.All(), top, nil
}

// parseSettings reads and checks the values of -c.
func parseSettings(pairs []string) (storm.Config, error) {
	values, err := conf.ParseOverrides(pairs)
	if err != nil {
		return nil, usagef("%w", err)
	}
	if _, err := conf.Defaults().With("-c", values); err != nil {
		return nil, usagef("%w", err)
	}
	return values, nil
}

// runLocal runs the topology, shows how it goes and prints its result.
func (e *env) runLocal(ctx context.Context, opts local.Options, f *localFlags) error {
	restore := tuneGC()
	defer restore()
	screen := newScreen(e.stderr, f.quiet)
	opts.Logger = f.logger(screen, slog.LevelInfo)
	workers, err := local.Workers(opts)
	if err != nil {
		return err
	}
	c, err := e.startCluster(ctx, f, workers, screen, slog.LevelWarn)
	if err != nil {
		return err
	}
	topology, err := c.Host(opts)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	stopShow := screen.show(ctx, topology.Progress)
	res, err := topology.Run(ctx)
	stopShow()
	if err = errors.Join(err, c.Close()); err != nil {
		return err
	}
	return e.finish(opts.Instance, res, f.quiet)
}

// runCluster runs a cluster for what clients submit.
func (e *env) runCluster(cmd *cobra.Command, f *localFlags) error {
	for _, flag := range []string{"workers", "metrics-addr"} {
		if cmd.Flags().Changed(flag) {
			return usagef("--%s is for a topology; which? %s topologies lists them", flag, e.name)
		}
	}
	ctx := cmd.Context()
	c, err := e.startCluster(ctx, f, 0, e.stderr, slog.LevelInfo)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "nimbus: %s\n", c.Addr())
	if addr := c.ZooKeeper(); addr != "" {
		fmt.Fprintf(e.stdout, "zookeeper: %s\n", addr)
	}
	var limit <-chan time.Time
	if f.runFor > 0 {
		limit = time.After(f.runFor)
	}
	select {
	case <-ctx.Done():
	case <-limit:
	case <-c.Done():
	}
	return c.Close()
}

// startCluster starts a local cluster that logs what its daemons do from level
// on.
func (e *env) startCluster(ctx context.Context, f *localFlags, workers int, log io.Writer, level slog.Level) (*local.Cluster, error) {
	c, err := conf.Load(conf.Options{File: f.file, Overrides: f.settings})
	if err != nil {
		return nil, err
	}
	slots := 0
	if workers > len(c.Ints(conf.SupervisorSlotsPorts)) || workers > 0 && c.Layer(string(conf.SupervisorSlotsPorts)) == "" {
		slots = workers
	}
	return local.StartCluster(ctx, local.ClusterOptions{
		Conf: c, Dir: f.data, Slots: slots, Program: e.program, ZooKeeper: f.zookeeper,
		Logger: f.logger(log, level), Workers: f.logger(log, slog.LevelInfo), Version: readVersion().Version,
	})
}

// logger logs from level on, or all with --debug.
func (f *localFlags) logger(out io.Writer, level slog.Level) *slog.Logger {
	if f.debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))
}

// finish prints the result, and on stderr what it is worth.
func (e *env) finish(instance *storm.Instance, res local.Result, quiet bool) error {
	if instance.Report != nil {
		if err := instance.Report(e.stdout, res.Partial); err != nil {
			return err
		}
	}
	switch {
	case res.Interrupted && res.Partial:
		fmt.Fprintln(e.stderr, "the result is partial: the run was interrupted before all input was processed")
	case res.Partial && !quiet:
		fmt.Fprintln(e.stderr, "the result is partial: --run-for ended the run before all input was processed")
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

// gcPercent lets the heap grow further between collections than Go does by
// itself: a topology's live heap is small against what streams through it.
const gcPercent = 400

// tuneGC sets gcPercent, unless the user has set GOGC.
func tuneGC() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	old := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(old) }
}
