package storm

import (
	"fmt"
	"slices"
	"strings"
)

// InvalidTopologyError tells everything that is wrong with a topology.
type InvalidTopologyError struct{ Problems []error }

// Error lists the problems, one a line if there are several.
func (e *InvalidTopologyError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Error()
	}
	if len(lines) == 1 {
		return "invalid topology: " + lines[0]
	}
	return "invalid topology:\n  " + strings.Join(lines, "\n  ")
}

// Unwrap gives the single problems to errors.Is and errors.As.
func (e *InvalidTopologyError) Unwrap() []error { return e.Problems }

// problems checks the graph as Storm does when a topology is submitted. What
// follows from the mistakes of the components in unknown, whose streams cannot
// be told, is left out.
func (t *Topology) problems(unknown map[string]bool) []error {
	var errs []error
	spouts := 0
	for _, id := range t.ComponentIDs() {
		c := t.Components[id]
		if c.IsSpout() {
			spouts++
		}
		for _, err := range append(taskProblems(c), t.inputProblems(c, unknown)...) {
			errs = append(errs, fmt.Errorf("component %q: %w", id, err))
		}
	}
	if spouts == 0 {
		errs = append(errs, fmt.Errorf("there is no spout among %d components; a topology needs at least one source of tuples", len(t.Components)))
	}
	return errs
}

func taskProblems(c *Component) []error {
	v := c.Conf[string(ConfTopologyTasks)]
	if v == nil {
		return nil
	}
	n, err := ConfTopologyTasks.Parse(v)
	if err != nil {
		return []error{err}
	}
	if n < 1 {
		return []error{fmt.Errorf("%s is %d; it must be at least 1", ConfTopologyTasks, n)}
	}
	return nil
}

func (t *Topology) inputProblems(c *Component, unknown map[string]bool) []error {
	var errs []error
	type source struct{ component, stream string }
	seen := map[source]bool{}
	for _, in := range c.Inputs {
		src := source{in.Component, in.Stream}
		if seen[src] {
			errs = append(errs, fmt.Errorf("subscribes twice to stream %q of component %q", in.Stream, in.Component))
		}
		seen[src] = true
		if unknown[in.Component] {
			continue
		}
		if err := t.inputProblem(in); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func (t *Topology) inputProblem(in Input) error {
	from := t.Components[in.Component]
	if from == nil {
		return fmt.Errorf("subscribes to component %q, which does not exist", in.Component)
	}
	s, ok := from.Streams[in.Stream]
	if !ok {
		return fmt.Errorf("subscribes to stream %q of component %q, which declares %s", in.Stream, in.Component, quoted(streamIDs(from)))
	}
	for _, f := range in.Grouping.Fields {
		if !slices.Contains(s.Fields, f) {
			return fmt.Errorf("groups stream %q of component %q by field %q, but the stream declares %s", in.Stream, in.Component, f, quoted(s.Fields))
		}
	}
	switch g := in.Grouping; {
	case g.Kind == 0 || g.Kind > GroupCustom:
		return fmt.Errorf("subscribes to stream %q of component %q by an unknown grouping %d", in.Stream, in.Component, g.Kind)
	case g.Kind == GroupCustom && g.Custom == nil:
		return fmt.Errorf("subscribes to stream %q of component %q by a custom grouping without a chooser", in.Stream, in.Component)
	case s.Direct != (g.Kind == GroupDirect):
		return fmt.Errorf("subscribes to stream %q of component %q by %s grouping, but the stream is declared with direct = %t", in.Stream, in.Component, g.Kind, s.Direct)
	}
	return nil
}

func streamIDs(c *Component) []string {
	ids := make([]string, 0, len(c.Streams))
	for id := range c.Streams {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}

// cycles warns of every component that can reach itself; Storm allows it, but
// a full cycle of bounded queues can block.
func (t *Topology) cycles() []string {
	var warnings []string
	next := map[string][]string{}
	for id, c := range t.Components {
		for _, in := range c.Inputs {
			next[in.Component] = append(next[in.Component], id)
		}
	}
	for _, id := range t.ComponentIDs() {
		if reaches(next, id) {
			warnings = append(warnings, fmt.Sprintf("component %q receives what it emits (a cycle): bounded queues around a cycle can block each other; limit it with topology.max.spout.pending", id))
		}
	}
	return warnings
}

func reaches(next map[string][]string, id string) bool {
	seen := map[string]bool{}
	stack := slices.Clone(next[id])
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at == id {
			return true
		}
		if !seen[at] {
			seen[at] = true
			stack = append(stack, next[at]...)
		}
	}
	return false
}
