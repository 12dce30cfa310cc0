package storm

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// plainSpout and plainBolt declare what a test says.
type plainSpout struct {
	BaseSpout
	declare func(d *OutputFieldsDeclarer)
	conf    Config
}

func (s *plainSpout) DeclareOutputFields(d *OutputFieldsDeclarer)        { s.declare(d) }
func (s *plainSpout) Open(*TopologyContext, *SpoutOutputCollector) error { return nil }
func (s *plainSpout) NextTuple() error                                   { return nil }
func (s *plainSpout) ComponentConfiguration() Config                     { return s.conf }

type plainBolt struct {
	BaseBolt
	declare func(d *OutputFieldsDeclarer)
}

func (b *plainBolt) DeclareOutputFields(d *OutputFieldsDeclarer) {
	if b.declare != nil {
		b.declare(d)
	}
}
func (b *plainBolt) Prepare(*TopologyContext, *OutputCollector) error { return nil }
func (b *plainBolt) Execute(Tuple) error                              { return nil }

func words() Spout {
	return &plainSpout{declare: func(d *OutputFieldsDeclarer) {
		d.Declare("word", "n")
		d.DeclareStream("side", "x")
		d.DeclareDirectStream("direct", "y")
	}}
}

func sink() Bolt { return &plainBolt{} }

// remembering is a bolt with state.
type remembering struct{ Bolt }

func (remembering) InitState(State) error { return nil }

type basicRemembering struct{ BaseBasicBolt }

func (*basicRemembering) Execute(Tuple, *BasicOutputCollector) error { return nil }

func (*basicRemembering) InitState(State) error { return nil }

func relay() Bolt {
	return &plainBolt{declare: func(d *OutputFieldsDeclarer) { d.Declare("word") }}
}

func spoutDeclaring(declare func(d *OutputFieldsDeclarer)) func() Spout {
	return func() Spout { return &plainSpout{declare: declare} }
}

func TestBuildRefuses(t *testing.T) {
	broken := errors.New("no such file")
	registry := NewRegistry()
	registry.Spout("bad", func([]Value) (Spout, error) { return nil, broken })
	registry.Bolt("sink", func([]Value) (Bolt, error) { return sink(), nil })
	registry.BasicBolt("void", func([]Value) (BasicBolt, error) { return nil, nil })
	registry.BasicBolt("bad basic", func([]Value) (BasicBolt, error) { return nil, broken })

	for _, c := range []struct {
		name  string
		build func(b *TopologyBuilder)
		want  []string
	}{
		{"nothing", func(*TopologyBuilder) {}, []string{
			`there is no spout among 0 components; a topology needs at least one source of tuples`}},
		{"no spout", func(b *TopologyBuilder) { b.SetBolt("b", sink, 1) }, []string{
			`there is no spout among 1 components; a topology needs at least one source of tuples`}},
		{"duplicate id", func(b *TopologyBuilder) { b.SetSpout("s", words, 1); b.SetSpout("s", words, 1) }, []string{
			`component "s": the id is used twice; every component needs its own`}},
		{"spout and bolt of one id", func(b *TopologyBuilder) { b.SetBolt("s", sink, 1); b.SetSpout("s", words, 1) }, []string{
			`component "s": the id is used twice; every component needs its own`}},
		{"state in a cycle", func(b *TopologyBuilder) {
			b.SetSpout("s", words, 1)
			b.SetBolt("b", relay, 1).ShuffleGrouping("s").ShuffleGrouping("c")
			b.SetBolt("c", relay, 1).ShuffleGrouping("b")
			b.SetBasicBolt("d", func() BasicBolt { return &basicRemembering{} }, 1).ShuffleGrouping("c")
		}, []string{
			`component "b" receives what it emits (a cycle): bounded queues around a cycle can block each other; limit it with topology.max.spout.pending`,
			`component "c" receives what it emits (a cycle): bounded queues around a cycle can block each other; limit it with topology.max.spout.pending`,
			`components keep state, and checkpoints need a topology without cycles`}},
		{"empty id", func(b *TopologyBuilder) { b.SetSpout("", words, 1) }, []string{`component id is empty`}},
		{"reserved id", func(b *TopologyBuilder) { b.SetSpout("__s", words, 1) }, []string{
			`component id "__s" begins with "__", which is reserved for the system; choose another`}},
		{"parallelism 0", func(b *TopologyBuilder) { b.SetSpout("s", words, 0) }, []string{
			`component "s": parallelism is 0; it must be at least 1`}},
		{"parallelism below 0", func(b *TopologyBuilder) {
			b.SetSpout("s", words, 1)
			b.SetBasicBolt("b", func() BasicBolt { return &scriptedBasic{} }, -3)
		}, []string{
			`component "b": parallelism is -3; it must be at least 1`}},
		{"tasks 0", func(b *TopologyBuilder) { b.SetSpout("s", words, 1).SetNumTasks(0) }, []string{
			`component "s": topology.tasks is 0; it must be at least 1`}},
		{"tasks not whole", func(b *TopologyBuilder) { b.SetSpout("s", words, 1).SetConf("topology.tasks", 1.5) }, []string{
			`component "s": topology.tasks wants a whole number, not 1.5 (float64)`}},
		{"tasks not a number", func(b *TopologyBuilder) { b.SetSpout("s", words, 1).SetConf("topology.tasks", "4") }, []string{
			`component "s": topology.tasks wants a whole number, not the string "4"`}},
		{"unknown component", func(b *TopologyBuilder) { b.SetSpout("s", words, 1); b.SetBolt("b", sink, 1).ShuffleGrouping("x") }, []string{
			`component "b": subscribes to component "x", which does not exist`}},
		{"unknown stream", func(b *TopologyBuilder) {
			b.SetSpout("s", words, 1)
			b.SetBolt("b", sink, 1).Grouping("s", "x", Grouping{Kind: GroupAll})
		}, []string{`component "b": subscribes to stream "x" of component "s", which declares "default", "direct", "side"`}},
		{"stream of a sink", func(b *TopologyBuilder) {
			b.SetSpout("s", words, 1)
			b.SetBolt("a", sink, 1).ShuffleGrouping("s")
			b.SetBolt("b", sink, 1).ShuffleGrouping("a")
		}, []string{`component "b": subscribes to stream "default" of component "a", which declares none`}},
		{"undeclared field", func(b *TopologyBuilder) {
			b.SetSpout("s", words, 1)
			b.SetBolt("b", sink, 1).FieldsGrouping("s", "n", "wrd")
		}, []string{
			`component "b": groups stream "default" of component "s" by field "wrd", but the stream declares "word", "n"`}},
		{"undeclared partial key", func(b *TopologyBuilder) {
			b.SetSpout("s", words, 1)
			b.SetBolt("b", sink, 1).PartialKeyGrouping("s", "x")
		}, []string{
			`component "b": groups stream "default" of component "s" by field "x", but the stream declares "word", "n"`}},
		{"direct grouping of a plain stream", func(b *TopologyBuilder) { b.SetSpout("s", words, 1); b.SetBolt("b", sink, 1).DirectGrouping("s") }, []string{
			`component "b": subscribes to stream "default" of component "s" by direct grouping, but the stream is declared with direct = false`}},
		{"plain grouping of a direct stream", func(b *TopologyBuilder) {
			b.SetSpout("s", words, 1)
			b.SetBolt("b", sink, 1).Grouping("s", "direct", Grouping{Kind: GroupLocalOrShuffle})
		}, []string{`component "b": subscribes to stream "direct" of component "s" by local or shuffle grouping, but the stream is declared with direct = true`}},
		{"no grouping", func(b *TopologyBuilder) {
			b.SetSpout("s", words, 1)
			b.SetBolt("b", sink, 1).Grouping("s", DefaultStream, Grouping{})
		}, []string{`component "b": subscribes to stream "default" of component "s" by an unknown grouping 0`}},
		{"no such grouping", func(b *TopologyBuilder) {
			b.SetSpout("s", words, 1)
			b.SetBolt("b", sink, 1).Grouping("s", DefaultStream, Grouping{Kind: GroupCustom + 1})
		}, []string{`component "b": subscribes to stream "default" of component "s" by an unknown grouping 10`}},
		{"custom grouping without a function", func(b *TopologyBuilder) { b.SetSpout("s", words, 1); b.SetBolt("b", sink, 1).CustomGrouping("s", nil) }, []string{
			`component "b": subscribes to stream "default" of component "s" by a custom grouping without a chooser`}},
		{"subscribed twice", func(b *TopologyBuilder) {
			b.SetSpout("s", words, 1)
			b.SetBolt("b", sink, 1).ShuffleGrouping("s").FieldsGrouping("s", "word")
		}, []string{`component "b": subscribes twice to stream "default" of component "s"`}},
		{"nil functions", func(b *TopologyBuilder) {
			b.SetSpout("s", nil, 1)
			b.SetBolt("b", nil, 1).ShuffleGrouping("s")
			b.SetBasicBolt("c", nil, 1).ShuffleGrouping("b")
		}, []string{
			`component "b": the function that makes the bolt is nil`,
			`component "c": the function that makes the bolt is nil`,
			`component "s": the function that makes the spout is nil`}},
		{"functions that return nil", func(b *TopologyBuilder) {
			b.SetSpout("s", func() Spout { return nil }, 1)
			b.SetBolt("b", func() Bolt { return nil }, 1)
			b.SetBasicBolt("c", func() BasicBolt { return nil }, 1)
		}, []string{
			`component "b": the function that makes the bolt returned nil`,
			`component "c": the function that makes the bolt returned nil`,
			`component "s": the function that makes the spout returned nil`}},
		{"streams declared wrongly", func(b *TopologyBuilder) {
			b.SetSpout("s", spoutDeclaring(func(d *OutputFieldsDeclarer) {
				d.Declare("a", "b", "a")
				d.DeclareStream("", "a")
				d.DeclareStream("__x", "a")
				d.DeclareStream("default", "a")
				d.DeclareDirectStream("e")
			}), 1)
		}, []string{"component \"s\": stream \"default\" declares field \"a\" twice\n" +
			"stream id is empty\n" +
			"stream id \"__x\" begins with \"__\", which is reserved for the system; choose another\n" +
			"stream \"default\" is declared twice"}},
		{"no registry", func(b *TopologyBuilder) { b.SetSpoutNamed("s", "words", nil, 1); b.SetBoltNamed("b", "sink", nil, 1) }, []string{
			`component "b": bolt "sink" is wanted by name, but the builder has no registry; call Use first`,
			`component "s": spout "words" is wanted by name, but the builder has no registry; call Use first`}},
		{"names", func(b *TopologyBuilder) {
			b.Use(registry)
			b.SetSpoutNamed("s", "sink", nil, 1)
			b.SetBoltNamed("b", "bad", nil, 1)
			b.SetSpoutNamed("s2", "bad", nil, 1)
			b.SetBoltNamed("c", "void", nil, 1)
			b.SetBoltNamed("d", "bad basic", nil, 1)
		}, []string{
			`component "b": no bolt is registered under the name "bad"; registered: "bad", "bad basic", "sink", "void"`,
			`component "c": the function that makes the bolt returned nil`,
			`component "d": no such file`,
			`component "s": no spout is registered under the name "sink"; registered: "bad", "bad basic", "sink", "void"`,
			`component "s2": no such file`}},
		{"many mistakes", func(b *TopologyBuilder) {
			b.SetSpout("__s", words, 0).SetNumTasks(-1)
			b.SetBolt("b", sink, 1).ShuffleGrouping("x").FieldsGrouping("__s", "z").FieldsGrouping("__s", "z")
			b.SetBolt("", nil, -1)
		}, []string{
			`component id "__s" begins with "__", which is reserved for the system; choose another`,
			`component "__s": parallelism is 0; it must be at least 1`,
			`component id is empty`,
			`component "": parallelism is -1; it must be at least 1`,
			`component "": the function that makes the bolt is nil`,
			`component "__s": topology.tasks is -1; it must be at least 1`,
			`component "b": subscribes to component "x", which does not exist`,
			`component "b": groups stream "default" of component "__s" by field "z", but the stream declares "word", "n"`,
			`component "b": subscribes twice to stream "default" of component "__s"`,
			`component "b": groups stream "default" of component "__s" by field "z", but the stream declares "word", "n"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewTopologyBuilder()
			c.build(b)
			top, err := b.Build()
			if top != nil {
				t.Error("there is a topology beside the error")
			}
			checkProblems(t, err, c.want)
		})
	}
}

func checkProblems(t *testing.T, err error, want []string) {
	t.Helper()
	invalid, ok := errors.AsType[*InvalidTopologyError](err)
	if !ok {
		t.Fatalf("error is %T: %v", err, err)
	}
	var got []string
	for _, p := range invalid.Problems {
		got = append(got, p.Error())
	}
	if !slices.Equal(got, want) {
		t.Errorf("problems are\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	text := "invalid topology: " + want[0]
	if len(want) > 1 {
		text = "invalid topology:\n  " + strings.Join(want, "\n  ")
	}
	if err.Error() != text {
		t.Errorf("error text is\n%s\nwant\n%s", err, text)
	}
}

func TestBuildErrorKeepsCauses(t *testing.T) {
	cause := errors.New("no such file")
	r := NewRegistry()
	r.Spout("bad", func([]Value) (Spout, error) { return nil, cause })
	b := NewTopologyBuilder()
	b.Use(r)
	b.SetSpoutNamed("s", "bad", nil, 1)
	if _, err := b.Build(); !errors.Is(err, cause) {
		t.Errorf("%v does not wrap its cause", err)
	}
}

func TestBuildErrorIsNotChangedLater(t *testing.T) {
	b := NewTopologyBuilder()
	for range 3 { // leaves room behind the list of mistakes
		b.SetBolt("", sink, 1)
	}
	_, first := b.Build()
	text := first.Error()
	b.SetBolt("__x", sink, 0)
	if _, err := b.Build(); err == nil || first.Error() != text {
		t.Errorf("the first error became\n%v\nfrom\n%s", first, text)
	}
}

func TestBuild(t *testing.T) {
	b := NewTopologyBuilder()
	b.SetSpout("s", func() Spout {
		return &plainSpout{declare: words().DeclareOutputFields, conf: Config{"own": 1, "both": "component"}}
	}, 2).SetNumTasks(4).SetConf("both", "builder")
	custom := func() CustomGrouping { return nil }
	b.SetBolt("b", relay, 3).
		ShuffleGrouping("s").
		Grouping("s", "side", Grouping{Kind: GroupFields, Fields: Fields{"x"}}).
		Grouping("s", "direct", Grouping{Kind: GroupDirect}).
		SetNumTasks(6).SetConf("k", "v")
	for id, group := range map[string]func(d *BoltDeclarer){
		"c1": func(d *BoltDeclarer) { d.LocalOrShuffleGrouping("b") },
		"c2": func(d *BoltDeclarer) { d.FieldsGrouping("b", "word") },
		"c3": func(d *BoltDeclarer) { d.PartialKeyGrouping("b", "word") },
		"c4": func(d *BoltDeclarer) { d.GlobalGrouping("b") },
		"c5": func(d *BoltDeclarer) { d.AllGrouping("b") },
		"c6": func(d *BoltDeclarer) { d.NoneGrouping("b") },
		"c7": func(d *BoltDeclarer) { d.CustomGrouping("b", custom) },
	} {
		group(b.SetBasicBolt(id, func() BasicBolt { return &scriptedBasic{conf: Config{"basic": id}} }, 1))
	}
	hook := func() WorkerHook { return nil }
	b.AddWorkerHook(hook)
	top, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	s, bolt := top.Components["s"], top.Components["b"]
	if !s.IsSpout() || s.Hint != 2 || s.ID != "s" || !reflect.DeepEqual(s.Conf, Config{"own": 1, "both": "builder", "topology.tasks": 4}) {
		t.Errorf("spout is %+v", s)
	}
	if !reflect.DeepEqual(s.Streams, map[string]StreamSpec{
		"default": {Fields: Fields{"word", "n"}}, "side": {Fields: Fields{"x"}}, "direct": {Fields: Fields{"y"}, Direct: true},
	}) {
		t.Errorf("streams are %v", s.Streams)
	}
	if bolt.IsSpout() || bolt.Hint != 3 || !reflect.DeepEqual(bolt.Conf, Config{"topology.tasks": 6, "k": "v"}) || len(bolt.Inputs) != 3 {
		t.Errorf("bolt is %+v", bolt)
	}
	for i, want := range []GroupingKind{GroupLocalOrShuffle, GroupFields, GroupPartialKey, GroupGlobal, GroupAll, GroupNone, GroupCustom} {
		c := top.Components["c"+string(rune('1'+i))]
		if g := c.Inputs[0].Grouping; g.Kind != want || (g.Custom != nil) != (want == GroupCustom) || c.Conf["basic"] != c.ID {
			t.Errorf("%s: grouping %v, configuration %v", c.ID, g, c.Conf)
		}
	}
	if len(top.WorkerHooks) != 1 || top.Warnings != nil {
		t.Errorf("hooks %d, warnings %v", len(top.WorkerHooks), top.Warnings)
	}
}

func TestFactoriesMakeFreshInstances(t *testing.T) {
	b := NewTopologyBuilder()
	b.SetSpout("s", words, 1)
	b.SetBolt("b", sink, 1).ShuffleGrouping("s")
	b.SetBasicBolt("c", func() BasicBolt { return &scriptedBasic{} }, 1).ShuffleGrouping("s")
	top, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	s1, _ := top.Components["s"].NewSpout()
	s2, _ := top.Components["s"].NewSpout()
	if s1 == nil || s1 == s2 {
		t.Error("two spouts are one")
	}
	for _, id := range []string{"b", "c"} {
		b1, _ := top.Components[id].NewBolt()
		b2, _ := top.Components[id].NewBolt()
		if b1 == nil || b1 == b2 {
			t.Errorf("two bolts of %s are one", id)
		}
	}
}

func TestCycleIsAWarning(t *testing.T) {
	b := NewTopologyBuilder()
	b.SetSpout("s", words, 1)
	b.SetBolt("a", relay, 1).ShuffleGrouping("s").ShuffleGrouping("b")
	b.SetBolt("b", relay, 1).ShuffleGrouping("a")
	b.SetBolt("self", relay, 1).ShuffleGrouping("self").ShuffleGrouping("b")
	b.SetBolt("out", sink, 1).ShuffleGrouping("self")
	top, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, id := range []string{"a", "b", "self"} {
		want = append(want, `component "`+id+`" receives what it emits (a cycle): bounded queues around a cycle can block each other; limit it with topology.max.spout.pending`)
	}
	if !slices.Equal(top.Warnings, want) {
		t.Errorf("warnings are\n%s\nwant\n%s", strings.Join(top.Warnings, "\n"), strings.Join(want, "\n"))
	}
}

func TestStatefulComponentsAreMarked(t *testing.T) {
	b := NewTopologyBuilder()
	b.SetSpout("s", words, 1)
	b.SetBolt("b", func() Bolt { return remembering{sink()} }, 1).ShuffleGrouping("s")
	b.SetBasicBolt("c", func() BasicBolt { return &basicRemembering{} }, 1).ShuffleGrouping("s")
	topology, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]any{"s": nil, "b": true, "c": true} {
		if got := topology.Components[id].Conf["topology.sr3.stateful"]; got != want {
			t.Errorf("component %q: topology.sr3.stateful is %v, want %v", id, got, want)
		}
	}
}
