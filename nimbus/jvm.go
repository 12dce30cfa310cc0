package nimbus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/submit"
)

// jvmFor chooses the release of Storm whose workers run a topology that was made with
// a version, of those that some supervisor has.
func (n *Nimbus) jvmFor(ctx context.Context, r *reign, made string) (submit.JVM, error) {
	none := submit.JVM{}
	if n.cfg.NoJVMs != nil {
		return none, n.cfg.NoJVMs
	}
	ids, err := r.term.store.Supervisors(ctx)
	if err != nil {
		return none, err
	}
	signs, err := loadSigns(ctx, r.term.store, ids)
	if err != nil {
		return none, err
	}
	have, state := map[string]bool{}, map[string]bool{}
	for _, s := range signs {
		for _, v := range s.Record.JVMs() {
			have[v] = true
			state[v] = state[v] || s.Record.JVMState()
		}
	}
	all := slices.Sorted(maps.Keys(have))
	version, ok := cluster.CompatibleVersion(made, all)
	switch {
	case ok:
		return submit.JVM{Release: version, State: state[version]}, nil
	case len(all) == 0:
		return none, fmt.Errorf("no supervisor can start one: install Java 11 or later on some of them, and run: stormring jvm install %s", orAny(made))
	default:
		return none, fmt.Errorf("it was made with Storm %s, and supervisors have the workers of Storm %s only: run on them: stormring jvm install %s", made, strings.Join(all, ", "), made)
	}
}

// orAny is a version to name in an example.
func orAny(version string) string {
	if version == "" {
		return "2.8.3"
	}
	return version
}
