package storm

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestConfigSetters(t *testing.T) {
	c := Config{"my.own": "kept"}
	c.SetDebug(true)
	c.SetNumWorkers(3)
	c.SetNumAckers(0)
	c.SetNumEventLoggers(1)
	c.SetMessageTimeoutSecs(45)
	c.SetMaxTaskParallelism(8)
	c.SetMaxSpoutPending(1000)
	c.SetTickTupleFreqSecs(5)
	c.SetStatsSampleRate(0.5)
	c.SetEnvironment(map[string]string{"LANG": "C"})
	c.SetTopologyPriority(10)
	c.SetTopologyStrategy("Strategy")

	want := Config{
		"my.own":                         "kept",
		"topology.debug":                 true,
		"topology.workers":               3,
		"topology.acker.executors":       0,
		"topology.eventlogger.executors": 1,
		"topology.message.timeout.secs":  45,
		"topology.max.task.parallelism":  8,
		"topology.max.spout.pending":     1000,
		"topology.tick.tuple.freq.secs":  5,
		"topology.stats.sample.rate":     0.5,
		"topology.environment":           map[string]any{"LANG": "C"},
		"topology.priority":              10,
		"topology.scheduler.strategy":    "Strategy",
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %v\nwant %v", c, want)
	}
}

func TestRegisterMetricsConsumerLeavesSharedListsAlone(t *testing.T) {
	a := Config{}
	a.RegisterMetricsConsumer("first", nil, 1)
	b := Config{string(ConfTopologyMetricsConsumerRegister): a[string(ConfTopologyMetricsConsumerRegister)]}
	a.RegisterMetricsConsumer("second", map[string]any{"port": 1}, 2)
	b.RegisterMetricsConsumer("third", nil, 3)

	first := map[string]any{"class": "first", "parallelism.hint": 1}
	for _, tt := range []struct {
		conf Config
		want []any
	}{
		{a, []any{first, map[string]any{"class": "second", "parallelism.hint": 2, "argument": map[string]any{"port": 1}}}},
		{b, []any{first, map[string]any{"class": "third", "parallelism.hint": 3}}},
	} {
		if got, _ := ConfTopologyMetricsConsumerRegister.Get(tt.conf); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("got %v, want %v", got, tt.want)
		}
	}
}

func TestKeyGet(t *testing.T) {
	c := Config{"topology.workers": nil, "topology.debug": "true"}
	if _, ok := ConfTopologyWorkers.Get(c); ok {
		t.Error("null counts as set")
	}
	if _, ok := ConfTopologyTasks.Get(c); ok {
		t.Error("an absent key counts as set")
	}
	if _, ok := ConfTopologyDebug.Get(c); ok {
		t.Error(`the string "true" counts as a bool`)
	}
	ConfTopologyTasks.Set(c, 4)
	if n, ok := ConfTopologyTasks.Get(c); n != 4 || !ok {
		t.Errorf("got %d, %t after setting 4", n, ok)
	}
}

// parsed is the outcome of Parse with T forgotten, so that one table serves
// all types.
func parsed[T Setting](v any) (any, string) {
	got, err := Key[T]("some.key").Parse(v)
	if err != nil {
		return nil, err.Error()
	}
	return got, ""
}

func TestKeyParse(t *testing.T) {
	tests := []struct {
		name  string
		parse func(any) (any, string)
		given any
		want  any
	}{
		{"int", parsed[int], 7, 7},
		{"int from int64", parsed[int], int64(-7), -7},
		{"int from int32", parsed[int], int32(7), 7},
		{"int from uint64", parsed[int], uint64(7), 7},
		{"int from whole float", parsed[int], 7.0, 7},
		{"int from json", parsed[int], json.Number("7"), 7},
		{"int from json float", parsed[int], json.Number("7e2"), 700},
		{"int at the float edge", parsed[int], float64(math.MinInt64), math.MinInt64},
		{"float", parsed[float64], 0.5, 0.5},
		{"float from int", parsed[float64], 2, 2.0},
		{"float from int64", parsed[float64], int64(2), 2.0},
		{"float from uint64", parsed[float64], uint64(2), 2.0},
		{"float from json", parsed[float64], json.Number("0.25"), 0.25},
		{"bool", parsed[bool], false, false},
		{"string", parsed[string], "x", "x"},
		{"strings", parsed[[]string], []string{"a"}, []string{"a"}},
		{"strings from list", parsed[[]string], []any{"a", "b"}, []string{"a", "b"}},
		{"strings from string", parsed[[]string], "a", []string{"a"}},
		{"list", parsed[[]any], []any{1, "a"}, []any{1, "a"}},
		{"list from strings", parsed[[]any], []string{"a"}, []any{"a"}},
		{"list from ints", parsed[[]any], []int{1}, []any{1}},
		{"list from maps", parsed[[]any], []map[string]any{{"a": 1}}, []any{map[string]any{"a": 1}}},
		{"map", parsed[map[string]any], map[string]any{"a": 1}, map[string]any{"a": 1}},
		{"map from config", parsed[map[string]any], Config{"a": 1}, map[string]any{"a": 1}},
		{"map from strings", parsed[map[string]any], map[string]string{"a": "b"}, map[string]any{"a": "b"}},
		{"map from ints", parsed[map[string]any], map[string]int{"a": 1}, map[string]any{"a": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.parse(tt.given)
			if err != "" || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %#v (%s), want %#v", got, err, tt.want)
			}
		})
	}
}

func TestKeyParseRefuses(t *testing.T) {
	tests := []struct {
		name  string
		parse func(any) (any, string)
		given any
		want  string
	}{
		{"fraction", parsed[int], 1.5, "some.key wants a whole number, not 1.5 (float64)"},
		{"too large", parsed[int], float64(1 << 63), "some.key wants a whole number, not 9.223372036854776e+18 (float64)"},
		{"not a number", parsed[int], math.NaN(), "some.key wants a whole number, not NaN (float64)"},
		{"too large unsigned", parsed[int], uint64(math.MaxUint64), "some.key wants a whole number, not 18446744073709551615 (uint64)"},
		{"digits in a string", parsed[int], "7", `some.key wants a whole number, not the string "7"`},
		{"bool for int", parsed[int], true, "some.key wants a whole number, not the boolean true"},
		{"json text", parsed[int], json.Number("x"), "some.key wants a whole number, not x (json.Number)"},
		{"string for float", parsed[float64], "0.5", `some.key wants a number, not the string "0.5"`},
		{"int for bool", parsed[bool], 1, "some.key wants true or false, not 1 (int)"},
		{"int for string", parsed[string], 1, "some.key wants a string, not 1 (int)"},
		{"null", parsed[string], nil, "some.key wants a string, not null"},
		{"mixed strings", parsed[[]string], []any{"a", 1}, "some.key wants a list of strings, not the list [a 1]"},
		{"map for list", parsed[[]any], map[string]any{"a": 1}, "some.key wants a list, not the map map[a:1]"},
		{"list for map", parsed[map[string]any], []any{1}, "some.key wants a map, not the list [1]"},
		{"long", parsed[int], strings.Repeat("x", 99), `some.key wants a whole number, not the string "` + strings.Repeat("x", 48) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := tt.parse(tt.given); err != tt.want {
				t.Errorf("got %#v, error %q\nwant error %q", got, err, tt.want)
			}
		})
	}
}

// What a typed key puts in comes out again after a trip through JSON, as it
// travels from the author to the workers.
func TestConfigSurvivesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Config{}
		// Integers above 2^53 do not fit into JSON's usual floats.
		n := rapid.IntRange(-1<<53, 1<<53).Draw(t, "n")
		f := rapid.Float64().Draw(t, "f")
		list := rapid.SliceOf(rapid.StringMatching(`[a-zé"\\]{0,8}`)).Draw(t, "list")
		ConfTopologyWorkers.Set(in, n)
		ConfTopologyStatsSampleRate.Set(in, f)
		ConfTopologyUsers.Set(in, list)

		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out Config
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatal(err)
		}
		if got, ok := ConfTopologyWorkers.Get(out); !ok || got != n {
			t.Fatalf("int %d came out as %d, %t", n, got, ok)
		}
		if got, ok := ConfTopologyStatsSampleRate.Get(out); !ok || got != f {
			t.Fatalf("float %g came out as %g, %t", f, got, ok)
		}
		if got, ok := ConfTopologyUsers.Get(out); len(list) > 0 && (!ok || !reflect.DeepEqual(got, list)) {
			t.Fatalf("list %q came out as %q, %t", list, got, ok)
		}
	})
}
