package survey

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/nimbus/scheduler"
	"github.com/stormring/stormring/storm"
)

// Rules say how a cluster is scheduled.
type Rules struct {
	Strategy scheduler.Strategy
	// Machines are the hosts that topologies have for themselves, by name.
	Machines map[string]int
	// PerTopology: a topology says itself how many hosts it wants.
	PerTopology bool
}

// NewRules reads storm.scheduler and what belongs to it. It refuses a class
// that we do not have.
func NewRules(c *conf.Conf) (Rules, error) {
	class := c.String(conf.StormScheduler)
	short := class[strings.LastIndexByte(class, '.')+1:]
	switch short {
	case "", "DefaultScheduler", "EvenScheduler":
		return Rules{}, nil
	case "IsolationScheduler":
		machines := map[string]int{}
		for name, v := range c.Map(conf.IsolationMachines) {
			n, err := storm.Key[int](string(conf.IsolationMachines) + "." + name).Parse(v)
			if err != nil {
				return Rules{}, err
			}
			machines[name] = n
		}
		return Rules{Machines: machines}, nil
	case "MultitenantScheduler":
		return Rules{PerTopology: true}, nil
	case "ResourceAwareScheduler":
		return Rules{Strategy: scheduler.ResourceAware}, nil
	}
	return Rules{}, fmt.Errorf("%s: there is no scheduler %q; there are DefaultScheduler, EvenScheduler, IsolationScheduler, MultitenantScheduler and ResourceAwareScheduler",
		conf.StormScheduler, class)
}

// Snapshot is the world as the scheduler sees it. Topologies whose code cannot
// be read keep what they have. fresh names those that are placed anew.
func (w World) Snapshot(r Rules, ears *Ears, fresh map[cluster.TopologyID]bool) scheduler.Snapshot {
	s := scheduler.Snapshot{NowSecs: w.NowSecs}
	assigned := map[cluster.Slot]bool{}
	dead := map[cluster.Slot]bool{}
	for _, id := range w.IDs() {
		t := w.Topologies[id]
		for _, slot := range t.Record.Assignment.Slots() {
			assigned[slot] = true
		}
		view := w.topology(t, r, ears)
		view.Fresh = fresh[id]
		for _, e := range view.Dead {
			if p, ok := t.Record.Assignment.Find(e); ok {
				dead[p.Slot] = true
			}
		}
		s.Topologies = append(s.Topologies, view)
	}
	for _, id := range slices.Sorted(maps.Keys(w.Supervisors)) {
		s.Supervisors = append(s.Supervisors, w.supervisor(id, assigned, dead))
	}
	return s
}

func (w World) supervisor(id cluster.SupervisorID, assigned, dead map[cluster.Slot]bool) scheduler.Supervisor {
	k := w.Supervisors[id]
	out := scheduler.Supervisor{
		ID: id, Host: k.Record.Host, Rack: k.Record.SchedulerMeta["rack"], Ports: k.Record.Ports,
		Blacklisted: k.Blacklisted, Total: Total(k.Record.Resources),
	}
	for _, version := range k.Record.JVMs() {
		offer(&out, wish(version, false))
		if k.Record.JVMState() {
			offer(&out, wish(version, true))
		}
	}
	out.Standing = k.Standing
	if k.Standing == cluster.Open && !k.Present {
		out.Standing = cluster.Cordoned
	}
	if k.Standin {
		// What it has is not known; what runs there fits.
		out.Total = cluster.Resources{MemoryMB: math.MaxInt32, CPU: math.MaxInt32}
	}
	for _, p := range k.Used {
		if !assigned[cluster.Slot{Supervisor: id, Port: p}] {
			out.Used = append(out.Used, p)
		}
	}
	for _, p := range k.Record.Ports {
		if dead[cluster.Slot{Supervisor: id, Port: p}] {
			out.Dead = append(out.Dead, p)
		}
	}
	return out
}

// wish is what a topology wants whose workers are Storm's, of a release, and whose
// state is on the ring or not.
func wish(version string, state bool) string {
	if state {
		return "workers of Storm " + version + " with state on the ring"
	}
	return "workers of Storm " + version
}

// offer has such workers of Storm run at a supervisor: by name, and for schedulers
// that go by resources, as one that does not run out.
func offer(s *scheduler.Supervisor, workers string) {
	s.Offers = append(s.Offers, workers)
	s.Total = s.Total.Plus(cluster.Resources{Generic: map[string]float64{workers: math.MaxInt32}})
}

func (w World) topology(t Topology, r Rules, ears *Ears) scheduler.Topology {
	out := scheduler.Topology{
		ID: t.ID, Status: t.Base.Status, Workers: t.Base.Workers, Current: t.Record.Assignment,
		SubmittedSecs: t.Base.LaunchedSecs, Strategy: r.Strategy, Machines: r.Machines[t.Base.Name],
	}
	if t.Code == nil {
		out.Status = cluster.StatusKilled // gets nothing new and keeps what it has
		for _, p := range t.Record.Assignment {
			out.Executors = append(out.Executors, scheduler.Executor{Executor: p.Executor})
		}
		return out
	}
	c := t.Code.Layout.Conf
	out.Priority = c.Int(storm.ConfTopologyPriority)
	if version := c.String(conf.JVMVersion); version != "" {
		out.Wants = wish(version, c.String(storm.ConfTopologyStateProvider) == cluster.RingStateProvider)
	}
	if r.PerTopology {
		out.Machines = c.Int(storm.ConfTopologyIsolatedMachines)
	}
	if r.Strategy == scheduler.ResourceAware {
		out.WorkerMaxMB = c.Float(storm.ConfTopologyWorkerMaxHeapSizeMB)
	}
	for _, e := range t.Executors() {
		x := scheduler.Executor{
			Executor: cluster.Executor{First: e.First, Last: e.Last}, Component: e.Component, Need: resources(t.Code.Needs[e.Component]),
		}
		if out.Wants != "" {
			x.Need = x.Need.Plus(cluster.Resources{Generic: map[string]float64{out.Wants: 1}})
		}
		out.Executors = append(out.Executors, x)
	}
	if ears == nil {
		return out
	}
	for _, p := range t.Record.Assignment {
		if ears.Silent(w.NowSecs, t.ID, p) {
			out.Dead = append(out.Dead, p.Executor)
		}
	}
	return out
}

// Total are a supervisor's resources by Storm's names.
func Total(named map[string]float64) cluster.Resources {
	var out cluster.Resources
	for name, v := range named {
		switch name {
		case cluster.MemoryName, string(conf.SupervisorMemoryCapacityMB):
			out.MemoryMB = v
		case cluster.CPUName, string(conf.SupervisorCPUCapacity):
			out.CPU = v
		default:
			if out.Generic == nil {
				out.Generic = map[string]float64{}
			}
			out.Generic[name] = v
		}
	}
	return out
}

// Record is an assignment as the store keeps it.
func Record(w World, t Topology, a cluster.Assignment, codeDir string) cluster.AssignmentRecord {
	out := cluster.AssignmentRecord{
		CodeDir: codeDir, Hosts: map[cluster.SupervisorID]string{}, Assignment: a,
		Resources: map[cluster.Slot]cluster.WorkerResources{}, Owner: t.Base.Owner,
	}
	for slot, g := range t.Granted(a) {
		out.Hosts[slot.Supervisor] = cmp.Or(w.Supervisors[slot.Supervisor].Record.Host, t.Record.Hosts[slot.Supervisor])
		res := map[string]float64{cluster.MemoryName: g.OnHeap + g.OffHeap, cluster.CPUName: g.CPU}
		maps.Copy(res, g.Generic)
		out.Resources[slot] = cluster.WorkerResources{OnHeap: g.OnHeap, OffHeap: g.OffHeap, CPU: g.CPU, Resources: res}
	}
	return out
}

// Granted is what each worker of an assignment is given.
func (t Topology) Granted(a cluster.Assignment) map[cluster.Slot]cluster.Granted {
	out := map[cluster.Slot]cluster.Granted{}
	for _, p := range a {
		g := out[p.Slot]
		if t.Code != nil {
			g = Plus(g, t.Code.Needs[t.Component(p.Executor)])
		}
		out[p.Slot] = g
	}
	return out
}
