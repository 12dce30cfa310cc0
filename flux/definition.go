package flux

import (
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
)

// definition is a file as it was read, with what it includes.
type definition struct {
	at       Place
	name     *node
	conf     []setting
	includes []include
	beans    []*bean
	spouts   []*vertex
	bolts    []*vertex
	streams  []*stream
}

// setting is a key of a configuration with its value.
type setting struct {
	key   string
	at    Place
	path  string
	value *node
}

type include struct {
	at                 Place
	path               string
	file               string
	resource, override bool
}

// field is a key that a map may have, and what reads its value.
type field struct {
	name string
	read func(v *node, path string)
}

// fields reads a map. Keys that no field has are mistakes; those without a
// value are as if they were not there.
func (l *loader) fields(n *node, path, what string, all ...field) bool {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.name
	}
	if n.kind != mapping {
		l.fail(n.at, path, "is %s; %s is a map with %s", n.describe(), what, strings.Join(names, ", "))
		return false
	}
	for _, p := range n.pairs {
		i := slices.Index(names, p.key)
		switch {
		case i >= 0 && p.value.kind != null:
			all[i].read(p.value, join(path, p.key))
		case i < 0 && path == "" && strings.HasPrefix(p.key, "x-"):
			// a place for anchors
		case i < 0:
			l.fail(p.at, join(path, p.key), "is no key of %s; %s", what, meantOf(p.key, names))
		}
	}
	return true
}

// meantOf is the key that was probably meant, or all that there are.
func meantOf(key string, names []string) string {
	if near := nearest(key, names); near != "" {
		return "did you mean " + near + "?"
	}
	if len(names) == 0 {
		return "there are none"
	}
	return "there are " + strings.Join(names, ", ")
}

// describe is what a node is, for errors.
func (n *node) describe() string {
	switch n.kind {
	case list, mapping, null:
		return n.kind.String()
	case text:
		return shown(n.raw)
	default:
		return n.raw
	}
}

// define reads a file's keys.
func (l *loader) define(root *node) *definition {
	d := &definition{at: root.at}
	ok := l.fields(root, "", "a topology",
		field{"name", func(v *node, path string) {
			l.text(v, path)
			d.name = v
		}},
		field{"config", func(v *node, path string) { d.conf = l.settings(v, path) }},
		field{"components", func(v *node, path string) { d.beans = l.readBeans(v, path) }},
		field{"includes", func(v *node, path string) { d.includes = l.readIncludes(v, path) }},
		field{"spouts", func(v *node, path string) { d.spouts = l.vertices(v, path, cluster.Spout) }},
		field{"bolts", func(v *node, path string) { d.bolts = l.vertices(v, path, cluster.Bolt) }},
		field{"streams", func(v *node, path string) { d.streams = l.readStreams(v, path) }},
		field{"topologySource", func(v *node, path string) {
			l.failJava(v.at, path, "is a class of Java that makes the topology, and Java is not run yet; describe it by spouts, bolts and streams")
		}},
		field{"workerHooks", func(v *node, path string) {
			if v.kind != list || len(v.items) > 0 {
				l.failJava(v.at, path, "are classes of Java, which is not run yet; take them away, or write the topology in Go")
			}
		}},
	)
	if !ok {
		return nil
	}
	return d
}

// text is the text of a scalar, whatever it looks like.
func (l *loader) text(n *node, path string) (string, bool) {
	if n.kind == null || n.kind >= list {
		l.fail(n.at, path, "is %s; it must be text", n.describe())
		return "", false
	}
	return n.raw, true
}

// whole is a whole number from least on.
func (l *loader) whole(n *node, path string, least, most int64) (int64, bool) {
	v, ok := n.value.(int64)
	if n.kind != whole || !ok || v < least || v > most {
		l.fail(n.at, path, "is %s; it must be a whole number from %d to %d", n.describe(), least, most)
		return 0, false
	}
	return v, true
}

// truth is true or false.
func (l *loader) truth(n *node, path string) bool {
	v, ok := truth(n)
	if !ok {
		l.fail(n.at, path, "is %s; it must be true or false", n.describe())
	}
	return v
}

// each reads the elements of a list.
func (l *loader) each(n *node, path, of string, read func(item *node, path string)) {
	if n.kind != list {
		l.fail(n.at, path, "is %s; it must be a list of %s", n.describe(), of)
		return
	}
	for i, item := range n.items {
		read(item, path+index(i))
	}
}

// texts is a list of texts. None may be empty.
func (l *loader) texts(n *node, path, of string) ([]string, bool) {
	out, ok := []string{}, n.kind == list
	l.each(n, path, of, func(item *node, path string) {
		t, fine := l.text(item, path)
		if fine && t == "" {
			l.fail(item.at, path, "is empty")
			fine = false
		}
		ok = ok && fine
		out = append(out, t)
	})
	return out, ok
}

// settings is a configuration.
func (l *loader) settings(n *node, path string) []setting {
	if n.kind != mapping {
		l.fail(n.at, path, "is %s; it must be a map of configuration keys to values", n.describe())
		return nil
	}
	out := make([]setting, 0, len(n.pairs))
	for _, p := range n.pairs {
		out = append(out, setting{key: p.key, at: p.at, path: join(path, p.key), value: p.value})
	}
	return out
}

func (l *loader) readIncludes(n *node, path string) []include {
	var out []include
	l.each(n, path, "includes", func(item *node, path string) {
		in := include{at: item.at, path: path}
		if !l.fields(item, path, "an include",
			field{"file", func(v *node, path string) {
				in.at, in.path = v.at, path
				in.file, _ = l.text(v, path)
			}},
			field{"resource", func(v *node, path string) { in.resource = l.truth(v, path) }},
			field{"override", func(v *node, path string) { in.override = l.truth(v, path) }},
		) {
			return
		}
		if in.file == "" {
			l.fail(in.at, path, "has no file; which file is to be included?")
			return
		}
		out = append(out, in)
	})
	return out
}
