package flux

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
)

// built is a vertex on its way to a component.
type built struct {
	*vertex
	streams map[string]storm.StreamSpec
	// unknown tells that its streams could not be told.
	unknown bool
	// loose tells that the file cannot say which streams are direct, so that
	// the subscriptions do.
	loose  bool
	object cluster.Object
	argv   []string // of a shell component
	conf   map[string]any
	inputs []input
}

// build makes the topology of what was read.
func (l *loader) build(d *definition) *Topology {
	t := &Topology{Conf: storm.Config{}, Description: cluster.Topology{Components: map[string]cluster.Component{}}}
	t.Name = l.name(d)
	l.beans = map[string]*bean{}
	for _, b := range d.beans {
		l.beans[b.id] = b
	}
	c := conf.Defaults()
	for _, s := range d.conf {
		if v, ok := l.setting(c, s); ok {
			t.Conf[s.key] = v
		}
	}
	if len(d.spouts) == 0 {
		l.fail(Place{File: l.o.File}, "spouts", "is missing; a topology needs at least one spout")
	}
	all := map[string]*built{}
	var order []*built
	for _, v := range slices.Concat(d.spouts, d.bolts) {
		if first := all[v.id]; first != nil {
			l.fail(v.idAt, join(v.path, "id"), "is %s, which is the id of a spout in line %d", shown(v.id), first.idAt.Line)
			continue
		}
		b := &built{vertex: v, conf: map[string]any{}}
		l.vertex(b, t)
		l.vertexConf(c, b)
		all[v.id] = b
		order = append(order, b)
	}
	l.connect(d.streams, all)
	for _, b := range order {
		t.Vertices = append(t.Vertices, Vertex{ID: b.id, Kind: b.kind, Class: b.class, Command: b.argv, At: b.at})
		t.Description.Components[b.id] = l.component(b)
	}
	return t
}

// name is the topology's name.
func (l *loader) name(d *definition) string {
	switch {
	case l.o.Name != "":
		return l.o.Name
	case d.name == nil:
		l.fail(Place{File: l.o.File}, "name", "is missing; a topology needs a name")
		return ""
	}
	name := d.name.raw
	if d.name.kind >= list { // noted
		return ""
	}
	if name == "" || strings.ContainsAny(name, `/.:\`) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		l.fail(d.name.at, "name", `is %s; the name of a topology is not empty and has none of / . : \`, shown(name))
	}
	return name
}

// setting is a key's value, if it fits the key.
func (l *loader) setting(c *conf.Conf, s setting) (any, bool) {
	v, ok := l.value(s.value, s.path)
	if !ok {
		return nil, false
	}
	if _, err := c.Topology(map[string]any{s.key: v}); err != nil {
		_, text, _ := strings.Cut(err.Error(), ": ")
		at := s.value.at
		if s.value.kind == null {
			at = s.at
		}
		l.fail(at, strings.TrimSuffix(s.path, "."+s.key), "%s", text)
		return nil, false
	}
	return v, true
}

// vertexConf adds what the file sets for a component.
func (l *loader) vertexConf(c *conf.Conf, b *built) {
	for _, s := range b.settings {
		v, ok := l.setting(c, s)
		if !ok {
			continue
		}
		if own, err := c.Component(b.id, map[string]any{s.key: v}); err == nil && own.Layer(s.key) == "" {
			l.warn(s.at, s.path, "has no effect in a component; set it in the topology's config")
		}
		b.conf[s.key] = v
	}
	for name, key := range map[string]storm.Key[float64]{
		"onHeapMemoryLoad":  storm.ConfTopologyComponentResourcesOnheapMemoryMB,
		"offHeapMemoryLoad": storm.ConfTopologyComponentResourcesOffheapMemoryMB,
		"cpuLoad":           storm.ConfTopologyComponentCPUPcorePercent,
	} {
		n := b.numbers[name]
		if n == nil {
			continue
		}
		f, ok := n.value.(float64)
		if i, whole := n.value.(int64); whole {
			f, ok = float64(i), true
		}
		if !ok || !(f >= 0) || math.IsInf(f, 0) {
			l.fail(n.at, join(b.path, name), "is %s; it must be a number from 0 on", n.describe())
			continue
		}
		b.conf[string(key)] = f
	}
	if n := b.numbers["numTasks"]; n != nil {
		if v, ok := l.whole(n, join(b.path, "numTasks"), 1, math.MaxInt32); ok {
			b.conf[string(storm.ConfTopologyTasks)] = v
		}
	}
}

// component is the description of a vertex.
func (l *loader) component(b *built) cluster.Component {
	c := cluster.Component{Kind: b.kind, Object: b.object, Streams: b.streams, Parallelism: b.parallelism}
	if c.Streams == nil {
		c.Streams = map[string]storm.StreamSpec{}
	}
	for _, in := range b.inputs {
		c.Inputs = append(c.Inputs, in.Input)
	}
	slices.SortFunc(c.Inputs, cluster.Input.Compare)
	if len(b.conf) > 0 {
		text, err := encode(b.conf)
		if err != nil {
			l.fail(b.at, b.path, "its configuration cannot be sent: %s", err)
		}
		c.Conf = text
	}
	return c
}

// idsOf are the keys of a map, sorted.
func idsOf[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
