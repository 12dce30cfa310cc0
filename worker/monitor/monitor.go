// Package monitor shows a worker to Prometheus: the statistics of its
// executors and whatever else it can count, as text over HTTP.
//
// Start at [Serve], which needs a [Source]. [Collector] is the part that turns
// a Source into metrics, for those who have a registry of their own.
//
// All names start with "stormring_". Every metric carries the labels topology,
// worker, component and tasks (the executor's range, "3-5"); where it is about
// one stream also stream, and source where the stream comes from another
// component.
package monitor

import (
	"strings"

	"github.com/stormring/stormring/worker/stats"
)

// Source is where the numbers come from: the worker.
type Source interface {
	// Snapshots are the numbers of this moment, one Labeled for an executor
	// and as many others as there are things to count; no two may have the
	// same labels unless their Values differ in name. It is called once a
	// scrape, at times by several goroutines, and should not block.
	Snapshots() []Labeled
}

// Labeled are numbers and whom they are about. Labels that do not apply stay
// empty, which is the same to Prometheus as if they were not there.
type Labeled struct {
	Topology  string // topology id
	Worker    string // "supervisor id:port"
	Component string
	Tasks     string // "first-last", see TaskRange

	// Stats is nil where there is no executor, as for a worker's transport.
	Stats *stats.Snapshot
	// Values are the other numbers, each name once.
	Values []Value
}

// Value is a number besides the statistics of an executor.
type Value struct {
	// Name is the metric's name without "stormring_". If it ends in "_total"
	// the number must be a counter, one that never falls; otherwise it is a
	// gauge. It must not be one of the names that statistics have. A name
	// that Prometheus does not accept is reported in the scrape's error.
	Name  string
	Value float64
}

// Names for Values that a worker usually has. Others may be used as well.
const (
	QueueTuples         = "queue_tuples"
	QueueCapacityTuples = "queue_capacity_tuples"
	PendingTrees        = "pending_trees"
	SentTuples          = "transport_sent_tuples_total"
	SentBytes           = "transport_sent_bytes_total"
	ReceivedTuples      = "transport_received_tuples_total"
	ReceivedBytes       = "transport_received_bytes_total"
	DroppedTuples       = "transport_dropped_tuples_total"
	Reconnects          = "transport_reconnects_total"
)

// Names for Values of the checkpoint task and of tasks that keep state.
const (
	CheckpointsCommitted = "checkpoints_committed_total"
	CheckpointsAbandoned = "checkpoints_abandoned_total"
	CheckpointsSlow      = "checkpoints_slow_total"
	Rollbacks            = "rollbacks_total"
	CheckpointSeconds    = "checkpoint_seconds"
	CheckpointAge        = "checkpoint_age_seconds"
	StateKeys            = "state_keys"
	StateBytes           = "state_bytes"
	StateReplicas        = "state_replicas"
	StateShards          = "state_shards"
	StateStoredBytes     = "state_stored_bytes"
	StateShortShards     = "state_shards_short_of_copies"
	StateSavedBytes      = "state_saved_bytes"
	StateSaveSeconds     = "state_save_seconds"
	StateFreezeSeconds   = "state_freeze_seconds"
	RecoveryRunning      = "recovery_running"
	RecoveryBytes        = "recovery_bytes"
	RecoveryPredicted    = "recovery_predicted_seconds"
	RecoveryDetect       = "recovery_detect_seconds"
	RecoveryPlace        = "recovery_place_seconds"
	RecoveryFetch        = "recovery_fetch_seconds"
	RecoveryRebuild      = "recovery_rebuild_seconds"
	RecoveryResume       = "recovery_resume_seconds"
)

// ComponentName is the name of a Value that a component counts itself. What
// Prometheus does not take in names becomes an underscore.
func ComponentName(name string, counter bool) string {
	name = componentPrefix + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		default:
			return '_'
		}
	}, strings.TrimSuffix(name, "_total"))
	if counter {
		return name + "_total"
	}
	return name
}

const componentPrefix = "component_"

// help explains a Value to whoever browses metrics.
func help(name string) string {
	switch name {
	case QueueTuples:
		return "Tuples waiting in the executor's receive queue."
	case QueueCapacityTuples:
		return "Tuples that the executor's receive queue can hold."
	case PendingTrees:
		return "Tuple trees of the spout that are neither complete nor failed."
	case SentTuples:
		return "Tuples sent to other workers."
	case SentBytes:
		return "Bytes sent to other workers."
	case ReceivedTuples:
		return "Tuples received from other workers."
	case ReceivedBytes:
		return "Bytes received from other workers."
	case DroppedTuples:
		return "Tuples that could not be sent to another worker."
	case Reconnects:
		return "Connections to other workers made anew after a loss."
	case CheckpointsCommitted:
		return "Checkpoints of the topology that were committed."
	case CheckpointsAbandoned:
		return "Checkpoints that were given up; the next one held what they would have."
	case CheckpointsSlow:
		return "Checkpoints that took longer than their interval."
	case Rollbacks:
		return "How often all tasks went back to the last committed checkpoint."
	case CheckpointSeconds:
		return "How long the last committed checkpoint took."
	case CheckpointAge:
		return "Time since the last checkpoint was committed."
	default:
		if text := helpState(name); text != "" {
			return text
		}
		if own, ok := strings.CutPrefix(name, componentPrefix); ok {
			return "What the component shows as " + strings.TrimSuffix(own, "_total") + "."
		}
		return "Value " + name + " as the worker reports it."
	}
}

// helpState is help for what tasks with state have.
func helpState(name string) string {
	switch name {
	case StateKeys:
		return "Keys in the task's state."
	case StateBytes:
		return "Bytes of the task's state in memory."
	case StateReplicas:
		return "Hosts that should keep a copy of each shard of the state."
	case StateShards:
		return "Shards of the last saved version."
	case StateStoredBytes:
		return "Bytes of the last saved version, one copy, compressed."
	case StateShortShards:
		return "Shards of the last saved version with fewer copies than wanted."
	case StateSavedBytes:
		return "Bytes that the last checkpoint wrote, one copy."
	case StateSaveSeconds:
		return "How long the last checkpoint of the task took."
	case StateFreezeSeconds:
		return "How long the last checkpoint stopped the task."
	case RecoveryRunning:
		return "1 while the state is being brought back."
	case RecoveryBytes:
		return "Bytes that the last recovery brought in."
	case RecoveryPredicted:
		return "How long the last recovery was expected to take."
	case RecoveryDetect:
		return "How long what the last recovery made good was lost before that was noticed; 0 if that is not known."
	case RecoveryPlace:
		return "How long the last recovery took from there until its plan was made."
	case RecoveryFetch:
		return "How long the last recovery fetched; it overlaps with rebuilding."
	case RecoveryRebuild:
		return "How long the last recovery rebuilt."
	case RecoveryResume:
		return "How long the last recovery took from the last byte to executing."
	default:
		return ""
	}
}
