package flux

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// mapping is a map with what << merges into it. What stands in the map itself
// wins.
func (t *tree) mapping(n ast.Node, values []*ast.MappingValueNode, path string, depth int) *node {
	out := &node{kind: mapping, at: t.at(n)}
	index := map[string]int{}
	var merges []*node
	for _, v := range values {
		at := t.token(v.Key.GetToken())
		if v.Key.IsMergeKey() {
			m := t.node(v.Value, join(path, "<<"), depth+1)
			if m == nil {
				return nil
			}
			merges = append(merges, m)
			continue
		}
		key, ok := t.key(v.Key)
		if !ok {
			t.l.fail(at, path, "a key must be a plain name")
			return nil
		}
		value := t.node(v.Value, join(path, key), depth+1)
		if value == nil {
			return nil
		}
		if value.at.Line == 0 || value.kind == null {
			value = &node{kind: value.kind, at: at, raw: value.raw}
		}
		if i, twice := index[key]; twice {
			t.l.fail(at, join(path, key), "stands here a second time; the first is in line %d", out.pairs[i].at.Line)
			continue
		}
		index[key] = len(out.pairs)
		out.pairs = append(out.pairs, pair{key: key, at: at, value: value})
	}
	for _, m := range merges {
		t.merge(out, m, path, index)
	}
	return out
}

// merge adds a map, or each map of a list, to out.
func (t *tree) merge(out, m *node, path string, index map[string]int) {
	switch m.kind {
	case mapping:
		for _, p := range m.pairs {
			if _, has := index[p.key]; !has {
				index[p.key] = len(out.pairs)
				p.merged = true
				out.pairs = append(out.pairs, p)
			}
		}
	case list:
		for _, item := range m.items {
			if item.kind != mapping {
				t.l.fail(item.at, join(path, "<<"), "is %s; << takes a map or a list of maps", item.kind)
				return
			}
			t.merge(out, item, path, index)
		}
	default:
		t.l.fail(m.at, join(path, "<<"), "is %s; << takes a map or a list of maps", m.kind)
	}
}

// key is the text of a map's key.
func (t *tree) key(k ast.MapKeyNode) (string, bool) {
	var n ast.Node = k
	if m, ok := n.(*ast.MappingKeyNode); ok {
		n = m.Value
	}
	s := (&tree{l: &loader{seen: map[Problem]bool{}}, s: t.s}).scalar(n, "")
	if s == nil {
		return "", false
	}
	return s.raw, true
}

// join is the path of a key below path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// scalar is a single value; nil if it is none that is understood.
func (t *tree) scalar(n ast.Node, path string) *node {
	out := &node{at: t.at(n)}
	tok := n.GetToken()
	if tok != nil {
		out.raw = tok.Value
		out.plain = tok.Type != token.SingleQuoteType && tok.Type != token.DoubleQuoteType
	}
	switch n := n.(type) {
	case *ast.NullNode:
		out.raw = ""
	case *ast.StringNode:
		out.kind, out.raw = text, n.Value
	case *ast.LiteralNode:
		out.kind, out.raw, out.plain = text, n.Value.Value, false
	case *ast.BoolNode:
		out.kind, out.value = boolean, n.Value
	case *ast.IntegerNode:
		return t.number(out, n.Value)
	case *ast.FloatNode:
		out.kind, out.value = fraction, n.Value
	case *ast.InfinityNode:
		out.kind, out.value = fraction, n.Value
	case *ast.NanNode:
		out.kind, out.value = fraction, math.NaN()
	default:
		t.l.fail(out.at, path, "is YAML that a topology has no use for")
		return nil
	}
	return out
}

// number is a whole number, if 64 bits hold it.
func (t *tree) number(out *node, v any) *node {
	out.kind = whole
	switch v := v.(type) {
	case int64:
		out.value = v
	case uint64:
		out.value = int64(v) //nolint:gosec // looked at below
		if v > math.MaxInt64 {
			out.kind, out.value = fraction, float64(v)
		}
	default:
		n, err := strconv.ParseInt(strings.ReplaceAll(out.raw, "_", ""), 0, 64)
		if err != nil {
			out.kind = text
			return out
		}
		out.value = n
	}
	return out
}

// tagged is a value with a !tag. Those of YAML's own types are understood.
func (t *tree) tagged(n *ast.TagNode, path string, depth int) *node {
	out := t.node(n.Value, path, depth+1)
	if out == nil {
		return nil
	}
	tag := n.Start.Value
	fits := func(kinds ...kind) bool { return slices.Contains(kinds, out.kind) }
	switch {
	case tag == "!!str" && out.kind < list:
		copied := *out
		copied.kind, copied.plain, copied.value = text, false, nil
		return &copied
	case tag == "!!float" && out.kind == whole:
		copied := *out
		n, _ := out.value.(int64)
		copied.kind, copied.value = fraction, float64(n)
		return &copied
	case tag == "!!int" && fits(whole), tag == "!!float" && fits(fraction), tag == "!!bool" && fits(boolean),
		tag == "!!null" && fits(null), tag == "!!map" && fits(mapping), tag == "!!seq" && fits(list):
		return out
	case strings.HasPrefix(tag, "!!") && strings.Contains("!!str !!int !!float !!bool !!null !!map !!seq", tag):
		t.l.fail(t.token(n.Start), path, "has the tag %s, but is %s", tag, out.kind)
	default:
		t.l.fail(t.token(n.Start), path, "the tag %s is not understood; take it away", tag)
	}
	return nil
}

// truth is whether a plain word is a boolean of YAML 1.1, which Flux reads.
func truth(n *node) (value, ok bool) {
	if n.kind == boolean {
		b, _ := n.value.(bool)
		return b, true
	}
	if n.kind != text || !n.plain {
		return false, false
	}
	switch n.raw {
	case "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	default:
		return false, false
	}
}
