package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Action is something that happens to a topology: one of the types below.
//
//sumtype:decl
type Action interface{ action() }

// Activate makes spouts emit. It does nothing if they do.
type Activate struct{}

// Deactivate silences spouts. It does nothing if they are silent.
type Deactivate struct{}

// Kill removes the topology after a wait. A second one starts the wait anew.
type Kill struct {
	// Wait is nil for the default.
	Wait *time.Duration
}

// Rebalance places the topology anew after a wait and with changes.
type Rebalance struct {
	// Wait is nil for the default.
	Wait *time.Duration
	Changes
}

// Startup is the first action that a new leader steps, and the one after an
// effect has failed.
type Startup struct{}

// DelayDue says that the time of a [Delay] has come. One that comes too early,
// or for a delay that was put off or is no more, does no harm.
type DelayDue struct{}

func (Activate) action()   {}
func (Deactivate) action() {}
func (Kill) action()       {}
func (Rebalance) action()  {}
func (Startup) action()    {}
func (DelayDue) action()   {}

// Changes are what a rebalance changes of a topology. The zero Changes only
// place it anew.
type Changes struct {
	// Workers is the new number of workers; 0 leaves it.
	Workers int
	// Executors are new numbers of executors by component.
	Executors map[string]int
	// Resources are new needs of components' executors: component, then name
	// of the resource, then amount in the resource's unit.
	Resources map[string]map[string]float64
	// Conf overrides the topology's configuration. Which keys a user may
	// override is for the caller to decide.
	Conf map[string]any
}

// IsZero reports whether nothing changes.
func (c Changes) IsZero() bool {
	return c.Workers == 0 && len(c.Executors) == 0 && len(c.Resources) == 0 && len(c.Conf) == 0
}

// check looks for what no topology can have. Whether it has such components is
// for the caller to know.
func (c Changes) check() error {
	if c.Workers < 0 {
		return fmt.Errorf("%d workers; give 1 or more, or 0 to leave their number: %w", c.Workers, ErrInvalid)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Executors)) {
		if n := c.Executors[name]; n < 1 {
			return fmt.Errorf("%d executors for component %s; give 1 or more: %w", n, name, ErrInvalid)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Resources)) {
		for _, what := range slices.Sorted(maps.Keys(c.Resources[name])) {
			if v := c.Resources[name][what]; !(v >= 0) { // NaN too
				return fmt.Errorf("%v of %s for component %s; give 0 or more: %w", v, what, name, ErrInvalid)
			}
		}
	}
	return nil
}

// clone keeps the state from changing with the caller's maps.
func (c Changes) clone() Changes {
	c.Executors, c.Conf = maps.Clone(c.Executors), maps.Clone(c.Conf)
	c.Resources = maps.Clone(c.Resources)
	for name, needs := range c.Resources {
		c.Resources[name] = maps.Clone(needs)
	}
	return c
}
