package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/nimbus/blobstore"
	"github.com/stormring/stormring/nimbus/client"
)

// completeWithin bounds how long the shell waits for names of topologies.
const completeWithin = time.Second

// leader is what the verbs ask of a cluster's leader; *client.Client is one.
type leader interface {
	topologyReader
	topologyChanger
	blobReader
	blobChanger
	clusterKeeper
	Close()
}

type topologyReader interface {
	Topologies(ctx context.Context) ([]cluster.TopologySummary, error)
	TopologySummary(ctx context.Context, name string) (cluster.TopologySummary, error)
	Topology(ctx context.Context, name string, errors cluster.ErrorsChoice) (cluster.TopologyInfo, error)
	UserTopology(ctx context.Context, id cluster.TopologyID) (cluster.Topology, error)
	TopologyConf(ctx context.Context, id cluster.TopologyID) (string, error)
	LogConfig(ctx context.Context, id cluster.TopologyID) (cluster.LogConfig, error)
	PlanRebalance(ctx context.Context, name string, o cluster.RebalanceOptions) (string, error)
}

type topologyChanger interface {
	Kill(ctx context.Context, name string, o cluster.KillOptions) error
	Activate(ctx context.Context, name string) error
	Deactivate(ctx context.Context, name string) error
	Rebalance(ctx context.Context, name string, o cluster.RebalanceOptions) error
	SetLogConfig(ctx context.Context, id cluster.TopologyID, l cluster.LogConfig) error
	UploadCredentials(ctx context.Context, name string, creds cluster.Credentials) error
}

type blobReader interface {
	Blobs(ctx context.Context) ([]string, error)
	BlobMeta(ctx context.Context, key string) (blobstore.ReadableMeta, error)
	FetchBlob(ctx context.Context, key string, w io.Writer) (version int64, err error)
	BlobReplication(ctx context.Context, key string) (int, error)
}

type blobChanger interface {
	CreateBlob(ctx context.Context, key string, meta blobstore.Meta, r io.Reader) error
	UpdateBlob(ctx context.Context, key string, r io.Reader) error
	SetBlobMeta(ctx context.Context, key string, meta blobstore.Meta) error
	DeleteBlob(ctx context.Context, key string) error
	SetBlobReplication(ctx context.Context, key string, n int) (int, error)
}

type clusterKeeper interface {
	ClusterSummary(ctx context.Context) (cluster.ClusterSummary, error)
	NimbusConf(ctx context.Context) (string, error)
	Standings(ctx context.Context) (map[cluster.SupervisorID]cluster.Standing, error)
	SetStanding(ctx context.Context, supervisor string, s cluster.Standing) error
	RingNodes(ctx context.Context) (map[cluster.SupervisorID]string, error)
}

// verbs makes the commands that work with a cluster from outside.
type verbs struct {
	*env
	dial func(ctx context.Context, c *conf.Conf, stderr io.Writer) (leader, error)
}

// clusterVerbs are the commands that work with a cluster from outside: Storm's
// and some of our own.
func (e *env) clusterVerbs() []*cobra.Command {
	return (&verbs{env: e, dial: dial}).commands()
}

func dial(ctx context.Context, c *conf.Conf, stderr io.Writer) (leader, error) {
	n, err := connect(ctx, c, stderr)
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (v *verbs) commands() []*cobra.Command {
	list := []*cobra.Command{
		v.list(), v.kill(), v.activate(), v.deactivate(), v.rebalance(), v.getErrors(), v.monitor(),
		v.setLogLevel(), v.uploadCredentials(), v.blobstore(), v.jar(), v.jvm(), v.flux(),
		v.clusterSummary(), v.supervisors(), v.cordon(), v.drain(), v.uncordon(), v.ring(), v.recovery(),
		v.localConfValue(), v.remoteConfValue(), v.classpath(), v.serverClasspath(), v.admin(),
	}
	return append(list, v.elsewhere()...)
}

// verb is a command with the flags of all.
func verb(f *clusterFlags, use, short, long string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, ValidArgsFunction: cobra.NoFileCompletions}
	f.register(cmd.Flags())
	completeNothing(cmd, "set")
	mustComplete(cmd.MarkFlagFilename("config", "yaml", "yml"))
	return cmd
}

// group is a command that only has commands.
func group(use, short, long string, of ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return usagef("which command? %s --help lists them", cmd.CommandPath())
	}
	cmd.AddCommand(of...)
	return cmd
}

func flagJSON(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON")
}

// takes refuses fewer arguments than least, and more than most unless that is
// 0. missing asks for the one that is not there.
func takes(least, most int, missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s; see %s --help", missing, cmd.CommandPath())
		case most > 0 && len(args) > most:
			return usagef("%s got %q too many; see %s --help", cmd.Name(), args[most], cmd.CommandPath())
		}
		return nil
	}
}

const whichTopology = "which topology? the command list shows those that run"

// ask connects to the leader that the flags speak of.
func (v *verbs) ask(cmd *cobra.Command, f *clusterFlags, do func(ctx context.Context, n leader) error) error {
	c, _, err := f.load()
	if err != nil {
		return err
	}
	return v.askAt(cmd.Context(), c, do)
}

// askAt connects to the leader of the cluster with configuration c.
func (v *verbs) askAt(ctx context.Context, c *conf.Conf, do func(ctx context.Context, n leader) error) error {
	n, err := v.dial(ctx, c, v.stderr)
	if err == nil {
		defer n.Close()
		err = do(ctx, n)
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, errInterrupted) {
		v.say("interrupted: %s", oneLine(err))
		return errInterrupted
	}
	return err
}

// say tells, apart from the result, what was done.
func (v *verbs) say(format string, args ...any) {
	fmt.Fprintf(v.stderr, format+"\n", args...)
}

// each does something to all names, whatever fails on the way as long as nimbus
// can be reached: each failure is a line on stderr. done is the word for what was to be done to what.
func (v *verbs) each(ctx context.Context, names []string, what, done string, do func(name string) error) error {
	failed := 0
	for _, name := range names {
		err := do(name)
		switch {
		case err == nil:
			continue
		case len(names) == 1 || ctx.Err() != nil || errors.Is(err, client.ErrUnreachable):
			return err
		}
		v.say("%s: %s", v.name, oneLine(err))
		failed++
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d %s were not %s", failed, len(names), what, done)
	}
	return nil
}

// poll calls look at once and then at every tick, until it is done or fails.
// It ends with errInterrupted if the user interrupts.
func poll(ctx context.Context, every time.Duration, look func() (done bool, err error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		done, err := look()
		switch {
		case err != nil && ctx.Err() != nil:
			return errInterrupted
		case done || err != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return errInterrupted
		case <-tick.C:
		}
	}
}

// table prints rows in columns. The first is the head.
func (v *verbs) table(rows [][]string) error {
	w := tabwriter.NewWriter(v.stdout, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// seconds is a number of seconds for people.
func seconds(n int) string { return (time.Duration(n) * time.Second).String() }

// completeTopologies offers the names of topologies that run, of which the
// command takes at most so many; 0 is no limit. Whatever fails, it is silent.
func (v *verbs) completeTopologies(f *clusterFlags, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const noFiles = cobra.ShellCompDirectiveNoFileComp
		if most > 0 && len(args) >= most {
			return nil, noFiles
		}
		c, _, err := f.load()
		if err != nil {
			return nil, noFiles
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		n, err := v.dial(ctx, c, io.Discard)
		if err != nil {
			return nil, noFiles
		}
		defer n.Close()
		all, err := n.Topologies(ctx)
		if err != nil {
			return nil, noFiles
		}
		given := map[string]bool{}
		for _, name := range args {
			given[name] = true
		}
		var names []cobra.Completion
		for _, t := range all {
			if !given[t.Name] {
				names = append(names, cobra.CompletionWithDesc(t.Name, t.Status))
			}
		}
		return names, noFiles
	}
}
