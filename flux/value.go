package flux

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stormring/stormring/storm"
)

// maxValues bounds how many values a value is made of: aliases let few lines
// stand for very many.
const maxValues = 100_000

// value is a node as a value of a configuration or an argument: nil, bool,
// int64, float64, string, []any or map[string]any. ok is false if it cannot be
// one, which has been noted then.
func (l *loader) value(n *node, path string) (v any, ok bool) {
	left := maxValues
	return l.valueOf(n, path, &left)
}

func (l *loader) valueOf(n *node, path string, left *int) (any, bool) {
	if *left--; *left < 0 {
		if *left == -1 {
			l.fail(n.at, path, "is made of more than %d values; aliases may have multiplied them", maxValues)
		}
		return nil, false
	}
	switch n.kind {
	case null:
		return nil, true
	case text, boolean:
		if b, ok := truth(n); ok {
			return b, true
		}
		return n.raw, true
	case fraction:
		f, _ := n.value.(float64)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			l.fail(n.at, path, "is %s, which JSON cannot carry", n.raw)
			return nil, false
		}
		return f, true
	case whole:
		return n.value, true
	case list:
		out := make([]any, 0, len(n.items))
		for i, item := range n.items {
			v, ok := l.valueOf(item, path+index(i), left)
			if !ok {
				return nil, false
			}
			out = append(out, v)
		}
		return out, true
	default:
		out := make(map[string]any, len(n.pairs))
		for _, p := range n.pairs {
			v, ok := l.valueOf(p.value, join(path, p.key), left)
			if !ok {
				return nil, false
			}
			out[p.key] = v
		}
		return out, true
	}
}

// argument is a value that may be a reference to a component: {ref: id} or
// {reflist: [id, …]}.
func (l *loader) argument(n *node, path string) (any, bool) {
	if n.kind != mapping || len(n.pairs) != 1 {
		return l.value(n, path)
	}
	switch p := n.pairs[0]; p.key {
	case "ref":
		return l.reference(p.value, join(path, "ref"))
	case "reflist":
		if p.value.kind != list {
			l.fail(p.value.at, join(path, "reflist"), "is %s; it must be a list of ids", p.value.describe())
			return nil, false
		}
		out, all := []any{}, true
		for i, item := range p.value.items {
			v, ok := l.reference(item, join(path, "reflist")+index(i))
			out, all = append(out, v), all && ok
		}
		return out, all
	default:
		return l.value(n, path)
	}
}

// arguments are the values of a list of arguments.
func (l *loader) arguments(nodes []*node, path string) ([]any, bool) {
	out, all := make([]any, 0, len(nodes)), true
	for i, n := range nodes {
		v, ok := l.argument(n, path+index(i))
		out, all = append(out, v), all && ok
	}
	return out, all
}

// reference is the value of a component.
func (l *loader) reference(n *node, path string) (any, bool) {
	id, ok := l.text(n, path)
	if !ok {
		return nil, false
	}
	b := l.beans[id]
	if b == nil {
		l.fail(n.at, path, "there is no component %s; %s", shown(id), meantOf(id, idsOf(l.beans)))
		return nil, false
	}
	if b.busy {
		l.fail(n.at, path, "component %s refers to itself", shown(id))
		return nil, false
	}
	b.busy = true
	defer func() { b.busy = false }()
	return l.beanValue(b)
}

// beanValue is the value that a component stands for: those of our own have
// one, and of Java's classes those that only hold data.
func (l *loader) beanValue(b *bean) (any, bool) {
	if b.value != nil {
		if b.class != "" {
			l.fail(b.classAt, join(b.path, "className"), "stands beside value; a component has only one of them")
			return nil, false
		}
		return l.argument(b.value, join(b.path, "value"))
	}
	args, ok := l.arguments(b.args, join(b.path, "constructorArgs"))
	if !ok {
		return nil, false
	}
	short := b.class[strings.LastIndexByte(b.class, '.')+1:]
	switch {
	case b.class == "":
		l.fail(b.at, b.path, "has neither className nor value")
		return nil, false
	case b.class == "org.apache.storm.tuple.Fields":
		return flat(args), true
	case strings.HasPrefix(b.class, "java.lang.") && len(args) == 1 && strings.Contains(" String Integer Long Double Boolean ", " "+short+" "):
		return args[0], true
	case strings.HasPrefix(b.class, "java.util.") && len(args) == 0:
		if v, ok := l.collection(b, short); ok {
			return v, true
		}
	}
	l.failJava(b.classAt, join(b.path, "className"), "%s is a class of Java, which is not run yet; give plain values as arguments, or a component with value", b.class)
	return nil, false
}

// collection is a list or a map of Java, filled by configMethods.
func (l *loader) collection(b *bean, class string) (any, bool) {
	elements, entries := []any{}, map[string]any{}
	for _, m := range b.methods {
		args, ok := l.arguments(m.args, join(m.path, "args"))
		switch {
		case !ok:
			return nil, false
		case m.name == "add" && len(args) == 1:
			elements = append(elements, args[0])
		case (m.name == "put" || m.name == "setProperty") && len(args) == 2:
			entries[fmt.Sprint(args[0])] = args[1]
		default:
			return nil, false
		}
	}
	switch class {
	case "ArrayList", "LinkedList":
		return elements, len(entries) == 0
	case "HashMap", "LinkedHashMap", "TreeMap", "Properties":
		return entries, len(elements) == 0
	default:
		return nil, false
	}
}

// flat is a list of one list as that.
func flat(args []any) []any {
	if len(args) == 1 {
		if inner, ok := args[0].([]any); ok {
			return inner
		}
	}
	return args
}

// encode is a value as JSON. Numbers with a fraction keep one, so that 1.0
// does not come back as 1.
func encode(v any) (string, error) {
	text, err := json.Marshal(kept(v))
	if err != nil {
		return "", err
	}
	return string(text), nil
}

// kept is v with fractions as JSON numbers that stay fractions.
func kept(v any) any {
	switch v := v.(type) {
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return json.Number(text)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = kept(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = kept(e)
		}
		return out
	case storm.Config:
		return kept(map[string]any(v))
	default:
		return v
	}
}
