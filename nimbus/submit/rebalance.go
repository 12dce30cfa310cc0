package submit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
)

// CheckRebalance says what is wrong with the options of a rebalance, or
// returns the overrides of the configuration that a user may make.
func CheckRebalance(c *conf.Conf, t cluster.Topology, o cluster.RebalanceOptions) (map[string]any, error) {
	for _, id := range slices.Sorted(maps.Keys(o.Executors)) {
		if _, ok := t.Components[id]; !ok && id != storm.AckerComponent {
			return nil, fmt.Errorf("component %q, of which %d executors are wanted, is not in the topology", id, o.Executors[id])
		}
		if n := o.Executors[id]; n < 1 {
			return nil, fmt.Errorf("component %q: %d executors are wanted; it must be at least 1", id, n)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(o.Resources)) {
		if _, ok := t.Components[id]; !ok {
			return nil, fmt.Errorf("component %q, for which other resources are wanted, is not in the topology", id)
		}
		for _, name := range slices.Sorted(maps.Keys(o.Resources[id])) {
			if n := o.Resources[id][name]; !(n >= 0) {
				return nil, fmt.Errorf("component %q: %s is %g; it must be at least 0", id, name, n)
			}
		}
	}
	if o.Workers != nil && *o.Workers < 1 {
		return nil, fmt.Errorf("%d workers are wanted; it must be at least 1", *o.Workers)
	}
	own, _, err := Settings(c, o.Conf)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{
		string(storm.ConfTopologySubmitterPrincipal), string(storm.ConfTopologySubmitterUser), KeySuperACL, KeyZKPayload, KeyZKScheme,
		string(conf.StormLocalHostname), string(storm.ConfTopologyTasks), string(storm.ConfTopologyAckerExecutors), KeyID, string(storm.ConfTopologyName),
		string(storm.ConfTopologyMaxTaskParallelism),
	} {
		delete(own, key)
	}
	return own, nil
}
