package cluster

import (
	"fmt"
	"strings"
)

// This file has what the coordination store keeps. Storm's own daemons and
// tools read these records, so their content is Storm's; times are seconds
// since 1970 unless a name says otherwise.

// Base is a topology's record: Storm's StormBase.
type Base struct {
	Name    string
	Status  TopologyStatus
	Workers int
	// Executors are the numbers of executors by component.
	Executors    map[string]int
	LaunchedSecs int64
	Owner        string
	Principal    string
	// Version is the author's topology.version.
	Version string
	// Previous is what a rebalance goes back to; 0 if none is pending.
	Previous TopologyStatus
	// Kill and Rebalance are the options of what is pending; at most one is
	// not nil.
	Kill      *KillOptions
	Rebalance *RebalanceOptions
	// Debug says what is logged of which component; the topology's id stands
	// for all of it.
	Debug map[string]DebugOptions
}

// KillOptions are those of a kill. WaitSecs is nil for the default.
type KillOptions struct{ WaitSecs *int }

// RebalanceOptions are those of a rebalance.
type RebalanceOptions struct {
	WaitSecs  *int
	Workers   *int
	Executors map[string]int
	// Resources override needs: component, then name of the resource.
	Resources map[string]map[string]float64
	// Conf overrides the topology's configuration, as JSON text; "" for nothing.
	Conf      string
	Principal string
}

// DebugOptions say how much of a component's tuples is logged.
type DebugOptions struct {
	Enable   bool
	Sampling float64 // percent
}

// AssignmentRecord is where a topology runs: Storm's Assignment.
type AssignmentRecord struct {
	// CodeDir is where Storm's nimbus would keep the code.
	CodeDir string
	// Hosts are the names of the supervisors' hosts.
	Hosts      map[SupervisorID]string
	Assignment Assignment
	// Resources are what each worker was given.
	Resources map[Slot]WorkerResources
	// SharedOffHeap is memory shared on a supervisor's host, in MiB.
	SharedOffHeap map[SupervisorID]float64
	Owner         string
}

// WorkerResources is what a worker was given. Memory is in MiB, CPU in percent
// of a core.
type WorkerResources struct {
	OnHeap, OffHeap, CPU        float64
	SharedOnHeap, SharedOffHeap float64
	Resources, SharedResources  map[string]float64
}

// SupervisorRecord is a supervisor's sign of life: Storm's SupervisorInfo. The
// znode is ephemeral.
type SupervisorRecord struct {
	TimeSecs     int64
	Host         string
	AssignmentID string // Storm's; the supervisor's id
	UsedPorts    []Port
	// Ports are its slots.
	Ports         []Port
	SchedulerMeta map[string]string
	UptimeSecs    int64
	Version       string
	// Resources are what it has, by Storm's names.
	Resources  map[string]float64
	ThriftPort int
}

// JVMsMeta is the key of SchedulerMeta under which a supervisor tells which releases
// of Storm's workers can run there.
const JVMsMeta = "stormring.jvm.versions"

// JVMs are the releases of Storm whose workers can run at the supervisor.
func (r SupervisorRecord) JVMs() []string { return strings.Fields(r.SchedulerMeta[JVMsMeta]) }

// JVMStateMeta is the key of SchedulerMeta under which a supervisor tells with "true"
// that those workers can keep state on the ring.
const JVMStateMeta = "stormring.jvm.state"

// JVMState tells whether workers of Storm's at the supervisor can keep state on the
// ring.
func (r SupervisorRecord) JVMState() bool { return r.SchedulerMeta[JVMStateMeta] == "true" }

// RingStateProvider is the Java class that keeps the state of bolts on the ring, as
// topology.state.provider names it.
const RingStateProvider = "stormring.state.RingStateProvider"

// NimbusRecord is a nimbus: Storm's NimbusSummary. The znode is ephemeral.
type NimbusRecord struct {
	Host string
	Port int
	// StartedSecs is when it started. On the wire to clients this is an uptime.
	StartedSecs int64
	Leader      bool
	Version     string
	TLSPort     int
}

// Credentials are a topology's secrets by name.
type Credentials struct {
	Values map[string]string
	Owner  string
}

// LogLevelAction is what is to be done about a logger, with Storm's numbers.
type LogLevelAction uint8

// The actions.
const (
	LogLevelUnchanged LogLevelAction = 1
	LogLevelUpdate    LogLevelAction = 2
	LogLevelRemove    LogLevelAction = 3
)

// LogLevel is a logger's level.
type LogLevel struct {
	Action LogLevelAction
	// Target is the level, such as DEBUG.
	Target string
	// TimeoutSecs is after how long it goes back; 0 is never.
	TimeoutSecs int
	// TimeoutEpochMS is when, in milliseconds since 1970; 0 is never.
	TimeoutEpochMS int64
	// Reset is the level that it goes back to.
	Reset string
}

// LogConfig are levels by logger; ROOT is all.
type LogConfig map[string]LogLevel

// ErrorRecord is an error that a component reported: Storm's ErrorInfo.
type ErrorRecord struct {
	Text     string
	TimeSecs int64
	Host     string
	Port     Port
}

// Standing is what the operator wants of a supervisor.
type Standing uint8

// The standings.
const (
	// Open: it takes workers.
	Open Standing = iota
	// Cordoned: it takes no new ones.
	Cordoned
	// Drained: those that it has move elsewhere too.
	Drained
)

// String is the word on the command line.
func (s Standing) String() string {
	switch s {
	case Open:
		return "open"
	case Cordoned:
		return "cordoned"
	case Drained:
		return "drained"
	default:
		return fmt.Sprintf("Standing(%d)", uint8(s))
	}
}
