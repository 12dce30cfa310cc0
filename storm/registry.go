package storm

import (
	"fmt"
	"maps"
	"slices"
)

// Registry knows components by name, so that a topology can be described
// outside Go code. Fill it before use; it is not safe to register while
// topologies are being built.
type Registry struct {
	spouts map[string]func(args []Value) (Spout, error)
	bolts  map[string]func(args []Value) (Bolt, error)
}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry {
	return &Registry{spouts: map[string]func([]Value) (Spout, error){}, bolts: map[string]func([]Value) (Bolt, error){}}
}

// Spout registers a spout under name. newSpout gets the arguments of the
// topology's description; its error refuses the topology.
func (r *Registry) Spout(name string, newSpout func(args []Value) (Spout, error)) {
	r.mustBeNew(name)
	r.spouts[name] = newSpout
}

// Bolt registers a bolt under name.
func (r *Registry) Bolt(name string, newBolt func(args []Value) (Bolt, error)) {
	r.mustBeNew(name)
	r.bolts[name] = newBolt
}

// BasicBolt registers a basic bolt under name.
func (r *Registry) BasicBolt(name string, newBolt func(args []Value) (BasicBolt, error)) {
	r.Bolt(name, func(args []Value) (Bolt, error) {
		b, err := newBolt(args)
		if err != nil {
			return nil, err
		}
		return &basicRunner{BasicBolt: b}, nil
	})
}

// Names are all registered names, sorted.
func (r *Registry) Names() []string {
	names := slices.Collect(maps.Keys(r.spouts))
	names = slices.AppendSeq(names, maps.Keys(r.bolts))
	slices.Sort(names)
	return names
}

func (r *Registry) mustBeNew(name string) {
	if r.spouts[name] != nil || r.bolts[name] != nil {
		panic(fmt.Sprintf("storm: component name %q is registered twice", name))
	}
}

// FindSpout is what makes the spout registered under name with args; it fails
// when called if there is none.
func (r *Registry) FindSpout(name string, args []Value) func() (Spout, error) {
	if r == nil || r.spouts[name] == nil {
		return func() (Spout, error) { return nil, r.unknown("spout", name) }
	}
	newSpout := r.spouts[name]
	return func() (Spout, error) { return newSpout(args) }
}

// FindBolt is FindSpout for bolts and basic bolts.
func (r *Registry) FindBolt(name string, args []Value) func() (Bolt, error) {
	if r == nil || r.bolts[name] == nil {
		return func() (Bolt, error) { return nil, r.unknown("bolt", name) }
	}
	newBolt := r.bolts[name]
	return func() (Bolt, error) { return newBolt(args) }
}

func (r *Registry) unknown(kind, name string) error {
	if r == nil {
		return fmt.Errorf("%s %q is wanted by name, but the builder has no registry; call Use first", kind, name)
	}
	return fmt.Errorf("no %s is registered under the name %q; registered: %s", kind, name, quoted(r.Names()))
}
