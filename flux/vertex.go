package flux

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
)

func index(i int) string { return fmt.Sprintf("[%d]", i) }

// object is what a file says of how something is made.
type object struct {
	at         Place
	path       string
	class      string
	classAt    Place
	args       []*node
	properties []property
	methods    []method
}

// property is a value by name.
type property struct {
	place     Place
	path      string
	name      string
	value     *node
	reference bool // value names a component
}

// method is a call of a configMethod.
type method struct {
	at   Place
	path string
	name string
	args []*node
}

// bean is an entry of components.
type bean struct {
	object
	id    string
	idAt  Place
	value *node // of our own kind
	busy  bool  // it is being resolved
}

// vertex is a spout or a bolt.
type vertex struct {
	object
	kind        cluster.ComponentKind
	id          string
	idAt        Place
	parallelism int
	settings    []setting
	numbers     map[string]*node // numTasks and loads
	command     *node
	outputs     *node
	env         *node
}

// objectFields are the keys of whatever is made by a class.
func (l *loader) objectFields(o *object) []field {
	factory := func(v *node, path string) {
		l.failJava(v.at, path, "is a method of Java that makes the object, and Java is not run yet")
	}
	return []field{
		{"className", func(v *node, path string) {
			o.class, _ = l.text(v, path)
			o.classAt = v.at
		}},
		{"constructorArgs", func(v *node, path string) {
			l.each(v, path, "arguments", func(item *node, _ string) { o.args = append(o.args, item) })
		}},
		{"properties", func(v *node, path string) { o.properties = l.readProperties(v, path) }},
		{"configMethods", func(v *node, path string) { o.methods = l.readMethods(v, path) }},
		{"factory", factory},
		{"factoryArgs", factory},
	}
}

func (l *loader) readProperties(n *node, path string) []property {
	var out []property
	l.each(n, path, "properties", func(item *node, path string) {
		p := property{place: item.at, path: path}
		ok := l.fields(item, path, "a property",
			field{"name", func(v *node, path string) { p.name, _ = l.text(v, path) }},
			field{"value", func(v *node, _ string) { p.value = v }},
			field{"ref", func(v *node, path string) {
				if p.value != nil {
					l.fail(v.at, path, "stands beside value; a property has only one of them")
				}
				p.value, p.reference = v, true
			}},
		)
		switch {
		case !ok:
		case p.name == "":
			l.fail(item.at, path, "has no name")
		default:
			if p.value == nil {
				p.value = &node{at: item.at}
			}
			out = append(out, p)
		}
	})
	return out
}

func (l *loader) readMethods(n *node, path string) []method {
	var out []method
	l.each(n, path, "methods", func(item *node, path string) {
		m := method{at: item.at, path: path}
		ok := l.fields(item, path, "a method",
			field{"name", func(v *node, path string) {
				m.at = v.at
				m.name, _ = l.text(v, path)
			}},
			field{"args", func(v *node, path string) {
				l.each(v, path, "arguments", func(item *node, _ string) { m.args = append(m.args, item) })
			}},
		)
		switch {
		case !ok:
		case m.name == "":
			l.fail(item.at, path, "has no name; which method is to be called?")
		default:
			out = append(out, m)
		}
	})
	return out
}

func (l *loader) readBeans(n *node, path string) []*bean {
	var out []*bean
	places := map[string]Place{}
	l.each(n, path, "components", func(item *node, path string) {
		b := &bean{object: object{at: item.at, path: path}, idAt: item.at}
		all := append(l.objectFields(&b.object),
			field{"id", func(v *node, path string) {
				b.id, _ = l.text(v, path)
				b.idAt = v.at
			}},
			field{"value", func(v *node, _ string) { b.value = v }},
		)
		if l.fields(item, path, "a component", all...) && l.fresh(b.id, b.idAt, path, places) {
			out = append(out, b)
		}
	})
	return out
}

// fresh refuses an id that is empty or taken.
func (l *loader) fresh(id string, at Place, path string, places map[string]Place) bool {
	path = join(path, "id")
	first, taken := places[id]
	switch {
	case id == "":
		if !slices.ContainsFunc(l.problems, func(p Problem) bool { return p.Place == at && p.Key == path }) {
			l.fail(at, path, "is missing; every component needs one")
		}
		return false
	case taken:
		l.fail(at, path, "is %s, which is the id of another one in line %d", shown(id), first.Line)
		return false
	case strings.HasPrefix(id, "__"):
		l.fail(at, path, "is %s; ids that begin with __ are the system's", shown(id))
		return false
	}
	places[id] = at
	return true
}

// vertices are spouts or bolts.
func (l *loader) vertices(n *node, path string, kind cluster.ComponentKind) []*vertex {
	what, of := "a bolt", "bolts"
	if kind == cluster.Spout {
		what, of = "a spout", "spouts"
	}
	var out []*vertex
	places := map[string]Place{}
	l.each(n, path, of, func(item *node, path string) {
		v := &vertex{object: object{at: item.at, path: path, classAt: item.at}, kind: kind, idAt: item.at, parallelism: 1, numbers: map[string]*node{}}
		if l.fields(item, path, what, l.vertexFields(v)...) && l.fresh(v.id, v.idAt, path, places) {
			out = append(out, v)
		}
	})
	return out
}

func (l *loader) vertexFields(v *vertex) []field {
	number := func(name string) field {
		return field{name, func(n *node, _ string) { v.numbers[name] = n }}
	}
	own := []field{
		{"id", func(n *node, path string) {
			v.id, _ = l.text(n, path)
			v.idAt = n.at
		}},
		{"parallelism", func(n *node, path string) {
			if p, ok := l.whole(n, path, 1, math.MaxInt32); ok {
				v.parallelism = int(p)
			}
		}},
		number("numTasks"), number("onHeapMemoryLoad"), number("offHeapMemoryLoad"), number("cpuLoad"),
		{"config", func(n *node, path string) { v.settings = l.settings(n, path) }},
		{"command", func(n *node, _ string) { v.command = n }},
		{"outputs", func(n *node, _ string) { v.outputs = n }},
		{"env", func(n *node, _ string) { v.env = n }},
	}
	return append(own, l.objectFields(&v.object)...)
}
