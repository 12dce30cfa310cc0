package flux

import (
	"reflect"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
)

// stream is an entry of streams: a subscription.
type stream struct {
	at       Place
	path     string
	from, to *node
	grouping *grouping
}

type grouping struct {
	at     Place
	path   string
	kind   *node
	stream *node
	args   *node
	custom *object
}

// input is a subscription with where it stands.
type input struct {
	cluster.Input
	at   Place
	path string
}

func (l *loader) readStreams(n *node, path string) []*stream {
	var out []*stream
	l.each(n, path, "streams", func(item *node, path string) {
		s := &stream{at: item.at, path: path}
		ok := l.fields(item, path, "a stream",
			field{"id", func(*node, string) {}}, field{"name", func(*node, string) {}}, // for people
			field{"from", func(v *node, path string) {
				if _, ok := l.text(v, path); ok {
					s.from = v
				}
			}},
			field{"to", func(v *node, path string) {
				if _, ok := l.text(v, path); ok {
					s.to = v
				}
			}},
			field{"grouping", func(v *node, path string) { s.grouping = l.readGrouping(v, path) }},
		)
		if ok {
			out = append(out, s)
		}
	})
	return out
}

func (l *loader) readGrouping(n *node, path string) *grouping {
	g := &grouping{at: n.at, path: path}
	if !l.fields(n, path, "a grouping",
		field{"type", func(v *node, path string) {
			if _, ok := l.text(v, path); ok {
				g.kind = v
			}
		}},
		field{"streamId", func(v *node, path string) {
			if _, ok := l.text(v, path); ok {
				g.stream = v
			}
		}},
		field{"args", func(v *node, _ string) { g.args = v }},
		field{"customClass", func(v *node, path string) {
			g.custom = &object{at: v.at, path: path, classAt: v.at}
			l.fields(v, path, "a class", l.objectFields(g.custom)...)
		}},
	) {
		return &grouping{at: n.at, path: path, kind: &node{at: n.at}}
	}
	return g
}

// connect makes subscriptions of the streams.
func (l *loader) connect(streams []*stream, all map[string]*built) {
	for _, s := range streams {
		from, to := l.end(s, "from", s.from, all), l.end(s, "to", s.to, all)
		if to != nil && to.kind == cluster.Spout {
			l.fail(s.to.at, join(s.path, "to"), "is %s, a spout, which takes no input", shown(to.id))
			to = nil
		}
		if s.grouping == nil {
			l.fail(s.at, join(s.path, "grouping"), "is missing; say how tuples are dealt out, such as {type: SHUFFLE}")
			continue
		}
		in, ok := l.subscription(s, from)
		if ok && from != nil && to != nil {
			in.Component = from.id
			l.subscribe(to, in)
		}
	}
	l.settleDirect(all)
	for _, id := range idsOf(all) {
		b := all[id]
		if b.kind == cluster.Bolt && len(b.inputs) == 0 && len(l.problems) == 0 {
			l.warn(b.idAt, b.path, "bolt %s gets no stream, so it will have nothing to do", shown(b.id))
		}
	}
}

// end is the component that a stream comes from or goes to.
func (l *loader) end(s *stream, key string, n *node, all map[string]*built) *built {
	path := join(s.path, key)
	if n == nil {
		l.fail(s.at, path, "is missing; a stream goes from a component to another")
		return nil
	}
	b := all[n.raw]
	if b == nil {
		l.fail(n.at, path, "is %s, but there is no such component; %s", shown(n.raw), meantOf(n.raw, idsOf(all)))
	}
	return b
}

// subscribe adds an input. One that is there already adds nothing.
func (l *loader) subscribe(to *built, in input) {
	i := slices.IndexFunc(to.inputs, func(o input) bool { return o.Compare(in.Input) == 0 })
	switch {
	case i < 0:
		to.inputs = append(to.inputs, in)
	case reflect.DeepEqual(to.inputs[i].Grouping, in.Grouping):
		l.warn(in.at, in.path, "stands here a second time, which changes nothing; the first is in line %d", to.inputs[i].at.Line)
	default:
		l.fail(in.at, in.path, "is a second subscription of %s to stream %s of %s, by another grouping; the first is in line %d",
			shown(to.id), shown(in.Stream), shown(in.Component), to.inputs[i].at.Line)
	}
}

// subscription is the stream and grouping that a stream speaks of, checked
// against what from declares.
func (l *loader) subscription(s *stream, from *built) (input, bool) {
	g := s.grouping
	in := input{at: s.at, path: s.path}
	in.Stream = storm.DefaultStream
	at := g.at
	if g.stream != nil {
		in.Stream, at = g.stream.raw, g.stream.at
	}
	var declared *storm.StreamSpec
	if from != nil && !from.unknown {
		spec, ok := from.streams[in.Stream]
		if !ok {
			l.fail(at, join(g.path, "streamId"), "is %s, but %s has %s", shown(in.Stream), shown(from.id), streamsOf(from.streams))
			return in, false
		}
		declared = &spec
	}
	var ok bool
	in.Grouping, ok = l.grouping(g, declared, from)
	return in, ok
}

func streamsOf(all map[string]storm.StreamSpec) string {
	if len(all) == 0 {
		return "no output"
	}
	return "only " + among(idsOf(all))
}

// types are Flux's names of groupings.
func types() map[string]cluster.GroupingKind {
	return map[string]cluster.GroupingKind{
		"SHUFFLE": cluster.GroupShuffle, "FIELDS": cluster.GroupFields, "ALL": cluster.GroupAll, "GLOBAL": cluster.GroupFields,
		"DIRECT": cluster.GroupDirect, "NONE": cluster.GroupNone, "LOCAL_OR_SHUFFLE": cluster.GroupLocalOrShuffle,
		"CUSTOM": cluster.GroupCustomObject,
	}
}

func (l *loader) grouping(g *grouping, declared *storm.StreamSpec, from *built) (cluster.Grouping, bool) {
	key := join(g.path, "type")
	if g.kind == nil {
		l.fail(g.at, key, "is missing; there are %s", among(idsOf(types())))
		return cluster.Grouping{}, false
	}
	if g.kind.kind == null { // wrong, and noted
		return cluster.Grouping{}, false
	}
	name := strings.ToUpper(g.kind.raw)
	kind, known := types()[name]
	out := cluster.Grouping{Kind: kind}
	switch {
	case !known:
		l.fail(g.kind.at, key, "is %s; %s", shown(g.kind.raw), meantOf(g.kind.raw, idsOf(types())))
		return out, false
	case name == "CUSTOM":
		return l.custom(g, declared, from)
	case g.custom != nil:
		l.warn(g.custom.at, g.custom.path, "has no effect: the grouping's type is %s, not CUSTOM", name)
	}
	if name != "FIELDS" {
		if g.args != nil {
			l.warn(g.args.at, join(g.path, "args"), "has no effect: only FIELDS takes fields")
		}
		return out, true
	}
	path := join(g.path, "args")
	if g.args == nil {
		l.fail(g.at, path, "is missing; by which fields are tuples to be grouped?")
		return out, false
	}
	fields, ok := l.groupFields(g.args, path, declared, from)
	out.Fields = fields
	return out, ok
}

// groupFields are the fields that tuples are grouped by.
func (l *loader) groupFields(n *node, path string, declared *storm.StreamSpec, from *built) ([]string, bool) {
	fields, ok := l.texts(n, path, "fields")
	if ok && len(fields) == 0 {
		l.fail(n.at, path, "is empty; by which fields are tuples to be grouped?")
		return nil, false
	}
	for i, f := range fields {
		if ok && declared != nil && !slices.Contains(declared.Fields, f) {
			l.fail(n.items[i].at, path+index(i), "is %s, but the stream of %s has the fields %s", shown(f), shown(from.id), among(declared.Fields))
			ok = false
		}
	}
	return fields, ok
}

// custom is a custom grouping. Only the one by partial keys is there.
func (l *loader) custom(g *grouping, declared *storm.StreamSpec, from *built) (cluster.Grouping, bool) {
	out := cluster.Grouping{Kind: cluster.GroupCustomObject}
	if g.custom == nil || g.custom.class == "" {
		l.fail(g.at, join(g.path, "customClass"), "is missing; which class is the custom grouping?")
		return out, false
	}
	switch g.custom.class {
	case layout.PartialKeyClass, "org.apache.storm.grouping.PartialKeyGrouping":
	default:
		l.failJava(g.custom.classAt, join(g.custom.path, "className"),
			"%s is not built in, and Java is not run yet; there is %s, whose arguments are fields", g.custom.class, "org.apache.storm.grouping.PartialKeyGrouping")
		return out, false
	}
	n, path := g.args, join(g.path, "args")
	if len(g.custom.args) > 0 {
		path = join(g.custom.path, "constructorArgs")
		n = &node{kind: list, at: g.custom.args[0].at, items: g.custom.args}
		if len(n.items) == 1 && n.items[0].kind >= list {
			n, path = l.followed(n.items[0]), path+"[0]"
		}
	}
	if n == nil {
		l.fail(g.custom.at, join(g.custom.path, "constructorArgs"), "is missing; by which fields are tuples to be grouped?")
		return out, false
	}
	fields, ok := l.groupFields(n, path, declared, from)
	out.Class = &cluster.Class{Name: layout.PartialKeyClass}
	for _, f := range fields {
		out.Class.Args = append(out.Class.Args, f)
	}
	return out, ok
}

// settleDirect makes streams direct that are subscribed to so, if the file had
// no way to say it, and refuses groupings that do not fit.
func (l *loader) settleDirect(all map[string]*built) {
	for _, id := range idsOf(all) {
		for _, in := range all[id].inputs {
			from := all[in.Component]
			spec, ok := from.streams[in.Stream]
			if direct := in.Grouping.Kind == cluster.GroupDirect; ok && direct && !spec.Direct && from.loose {
				spec.Direct = true
				from.streams[in.Stream] = spec
			}
		}
	}
	for _, id := range idsOf(all) {
		for _, in := range all[id].inputs {
			from := all[in.Component]
			spec, ok := from.streams[in.Stream]
			direct := in.Grouping.Kind == cluster.GroupDirect
			switch {
			case !ok || direct == spec.Direct:
			case direct:
				l.fail(in.at, join(in.path, "grouping"), "is DIRECT, but stream %s of %s is not direct", shown(in.Stream), shown(in.Component))
			default:
				l.fail(in.at, join(in.path, "grouping"), "must be DIRECT, as the other subscriptions to stream %s of %s", shown(in.Stream), shown(in.Component))
			}
		}
	}
}
