package scheduler

import (
	"fmt"
	"testing"

	"github.com/stormring/stormring/internal/assert"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
)

// hall is a cluster of n supervisors with 4 slots each, 40 in a rack, and
// 10 n executors in topologies of 100 executors and 20 workers.
func hall(n int, strategy Strategy) Snapshot {
	s := Snapshot{NowSecs: 100}
	for i := range n {
		u := sv(i, 4, has(16384, 800))
		u.Rack = fmt.Sprintf("r%d", i/40)
		s.Supervisors = append(s.Supervisors, u)
	}
	for i := range n / 10 {
		t := Topology{
			ID: cluster.TopologyID(fmt.Sprintf("t%d-%d-1700000000", i, i)), Status: cluster.StatusActive,
			Workers: 20, Strategy: strategy, WorkerMaxMB: 4096, Priority: 29, SubmittedSecs: int64(i),
		}
		for e := range 100 {
			id := storm.TaskID(e + 1)
			t.Executors = append(t.Executors, Executor{cluster.Executor{First: id, Last: id}, fmt.Sprintf("c%d", e/20), cluster.Resources{MemoryMB: float64(128 * (e/20 + 1)), CPU: 20}})
		}
		s.Topologies = append(s.Topologies, t)
	}
	return s
}

// withoutRack is s with the supervisors of rack r1 lost.
func withoutRack(s Snapshot) Snapshot {
	var rest []Supervisor
	for _, u := range s.Supervisors {
		if u.Rack != "r1" {
			rest = append(rest, u)
		}
	}
	s.Supervisors = rest
	return s
}

// TestLargeCluster runs a cluster of 10,000 supervisors, a tenth of that under
// the race detector, through a first round, a round without news, and the loss
// of a rack.
func TestLargeCluster(t *testing.T) {
	n := 10_000
	if assert.Thorough {
		n = 1_000
	}
	execs := 10 * n
	for name, strategy := range map[string]Strategy{"even": Even, "packed": ResourceAware} {
		t.Run(name, func(t *testing.T) {
			s := hall(n, strategy)
			p := Schedule(s)
			placed, stay, moves, unplaced := tallyUp(p)
			if placed != execs || stay != 0 || moves != execs || unplaced != 0 {
				t.Fatalf("first round: %d placed, %d stay, %d move, %d unplaced", placed, stay, moves, unplaced)
			}
			checkSlots(t, p)
			s = apply(s, p)
			if placed, stay, moves, unplaced := tallyUp(Schedule(s)); stay != execs || placed != execs || moves+unplaced != 0 {
				t.Fatalf("quiet round: %d placed, %d stay, %d move, %d unplaced", placed, stay, moves, unplaced)
			}
			lost := 0
			for _, tp := range p.Topologies {
				for _, pl := range tp.Assignment {
					var n int
					fmt.Sscanf(string(pl.Slot.Supervisor), "s%d", &n)
					if n/40 == 1 {
						lost++
					}
				}
			}
			p = Schedule(withoutRack(s))
			if placed, stay, moves, unplaced := tallyUp(p); lost == 0 || placed != execs || moves != lost || stay != execs-lost || unplaced != 0 {
				t.Fatalf("a rack with %d executors is lost: %d placed, %d stay, %d move, %d unplaced", lost, placed, stay, moves, unplaced)
			}
			checkSlots(t, p)
		})
	}
}

func tallyUp(p Plan) (placed, stay, moves, unplaced int) {
	for _, t := range p.Topologies {
		placed += len(t.Assignment)
		stay += len(t.Stay)
		moves += len(t.Moves)
		unplaced += len(t.Unplaced)
	}
	return placed, stay, moves, unplaced
}

func checkSlots(t *testing.T, p Plan) {
	t.Helper()
	holder := map[cluster.Slot]cluster.TopologyID{}
	for _, tp := range p.Topologies {
		for _, slot := range tp.Assignment.Slots() {
			if h, ok := holder[slot]; ok {
				t.Fatalf("%v holds %s and %s", slot, h, tp.ID)
			}
			holder[slot] = tp.ID
		}
	}
}

// crowded is a full cluster of packed topologies, to which urgent ones come.
func crowded(n, urgent int) Snapshot {
	s := hall(n, ResourceAware)
	for i := range s.Supervisors {
		s.Supervisors[i].Total.MemoryMB = 4096
	}
	s = apply(s, Schedule(s))
	for i := range urgent {
		t := hall(10, ResourceAware).Topologies[0]
		t.ID, t.Priority = cluster.TopologyID(fmt.Sprintf("u%d-1-1700000001", i)), 1
		for e := range t.Executors {
			t.Executors[e].Need.MemoryMB = 2048
		}
		s.Topologies = append(s.Topologies, t)
	}
	return s
}

// BenchmarkEvict measures a round in which 20 urgent topologies come to a full
// cluster of 10,000 supervisors.
func BenchmarkEvict(b *testing.B) {
	s := crowded(10_000, 20)
	b.ReportAllocs()
	for b.Loop() {
		Schedule(s)
	}
}

func TestCrowded(t *testing.T) {
	s := crowded(200, 2)
	p := Schedule(s)
	if why := violation(s, p); why != "" {
		t.Fatal(why)
	}
	for _, tp := range p.Topologies {
		if tp.ID[0] == 'u' && len(tp.Unplaced) > 0 {
			t.Errorf("%s has %d unplaced: %s", tp.ID, len(tp.Unplaced), tp.WhyNot)
		}
	}
}

// BenchmarkSchedule measures a round of 10,000 supervisors and 100,000
// executors: the first one, one without news, and one after a rack was lost.
func BenchmarkSchedule(b *testing.B) {
	for _, c := range []struct {
		name     string
		strategy Strategy
	}{{"even", Even}, {"packed", ResourceAware}} {
		first := hall(10_000, c.strategy)
		quiet := apply(first, Schedule(first))
		full := quiet
		full.Supervisors = full.Supervisors[:4_000]
		for _, r := range []struct {
			name string
			s    Snapshot
		}{{"first", first}, {"quiet", quiet}, {"rack lost", withoutRack(quiet)}, {"too few left", full}} {
			b.Run(c.name+"/"+r.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Schedule(r.s)
				}
			})
		}
	}
}
