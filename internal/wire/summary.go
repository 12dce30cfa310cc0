package wire

import (
	"maps"

	"github.com/stormring/stormring/internal/cluster"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// ClusterSummaryToThrift is s as Storm's ClusterSummary.
func ClusterSummaryToThrift(s cluster.ClusterSummary) *gen.ClusterSummary {
	return &gen.ClusterSummary{
		Supervisors: required(s.Supervisors, supervisorSummaryToThrift),
		Topologies:  required(s.Topologies, TopologySummaryToThrift),
		Nimbuses:    required(s.Nimbuses, NimbusSummaryToThrift),
	}
}

// ClusterSummaryFromThrift is all of a cluster in short.
func ClusterSummaryFromThrift(x *gen.ClusterSummary) cluster.ClusterSummary {
	if x == nil {
		return cluster.ClusterSummary{}
	}
	return cluster.ClusterSummary{
		Supervisors: required(x.Supervisors, supervisorSummaryFromThrift),
		Topologies:  required(x.Topologies, TopologySummaryFromThrift),
		Nimbuses:    required(x.Nimbuses, NimbusSummaryFromThrift),
	}
}

// NimbusSummaryToThrift is s as clients see it, with an uptime; compare
// NimbusRecordToThrift.
func NimbusSummaryToThrift(s cluster.NimbusSummary) *gen.NimbusSummary {
	return &gen.NimbusSummary{
		Host:       s.Host,
		Port:       clamp(s.Port),
		UptimeSecs: clamp(s.UptimeSecs),
		IsLeader:   s.Leader,
		Version:    s.Version,
		TlsPort:    optional(clamp(s.TLSPort)),
	}
}

// NimbusSummaryFromThrift is a nimbus in short.
func NimbusSummaryFromThrift(x *gen.NimbusSummary) cluster.NimbusSummary {
	if x == nil {
		return cluster.NimbusSummary{}
	}
	return cluster.NimbusSummary{
		Host:       x.Host,
		Port:       int(x.Port),
		UptimeSecs: int(x.UptimeSecs),
		Leader:     x.IsLeader,
		Version:    x.Version,
		TLSPort:    int(value(x.TlsPort)),
	}
}

// supervisorSummaryToThrift leaves out the standing, which Storm does not know.
func supervisorSummaryToThrift(s cluster.SupervisorSummary) *gen.SupervisorSummary {
	x := gen.NewSupervisorSummary()
	x.Host = s.Host
	x.UptimeSecs = clamp(s.UptimeSecs)
	x.NumWorkers = clamp(s.Workers)
	x.NumUsedWorkers = clamp(s.UsedWorkers)
	x.SupervisorID = string(s.ID)
	if s.Version != "" {
		x.Version = s.Version
	}
	// Storm's UI reads these two without asking whether they are there.
	x.TotalResources = map[string]float64{cluster.MemoryName: 0, cluster.CPUName: 0}
	maps.Copy(x.TotalResources, s.Resources)
	x.UsedMem = &s.Used.MemoryMB
	x.UsedCPU = &s.Used.CPU
	x.UsedGenericResources = unset(s.Used.Generic)
	x.Blacklisted = &s.Blacklisted
	return x
}

func supervisorSummaryFromThrift(x *gen.SupervisorSummary) cluster.SupervisorSummary {
	s := cluster.SupervisorSummary{
		ID:          cluster.SupervisorID(x.SupervisorID),
		Host:        x.Host,
		UptimeSecs:  int(x.UptimeSecs),
		Workers:     int(x.NumWorkers),
		UsedWorkers: int(x.NumUsedWorkers),
		Resources:   set(x.TotalResources),
		Used: cluster.Resources{
			MemoryMB: value(x.UsedMem),
			CPU:      value(x.UsedCPU),
			Generic:  unset(x.UsedGenericResources),
		},
		Blacklisted: value(x.Blacklisted),
	}
	if x.IsSetVersion() { // else it is a text that says so
		s.Version = x.Version
	}
	return s
}

// TopologySummaryToThrift is s as Storm's TopologySummary.
func TopologySummaryToThrift(s cluster.TopologySummary) *gen.TopologySummary {
	return &gen.TopologySummary{
		ID:                        string(s.ID),
		Name:                      s.Name,
		NumTasks:                  clamp(s.Tasks),
		NumExecutors:              clamp(s.Executors),
		NumWorkers:                clamp(s.Workers),
		UptimeSecs:                clamp(s.UptimeSecs),
		Status:                    s.Status,
		StormVersion:              optional(s.StormVersion),
		TopologyVersion:           optional(s.Version),
		SchedStatus:               optional(s.SchedStatus),
		Owner:                     &s.Owner, // the UI's page of owners sorts by it
		ReplicationCount:          new(clamp(s.Replication)),
		RequestedMemonheap:        &s.Resources.Requested.OnHeap,
		RequestedMemoffheap:       &s.Resources.Requested.OffHeap,
		RequestedCPU:              &s.Resources.Requested.CPU,
		AssignedMemonheap:         &s.Resources.Assigned.OnHeap,
		AssignedMemoffheap:        &s.Resources.Assigned.OffHeap,
		AssignedCPU:               &s.Resources.Assigned.CPU,
		RequestedGenericResources: unset(s.Resources.Requested.Generic),
		AssignedGenericResources:  unset(s.Resources.Assigned.Generic),
	}
}

// TopologySummaryFromThrift is a topology in short.
func TopologySummaryFromThrift(x *gen.TopologySummary) cluster.TopologySummary {
	if x == nil {
		return cluster.TopologySummary{}
	}
	return cluster.TopologySummary{
		ID:           cluster.TopologyID(x.ID),
		Name:         x.Name,
		Status:       x.Status,
		UptimeSecs:   int(x.UptimeSecs),
		Tasks:        int(x.NumTasks),
		Executors:    int(x.NumExecutors),
		Workers:      int(x.NumWorkers),
		Owner:        value(x.Owner),
		StormVersion: value(x.StormVersion),
		Version:      value(x.TopologyVersion),
		SchedStatus:  value(x.SchedStatus),
		Replication:  int(value(x.ReplicationCount)),
		Resources: pair(
			granted(x.RequestedMemonheap, x.RequestedMemoffheap, x.RequestedCPU, x.RequestedGenericResources),
			granted(x.AssignedMemonheap, x.AssignedMemoffheap, x.AssignedCPU, x.AssignedGenericResources),
		),
	}
}

func pair(requested, assigned cluster.Granted) cluster.ResourcePair {
	return cluster.ResourcePair{Requested: requested, Assigned: assigned}
}

func granted(onHeap, offHeap, cpu *float64, generic map[string]float64) cluster.Granted {
	return cluster.Granted{OnHeap: value(onHeap), OffHeap: value(offHeap), CPU: value(cpu), Generic: unset(generic)}
}

// OwnerSummaryToThrift is s as Storm's OwnerResourceSummary. What is used are
// the resources given; generic guarantees have no field.
func OwnerSummaryToThrift(s cluster.OwnerSummary) *gen.OwnerResourceSummary {
	requested, assigned := s.Resources.Requested, s.Resources.Assigned
	used := assigned.OnHeap + assigned.OffHeap
	x := &gen.OwnerResourceSummary{
		Owner:                  s.Owner,
		TotalTopologies:        new(clamp(s.Topologies)),
		TotalExecutors:         new(clamp(s.Executors)),
		TotalWorkers:           new(clamp(s.Workers)),
		TotalTasks:             new(clamp(s.Tasks)),
		MemoryUsage:            &used,
		CPUUsage:               &assigned.CPU,
		RequestedOnHeapMemory:  &requested.OnHeap,
		RequestedOffHeapMemory: &requested.OffHeap,
		RequestedTotalMemory:   new(requested.OnHeap + requested.OffHeap),
		RequestedCPU:           &requested.CPU,
		AssignedOnHeapMemory:   &assigned.OnHeap,
		AssignedOffHeapMemory:  &assigned.OffHeap,
	}
	if g := s.Guaranteed; g != nil {
		x.MemoryGuarantee = new(g.MemoryMB)
		x.CPUGuarantee = new(g.CPU)
		x.MemoryGuaranteeRemaining = new(g.MemoryMB - used)
		x.CPUGuaranteeRemaining = new(g.CPU - assigned.CPU)
	}
	return x
}

// OwnerSummaryFromThrift is what an owner's topologies use together.
func OwnerSummaryFromThrift(x *gen.OwnerResourceSummary) cluster.OwnerSummary {
	if x == nil {
		return cluster.OwnerSummary{}
	}
	s := cluster.OwnerSummary{
		Owner:      x.Owner,
		Topologies: int(value(x.TotalTopologies)),
		Executors:  int(value(x.TotalExecutors)),
		Workers:    int(value(x.TotalWorkers)),
		Tasks:      int(value(x.TotalTasks)),
		Resources: pair(
			granted(x.RequestedOnHeapMemory, x.RequestedOffHeapMemory, x.RequestedCPU, nil),
			granted(x.AssignedOnHeapMemory, x.AssignedOffHeapMemory, x.CPUUsage, nil),
		),
	}
	if x.MemoryGuarantee != nil || x.CPUGuarantee != nil {
		s.Guaranteed = &cluster.Resources{MemoryMB: value(x.MemoryGuarantee), CPU: value(x.CPUGuarantee)}
	}
	return s
}

// SupervisorPageToThrift is p as Storm's SupervisorPageInfo.
func SupervisorPageToThrift(p cluster.SupervisorPage) *gen.SupervisorPageInfo {
	return &gen.SupervisorPageInfo{
		SupervisorSummaries: required(p.Supervisors, supervisorSummaryToThrift),
		WorkerSummaries:     required(p.Workers, workerSummaryToThrift),
	}
}

// SupervisorPageFromThrift is what the UI shows of a supervisor.
func SupervisorPageFromThrift(x *gen.SupervisorPageInfo) cluster.SupervisorPage {
	if x == nil {
		return cluster.SupervisorPage{}
	}
	return cluster.SupervisorPage{
		Supervisors: required(x.SupervisorSummaries, supervisorSummaryFromThrift),
		Workers:     required(x.WorkerSummaries, workerSummaryFromThrift),
	}
}

// workerSummaryToThrift leaves out generic resources, which have no field.
func workerSummaryToThrift(s cluster.WorkerSummary) *gen.WorkerSummary {
	requested, assigned := s.Resources.Requested, s.Resources.Assigned
	return &gen.WorkerSummary{
		SupervisorID:        new(string(s.Supervisor)),
		Host:                &s.Host,
		Port:                new(clamp(s.Port)),
		TopologyID:          new(string(s.Topology)),
		TopologyName:        &s.TopologyName,
		NumExecutors:        new(clamp(s.Executors)),
		ComponentToNumTasks: set(s.ComponentTasks),
		TimeSecs:            new(clamp(s.TimeSecs)),
		UptimeSecs:          new(clamp(s.UptimeSecs)),
		RequestedMemonheap:  &requested.OnHeap,
		RequestedMemoffheap: &requested.OffHeap,
		RequestedCPU:        &requested.CPU,
		AssignedMemonheap:   &assigned.OnHeap,
		AssignedMemoffheap:  &assigned.OffHeap,
		AssignedCPU:         &assigned.CPU,
		Owner:               &s.Owner,
	}
}

func workerSummaryFromThrift(x *gen.WorkerSummary) cluster.WorkerSummary {
	return cluster.WorkerSummary{
		Supervisor:     cluster.SupervisorID(value(x.SupervisorID)),
		Host:           value(x.Host),
		Port:           cluster.Port(value(x.Port)),
		Topology:       cluster.TopologyID(value(x.TopologyID)),
		TopologyName:   value(x.TopologyName),
		Executors:      int(value(x.NumExecutors)),
		ComponentTasks: set(x.ComponentToNumTasks),
		TimeSecs:       int64(value(x.TimeSecs)),
		UptimeSecs:     int(value(x.UptimeSecs)),
		Resources: pair(
			granted(x.RequestedMemonheap, x.RequestedMemoffheap, x.RequestedCPU, nil),
			granted(x.AssignedMemonheap, x.AssignedMemoffheap, x.AssignedCPU, nil),
		),
		Owner: value(x.Owner),
	}
}
