package scheduler

import (
	"testing"

	"github.com/stormring/stormring/internal/cluster"
)

// of replaces the executors by n of each need, components "c0", "c1", ...
func of(n int, needs ...cluster.Resources) func(*Topology) {
	return func(t *Topology) {
		t.Executors, t.Strategy = nil, ResourceAware
		for c, need := range needs {
			for range n {
				t.Executors = append(t.Executors, Executor{ex(len(t.Executors) + 1), "c" + string(rune('0'+c)), need})
			}
		}
	}
}

func mem(mb float64) cluster.Resources { return cluster.Resources{MemoryMB: mb} }

func gpus(n float64) func(*Supervisor) {
	return func(s *Supervisor) { s.Total.Generic = map[string]float64{"gpu": n} }
}

func prio(p int) func(*Topology) { return func(t *Topology) { t.Priority = p } }

func TestPack(t *testing.T) {
	checkRules(t, []rule{
		{"one worker if it fits",
			[]Supervisor{sv(1, 2, has(1000, 400)), sv(2, 2, has(1000, 400))}, []Topology{tp("a", 3, 4, packed(100, 10))},
			"a: s1:1=1,2,3,4"},
		{"starts where the largest share is free",
			[]Supervisor{sv(1, 2, has(1000, 400)), sv(2, 2, has(1000, 400))},
			[]Topology{tp("a", 1, 1, packed(100, 10), prio(1)), tp("b", 1, 1, packed(100, 10))},
			"a: s1:1=1\nb: s2:1=1"},
		{"more workers on the same supervisor when a worker may not be larger",
			[]Supervisor{sv(1, 3, has(1000, 400)), sv(2, 2, has(1000, 400))},
			[]Topology{tp("a", 1, 5, packed(100, 10), func(t *Topology) { t.WorkerMaxMB = 250 })},
			"a: s1:1=1,2 s1:2=3,4 s1:3=5"},
		{"the same rack before others",
			[]Supervisor{sv(1, 1, has(100, 400), rackOf("r1")), sv(2, 1, has(200, 400), rackOf("r2")), sv(3, 1, has(100, 400), rackOf("r1")), sv(4, 1, has(50, 400), rackOf("r2"))},
			[]Topology{tp("a", 1, 5, packed(50, 10))},
			"a: s2:1=1,2,3,4 s4:1=5"},
		{"the rack in use before a roomier one",
			[]Supervisor{sv(1, 1, has(100, 400), rackOf("r1")), sv(2, 1, has(900, 400), rackOf("r2")), sv(3, 1, has(100, 400), rackOf("r1"))},
			[]Topology{tp("a", 1, 3, packed(50, 10), on("s1:1=1,2"))},
			"a: s1:1=1,2 s3:1=3"},
		{"the largest first, so that all fit",
			[]Supervisor{sv(1, 1, has(100, 400)), sv(2, 1, has(60, 400))},
			[]Topology{tp("a", 1, 0, of(2, mem(30), mem(50)))},
			"a: s1:1=3,4 s2:1=1,2"},
		{"CPU is soft",
			[]Supervisor{sv(1, 1, has(1000, 100)), sv(2, 1, has(1000, 100))}, []Topology{tp("a", 1, 5, packed(10, 50))},
			`a: s1:1=1,2,5 s2:1=3,4
			  note: more CPU is asked for than there is on host h1`},
		{"memory is hard, all or none",
			[]Supervisor{sv(2, 1, has(768, 100)), sv(3, 1, has(512, 100))}, []Topology{tp("a", 1, 0, of(1, mem(100), mem(1024)))},
			`a: 
			  unplaced 2: component "c1" needs 1024 MB in one slot, the most any supervisor has free is 768 MB on host h2`},
		{"generic resources are hard",
			[]Supervisor{sv(1, 1, has(100, 100)), sv(2, 1, has(100, 100), gpus(1))},
			[]Topology{tp("a", 1, 0, of(1, cluster.Resources{Generic: map[string]float64{"gpu": 1}})), tp("b", 1, 0, of(1, cluster.Resources{Generic: map[string]float64{"gpu": 2}}))},
			`a: s2:1=1
			b: 
			  unplaced 1: component "c0" needs 2 gpu in one slot, the most any supervisor has free is 0 gpu on host h1`},
		{"a worker may not be so large",
			[]Supervisor{sv(1, 1, has(1000, 100))}, []Topology{tp("a", 1, 1, packed(500, 1), func(t *Topology) { t.WorkerMaxMB = 400 })},
			`a: 
			  unplaced 1: component "c" needs 500 MB in one slot, a worker of this topology may have 400 MB: raise topology.worker.max.heap.size.mb or ask for less`},
		{"a limit on workers",
			[]Supervisor{sv(1, 9, has(1000, 100))}, []Topology{tp("a", 1, 3, packed(100, 1), func(t *Topology) { t.WorkerMaxMB = 100; t.MaxWorkers = 2 })},
			`a: 
			  unplaced 3: component "c" (100 MB, 1 % CPU) does not fit into the 2 workers that the topology may have once 2 of 3 executors are placed`},
		{"no slots", []Supervisor{sv(1, 1, has(1000, 100), used(1)), sv(2, 1, cordoned)}, []Topology{tp("a", 1, 3, packed(100, 1))},
			`a: 
			  unplaced 3: needs 1 more slot: 1 of 2 supervisors has no free slot, 1 is cordoned (host h2)`},
		{"what is lost goes to a new worker, those that run are left alone",
			[]Supervisor{sv(1, 2, has(1000, 400)), sv(3, 2, has(1000, 400))}, []Topology{tp("a", 1, 4, packed(100, 10), on("s1:1=1,2 s2:1=3,4"))},
			`a: s1:1=1,2 s1:2=3,4
			  move 3,4: supervisor s2 is lost`},
		{"a running worker takes more in if there is no other way",
			[]Supervisor{sv(1, 1, has(1000, 400))}, []Topology{tp("a", 1, 4, packed(100, 10), on("s1:1=1,2 s2:1=3,4"))},
			`a: s1:1=1,2,3,4
			  move 3,4: supervisor s2 is lost
			  note: worker s1:1 restarts to take in executors that fit nowhere else`},
		{"what even topologies ask for is booked too",
			[]Supervisor{sv(1, 2, has(100, 400))}, []Topology{tp("a", 1, 1, packed(80, 1), func(t *Topology) { t.Strategy = Even; t.Priority = 1 }), tp("b", 1, 1, packed(30, 1))},
			`a: s1:1=1
			b: 
			  unplaced 1: component "c" needs 30 MB in one slot, the most any supervisor has free is 20 MB on host h1`},
	})
}

func TestEvict(t *testing.T) {
	sups := func() []Supervisor { return []Supervisor{sv(1, 2, has(100, 400)), sv(2, 2, has(50, 400))} }
	checkRules(t, []rule{
		{"the lower priority makes room and goes elsewhere", sups(),
			[]Topology{tp("a", 1, 1, packed(100, 1), prio(1)), tp("b", 1, 1, packed(50, 1), on("s1:1=1"))},
			`a: s1:1=1
			b: s2:1=1
			  move 1: makes room for a (priority 1 before 29)`},
		{"or it waits", sups(),
			[]Topology{tp("a", 1, 1, packed(100, 1), prio(1)), tp("b", 1, 1, packed(60, 1), on("s1:1=1"))},
			`a: s1:1=1
			b: 
			  unplaced 1: component "c" needs 60 MB in one slot, the most any supervisor has free is 50 MB on host h2`},
		{"equal priority does not", sups(),
			[]Topology{tp("a", 1, 1, packed(100, 1)), tp("b", 1, 1, packed(60, 1), on("s1:1=1"))},
			`a: 
			  unplaced 1: component "c" needs 100 MB in one slot, the most any supervisor has free is 50 MB on host h2
			b: s1:1=1`},
		{"who would step aside in vain stays", sups(),
			[]Topology{tp("a", 1, 1, packed(100, 1), prio(1)), tp("b", 1, 1, packed(50, 1), prio(30), on("s1:1=1")), tp("c", 1, 1, packed(50, 1), prio(30), on("s2:1=1"))},
			`a: s1:1=1
			b: 
			  unplaced 1: component "c" needs 50 MB in one slot, the most any supervisor has free is 0 MB on host h1
			c: s2:1=1`},
		{"nobody moves if it does not help", sups(),
			[]Topology{tp("a", 1, 1, packed(101, 1), prio(1)), tp("b", 1, 1, packed(60, 1), on("s1:1=1"))},
			`a: 
			  unplaced 1: component "c" needs 101 MB in one slot, the most any supervisor has free is 50 MB on host h2
			b: s1:1=1`},
	})
}
