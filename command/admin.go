package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/cluster"
)

// admin is the command `admin`.
func (v *verbs) admin() *cobra.Command {
	return group("admin", "Look into a cluster", "Look into a cluster: Storm's commands for administrators, as far as they make sense here.",
		v.printAssignment(), v.printTopology(), v.printSupervisors(),
		instead("remove_corrupt_topologies", "nimbus does not stop at a broken topology: "+v.name+" cluster shows what is wrong with it, and kill removes it"),
		instead("zk_cli", "use ZooKeeper's own zkCli.sh -server HOST:PORT; records are under storm.zookeeper.root"),
		instead("creds", "nimbus gives credentials to no client; "+v.name+" upload-credentials replaces them"),
	)
}

// printSupervisors is the command `admin print_super`.
func (v *verbs) printSupervisors() *cobra.Command {
	var f clusterFlags
	cmd := verb(&f, "print_super [ID…]", "Print supervisors as JSON", "")
	cmd.Args = cobra.ArbitraryArgs
	jsonAnyway(cmd)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			s, err := summaryOf(ctx, n)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				return v.printJSON(s.Supervisors)
			}
			var chosen []cluster.SupervisorSummary
			for _, id := range ids {
				i := slices.IndexFunc(s.Supervisors, func(o cluster.SupervisorSummary) bool { return string(o.ID) == id })
				if i < 0 {
					return fmt.Errorf("there is no supervisor %q; %s supervisors lists them", id, v.name)
				}
				chosen = append(chosen, s.Supervisors[i])
			}
			return v.printJSON(chosen)
		})
	}
	return cmd
}

// jsonAnyway has a command that prints JSON take --json too.
func jsonAnyway(cmd *cobra.Command) {
	cmd.Flags().Bool("json", true, "print JSON, which is done anyway")
}

// printAssignment is the command `admin print_assignment`.
func (v *verbs) printAssignment() *cobra.Command {
	var f clusterFlags
	var asJSON bool
	cmd := verb(&f, "print_assignment TOPOLOGY", "Print where a topology's executors run", "")
	cmd.Args = takes(1, 1, whichTopology)
	cmd.ValidArgsFunction = v.completeTopologies(&f, 1)
	flagJSON(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			info, err := n.Topology(ctx, args[0], cluster.NoErrors)
			if err != nil {
				return fmt.Errorf("admin print_assignment %s: %w", args[0], err)
			}
			if asJSON {
				return v.printJSON(append([]cluster.ExecutorSummary{}, info.ExecutorList...))
			}
			rows := [][]string{{"HOST", "PORT", "COMPONENT", "TASKS", "UP"}}
			list := slices.Clone(info.ExecutorList)
			slices.SortStableFunc(list, func(a, b cluster.ExecutorSummary) int { return a.Executor.Compare(b.Executor) })
			for _, e := range list {
				rows = append(rows, []string{e.Host, strconv.Itoa(int(e.Port)), e.Component, e.Executor.String(), seconds(e.UptimeSecs)})
			}
			return v.table(rows)
		})
	}
	return cmd
}

// printTopology is the command `admin print_topo`.
func (v *verbs) printTopology() *cobra.Command {
	var f clusterFlags
	cmd := verb(&f, "print_topo TOPOLOGY", "Print a topology's components and streams as JSON", "")
	cmd.Args = takes(1, 1, whichTopology)
	cmd.ValidArgsFunction = v.completeTopologies(&f, 1)
	jsonAnyway(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			s, err := n.TopologySummary(ctx, args[0])
			if err != nil {
				return fmt.Errorf("admin print_topo %s: %w", args[0], err)
			}
			t, err := n.UserTopology(ctx, s.ID)
			if err != nil {
				return fmt.Errorf("admin print_topo %s: %w", args[0], err)
			}
			return v.printJSON(map[string]any{"id": s.ID, "components": drawTopology(t)})
		})
	}
	return cmd
}

// component is one of a topology as `admin print_topo` shows it.
type component struct {
	Kind        string              `json:"kind"`
	Code        string              `json:"code"`
	Parallelism int                 `json:"parallelism"`
	Inputs      []string            `json:"inputs"`
	Streams     map[string][]string `json:"streams"`
}

func drawTopology(t cluster.Topology) map[string]component {
	out := map[string]component{}
	for id, c := range t.Components {
		one := component{Kind: "bolt", Code: codeOf(c.Object), Parallelism: max(1, c.Parallelism), Inputs: []string{}, Streams: map[string][]string{}}
		if c.Kind == cluster.Spout {
			one.Kind = "spout"
		}
		for _, in := range c.Inputs {
			one.Inputs = append(one.Inputs, fmt.Sprintf("%s of %s, %s grouping", in.Stream, in.Component, groupingOf(in.Grouping)))
		}
		for _, stream := range slices.Sorted(maps.Keys(c.Streams)) {
			one.Streams[stream] = append([]string{}, c.Streams[stream].Fields...)
		}
		out[id] = one
	}
	return out
}

func codeOf(o cluster.Object) string {
	switch {
	case o.Shell != nil:
		return strings.TrimSpace("shell " + o.Shell.Command + " " + o.Shell.Script)
	case o.Class != nil:
		return o.Class.Name
	default:
		return fmt.Sprintf("Java object of %d bytes", len(o.Serialized))
	}
}

func groupingOf(g cluster.Grouping) string {
	switch g.Kind {
	case cluster.GroupFields:
		if len(g.Fields) == 0 {
			return "global"
		}
		return "fields " + strings.Join(g.Fields, " ")
	case cluster.GroupShuffle:
		return "shuffle"
	case cluster.GroupAll:
		return "all"
	case cluster.GroupNone:
		return "none"
	case cluster.GroupDirect:
		return "direct"
	case cluster.GroupLocalOrShuffle:
		return "local or shuffle"
	case cluster.GroupCustomObject:
		return "custom " + g.Class.Name
	case cluster.GroupCustomSerialized:
		return "custom Java"
	default:
		return fmt.Sprintf("unknown %d", g.Kind)
	}
}
