package layout

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
)

func TestJava(t *testing.T) {
	object := func(o cluster.Object) cluster.Topology {
		return cluster.Topology{Components: map[string]cluster.Component{"c": {Kind: cluster.Bolt, Object: o}}}
	}
	grouped := func(g cluster.Grouping) cluster.Topology {
		return cluster.Topology{Components: map[string]cluster.Component{"c": {
			Kind: cluster.Bolt, Object: cluster.Object{Shell: &cluster.Shell{}}, Inputs: []cluster.Input{{Component: "s", Grouping: g}},
		}}}
	}
	class := func(name string) cluster.Object { return cluster.Object{Class: &cluster.Class{Name: name}} }
	for name, tt := range map[string]struct {
		topology   cluster.Topology
		program    bool
		java, ours string
	}{
		"serialized":          {object(cluster.Object{Serialized: []byte{1}}), true, `component "c" is an object of Java (serialized_java)`, ""},
		"of the system":       {object(cluster.Object{Serialized: []byte{}}), false, "", ""},
		"shell":               {object(cluster.Object{Shell: &cluster.Shell{}}), false, "", ""},
		"Go":                  {object(class("go:words")), false, "", `component "c" is written in Go`},
		"built in":            {object(class(ShellBoltClass)), false, "", ""},
		"class":               {object(class("com.example.Count")), false, `component "c" is a com.example.Count`, ""},
		"class in a program":  {object(class("com.example.Count")), true, "", ""},
		"serialized grouping": {grouped(cluster.Grouping{Serialized: []byte{1}}), false, `component "c" groups "s" by an object of Java (custom_serialized)`, ""},
		"class of grouping":   {grouped(cluster.Grouping{Class: &cluster.Class{Name: "com.example.By"}}), false, `component "c" groups "s" by a com.example.By`, ""},
		"partial key":         {grouped(cluster.Grouping{Class: &cluster.Class{Name: PartialKeyClass}}), false, "", `component "c" groups "s" by partial-key, which is written in Go`},
		"hooks":               {cluster.Topology{WorkerHooks: [][]byte{{1}}}, false, "it has worker hooks", ""},
	} {
		if got := strings.Join(Java(tt.topology, tt.program), "; "); got != tt.java {
			t.Errorf("%s: Java's are %q, want %q", name, got, tt.java)
		}
		if got := strings.Join(Go(tt.topology), "; "); got != tt.ours {
			t.Errorf("%s: Go's are %q, want %q", name, got, tt.ours)
		}
	}
}

// TestJVMLayout: tasks are numbered with the components that only workers of Storm
// have, in the order of their names.
func TestJVMLayout(t *testing.T) {
	top := &storm.Topology{Components: map[string]*storm.Component{
		"s": {ID: "s", Hint: 1, NewSpout: func() (storm.Spout, error) { return nil, nil }},
	}}
	consumer := func(hint any) map[string]any {
		info := map[string]any{"class": "a.B"}
		if hint != nil {
			info["parallelism.hint"] = hint
		}
		return info
	}
	lay := func(settings storm.Config) (string, error) {
		l, err := New(top, settings)
		if err != nil {
			return "", err
		}
		var out []string
		for _, id := range l.Topology.ComponentIDs() {
			if tasks := l.Tasks[id]; len(tasks) > 0 {
				out = append(out, fmt.Sprint(id, tasks))
			}
		}
		return strings.Join(out, " "), nil
	}
	for _, tt := range []struct {
		settings storm.Config
		want     string
	}{
		{storm.Config{"topology.eventlogger.executors": 2}, "__acker[1] s[2]"},
		{storm.Config{"stormring.jvm.version": "2.8.3"}, "__acker[1] s[2]"},
		{storm.Config{"stormring.jvm.version": "2.8.3", "topology.eventlogger.executors": 2}, "__acker[1] __eventlogger[2 3] s[4]"},
		{
			storm.Config{"stormring.jvm.version": "2.8.3", "topology.metrics.consumer.register": []any{consumer(2), consumer(nil)}},
			"__acker[1] __metrics_a.B[2 3] __metrics_a.B#2[4] s[5]",
		},
	} {
		if got, err := lay(tt.settings); err != nil || got != tt.want {
			t.Errorf("%v: %q, %v; want %q", tt.settings, got, err, tt.want)
		}
	}
	for _, bad := range []any{map[string]any{}, consumer("x"), "a.B"} {
		settings := storm.Config{"stormring.jvm.version": "2.8.3", "topology.metrics.consumer.register": []any{bad}}
		if _, err := lay(settings); err == nil || !strings.Contains(err.Error(), "topology.metrics.consumer.register") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
