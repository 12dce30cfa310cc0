package submit_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/nimbus/submit"
	"github.com/stormring/stormring/storm"
)

func shell() cluster.Object { return cluster.Object{Shell: &cluster.Shell{Command: "x", Script: "y"}} }

// words is a spout "s" and a bolt "b", changed by f.
func words(f func(s, b *cluster.Component)) cluster.Topology {
	stream := func(fields ...string) map[string]storm.StreamSpec {
		return map[string]storm.StreamSpec{"default": {Fields: fields}}
	}
	s := cluster.Component{Kind: cluster.Spout, Object: shell(), Streams: stream("w"), Parallelism: 2}
	b := cluster.Component{
		Kind: cluster.Bolt, Object: shell(), Streams: stream("w", "n"), Parallelism: 3,
		Inputs: []cluster.Input{{Component: "s", Stream: "default", Grouping: cluster.Grouping{Kind: cluster.GroupFields, Fields: []string{"w"}}}},
	}
	if f != nil {
		f(&s, &b)
	}
	return cluster.Topology{Components: map[string]cluster.Component{"s": s, "b": b}}
}

func cluster1(t *testing.T, pairs ...string) *conf.Conf {
	t.Helper()
	values, err := conf.ParseOverrides(pairs)
	if err != nil {
		t.Fatal(err)
	}
	c, err := conf.Defaults().With("storm.yaml", values)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestName(t *testing.T) {
	for name, ok := range map[string]bool{
		"words": true, "word-count_2": true, "Zählung": true, "two words": true, "": false, "a/b": false, "a.b": false, "a:b": false, `a\b`: false,
		"a\nb": false, "a$b": false, strings.Repeat("n", 200): true, strings.Repeat("n", 201): false,
	} {
		if err := submit.Name(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestFinish(t *testing.T) {
	c := cluster1(t, "topology.message.timeout.secs=7", "topology.max.task.parallelism=2")
	own, merged, err := submit.Settings(c, `{"topology.workers": 2, "mine": 12345678901234567, "storm.zookeeper.topology.auth.payload": "secret", "storm.local.hostname": "evil", "topology.users": ["bob"]}`)
	if err != nil || merged.Int(storm.ConfTopologyMessageTimeoutSecs) != 7 {
		t.Fatalf("%v, %v", merged, err)
	}
	r := submit.Request{ID: "words-1-9", Name: "words", Own: own, Topology: words(func(_, b *cluster.Component) { b.Conf = `{"topology.tasks": 8, "k": "v"}` }), User: "ann", Principal: "ann@x"}
	got, err := submit.Finish(c, r)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"storm.id": "words-1-9", "topology.name": "words", "topology.submitter.user": "ann", "topology.submitter.principal": "ann@x",
		"topology.workers": 2, "topology.acker.executors": 2, "topology.max.task.parallelism": 2, "topology.eventlogger.executors": 0,
		"storm.zookeeper.topology.auth.payload": nil, "storm.local.hostname": nil,
	} {
		if got.Conf[key] != want {
			t.Errorf("%s is %v, want %v", key, got.Conf[key], want)
		}
	}
	if users := got.Conf["topology.users"]; fmt.Sprint(users) != "[bob ann@x ann]" {
		t.Errorf("users %v", users)
	}
	if fmt.Sprint(got.Conf["mine"]) != "12345678901234567" {
		t.Errorf("mine is %v", got.Conf["mine"])
	}
	if b := got.Topology.Components["b"].Conf; b != `{"k":"v","topology.tasks":2}` {
		t.Errorf("conf of b is %s", b)
	}
	if want := map[string]int{"s": 2, "b": 2, "__acker": 2}; !maps.Equal(got.Executors, want) || got.Workers != 2 {
		t.Errorf("executors %v, workers %d", got.Executors, got.Workers)
	}
	if r.Own["storm.id"] != nil || r.Topology.Components["s"].Conf != "" {
		t.Error("the request was changed")
	}
}

func TestFinishRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     func(s, b *cluster.Component)
		pairs []string
		want  []string
	}{
		{"serialized", func(s, _ *cluster.Component) { s.Object = cluster.Object{Serialized: []byte{1}} }, nil, []string{`"s"`, "serialized_java", "JVM"}},
		{"no object", func(s, _ *cluster.Component) { s.Object = cluster.Object{} }, nil, []string{`"s"`, "no object"}},
		{"system stream", func(s, _ *cluster.Component) { s.Streams["__x"] = storm.StreamSpec{} }, nil, []string{`"s"`, `"__x"`}},
		{"spout with inputs", func(s, b *cluster.Component) { s.Inputs = b.Inputs }, nil, []string{`"s"`, "inputs"}},
		{"negative", func(_, b *cluster.Component) { b.Parallelism = -1 }, nil, []string{`"b"`, "-1"}},
		{"no JSON", func(_, b *cluster.Component) { b.Conf = "{" }, nil, []string{`"b"`}},
		{"unknown source", func(_, b *cluster.Component) { b.Inputs[0].Component = "q" }, nil, []string{`"b"`, `"q"`}},
		{"unknown stream", func(_, b *cluster.Component) { b.Inputs[0].Stream = "q" }, nil, []string{`"b"`, `"q"`, `"s"`}},
		{"unknown field", func(_, b *cluster.Component) { b.Inputs[0].Grouping.Fields = []string{"q"} }, nil, []string{`"b"`, `"q"`, `"s"`}},
		{"heap", func(_, b *cluster.Component) { b.Conf = `{"topology.component.resources.onheap.memory.mb": 1000}` }, nil, []string{`"b"`, "1000", "768", "topology.worker.max.heap.size.mb"}},
		{"need no number", func(_, b *cluster.Component) { b.Conf = `{"topology.component.cpu.pcore.percent": "x"}` }, nil, []string{`"b"`, "topology.component.cpu.pcore.percent"}},
		{"need below zero", func(_, b *cluster.Component) { b.Conf = `{"topology.component.resources.map": {"gpu": -1}}` }, nil, []string{`"b"`, "gpu"}},
		{"slots", nil, []string{"nimbus.slots.perTopology=0"}, []string{"1 workers", "nimbus.slots.perTopology"}},
		{"executors", nil, []string{"nimbus.executors.perTopology=5"}, []string{"6 executors", "nimbus.executors.perTopology"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := submit.Finish(cluster1(t, c.pairs...), submit.Request{ID: "x-1-1", Name: "x", Topology: words(c.f)})
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestFinishTakes(t *testing.T) {
	top := words(func(s, b *cluster.Component) {
		s.Object = cluster.Object{Serialized: []byte{1}}
		b.Object = cluster.Object{Class: &cluster.Class{Name: "com.example.Words"}}
		b.Inputs = append(b.Inputs, cluster.Input{Component: "__system", Stream: "__tick", Grouping: cluster.Grouping{Kind: cluster.GroupAll}})
	})
	top.Components["$checkpointspout"] = cluster.Component{Kind: cluster.Spout, Object: shell(), Streams: map[string]storm.StreamSpec{"$checkpoint": {}}}
	got, err := submit.Finish(cluster1(t), submit.Request{ID: "x-1-1", Name: "x", Topology: top, JVM: func(string) (submit.JVM, error) { return submit.JVM{Release: "2.8.3"}, nil }})
	if err != nil || got.Executors["$checkpointspout"] != 1 || got.Conf["stormring.jvm.version"] != "2.8.3" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestStateProvider: stateful topologies of Java keep their state on the ring where
// that can be, unless they say where else.
func TestStateProvider(t *testing.T) {
	const ring, key, kryo = "stormring.state.RingStateProvider", "topology.state.provider", "topology.kryo.register"
	const action = "org.apache.storm.spout.CheckPointState$Action"
	for name, c := range map[string]struct {
		stateful, offered bool
		own               map[string]any
		cluster           []string
		provider, kryo    any
		err               string
	}{
		"by default":          {stateful: true, offered: true, provider: ring, kryo: []any{action}},
		"classes are kept":    {stateful: true, offered: true, own: map[string]any{kryo: []any{"x.Y"}}, provider: ring, kryo: []any{action, "x.Y"}},
		"it knows the class":  {stateful: true, offered: true, own: map[string]any{kryo: []any{map[string]any{action: "x.S"}}}, provider: ring, kryo: []any{map[string]any{action: "x.S"}}},
		"nobody can":          {stateful: true, kryo: []any{action}},
		"no state":            {offered: true},
		"another":             {stateful: true, offered: true, own: map[string]any{key: "x.Y"}, provider: "x.Y", kryo: []any{action}},
		"another everywhere":  {stateful: true, offered: true, cluster: []string{key + "=x.Y"}, kryo: []any{action}},
		"asked for":           {offered: true, own: map[string]any{key: ring}, provider: ring},
		"asked for in vain":   {stateful: true, own: map[string]any{key: ring}, err: "run on them: stormring jvm install 2.8.3"},
		"everywhere, in vain": {stateful: true, cluster: []string{key + "=" + ring}, err: "run on them: stormring jvm install 2.8.3"},
	} {
		t.Run(name, func(t *testing.T) {
			top := words(func(s, _ *cluster.Component) { s.Object = cluster.Object{Serialized: []byte{1}} })
			if c.stateful {
				top.Components["$checkpointspout"] = cluster.Component{Kind: cluster.Spout, Object: shell(), Streams: map[string]storm.StreamSpec{"$checkpoint": {}}}
			}
			got, err := submit.Finish(cluster1(t, c.cluster...), submit.Request{
				ID: "x-1-1", Name: "x", Own: c.own, Topology: top,
				JVM: func(string) (submit.JVM, error) { return submit.JVM{Release: "2.8.3", State: c.offered}, nil },
			})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p, k := got.Conf[key], got.Conf[kryo]; !reflect.DeepEqual(p, c.provider) || !reflect.DeepEqual(k, c.kryo) {
				t.Errorf("provider %v, classes %v; want %v, %v", p, k, c.provider, c.kryo)
			}
		})
	}
}

func TestNeeds(t *testing.T) {
	top := words(func(s, b *cluster.Component) {
		s.Conf = `{"topology.component.resources.onheap.memory.mb": 64, "topology.component.resources.map": {"gpu": 2, "cpu.pcore.percent": 5}}`
	})
	got, err := submit.Finish(cluster1(t, "topology.acker.cpu.pcore.percent=3"), submit.Request{ID: "x-1-1", Name: "x", Topology: top})
	if err != nil {
		t.Fatal(err)
	}
	want := "map[__acker:{128 0 3 map[]} b:{128 0 10 map[]} s:{64 0 5 map[gpu:2]}]"
	if s := fmt.Sprint(got.Needs); s != want {
		t.Errorf("needs %s, want %s", s, want)
	}
	changed, err := submit.WithResources(got.Topology, map[string]map[string]float64{"s": {"onheap.memory.mb": 32, "disk": 1}, "nobody": {"x": 1}})
	if err != nil {
		t.Fatal(err)
	}
	got, err = submit.Finish(cluster1(t), submit.Request{ID: "x-1-1", Name: "x", Topology: changed})
	if s := fmt.Sprint(got.Needs["s"]); err != nil || s != "{32 0 5 map[disk:1 gpu:2]}" {
		t.Errorf("needs of s %s, %v", s, err)
	}
}

func TestBlobKeys(t *testing.T) {
	_, merged, err := submit.Settings(cluster1(t), `{"topology.blobstore.map": {"b": {}, "a": {}}}`)
	got := submit.BlobKeys(merged, cluster.Topology{DependencyJars: []string{"dep-x"}, DependencyArtifacts: []string{"a"}})
	if err != nil || !slices.Equal(got, []string{"a", "b", "dep-x"}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestRebalanceDropsWhatUsersMayNotSet(t *testing.T) {
	own, err := submit.CheckRebalance(cluster1(t), words(nil), cluster.RebalanceOptions{
		Conf: `{"topology.submitter.user": "eve", "storm.zookeeper.superACL": "x", "topology.acker.executors": 9, "storm.id": "y", "mine": true}`, Executors: map[string]int{"__acker": 1},
	})
	if err != nil || len(own) != 1 || fmt.Sprint(own["mine"]) != "true" {
		t.Errorf("%v, %v", own, err)
	}
}

// Tasks stay what they were when a topology's stored form is laid out again.
func TestTasksStay(t *testing.T) {
	c := cluster1(t)
	rapid.Check(t, func(t *rapid.T) {
		top := words(func(s, b *cluster.Component) {
			s.Parallelism, b.Parallelism = rapid.IntRange(0, 6).Draw(t, "s"), rapid.IntRange(0, 6).Draw(t, "b")
			if n := rapid.IntRange(0, 9).Draw(t, "tasks"); n > 0 {
				b.Conf = fmt.Sprintf(`{"topology.tasks": %d}`, n)
			}
		})
		own := map[string]any{"topology.workers": rapid.IntRange(1, 5).Draw(t, "workers")}
		if n := rapid.IntRange(0, 4).Draw(t, "limit"); n > 0 {
			own["topology.max.task.parallelism"] = n
		}
		first, err := submit.Finish(c, submit.Request{ID: "x-1-1", Name: "x", Own: own, Topology: top})
		if err != nil {
			t.Fatal(err)
		}
		first.Conf["topology.workers"] = 7 // as a rebalance does
		second, err := submit.Finish(c, submit.Request{ID: "x-1-1", Name: "x", Own: first.Conf, Topology: first.Topology})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprint(first.Layout.Tasks), fmt.Sprint(second.Layout.Tasks); a != b {
			t.Fatalf("tasks %s became %s", a, b)
		}
	})
}
