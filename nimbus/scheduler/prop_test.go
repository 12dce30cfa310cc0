package scheduler

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/cluster"
)

// drawSnapshot draws a small cluster in any condition, whose assignments may
// be stale in every way.
func drawSnapshot(t *rapid.T) Snapshot {
	s := Snapshot{NowSecs: 100}
	nSups := rapid.IntRange(0, 8).Draw(t, "supervisors")
	for i := range nSups {
		u := sv(i, rapid.IntRange(0, 4).Draw(t, "ports"), has(float64(rapid.IntRange(0, 12).Draw(t, "mem")*100), float64(rapid.IntRange(0, 4).Draw(t, "cpu")*100)))
		u.Host = fmt.Sprintf("h%d", rapid.IntRange(0, i).Draw(t, "host"))
		u.Rack = fmt.Sprintf("r%d", rapid.IntRange(0, 2).Draw(t, "rack"))
		u.Standing = cluster.Standing(max(0, rapid.IntRange(-5, 2).Draw(t, "standing")))
		u.Blacklisted = rapid.IntRange(0, 7).Draw(t, "blacklisted") == 0
		u.Total.Generic = map[string]float64{"gpu": float64(rapid.IntRange(0, 3).Draw(t, "gpu"))}
		for _, p := range u.Ports {
			switch rapid.IntRange(0, 9).Draw(t, "port") {
			case 0:
				u.Dead = append(u.Dead, p)
			case 1:
				u.Used = append(u.Used, p)
			}
		}
		s.Supervisors = append(s.Supervisors, u)
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "topologies") {
		s.Topologies = append(s.Topologies, drawTopology(t, i, nSups))
	}
	return s
}

func drawTopology(t *rapid.T, i, nSups int) Topology {
	top := tp(fmt.Sprintf("t%d", i), rapid.IntRange(0, 5).Draw(t, "workers"), rapid.IntRange(0, 9).Draw(t, "executors"))
	top.Priority = rapid.IntRange(0, 2).Draw(t, "priority")
	top.SubmittedSecs = int64(rapid.IntRange(0, 2).Draw(t, "submitted"))
	top.Strategy = Strategy(rapid.IntRange(0, 1).Draw(t, "strategy"))
	top.Machines = max(0, rapid.IntRange(-4, 2).Draw(t, "machines"))
	top.MaxWorkers = rapid.IntRange(0, 4).Draw(t, "max workers")
	top.WorkerMaxMB = float64(rapid.IntRange(0, 3).Draw(t, "worker max") * 300)
	top.Status = cluster.TopologyStatus(max(1, rapid.IntRange(-4, 4).Draw(t, "status")))
	top.Fresh = rapid.IntRange(0, 5).Draw(t, "fresh") == 0
	for e := range top.Executors {
		top.Executors[e].Need = cluster.Resources{MemoryMB: float64(rapid.IntRange(0, 3).Draw(t, "need") * 100), CPU: float64(rapid.IntRange(0, 2).Draw(t, "need cpu") * 50)}
		if rapid.IntRange(0, 4).Draw(t, "needs gpu") == 0 {
			top.Executors[e].Need.Generic = map[string]float64{"gpu": 1}
		}
		if rapid.IntRange(0, 3).Draw(t, "assigned") > 0 {
			top.Current = append(top.Current, cluster.Placement{Executor: top.Executors[e].Executor, StartSecs: 50, Slot: cluster.Slot{
				Supervisor: cluster.SupervisorID(fmt.Sprintf("s%d", rapid.IntRange(0, nSups).Draw(t, "on"))), Port: cluster.Port(rapid.IntRange(1, 4).Draw(t, "on port"))}})
			if rapid.IntRange(0, 9).Draw(t, "dead") == 0 {
				top.Dead = append(top.Dead, top.Executors[e].Executor)
			}
		}
	}
	return top
}

func TestPlanInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		if why := violation(s, Schedule(s)); why != "" {
			t.Fatal(why)
		}
	})
}

// violation is what is wrong with a plan for s, or "".
func violation(s Snapshot, p Plan) string {
	if len(p.Topologies) != len(s.Topologies) {
		return fmt.Sprintf("%d topologies planned of %d", len(p.Topologies), len(s.Topologies))
	}
	sups := map[cluster.SupervisorID]*Supervisor{}
	for i := range s.Supervisors {
		sups[s.Supervisors[i].ID] = &s.Supervisors[i]
	}
	holder := map[cluster.Slot]cluster.TopologyID{}
	usedUp := map[cluster.SupervisorID]cluster.Resources{}
	packedOnto := map[cluster.SupervisorID]cluster.Resources{}
	for i := range s.Topologies {
		t := &s.Topologies[i]
		tp, ok := p.Of(t.ID)
		if !ok {
			return fmt.Sprintf("%s is not in the plan", t.ID)
		}
		if why := badTopologyPlan(t, tp); why != "" {
			return fmt.Sprintf("%s: %s", t.ID, why)
		}
		for _, pl := range tp.Assignment {
			u := sups[pl.Slot.Supervisor]
			if u == nil || !slices.Contains(u.Ports, pl.Slot.Port) {
				return fmt.Sprintf("%s: %v is in %v, which does not exist", t.ID, pl.Executor, pl.Slot)
			}
			if h, ok := holder[pl.Slot]; ok && h != t.ID {
				return fmt.Sprintf("%v holds both %s and %s", pl.Slot, h, t.ID)
			}
			holder[pl.Slot] = t.ID
			i := slices.IndexFunc(t.Executors, func(e Executor) bool { return e.Executor == pl.Executor })
			// Even topologies do not ask whether there is room; count those that
			// were there first.
			if t.Strategy == ResourceAware || !t.Fresh && len(tp.Moves) == 0 {
				usedUp[u.ID] = usedUp[u.ID].Plus(t.Executors[i].Need)
			}
		}
		for _, m := range tp.Moves {
			u := sups[m.To.Supervisor]
			if u.Standing != cluster.Open || u.Blacklisted || slices.Contains(u.Dead, m.To.Port) || slices.Contains(u.Used, m.To.Port) {
				return fmt.Sprintf("%s: %v is new in %v, which takes nothing new", t.ID, m.Executor, m.To)
			}
			if t.Strategy == ResourceAware {
				e := slices.IndexFunc(t.Executors, func(e Executor) bool { return e.Executor == m.Executor })
				packedOnto[u.ID] = packedOnto[u.ID].Plus(t.Executors[e].Need)
			}
		}
	}
	for id, need := range packedOnto {
		if overfull(sups[id].Total, usedUp[id], need) {
			return fmt.Sprintf("%s has %v and %v is taken, %v newly", id, sups[id].Total, usedUp[id], need)
		}
	}
	return ""
}

// overfull reports whether there is too much of something hard that newcomers
// asked for.
func overfull(total, taken, need cluster.Resources) bool {
	return need.MemoryMB > 0 && taken.MemoryMB > total.MemoryMB ||
		need.Generic["gpu"] > 0 && taken.Generic["gpu"] > total.Generic["gpu"]
}

// badTopologyPlan says where the parts of a topology's plan do not add up.
func badTopologyPlan(t *Topology, p TopologyPlan) string {
	seen := map[cluster.Executor]int{}
	for _, pl := range p.Assignment {
		seen[pl.Executor]++
	}
	for _, e := range p.Unplaced {
		seen[e]++
	}
	for _, e := range t.Executors {
		if seen[e.Executor] != 1 {
			return fmt.Sprintf("%v is placed or unplaced %d times", e.Executor, seen[e.Executor])
		}
	}
	for _, e := range p.Stay {
		was := slices.IndexFunc(t.Current, func(pl cluster.Placement) bool { return pl.Executor == e })
		if pl, ok := p.Assignment.Find(e); !ok || was < 0 || pl != t.Current[was] {
			return fmt.Sprintf("%v stays but is at %v", e, pl)
		}
	}
	for _, m := range p.Moves {
		pl, ok := p.Assignment.Find(m.Executor)
		if !ok || pl.Slot != m.To || pl.StartSecs != 100 || m.Why == "" {
			return fmt.Sprintf("move %v ends at %v", m, pl)
		}
	}
	switch {
	case len(seen) != len(t.Executors), len(p.Stay)+len(p.Moves) != len(p.Assignment):
		return "the plan's parts do not add up"
	case (p.WhyNot == "") != (len(p.Unplaced) == 0):
		return fmt.Sprintf("%d are unplaced because %q", len(p.Unplaced), p.WhyNot)
	case t.Strategy == Even && t.Status != cluster.StatusKilled && t.Status != cluster.StatusRebalancing && len(p.Unplaced) > 0 && len(p.Moves) > 0:
		return "an even topology is placed in part"
	}
	return ""
}

func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		want := Schedule(s)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		if got := Schedule(shuffled(s, rng)); !reflect.DeepEqual(got, want) {
			t.Fatalf("got\n%s\nwant\n%s", summary(got), summary(want))
		}
	})
}

func shuffled(s Snapshot, rng *rand.Rand) Snapshot {
	s.Supervisors, s.Topologies = mixed(s.Supervisors, rng), mixed(s.Topologies, rng)
	for i := range s.Supervisors {
		u := &s.Supervisors[i]
		u.Ports, u.Dead, u.Used = mixed(u.Ports, rng), mixed(u.Dead, rng), mixed(u.Used, rng)
	}
	for i := range s.Topologies {
		t := &s.Topologies[i]
		t.Executors, t.Current, t.Dead = mixed(t.Executors, rng), mixed(t.Current, rng), mixed(t.Dead, rng)
	}
	return s
}

func mixed[T any](s []T, rng *rand.Rand) []T {
	s = slices.Clone(s)
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	return s
}

// apply is the snapshot of the next round, all workers alive.
func apply(s Snapshot, p Plan) Snapshot {
	s.Topologies = slices.Clone(s.Topologies)
	for i := range s.Topologies {
		t := &s.Topologies[i]
		tp, _ := p.Of(t.ID)
		t.Current, t.Dead, t.Fresh = tp.Assignment, nil, false
	}
	return s
}

// healthySnapshot is one with room for everybody, and twice that.
func healthySnapshot(t *rapid.T) Snapshot {
	s := drawSnapshot(t)
	s.Supervisors = nil
	slots := 0
	for i := range s.Topologies {
		top := &s.Topologies[i]
		top.Status, top.Machines, top.MaxWorkers, top.Current, top.Dead = cluster.StatusActive, 0, 0, nil, nil
		for e := range top.Executors {
			top.Executors[e].Need.Generic = nil
		}
		slots += max(top.Workers, 1) + len(top.Executors)
	}
	for i := range slots/2 + 2 {
		s.Supervisors = append(s.Supervisors, sv(i, 4, has(1e6, 1e6)))
	}
	return s
}

func TestALostSupervisorMovesOnlyItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := healthySnapshot(t)
		p := Schedule(s)
		s = apply(s, p)
		for _, tp := range Schedule(s).Topologies {
			if tp.Changed || len(tp.Moves) > 0 || len(tp.Unplaced) > 0 {
				t.Fatalf("the second round changes %s: %v, unplaced %v: %s", tp.ID, tp.Moves, tp.Unplaced, tp.WhyNot)
			}
		}
		lost := rapid.IntRange(0, len(s.Supervisors)-1).Draw(t, "lost")
		id := s.Supervisors[lost].ID
		s.Supervisors = slices.Delete(slices.Clone(s.Supervisors), lost, lost+1)
		for _, tp := range Schedule(s).Topologies {
			if len(tp.Unplaced) > 0 {
				t.Fatalf("%s: %v unplaced: %s", tp.ID, tp.Unplaced, tp.WhyNot)
			}
			for _, m := range tp.Moves {
				if m.From.Supervisor != id {
					t.Fatalf("%s: %v moves though %s is lost", tp.ID, m, id)
				}
			}
		}
	})
}

// A cluster without news comes to rest: nobody is moved to and fro. One round
// is enough unless topologies wait for what others give up.
func TestRoundsComeToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		for range len(s.Topologies) + 2 {
			p := Schedule(s)
			changed := slices.ContainsFunc(p.Topologies, func(t TopologyPlan) bool { return t.Changed })
			s = apply(s, p)
			if !changed {
				return
			}
		}
		t.Fatalf("still moving:\n%s", summary(Schedule(s)))
	})
}
