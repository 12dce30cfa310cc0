package conf

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/storm"
)

// with is Defaults with one layer on top that must be right.
func with(t *testing.T, values map[string]any) *Conf {
	t.Helper()
	c, err := Defaults().With("test", values)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	want := map[string]any{
		"topology.workers":                      1,
		"topology.acker.executors":              nil,
		"topology.message.timeout.secs":         30,
		"topology.enable.message.timeouts":      true,
		"topology.max.spout.pending":            nil,
		"topology.stats.sample.rate":            0.05,
		"topology.executor.receive.buffer.size": 4096, // ours, see the table
		"topology.state.checkpoint.interval.ms": 1000,
		"topology.localityaware.higher.bound":   0.8,
		"topology.worker.max.heap.size.mb":      768.0,
		"topology.priority":                     29,
		"nimbus.seeds":                          []string{"localhost"},
		"nimbus.thrift.port":                    6627,
		"supervisor.thrift.port":                6628,
		"supervisor.cpu.capacity":               400.0,
		"drpc.port":                             3772,
		"ui.port":                               8080,
		"logviewer.port":                        8000,
		"storm.zookeeper.root":                  "/storm",
		"stormring.transport.compression":       "none",
		"stormring.batch.size":                  100,
		"topology.sr3.shard.bytes":              4194304,
	}
	c := Defaults()
	for key, v := range want {
		if got := c.Value(key); !reflect.DeepEqual(got, v) {
			t.Errorf("%s is %#v, want %#v", key, got, v)
		}
	}
	if got, want := c.Ints(SupervisorSlotsPorts), []int{6700, 6701, 6702, 6703}; !reflect.DeepEqual(got, want) {
		t.Errorf("slots are %v, want %v", got, want)
	}
}

func TestGetters(t *testing.T) {
	c := with(t, map[string]any{
		"topology.workers":                   int64(4),
		"topology.debug":                     true,
		"topology.name":                      "words",
		"topology.stats.sample.rate":         1,
		"topology.users":                     []any{"ann", "bob"},
		"topology.environment":               map[string]any{"LANG": "C"},
		"topology.kryo.register":             []any{"a.Class"},
		"topology.spout.recvq.skips":         3.0,
		"storm.zookeeper.session.timeout":    uint64(1500),
		"logviewer.cleanup.age.mins":         2,
		"nimbus.task.timeout.secs":           7,
		"topology.backpressure.check.millis": 9,
	})
	tests := []struct {
		name      string
		got, want any
	}{
		{"int", c.Int(storm.ConfTopologyWorkers), 4},
		{"int from float", c.Int(storm.ConfTopologySpoutRecvqSkips), 3},
		{"int, null", c.Int(storm.ConfTopologyMaxSpoutPending), 0},
		{"bool", c.Bool(storm.ConfTopologyDebug), true},
		{"string", c.String(storm.ConfTopologyName), "words"},
		{"float from int", c.Float(storm.ConfTopologyStatsSampleRate), 1.0},
		{"strings", c.Strings(storm.ConfTopologyUsers), []string{"ann", "bob"}},
		{"map", c.Map(storm.ConfTopologyEnvironment), map[string]any{"LANG": "C"}},
		{"list", c.List(storm.ConfTopologyKryoRegister), []any{"a.Class"}},
		{"seconds", c.Duration(NimbusTaskTimeoutSecs), 7 * time.Second},
		{"millis", c.Duration(storm.ConfTopologyBackpressureCheckMillis), 9 * time.Millisecond},
		{"millis, nameless", c.Duration(ZookeeperSessionTimeout), 1500 * time.Millisecond},
		{"minutes", c.Duration(LogviewerCleanupAge), 2 * time.Minute},
		{"duration, null", c.Duration(storm.ConfTopologyTickTupleFreqSecs), time.Duration(0)},
		{"has", c.Has("topology.name"), true},
		{"has, null", c.Has("topology.max.spout.pending"), false},
		{"has, unknown", c.Has("my.key"), false},
	}
	for _, tt := range tests {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: got %#v, want %#v", tt.name, tt.got, tt.want)
		}
	}
}

func TestGettersPanicOnOurOwnMistakes(t *testing.T) {
	c := Defaults()
	for name, tt := range map[string]struct {
		get  func()
		want string
	}{
		"unknown":    {func() { c.Int("my.key") }, `broken invariant: configuration key "my.key" is not in the tables of internal/conf`},
		"wrong type": {func() { c.Bool("topology.workers") }, `broken invariant: configuration key "topology.workers" is read as true or false, but the tables of internal/conf say otherwise`},
		"no unit":    {func() { c.Duration("topology.workers") }, `broken invariant: configuration key "topology.workers" is read as a duration, but has no unit`},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("got %v\nwant %v", got, tt.want)
				}
			}()
			tt.get()
		})
	}
}

func TestWithRefuses(t *testing.T) {
	tests := []struct {
		key, want string
		value     any
	}{
		{"topology.workers", "topology.workers wants a whole number, not the string \"two\"", "two"},
		{"topology.workers", "topology.workers wants a whole number, not 1.5 (float64)", 1.5},
		{"topology.workers", "topology.workers wants a whole number of at least 1, not 0", 0},
		{"topology.workers", "topology.workers wants a whole number, not null", nil},
		{"topology.debug", "topology.debug wants true or false, not the string \"true\"", "true"},
		{"topology.debug", "topology.debug wants true or false, not 1 (int64)", 1},
		{"topology.stats.sample.rate", "topology.stats.sample.rate wants a number from 0 to 1, not 1.5", 1.5},
		{"topology.name", "topology.name wants a string, not 7 (int64)", 7},
		{"topology.state.checkpoint.interval.ms", "topology.state.checkpoint.interval.ms wants a whole number of at least 100, not 99", 99},
		{"stormring.transport.compression", "stormring.transport.compression wants one of none, s2, not zstd", "zstd"},
		{"topology.sr3.recovery", "topology.sr3.recovery wants one of star, line, tree, auto, not ring", "ring"},
		{"nimbus.thrift.port", "nimbus.thrift.port wants a whole number from 0 to 65535, not 65536", 65536},
		{"nimbus.seeds", "nimbus.seeds wants a list of strings that is not empty, not []", []any{}},
		{"storm.local.dir", "storm.local.dir wants a string that is not empty, not ", ""},
		{"supervisor.slots.ports", "supervisor.slots.ports wants a list of ports from 1 to 65535, none twice, not [6700 6700]", []any{6700, 6700}},
		{"supervisor.slots.ports", "supervisor.slots.ports wants a list of ports from 1 to 65535, none twice, not [a]", []any{"a"}},
		{"supervisor.slots.ports", "supervisor.slots.ports wants a list, not 6700 (int64)", 6700},
		{"topology.environment", "topology.environment wants a map, not the list [A]", []any{"A"}},
	}
	for _, tt := range tests {
		_, err := Defaults().With("storm.yaml", map[string]any{tt.key: tt.value})
		if err == nil || err.Error() != "storm.yaml: "+tt.want {
			t.Errorf("%s = %v:\ngot  %v\nwant storm.yaml: %s", tt.key, tt.value, err, tt.want)
		}
	}
}

func TestWithListsAllProblems(t *testing.T) {
	_, err := Defaults().With("the configuration", map[string]any{"topology.workers": 0, "topology.debug": 1, "my.key": 1})
	bad, ok := errors.AsType[*InvalidError](err)
	if !ok || len(bad.Problems) != 2 || bad.Layer != "the configuration" {
		t.Fatalf("got %v", err)
	}
	if want := "topology.debug wants true or false, not 1 (int64)"; bad.Problems[0] != want {
		t.Errorf("got %q first, want %q", bad.Problems[0], want)
	}
	if _, err := Defaults().With("the configuration", map[string]any{"topology.max.spout.pending": nil, "my.key": nil}); err != nil {
		t.Error(err)
	}
}

func TestLayersLieOnEachOther(t *testing.T) {
	file := with(t, map[string]any{"topology.workers": 2, "topology.max.spout.pending": 100, "my.key": "file"})
	topo, err := file.Topology(map[string]any{"topology.workers": 3, "topology.max.spout.pending": nil, "my.own": []any{1}})
	if err != nil {
		t.Fatal(err)
	}
	if got := file.Int(storm.ConfTopologyWorkers); got != 2 {
		t.Errorf("the lower layer changed: %d workers", got)
	}
	for key, want := range map[string]any{
		"topology.workers":              3,
		"topology.max.spout.pending":    nil,
		"topology.message.timeout.secs": 30,
		"my.key":                        "file",
		"my.own":                        []any{int64(1)},
	} {
		if got := topo.Value(key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v, want %#v", key, got, want)
		}
		if got := topo.All()[key]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v in All, want %#v", key, got, want)
		}
	}
	for key, want := range map[string]string{
		"topology.workers":              "the topology's configuration",
		"my.key":                        "test",
		"topology.message.timeout.secs": "",
	} {
		if got := topo.Layer(key); got != want {
			t.Errorf("%s comes from %q, want %q", key, got, want)
		}
	}
}

func TestComponentSetsOnlyWhatStormLetsIt(t *testing.T) {
	topo := with(t, map[string]any{"topology.workers": 2})
	c, err := topo.Component("counter", map[string]any{
		"topology.tick.tuple.freq.secs": 5,
		"topology.debug":                true,
		"topology.sr3.recovery":         "line",
		"my.key":                        "mine",
		"topology.workers":              "left out, so its type does not matter",
		"nimbus.thrift.port":            1,
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"topology.tick.tuple.freq.secs": 5,
		"topology.debug":                true,
		"topology.sr3.recovery":         "line",
		"my.key":                        "mine",
		"topology.workers":              2,
		"nimbus.thrift.port":            6627,
	} {
		if got := c.Value(key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v, want %#v", key, got, want)
		}
	}
	_, err = topo.Component("counter", map[string]any{"topology.debug": "yes"})
	if want := `the configuration of component "counter": topology.debug wants true or false, not the string "yes"`; fmt.Sprint(err) != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// A layer on top decides its own keys and no others, whatever the values.
func TestWithProperty(t *testing.T) {
	keys := []string{"topology.workers", "topology.tasks", "nimbus.task.timeout.secs", "my.key", "my.other"}
	layer := rapid.MapOf(rapid.SampledFrom(keys), rapid.IntRange(1, 1000))
	rapid.Check(t, func(t *rapid.T) {
		c, want := Defaults(), maps.Clone(Defaults().values)
		for range rapid.IntRange(0, 4).Draw(t, "layers") {
			values := map[string]any{}
			for k, n := range layer.Draw(t, "values") {
				values[k] = n
				want[k] = n
				if _, known := table[k]; !known {
					want[k] = int64(n)
				}
			}
			next, err := c.With("layer", values)
			if err != nil {
				t.Fatal(err)
			}
			c = next
		}
		if !reflect.DeepEqual(c.All(), want) {
			t.Fatalf("got %v\nwant %v", c.All(), want)
		}
	})
}

func BenchmarkComponent(b *testing.B) {
	topo := Defaults()
	values := map[string]any{"topology.tick.tuple.freq.secs": 5, "my.key": "x"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := topo.Component("bolt", values); err != nil {
			b.Fatal(err)
		}
	}
}
