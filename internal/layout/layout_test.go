package layout_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
)

// part is a component of a test's topology: a spout if it has no source.
type part struct {
	id     string
	hint   int
	from   string
	conf   storm.Config
	stream string // a second stream, if not empty
}

func topology(parts ...part) *storm.Topology {
	t := &storm.Topology{Components: map[string]*storm.Component{}}
	for _, p := range parts {
		c := &storm.Component{ID: p.id, Hint: p.hint, Conf: p.conf, Streams: map[string]storm.StreamSpec{
			storm.DefaultStream: {Fields: storm.Fields{"x"}},
		}}
		if p.stream != "" {
			c.Streams[p.stream] = storm.StreamSpec{Fields: storm.Fields{"y", "z"}}
		}
		if p.from == "" {
			c.NewSpout = func() (storm.Spout, error) { return nil, errors.ErrUnsupported }
		} else {
			c.NewBolt = func() (storm.Bolt, error) { return nil, errors.ErrUnsupported }
			c.Inputs = []storm.Input{{Component: p.from, Stream: storm.DefaultStream, Grouping: storm.Grouping{Kind: storm.GroupShuffle}}}
		}
		t.Components[p.id] = c
	}
	return t
}

func mustNew(t *testing.T, top *storm.Topology, c storm.Config) *layout.Layout {
	t.Helper()
	l, err := layout.New(top, c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// show is every executor as "component first-last".
func show(l *layout.Layout) string {
	parts := make([]string, len(l.Executors))
	for i, e := range l.Executors {
		parts[i] = fmt.Sprintf("%s %d-%d", e.Component, e.First, e.Last)
	}
	return strings.Join(parts, ", ")
}

func TestNumbering(t *testing.T) {
	spoutAndBolt := func(spoutHint int, c storm.Config, boltHint int, d storm.Config) []part {
		return []part{{id: "s", hint: spoutHint, conf: c}, {id: "b", hint: boltHint, from: "s", conf: d}}
	}
	ackers := func(n int) storm.Config { return storm.Config{"topology.acker.executors": n} }
	for _, c := range []struct {
		name  string
		parts []part
		conf  storm.Config
		want  string
	}{
		{"one of each", spoutAndBolt(1, nil, 1, nil), nil, "__acker 1-1, b 2-2, s 3-3"},
		{"upper case before acker before lower case, dollar first",
			[]part{{id: "$checkpointspout", hint: 1}, {id: "Zed", hint: 2, from: "a"}, {id: "a", hint: 1}, {id: "_x", hint: 1, from: "a"}, {id: "9", hint: 1, from: "a"}},
			nil, "$checkpointspout 1-1, 9 2-2, Zed 3-3, Zed 4-4, __acker 5-5, _x 6-6, a 7-7"},
		{"beyond the basic plane comes before U+E000", []part{{id: "\uE000", hint: 1}, {id: "\U0001F600", hint: 1}}, ackers(0), "\U0001F600 1-1, \uE000 2-2"},
		{"no ackers", spoutAndBolt(2, nil, 1, nil), ackers(0), "b 1-1, s 2-2, s 3-3"},
		{"three ackers", spoutAndBolt(1, nil, 1, nil), ackers(3), "__acker 1-1, __acker 2-2, __acker 3-3, b 4-4, s 5-5"},
		{"ackers follow workers", spoutAndBolt(1, nil, 1, nil), storm.Config{"topology.workers": 2}, "__acker 1-1, __acker 2-2, b 3-3, s 4-4"},
		{"null is as if absent", spoutAndBolt(1, storm.Config{"topology.tasks": nil}, 1, nil),
			storm.Config{"topology.workers": 2, "topology.acker.executors": nil, "topology.max.task.parallelism": nil}, "__acker 1-1, __acker 2-2, b 3-3, s 4-4"},
		{"larger executors first", spoutAndBolt(3, storm.Config{"topology.tasks": 11}, 2, storm.Config{"topology.tasks": 4.0}), ackers(0),
			"b 1-2, b 3-4, s 5-8, s 9-12, s 13-15"},
		{"no more executors than tasks", spoutAndBolt(5, storm.Config{"topology.tasks": 2}, 1, nil), ackers(0), "b 1-1, s 2-2, s 3-3"},
		{"hint 0 counts as 1", spoutAndBolt(0, nil, 0, storm.Config{"topology.tasks": 2}), ackers(0), "b 1-2, s 3-3"},
		{"tasks of the topology are for all", spoutAndBolt(1, nil, 2, nil), storm.Config{"topology.acker.executors": 1, "topology.tasks": 3}, "__acker 1-1, b 2-3, b 4-4, s 5-7"},
		{"the topology's limit, not for ackers", spoutAndBolt(4, nil, 2, storm.Config{"topology.tasks": 9}),
			storm.Config{"topology.max.task.parallelism": 3, "topology.acker.executors": 4},
			"__acker 1-1, __acker 2-2, __acker 3-3, __acker 4-4, b 5-6, b 7-7, s 8-8, s 9-9, s 10-10"},
		{"a component's limit comes before the topology's",
			spoutAndBolt(4, storm.Config{"topology.max.task.parallelism": 2}, 4, storm.Config{"topology.max.task.parallelism": 10}),
			storm.Config{"topology.max.task.parallelism": 3, "topology.acker.executors": 0}, "b 1-1, b 2-2, b 3-3, b 4-4, s 5-5, s 6-6"},
		{"as many tasks as there can be", spoutAndBolt(1, storm.Config{"topology.tasks": track.MaxTask - 1}, 1, nil), ackers(0), "b 1-1, s 2-32767"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := mustNew(t, topology(c.parts...), c.conf)
			if got := show(l); got != c.want {
				t.Errorf("executors are\n%s\nwant\n%s", got, c.want)
			}
			checkInvariants(t, l)
		})
	}
}

func TestNewRefuses(t *testing.T) {
	one := []part{{id: "s", hint: 1}}
	for _, c := range []struct {
		name  string
		parts []part
		conf  storm.Config
		want  []string // what the error says, among other things
	}{
		{"workers 0", one, storm.Config{"topology.workers": 0}, []string{"topology.workers", "0"}},
		{"workers no number", one, storm.Config{"topology.workers": "two"}, []string{"topology.workers", `"two"`}},
		{"ackers below 0", one, storm.Config{"topology.acker.executors": -1}, []string{"topology.acker.executors", "-1"}},
		{"limit 0", one, storm.Config{"topology.max.task.parallelism": 0}, []string{"topology.max.task.parallelism", "0"}},
		{"limit of a component", []part{{id: "s", hint: 1, conf: storm.Config{"topology.max.task.parallelism": 1.5}}}, nil,
			[]string{`"s"`, "topology.max.task.parallelism", "1.5"}},
		{"tasks 0", []part{{id: "s", hint: 1, conf: storm.Config{"topology.tasks": 0}}}, nil, []string{`component "s": topology.tasks is 0; it must be at least 1`}},
		{"tasks of the topology 0", one, storm.Config{"topology.tasks": 0}, []string{`component "s": topology.tasks is 0; it must be at least 1`}},
		{"tasks no number", []part{{id: "s", hint: 1, conf: storm.Config{"topology.tasks": true}}}, nil,
			[]string{`component "s": topology.tasks wants a whole number, not the boolean true`}},
		{"too many tasks", []part{{id: "a", hint: track.MaxTask}, {id: "b", hint: 1}}, storm.Config{"topology.acker.executors": 0},
			[]string{`component "b": the topology has more than 32767 tasks; lower parallelism or topology.max.task.parallelism`}},
		{"too many tasks of one", []part{{id: "a", hint: track.MaxTask + 1}}, storm.Config{"topology.acker.executors": 0}, []string{`component "a": the topology has more than 32767 tasks`}},
		{"more tasks than numbers", []part{{id: "A", hint: 1}, {id: "b", hint: 1, conf: storm.Config{"topology.tasks": int64(1<<63 - 1)}}}, nil,
			[]string{`component "b": the topology has more than 32767 tasks`}},
		{"more ackers than numbers", []part{{id: "A", hint: 1}}, storm.Config{"topology.acker.executors": int64(1<<63 - 1)},
			[]string{`component "__acker": the topology has more than 32767 tasks`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := layout.New(topology(c.parts...), c.conf)
			if l != nil || err == nil {
				t.Fatalf("layout %v, error %v", l, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestNewLeavesTheTopologyAlone(t *testing.T) {
	top := topology(part{id: "s", hint: 2, conf: storm.Config{"k": "v"}}, part{id: "b", hint: 1, from: "s"})
	l := mustNew(t, top, storm.Config{"topology.workers": 3})
	if l.Topology == top || len(top.Components) != 2 || len(top.Components["s"].Streams) != 1 || len(top.Components["s"].Conf) != 1 ||
		len(top.Components["s"].Inputs) != 0 || len(top.Components["b"].Inputs) != 1 || top.Components["b"].Conf != nil {
		t.Errorf("the topology was changed: %+v", top.Components)
	}
	if l.Workers != 3 || l.Ackers != 3 {
		t.Errorf("%d workers, %d ackers", l.Workers, l.Ackers)
	}
	if got := l.Topology.Components["s"].Conf["topology.tasks"]; got != 2 {
		t.Errorf("topology.tasks of s is %v", got)
	}
}

func TestSystemComponents(t *testing.T) {
	l := mustNew(t, topology(part{id: "s", hint: 1}, part{id: "b", hint: 1, from: "s", stream: "side"}), nil)
	for id, want := range map[string]string{
		"s":        "__ack_init[id init-val spout-task] __metrics[task-info data-points] __system[event] default[x]",
		"b":        "__ack_ack[id ack-val] __ack_fail[id] __ack_reset_timeout[id] __metrics[task-info data-points] __system[event] default[x] side[y z]",
		"__acker":  "__ack_ack[id time-delta-ms]direct __ack_fail[id time-delta-ms]direct __ack_reset_timeout[id time-delta-ms]direct __metrics[task-info data-points] __system[event]",
		"__system": "__credentials[creds] __flush[] __metrics[task-info data-points] __metrics_tick[interval] __system[event] __tick[rate_secs]",
	} {
		var got []string
		for _, stream := range l.Streams(id) {
			s := l.Topology.Components[id].Streams[stream]
			text := fmt.Sprintf("%s%v", stream, []string(s.Fields))
			if s.Direct {
				text += "direct"
			}
			got = append(got, text)
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("streams of %s are\n%s\nwant\n%s", id, g, want)
		}
	}
	for id, want := range map[string]string{
		"s":       "__acker/__ack_ack direct[], __acker/__ack_fail direct[], __acker/__ack_reset_timeout direct[]",
		"b":       "s/default shuffle[]",
		"__acker": "b/__ack_ack fields[id], b/__ack_fail fields[id], b/__ack_reset_timeout fields[id], s/__ack_init fields[id]",
	} {
		var got []string
		for _, in := range l.Topology.Components[id].Inputs {
			got = append(got, fmt.Sprintf("%s/%s %s%v", in.Component, in.Stream, in.Grouping.Kind, []string(in.Grouping.Fields)))
		}
		if g := strings.Join(got, ", "); g != want {
			t.Errorf("inputs of %s are\n%s\nwant\n%s", id, g, want)
		}
	}
	if c := l.Topology.Components["__acker"]; c == nil || len(l.Tasks["__system"]) != 0 {
		t.Errorf("acker %v, tasks of the system %v", c, l.Tasks["__system"])
	}
}

func TestNoAckersLeaveAComponentWithoutTasks(t *testing.T) {
	l := mustNew(t, topology(part{id: "s", hint: 1}), storm.Config{"topology.acker.executors": 0})
	if l.Ackers != 0 || l.Topology.Components["__acker"] == nil || l.Tasks["__acker"] != nil || l.Origin(2, 0) != nil {
		t.Errorf("%d ackers with tasks %v", l.Ackers, l.Tasks["__acker"])
	}
}

func TestComponentConf(t *testing.T) {
	l := mustNew(t, topology(part{id: "s", hint: 1, conf: storm.Config{"topology.debug": true, "mine": "s", "topology.workers": 9}}),
		storm.Config{"mine": "t", "topology.workers": 2, "yours": "x"})
	c := l.ComponentConf("s")
	if !c.Bool(storm.ConfTopologyDebug) || c.Value("mine") != "s" || c.Value("yours") != "x" || c.Int(storm.ConfTopologyWorkers) != 2 {
		t.Errorf("debug %v, mine %v, yours %v, workers %v", c.Bool(storm.ConfTopologyDebug), c.Value("mine"), c.Value("yours"), c.Int(storm.ConfTopologyWorkers))
	}
	if got := l.ComponentConf("nobody"); got != nil {
		t.Errorf("nobody has configuration %v", got)
	}
	_, err := layout.New(topology(part{id: "s", hint: 1, conf: storm.Config{"topology.debug": 3}}), nil)
	if _, ok := errors.AsType[*conf.InvalidError](err); !ok {
		t.Errorf("error is %v", err)
	}
}

func TestDeal(t *testing.T) {
	l := mustNew(t, topology(part{id: "s", hint: 5}), storm.Config{"topology.acker.executors": 2})
	for workers, want := range map[int][]int{
		-1: {0, 0, 0, 0, 0, 0, 0}, 0: {0, 0, 0, 0, 0, 0, 0}, 1: {0, 0, 0, 0, 0, 0, 0},
		2: {0, 1, 0, 1, 0, 1, 0}, 3: {0, 1, 2, 0, 1, 2, 0}, 9: {0, 1, 2, 3, 4, 5, 6},
	} {
		if got := l.Deal(workers); !slices.Equal(got, want) {
			t.Errorf("Deal(%d) is %v, want %v", workers, got, want)
		}
	}
}

// reporter is what testing.T and rapid.T have in common here.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkInvariants checks what holds in every layout.
func checkInvariants(t reporter, l *layout.Layout) {
	t.Helper()
	next := storm.TaskID(1)
	owners := map[storm.TaskID]int{}
	sizes := map[string][]int{}
	for i, e := range l.Executors {
		if e.First != next || e.Last < e.First {
			t.Fatalf("executor %d is %+v, but the next task is %d", i, e, next)
		}
		next = e.Last + 1
		sizes[e.Component] = append(sizes[e.Component], len(e.Tasks()))
		for _, task := range e.Tasks() {
			owners[task]++
			_, listed := slices.BinarySearch(l.Tasks[e.Component], task)
			if l.ExecutorOf(task) != i || l.ComponentOf(task) != e.Component || !listed {
				t.Fatalf("task %d is in executor %d of %q, want %d of %q", task, l.ExecutorOf(task), l.ComponentOf(task), i, e.Component)
			}
		}
	}
	for _, task := range []storm.TaskID{storm.SystemTask, 0, next} {
		if l.ExecutorOf(task) != -1 || l.ComponentOf(task) != "" {
			t.Fatalf("task %d is in executor %d of %q", task, l.ExecutorOf(task), l.ComponentOf(task))
		}
	}
	for id, s := range sizes {
		if slices.Max(s)-slices.Min(s) > 1 || !slices.IsSortedFunc(s, func(a, b int) int { return b - a }) {
			t.Fatalf("executors of %q have sizes %v", id, s)
		}
	}
	total := 0
	for id, tasks := range l.Tasks {
		total += len(tasks)
		for i, task := range tasks {
			if owners[task] != 1 || task != tasks[0]+storm.TaskID(i) {
				t.Fatalf("tasks of %q are %v; %d is in %d executors", id, tasks, task, owners[task])
			}
		}
	}
	if total != len(owners) || total != int(next)-1 {
		t.Fatalf("%d tasks, %d in executors, the last is %d", total, len(owners), next-1)
	}
	checkOrigins(t, l, next)
}

// checkOrigins expects a dense numbering of the streams of all tasks.
func checkOrigins(t reporter, l *layout.Layout, end storm.TaskID) {
	t.Helper()
	if o := l.TickOrigin(); o.ID != 0 || o.Component != "__system" || o.Stream != "__tick" || o.Task != -1 {
		t.Fatalf("origin of ticks is %+v", o)
	}
	id := int32(1)
	for task := storm.TaskID(1); task < end; task++ {
		component := l.ComponentOf(task)
		streams := l.Streams(component)
		for i, stream := range streams {
			o := l.Origin(int32(task), uint16(i))
			fields := l.Topology.Components[component].Streams[stream].Fields
			if o == nil || o.ID != id || o.Component != component || o.Stream != stream || o.Task != int32(task) || int(o.StreamIndex) != i || !slices.Equal(o.Fields, fields) {
				t.Fatalf("origin of stream %d of task %d is %+v, want id %d", i, task, o, id)
			}
			id++
		}
		if l.Origin(int32(task), uint16(len(streams))) != nil {
			t.Fatalf("task %d has an origin too many", task)
		}
	}
	if l.NumOrigins() != int(id) || l.Origin(0, 0) != nil || l.Origin(-1, 0) != nil || l.Origin(int32(end), 0) != nil {
		t.Fatalf("NumOrigins is %d, want %d", l.NumOrigins(), id)
	}
}

func TestLayoutInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[$0-9A-Z_a-z\x{E000}\x{1F600}]{1,3}`), 1, 6, rapid.ID).Draw(t, "ids")
		var parts []part
		for i, id := range ids {
			p := part{id: id, hint: rapid.IntRange(0, 5).Draw(t, "hint"), conf: storm.Config{}}
			if i > 0 {
				p.from = ids[0]
			}
			if rapid.Bool().Draw(t, "has tasks") {
				p.conf["topology.tasks"] = rapid.IntRange(1, 12).Draw(t, "tasks")
			}
			if rapid.Bool().Draw(t, "has second stream") {
				p.stream = rapid.StringMatching(`[a-z]{1,2}`).Draw(t, "stream")
			}
			parts = append(parts, p)
		}
		c := storm.Config{"topology.acker.executors": rapid.IntRange(0, 3).Draw(t, "ackers")}
		if rapid.Bool().Draw(t, "has limit") {
			c["topology.max.task.parallelism"] = rapid.IntRange(1, 6).Draw(t, "limit")
		}
		l, err := layout.New(topology(parts...), c)
		if err != nil {
			t.Fatal(err)
		}
		checkInvariants(t, l)
		checkJavaOrder(t, l)
		again, _ := layout.New(topology(parts...), c)
		if show(l) != show(again) {
			t.Fatalf("two layouts of one topology:\n%s\n%s", show(l), show(again))
		}
		workers := rapid.IntRange(1, 8).Draw(t, "workers")
		for i, w := range l.Deal(workers) {
			if w != i%workers {
				t.Fatalf("executor %d is dealt to %d of %d", i, w, workers)
			}
		}
	})
}

// checkJavaOrder expects task numbers to rise with the ids as Java sorts them.
func checkJavaOrder(t reporter, l *layout.Layout) {
	t.Helper()
	ids := slices.SortedFunc(maps.Keys(l.Tasks), func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
	last := storm.TaskID(0)
	for _, id := range ids {
		if l.Tasks[id][0] <= last {
			t.Fatalf("tasks of %q begin at %d, after %d", id, l.Tasks[id][0], last)
		}
		last = l.Tasks[id][len(l.Tasks[id])-1]
	}
}

func BenchmarkNew(b *testing.B) {
	top := topology(part{id: "s", hint: 8}, part{id: "a", hint: 100, from: "s"}, part{id: "b", hint: 100, from: "a"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := layout.New(top, storm.Config{"topology.workers": 8}); err != nil {
			b.Fatal(err)
		}
	}
}
