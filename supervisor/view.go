package supervisor

import (
	"maps"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/supervisor/slot"
)

// topology is what is known of one. What could not be read is as it was.
type topology struct {
	// placed tells that the assignment has been read, in Version.
	placed     bool
	assignment cluster.AssignmentRecord
	version    int32
	// recalled tells that the assignment is what an earlier supervisor knew, and
	// has not been read since.
	recalled bool
	// based tells that the base has been read.
	based       bool
	base        cluster.Base
	credentials *cluster.Credentials
	log         cluster.LogConfig
	// losses are those that the assignment makes good, as far as they were read.
	losses []records.Loss
}

// view is what is known of all topologies that have an assignment.
type view struct {
	// listed tells that the list of assignments has been read.
	listed     bool
	topologies map[cluster.TopologyID]*topology
}

func newView() view { return view{topologies: map[cluster.TopologyID]*topology{}} }

// list takes the list of assignments: what is not in it is gone.
func (v *view) list(ids []cluster.TopologyID) {
	v.listed = true
	listed := make(map[cluster.TopologyID]bool, len(ids))
	for _, id := range ids {
		listed[id] = true
	}
	maps.DeleteFunc(v.topologies, func(id cluster.TopologyID, _ *topology) bool { return !listed[id] })
	for id := range listed {
		if v.topologies[id] == nil {
			v.topologies[id] = &topology{}
		}
	}
}

// here reports whether a topology has a slot at a supervisor.
func (t *topology) here(id cluster.SupervisorID) bool {
	return t.placed && slices.ContainsFunc(t.assignment.Assignment, func(p cluster.Placement) bool { return p.Slot.Supervisor == id })
}

// need is what a worker was given.
func (t *topology) need(at cluster.Slot) cluster.Resources {
	r, ok := t.assignment.Resources[at]
	if !ok {
		return cluster.Resources{}
	}
	need := cluster.Resources{MemoryMB: r.OnHeap + r.OffHeap, CPU: r.CPU}
	for name, v := range r.Resources {
		switch name {
		case cluster.MemoryName, cluster.CPUName, "onheap.memory.mb", "offheap.memory.mb":
		default:
			if need.Generic == nil {
				need.Generic = map[string]float64{}
			}
			need.Generic[name] = v
		}
	}
	return need
}

// loss is what the worker placed at a slot at that time makes good; the zero Loss if
// nothing is known.
func (t *topology) loss(at cluster.Slot, since int64) records.Loss {
	i := slices.IndexFunc(t.losses, func(l records.Loss) bool { return l.Slot == at && l.StartSecs == since })
	if i < 0 {
		return records.Loss{}
	}
	return t.losses[i]
}

// claim is a topology's wish for a slot.
type claim struct {
	assignment slot.Assignment
	since      int64
	loss       records.Loss
}

// claims are what should run in the slots of a supervisor. If two topologies
// want one slot, as they may while nimbus moves them, the later one has it.
func (v *view) claims(id cluster.SupervisorID) map[cluster.Port]claim {
	out := map[cluster.Port]claim{}
	for _, name := range slices.Sorted(maps.Keys(v.topologies)) {
		t := v.topologies[name]
		if !t.placed {
			continue
		}
		own := map[cluster.Port]claim{}
		for _, p := range t.assignment.Assignment {
			if p.Slot.Supervisor != id {
				continue
			}
			c := own[p.Slot.Port]
			c.assignment.Executors = append(c.assignment.Executors, p.Executor)
			c.since = max(c.since, p.StartSecs)
			own[p.Slot.Port] = c
		}
		for port, c := range own {
			c.loss = t.loss(cluster.Slot{Supervisor: id, Port: port}, c.since)
			c.assignment.Topology, c.assignment.Need = name, t.need(cluster.Slot{Supervisor: id, Port: port})
			if old, taken := out[port]; !taken || c.since >= old.since {
				out[port] = c
			}
		}
	}
	return out
}

// unclear reports whether it is not known where a topology should run.
func (v *view) unclear(id cluster.TopologyID) bool {
	t := v.topologies[id]
	return !v.listed || t != nil && !t.placed
}

// orders are what the workers of a topology are told; false if that is not
// known yet.
func (t *topology) orders() (cluster.Orders, bool) {
	if !t.placed || !t.based {
		return cluster.Orders{}, false
	}
	o := cluster.Orders{Status: t.base.Status, Version: int64(t.version), Log: t.log, Credentials: t.credentials}
	for _, p := range t.assignment.Assignment {
		host := t.assignment.Hosts[p.Slot.Supervisor]
		if host == "" {
			host = string(p.Slot.Supervisor)
		}
		o.Placement = append(o.Placement, cluster.Place{Executor: p.Executor, Slot: p.Slot, Host: host})
	}
	return o, true
}
