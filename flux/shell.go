package flux

import (
	"fmt"
	"maps"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
)

// ownShell is a component with a command: our short way.
func (l *loader) ownShell(b *built) {
	for _, given := range []struct {
		key string
		has bool
	}{{"constructorArgs", b.args != nil}, {"properties", b.properties != nil}, {"configMethods", b.methods != nil}} {
		if given.has {
			l.fail(b.at, join(b.path, given.key), "is for a className, not for a command; use outputs, env and config")
		}
	}
	command, ok := l.words(b.command, join(b.path, "command"))
	b.streams = map[string]storm.StreamSpec{}
	told := b.outputs == nil || l.ownOutputs(b)
	env := map[string]any{}
	if b.env != nil {
		env = l.environment(b.env, join(b.path, "env"))
	}
	b.unknown = !told
	class := layout.ShellBoltClass
	if b.kind == cluster.Spout {
		class = layout.ShellSpoutClass
	}
	if ok {
		b.shell(class, command, env)
	}
}

// shell makes a vertex a shell component: one of Storm's if that can have the
// command, else one of our own.
func (b *built) shell(class string, command []string, env map[string]any) {
	b.argv = command
	if len(env) == 0 && len(command) <= 2 {
		b.object.Shell = &cluster.Shell{Command: command[0]}
		if len(command) == 2 {
			b.object.Shell.Script = command[1]
		}
		return
	}
	b.object.Class = &cluster.Class{Name: class}
	for _, word := range command {
		b.object.Class.Args = append(b.object.Class.Args, word)
	}
	if len(env) > 0 {
		b.conf[layout.EnvKey] = env
	}
}

// words is a command line.
func (l *loader) words(n *node, path string) ([]string, bool) {
	if n.kind == text && n.raw != "" {
		l.fail(n.at, path, "is text; a command is a list of its words, such as [%s]", strings.Join(strings.Fields(n.raw), ", "))
		return nil, false
	}
	var out []string
	ok := n.kind == list
	l.each(n, path, "the command's words", func(item *node, path string) {
		word, fine := l.text(item, path)
		if strings.ContainsRune(word, 0) {
			l.fail(item.at, path, "holds a null byte, which no command line can")
			fine = false
		}
		ok = ok && fine
		out = append(out, word)
	})
	if ok && (len(out) == 0 || out[0] == "") {
		l.fail(n.at, path, "names no program")
		ok = false
	}
	return out, ok
}

// environment is a map of variables.
func (l *loader) environment(n *node, path string) map[string]any {
	out := map[string]any{}
	if n.kind != mapping {
		l.fail(n.at, path, "is %s; it must be a map of names to values", n.describe())
		return out
	}
	for _, p := range n.pairs {
		value := ""
		if p.value.kind != null {
			value, _ = l.text(p.value, join(path, p.key))
		}
		l.variable(out, p.at, join(path, p.key), p.key, value)
	}
	return out
}

// variable adds a variable that the system can take.
func (l *loader) variable(env map[string]any, at Place, path, name, value string) {
	if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
		l.fail(at, path, "is no name and value of an environment variable")
		return
	}
	env[name] = value
}

// ownOutputs are the streams of a component with a command: a list of fields,
// or a map of streams to fields or to {fields, direct}.
func (l *loader) ownOutputs(b *built) bool {
	n, path := b.outputs, join(b.path, "outputs")
	switch {
	case n.kind == list:
		return l.declare(b, storm.DefaultStream, n, path, false)
	case n.kind != mapping:
		l.fail(n.at, path, "is %s; it must be a list of fields, or a map of streams to fields", n.describe())
		return false
	case n.get("fields") != nil && n.get("direct") != nil && n.get("direct").kind == boolean:
		return l.ownStream(b, storm.DefaultStream, n, path)
	}
	all := true
	for _, p := range n.pairs {
		all = l.ownStream(b, p.key, p.value, join(path, p.key)) && all
	}
	return all
}

// ownStream is one of them.
func (l *loader) ownStream(b *built, id string, n *node, path string) bool {
	if n.kind == null || n.kind == list {
		return l.declare(b, id, n, path, false)
	}
	var fields *node
	direct := false
	if !l.fields(n, path, "a stream",
		field{"fields", func(v *node, _ string) { fields = v }},
		field{"direct", func(v *node, path string) { direct = l.truth(v, path) }},
	) {
		return false
	}
	if fields == nil {
		fields = &node{at: n.at}
	}
	return l.declare(b, id, fields, join(path, "fields"), direct)
}

// declare adds a stream.
func (l *loader) declare(b *built, id string, fields *node, path string, direct bool) bool {
	names, ok := []string{}, true
	if fields.kind != null {
		names, ok = l.texts(fields, path, "fields")
	}
	switch {
	case !ok:
		return false
	case id == "" || strings.HasPrefix(id, "__"):
		l.fail(fields.at, path, "stream %s: the id of a stream is not empty and does not begin with __", shown(id))
		return false
	}
	seen := map[string]bool{}
	for i, name := range names {
		if seen[name] {
			l.fail(fields.items[i].at, path+index(i), "is %s, which the stream has already", shown(name))
			ok = false
		}
		seen[name] = true
	}
	b.streams[id] = storm.StreamSpec{Fields: names, Direct: direct}
	return ok
}

// fluxShell is one of Flux's wrappers of shell components.
func (l *loader) fluxShell(b *built, class string) {
	b.streams, b.loose = map[string]storm.StreamSpec{}, true
	path := join(b.path, "constructorArgs")
	if len(b.args) == 0 || len(b.args) > 2 {
		at := b.at
		if len(b.args) > 0 {
			at = b.args[0].at
		}
		l.fail(at, path, `has %d arguments; it takes the command and the fields, as in [["python3", "split.py"], ["word"]]`, len(b.args))
		return
	}
	command, ok := l.words(l.followed(b.args[0]), path+"[0]")
	told := true
	if len(b.args) == 2 {
		told = l.declare(b, storm.DefaultStream, l.followed(b.args[1]), path+"[1]", false)
	}
	env := map[string]any{}
	for _, m := range b.methods {
		told = l.call(b, m, env) && told
	}
	for _, p := range b.properties {
		value := p.value
		if p.reference {
			value = &node{kind: mapping, at: value.at, pairs: []pair{{key: "ref", at: value.at, value: value}}}
		}
		name := "set" + strings.ToUpper(p.name[:1]) + p.name[1:]
		if name != "setEnv" && name != "setDefaultStream" {
			l.fail(p.place, join(p.path, "name"), "is %s; a shell component has the properties defaultStream and env", shown(p.name))
			continue
		}
		told = l.call(b, method{at: p.place, path: p.path, name: name, args: []*node{value}}, env) && told
	}
	b.unknown = !told
	if ok {
		b.shell(class, command, env)
	}
}

// followed is a node, or the list that it refers to.
func (l *loader) followed(n *node) *node {
	if n.kind != mapping || len(n.pairs) != 1 || n.pairs[0].key != "ref" {
		return n
	}
	b := l.beans[n.pairs[0].value.raw]
	switch {
	case b == nil:
		return n
	case b.value != nil:
		return b.value
	case b.class == "org.apache.storm.tuple.Fields" && len(b.args) == 1 && b.args[0].kind == list:
		return b.args[0]
	case b.class == "org.apache.storm.tuple.Fields":
		return &node{kind: list, at: b.at, items: b.args}
	default:
		return n
	}
}

// call does what a method of Flux's wrappers does. It reports whether the
// streams are known afterwards.
func (l *loader) call(b *built, m method, env map[string]any) bool {
	wants := map[string]int{"setDefaultStream": 1, "setNamedStream": 2, "addComponentConfig": 2, "setEnv": 1, "changeChildCWD": 1}
	n, known := wants[m.name]
	path := join(m.path, "args")
	switch {
	case !known:
		l.fail(m.at, join(m.path, "name"), "is %s, which a shell component does not have; %s", shown(m.name), meantOf(m.name, idsOf(wants)))
		return true
	case len(m.args) != n:
		l.fail(m.at, path, "has %d arguments; %s takes %d", len(m.args), m.name, n)
		return !strings.HasSuffix(m.name, "Stream")
	}
	switch m.name {
	case "setDefaultStream":
		return l.declare(b, storm.DefaultStream, l.followed(m.args[0]), path+"[0]", false)
	case "setNamedStream":
		id, ok := l.text(m.args[0], path+"[0]")
		return ok && l.declare(b, id, l.followed(m.args[1]), path+"[1]", false)
	case "addComponentConfig":
		key, ok := l.text(m.args[0], path+"[0]")
		v, fine := l.argument(m.args[1], path+"[1]")
		if ok && fine {
			b.conf[key] = v
		}
	case "setEnv":
		l.setEnv(m.args[0], path+"[0]", env)
	default:
		if v, ok := truth(m.args[0]); !ok || !v {
			l.warn(m.args[0].at, path+"[0]", "has no effect: shell components always run in the topology's resources")
		}
	}
	return true
}

// setEnv adds variables: a map, or a component that is one.
func (l *loader) setEnv(n *node, path string, env map[string]any) {
	if n.kind == mapping && (len(n.pairs) != 1 || n.pairs[0].key != "ref") {
		maps.Copy(env, l.environment(n, path))
		return
	}
	v, ok := l.argument(n, path)
	if !ok {
		return
	}
	m, ok := v.(map[string]any)
	if !ok {
		l.fail(n.at, path, "is %s; it must be a map of names to values", n.describe())
		return
	}
	for name, value := range m {
		l.variable(env, n.at, path, name, fmt.Sprint(value))
	}
}
