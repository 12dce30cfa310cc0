package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/cluster"
)

const whichSupervisor = "which supervisor? give its id or its host; the command supervisors lists them"

// cordon is the command `cordon`.
func (v *verbs) cordon() *cobra.Command {
	var f clusterFlags
	return v.standing(&f, "cordon", "Place no more workers on supervisors; those there go on", cluster.Cordoned, nil)
}

// uncordon is the command `uncordon`.
func (v *verbs) uncordon() *cobra.Command {
	var f clusterFlags
	return v.standing(&f, "uncordon", "Place workers on supervisors again, after cordon or drain", cluster.Open, nil)
}

// drain is the command `drain`.
func (v *verbs) drain() *cobra.Command {
	var f clusterFlags
	var await bool
	cmd := v.standing(&f, "drain", "Move all workers away from supervisors, and place no more there", cluster.Drained, &await)
	cmd.Flags().BoolVar(&await, "wait", false, "come back when no worker is left there")
	return cmd
}

func (v *verbs) standing(f *clusterFlags, name, short string, s cluster.Standing, await *bool) *cobra.Command {
	cmd := verb(f, name+" SUPERVISOR-OR-HOST…", short, "")
	cmd.Args = takes(1, 0, whichSupervisor)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return v.ask(cmd, f, func(ctx context.Context, n leader) error {
			var set []string
			err := v.each(ctx, args, "supervisors", s.String(), func(who string) error {
				if err := n.SetStanding(ctx, who, s); err != nil {
					return fmt.Errorf("%s %s: %w", name, who, err)
				}
				v.say("supervisor %s is %s", who, s)
				set = append(set, who)
				return nil
			})
			if await == nil || !*await || len(set) == 0 {
				return err
			}
			return errors.Join(err, v.awaitEmpty(ctx, n, set))
		})
	}
	return cmd
}

// awaitEmpty comes back when no worker is left on these supervisors or hosts.
func (v *verbs) awaitEmpty(ctx context.Context, n leader, names []string) error {
	meant := map[string]bool{}
	for _, name := range names {
		meant[name] = true
	}
	left := names
	err := poll(ctx, lookEvery, func() (bool, error) {
		s, err := n.ClusterSummary(ctx)
		if err != nil {
			return false, fmt.Errorf("the supervisors are drained, but whether they are empty is unknown: %w", err)
		}
		left = nil
		for _, one := range s.Supervisors {
			if one.UsedWorkers > 0 && (meant[string(one.ID)] || meant[one.Host]) {
				left = append(left, fmt.Sprintf("%d workers on %s", one.UsedWorkers, one.Host))
			}
		}
		return len(left) == 0, nil
	})
	if errors.Is(err, errInterrupted) {
		v.say("interrupted: not empty yet: %s", strings.Join(left, ", "))
	}
	return err
}
