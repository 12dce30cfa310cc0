package process

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// described is a topology with one component.
func described(kind cluster.ComponentKind, o cluster.Object, conf string) cluster.Topology {
	return cluster.Topology{Components: map[string]cluster.Component{
		"c": {Kind: kind, Object: o, Conf: conf, Streams: map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"w"}}}},
	}}
}

func class(name string, args ...any) *cluster.Class { return &cluster.Class{Name: name, Args: args} }

func TestShellOf(t *testing.T) {
	dir := t.TempDir()
	streams := map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"w"}}}
	for _, tt := range []struct {
		name, conf string
		class      *cluster.Class
		want       multilang.Spec
		err        string
	}{
		{name: "words", class: class(layout.ShellBoltClass, "ruby", "-w", "a.rb"), want: multilang.Spec{Argv: []string{"ruby", "-w", "a.rb"}}},
		{
			name: "environment", class: class(layout.ShellBoltClass, "a"), conf: `{"stormring.component.env":{"B":"x=y","A":7}}`,
			want: multilang.Spec{Argv: []string{"a"}, Env: []string{"A=7", "B=x=y"}},
		},
		{name: "no command", class: class(layout.ShellBoltClass), err: `component "c": ` + layout.ShellBoltClass + ` needs the words of a command as its arguments`},
		{name: "a number", class: class(layout.ShellBoltClass, "a", int64(1)), err: `component "c": argument 1 of ` + layout.ShellBoltClass + ` is a int64; its arguments are the words of a command`},
		{name: "a list", class: class(layout.ShellBoltClass, "a"), conf: `{"stormring.component.env":[]}`, err: `component "c": stormring.component.env must be a map of names to texts`},
	} {
		c, _ := Code(storm.Program{}, described(cluster.Bolt, cluster.Object{Class: tt.class}, tt.conf), dir).(*code)
		got, ok, err := c.shellOf("c", layout.ShellBoltClass, tt.class)
		if !ok || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: %t, %v, want %q", tt.name, ok, err, tt.err)
			continue
		}
		tt.want.Dir, tt.want.Streams = dir, streams
		if err == nil && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestShellWithoutResources: it runs where the topology's other files are.
func TestShellWithoutResources(t *testing.T) {
	dir := t.TempDir()
	o := class(layout.ShellSpoutClass, "a")
	c, _ := Code(storm.Program{}, described(cluster.Spout, cluster.Object{Class: o}, ""), filepath.Join(dir, "resources")).(*code)
	got, _, err := c.shellOf("c", layout.ShellSpoutClass, o)
	if err != nil || got.Dir != dir {
		t.Errorf("%q, %v; want %q", got.Dir, err, dir)
	}
}

// TestArguments: a component gets what its configuration says, kinds kept, else
// the arguments of its class.
func TestArguments(t *testing.T) {
	for _, tt := range []struct {
		conf, want, err string
	}{
		{conf: "", want: "[a 1]"},
		{conf: `{"other":1}`, want: "[a 1]"},
		{conf: `{"stormring.component.args":[]}`, want: "[]"},
		{conf: `{"stormring.component.args":[9007199254740993,1.0,1e3,"x",true,null,[1],{"k":{"l":2}}]}`, want: "[9007199254740993 1 1000 x true nil [1] map[k:map[l:2]]]"},
		{conf: `{"stormring.component.args":{}}`, err: `component "c": stormring.component.args must be a list`},
		{conf: `{"stormring.component.args":[99999999999999999999]}`, err: `component "c": stormring.component.args[0]: strconv.ParseInt: parsing "99999999999999999999": value out of range`},
	} {
		var got []storm.Value
		r := storm.NewRegistry()
		r.Bolt("mine", func(args []storm.Value) (storm.Bolt, error) {
			got = args
			return &logBolt{}, nil
		})
		o := cluster.Object{Class: class("mine", "a", int64(1))}
		_, err := Code(storm.Program{Components: r}, described(cluster.Bolt, o, tt.conf), "").Bolt("c", o)()
		if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: %v, want %q", tt.conf, err, tt.err)
			continue
		}
		if text := storm.List(got...).String(); err == nil && text != tt.want {
			t.Errorf("%s: %s, want %s", tt.conf, text, tt.want)
		}
		if strings.Contains(tt.conf, "1.0") && (got[0].Kind() != storm.Int(0).Kind() || got[1].Kind() != storm.Float(0).Kind()) {
			t.Errorf("kinds %v, %v", got[0].Kind(), got[1].Kind())
		}
	}
}

// TestNamed: what is built in is found by its class; the registry comes first,
// and nothing else is known.
func TestNamed(t *testing.T) {
	for _, name := range []string{layout.TestWordSpoutClass, layout.ShellSpoutClass} {
		o := cluster.Object{Class: class(name, "a")}
		if s, err := Code(storm.Program{}, described(cluster.Spout, o, ""), "").Spout("c", o)(); s == nil || err != nil {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	for _, name := range []string{layout.TestWordCounterClass, layout.LogInfoBoltClass, layout.ShellBoltClass} {
		o := cluster.Object{Class: class(name, "a")}
		if b, err := Code(storm.Program{}, described(cluster.Bolt, o, ""), "").Bolt("c", o)(); b == nil || err != nil {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
	o := cluster.Object{Class: class("com.example.X")}
	if _, err := Code(storm.Program{}, described(cluster.Bolt, o, ""), "").Bolt("c", o)(); err == nil {
		t.Error("a class that nobody knows is found")
	}
	r := storm.NewRegistry()
	own := &wordCounter{}
	r.Bolt(layout.LogInfoBoltClass, func([]storm.Value) (storm.Bolt, error) { return own, nil })
	o = cluster.Object{Class: class(layout.LogInfoBoltClass)}
	if b, err := Code(storm.Program{Components: r}, described(cluster.Bolt, o, ""), "").Bolt("c", o)(); b != own || err != nil {
		t.Errorf("%v, %v", b, err)
	}
}
