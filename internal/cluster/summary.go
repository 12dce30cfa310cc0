package cluster

// This file has nimbus's answers: what the CLI and the UI show. Times that say
// Uptime are durations in seconds.

// ClusterSummary is all of a cluster in short.
type ClusterSummary struct {
	Supervisors []SupervisorSummary `json:"supervisors"`
	Topologies  []TopologySummary   `json:"topologies"`
	Nimbuses    []NimbusSummary     `json:"nimbuses"`
}

// NimbusSummary is a nimbus in short.
type NimbusSummary struct {
	Host       string `json:"host"`
	Port       int    `json:"port"`
	UptimeSecs int    `json:"uptime_secs"`
	Leader     bool   `json:"leader"`
	Version    string `json:"version"`
	TLSPort    int    `json:"tls_port,omitempty"`
}

// SupervisorSummary is a supervisor in short.
type SupervisorSummary struct {
	ID          SupervisorID       `json:"id"`
	Host        string             `json:"host"`
	UptimeSecs  int                `json:"uptime_secs"`
	Workers     int                `json:"slots"`
	UsedWorkers int                `json:"used_slots"`
	Version     string             `json:"version"`
	Resources   map[string]float64 `json:"resources"`
	Used        Resources          `json:"used"`
	Blacklisted bool               `json:"blacklisted"`
	// Standing is not in Storm's answer; see Nimbus's own calls.
	Standing string `json:"standing,omitempty"`
}

// ResourcePair are the resources asked for and those given.
type ResourcePair struct {
	Requested Granted `json:"requested"`
	Assigned  Granted `json:"assigned"`
}

// Granted are resources of Storm's kinds. Memory is in MiB, CPU in percent of a
// core.
type Granted struct {
	OnHeap  float64            `json:"mem_on_heap"`
	OffHeap float64            `json:"mem_off_heap"`
	CPU     float64            `json:"cpu"`
	Generic map[string]float64 `json:"generic,omitempty"`
}

// TopologySummary is a topology in short.
type TopologySummary struct {
	ID           TopologyID `json:"id"`
	Name         string     `json:"name"`
	Status       string     `json:"status"`
	UptimeSecs   int        `json:"uptime_secs"`
	Tasks        int        `json:"tasks"`
	Executors    int        `json:"executors"`
	Workers      int        `json:"workers"`
	Owner        string     `json:"owner"`
	StormVersion string     `json:"storm_version,omitempty"`
	Version      string     `json:"topology_version,omitempty"`
	// SchedStatus says why something is not placed, or what is wrong with it.
	SchedStatus string       `json:"sched_status,omitempty"`
	Replication int          `json:"replication_count"`
	Resources   ResourcePair `json:"resources"`
}

// TopologyInfo is a topology with its executors.
type TopologyInfo struct {
	TopologySummary
	ExecutorList []ExecutorSummary        `json:"executor_list"`
	Errors       map[string][]ErrorRecord `json:"errors"`
	Debug        map[string]DebugOptions  `json:"debug,omitempty"`
}

// ErrorsChoice is how many errors of each component are wanted, with Storm's
// numbers.
type ErrorsChoice uint8

// The choices.
const (
	AllErrors ErrorsChoice = 0
	NoErrors  ErrorsChoice = 1
	OneError  ErrorsChoice = 2
)

// ExecutorSummary is an executor with where it runs and what it does.
type ExecutorSummary struct {
	Executor   Executor       `json:"executor"`
	Component  string         `json:"component"`
	Host       string         `json:"host"`
	Port       Port           `json:"port"`
	UptimeSecs int            `json:"uptime_secs"`
	Stats      *ExecutorStats `json:"-"`
}

// WorkerSummary is a worker in short.
type WorkerSummary struct {
	Supervisor     SupervisorID
	Host           string
	Port           Port
	Topology       TopologyID
	TopologyName   string
	Executors      int
	ComponentTasks map[string]int64
	TimeSecs       int64
	UptimeSecs     int
	Resources      ResourcePair
	Owner          string
}

// AggregateStats are the sums of several executors of a component, or of one,
// in one window. Latencies are in milliseconds.
type AggregateStats struct {
	Kind                                ComponentKind
	Executors, Tasks                    int
	Emitted, Transferred, Acked, Failed int64
	Resources                           map[string]float64
	CompleteMS                          float64 // spouts
	ExecuteMS, ProcessMS                float64 // bolts
	Executed                            int64
	Capacity                            float64
	LastError                           *ErrorRecord
}

// TopologyStats are a topology's sums by window.
type TopologyStats struct {
	Emitted, Transferred, Acked, Failed map[string]int64
	CompleteMS                          map[string]float64
}

// TopologyPage is what the UI shows of a topology.
type TopologyPage struct {
	TopologySummary
	Conf    string // JSON
	Spouts  map[string]AggregateStats
	Bolts   map[string]AggregateStats
	Stats   TopologyStats
	Debug   *DebugOptions
	Workers []WorkerSummary
}

// ComponentPage is what the UI shows of a component.
type ComponentPage struct {
	Component        string
	Kind             ComponentKind
	Topology         TopologyID
	TopologyName     string
	TopologyStatus   string
	Executors, Tasks int
	Windows          map[string]AggregateStats
	Inputs           map[StreamID]AggregateStats
	Outputs          map[string]AggregateStats
	ExecutorStats    []ExecutorPage
	Errors           []ErrorRecord
	Debug            *DebugOptions
	Resources        map[string]float64
}

// ExecutorPage is what the UI shows of an executor.
type ExecutorPage struct {
	Summary ExecutorSummary
	Stats   AggregateStats
}

// SupervisorPage is what the UI shows of a supervisor, or of all on a host.
type SupervisorPage struct {
	Supervisors []SupervisorSummary
	Workers     []WorkerSummary
}

// OwnerSummary is what an owner's topologies use together.
type OwnerSummary struct {
	Owner                                 string
	Topologies, Executors, Workers, Tasks int
	Resources                             ResourcePair
	// Guaranteed are what the resource-aware scheduler promises; nil if it
	// promises nothing.
	Guaranteed *Resources
}
