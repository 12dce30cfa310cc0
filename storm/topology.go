package storm

import (
	"cmp"
	"maps"
	"slices"
)

// GroupingKind is a rule for choosing the tasks that a tuple goes to.
type GroupingKind uint8

// The groupings, as Storm's documentation describes them.
const (
	GroupShuffle GroupingKind = iota + 1
	GroupLocalOrShuffle
	GroupFields
	GroupGlobal
	GroupAll
	GroupNone
	GroupDirect
	GroupPartialKey
	GroupCustom
)

var groupingNames = [...]string{"", "shuffle", "local or shuffle", "fields", "global", "all", "none", "direct", "partial key", "custom"}

// String is the grouping's name as messages show it.
func (k GroupingKind) String() string {
	if int(k) < len(groupingNames) {
		return groupingNames[k]
	}
	return "unknown"
}

// Grouping is a rule with what it needs.
type Grouping struct {
	Kind GroupingKind
	// Fields are what GroupFields and GroupPartialKey hash, in this order.
	Fields Fields
	// Custom makes the chooser of GroupCustom, one for each emitting task.
	Custom func() (CustomGrouping, error)
}

// Input is a subscription of a bolt to a stream.
type Input struct {
	Component string
	Stream    string
	Grouping  Grouping
}

// Component is a spout or a bolt of a topology. Exactly one of NewSpout and
// NewBolt is set, but for the system's own components, which have neither.
type Component struct {
	ID       string
	NewSpout func() (Spout, error)
	NewBolt  func() (Bolt, error)
	// Hint is the number of executors wanted; 0 counts as 1.
	Hint int
	// Conf is what the component sets beside the topology's configuration.
	Conf    Config
	Streams map[string]StreamSpec
	Inputs  []Input
}

// IsSpout reports whether c is a spout.
func (c *Component) IsSpout() bool { return c.NewSpout != nil }

// Topology is a graph of components. Make it with a TopologyBuilder; it is not
// changed afterwards.
type Topology struct {
	Components  map[string]*Component
	WorkerHooks []func() WorkerHook
	// Warnings are oddities that do not stop the topology from running, such
	// as cycles.
	Warnings []string
}

// ComponentIDs are the ids of all components in the order of Java strings, in
// which Storm numbers tasks.
func (t *Topology) ComponentIDs() []string {
	return slices.SortedFunc(maps.Keys(t.Components), compareJava)
}

// Targets are the subscriptions to the streams of a component, by stream and
// subscriber.
func (t *Topology) Targets(component string) []Target {
	var out []Target
	for _, id := range t.ComponentIDs() {
		for _, in := range t.Components[id].Inputs {
			if in.Component == component {
				out = append(out, Target{Stream: in.Stream, Component: id, Grouping: in.Grouping})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Target) int {
		return cmp.Or(compareJava(a.Stream, b.Stream), compareJava(a.Component, b.Component))
	})
	return out
}

// compareJava orders strings by UTF-16 code units, as Java does. It differs
// from the order of bytes only where a code point above U+FFFF meets one
// between U+E000 and U+FFFF.
func compareJava(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	for i := range min(len(ra), len(rb)) {
		if ra[i] == rb[i] {
			continue
		}
		ha, hb := ra[i] > 0xFFFF, rb[i] > 0xFFFF
		if ha != hb && ha && rb[i] >= 0xE000 {
			return -1
		}
		if ha != hb && hb && ra[i] >= 0xE000 {
			return 1
		}
		return cmp.Compare(ra[i], rb[i])
	}
	return cmp.Compare(len(ra), len(rb))
}
