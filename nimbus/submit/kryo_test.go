package submit_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/submit"
)

// TestKryoOfCheckpoints: topologies with state may have several workers.
func TestKryoOfCheckpoints(t *testing.T) {
	top := words(nil)
	top.Components["$checkpointspout"] = cluster.Component{Kind: cluster.Spout, Object: shell()}
	got, err := submit.Finish(cluster1(t), submit.Request{ID: "x-1-1", Name: "x", Topology: top})
	if err != nil {
		t.Fatal(err)
	}
	if want := []any{"org.apache.storm.spout.CheckPointState$Action"}; !slices.Equal(got.Conf["topology.kryo.register"].([]any), want) {
		t.Errorf("%v, want %v", got.Conf["topology.kryo.register"], want)
	}
}

// TestKryo: what components register to be serialized is the topology's, as Storm's
// workers expect it.
func TestKryo(t *testing.T) {
	const register, decorators = "topology.kryo.register", "topology.kryo.decorators"
	tests := map[string]struct {
		spout, bolt string
		own         map[string]any
		want        string
	}{
		"nothing":         {"", "", nil, `[null,null]`},
		"the topology's":  {"", "", map[string]any{register: []any{"B", "A"}}, `[["B","A"],null]`},
		"a component's":   {`{"topology.kryo.register": ["A"]}`, "", nil, `[["A"],null]`},
		"all of them":     {`{"topology.kryo.register": ["C", {"A": "SA"}]}`, `{"topology.kryo.register": ["C"]}`, map[string]any{register: []any{"B"}}, `[[{"A":"SA"},"B","C"],null]`},
		"the own counts":  {`{"topology.kryo.register": [{"A": "SA"}]}`, "", map[string]any{register: []any{map[string]any{"A": "own"}}}, `[[{"A":"own"}],null]`},
		"decorators":      {`{"topology.kryo.decorators": ["D"]}`, `{"topology.kryo.decorators": ["E", "D"]}`, map[string]any{decorators: []any{"F"}}, `[null,["E","D","F"]]`},
		"a map of Storm":  {`{"topology.kryo.register": {"A": null}}`, "", nil, `[["A"],null]`},
		"not a list":      {`{"topology.kryo.register": 7}`, "", nil, `component "s": its configuration: topology.kryo.register`},
		"not a class":     {"", `{"topology.kryo.register": [7]}`, nil, `component "b": its configuration: topology.kryo.register`},
		"no decorators":   {`{"topology.kryo.decorators": "D"}`, "", nil, `topology.kryo.decorators`},
		"nothing in them": {`{"topology.kryo.register": []}`, "{}", nil, `[null,null]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			top := words(func(s, b *cluster.Component) { s.Conf, b.Conf = test.spout, test.bolt })
			got, err := submit.Finish(cluster1(t), submit.Request{ID: "x-1-1", Name: "x", Own: test.own, Topology: top})
			if !strings.HasPrefix(test.want, "[") {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal([]any{got.Conf[register], got.Conf[decorators]})
			if err != nil || string(text) != test.want {
				t.Errorf("%s, error %v, want %s", text, err, test.want)
			}
		})
	}
}
