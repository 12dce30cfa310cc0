package flux

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// kind is what a node is.
type kind uint8

const (
	null kind = iota
	text
	boolean
	whole    // value is int64
	fraction // value is float64
	list
	mapping
)

// String names the kind in errors.
func (k kind) String() string {
	return [...]string{"empty", "text", "true or false", "a whole number", "a number", "a list", "a map"}[k]
}

// node is a value in a file. Nodes that an alias names are shared.
type node struct {
	kind  kind
	at    Place
	raw   string // of a scalar, as it is written, without quotes
	plain bool   // a scalar without quotes
	value any    // of boolean, whole and fraction
	items []*node
	pairs []pair
}

// pair is an entry of a map.
type pair struct {
	key    string
	at     Place // of the key
	value  *node
	merged bool // it came by <<
}

// get is the value of a key; nil if there is none or it is empty.
func (n *node) get(key string) *node {
	for _, p := range n.pairs {
		if p.key == key && p.value.kind != null {
			return p.value
		}
	}
	return nil
}

// maxDepth is how deep values may be nested.
const maxDepth = 100

// tree makes nodes of what the parser gives.
type tree struct {
	l       *loader
	s       *source
	anchors map[string]*node
}

// parse is the file's one document; nil if there is none, which has been noted
// then.
func (l *loader) parse(s *source) *node {
	if deep, at := tooDeep(s); deep {
		l.fail(at, "", "is nested more than %d deep", maxDepth)
		return nil
	}
	f, err := parser.ParseBytes([]byte(s.text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		l.syntax(s, err)
		return nil
	}
	t := &tree{l: l, s: s, anchors: map[string]*node{}}
	var root *node
	for _, doc := range f.Docs {
		body := doc.Body
		if _, directive := body.(*ast.DirectiveNode); body == nil || directive {
			continue
		}
		if root != nil {
			l.fail(t.at(body), "", "a second document begins; a topology is one document, so take the --- away or use includes")
			return nil
		}
		if root = t.node(body, "", 0); root == nil {
			return nil
		}
	}
	if root == nil {
		l.fail(Place{File: s.file}, "", "is empty; a topology needs at least name and spouts")
	}
	return root
}

// tooDeep finds brackets or list dashes that are nested too deep for a parser
// that calls itself.
func tooDeep(s *source) (bool, Place) {
	depth, number := 0, 0
	for one := range strings.Lines(s.text) {
		number++
		dashes := strings.Count(one, "- ") + strings.Count(one, "? ")
		depth = max(depth+strings.Count(one, "[")+strings.Count(one, "{")-strings.Count(one, "]")-strings.Count(one, "}"), 0)
		if dashes > 10*maxDepth || depth > 10*maxDepth {
			return true, s.place(number, 1)
		}
	}
	return false, Place{}
}

// syntax notes what the parser does not understand.
func (l *loader) syntax(s *source, err error) {
	syntax, ok := errors.AsType[*yaml.SyntaxError](err)
	if !ok || syntax.Token == nil || syntax.Token.Position == nil {
		l.fail(Place{File: s.file}, "", "is no YAML: %s", strings.Join(strings.Fields(err.Error()), " "))
		return
	}
	p := syntax.Token.Position
	if at, ok := tabbed(s, p.Line); ok {
		l.fail(at, "", "is indented by a tab; YAML wants blanks")
		return
	}
	l.fail(s.place(p.Line, p.Column), "", "is no YAML: %s", syntax.Message)
}

// tabbed finds a tab in the indentation of a line or one next to it.
func tabbed(s *source, number int) (Place, bool) {
	lines := strings.Split(s.text, "\n")
	for _, n := range []int{number, number + 1, number - 1} {
		if n < 1 || n > len(lines) {
			continue
		}
		one := lines[n-1]
		indent := one[:len(one)-len(strings.TrimLeft(one, " \t"))]
		if i := strings.IndexByte(indent, '\t'); i >= 0 && indent != one {
			return s.place(n, i+1), true
		}
	}
	return Place{}, false
}

func (t *tree) at(n ast.Node) Place {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	if v, ok := n.(*ast.MappingValueNode); ok {
		n = v.Key
	}
	return t.token(n.GetToken())
}

func (t *tree) token(tok *token.Token) Place {
	if tok == nil || tok.Position == nil {
		return Place{File: t.s.file}
	}
	return t.s.place(tok.Position.Line, tok.Position.Column)
}

// node is what n stands for; nil if it is wrong, which has been noted then.
// path is the key.
func (t *tree) node(n ast.Node, path string, depth int) *node {
	if depth > maxDepth {
		t.l.fail(t.at(n), path, "is nested more than %d deep", maxDepth)
		return nil
	}
	switch n := n.(type) {
	case nil:
		return &node{at: Place{File: t.s.file}}
	case *ast.MappingNode:
		return t.mapping(n, n.Values, path, depth)
	case *ast.MappingValueNode:
		return t.mapping(n, []*ast.MappingValueNode{n}, path, depth)
	case *ast.SequenceNode:
		out := &node{kind: list, at: t.at(n)}
		for i, v := range n.Values {
			item := t.node(v, fmt.Sprintf("%s[%d]", path, i), depth+1)
			if item == nil {
				return nil
			}
			out.items = append(out.items, item)
		}
		return out
	case *ast.AnchorNode:
		out := t.node(n.Value, path, depth+1)
		if out != nil {
			t.anchors[n.Name.GetToken().Value] = out
		}
		return out
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		out := t.anchors[name]
		if out == nil {
			t.l.fail(t.at(n), path, "*%s is used, but there is no &%s before it", name, name)
		}
		return out
	case *ast.TagNode:
		return t.tagged(n, path, depth)
	default:
		return t.scalar(n, path)
	}
}
