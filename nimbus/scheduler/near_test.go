package scheduler

import (
	"testing"

	"github.com/stormring/stormring/internal/cluster"
)

// kept tells where state lies: by executor, then by supervisor.
func kept(by map[int]map[cluster.SupervisorID]int64) func(*Topology) {
	return func(t *Topology) {
		t.Kept = map[cluster.Executor]map[cluster.SupervisorID]int64{}
		for n, at := range by {
			t.Kept[ex(n)] = at
		}
	}
}

func TestStateIsNear(t *testing.T) {
	here := func(s ...cluster.SupervisorID) map[cluster.SupervisorID]int64 {
		m := map[cluster.SupervisorID]int64{}
		for i, id := range s {
			m[id] = int64(100 - i)
		}
		return m
	}
	for _, c := range []struct {
		name string
		sups []Supervisor
		topo Topology
		want string
	}{
		{"a lost worker goes where its state is", []Supervisor{sv(1, 2), sv(3, 2), sv(4, 2)},
			tp("a", 2, 2, on("s1:1=1 s2:1=2"), kept(map[int]map[cluster.SupervisorID]int64{2: here("s4", "s1")})), "s1:1=1 s4:1=2"},
		{"not where there is no room", []Supervisor{sv(1, 2), sv(3, 2), sv(4, 1, used(1))},
			tp("a", 2, 2, on("s1:1=1 s2:1=2"), kept(map[int]map[cluster.SupervisorID]int64{2: here("s4", "s3")})), "s1:1=1 s3:1=2"},
		{"executors of one worker part, and the worker sizes stay even", []Supervisor{sv(3, 1), sv(4, 1)},
			tp("a", 2, 4, on("s1:1=1,2 s2:1=3,4"), kept(map[int]map[cluster.SupervisorID]int64{
				1: here("s4"), 2: here("s3"), 3: here("s4"), 4: here("s4"),
			})), "s3:1=2,4 s4:1=1,3"},
		{"without state as ever", []Supervisor{sv(3, 1), sv(4, 1)},
			tp("a", 2, 4, on("s1:1=1,2 s2:1=3,4"), kept(map[int]map[cluster.SupervisorID]int64{9: here("s4")})), "s3:1=1,3 s4:1=2,4"},
	} {
		plan := Schedule(Snapshot{NowSecs: 100, Supervisors: c.sups, Topologies: []Topology{c.topo}})
		p, _ := plan.Of("a")
		if got := layoutOf(p.Assignment); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
