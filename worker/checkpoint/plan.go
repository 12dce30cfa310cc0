package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

// Component is what checkpoints have to know of a component.
type Component struct {
	ID    string
	Tasks []int32
	// Inputs are the components whose streams it takes; none makes it a spout.
	Inputs   []string
	Stateful bool
}

// Plan says who takes part in the checkpoints of a topology, and how.
type Plan struct {
	// Sources are the tasks of spouts: they get the coordinator's markers.
	Sources []int32
	// Stateful are the tasks whose answers the coordinator waits for.
	Stateful []int32
	// Rewinds tells whether all spouts keep state, so that a rollback takes them
	// back and effects are exactly once.
	Rewinds bool
	inputs  map[string][]int32
	targets map[string][]int32
}

// NewPlan makes the plan for the components of a topology, in any order. In a
// cycle each task would wait for the marker of the next, so that is an error,
// which names it.
func NewPlan(components []Component) (Plan, error) {
	byID := make(map[string]Component, len(components))
	for _, c := range components {
		byID[c.ID] = c
	}
	p := Plan{Rewinds: true, inputs: map[string][]int32{}, targets: map[string][]int32{}}
	for _, c := range components {
		if len(c.Inputs) == 0 {
			p.Sources = append(p.Sources, c.Tasks...)
			p.Rewinds = p.Rewinds && c.Stateful
		}
		if c.Stateful {
			p.Stateful = append(p.Stateful, c.Tasks...)
		}
		from := slices.Compact(slices.Sorted(slices.Values(c.Inputs)))
		for _, id := range from {
			in, ok := byID[id]
			if !ok {
				return Plan{}, fmt.Errorf("component %q takes the streams of %q, which there is not", c.ID, id)
			}
			p.inputs[c.ID] = append(p.inputs[c.ID], in.Tasks...)
			p.targets[id] = append(p.targets[id], c.Tasks...)
		}
	}
	slices.Sort(p.Sources)
	slices.Sort(p.Stateful)
	for _, m := range []map[string][]int32{p.inputs, p.targets} {
		for _, tasks := range m {
			slices.Sort(tasks)
		}
	}
	if cycle := findCycle(components, byID); cycle != nil {
		return Plan{}, fmt.Errorf("checkpoints need a topology without cycles, but components feed each other: %s", strings.Join(cycle, " <- "))
	}
	return p, nil
}

// InputsOf are the tasks from which a bolt's tasks wait for markers.
func (p Plan) InputsOf(component string) []int32 { return p.inputs[component] }

// TargetsOf are the tasks to which a component's tasks forward markers.
func (p Plan) TargetsOf(component string) []int32 { return p.targets[component] }

// findCycle is a way along inputs that ends where it begins, or nil.
func findCycle(components []Component, byID map[string]Component) []string {
	done := map[string]bool{}
	var way []string
	var walk func(id string) []string
	walk = func(id string) []string {
		if i := slices.Index(way, id); i >= 0 {
			return append(way[i:], id)
		}
		if done[id] {
			return nil
		}
		way = append(way, id)
		for _, in := range byID[id].Inputs {
			if cycle := walk(in); cycle != nil {
				return cycle
			}
		}
		way = way[:len(way)-1]
		done[id] = true
		return nil
	}
	for _, c := range components {
		if cycle := walk(c.ID); cycle != nil {
			return cycle
		}
	}
	return nil
}
