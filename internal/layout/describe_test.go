package layout

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
)

type words struct{ storm.BaseSpout }

func (words) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("word", "n")
	d.DeclareDirectStream("back", "n")
}
func (words) Open(*storm.TopologyContext, *storm.SpoutOutputCollector) error { return nil }
func (words) NextTuple() error                                               { return nil }

type sink struct{ storm.BaseBasicBolt }

func (sink) Execute(storm.Tuple, *storm.BasicOutputCollector) error { return nil }

type oneTask struct{}

func (oneTask) Prepare(*storm.TopologyContext, []storm.TaskID)   {}
func (oneTask) Choose(storm.TaskID, *storm.Tuple) []storm.TaskID { return nil }

// every is a topology with every grouping.
func every(t *testing.T) *storm.Topology {
	t.Helper()
	b := storm.NewTopologyBuilder()
	b.SetSpout("words", func() storm.Spout { return words{} }, 2)
	newSink := func() storm.BasicBolt { return sink{} }
	b.SetBasicBolt("all", newSink, 1).AllGrouping("words")
	b.SetBasicBolt("custom", newSink, 1).CustomGrouping("words", func() storm.CustomGrouping { return oneTask{} })
	b.SetBasicBolt("direct", newSink, 1).Grouping("words", "back", storm.Grouping{Kind: storm.GroupDirect})
	b.SetBasicBolt("fields", newSink, 3).FieldsGrouping("words", "n", "word")
	b.SetBasicBolt("global", newSink, 1).GlobalGrouping("words")
	b.SetBasicBolt("key", newSink, 2).PartialKeyGrouping("words", "word")
	b.SetBasicBolt("local", newSink, 1).LocalOrShuffleGrouping("words")
	b.SetBasicBolt("none", newSink, 1).NoneGrouping("words")
	b.SetBasicBolt("shuffle", newSink, 1).ShuffleGrouping("words").SetConf("topology.tick.tuple.freq.secs", 3)
	top, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func TestDescribe(t *testing.T) {
	d, err := Describe(every(t), "demo")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]cluster.Grouping{
		"all":     {Kind: cluster.GroupAll},
		"custom":  {Kind: cluster.GroupCustomObject, Class: &cluster.Class{Name: "go:demo", Args: []any{"custom", "words", "default"}}},
		"direct":  {Kind: cluster.GroupDirect},
		"fields":  {Kind: cluster.GroupFields, Fields: []string{"n", "word"}},
		"global":  {Kind: cluster.GroupFields},
		"key":     {Kind: cluster.GroupCustomObject, Class: &cluster.Class{Name: "go:partial-key", Args: []any{"word"}}},
		"local":   {Kind: cluster.GroupLocalOrShuffle},
		"none":    {Kind: cluster.GroupNone},
		"shuffle": {Kind: cluster.GroupShuffle},
	} {
		c := d.Components[id]
		if len(c.Inputs) != 1 || !reflect.DeepEqual(c.Inputs[0].Grouping, want) {
			t.Errorf("%s: inputs %+v, want grouping %+v", id, c.Inputs, want)
		}
		if c.Kind != cluster.Bolt || !reflect.DeepEqual(c.Object, cluster.Object{Class: &cluster.Class{Name: "go:demo", Args: []any{id}}}) {
			t.Errorf("%s: kind %d, object %+v", id, c.Kind, c.Object)
		}
	}
	spout := d.Components["words"]
	want := map[string]storm.StreamSpec{
		"default": {Fields: storm.Fields{"word", "n"}}, "back": {Fields: storm.Fields{"n"}, Direct: true},
	}
	if spout.Kind != cluster.Spout || spout.Parallelism != 2 || !reflect.DeepEqual(spout.Streams, want) {
		t.Errorf("words: %+v", spout)
	}
	if got := d.Components["shuffle"].Conf; got != `{"topology.tick.tuple.freq.secs":3}` {
		t.Errorf("conf of shuffle: %s", got)
	}
}

// A layout is the same whether it comes from the code or from its description.
func TestPlanIsTheLayout(t *testing.T) {
	top := every(t)
	settings := storm.Config{"topology.workers": 3}
	want, err := New(top, settings)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Describe(top, "demo")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Plan(d, settings)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Executors, want.Executors) || !reflect.DeepEqual(got.Tasks, want.Tasks) {
		t.Errorf("tasks %v, executors %v, want %v, %v", got.Tasks, got.Executors, want.Tasks, want.Executors)
	}
	for _, id := range want.Topology.ComponentIDs() {
		if !reflect.DeepEqual(got.Streams(id), want.Streams(id)) {
			t.Errorf("streams of %s: %v, want %v", id, got.Streams(id), want.Streams(id))
		}
	}
	if _, err := got.Topology.Components["words"].NewSpout(); err == nil {
		t.Error("a plan's spout can be made")
	}
}

func TestSystem(t *testing.T) {
	d, err := Describe(every(t), "demo")
	if err != nil {
		t.Fatal(err)
	}
	d.StormVersion = "2.8.8"
	l, err := Plan(d, storm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.System(d)
	if err != nil {
		t.Fatal(err)
	}
	if s.StormVersion != "2.8.8" || len(s.Components) != len(d.Components)+2 {
		t.Errorf("version %q, components %v", s.StormVersion, s.IDs(0))
	}
	if got := s.Components["words"]; !reflect.DeepEqual(got.Object, d.Components["words"].Object) || got.Kind != cluster.Spout {
		t.Errorf("words: %+v", got)
	}
	if got := s.Components["custom"].Inputs[0].Grouping; !reflect.DeepEqual(got, d.Components["custom"].Inputs[0].Grouping) {
		t.Errorf("grouping of custom: %+v", got)
	}
	if got := s.Components["__acker"].Object; got.Serialized == nil {
		t.Errorf("object of the acker: %+v", got)
	}
	if got := s.Components["fields"].Conf; got != `{"topology.tasks":3}` {
		t.Errorf("conf of fields: %s", got)
	}
}

func TestResolveRefuses(t *testing.T) {
	_, err := Plan(cluster.Topology{Components: map[string]cluster.Component{"a": {Kind: cluster.Spout, Conf: "{"}}}, nil)
	if err == nil {
		t.Error("a component's configuration that is no JSON is taken")
	}
}

func TestNoCode(t *testing.T) {
	for _, err := range []error{
		second(noCode{}.Spout("a", cluster.Object{})()),
		second(noCode{}.Bolt("a", cluster.Object{})()),
		second(noCode{}.Grouping("a", cluster.Input{})()),
	} {
		if err == nil || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("got %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
