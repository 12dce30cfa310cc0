package command

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/storm"
)

// submitFlags are the flags that every topology has under `submit`.
type submitFlags struct {
	name     string
	workers  int
	inactive bool
	dryRun   bool
	clusterFlags
}

func (f *submitFlags) register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.name, "name", "", "submit under this `NAME` (default: the topology's)")
	flags.IntVar(&f.workers, "workers", 0, "run in `N` workers (default: topology.workers, 1)")
	flags.BoolVar(&f.inactive, "inactive", false, "let the spouts be silent until \"activate\"")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print where everything would run, and submit nothing")
	f.clusterFlags.register(flags)
	completeNothing(cmd, "name", "workers", "set")
	mustComplete(cmd.MarkPersistentFlagFilename("config", "yaml", "yml"))
}

// submit is the command `submit`: this program sends itself to a cluster.
func (e *env) submit() *cobra.Command {
	var f submitFlags
	cmd := &cobra.Command{
		Use:   "submit TOPOLOGY",
		Short: "Run a topology on a cluster",
		Long: `Send this program to a cluster's nimbus, which runs one of its topologies there.
Workers make the topology again with the same flags and arguments, so paths must
hold on their hosts.`,
		Args: cobra.ArbitraryArgs,
		RunE: e.whichTopology,
	}
	f.register(cmd)
	for _, d := range e.program.Topologies {
		cmd.AddCommand(e.submitTopology(d, &f, cmd.PersistentFlags()))
	}
	return cmd
}

func (e *env) submitTopology(d storm.Definition, f *submitFlags, shared *pflag.FlagSet) *cobra.Command {
	return e.perTopology(d, shared, &f.workers, func(ctx context.Context, made made) error {
		instance, err := made.instance()
		if err != nil {
			return err
		}
		return e.send(ctx, d, instance, made.args, f)
	})
}

// send submits an instance that was made with args.
func (e *env) send(ctx context.Context, d storm.Definition, instance *storm.Instance, args []string, f *submitFlags) error {
	cluster, overrides, err := f.load()
	if err != nil {
		return err
	}
	topology, err := layout.Describe(instance.Topology, d.Name)
	if err != nil {
		return err
	}
	settings := storm.Config{}
	maps.Copy(settings, instance.Conf)
	maps.Copy(settings, overrides)
	if f.workers > 0 {
		settings[string(storm.ConfTopologyWorkers)] = f.workers
	}
	conf.TopologyArgs.Set(settings, args)
	if _, err := conf.Defaults().Topology(settings); err != nil {
		return usagef("%w", err)
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("the topology's configuration cannot be sent: %w", err)
	}
	name := f.name
	if name == "" {
		name = d.Name
	}
	nimbus, err := connect(ctx, cluster, e.stderr)
	if err != nil {
		return err
	}
	defer nimbus.Close()
	s := client.Submission{Name: name, Conf: string(text), Topology: topology, Inactive: f.inactive}
	if f.dryRun {
		plan, err := nimbus.PlanSubmit(ctx, s)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(e.stdout, plan)
		return err
	}
	program, err := openSelf()
	if err != nil {
		return err
	}
	defer program.Close()
	s.Jar = program
	if err := nimbus.Submit(ctx, s); err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "submitted topology %s\n", name)
	return nil
}

// openSelf opens the program that runs.
func openSelf() (*os.File, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program's own file: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("this program's own file: %w", err)
	}
	return file, nil
}
