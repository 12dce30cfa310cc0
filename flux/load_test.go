package flux

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
)

const whole1 = "\ufeff" + `# every way to say what runs
name: größe
x-shared: &shared {topology.debug: true}
config:
  topology.workers: 2
  <<: *shared
  deep: {a: [1, 2.5, "3", null, true], b: ~}
components:
  - id: fields
    className: org.apache.storm.tuple.Fields
    constructorArgs: [["word", "n"]]
  - {id: limit, value: 7}
includes:
  - {file: more/more.yaml}
spouts:
  - id: flux
    className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout
    constructorArgs: [[python3, words.py], [word]]
    parallelism: 3
    numTasks: 6
    cpuLoad: 12.5
    onHeapMemoryLoad: 256
  - id: own
    command: [ruby, -w, words.rb]
    outputs: {default: [word], aside: {fields: [n], direct: true}}
    env: {LANG: C, N: 3}
  - id: lines
    className: lines
    constructorArgs: [/a, 3, true]
bolts:
  - id: wrapped
    className: org.apache.storm.flux.wrappers.bolts.FluxShellBolt
    constructorArgs: [["node", "split.js"], {ref: fields}]
    configMethods:
      - {name: setNamedStream, args: [errors, [line, why]]}
      - {name: addComponentConfig, args: [topology.tick.tuple.freq.secs, 5]}
      - {name: setEnv, args: [{A: b}]}
  - id: picky
    className: pick
    constructorArgs: [{ref: limit}, [a, b]]
    properties: [{name: deep, value: {x: 1}}]
    config: {topology.debug: false}
streams:
  - {name: a name, from: flux, to: wrapped, grouping: {type: SHUFFLE}}
  - {from: own, to: wrapped, grouping: {type: fields, args: [word]}}
  - {from: own, to: wrapped, grouping: {type: DIRECT, streamId: aside}}
  - {from: wrapped, to: picky, grouping: {type: CUSTOM, customClass: {className: org.apache.storm.grouping.PartialKeyGrouping, constructorArgs: [{ref: fields}]}}}
  - {from: wrapped, to: picky, grouping: {type: ALL, streamId: errors}}
  - {from: lines, to: picky, grouping: {type: GLOBAL}}
`

const more1 = `bolts:
- {id: log, className: org.apache.storm.flux.wrappers.bolts.LogInfoBolt}
- {id: counter, className: org.apache.storm.testing.TestWordCounter}
streams:
- {from: counter, to: log, grouping: {type: LOCAL_OR_SHUFFLE}}
- {from: lines, to: counter, grouping: {type: NONE}}
`

func TestLoad(t *testing.T) {
	f := files{"t.yaml": strings.ReplaceAll(whole1, "\n", "\r\n"), "more/more.yaml": more1}
	got, err := Load(f.options())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Warnings) > 0 || !got.Registered || got.Name != "größe" {
		t.Errorf("name %q, registered %t, warnings %v", got.Name, got.Registered, got.Warnings)
	}
	conf, err := json.Marshal(got.Conf)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"deep":{"a":[1,2.5,"3",null,true],"b":null},"topology.debug":true,"topology.workers":2}`; string(conf) != want {
		t.Errorf("configuration\n%s\nwant\n%s", conf, want)
	}
	shuffle := cluster.Grouping{Kind: cluster.GroupShuffle}
	def := storm.DefaultStream
	want := map[string]cluster.Component{
		"flux": {
			Kind: cluster.Spout, Object: cluster.Object{Shell: &cluster.Shell{Command: "python3", Script: "words.py"}}, Parallelism: 3,
			Streams: map[string]storm.StreamSpec{def: {Fields: storm.Fields{"word"}}},
			Conf:    `{"topology.component.cpu.pcore.percent":12.5,"topology.component.resources.onheap.memory.mb":256.0,"topology.tasks":6}`,
		},
		"own": {
			Kind: cluster.Spout, Object: cluster.Object{Class: &cluster.Class{Name: layout.ShellSpoutClass, Args: []any{"ruby", "-w", "words.rb"}}}, Parallelism: 1,
			Streams: map[string]storm.StreamSpec{def: {Fields: storm.Fields{"word"}}, "aside": {Fields: storm.Fields{"n"}, Direct: true}},
			Conf:    `{"stormring.component.env":{"LANG":"C","N":"3"}}`,
		},
		"lines": {
			Kind: cluster.Spout, Object: cluster.Object{Class: &cluster.Class{Name: "lines", Args: []any{"/a", int64(3), true}}}, Parallelism: 1,
			Streams: map[string]storm.StreamSpec{def: {Fields: storm.Fields{"line"}}, "back": {Fields: storm.Fields{"n"}, Direct: true}},
			Conf:    `{"args":"[/a 3 true]"}`,
		},
		"wrapped": {
			Kind: cluster.Bolt, Object: cluster.Object{Class: &cluster.Class{Name: layout.ShellBoltClass, Args: []any{"node", "split.js"}}}, Parallelism: 1,
			Streams: map[string]storm.StreamSpec{def: {Fields: storm.Fields{"word", "n"}}, "errors": {Fields: storm.Fields{"line", "why"}}},
			Conf:    `{"stormring.component.env":{"A":"b"},"topology.tick.tuple.freq.secs":5}`,
			Inputs: []cluster.Input{
				{Component: "flux", Stream: def, Grouping: shuffle},
				{Component: "own", Stream: "aside", Grouping: cluster.Grouping{Kind: cluster.GroupDirect}},
				{Component: "own", Stream: def, Grouping: cluster.Grouping{Kind: cluster.GroupFields, Fields: []string{"word"}}},
			},
		},
		"picky": {
			Kind: cluster.Bolt, Object: cluster.Object{Class: &cluster.Class{Name: "pick"}}, Parallelism: 1, Streams: map[string]storm.StreamSpec{},
			Conf: `{"stormring.component.args":[7,["a","b"],{"deep":{"x":1}}],"topology.debug":false}`,
			Inputs: []cluster.Input{
				{Component: "lines", Stream: def, Grouping: cluster.Grouping{Kind: cluster.GroupFields}},
				{Component: "wrapped", Stream: def, Grouping: cluster.Grouping{Kind: cluster.GroupCustomObject, Class: &cluster.Class{Name: "go:partial-key", Args: []any{"word", "n"}}}},
				{Component: "wrapped", Stream: "errors", Grouping: cluster.Grouping{Kind: cluster.GroupAll}},
			},
		},
		"log": {
			Kind: cluster.Bolt, Object: cluster.Object{Class: &cluster.Class{Name: layout.LogInfoBoltClass}}, Parallelism: 1, Streams: map[string]storm.StreamSpec{},
			Inputs: []cluster.Input{{Component: "counter", Stream: def, Grouping: cluster.Grouping{Kind: cluster.GroupLocalOrShuffle}}},
		},
		"counter": {
			Kind: cluster.Bolt, Object: cluster.Object{Class: &cluster.Class{Name: layout.TestWordCounterClass}}, Parallelism: 1,
			Streams: map[string]storm.StreamSpec{def: {Fields: storm.Fields{"word", "count"}}},
			Inputs:  []cluster.Input{{Component: "lines", Stream: def, Grouping: cluster.Grouping{Kind: cluster.GroupNone}}},
		},
	}
	for id, w := range want {
		if g := got.Description.Components[id]; shownJSON(g) != shownJSON(w) {
			t.Errorf("component %s:\n%s\nwant\n%s", id, shownJSON(g), shownJSON(w))
		}
	}
	if n := len(got.Description.Components); n != len(want) {
		t.Errorf("%d components, want %d", n, len(want))
	}
}

// shownJSON is a component as JSON, with empty and nil the same.
func shownJSON(c cluster.Component) string {
	if len(c.Streams) == 0 {
		c.Streams = nil
	}
	if c.Object.Class != nil && len(c.Object.Class.Args) == 0 {
		class := *c.Object.Class
		class.Args = nil
		c.Object.Class = &class
	}
	for i := range c.Inputs {
		if len(c.Inputs[i].Grouping.Fields) == 0 {
			c.Inputs[i].Grouping.Fields = nil
		}
	}
	if c.Conf == "" {
		c.Conf = "{}"
	}
	b, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// TestLoadStreamparse reads what streamparse 5.0.1 writes for `sparse run`.
func TestLoadStreamparse(t *testing.T) {
	f := files{"t.yaml": `bolts:
- className: org.apache.storm.flux.wrappers.bolts.FluxShellBolt
  configMethods:
  - args:
    - default
    - [word, count]
    name: setNamedStream
  - args:
    - topology.tick.tuple.freq.secs
    - 1
    name: addComponentConfig
  constructorArgs:
  - [streamparse_run, bolts.count.Count]
  id: count
  parallelism: 2
components: []
config:
  pystorm.log.path: null
  topology.workers: 1
name: words
spouts:
- className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout
  configMethods:
  - args:
    - default
    - [word]
    name: setNamedStream
  constructorArgs:
  - [streamparse_run, spouts.words.Words]
  id: words
  parallelism: 1
streams:
- from: words
  grouping:
    args: [word]
    streamId: default
    type: FIELDS
  id: words-count
  to: count
`}
	got, err := Load(f.options())
	if err != nil {
		t.Fatal(err)
	}
	c := got.Description.Components["count"]
	if c.Object.Shell == nil || *c.Object.Shell != (cluster.Shell{Command: "streamparse_run", Script: "bolts.count.Count"}) ||
		c.Conf != `{"topology.tick.tuple.freq.secs":1}` || c.Parallelism != 2 || len(c.Inputs) != 1 || got.Registered || len(got.Warnings) > 0 {
		t.Errorf("%s\nwarnings %v", shownJSON(c), got.Warnings)
	}
	if v, ok := got.Conf["pystorm.log.path"]; !ok || v != nil {
		t.Errorf("null is %v, %t", v, ok)
	}
}

func TestSubstitution(t *testing.T) {
	f := files{"t.yaml": "name: ${name}\nconfig: {a: ${n}, b: \"${ENV-HOME}/x\", c: \"${list[1]}\", d: \"${none}\"}\nspouts: [{id: s, command: [a]}]\n"}
	o := f.options()
	o.Properties = map[string]string{"name": "words", "n": "17", "list": `["p", "q"]`}
	o.Env = func(name string) (string, bool) { return "/home/u", name == "HOME" }
	got, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	want := storm.Config{"a": int64(17), "b": "/home/u/x", "c": "q", "d": "${none}"}
	if got.Name != "words" || !reflect.DeepEqual(got.Conf, want) {
		t.Errorf("%q, %#v", got.Name, got.Conf)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(whole1, more1)
	for _, c := range cases() {
		f.Add(c.text, c.text)
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		o := files{"t.yaml": one, "u.yaml": two, "more/more.yaml": two}.options()
		o.Properties = map[string]string{"a": one}
		began := time.Now()
		got, err := Load(o)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %s", took)
		}
		if (got == nil) == (err == nil) {
			t.Fatalf("%v and %v", got, err)
		}
		if err == nil && got.Name == "" {
			t.Error("a topology without a name")
		}
	})
}
