package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/cluster"
)

// lookEvery is how often a command that waits looks whether it is over.
const lookEvery = time.Second

type killFlags struct {
	clusterFlags
	waitSecs int
	ignore   bool
	await    bool
}

// kill is the command `kill`.
func (v *verbs) kill() *cobra.Command {
	var f killFlags
	cmd := verb(&f.clusterFlags, "kill TOPOLOGY…", "Remove topologies from a cluster", `Remove topologies: their spouts fall silent at once, and after a wait their
workers end. If one cannot be killed, the others are nevertheless.`)
	cmd.Args = takes(1, 0, whichTopology)
	cmd.ValidArgsFunction = v.completeTopologies(&f.clusterFlags, 0)
	flags := cmd.Flags()
	flags.IntVarP(&f.waitSecs, "wait-time-secs", "w", 0, "let workers finish for `SECS` (default: the topology's topology.message.timeout.secs)")
	flags.BoolVarP(&f.ignore, "ignore-errors", "i", false, "go on after a failure, which is done anyway")
	flags.BoolVar(&f.await, "wait", false, "come back when the topologies are gone")
	completeNothing(cmd, "wait-time-secs")
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		o, err := waitOption(cmd, f.waitSecs)
		if err != nil {
			return err
		}
		return v.ask(cmd, &f.clusterFlags, func(ctx context.Context, n leader) error {
			return v.killAll(ctx, n, names, cluster.KillOptions{WaitSecs: o}, f.await)
		})
	}
	return cmd
}

// waitOption is the value of --wait-time-secs, nil if it is not given.
func waitOption(cmd *cobra.Command, secs int) (*int, error) {
	switch {
	case !cmd.Flags().Changed("wait-time-secs"):
		return nil, nil //nolint:nilnil // no wait is said, as in Storm's interface
	case secs < 0:
		return nil, usagef("--wait-time-secs is %d; it must not be negative", secs)
	}
	return &secs, nil
}

func (v *verbs) killAll(ctx context.Context, n leader, names []string, o cluster.KillOptions, await bool) error {
	going := map[cluster.TopologyID]string{}
	err := v.each(ctx, names, "topologies", "killed", func(name string) error {
		if await {
			// By its id, since another may come under the same name.
			t, err := n.TopologySummary(ctx, name)
			if err != nil {
				return fmt.Errorf("kill %s: %w", name, err)
			}
			going[t.ID] = name
		}
		if err := n.Kill(ctx, name, o); err != nil {
			for id, called := range going {
				if called == name {
					delete(going, id)
				}
			}
			return fmt.Errorf("kill %s: %w", name, err)
		}
		v.say("killed topology %s", name)
		return nil
	})
	if len(going) == 0 {
		return err
	}
	return errors.Join(err, v.awaitGone(ctx, n, going))
}

// awaitGone comes back when none of these topologies is there any more.
func (v *verbs) awaitGone(ctx context.Context, n leader, going map[cluster.TopologyID]string) error {
	left := slices.Collect(maps.Values(going))
	err := poll(ctx, lookEvery, func() (bool, error) {
		all, err := n.Topologies(ctx)
		if err != nil {
			return false, fmt.Errorf("the topologies are killed, but whether they are gone is unknown: %w", err)
		}
		left = nil
		for _, t := range all {
			if name, ok := going[t.ID]; ok {
				left = append(left, name)
			}
		}
		return len(left) == 0, nil
	})
	if errors.Is(err, errInterrupted) {
		slices.Sort(left)
		v.say("interrupted: killed, but not gone yet: %s", strings.Join(left, ", "))
	}
	return err
}
