package cluster

// This file has what supervisors and workers tell.

// SupervisorReport is what a supervisor tells nimbus every few seconds: which
// workers it has heard of and what they do.
type SupervisorReport struct {
	Supervisor SupervisorID
	Workers    []WorkerReport
	// Waiting tells why a slot's worker is not running.
	Waiting map[Port]string
}

// WorkerReport is what a worker tells of itself.
type WorkerReport struct {
	Topology TopologyID
	Port     Port
	// TimeSecs is when it was heard of last, in seconds since 1970.
	TimeSecs   int64
	UptimeSecs int
	Executors  []ExecutorReport
}

// ExecutorReport is an executor that lives.
type ExecutorReport struct {
	Executor  Executor
	Component string
	// Stats is nil in reports that only say that it lives.
	Stats *ExecutorStats
}

// StreamID is a stream of a component: Storm's GlobalStreamId.
type StreamID struct{ Component, Stream string }

// Counts are numbers by window (see worker/stats: "600", "10800", "86400",
// ":all-time") and stream; of a bolt's inputs by window and StreamID.
type (
	OutputCounts map[string]map[string]int64
	InputCounts  map[string]map[StreamID]int64
	OutputMeans  map[string]map[string]float64
	InputMeans   map[string]map[StreamID]float64
)

// ExecutorStats are an executor's statistics as Storm shows them. Exactly one
// of Bolt and Spout is set. Latencies are in milliseconds.
type ExecutorStats struct {
	Emitted, Transferred OutputCounts
	Bolt                 *BoltStats
	Spout                *SpoutStats
	// Rate is the share of tuples that was counted; ours is 1.
	Rate float64
}

// BoltStats are a bolt's by input.
type BoltStats struct {
	Acked, Failed, Executed InputCounts
	ProcessMS, ExecuteMS    InputMeans
}

// SpoutStats are a spout's by output.
type SpoutStats struct {
	Acked, Failed OutputCounts
	CompleteMS    OutputMeans
}

// Hello is the first that a worker tells its supervisor.
type Hello struct {
	// Protocol is the version of the link that the worker speaks.
	Protocol int
	Topology TopologyID
	Port     Port
	// Worker is the id under which the supervisor launched it.
	Worker string
	PID    int
	// Program tells what it was built as, for people.
	Program string
}

// Pulse is a worker's sign of life.
type Pulse struct {
	TimeMS     int64
	UptimeSecs int
	// Executors have Stats in some pulses only.
	Executors []ExecutorReport
	Errors    []TaskError
	// Failure says why the worker is about to end; "" if it is not.
	Failure string
}

// TaskError is an error that a task has reported.
type TaskError struct {
	Component string
	Task      int
	Text      string
	TimeMS    int64
}

// Orders are what a supervisor wants of a worker: always all of it.
type Orders struct {
	Status TopologyStatus
	// Version grows with each change of Placement.
	Version   int64
	Placement []Place
	// Log and Credentials are nil if there are none.
	Log         LogConfig
	Credentials *Credentials
	// Stop asks the worker to end in order.
	Stop bool
	// Ring is the address of the supervisor's ring node, "" if there is none.
	Ring string
}

// Place is an executor with the address of its worker.
type Place struct {
	Executor Executor
	Slot     Slot
	Host     string
}
