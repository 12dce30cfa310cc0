package storm

import (
	"cmp"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

func TestComponentIDsAreInJavaOrder(t *testing.T) {
	want := []string{"$check", "10", "2", "A", "Zebra", "__acker", "a", "aB", "aa", "ab", "é", "\U0001F600", "\uE000", "\uFFFD"}
	top := &Topology{Components: map[string]*Component{}}
	for _, id := range want {
		top.Components[id] = &Component{ID: id}
	}
	if got := top.ComponentIDs(); !slices.Equal(got, want) {
		t.Errorf("order is %q, want %q", got, want)
	}
}

func TestCompareJavaIsTheOrderOfUTF16(t *testing.T) {
	// Runes around the places where the two orders part.
	alphabet := []rune{'a', 'b', 0xD7FF, 0xE000, 0xFFFD, 0x10000, 0x10FFFF}
	word := rapid.StringOfN(rapid.SampledFrom(alphabet), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if got := cmp.Compare(compareJava(a, b), 0); got != want {
			t.Fatalf("compareJava(%q, %q) is %d, want %d", a, b, got, want)
		}
	})
}

func TestGroupingNames(t *testing.T) {
	for k, want := range map[GroupingKind]string{
		0: "", GroupShuffle: "shuffle", GroupLocalOrShuffle: "local or shuffle", GroupFields: "fields", GroupGlobal: "global",
		GroupAll: "all", GroupNone: "none", GroupDirect: "direct", GroupPartialKey: "partial key", GroupCustom: "custom", 99: "unknown",
	} {
		if got := k.String(); got != want {
			t.Errorf("grouping %d is called %q, want %q", k, got, want)
		}
	}
}

// diamond is s -> a, b -> c with a second stream from s to c.
func diamond(t *testing.T) *Topology {
	t.Helper()
	b := NewTopologyBuilder()
	b.SetSpout("s", words, 1)
	b.SetBolt("b", relay, 1).FieldsGrouping("s", "word")
	b.SetBolt("a", relay, 1).ShuffleGrouping("s")
	b.SetBolt("c", sink, 1).AllGrouping("a").GlobalGrouping("b").Grouping("s", "side", Grouping{Kind: GroupNone})
	top, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func showTargets(targets []Target) (out []string) {
	for _, tg := range targets {
		out = append(out, fmt.Sprintf("%s to %s by %s", tg.Stream, tg.Component, tg.Grouping.Kind))
	}
	return out
}

func TestTargets(t *testing.T) {
	top := diamond(t)
	for component, want := range map[string][]string{
		"s": {"default to a by shuffle", "default to b by fields", "side to c by none"},
		"a": {"default to c by all"},
		"c": nil,
		"x": nil,
	} {
		if got := showTargets(top.Targets(component)); !slices.Equal(got, want) {
			t.Errorf("targets of %s are %q, want %q", component, got, want)
		}
	}
}

func TestTopologyContext(t *testing.T) {
	logger, shared := slog.New(slog.DiscardHandler), &SharedValues{}
	spec := ContextSpec{
		Context: t.Context(), Topology: diamond(t), TopologyID: "t-1-1", TopologyName: "t", Conf: Config{"k": 1},
		Component: "s", Task: 5, Tasks: map[string][]TaskID{"a": {1, 2}, "b": {3}, "s": {4, 5, 6}},
		WorkerTasks: []TaskID{2, 5}, WorkerPort: 6700, Logger: logger, Shared: shared,
	}
	c := NewTopologyContext(spec)
	if c.Context() != t.Context() || c.TopologyID() != "t-1-1" || c.TopologyName() != "t" || c.Topology() != spec.Topology ||
		c.Conf()["k"] != 1 || c.Component() != "s" || c.Task() != 5 || c.WorkerPort() != 6700 || c.Logger() != logger || c.Shared() != shared {
		t.Errorf("context is %+v", c)
	}
	if got := c.TaskIndex(); got != 1 {
		t.Errorf("TaskIndex is %d, want 1", got)
	}
	for task, want := range map[TaskID]string{0: "", 1: "a", 3: "b", 6: "s", 7: "", SystemTask: ""} {
		if got := c.ComponentOf(task); got != want {
			t.Errorf("ComponentOf(%d) is %q, want %q", task, got, want)
		}
	}
	if got := c.ComponentTasks("x"); got != nil {
		t.Errorf("tasks of nobody are %v", got)
	}
	c.ComponentTasks("s")[0] = 99 // what it gives is the caller's
	c.WorkerTasks()[0] = 99
	if got := c.ComponentTasks("s"); !slices.Equal(got, []TaskID{4, 5, 6}) {
		t.Errorf("tasks of s are %v", got)
	}
	if got := c.WorkerTasks(); !slices.Equal(got, []TaskID{2, 5}) {
		t.Errorf("tasks of the worker are %v", got)
	}
	if got := c.Streams(); !slices.Equal(got, []string{"default", "direct", "side"}) {
		t.Errorf("streams are %q", got)
	}
	if got := showTargets(c.Targets()); len(got) != 3 {
		t.Errorf("targets are %q", got)
	}
	checkOutputFields(t, c)
}

func checkOutputFields(t *testing.T, c *TopologyContext) {
	t.Helper()
	for _, w := range []struct {
		component, stream string
		fields            Fields
		ok                bool
	}{
		{"s", "default", Fields{"word", "n"}, true},
		{"s", "x", nil, false},
		{"c", "default", nil, false},
		{"x", "default", nil, false},
	} {
		fields, ok := c.OutputFields(w.component, w.stream)
		if !slices.Equal(fields, w.fields) || ok != w.ok {
			t.Errorf("OutputFields(%s, %s) is %q, %t", w.component, w.stream, fields, ok)
		}
	}
}

func TestTopologyContextSources(t *testing.T) {
	top := diamond(t)
	c := NewTopologyContext(ContextSpec{Topology: top, Component: "c"})
	var got []string
	for _, in := range c.Sources() {
		got = append(got, in.Component+" "+in.Stream+" "+in.Grouping.Kind.String())
	}
	if want := []string{"a default all", "b default global", "s side none"}; !slices.Equal(got, want) {
		t.Errorf("sources are %q, want %q", got, want)
	}
	nobody := NewTopologyContext(ContextSpec{Topology: top, Component: "nobody"})
	if nobody.Sources() != nil || nobody.Streams() != nil || nobody.Targets() != nil || nobody.TaskIndex() != -1 {
		t.Errorf("an unknown component has %v, %v, %v, index %d", nobody.Sources(), nobody.Streams(), nobody.Targets(), nobody.TaskIndex())
	}
}

func TestHooksAreKeptInOrder(t *testing.T) {
	c := NewTopologyContext(ContextSpec{})
	var got []int
	for i := range 3 {
		c.AddHook(TaskHook{Cleanup: func() { got = append(got, i) }})
	}
	for _, h := range c.Hooks() {
		h.Cleanup()
	}
	if !reflect.DeepEqual(got, []int{0, 1, 2}) {
		t.Errorf("called in the order %v", got)
	}
}

func TestSharedValues(t *testing.T) {
	var s SharedValues
	if v, ok := s.Get("k"); ok || v != nil {
		t.Errorf("an absent value is %v, %t", v, ok)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			s.Put(fmt.Sprint(i), i)
			s.Put("k", "v")
			s.Get("k")
		})
	}
	all.Wait()
	for i := range 8 {
		if v, ok := s.Get(fmt.Sprint(i)); !ok || v != i {
			t.Errorf("value %d is %v, %t", i, v, ok)
		}
	}
}

func TestRegistry(t *testing.T) {
	r := NewRegistry()
	var got []Value
	r.Spout("words", func(args []Value) (Spout, error) { got = args; return words(), nil })
	r.Bolt("sink", func([]Value) (Bolt, error) { return sink(), nil })
	r.BasicBolt("basic", func(args []Value) (BasicBolt, error) {
		return &scriptedBasic{conf: Config{"arg": args[0].String()}}, nil
	})
	if names := r.Names(); !slices.Equal(names, []string{"basic", "sink", "words"}) {
		t.Errorf("names are %q", names)
	}
	for _, name := range r.Names() {
		if text := panicText(t, func() { r.Bolt(name, nil) }); text != `storm: component name "`+name+`" is registered twice` {
			t.Errorf("panic is %q", text)
		}
	}
	b := NewTopologyBuilder()
	b.Use(r)
	b.SetSpoutNamed("s", "words", []Value{Int(1), String("x")}, 1)
	b.SetBoltNamed("b", "sink", nil, 1).ShuffleGrouping("s")
	b.SetBoltNamed("c", "basic", Values("y"), 1).ShuffleGrouping("s")
	top, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if !List(got...).Equal(List(Int(1), String("x"))) {
		t.Errorf("the spout is made with %v", got)
	}
	if top.Components["c"].Conf["arg"] != "y" {
		t.Errorf("configuration of the basic bolt is %v", top.Components["c"].Conf)
	}
	if _, ok := top.Components["s"].Streams["side"]; !ok {
		t.Errorf("streams of the spout are %v", top.Components["s"].Streams)
	}
}
