package scheduler

import "testing"

func TestEven(t *testing.T) {
	checkRules(t, []rule{
		{"interleaved, most free slots first, lowest port first",
			[]Supervisor{sv(1, 2), sv(2, 3), sv(3, 1)}, []Topology{tp("a", 5, 6)},
			"a: s1:1=2 s1:2=5 s2:1=1,6 s2:2=4 s3:1=3"},
		{"dealt round-robin by first task",
			[]Supervisor{sv(1, 1), sv(2, 1)}, []Topology{tp("a", 2, 5)},
			"a: s1:1=1,3,5 s2:1=2,4"},
		{"fewer slots than workers",
			[]Supervisor{sv(1, 1), sv(2, 1, cordoned), sv(3, 2, blacklisted)}, []Topology{tp("a", 3, 4)},
			`a: s1:1=1,2,3,4
			  note: has 1 of 3 workers: needs 2 more slots: 1 of 3 supervisors has no free slot, 1 is cordoned (host h2), 1 is blacklisted (host h3)`},
		{"more workers than executors", []Supervisor{sv(1, 4)}, []Topology{tp("a", 4, 2)}, "a: s1:1=1 s1:2=2"},
		{"used and dead ports take nothing new",
			[]Supervisor{sv(1, 4, used(1), dead(3))}, []Topology{tp("a", 4, 4)},
			`a: s1:2=1,3 s1:4=2,4
			  note: has 2 of 4 workers: needs 2 more slots: 1 of 1 supervisor has no free slot`},
		{"no slots at all",
			[]Supervisor{sv(1, 1), sv(2, 1), sv(3, 1), sv(4, 1, cordoned), sv(5, 1, blacklisted)},
			[]Topology{tp("a", 3, 3), tp("b", 2, 2)},
			`a: s1:1=1 s2:1=2 s3:1=3
			b: 
			  unplaced 2: needs 2 more slots: 3 of 5 supervisors have no free slot, 1 is cordoned (host h4), 1 is blacklisted (host h5)`},
		{"no supervisors", nil, []Topology{tp("a", 1, 1)}, `a: 
			  unplaced 1: needs 1 more slot: no supervisor lives`},
		{"no executors", []Supervisor{sv(1, 1)}, []Topology{tp("a", 1, 0)}, "a:"},
		{"priority, then age, then id",
			[]Supervisor{sv(1, 3)}, []Topology{
				tp("a", 1, 1), tp("b", 1, 1, func(t *Topology) { t.Priority = 1; t.SubmittedSecs = 9 }),
				tp("c", 1, 1, func(t *Topology) { t.Priority = 1; t.SubmittedSecs = 5 })},
			"a: s1:3=1\nb: s1:2=1\nc: s1:1=1"},
		{"a topology without change stays though it could be spread better",
			[]Supervisor{sv(1, 2), sv(2, 2)}, []Topology{tp("a", 2, 4, on("s1:1=1,2,3 s1:2=4"))},
			"a: s1:1=1,2,3 s1:2=4"},
		{"a lost supervisor: others stay",
			[]Supervisor{sv(1, 2), sv(3, 2)}, []Topology{tp("a", 3, 6, on("s1:1=1,4 s2:1=2,5 s3:1=3,6"))},
			`a: s1:1=1,4 s1:2=2,5 s3:1=3,6
			  move 2,5: supervisor s2 is lost`},
		{"a lost supervisor and no room: the workers that are left are spread anew",
			[]Supervisor{sv(1, 1), sv(3, 1)}, []Topology{tp("a", 3, 6, on("s1:1=1,4 s2:1=2,5 s3:1=3,6"))},
			`a: s1:1=1,3,5 s3:1=2,4,6
			  move 2,5: supervisor s2 is lost
			  move 3,4: its worker is not of the size that an even spread asks for
			  note: has 2 of 3 workers: needs 1 more slot: 2 of 2 supervisors have no free slot`},
		{"a lost port", []Supervisor{sv(1, 2)}, []Topology{tp("a", 1, 1, on("s1:9=1"))},
			`a: s1:1=1
			  move 1: supervisor s1 has no port 9 any more`},
		{"dead executors leave their slot, which takes nothing new",
			[]Supervisor{sv(1, 2), sv(2, 1)}, []Topology{tp("a", 2, 4, on("s1:1=1,3 s2:1=2,4"), deadExecs(1, 3))},
			`a: s1:2=1,3 s2:1=2,4
			  move 1,3: it shows no life`},
		{"a dead slot", []Supervisor{sv(1, 2, dead(1))}, []Topology{tp("a", 1, 2, on("s1:1=1,2"))},
			`a: s1:2=1,2
			  move 1,2: slot s1:1 is dead`},
		{"more workers wanted: bad slots are freed",
			[]Supervisor{sv(1, 3)}, []Topology{tp("a", 3, 6, on("s1:1=1,2,3 s1:2=4,5,6"))},
			`a: s1:1=1,4 s1:2=2,5 s1:3=3,6
			  move 2,3,4,6: its worker is not of the size that an even spread asks for`},
		{"new executors get the freed slots, good ones stay",
			[]Supervisor{sv(1, 2)}, []Topology{tp("a", 2, 4, on("s1:1=1,2 s1:2=3"))},
			"a: s1:1=1,2 s1:2=3,4"},
		{"a rebalanced topology starts from scratch",
			[]Supervisor{sv(1, 2), sv(2, 2)}, []Topology{tp("a", 2, 4, on("s1:1=1,2,3 s1:2=4"), func(t *Topology) { t.Fresh = true; t.Status = 3 })},
			`a: s1:1=1,3 s2:1=2,4
			  move 2,4: rebalanced`},
		{"killed and rebalancing ones keep what they have and get nothing",
			[]Supervisor{sv(1, 3)}, []Topology{
				tp("a", 2, 2, on("s1:1=1 s9:1=2"), func(t *Topology) { t.Status = 4 }),
				tp("b", 2, 2, on("s1:2=1,2"), func(t *Topology) { t.Status = 3 }), tp("c", 1, 1)},
			`a: s1:1=1
			  unplaced 1: it is KILLED and gets nothing new until that is over
			b: s1:2=1,2
			c: s1:3=1`},
		{"two topologies claim a slot: the first in order keeps it",
			[]Supervisor{sv(1, 2)}, []Topology{tp("a", 1, 1, on("s1:1=1")), tp("b", 1, 1, on("s1:1=1"))},
			`a: s1:1=1
			b: s1:2=1
			  move 1: slot s1:1 is a's`},
		{"executors that are no more are left out", []Supervisor{sv(1, 1)}, []Topology{tp("a", 1, 1, on("s1:1=1,7"))}, "a: s1:1=1"},
	})
}

func TestCordonAndDrain(t *testing.T) {
	checkRules(t, []rule{
		{"cordoned: stays, nothing new",
			[]Supervisor{sv(1, 2, cordoned), sv(2, 2)}, []Topology{tp("a", 2, 2, on("s1:1=1 s2:1=2")), tp("b", 1, 1)},
			"a: s1:1=1 s2:1=2\nb: s2:2=1"},
		{"blacklisted: stays, nothing new",
			[]Supervisor{sv(1, 2, blacklisted), sv(2, 2)}, []Topology{tp("a", 2, 2, on("s1:1=1 s2:1=2")), tp("b", 1, 1)},
			"a: s1:1=1 s2:1=2\nb: s2:2=1"},
		{"drained: workers move as a whole",
			[]Supervisor{sv(1, 2, drained), sv(2, 2)}, []Topology{tp("a", 2, 4, on("s1:1=1,3 s2:1=2,4"))},
			`a: s2:1=2,4 s2:2=1,3
			  move 1,3: supervisor s1 (host h1) is drained`},
		{"drained and no room",
			[]Supervisor{sv(1, 2, drained), sv(2, 2)}, []Topology{tp("a", 3, 3, on("s1:1=1 s1:2=2 s2:1=3"))},
			`a: s1:2=2 s2:1=3 s2:2=1
			  move 1: supervisor s1 (host h1) is drained
			  note: 1 worker cannot leave drained host h1: needs 1 more slot: 1 of 2 supervisors has no free slot, 1 is drained (host h1)`},
		{"packed: drained",
			[]Supervisor{sv(1, 2, drained, has(100, 100)), sv(2, 2, has(100, 100))}, []Topology{tp("a", 1, 2, packed(30, 10), on("s1:1=1,2"))},
			`a: s2:1=1,2
			  move 1,2: supervisor s1 (host h1) is drained`},
		{"packed: drained and no room",
			[]Supervisor{sv(1, 2, drained, has(100, 100)), sv(2, 2, has(40, 100))}, []Topology{tp("a", 1, 2, packed(30, 10), on("s1:1=1,2"))},
			`a: s1:1=1,2
			  note: 1 worker cannot leave drained host h1: component "c" needs 30 MB in one slot, the most any supervisor has free is 10 MB on host h2 once 1 of 2 executors are placed`},
	})
}
