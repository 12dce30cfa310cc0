// Package conf knows Storm's configuration: which keys there are, what their
// values may be, what holds where nothing is set, and how the layers lie on
// top of each other. From the bottom up:
//
//	defaults    the tables in table_topology.go and table_cluster.go
//	storm.yaml  the cluster's file, see Load
//	-c          key=value of a command line
//	topology    what the author set, see Conf.Topology
//	component   what one spout or bolt sets, see Conf.Component
//
// Start at Load and the getters of Conf. Keys of topologies are constants of
// package storm, keys of the cluster are those in keys.go; both have types, so
// that asking a boolean for its seconds does not compile. Keys that nobody
// knows are kept as they are: they belong to users.
package conf

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stormring/stormring/internal/assert"
	"github.com/stormring/stormring/storm"
)

// Conf is a stack of layers, merged and checked. It never changes: adding a
// layer makes a new one, so a Conf may be shared by goroutines.
type Conf struct {
	values map[string]any    // those of known keys have the key's type, or are nil
	layers map[string]string // key to the layer that set it; none for defaults
}

// Defaults is what holds where nothing is configured.
func Defaults() *Conf {
	c := &Conf{values: make(map[string]any, len(table)), layers: map[string]string{}}
	for name, s := range table {
		c.values[name] = s.def
	}
	return c
}

// With is c with a further layer on top. layer names it in error messages. A
// null unsets a key that has no default. The error is an *InvalidError that
// lists everything wrong with values; the Conf is nil then.
func (c *Conf) With(layer string, values map[string]any) (*Conf, error) {
	checked, err := check(layer, values)
	if err != nil {
		return nil, err
	}
	next := &Conf{values: maps.Clone(c.values), layers: maps.Clone(c.layers)}
	maps.Copy(next.values, checked)
	for key := range checked {
		next.layers[key] = layer
	}
	return next, nil
}

// Topology is c with a topology's configuration on top.
func (c *Conf) Topology(values map[string]any) (*Conf, error) {
	return c.With("the topology's configuration", values)
}

// Component is the configuration of the component called id, which sets
// values. As in Storm, a component may only set what its key allows it to, and
// keys of its own; the rest of values is left out.
func (c *Conf) Component(id string, values map[string]any) (*Conf, error) {
	allowed := make(map[string]any, len(values))
	for key, v := range values {
		if s, known := table[key]; !known || s.component {
			allowed[key] = v
		}
	}
	return c.With(fmt.Sprintf("the configuration of component %q", id), allowed)
}

// InvalidError says everything that is wrong with one layer.
type InvalidError struct {
	Layer    string
	Problems []string // sorted by key
}

// Error names the layer, then each key with the wanted and the given value.
func (e *InvalidError) Error() string {
	return e.Layer + ": " + strings.Join(e.Problems, "; ")
}

// check is values with those of known keys brought to their type.
func check(layer string, values map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(values))
	var problems []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		v := plain(values[key])
		if s, known := table[key]; known && (v != nil || !s.nullable()) {
			var err error
			if v, err = s.parse(v); err != nil {
				problems = append(problems, err.Error())
				continue
			}
		}
		out[key] = v
	}
	if problems != nil {
		return nil, &InvalidError{Layer: layer, Problems: problems}
	}
	return out, nil
}

// get is the value of a known key, and whether it is not null.
func get[T storm.Setting](c *Conf, k storm.Key[T]) (T, bool) {
	_, known := table[string(k)]
	assert.That(known, "configuration key %q is not in the tables of internal/conf", string(k))
	v := c.values[string(k)]
	if v == nil {
		var zero T
		return zero, false
	}
	t, ok := v.(T)
	assert.That(ok, "configuration key %q is read as %s, but the tables of internal/conf say otherwise", string(k), k.Wants())
	return t, true
}

// Int is the whole number at k; 0 if it is null, see Has.
func (c *Conf) Int(k storm.Key[int]) int {
	n, _ := get(c, k)
	return n
}

// Float is the number at k; 0 if it is null, see Has.
func (c *Conf) Float(k storm.Key[float64]) float64 {
	f, _ := get(c, k)
	return f
}

// Bool is the switch at k; false if it is null.
func (c *Conf) Bool(k storm.Key[bool]) bool {
	b, _ := get(c, k)
	return b
}

// String is the text at k; empty if it is null.
func (c *Conf) String(k storm.Key[string]) string {
	s, _ := get(c, k)
	return s
}

// Strings is the list at k, which must not be changed; nil if it is null.
func (c *Conf) Strings(k storm.Key[[]string]) []string {
	list, _ := get(c, k)
	return list
}

// List is the list at k, which must not be changed; nil if it is null.
func (c *Conf) List(k storm.Key[[]any]) []any {
	list, _ := get(c, k)
	return list
}

// Ints is the list of whole numbers at k; nil if it is null.
func (c *Conf) Ints(k storm.Key[[]any]) []int {
	list, _ := get(c, k)
	ints := make([]int, len(list))
	for i, e := range list {
		n, err := storm.Key[int](k).Parse(e)
		assert.That(err == nil, "configuration key %q is read as whole numbers, but the tables of internal/conf say otherwise", string(k))
		ints[i] = n
	}
	return ints
}

// Map is the map at k, which must not be changed; nil if it is null.
func (c *Conf) Map(k storm.Key[map[string]any]) map[string]any {
	m, _ := get(c, k)
	return m
}

// Duration is the time at k, in the unit that the key has; 0 if it is null.
func (c *Conf) Duration(k storm.Key[int]) time.Duration {
	n, ok := get(c, k)
	unit := table[string(k)].unit
	assert.That(unit > 0, "configuration key %q is read as a duration, but has no unit", string(k))
	if !ok {
		return 0
	}
	return time.Duration(n) * unit
}

// Has reports whether key, known or not, has a value other than null.
func (c *Conf) Has(key string) bool { return c.values[key] != nil }

// Value is the value at key, known or not; nil if there is none. It must not
// be changed.
func (c *Conf) Value(key string) any { return c.values[key] }

// Layer names the layer that set key; empty if the default holds or nobody
// knows the key.
func (c *Conf) Layer(key string) string { return c.layers[key] }

// All is a copy of all values by key, as components get them.
func (c *Conf) All() map[string]any { return maps.Clone(c.values) }
