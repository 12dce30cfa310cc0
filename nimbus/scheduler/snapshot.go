package scheduler

import (
	"github.com/stormring/stormring/internal/cluster"
)

// Snapshot is all that a plan depends on. The order of its slices does not
// matter, and nothing in it is changed.
type Snapshot struct {
	// NowSecs is the start time of what is placed now, in seconds since 1970.
	NowSecs int64
	// Supervisors are those that live; the others are lost.
	Supervisors []Supervisor
	// Topologies are all that have or want slots.
	Topologies []Topology
}

// Supervisor is what is known of a living supervisor.
type Supervisor struct {
	ID   cluster.SupervisorID
	Host string
	// Rack groups supervisors that are near one another; "" is a rack too.
	Rack string
	// Ports are its slots.
	Ports []cluster.Port
	// Used are ports with a worker that belongs to no assignment, such as one
	// that is still being stopped.
	Used []cluster.Port
	// Dead are ports that failed lately. Nothing new goes there, and what is
	// assigned there is placed anew.
	Dead []cluster.Port
	// Standing is the operator's word.
	Standing cluster.Standing
	// Blacklisted: it failed too often. It is treated as if cordoned.
	Blacklisted bool
	// Total is what it has, for all its workers together.
	Total cluster.Resources
	// Offers are what its workers can be beside workers of Go, by name.
	Offers []string
}

// Strategy is how a topology's executors are spread.
type Strategy uint8

const (
	// Even gives the topology its number of workers and deals the executors to
	// them; resource requests do not count.
	Even Strategy = iota
	// ResourceAware packs executors by their requests onto few supervisors
	// that are near one another; the number of workers follows. Memory and
	// generic resources never exceed what a supervisor has. CPU does if
	// there is no other way. Of the executors without a place all get one or
	// none does.
	ResourceAware
)

// Topology is what is known of a topology.
type Topology struct {
	ID     cluster.TopologyID
	Status cluster.TopologyStatus
	// Workers is how many the topology wants under Even; less than 1 is 1.
	Workers int
	// MaxWorkers is the most it may have under ResourceAware; 0 is no limit.
	MaxWorkers int
	// WorkerMaxMB is the most memory that one worker's executors may ask for
	// under ResourceAware, in MiB; 0 is no limit.
	WorkerMaxMB float64
	// Executors are all that should run.
	Executors []Executor
	// Current is the assignment in force.
	Current cluster.Assignment
	// Dead are executors that are assigned but do not show life.
	Dead []cluster.Executor
	// Machines is how many hosts the topology wants for itself alone; 0 is to
	// share.
	Machines int
	// Priority ranks topologies; the lowest number goes first.
	Priority int
	// SubmittedSecs orders topologies of equal priority, older first.
	SubmittedSecs int64
	// Strategy is how it is spread.
	Strategy Strategy
	// Wants is what a supervisor has to offer to get a worker of it; "" for nothing.
	Wants string
	// Fresh places all of it anew, as at the end of a rebalance.
	Fresh bool
	// Kept is how many bytes of the state of an executor's tasks lie at a
	// supervisor. Under Even, what has no place goes where most of its state is.
	Kept map[cluster.Executor]map[cluster.SupervisorID]int64
}

// Executor is an executor with its component and what it asks for.
type Executor struct {
	cluster.Executor
	Component string
	Need      cluster.Resources
}
