package command

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
)

type rebalanceFlags struct {
	clusterFlags
	waitSecs, workers int
	executors         []string
	resources, conf   string
	dryRun            bool
}

// rebalance is the command `rebalance`.
func (v *verbs) rebalance() *cobra.Command {
	var f rebalanceFlags
	cmd := verb(&f.clusterFlags, "rebalance TOPOLOGY", "Place a topology's executors anew", `Place a topology's executors anew, with as many workers and executors as before
or as are asked for. Its spouts are silent until that is done. What -c sets
becomes part of the topology's configuration.`)
	cmd.Args = takes(1, 1, whichTopology)
	cmd.ValidArgsFunction = v.completeTopologies(&f.clusterFlags, 1)
	flags := cmd.Flags()
	flags.IntVarP(&f.waitSecs, "wait-time-secs", "w", 0, "let workers finish for `SECS` (default: the topology's topology.message.timeout.secs)")
	flags.IntVarP(&f.workers, "num-workers", "n", 0, "run in `N` workers")
	flags.StringArrayVarP(&f.executors, "executor", "e", nil, "run a component in so many executors, as `COMPONENT=N`; may be repeated")
	flags.StringVarP(&f.resources, "resources", "r", "", "resources that components need, as `JSON` {\"component\": {\"resource\": number}}")
	flags.StringVarP(&f.conf, "topology-conf", "t", "", "change the topology's configuration by a `JSON` object")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print where everything would run, and change nothing")
	completeNothing(cmd, "wait-time-secs", "num-workers", "executor", "resources", "topology-conf")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, overrides, err := f.load()
		if err != nil {
			return err
		}
		o, err := f.options(cmd, overrides)
		if err != nil {
			return err
		}
		return v.askAt(cmd.Context(), c, func(ctx context.Context, n leader) error {
			return v.runRebalance(ctx, n, args[0], o, f.dryRun)
		})
	}
	return cmd
}

func (v *verbs) runRebalance(ctx context.Context, n leader, name string, o cluster.RebalanceOptions, dryRun bool) error {
	if dryRun {
		plan, err := n.PlanRebalance(ctx, name, o)
		if err != nil {
			return fmt.Errorf("rebalance %s: %w", name, err)
		}
		fmt.Fprint(v.stdout, plan)
		return nil
	}
	if err := n.Rebalance(ctx, name, o); err != nil {
		return fmt.Errorf("rebalance %s: %w", name, err)
	}
	v.say("topology %s is rebalancing", name)
	return nil
}

// options are what the flags ask for. overrides is what -c sets.
func (f *rebalanceFlags) options(cmd *cobra.Command, overrides map[string]any) (cluster.RebalanceOptions, error) {
	var none cluster.RebalanceOptions
	wait, err := waitOption(cmd, f.waitSecs)
	if err != nil {
		return none, err
	}
	o := cluster.RebalanceOptions{WaitSecs: wait}
	if cmd.Flags().Changed("num-workers") {
		if f.workers < 1 {
			return none, usagef("--num-workers is %d; it must be at least 1", f.workers)
		}
		o.Workers = &f.workers
	}
	if o.Executors, err = parseExecutors(f.executors); err != nil {
		return none, err
	}
	if o.Resources, err = parseResources(f.resources); err != nil {
		return none, err
	}
	o.Conf, err = topologyOverrides(f.conf, overrides)
	return o, err
}

func parseExecutors(pairs []string) (map[string]int, error) {
	var out map[string]int
	for _, pair := range pairs {
		i := strings.LastIndexByte(pair, '=')
		if i < 1 {
			return nil, usagef("-e %s: write it as COMPONENT=N", pair)
		}
		n, err := strconv.ParseInt(pair[i+1:], 10, 32)
		if err != nil || n < 1 {
			return nil, usagef("-e %s: the number of executors must be a whole number of at least 1", pair)
		}
		if out == nil {
			out = map[string]int{}
		}
		out[pair[:i]] = int(n)
	}
	return out, nil
}

func parseResources(text string) (map[string]map[string]float64, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nothing is asked for
	}
	var out map[string]map[string]float64
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, usagef("-r: write it as {\"component\": {\"resource\": number}}: %w", err)
	}
	for component, needs := range out {
		for resource, n := range needs {
			if n < 0 || math.IsInf(n, 0) {
				return nil, usagef("-r: component %s needs %v of %s; it must not be negative", component, n, resource)
			}
		}
	}
	return out, nil
}

// reach are the keys that only say how nimbus is reached: given by -c, they are
// not for the topology.
func reach() []string {
	return []string{string(conf.NimbusSeeds), string(conf.NimbusThriftPort), string(conf.NimbusThriftMaxBuffer), string(conf.StormThriftTimeoutMS)}
}

// topologyOverrides is the JSON of -t under what -c sets; "" if that is nothing.
func topologyOverrides(text string, overrides map[string]any) (string, error) {
	values, err := conf.ParseJSON(text)
	if err != nil {
		return "", usagef("-t: %w", err)
	}
	set := maps.Clone(overrides)
	for _, key := range reach() {
		delete(set, key)
	}
	maps.Copy(values, set)
	if len(values) == 0 {
		return "", nil
	}
	if _, err := conf.Defaults().Topology(values); err != nil {
		return "", usagef("%w", err)
	}
	out, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("the topology's configuration cannot be sent: %w", err)
	}
	return string(out), nil
}
