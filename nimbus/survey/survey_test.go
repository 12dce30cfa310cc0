package survey_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/nimbus/scheduler"
	"github.com/stormring/stormring/nimbus/survey"
	"github.com/stormring/stormring/storm"
)

var timeouts = survey.Timeouts{Supervisor: 60, Task: 30, Launch: 120}

func signs(change int64, ids ...cluster.SupervisorID) map[cluster.SupervisorID]survey.Sign {
	out := map[cluster.SupervisorID]survey.Sign{}
	for _, id := range ids {
		out[id] = survey.Sign{Change: change, Record: cluster.SupervisorRecord{Host: string(id), Ports: []cluster.Port{1, 2}, UsedPorts: []cluster.Port{2}}}
	}
	return out
}

// A step is a look or a report at a time, and who lives then.
func TestWhoLives(t *testing.T) {
	look := func(s map[cluster.SupervisorID]survey.Sign, m map[cluster.SupervisorID]cluster.SupervisorRecord) func(*survey.Ears, int64) string {
		return func(e *survey.Ears, now int64) string { return fmt.Sprint(e.Look(now, s, m)) }
	}
	report := func(id cluster.SupervisorID) func(*survey.Ears, int64) string {
		return func(e *survey.Ears, now int64) string {
			e.Hear(now, cluster.SupervisorReport{Supervisor: id})
			return "[]"
		}
	}
	a := map[cluster.SupervisorID]cluster.SupervisorRecord{"a": {Host: "h", Ports: []cluster.Port{1}}}
	type step struct {
		at           int64
		do           func(*survey.Ears, int64) string
		lost, living string
	}
	for name, steps := range map[string][]step{
		"its znode changes": {{100, look(signs(1, "a"), nil), "[]", "a"}, {150, look(signs(2, "a"), nil), "[]", "a"}, {210, look(signs(2, "a"), nil), "[]", "a"}, {211, look(signs(2, "a"), nil), "[a]", ""}, {250, look(signs(2, "a"), nil), "[]", ""}, {251, look(signs(3, "a"), nil), "[]", "a"}},
		"reports alone":     {{100, look(signs(1, "a"), nil), "[]", "a"}, {150, report("a"), "[]", "a"}, {205, look(nil, nil), "[]", "a-"}, {211, look(nil, nil), "[a]", ""}},
		"a restart":         {{100, look(signs(1, "a"), a), "[]", "a"}, {150, look(nil, a), "[]", "a-"}, {155, look(signs(9, "a"), a), "[]", "a"}, {214, look(signs(9, "a"), a), "[]", "a"}},
		"only mentioned":    {{100, look(nil, a), "[]", "a?"}, {160, look(nil, a), "[]", "a?"}, {161, look(nil, a), "[a]", ""}, {170, look(nil, a), "[]", ""}},
		"first mentioned":   {{100, look(nil, a), "[]", "a?"}, {110, look(signs(1, "a"), a), "[]", "a"}},
		"reports first":     {{100, report("a"), "[]", ""}, {100, look(nil, a), "[]", "a?"}, {110, look(signs(1, "a"), a), "[]", "a"}},
		"never seen":        {{100, report("x"), "[]", ""}, {101, look(nil, nil), "[]", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			e := survey.NewEars(timeouts, 100)
			for _, s := range steps {
				if lost := s.do(e, s.at); lost != s.lost {
					t.Errorf("at %d lost %s, want %s", s.at, lost, s.lost)
				}
				var living []string
				for id, k := range e.Living() {
					mark := ""
					if k.Standin {
						mark = "?"
					} else if !k.Present {
						mark = "-"
					}
					living = append(living, string(id)+mark)
				}
				slices.Sort(living)
				if got := strings.Join(living, " "); got != s.living {
					t.Errorf("at %d there live %q, want %q", s.at, got, s.living)
				}
			}
		})
	}
}

func TestSilence(t *testing.T) {
	e := survey.NewEars(timeouts, 100)
	e.Look(100, signs(1, "a"), nil)
	p := cluster.Placement{Executor: cluster.Executor{First: 1, Last: 1}, Slot: cluster.Slot{Supervisor: "a", Port: 1}, StartSecs: 100}
	hear := func(now, stamp int64, runs bool) {
		r := cluster.SupervisorReport{Supervisor: "a"}
		if runs {
			r.Workers = []cluster.WorkerReport{{Topology: "t", Port: 1, TimeSecs: stamp, Executors: []cluster.ExecutorReport{{Executor: p.Executor}}}}
		}
		e.Hear(now, r)
	}
	for _, c := range []struct {
		at, stamp   int64 // stamp 0: the report does not name it; -1: no report
		dead        bool
		description string
	}{
		{110, 0, false, "not yet launched"},
		{220, 0, false, "at the end of the time for its launch"},
		{221, 0, true, "never launched"},
		{222, 5, false, "it is there, by a clock that goes wrong"},
		{252, 5, false, "the same pulse again, at the end of its time"},
		{253, 5, true, "the same pulse too long"},
		{254, 6, false, "another pulse"},
		{260, 0, false, "away for a moment"},
		{285, 0, true, "away for too long"},
		{320, -1, false, "its supervisor is silent too"},
	} {
		if c.stamp >= 0 {
			hear(c.at, c.stamp, c.stamp > 0)
		}
		if got := e.Silent(c.at, "t", p); got != c.dead {
			t.Errorf("at %d, %s: dead is %v", c.at, c.description, got)
		}
	}
}

func TestStatisticsStay(t *testing.T) {
	e := survey.NewEars(timeouts, 100)
	e.Look(100, signs(1, "a"), nil)
	hear := func(uptime int, s *cluster.ExecutorStats) *cluster.ExecutorStats {
		e.Hear(101, cluster.SupervisorReport{Supervisor: "a", Workers: []cluster.WorkerReport{
			{Topology: "t", Port: 1, UptimeSecs: uptime, Executors: []cluster.ExecutorReport{{Executor: cluster.Executor{First: 1, Last: 1}, Stats: s}}},
		}})
		return e.Living()["a"].Report.Workers[0].Executors[0].Stats
	}
	s := &cluster.ExecutorStats{}
	if hear(5, s) != s || hear(6, nil) != s {
		t.Error("they are lost")
	}
	if hear(1, nil) != nil {
		t.Error("they are those of the worker before")
	}
}

func plan(t *testing.T, settings storm.Config) *layout.Layout {
	t.Helper()
	l, err := layout.Plan(cluster.Topology{Components: map[string]cluster.Component{
		"s": {Kind: cluster.Spout, Parallelism: 1}, "b": {Kind: cluster.Bolt, Parallelism: 3, Conf: `{"topology.tasks": 5}`},
	}}, settings)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestExecutors(t *testing.T) {
	for _, c := range []struct {
		base map[string]int
		want string
	}{
		{nil, "[{__acker 1 1} {b 2 3} {b 4 5} {b 6 6} {s 7 7}]"},
		{map[string]int{"b": 2, "s": 9}, "[{__acker 1 1} {b 2 4} {b 5 6} {s 7 7}]"},
		{map[string]int{"b": 8}, "[{__acker 1 1} {b 2 2} {b 3 3} {b 4 4} {b 5 5} {b 6 6} {s 7 7}]"},
	} {
		topology := survey.Topology{Base: cluster.Base{Executors: c.base}, Code: &survey.Code{Layout: plan(t, nil)}}
		if got := fmt.Sprint(topology.Executors()); got != c.want {
			t.Errorf("%v: %s, want %s", c.base, got, c.want)
		}
	}
}

func TestRules(t *testing.T) {
	for pairs, want := range map[string]string{
		"": "{0 map[] false}", "storm.scheduler=org.apache.storm.scheduler.EvenScheduler": "{0 map[] false}",
		"storm.scheduler=org.apache.storm.scheduler.resource.ResourceAwareScheduler":                                  "{1 map[] false}",
		"storm.scheduler=org.apache.storm.scheduler.IsolationScheduler isolation.scheduler.machines={\"a\":2}":        "{0 map[a:2] false}",
		"storm.scheduler=org.apache.storm.scheduler.multitenant.MultitenantScheduler":                                 "{0 map[] true}",
		"storm.scheduler=com.example.Mine":                                                                            `storm.scheduler: there is no scheduler "com.example.Mine"`,
		"storm.scheduler=org.apache.storm.scheduler.IsolationScheduler isolation.scheduler.machines={\"a\":\"many\"}": "isolation.scheduler.machines.a",
	} {
		values, err := conf.ParseOverrides(strings.Fields(pairs))
		if err != nil {
			t.Fatal(err)
		}
		c, err := conf.Defaults().With("test", values)
		if err != nil {
			t.Fatal(err)
		}
		r, err := survey.NewRules(c)
		got := fmt.Sprint(r)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", pairs, got, want)
		}
	}
}

func TestSnapshot(t *testing.T) {
	e := survey.NewEars(timeouts, 100)
	slot := func(p cluster.Port) cluster.Slot { return cluster.Slot{Supervisor: "a", Port: p} }
	code := &survey.Code{Layout: plan(t, storm.Config{"topology.priority": 3}), Needs: map[string]cluster.Granted{"b": {OnHeap: 100, OffHeap: 20, CPU: 7, Generic: map[string]float64{"gpu": 1}}}}
	w := survey.World{
		NowSecs: 300,
		Supervisors: map[cluster.SupervisorID]survey.Supervisor{
			"a": {Present: true, Used: []cluster.Port{1, 2, 3}, Record: cluster.SupervisorRecord{
				Host: "h", Ports: []cluster.Port{1, 2, 3}, SchedulerMeta: map[string]string{"rack": "r"}, Resources: map[string]float64{"supervisor.memory.capacity.mb": 10, "cpu.pcore.percent": 20, "gpu": 3},
			}},
			"b": {Present: false}, "c": {Present: true, Standing: cluster.Drained, Blacklisted: true}, "d": {Present: true, Standing: cluster.Cordoned}, "e": {Standin: true},
		},
		Topologies: map[cluster.TopologyID]survey.Topology{
			"t": {ID: "t", Code: code, Base: cluster.Base{Name: "t", Status: cluster.StatusActive, Workers: 2, LaunchedSecs: 9}, Record: cluster.AssignmentRecord{
				Assignment: cluster.Assignment{{Executor: cluster.Executor{First: 2, Last: 3}, Slot: slot(1), StartSecs: 100}, {Executor: cluster.Executor{First: 4, Last: 5}, Slot: slot(2), StartSecs: 290}},
			}},
			"u": {ID: "u", Broken: "torn", Base: cluster.Base{Status: cluster.StatusActive}, Record: cluster.AssignmentRecord{Assignment: cluster.Assignment{{Executor: cluster.Executor{First: 1, Last: 1}, Slot: slot(9)}}}},
		},
	}
	e.Look(100, signs(1, "a"), nil)
	e.Hear(300, cluster.SupervisorReport{Supervisor: "a"})
	s := w.Snapshot(survey.Rules{Strategy: scheduler.ResourceAware, Machines: map[string]int{"t": 1}}, e, map[cluster.TopologyID]bool{"t": true})
	var got []string
	for _, x := range s.Supervisors {
		got = append(got, fmt.Sprintf("%s %s %s used %v dead %v %v %v", x.ID, x.Host, x.Rack, x.Used, x.Dead, x.Standing, x.Blacklisted))
	}
	want := []string{
		"a h r used [3] dead [1] open false", "b   used [] dead [] cordoned false", "c   used [] dead [] drained true",
		"d   used [] dead [] cordoned false", "e   used [] dead [] cordoned false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("supervisors\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if total := s.Supervisors[0].Total; total.String() != "10 MB, 20 % CPU, 3 gpu" {
		t.Errorf("total %v", total)
	}
	x := s.Topologies[0]
	if len(x.Executors) != 5 || x.Executors[1].Need.String() != "120 MB, 7 % CPU, 1 gpu" || fmt.Sprint(x.Dead) != "[[2,3]]" || !x.Fresh ||
		x.Priority != 3 || x.Machines != 1 || x.WorkerMaxMB != 768 || x.SubmittedSecs != 9 || x.Workers != 2 {
		t.Errorf("topology %+v", x)
	}
	if u := s.Topologies[1]; u.Status != cluster.StatusKilled || len(u.Executors) != 1 {
		t.Errorf("the broken one %+v", u)
	}
	r := survey.Record(w, w.Topologies["t"], w.Topologies["t"].Record.Assignment, "dir")
	if res := r.Resources[slot(1)]; res.OnHeap != 100 || res.OffHeap != 20 || res.CPU != 7 || res.Resources["gpu"] != 1 || res.Resources["memory.mb"] != 120 || r.Hosts["a"] != "h" {
		t.Errorf("record %+v", r)
	}
}

// TestLast: when an executor was heard of last, at the time of the look.
func TestLast(t *testing.T) {
	e := survey.NewEars(timeouts, 100)
	p := cluster.Placement{Executor: cluster.Executor{First: 1, Last: 1}, Slot: cluster.Slot{Supervisor: "a", Port: 1}, StartSecs: 105}
	named := map[cluster.SupervisorID]cluster.SupervisorRecord{"a": {}}
	report := func(now, stamp int64) {
		e.Hear(now, cluster.SupervisorReport{Supervisor: "a", Workers: []cluster.WorkerReport{
			{Topology: "t", Port: 1, TimeSecs: stamp, Executors: []cluster.ExecutorReport{{Executor: p.Executor}}},
		}})
	}
	for _, c := range []struct {
		what string
		do   func()
		want int64
	}{
		{"nothing was ever heard", func() {}, 100},
		{"its supervisor lives", func() { e.Look(101, signs(1, "a"), named) }, 105},
		{"it was heard of", func() { report(110, 7) }, 110},
		{"it says the same again", func() { report(115, 7) }, 110},
		{"it says something new", func() { report(120, 8) }, 120},
		{"its supervisor is silent", func() { e.Look(150, nil, named) }, 120},
		{"its supervisor is heard of without it", func() { e.Hear(155, cluster.SupervisorReport{Supervisor: "a"}) }, 120},
		{"its supervisor is lost", func() { e.Look(216, nil, named) }, 155},
	} {
		c.do()
		if got := e.Last("t", p); got != c.want {
			t.Errorf("%s: last at %d, want %d", c.what, got, c.want)
		}
	}
}

// TestOffers: topologies of Java go where their workers can run, and those whose state
// is on the ring where that can be kept.
func TestOffers(t *testing.T) {
	code := func(provider string) *survey.Code {
		return &survey.Code{Layout: plan(t, storm.Config{"stormring.jvm.version": "2.8.3", "topology.state.provider": provider})}
	}
	meta := func(state string) cluster.SupervisorRecord {
		return cluster.SupervisorRecord{SchedulerMeta: map[string]string{"stormring.jvm.versions": "2.8.3", "stormring.jvm.state": state}}
	}
	s := survey.World{
		Supervisors: map[cluster.SupervisorID]survey.Supervisor{"a": {Present: true, Record: meta("true")}, "b": {Present: true, Record: meta("")}},
		Topologies: map[cluster.TopologyID]survey.Topology{
			"t": {ID: "t", Code: code("stormring.state.RingStateProvider")}, "u": {ID: "u", Code: code("org.example.Provider")},
		},
	}.Snapshot(survey.Rules{}, survey.NewEars(timeouts, 100), nil)
	const plainly, kept = "workers of Storm 2.8.3", "workers of Storm 2.8.3 with state on the ring"
	if a, b := s.Supervisors[0].Offers, s.Supervisors[1].Offers; !slices.Equal(a, []string{plainly, kept}) || !slices.Equal(b, []string{plainly}) {
		t.Errorf("a offers %q, b %q", a, b)
	}
	if x, y := s.Topologies[0].Wants, s.Topologies[1].Wants; x != kept || y != plainly {
		t.Errorf("t wants %q, u %q", x, y)
	}
}
