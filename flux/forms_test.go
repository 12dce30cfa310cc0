package flux

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
)

// form is one component under test, a bolt called b, with what comes of it.
type form struct {
	name, text string
	shell      cluster.Shell
	class      *cluster.Class
	conf       string
	streams    map[string]storm.StreamSpec
}

// fields is a default stream.
func fields(names ...string) map[string]storm.StreamSpec {
	return map[string]storm.StreamSpec{storm.DefaultStream: {Fields: append(storm.Fields{}, names...)}}
}

func forms() []form {
	const bolt = "className: " + layout.ShellBoltClass + "\n  "
	none := map[string]storm.StreamSpec{}
	argv := func(words ...any) *cluster.Class { return &cluster.Class{Name: layout.ShellBoltClass, Args: words} }
	return []form{
		{name: "one word", text: bolt + "constructorArgs: [[./split], [a]]", shell: cluster.Shell{Command: "./split"}, streams: fields("a")},
		{name: "two words", text: bolt + "constructorArgs: [[python3, a.py], [a, b]]", shell: cluster.Shell{Command: "python3", Script: "a.py"}, streams: fields("a", "b")},
		{name: "three words", text: bolt + "constructorArgs: [[python3, -u, a.py], [a]]", class: argv("python3", "-u", "a.py"), streams: fields("a")},
		{name: "words that look like numbers", text: bolt + "constructorArgs: [[sleep, 010, 1.50, yes, ~x], [1, true]]", class: argv("sleep", "010", "1.50", "yes", "~x"), streams: fields("1", "true")},
		{name: "no fields", text: bolt + "constructorArgs: [[a, b]]", shell: cluster.Shell{Command: "a", Script: "b"}, streams: none},
		{name: "empty fields", text: bolt + "constructorArgs: [[a, b], []]", shell: cluster.Shell{Command: "a", Script: "b"}, streams: fields()},
		{name: "the older package", text: "className: backtype.storm.flux.wrappers.bolts.FluxShellBolt\n  constructorArgs: [[a], [w]]", class: nil, shell: cluster.Shell{Command: "a"}, streams: fields("w")},
		{
			name: "methods", text: bolt + `constructorArgs: [[a, b], [old]]
  configMethods:
  - {name: setDefaultStream, args: [[new]]}
  - name: setNamedStream
    args: [side, [x, y]]
  - {name: addComponentConfig, args: [k, [1, {a: 2.0}]]}
  - {name: changeChildCWD, args: [true]}`,
			shell: cluster.Shell{Command: "a", Script: "b"}, conf: `{"k":[1,{"a":2.0}]}`,
			streams: map[string]storm.StreamSpec{storm.DefaultStream: {Fields: storm.Fields{"new"}}, "side": {Fields: storm.Fields{"x", "y"}}},
		},
		{
			name: "environment", text: bolt + "constructorArgs: [[a], [w]]\n  configMethods:\n  - {name: setEnv, args: [{A: 1, B: ~, C: \"x=y\"}]}",
			class: argv("a"), conf: `{"stormring.component.env":{"A":"1","B":"","C":"x=y"}}`, streams: fields("w"),
		},
		{
			name: "environment by a property", text: bolt + "constructorArgs: [[a], [w]]\n  properties:\n  - {name: env, ref: env}",
			class: argv("a"), conf: `{"stormring.component.env":{"E":"v"}}`, streams: fields("w"),
		},
		{name: "fields by a reference", text: bolt + "constructorArgs: [[a], {ref: fields}]", shell: cluster.Shell{Command: "a"}, streams: fields("f", "g")},
		{name: "streamparse without outputs", text: bolt + "constructorArgs:\n  - [streamparse_run, -s json bolts.b.B]\n  - [NONE_BUT_FLUX_WANTS_SOMETHING_HERE]", shell: cluster.Shell{Command: "streamparse_run", Script: "-s json bolts.b.B"}, streams: fields("NONE_BUT_FLUX_WANTS_SOMETHING_HERE")},
		{name: "command", text: "command: [node, a.js]", shell: cluster.Shell{Command: "node", Script: "a.js"}, streams: none},
		{name: "command of three", text: "command: [node, a.js, 3]\n  outputs: [w]", class: argv("node", "a.js", "3"), streams: fields("w")},
		{name: "outputs by stream", text: "command: [a]\n  outputs: {x: [w], y: ~, z: {fields: [v], direct: yes}, fields: [q]}", shell: cluster.Shell{Command: "a"}, streams: map[string]storm.StreamSpec{
			"x": {Fields: storm.Fields{"w"}}, "y": {Fields: storm.Fields{}}, "z": {Fields: storm.Fields{"v"}, Direct: true}, "fields": {Fields: storm.Fields{"q"}},
		}},
		{name: "a direct default stream", text: "command: [a]\n  outputs: {fields: [v], direct: true}", shell: cluster.Shell{Command: "a"}, streams: map[string]storm.StreamSpec{storm.DefaultStream: {Fields: storm.Fields{"v"}, Direct: true}}},
		{name: "an empty environment", text: "command: [a]\n  env: {}", shell: cluster.Shell{Command: "a"}, streams: none},
		{name: "log", text: "className: " + layout.LogInfoBoltClass, class: &cluster.Class{Name: layout.LogInfoBoltClass}, streams: none},
		{name: "counter", text: "className: " + layout.TestWordCounterClass, class: &cluster.Class{Name: layout.TestWordCounterClass}, streams: fields("word", "count")},
		{name: "a component of Go", text: "className: pick\n  constructorArgs: [1, 2.5, x, true]", class: &cluster.Class{Name: "pick", Args: []any{int64(1), 2.5, "x", true}}, streams: none},
		{name: "with a null", text: "className: pick\n  constructorArgs: [~, 1.0]", class: &cluster.Class{Name: "pick"}, conf: `{"stormring.component.args":[null,1.0]}`, streams: none},
		{
			name: "with references", text: "className: pick\n  constructorArgs: [{reflist: [env, fields]}, {ref: list}]", class: &cluster.Class{Name: "pick"},
			conf: `{"stormring.component.args":[[{"E":"v"},["f","g"]],["p","q"]]}`, streams: none,
		},
		{name: "with properties", text: "className: pick\n  properties: [{name: a, value: 1}, {name: b, ref: list}]", class: &cluster.Class{Name: "pick"}, conf: `{"stormring.component.args":[{"a":1,"b":["p","q"]}]}`, streams: none},
		{
			name: "loads", text: "command: [a]\n  numTasks: 4\n  cpuLoad: 0.5\n  onHeapMemoryLoad: 10\n  offHeapMemoryLoad: 0", shell: cluster.Shell{Command: "a"}, streams: none,
			conf: `{"topology.component.cpu.pcore.percent":0.5,"topology.component.resources.offheap.memory.mb":0.0,"topology.component.resources.onheap.memory.mb":10.0,"topology.tasks":4}`,
		},
	}
}

// given is what the forms refer to.
const given = `name: t
components:
- {id: env, value: {E: v}}
- {id: fields, className: org.apache.storm.tuple.Fields, constructorArgs: [f, g]}
- id: list
  className: java.util.ArrayList
  configMethods: [{name: add, args: [p]}, {name: add, args: [q]}]
spouts:
- {id: s, className: org.apache.storm.testing.TestWordSpout}
streams:
- {from: s, to: b, grouping: {type: ALL}}
bolts:
- id: b
  `

func TestForms(t *testing.T) {
	for _, tt := range forms() {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Load(files{"t.yaml": given + tt.text + "\n"}.options())
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Warnings) > 0 {
				t.Errorf("warnings %v", got.Warnings)
			}
			want := cluster.Component{
				Kind: cluster.Bolt, Object: cluster.Object{Class: tt.class}, Streams: tt.streams, Parallelism: 1, Conf: tt.conf,
				Inputs: []cluster.Input{{Component: "s", Stream: storm.DefaultStream, Grouping: cluster.Grouping{Kind: cluster.GroupAll}}},
			}
			if tt.shell.Command != "" {
				want.Object.Shell = &tt.shell
			}
			if b := got.Description.Components["b"]; shownJSON(b) != shownJSON(want) {
				t.Errorf("got %s\nwant %s", shownJSON(b), shownJSON(want))
			}
			if registered := tt.class != nil && tt.class.Name == "pick"; got.Registered != registered {
				t.Errorf("registered is %t", got.Registered)
			}
		})
	}
}

// TestVertices: what people see, in the order of the file.
func TestVertices(t *testing.T) {
	got, err := Load(files{"t.yaml": "name: t\nbolts:\n- id: z\n  command: [a, b c, d]\nspouts:\n- {id: y, className: org.apache.storm.testing.TestWordSpout, constructorArgs: [false]}\n- {id: x, className: " +
		layout.ShellSpoutClass + ", constructorArgs: [[p], [w]]}\nstreams: [{from: y, to: z, grouping: {type: shuffle}}]\n"}.options())
	if err != nil {
		t.Fatal(err)
	}
	at := func(line, column int) Place { return Place{"t.yaml", line, column} }
	want := []Vertex{
		{ID: "y", Kind: cluster.Spout, Class: layout.TestWordSpoutClass, At: at(6, 3)},
		{ID: "x", Kind: cluster.Spout, Class: layout.ShellSpoutClass, Command: []string{"p"}, At: at(7, 3)},
		{ID: "z", Kind: cluster.Bolt, Command: []string{"a", "b c", "d"}, At: at(3, 3)},
	}
	if !reflect.DeepEqual(got.Vertices, want) {
		t.Errorf("%+v", got.Vertices)
	}
	if c := got.Description.Components["y"]; c.Conf != `{"topology.max.task.parallelism":1}` || !reflect.DeepEqual(c.Object.Class.Args, []any{false}) {
		t.Errorf("%s", shownJSON(c))
	}
}

// TestIncludes: who wins, and that includes nest.
func TestIncludes(t *testing.T) {
	const outer = "name: outer\nconfig: {a: 1, b: 1}\nspouts:\n- {id: s, command: [outer], outputs: [w]}\nincludes:\n- {file: sub/inner.yaml, override: OVERRIDE}\n"
	f := files{
		"t.yaml":         outer,
		"sub/inner.yaml": "name: inner\nconfig: {b: 2, c: 2}\nspouts:\n- {id: s, command: [inner], outputs: [w]}\nincludes: [{file: deep.yaml}]\n",
		"sub/deep.yaml":  "config: {c: 3, d: 3}\nbolts:\n- {id: b, command: [deep]}\nstreams: [{from: s, to: b, grouping: {type: SHUFFLE}}]\n",
	}
	for override, want := range map[string]struct {
		name, command string
		b             int64
		warnings      string
	}{
		"true": {"inner", "inner", 2, "warning: sub/deep.yaml:1:10: config.c: is left out: the including file has this key already; say override: true in includes if this one is to win"},
		"false": {"outer", "outer", 1, `warning: sub/inner.yaml:1:7: name: is left out: the including file has the name already; say override: true in includes if this one is to win
warning: sub/inner.yaml:2:10: config.b: is left out: the including file has this key already; say override: true in includes if this one is to win
warning: sub/inner.yaml:4:8: spouts[0]: is left out: the including file has one with this id already; say override: true in includes if this one is to win
warning: sub/deep.yaml:1:10: config.c: is left out: the including file has this key already; say override: true in includes if this one is to win`},
	} {
		f["t.yaml"] = strings.Replace(outer, "OVERRIDE", override, 1)
		got, err := Load(f.options())
		if err != nil {
			t.Fatal(err)
		}
		if said := all(got, nil); said != want.warnings {
			t.Errorf("override %s: got\n%s\nwant\n%s", override, said, want.warnings)
		}
		conf := storm.Config{"a": int64(1), "b": want.b, "c": int64(2), "d": int64(3)}
		if got.Name != want.name || !reflect.DeepEqual(got.Conf, conf) {
			t.Errorf("override %s: %q %v", override, got.Name, got.Conf)
		}
		if c := got.Description.Components["s"]; c.Object.Shell.Command != want.command {
			t.Errorf("override %s: %s", override, shownJSON(c))
		}
		if c := got.Description.Components["b"]; len(c.Inputs) != 1 || c.Inputs[0].Component != "s" {
			t.Errorf("override %s: %s", override, shownJSON(c))
		}
	}
}

// TestMergeKeys: << takes a map or a list; what stands in the map itself wins.
func TestMergeKeys(t *testing.T) {
	got, err := Load(files{"t.yaml": `name: t
x-a: &a {k: 1, l: 1}
x-b: &b {l: 2, m: 2}
x-spout: &spout
  command: [a]
  parallelism: 4
config:
  m: 3
  <<: [*a, *b]
spouts:
- {id: one, <<: *spout}
- {<<: *spout, id: two, parallelism: 2}
`}.options())
	if err != nil {
		t.Fatal(err)
	}
	if want := (storm.Config{"k": int64(1), "l": int64(1), "m": int64(3)}); !reflect.DeepEqual(got.Conf, want) {
		t.Errorf("%v", got.Conf)
	}
	if c := got.Description.Components; c["one"].Parallelism != 4 || c["two"].Parallelism != 2 || c["two"].Object.Shell.Command != "a" {
		t.Errorf("%+v", c)
	}
}
