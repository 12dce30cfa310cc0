package supervisor

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/supervisor/slot"
)

func at(task int, supervisor cluster.SupervisorID, port cluster.Port, since int64) cluster.Placement {
	e := cluster.Executor{First: storm.TaskID(task), Last: storm.TaskID(task)}
	return cluster.Placement{Executor: e, Slot: cluster.Slot{Supervisor: supervisor, Port: port}, StartSecs: since}
}

func TestClaims(t *testing.T) {
	v := newView()
	if !v.unclear("a") {
		t.Error("before the list is read all is unclear")
	}
	v.list([]cluster.TopologyID{"a", "b", "c", "gone"})
	v.list([]cluster.TopologyID{"a", "b", "c"})
	a, b := v.topologies["a"], v.topologies["b"]
	a.placed, b.placed = true, true
	a.assignment = cluster.AssignmentRecord{
		Assignment: cluster.Assignment{at(1, "s", 1, 10), at(2, "s", 2, 10), at(3, "x", 3, 10), at(4, "s", 1, 20)},
		Resources: map[cluster.Slot]cluster.WorkerResources{
			{Supervisor: "s", Port: 1}: {OnHeap: 100, OffHeap: 28, CPU: 50, Resources: map[string]float64{"cpu.pcore.percent": 50, "onheap.memory.mb": 100, "gpu": 1}},
			{Supervisor: "x", Port: 3}: {OnHeap: 7},
		},
	}
	b.assignment.Assignment = cluster.Assignment{at(1, "s", 2, 11), at(2, "s", 1, 19)}
	// Of one slot's losses that of its present placement counts.
	loss := records.Loss{Slot: cluster.Slot{Supervisor: "s", Port: 1}, StartSecs: 20, Detect: time.Minute, Place: time.Second}
	old, other := loss, loss
	old.StartSecs, old.Detect, other.Slot.Port = 10, time.Hour, 2
	a.losses = []records.Loss{old, loss, other}
	one := cluster.Executor{First: 1, Last: 1}
	want := map[cluster.Port]claim{
		1: {slot.Assignment{
			Topology: "a", Executors: []cluster.Executor{one, {First: 4, Last: 4}},
			Need: cluster.Resources{MemoryMB: 128, CPU: 50, Generic: map[string]float64{"gpu": 1}},
		}, 20, loss},
		2: {slot.Assignment{Topology: "b", Executors: []cluster.Executor{one}}, 11, records.Loss{}},
	}
	if got := v.claims("s"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for id, want := range map[cluster.TopologyID]bool{"a": false, "c": true, "gone": false} {
		if v.unclear(id) != want {
			t.Errorf("%s unclear: %v", id, !want)
		}
	}
	if v.topologies["c"].here("s") || !a.here("x") || a.here("y") {
		t.Error("who is here")
	}
}

func TestSettings(t *testing.T) {
	base := Config{Conf: conf.Defaults(), Host: "h", LocalDir: t.TempDir(), LogDir: t.TempDir(), Coord: &gate{}, Nimbus: &boss{}, Localizer: &disk{}, Clock: clock.Real{}, Logger: discard()}
	for want, change := range map[string]func(*Config){
		"supervisor: Conf, Coord, Nimbus, Localizer, Clock and Logger must be given": func(c *Config) { c.Nimbus = nil },
		"supervisor: the host has no name; set storm.local.hostname":                 func(c *Config) { c.Host = "" },
		"supervisor: LocalDir and LogDir must be given":                              func(c *Config) { c.LogDir = "" },
		"supervisor: supervisor.slots.ports has 0, which is no port":                 func(c *Config) { c.Ports = []cluster.Port{0} },
		"supervisor: supervisor.slots.ports has 7 twice":                             func(c *Config) { c.Ports = []cluster.Port{7, 8, 7} },
	} {
		cfg := base
		change(&cfg)
		if _, err := New(cfg); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	own, err := base.Conf.With("test", map[string]any{
		"supervisor.slots.ports": []any{6801, 6800}, "supervisor.scheduler.meta": map[string]any{"rack": 7, "zone": "a"},
		"supervisor.resources.map": map[string]any{"gpu": 2, "odd": "x"}, "supervisor.memory.capacity.mb": 1000,
		"supervisor.thrift.port": 7000, "supervisor.worker.timeout.secs": 7, "supervisor.worker.shutdown.sleep.secs": 0,
	})
	if err != nil {
		t.Fatal(err)
	}
	base.Conf = own
	s, err := New(base)
	if err != nil {
		t.Fatal(err)
	}
	r := s.record()
	if !slices.Equal(r.Ports, []cluster.Port{6800, 6801}) || r.ThriftPort != 7000 ||
		fmt.Sprint(r.SchedulerMeta) != "map[rack:7 zone:a]" || fmt.Sprint(r.Resources) != "map[cpu.pcore.percent:400 gpu:2 memory.mb:1000]" {
		t.Errorf("record %+v", r)
	}
	if s.slots.HeartbeatTimeout.Seconds() != 7 || s.slots.SoftKill != 0 || s.slots.StartTimeout.Seconds() != 120 || s.slots.MaxHeartbeatTimeout.Seconds() != 600 {
		t.Errorf("delays %+v", s.slots)
	}
}
