package command

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/cluster"
)

// clusterSummary is the command `cluster`.
func (v *verbs) clusterSummary() *cobra.Command {
	return v.summaryVerb("cluster", "Show nimbuses, supervisors and topologies in short", func(s cluster.ClusterSummary, asJSON bool) error {
		if asJSON {
			s.Nimbuses = append([]cluster.NimbusSummary{}, s.Nimbuses...)
			s.Topologies = append([]cluster.TopologySummary{}, s.Topologies...)
			return v.printJSON(s)
		}
		return v.printCluster(s)
	})
}

// supervisors is the command `supervisors`.
func (v *verbs) supervisors() *cobra.Command {
	return v.summaryVerb("supervisors", "List the supervisors of a cluster", func(s cluster.ClusterSummary, asJSON bool) error {
		if asJSON {
			return v.printJSON(s.Supervisors)
		}
		return v.table(supervisorRows(s.Supervisors))
	})
}

func (v *verbs) summaryVerb(use, short string, show func(s cluster.ClusterSummary, asJSON bool) error) *cobra.Command {
	var f clusterFlags
	var asJSON bool
	cmd := verb(&f, use, short, "")
	cmd.Args = noArgs
	flagJSON(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			s, err := summaryOf(ctx, n)
			if err != nil {
				return err
			}
			return show(s, asJSON)
		})
	}
	return cmd
}

// summaryOf is the cluster in short, its supervisors with their standings.
func summaryOf(ctx context.Context, n leader) (cluster.ClusterSummary, error) {
	s, err := n.ClusterSummary(ctx)
	if err != nil {
		return s, err
	}
	standings, err := n.Standings(ctx)
	if err != nil {
		return s, err
	}
	s.Supervisors = append([]cluster.SupervisorSummary{}, s.Supervisors...)
	for i := range s.Supervisors {
		s.Supervisors[i].Standing = standings[s.Supervisors[i].ID].String()
	}
	return s, nil
}

func (v *verbs) printCluster(s cluster.ClusterSummary) error {
	slots, used := 0, 0
	for _, one := range s.Supervisors {
		slots += one.Workers
		used += one.UsedWorkers
	}
	fmt.Fprintf(v.stdout, "nimbuses: %d, supervisors: %d, slots used: %d of %d, topologies: %d\n",
		len(s.Nimbuses), len(s.Supervisors), used, slots, len(s.Topologies))
	nimbuses := [][]string{{"NIMBUS", "LEADS", "UP", "VERSION"}}
	for _, one := range s.Nimbuses {
		leads := "no"
		if one.Leader {
			leads = "yes"
		}
		nimbuses = append(nimbuses, []string{net.JoinHostPort(one.Host, strconv.Itoa(one.Port)), leads, seconds(one.UptimeSecs), one.Version})
	}
	topologies := [][]string{{"TOPOLOGY", "STATUS", "WORKERS", "EXECUTORS", "TASKS", "UP", "PLACEMENT"}}
	for _, t := range s.Topologies {
		topologies = append(topologies, []string{
			t.Name, t.Status, strconv.Itoa(t.Workers), strconv.Itoa(t.Executors), strconv.Itoa(t.Tasks), seconds(t.UptimeSecs), t.SchedStatus,
		})
	}
	for _, rows := range [][][]string{nimbuses, supervisorRows(s.Supervisors), topologies} {
		if len(rows) == 1 {
			continue
		}
		fmt.Fprintln(v.stdout)
		if err := v.table(rows); err != nil {
			return err
		}
	}
	return nil
}

func supervisorRows(all []cluster.SupervisorSummary) [][]string {
	rows := [][]string{{"SUPERVISOR", "HOST", "SLOTS USED", "CPU %", "MEMORY MIB", "STANDING", "UP", "VERSION"}}
	for _, s := range all {
		standing := s.Standing
		if s.Blacklisted {
			standing += ", blacklisted"
		}
		rows = append(rows, []string{
			string(s.ID), s.Host, fmt.Sprintf("%d of %d", s.UsedWorkers, s.Workers),
			share(s.Used.CPU, s.Resources["cpu.pcore.percent"]), share(s.Used.MemoryMB, s.Resources["memory.mb"]),
			standing, seconds(s.UptimeSecs), s.Version,
		})
	}
	return rows
}

// share is how much of all is used.
func share(used, all float64) string { return fmt.Sprintf("%.0f of %.0f", used, all) }
