package flux

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
)

// builtin is a class that is built in.
type builtin struct {
	class   string
	kind    cluster.ComponentKind
	outputs []string // of the default stream; nil is no stream
	shell   bool
}

func builtins() []builtin {
	return []builtin{
		{class: layout.ShellSpoutClass, kind: cluster.Spout, shell: true},
		{class: layout.ShellBoltClass, kind: cluster.Bolt, shell: true},
		{class: layout.LogInfoBoltClass, kind: cluster.Bolt},
		{class: layout.TestWordSpoutClass, kind: cluster.Spout, outputs: []string{"word"}},
		{class: layout.TestWordCounterClass, kind: cluster.Bolt, outputs: []string{"word", "count"}},
	}
}

// kindOf names a kind of component.
func kindOf(k cluster.ComponentKind) string {
	if k == cluster.Spout {
		return "spout"
	}
	return "bolt"
}

// registry are the names of the program's components.
func (l *loader) registry() []string {
	if l.o.Components == nil {
		return nil
	}
	return l.o.Components.Names()
}

// vertex finds out what a vertex is: a command of our own, a component of the
// program, or a class that is built in.
func (l *loader) vertex(b *built, t *Topology) {
	b.unknown = true // until it is told
	classKey := join(b.path, "className")
	class := strings.Replace(b.class, "backtype.storm.", "org.apache.storm.", 1)
	i := slices.IndexFunc(builtins(), func(c builtin) bool { return c.class == class })
	switch {
	case b.command != nil && b.class != "":
		l.fail(b.classAt, classKey, "stands beside command; a component has only one of them")
	case b.command != nil:
		l.ownShell(b)
	case b.class == "":
		l.fail(b.at, b.path, "has neither className nor command; what is it to run?")
	case slices.Contains(l.registry(), b.class):
		t.Registered = true
		l.registered(b)
	case i < 0:
		l.foreign(b, classKey)
	case builtins()[i].kind != b.kind:
		l.fail(b.classAt, classKey, "%s is a %s, but stands among the %ss", b.class, kindOf(builtins()[i].kind), kindOf(b.kind))
	case builtins()[i].shell:
		l.fluxShell(b, class)
	default:
		l.native(b, builtins()[i])
	}
	if b.command == nil {
		for name, n := range map[string]*node{"outputs": b.outputs, "env": b.env} {
			if n != nil {
				l.fail(n.at, join(b.path, name), "is only for a component with command; a class says it by its constructorArgs and configMethods")
			}
		}
	}
}

// foreign is a class that cannot be run.
func (l *loader) foreign(b *built, key string) {
	var known []string
	for _, c := range builtins() {
		if c.kind == b.kind {
			known = append(known, c.class)
		}
	}
	known = append(known, l.registry()...)
	near := nearest(b.class, known)
	switch {
	case near != "" && distance(b.class, near, 4) < 4:
		l.failJava(b.classAt, key, "%s is not known; did you mean %s?", b.class, near)
	case strings.Contains(b.class, "."):
		l.failJava(b.classAt, key, "%s is a class of Java, and components of Java are not run yet; run a command in its place, or write it in Go", b.class)
	default:
		l.failJava(b.classAt, key, "%s is neither a class that is built in nor a component of this program, which has %s", shown(b.class), among(l.registry()))
	}
}

// native is a class that is built in and no shell.
func (l *loader) native(b *built, c builtin) {
	l.noMethods(b)
	args, ok := l.arguments(b.args, join(b.path, "constructorArgs"))
	if !ok {
		return
	}
	b.object.Class = &cluster.Class{Name: c.class}
	switch {
	case len(args) == 0:
	case len(args) == 1 && c.class == layout.TestWordSpoutClass:
		everywhere, isBool := args[0].(bool)
		if !isBool {
			l.fail(b.args[0].at, join(b.path, "constructorArgs[0]"), "is %s; it must be true or false", b.args[0].describe())
			return
		}
		b.object.Class.Args = []any{everywhere}
		if !everywhere {
			b.conf[string(storm.ConfTopologyMaxTaskParallelism)] = int64(1)
		}
	default:
		l.fail(b.args[0].at, join(b.path, "constructorArgs"), "has %d arguments, but %s takes none", len(args), c.class)
		return
	}
	b.unknown = false
	b.streams = map[string]storm.StreamSpec{}
	if c.outputs != nil {
		b.streams[storm.DefaultStream] = storm.StreamSpec{Fields: c.outputs}
	}
}

// noMethods refuses what only objects of Java have.
func (l *loader) noMethods(b *built) {
	for _, m := range b.methods {
		l.fail(m.at, m.path, "calls %s, but this component has no methods; use config or constructorArgs", m.name)
	}
	if len(b.properties) > 0 && !slices.Contains(l.registry(), b.class) {
		l.fail(b.properties[0].place, b.properties[0].path, "is set, but %s has no properties", b.class)
	}
}

// registered is a component of the program. It is asked for its streams, with
// the arguments that it will have in workers.
func (l *loader) registered(b *built) {
	l.noMethods(b)
	args, ok := l.arguments(b.args, join(b.path, "constructorArgs"))
	if len(b.properties) > 0 {
		values := map[string]any{}
		for _, p := range b.properties {
			read := l.argument
			if p.reference {
				read = l.reference
			}
			v, fine := read(p.value, join(p.path, "value"))
			values[p.name], ok = v, ok && fine
		}
		args = append(args, values)
	}
	if !ok {
		return
	}
	b.object.Class = &cluster.Class{Name: b.class}
	if slices.ContainsFunc(args, func(v any) bool { return !scalar(v) }) {
		b.conf[layout.ArgsKey] = args
	} else if len(args) > 0 {
		b.object.Class.Args = args
	}
	made, err := l.ask(b, args)
	if err != nil {
		l.fail(b.classAt, join(b.path, "className"), "%s: %s", b.class, oneLine(err))
		return
	}
	b.unknown = false
	b.streams = made.Streams
	maps.Copy(b.conf, made.Conf)
}

// scalar reports whether Thrift can carry an argument.
func scalar(v any) bool {
	switch v.(type) {
	case bool, int64, float64, string:
		return true
	default:
		return false
	}
}

// nothing is a spout for topologies that are only built to look at.
type nothing struct{ storm.BaseSpout }

func (nothing) DeclareOutputFields(*storm.OutputFieldsDeclarer) {}

func (nothing) Open(*storm.TopologyContext, *storm.SpoutOutputCollector) error { return nil }

func (nothing) NextTuple() error { return nil }

// ask makes a component of the program and asks for its streams and
// configuration.
func (l *loader) ask(b *built, args []any) (*storm.Component, error) {
	values := make([]storm.Value, len(args))
	for i, a := range args {
		values[i] = storm.Any(a)
	}
	const asked, other = "asked", "other"
	builder := storm.NewTopologyBuilder()
	builder.Use(l.o.Components)
	if b.kind == cluster.Spout {
		builder.SetSpoutNamed(asked, b.class, values, 1)
	} else {
		builder.SetSpout(other, func() storm.Spout { return nothing{} }, 1)
		builder.SetBoltNamed(asked, b.class, values, 1)
	}
	t, err := builder.Build()
	if invalid, ok := errors.AsType[*storm.InvalidTopologyError](err); ok && len(invalid.Problems) > 0 {
		if err = errors.Unwrap(invalid.Problems[0]); err == nil {
			err = invalid.Problems[0]
		}
	}
	if err != nil {
		return nil, err
	}
	return t.Components[asked], nil
}

// oneLine is an error without line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
