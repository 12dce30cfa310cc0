// Package answer makes what the CLI and the UI show of what a nimbus knows. It
// is pure.
//
// Begin at [New]: a [View] is one survey.World with the workers' reports by
// executor; each method is one of nimbus's answers. How counters and latencies
// of executors become those of components is in stats.go.
package answer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/nimbus/survey"
	"github.com/stormring/stormring/storm"
)

// View is a world to answer from.
type View struct {
	w    survey.World
	seen map[cluster.TopologyID]map[seat]seen
}

// seat is an executor in a slot: one elsewhere is an old one that is just
// being stopped.
type seat struct {
	executor cluster.Executor
	slot     cluster.Slot
}

// seen is what a worker told of an executor.
type seen struct {
	uptime   int
	timeSecs int64
	stats    *cluster.ExecutorStats
}

// New makes a View; w must not change any more.
func New(w survey.World) *View {
	v := &View{w: w, seen: map[cluster.TopologyID]map[seat]seen{}}
	for id, s := range w.Supervisors {
		if s.Report == nil {
			continue
		}
		for _, worker := range s.Report.Workers {
			m := v.seen[worker.Topology]
			if m == nil {
				m = map[seat]seen{}
				v.seen[worker.Topology] = m
			}
			for _, e := range worker.Executors {
				m[seat{e.Executor, cluster.Slot{Supervisor: id, Port: worker.Port}}] = seen{worker.UptimeSecs, worker.TimeSecs, e.Stats}
			}
		}
	}
	return v
}

// Cluster is all in short.
func (v *View) Cluster() cluster.ClusterSummary {
	return cluster.ClusterSummary{Supervisors: v.Supervisors(), Topologies: v.Topologies(), Nimbuses: v.w.Nimbuses}
}

// Topologies are all in short, by id.
func (v *View) Topologies() []cluster.TopologySummary {
	out := make([]cluster.TopologySummary, 0, len(v.w.Topologies))
	for _, id := range v.w.IDs() {
		out = append(out, v.Topology(v.w.Topologies[id]))
	}
	return out
}

// Topology is one in short.
func (v *View) Topology(t survey.Topology) cluster.TopologySummary {
	out := cluster.TopologySummary{
		ID: t.ID, Name: t.Base.Name, Status: t.Base.Status.String(), UptimeSecs: v.since(t.Base.LaunchedSecs),
		Executors: len(t.Record.Assignment), Workers: len(t.Record.Assignment.Slots()), Owner: t.Base.Owner,
		Version: t.Base.Version, SchedStatus: v.status(t), Replication: t.Replication,
	}
	for _, p := range t.Record.Assignment {
		out.Tasks += int(p.Executor.Last-p.Executor.First) + 1
		if t.Code != nil {
			out.Resources.Assigned = survey.Plus(out.Resources.Assigned, t.Code.Needs[t.Component(p.Executor)])
		}
	}
	if t.Code != nil {
		out.StormVersion = t.Code.User.StormVersion
		for _, e := range t.Executors() {
			out.Resources.Requested = survey.Plus(out.Resources.Requested, t.Code.Needs[e.Component])
		}
	}
	return out
}

func (v *View) since(secs int64) int { return int(max(0, v.w.NowSecs-secs)) }

// status says what is wrong with a topology, or what it waits for.
func (v *View) status(t survey.Topology) string {
	parts := []string{}
	for _, s := range []string{t.Broken, t.Reason} {
		if s != "" && !slices.Contains(parts, s) {
			parts = append(parts, s)
		}
	}
	for _, slot := range t.Record.Assignment.Slots() {
		s := v.w.Supervisors[slot.Supervisor]
		if s.Report != nil && s.Report.Waiting[slot.Port] != "" {
			parts = append(parts, fmt.Sprintf("worker %s:%d: %s", s.Record.Host, slot.Port, s.Report.Waiting[slot.Port]))
		}
	}
	return strings.Join(parts, "; ")
}

// Supervisors are all in short, by id.
func (v *View) Supervisors() []cluster.SupervisorSummary {
	used := map[cluster.SupervisorID]cluster.Resources{}
	slots := map[cluster.SupervisorID]int{}
	for _, t := range v.w.Topologies {
		for slot, g := range t.Granted(t.Record.Assignment) {
			used[slot.Supervisor] = used[slot.Supervisor].Plus(cluster.Resources{MemoryMB: g.OnHeap + g.OffHeap, CPU: g.CPU, Generic: g.Generic})
			slots[slot.Supervisor]++
		}
	}
	out := make([]cluster.SupervisorSummary, 0, len(v.w.Supervisors))
	for _, id := range slices.Sorted(maps.Keys(v.w.Supervisors)) {
		s := v.w.Supervisors[id]
		if s.Standin {
			continue
		}
		standing := ""
		if s.Standing != cluster.Open {
			standing = s.Standing.String()
		}
		total := map[string]float64{cluster.MemoryName: 0, cluster.CPUName: 0}
		maps.Copy(total, s.Record.Resources)
		out = append(out, cluster.SupervisorSummary{
			ID: id, Host: s.Record.Host, UptimeSecs: int(s.Record.UptimeSecs), Workers: len(s.Record.Ports), UsedWorkers: slots[id],
			Version: s.Record.Version, Resources: total, Used: used[id], Blacklisted: s.Blacklisted, Standing: standing,
		})
	}
	return out
}

// Info is a topology with its executors. errors are by component.
func (v *View) Info(t survey.Topology, errors map[string][]cluster.ErrorRecord) cluster.TopologyInfo {
	out := cluster.TopologyInfo{TopologySummary: v.Topology(t), Errors: map[string][]cluster.ErrorRecord{}, Debug: t.Base.Debug}
	for _, p := range t.Record.Assignment {
		out.ExecutorList = append(out.ExecutorList, v.executor(t, p))
	}
	if t.Code != nil {
		for id := range t.Code.Layout.Topology.Components {
			out.Errors[id] = []cluster.ErrorRecord{}
		}
	}
	maps.Copy(out.Errors, errors)
	return out
}

// executor is an executor that has a place. It always has statistics, since
// clients take them for granted.
func (v *View) executor(t survey.Topology, p cluster.Placement) cluster.ExecutorSummary {
	told := v.seen[t.ID][seat{p.Executor, p.Slot}]
	component := t.Component(p.Executor)
	out := cluster.ExecutorSummary{
		Executor: p.Executor, Component: component, Host: t.Record.Hosts[p.Slot.Supervisor], Port: p.Slot.Port,
		UptimeSecs: told.uptime, Stats: told.stats,
	}
	if out.Stats == nil {
		out.Stats = noStats(kindOf(t, component))
	}
	return out
}

// kindOf tells spouts from bolts; the system's components are bolts.
func kindOf(t survey.Topology, component string) cluster.ComponentKind {
	if t.Code != nil {
		if c := t.Code.Layout.Topology.Components[component]; c != nil && c.IsSpout() {
			return cluster.Spout
		}
	}
	return cluster.Bolt
}

// IsSystem reports whether a component or a stream is the system's.
func IsSystem(id string) bool { return strings.HasPrefix(id, "__") }

// Workers are the workers of a topology, by slot.
func (v *View) Workers(t survey.Topology) []cluster.WorkerSummary {
	granted := t.Granted(t.Record.Assignment)
	index := map[cluster.Slot]*cluster.WorkerSummary{}
	var out []cluster.WorkerSummary
	slots := t.Record.Assignment.Slots()
	out = make([]cluster.WorkerSummary, len(slots))
	for i, slot := range slots {
		g := granted[slot]
		out[i] = cluster.WorkerSummary{
			Supervisor: slot.Supervisor, Host: t.Record.Hosts[slot.Supervisor], Port: slot.Port, Topology: t.ID, TopologyName: t.Base.Name,
			ComponentTasks: map[string]int64{}, Resources: cluster.ResourcePair{Requested: g, Assigned: g}, Owner: t.Base.Owner,
		}
		index[slot] = &out[i]
	}
	for _, p := range t.Record.Assignment {
		w := index[p.Slot]
		w.Executors++
		w.ComponentTasks[t.Component(p.Executor)] += int64(p.Executor.Last-p.Executor.First) + 1
		if told, ok := v.seen[t.ID][seat{p.Executor, p.Slot}]; ok {
			w.UptimeSecs, w.TimeSecs = told.uptime, max(w.TimeSecs, told.timeSecs)
		}
	}
	return out
}

// Supervisor is the supervisor with this id, or those on this host if id is
// empty; false if there is none.
func (v *View) Supervisor(id cluster.SupervisorID, host string, system bool) (cluster.SupervisorPage, bool) {
	var out cluster.SupervisorPage
	for _, s := range v.Supervisors() {
		if id != "" && s.ID == id || id == "" && s.Host == host {
			out.Supervisors = append(out.Supervisors, s)
		}
	}
	for _, tid := range v.w.IDs() {
		for _, w := range v.Workers(v.w.Topologies[tid]) {
			if slices.ContainsFunc(out.Supervisors, func(s cluster.SupervisorSummary) bool { return s.ID == w.Supervisor }) {
				if !system {
					maps.DeleteFunc(w.ComponentTasks, func(c string, _ int64) bool { return IsSystem(c) })
				}
				out.Workers = append(out.Workers, w)
			}
		}
	}
	return out, len(out.Supervisors) > 0
}

// Owners are the sums of owners' topologies; of one owner if it is named. The
// guarantees are those of resource.aware.scheduler.user.pools.
func (v *View) Owners(owner string, pools map[string]any) []cluster.OwnerSummary {
	sums := map[string]*cluster.OwnerSummary{}
	of := func(name string) *cluster.OwnerSummary {
		s := sums[name]
		if s == nil {
			s = &cluster.OwnerSummary{Owner: name, Guaranteed: guaranteed(pools[name])}
			sums[name] = s
		}
		return s
	}
	if owner != "" {
		of(owner)
	}
	for _, t := range v.Topologies() {
		if owner != "" && t.Owner != owner {
			continue
		}
		s := of(t.Owner)
		s.Topologies++
		s.Executors += t.Executors
		s.Workers += t.Workers
		s.Tasks += t.Tasks
		s.Resources.Requested = survey.Plus(s.Resources.Requested, t.Resources.Requested)
		s.Resources.Assigned = survey.Plus(s.Resources.Assigned, t.Resources.Assigned)
	}
	out := make([]cluster.OwnerSummary, 0, len(sums))
	for _, s := range sums {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b cluster.OwnerSummary) int { return cmp.Compare(a.Owner, b.Owner) })
	return out
}

// guaranteed reads {cpu: n, memory: n}; nil if there is none.
func guaranteed(pool any) *cluster.Resources {
	m, ok := pool.(map[string]any)
	if !ok {
		return nil
	}
	var out cluster.Resources
	for key, to := range map[string]*float64{"cpu": &out.CPU, "memory": &out.MemoryMB} {
		if n, err := storm.Key[float64](key).Parse(m[key]); err == nil {
			*to = n
		}
	}
	return &out
}

// Conf is a topology's configuration as JSON: what was submitted over what the
// cluster has. Clients of Storm go on with it, so that it has nimbuses as they know them.
func Conf(t survey.Topology) (string, error) {
	all := map[string]any{}
	if t.Code != nil {
		for key, v := range t.Code.Layout.Conf.All() {
			if v != nil {
				all[key] = v
			}
		}
		all[string(conf.NimbusSeeds)], all[string(conf.NimbusThriftPort)] = conf.SeedsOfStorm(t.Code.Layout.Conf)
		maps.Copy(all, t.Code.Conf)
	}
	data, err := json.Marshal(all)
	return string(data), err
}
