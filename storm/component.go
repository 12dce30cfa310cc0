package storm

import "errors"

// Spout is a source of tuples. All methods of one instance are called from one
// goroutine, so none may block for long: while NextTuple runs, no ack, fail or
// deactivation reaches the spout. Embed BaseSpout for the methods that do not
// matter to you.
type Spout interface {
	// DeclareOutputFields names the streams of the spout. It is called on an
	// instance of its own when the topology is built.
	DeclareOutputFields(d *OutputFieldsDeclarer)
	// Open is called once, when the topology first becomes active. An error
	// restarts the worker.
	Open(ctx *TopologyContext, out *SpoutOutputCollector) error
	// NextTuple emits what is at hand and returns; if it emitted nothing, the
	// runtime waits a little before it calls again. An error is reported and
	// restarts the worker.
	NextTuple() error
	// Ack tells that the tree of the tuple emitted with id was processed whole.
	Ack(id Value)
	// Fail tells that the tree of the tuple emitted with id failed or timed out.
	Fail(id Value)
	// Close is called when the worker stops in order.
	Close() error
}

// Bolt processes tuples. Execute calls of one instance come from one
// goroutine. Each tuple must be acked or failed through the collector, at once
// or later; what is forgotten times out and is replayed. Most bolts are better
// off as a BasicBolt.
type Bolt interface {
	DeclareOutputFields(d *OutputFieldsDeclarer)
	// Prepare is called once before the first tuple. An error restarts the
	// worker.
	Prepare(ctx *TopologyContext, out *OutputCollector) error
	// Execute processes one tuple. An error is reported and restarts the
	// worker, as an uncaught exception does in Storm; to have one tuple
	// replayed, call Fail on the collector and return nil.
	Execute(t Tuple) error
	Cleanup() error
}

// BasicBolt is a Bolt whose emissions are anchored to its input and whose
// input is acked when Execute returns nil and failed when it returns an error.
// The error is reported unless it wraps ErrFail.
type BasicBolt interface {
	DeclareOutputFields(d *OutputFieldsDeclarer)
	Prepare(ctx *TopologyContext) error
	Execute(t Tuple, out *BasicOutputCollector) error
	Cleanup() error
}

// ErrFail makes a BasicBolt fail its input without an error report, as Storm's
// FailedException does.
var ErrFail = errors.New("tuple failed")

// Activator is implemented by spouts that want to know when their topology is
// deactivated and activated again.
type Activator interface {
	Activate()
	Deactivate()
}

// Bounded is implemented by spouts that come to an end. Exhausted is asked on
// the spout's goroutine, after a NextTuple that emitted nothing and while the
// spout is deactivated; once it reports true NextTuple is called again only if a tree of the spout failed.
// A local run ends when every spout is exhausted and nothing is pending.
type Bounded interface {
	Exhausted() bool
}

// Configured is implemented by components that bring configuration of their
// own, such as a tick interval. What the builder sets for the component wins.
type Configured interface {
	ComponentConfiguration() Config
}

// CustomGrouping chooses target tasks in Go. One instance serves one emitting
// task, from one goroutine.
type CustomGrouping interface {
	// Prepare names the target tasks, sorted ascending.
	Prepare(ctx *TopologyContext, targets []TaskID)
	// Choose returns the tasks that get t, a subset of the targets.
	Choose(from TaskID, t *Tuple) []TaskID
}

// BaseSpout has do-nothing methods to embed.
type BaseSpout struct{}

// Ack does nothing.
func (BaseSpout) Ack(Value) {}

// Fail does nothing.
func (BaseSpout) Fail(Value) {}

// Close does nothing.
func (BaseSpout) Close() error { return nil }

// BaseBolt has do-nothing methods to embed, for Bolt and BasicBolt alike.
type BaseBolt struct{}

// DeclareOutputFields declares no stream.
func (BaseBolt) DeclareOutputFields(*OutputFieldsDeclarer) {}

// Cleanup does nothing.
func (BaseBolt) Cleanup() error { return nil }

// BaseBasicBolt is BaseBolt with the Prepare of a BasicBolt.
type BaseBasicBolt struct{ BaseBolt }

// Prepare does nothing.
func (BaseBasicBolt) Prepare(*TopologyContext) error { return nil }

// basicRunner runs a BasicBolt as a Bolt.
type basicRunner struct {
	BasicBolt
	out   *OutputCollector
	basic BasicOutputCollector
}

var _ Bolt = (*basicRunner)(nil)

func (r *basicRunner) Prepare(ctx *TopologyContext, out *OutputCollector) error {
	r.out = out
	r.basic.out = out
	return r.BasicBolt.Prepare(ctx)
}

func (r *basicRunner) Execute(t Tuple) error {
	r.basic.input.set(&t)
	err := r.BasicBolt.Execute(t, &r.basic)
	if err == nil {
		r.out.Ack(&t)
		return nil
	}
	if !errors.Is(err, ErrFail) {
		r.out.ReportError(err)
	}
	r.out.Fail(&t)
	return nil
}

// ComponentConfiguration passes on what the wrapped bolt brings.
func (r *basicRunner) ComponentConfiguration() Config {
	if c, ok := r.BasicBolt.(Configured); ok {
		return c.ComponentConfiguration()
	}
	return nil
}
