package command

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/cluster"
)

// list is the command `list`. Scripts read its columns: they are Storm's.
func (v *verbs) list() *cobra.Command {
	var f clusterFlags
	var asJSON bool
	cmd := verb(&f, "list", "List the topologies of a cluster", "")
	cmd.Args = noArgs
	flagJSON(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			all, err := n.Topologies(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return v.printJSON(append([]cluster.TopologySummary{}, all...))
			}
			v.printTopologies(all)
			return nil
		})
	}
	return cmd
}

func (v *verbs) printTopologies(all []cluster.TopologySummary) {
	if len(all) == 0 {
		fmt.Fprintln(v.stdout, "No topologies running.")
		return
	}
	line := func(cells ...any) {
		fmt.Fprintf(v.stdout, "%-20s %-10s %-10s %-12s %-12s %-20s %-20s\n", cells...)
	}
	line("Topology_name", "Status", "Num_tasks", "Num_workers", "Uptime_secs", "Topology_Id", "Owner")
	fmt.Fprintln(v.stdout, "----------------------------------------------------------------------------------------")
	for _, t := range all {
		line(t.Name, t.Status, strconv.Itoa(t.Tasks), strconv.Itoa(t.Workers), strconv.Itoa(t.UptimeSecs), t.ID, cmp.Or(t.Owner, "null"))
	}
}
