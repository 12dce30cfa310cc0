package scheduler

import "testing"

func alone(machines int) func(*Topology) { return func(t *Topology) { t.Machines = machines } }

func TestIsolate(t *testing.T) {
	three := func() []Supervisor { return []Supervisor{sv(1, 2), sv(2, 2), sv(3, 2)} }
	checkRules(t, []rule{
		{"hosts of its own", three(), []Topology{tp("a", 3, 3, alone(2)), tp("b", 4, 4)},
			`a: s1:1=1 s1:2=3 s2:1=2
			b: s3:1=1,3 s3:2=2,4
			  note: has 2 of 4 workers: needs 2 more slots: 1 of 3 supervisors has no free slot, 2 are reserved for an isolated topology (hosts h1, h2)`},
		{"empty hosts first", three(), []Topology{tp("a", 1, 1, alone(1)), tp("b", 1, 1, on("s1:1=1"))},
			"a: s2:1=1\nb: s1:1=1"},
		{"others are sent away", three(), []Topology{tp("a", 2, 2, alone(2)), tp("b", 2, 2, on("s1:1=1 s2:1=2"))},
			`a: s1:1=1 s3:1=2
			b: s2:1=2 s2:2=1
			  move 1: host h1 is now for a alone`},
		{"where it runs it stays", three(), []Topology{tp("a", 2, 2, alone(1), on("s2:1=1 s2:2=2")), tp("b", 1, 1)},
			"a: s2:1=1 s2:2=2\nb: s1:1=1"},
		{"it gathers on its hosts", three(), []Topology{tp("a", 2, 3, alone(1), on("s2:1=1,3 s3:1=2"))},
			`a: s2:1=1,3 s2:2=2
			  move 2: host h3 is not among its own`},
		{"too few hosts: it takes what there is",
			[]Supervisor{sv(1, 2), sv(2, 2, cordoned), sv(3, 2)}, []Topology{tp("a", 1, 1, alone(1)), tp("b", 2, 2, alone(2))},
			`a: s1:1=1
			b: s3:1=1 s3:2=2
			  note: has 1 of 2 machines of its own: of 3 hosts, 1 belongs to other isolated topologies and 1 has no usable slot (cordoned, drained, blacklisted or dead)`},
		{"packed on its own hosts",
			[]Supervisor{sv(1, 2, has(100, 400)), sv(2, 2, has(100, 400))}, []Topology{tp("a", 1, 2, packed(60, 1), alone(1))},
			`a: 
			  unplaced 2: component "c" needs 60 MB in one slot, the most any supervisor has free is 40 MB on host h1 once 1 of 2 executors are placed`},
		{"supervisors of one host go together",
			[]Supervisor{sv(1, 1), sv(2, 1, func(s *Supervisor) { s.Host = "h1" }), sv(3, 1)}, []Topology{tp("a", 2, 2, alone(1)), tp("b", 1, 1)},
			"a: s1:1=1 s2:1=2\nb: s3:1=1"},
	})
}
