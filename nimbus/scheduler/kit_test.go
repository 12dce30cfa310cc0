package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
)

// sv is a supervisor on host h<n> called s<n> with so many ports from 1 on.
func sv(n, ports int, change ...func(*Supervisor)) Supervisor {
	s := Supervisor{ID: cluster.SupervisorID(fmt.Sprintf("s%d", n)), Host: fmt.Sprintf("h%d", n)}
	for p := range ports {
		s.Ports = append(s.Ports, cluster.Port(p+1))
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func cordoned(s *Supervisor)    { s.Standing = cluster.Cordoned }
func drained(s *Supervisor)     { s.Standing = cluster.Drained }
func blacklisted(s *Supervisor) { s.Blacklisted = true }

func dead(ports ...cluster.Port) func(*Supervisor) {
	return func(s *Supervisor) { s.Dead = append(s.Dead, ports...) }
}

func used(ports ...cluster.Port) func(*Supervisor) {
	return func(s *Supervisor) { s.Used = append(s.Used, ports...) }
}

func has(mem, cpu float64) func(*Supervisor) {
	return func(s *Supervisor) { s.Total = cluster.Resources{MemoryMB: mem, CPU: cpu} }
}

func rackOf(name string) func(*Supervisor) { return func(s *Supervisor) { s.Rack = name } }

// tp is a topology of one component "c" with executors of one task each.
func tp(id string, workers, execs int, change ...func(*Topology)) Topology {
	t := Topology{ID: cluster.TopologyID(id), Status: cluster.StatusActive, Workers: workers, Priority: 29}
	for i := range execs {
		t.Executors = append(t.Executors, Executor{Executor: ex(i + 1), Component: "c"})
	}
	for _, c := range change {
		c(&t)
	}
	return t
}

func ex(n int) cluster.Executor {
	return cluster.Executor{First: storm.TaskID(n), Last: storm.TaskID(n)}
}

// packed makes a topology resource aware; each executor needs so much.
func packed(mem, cpu float64) func(*Topology) {
	return func(t *Topology) {
		t.Strategy = ResourceAware
		for i := range t.Executors {
			t.Executors[i].Need = cluster.Resources{MemoryMB: mem, CPU: cpu}
		}
	}
}

// on is the current assignment, in the notation of layoutOf, as of second 50.
func on(text string) func(*Topology) {
	return func(t *Topology) { t.Current = parseLayout(text, 50) }
}

func deadExecs(ns ...int) func(*Topology) {
	return func(t *Topology) {
		for _, n := range ns {
			t.Dead = append(t.Dead, ex(n))
		}
	}
}

// parseLayout reads "s1:1=1,3 s2:1=2": executors by slot.
func parseLayout(text string, start int64) cluster.Assignment {
	var out cluster.Assignment
	for worker := range strings.FieldsSeq(text) {
		slot, execs, _ := strings.Cut(worker, "=")
		id, port, _ := strings.Cut(slot, ":")
		var p int
		fmt.Sscan(port, &p)
		for e := range strings.SplitSeq(execs, ",") {
			var n int
			fmt.Sscan(e, &n)
			out = append(out, cluster.Placement{Executor: ex(n), Slot: cluster.Slot{Supervisor: cluster.SupervisorID(id), Port: cluster.Port(p)}, StartSecs: start})
		}
	}
	out.Sort()
	return out
}

// layoutOf writes an assignment so.
func layoutOf(a cluster.Assignment) string {
	var out []string
	for _, slot := range a.Slots() {
		var execs []string
		for _, p := range a {
			if p.Slot == slot {
				execs = append(execs, fmt.Sprint(p.Executor.First))
			}
		}
		out = append(out, slot.String()+"="+strings.Join(execs, ","))
	}
	return strings.Join(out, " ")
}

// summary is a whole plan as text, a line a fact.
func summary(p Plan) string {
	var b strings.Builder
	for _, t := range p.Topologies {
		fmt.Fprintf(&b, "%s: %s\n", t.ID, layoutOf(t.Assignment))
		whys := map[string][]string{}
		var order []string
		for _, m := range t.Moves {
			if m.Why == "new" {
				continue
			}
			if whys[m.Why] == nil {
				order = append(order, m.Why)
			}
			whys[m.Why] = append(whys[m.Why], fmt.Sprint(m.Executor.First))
		}
		for _, why := range order {
			fmt.Fprintf(&b, "  move %s: %s\n", strings.Join(whys[why], ","), why)
		}
		if len(t.Unplaced) > 0 {
			fmt.Fprintf(&b, "  unplaced %d: %s\n", len(t.Unplaced), t.WhyNot)
		}
		for _, n := range t.Notes {
			fmt.Fprintf(&b, "  note: %s\n", n)
		}
	}
	return b.String()
}

// rule is a snapshot and the exact plan that follows from it.
type rule struct {
	name  string
	sups  []Supervisor
	topos []Topology
	want  string
}

func checkRules(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			got := strings.TrimSpace(summary(Schedule(Snapshot{NowSecs: 100, Supervisors: r.sups, Topologies: r.topos})))
			want := strings.TrimSpace(strings.ReplaceAll(r.want, "\t", ""))
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			// The order of the input does not matter.
			slices.Reverse(r.sups)
			slices.Reverse(r.topos)
			for i := range r.topos {
				slices.Reverse(r.topos[i].Executors)
				slices.Reverse(r.topos[i].Current)
			}
			if got := strings.TrimSpace(summary(Schedule(Snapshot{NowSecs: 100, Supervisors: r.sups, Topologies: r.topos}))); got != want {
				t.Errorf("in another order: got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
