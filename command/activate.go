package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// activate is the command `activate`.
func (v *verbs) activate() *cobra.Command {
	return v.toggle("activate", "Let a topology's spouts emit", "activated", func(n leader, ctx context.Context, name string) error {
		return n.Activate(ctx, name)
	})
}

// deactivate is the command `deactivate`.
func (v *verbs) deactivate() *cobra.Command {
	return v.toggle("deactivate", "Silence a topology's spouts until it is activated", "deactivated", func(n leader, ctx context.Context, name string) error {
		return n.Deactivate(ctx, name)
	})
}

func (v *verbs) toggle(name, short, done string, do func(n leader, ctx context.Context, name string) error) *cobra.Command {
	var f clusterFlags
	cmd := verb(&f, name+" TOPOLOGY", short, "")
	cmd.Args = takes(1, 1, whichTopology)
	cmd.ValidArgsFunction = v.completeTopologies(&f, 1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			if err := do(n, ctx, args[0]); err != nil {
				return fmt.Errorf("%s %s: %w", name, args[0], err)
			}
			v.say("%s topology %s", done, args[0])
			return nil
		})
	}
	return cmd
}
