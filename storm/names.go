package storm

// Names that Storm reserves for its own components and streams.
const (
	DefaultStream = "default"

	SystemComponent = "__system"
	AckerComponent  = "__acker"
	// CheckpointComponent is the spout that begins checkpoints, CheckpointStream
	// the stream of its markers.
	CheckpointComponent = "$checkpointspout"
	CheckpointStream    = "$checkpoint"

	TickStream         = "__tick"
	MetricsTickStream  = "__metrics_tick"
	CredentialsStream  = "__credentials"
	FlushStream        = "__flush"
	SystemStream       = "__system"
	MetricsStream      = "__metrics"
	AckInitStream      = "__ack_init"
	AckAckStream       = "__ack_ack"
	AckFailStream      = "__ack_fail"
	AckResetStream     = "__ack_reset_timeout"
	EventLogComponent  = "__eventlogger"
	EventLogStream     = "__eventlog"
	reservedNamePrefix = "__"
)

// Fields are the names of a stream's values, in order.
type Fields []string
