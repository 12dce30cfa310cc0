package answer_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/nimbus/answer"
	"github.com/stormring/stormring/nimbus/survey"
)

const id = "words-1-100"

// out is the same in all windows but the first, which has half of it.
func out(n int64, system int64) cluster.OutputCounts {
	c := cluster.OutputCounts{}
	for i, w := range answer.Windows() {
		c[w] = map[string]int64{"default": n, "__ack_ack": system}
		if i == 0 {
			c[w]["default"] = n / 2
		}
	}
	return c
}

func in(n int64) cluster.InputCounts {
	c := cluster.InputCounts{}
	for _, w := range answer.Windows() {
		c[w] = map[cluster.StreamID]int64{{Component: "s", Stream: "default"}: n, {Component: "__acker", Stream: "__ack_ack"}: 1000}
	}
	return c
}

func ms(v float64) cluster.InputMeans {
	c := cluster.InputMeans{}
	for _, w := range answer.Windows() {
		c[w] = map[cluster.StreamID]float64{{Component: "s", Stream: "default"}: v}
	}
	return c
}

func complete(v float64) cluster.OutputMeans {
	c := cluster.OutputMeans{}
	for _, w := range answer.Windows() {
		c[w] = map[string]float64{"default": v}
	}
	return c
}

// world is words with tasks 1 __acker, 2 and 3 of b, 4 of s; 3 has not told
// anything, and of 2 an old worker on another port tells lies.
func world(t *testing.T) (survey.World, survey.Topology) {
	t.Helper()
	user := cluster.Topology{StormVersion: "2.8.8", Components: map[string]cluster.Component{
		"s": {Kind: cluster.Spout, Parallelism: 1}, "b": {Kind: cluster.Bolt, Parallelism: 2},
	}}
	l, err := layout.Plan(user, nil)
	if err != nil {
		t.Fatal(err)
	}
	needs := map[string]cluster.Granted{"__acker": {OnHeap: 128, CPU: 10}, "b": {OnHeap: 100, OffHeap: 28, CPU: 20, Generic: map[string]float64{"gpu": 1}}, "s": {OnHeap: 128, CPU: 10}}
	slot := func(p cluster.Port) cluster.Slot { return cluster.Slot{Supervisor: "x", Port: p} }
	one := func(n int) cluster.Executor {
		tasks := slices.Concat(l.Tasks["__acker"], l.Tasks["b"], l.Tasks["s"])
		return cluster.Executor{First: tasks[n-1], Last: tasks[n-1]}
	}
	topology := survey.Topology{
		ID: id, Code: &survey.Code{User: user, Layout: l, Needs: needs, Conf: map[string]any{"mine": 1}}, Assigned: true, Replication: 2, Reason: "why",
		Base: cluster.Base{Name: "words", Status: cluster.StatusActive, LaunchedSecs: 100, Owner: "ann", Version: "v1", Debug: map[string]cluster.DebugOptions{"b": {Enable: true}, id: {Sampling: 5}}},
		Record: cluster.AssignmentRecord{Hosts: map[cluster.SupervisorID]string{"x": "hx"}, Assignment: cluster.Assignment{
			{Executor: one(1), Slot: slot(1)}, {Executor: one(2), Slot: slot(1)}, {Executor: one(3), Slot: slot(2)}, {Executor: one(4), Slot: slot(2)},
		}},
	}
	bolt := &cluster.ExecutorStats{Emitted: out(50, 7), Transferred: out(60, 7), Bolt: &cluster.BoltStats{Acked: in(40), Failed: in(2), Executed: in(50), ProcessMS: ms(3), ExecuteMS: ms(2)}}
	spout := &cluster.ExecutorStats{Emitted: out(100, 9), Transferred: out(200, 9), Spout: &cluster.SpoutStats{Acked: out(80, 0), Failed: out(10, 0), CompleteMS: complete(12)}}
	lie := &cluster.ExecutorStats{Emitted: out(9999, 0), Bolt: &cluster.BoltStats{}}
	w := survey.World{NowSecs: 400, Topologies: map[cluster.TopologyID]survey.Topology{id: topology}, Supervisors: map[cluster.SupervisorID]survey.Supervisor{
		"x": {Present: true, Standing: cluster.Cordoned, Blacklisted: true, Record: cluster.SupervisorRecord{Host: "hx", Ports: []cluster.Port{1, 2, 3}, UptimeSecs: 5, Version: "v", Resources: map[string]float64{"memory.mb": 4096}},
			Report: &cluster.SupervisorReport{Waiting: map[cluster.Port]string{2: "no disk"}, Workers: []cluster.WorkerReport{
				{Topology: id, Port: 1, UptimeSecs: 100, TimeSecs: 399, Executors: []cluster.ExecutorReport{{Executor: one(1)}, {Executor: one(2), Stats: bolt}}},
				{Topology: id, Port: 2, UptimeSecs: 1000, TimeSecs: 398, Executors: []cluster.ExecutorReport{{Executor: one(4), Stats: spout}}},
				{Topology: id, Port: 3, UptimeSecs: 9, Executors: []cluster.ExecutorReport{{Executor: one(2), Stats: lie}}},
			}}},
		"y": {Standin: true},
	}}
	return w, topology
}

func TestSummaries(t *testing.T) {
	w, top := world(t)
	v := answer.New(w)
	got := v.Topology(top)
	if got.ID != id || got.Name != "words" || got.Status != "ACTIVE" || got.UptimeSecs != 300 || got.Tasks != 4 || got.Executors != 4 || got.Workers != 2 ||
		got.Owner != "ann" || got.StormVersion != "2.8.8" || got.Version != "v1" || got.Replication != 2 {
		t.Errorf("summary %+v", got)
	}
	if got.SchedStatus != "why; worker hx:2: no disk" {
		t.Errorf("status %q", got.SchedStatus)
	}
	for _, g := range []cluster.Granted{got.Resources.Requested, got.Resources.Assigned} {
		if g.OnHeap != 456 || g.OffHeap != 56 || g.CPU != 60 || g.Generic["gpu"] != 2 {
			t.Errorf("resources %+v", g)
		}
	}
	c := v.Cluster()
	if len(c.Topologies) != 1 || len(c.Supervisors) != 1 {
		t.Fatalf("cluster %+v", c)
	}
	s := c.Supervisors[0]
	if s.ID != "x" || s.Workers != 3 || s.UsedWorkers != 2 || !s.Blacklisted || s.Standing != "cordoned" || s.Used.MemoryMB != 512 || s.Used.CPU != 60 ||
		s.Resources["memory.mb"] != 4096 || len(s.Resources) != 2 {
		t.Errorf("supervisor %+v", s)
	}
	top.Broken, top.Code, top.Reason = "torn", nil, "torn"
	if got := v.Topology(top); got.SchedStatus != "torn; worker hx:2: no disk" || got.Executors != 4 {
		t.Errorf("the broken one %+v", got)
	}
}

func TestInfo(t *testing.T) {
	w, top := world(t)
	info := answer.New(w).Info(top, map[string][]cluster.ErrorRecord{"b": {{Text: "e"}}})
	var got []string
	for _, e := range info.ExecutorList {
		got = append(got, fmt.Sprintf("%s %s:%d %d %d %v", e.Component, e.Host, e.Port, e.UptimeSecs, e.Stats.Emitted[":all-time"]["default"], e.Stats.Spout != nil))
	}
	want := []string{"__acker hx:1 100 0 false", "b hx:1 100 50 false", "b hx:2 0 0 false", "s hx:2 1000 100 true"}
	if !slices.Equal(got, want) {
		t.Errorf("executors\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(info.Errors) != 4 || len(info.Errors["b"]) != 1 || info.Errors["__system"] == nil {
		t.Errorf("errors %+v", info.Errors)
	}
	for _, window := range answer.Windows() {
		none := info.ExecutorList[2].Stats
		if none.Emitted[window] == nil || none.Transferred[window] == nil || none.Bolt.Executed[window] == nil || none.Bolt.ExecuteMS[window] == nil {
			t.Errorf("window %s is missing", window)
		}
	}
}

// line shows what a table of statistics shows.
func line(s cluster.AggregateStats) string {
	round := func(f float64) float64 { return math.Round(f*1e6) / 1e6 }
	return fmt.Sprintf("kind %d ex %d tasks %d em %d tr %d ack %d fail %d exec %d complete %g execute %g process %g capacity %g",
		s.Kind, s.Executors, s.Tasks, s.Emitted, s.Transferred, s.Acked, s.Failed, s.Executed, round(s.CompleteMS), round(s.ExecuteMS), round(s.ProcessMS), round(s.Capacity))
}

func TestPage(t *testing.T) {
	w, top := world(t)
	for _, c := range []struct {
		window       string
		system       bool
		spouts, bolt string
		components   int
	}{
		{":all-time", false, "kind 2 ex 1 tasks 1 em 100 tr 200 ack 80 fail 10 exec 0 complete 12 execute 0 process 0 capacity 0",
			"kind 1 ex 2 tasks 2 em 50 tr 60 ack 40 fail 2 exec 50 complete 0 execute 2 process 3 capacity 0.001", 2},
		{"", true, "kind 2 ex 1 tasks 1 em 109 tr 209 ack 80 fail 10 exec 0 complete 12 execute 0 process 0 capacity 0",
			"kind 1 ex 2 tasks 2 em 57 tr 67 ack 1040 fail 1002 exec 1050 complete 0 execute 2 process 3 capacity 0.001", 3},
		{"600", false, "kind 2 ex 1 tasks 1 em 50 tr 100 ack 40 fail 5 exec 0 complete 12 execute 0 process 0 capacity 0",
			"kind 1 ex 2 tasks 2 em 25 tr 30 ack 40 fail 2 exec 50 complete 0 execute 2 process 3 capacity 0.001", 2},
	} {
		page, err := answer.New(w).Page(top, c.window, c.system, map[string]cluster.ErrorRecord{"b": {Text: "e"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := line(page.Spouts["s"]); got != c.spouts {
			t.Errorf("%q: spout\n%s\nwant\n%s", c.window, got, c.spouts)
		}
		if got := line(page.Bolts["b"]); got != c.bolt {
			t.Errorf("%q: bolt\n%s\nwant\n%s", c.window, got, c.bolt)
		}
		if n := len(page.Spouts) + len(page.Bolts); n != c.components {
			t.Errorf("%q: %d components, want %d", c.window, n, c.components)
		}
		if page.Bolts["b"].LastError.Text != "e" || page.Spouts["s"].LastError != nil || page.Debug.Sampling != 5 {
			t.Errorf("%+v", page)
		}
		if !strings.Contains(page.Conf, `"mine":1`) || !strings.Contains(page.Conf, `"topology.message.timeout.secs":30`) {
			t.Errorf("conf %s", page.Conf)
		}
		if !c.system && (page.Stats.Emitted[":all-time"] != 150 || page.Stats.Emitted["600"] != 75 || page.Stats.Acked["600"] != 40 || page.Stats.CompleteMS["86400"] != 12 || page.Stats.Failed["10800"] != 10) {
			t.Errorf("stats %+v", page.Stats)
		}
		if page.Bolts["b"].Resources["onheap.memory.mb"] != 100 || page.Bolts["b"].Resources["gpu"] != 1 {
			t.Errorf("resources %v", page.Bolts["b"].Resources)
		}
	}
}

func TestComponentPage(t *testing.T) {
	w, top := world(t)
	v := answer.New(w)
	p, ok := v.ComponentPage(top, "b", "600", false, []cluster.ErrorRecord{{Text: "e"}})
	if !ok || p.Kind != cluster.Bolt || p.Executors != 2 || p.Tasks != 2 || len(p.Windows) != 4 || len(p.Errors) != 1 || !p.Debug.Enable || p.TopologyStatus != "ACTIVE" {
		t.Errorf("page %+v", p)
	}
	if got, want := line(p.Inputs[cluster.StreamID{Component: "s", Stream: "default"}]), "kind 1 ex 0 tasks 0 em 0 tr 0 ack 40 fail 2 exec 50 complete 0 execute 2 process 3 capacity 0"; got != want || len(p.Inputs) != 1 {
		t.Errorf("inputs %s, want %s", got, want)
	}
	if got, want := line(p.Outputs["default"]), "kind 1 ex 0 tasks 0 em 25 tr 30 ack 0 fail 0 exec 0 complete 0 execute 0 process 0 capacity 0"; got != want || len(p.Outputs) != 1 {
		t.Errorf("outputs %s, want %s", got, want)
	}
	if len(p.ExecutorStats) != 2 || p.ExecutorStats[0].Stats.Emitted != 25 || p.ExecutorStats[1].Stats.Emitted != 0 || p.ExecutorStats[1].Stats.Tasks != 1 {
		t.Errorf("executors %+v", p.ExecutorStats)
	}
	p, ok = v.ComponentPage(top, "s", "", true, nil)
	if got, want := line(p.Outputs["default"]), "kind 2 ex 0 tasks 0 em 100 tr 200 ack 80 fail 10 exec 0 complete 12 execute 0 process 0 capacity 0"; !ok || got != want || len(p.Outputs) != 2 || len(p.Inputs) != 0 {
		t.Errorf("outputs %s, want %s", got, want)
	}
	if _, ok := v.ComponentPage(top, "nobody", "", true, nil); ok {
		t.Error("there is a page of nobody")
	}
}

func TestWorkersAndSupervisorPage(t *testing.T) {
	w, top := world(t)
	v := answer.New(w)
	ws := v.Workers(top)
	if len(ws) != 2 || ws[0].Executors != 2 || ws[0].UptimeSecs != 100 || ws[0].TimeSecs != 399 || ws[0].ComponentTasks["__acker"] != 1 || ws[1].ComponentTasks["s"] != 1 || ws[1].Resources.Assigned.OnHeap != 228 {
		t.Errorf("workers %+v", ws)
	}
	page, ok := v.Supervisor("", "hx", false)
	if !ok || len(page.Supervisors) != 1 || len(page.Workers) != 2 || len(page.Workers[0].ComponentTasks) != 1 {
		t.Errorf("page %+v", page)
	}
	if _, ok := v.Supervisor("", "hy", false); ok {
		t.Error("there is a page of nobody")
	}
}

func TestOwners(t *testing.T) {
	w, _ := world(t)
	v := answer.New(w)
	pools := map[string]any{"bob": map[string]any{"cpu": 100, "memory": 2048.0}}
	got := v.Owners("", pools)
	if len(got) != 1 || got[0].Owner != "ann" || got[0].Topologies != 1 || got[0].Executors != 4 || got[0].Workers != 2 || got[0].Resources.Requested.CPU != 60 || got[0].Guaranteed != nil {
		t.Errorf("owners %+v", got)
	}
	got = v.Owners("bob", pools)
	if len(got) != 1 || got[0].Topologies != 0 || got[0].Guaranteed.CPU != 100 || got[0].Guaranteed.MemoryMB != 2048 {
		t.Errorf("bob %+v", got)
	}
}
