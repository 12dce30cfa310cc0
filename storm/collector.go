package storm

import (
	"context"
	"errors"
	"fmt"

	"github.com/stormring/stormring/internal/track"
)

// ErrStopped is returned by Do when the task is stopping.
var ErrStopped = errors.New("task is stopping")

// UsageError is a mistake of a component at run time, such as an emission on a
// stream that it does not declare. The runtime reports it with component and
// task, without a stack, and restarts the worker.
type UsageError struct{ Reason string }

// Error is the reason.
func (e *UsageError) Error() string { return e.Reason }

func misuse(format string, args ...any) {
	panic(&UsageError{Reason: fmt.Sprintf(format, args...)})
}

// Task is what the runtime offers to the collectors of any task. Its methods
// are called on the task's goroutine, except Post.
type Task interface {
	// ReportError publishes err for the component.
	ReportError(err error)
	// Post has f called on the task's goroutine; it waits while too many calls
	// are waiting already.
	Post(ctx context.Context, f func()) error
}

// BoltEmitter is what the runtime implements below the collector of a bolt
// task.
type BoltEmitter interface {
	Task
	// Emit routes a copy of t, whose values and parent anchors are set, by the
	// groupings of the stream. The result is reused by the next call.
	Emit(stream int, t *Tuple) []TaskID
	// EmitDirect sends a copy of t to one task that subscribes directly.
	EmitDirect(stream int, task TaskID, t *Tuple)
	// Done settles an input of the task: acks, fails or resets the time-out of
	// its trees.
	Done(how Settlement, origin *track.Origin, first track.Anchor, more []track.Anchor)
}

// SpoutEmitter is what the runtime implements below the collector of a spout
// task. An emission with an id that is not nil starts a tree, whose end the
// spout is told by that id.
type SpoutEmitter interface {
	Task
	Emit(stream int, id Value, t *Tuple) []TaskID
	EmitDirect(stream int, task TaskID, id Value, t *Tuple)
	// Pending is the number of trees in flight.
	Pending() int
}

// Settlement is how a bolt is done with an input.
type Settlement uint8

// The settlements.
const (
	SettleAck Settlement = iota
	SettleFail
	SettleResetTimeout
)

// output is what all collectors share.
type output struct {
	component string
	streams   map[string]int
	def       int // index of DefaultStream, or -1
	staged    Tuple
}

func newOutput(component string, streams map[string]int) output {
	o := output{component: component, streams: streams, def: -1}
	if i, ok := streams[DefaultStream]; ok {
		o.def = i
	}
	return o
}

func (o *output) stream(id string) int {
	if id == DefaultStream && o.def >= 0 {
		return o.def
	}
	i, ok := o.streams[id]
	if !ok {
		misuse("component %q emits on stream %q, which it does not declare", o.component, id)
	}
	return i
}

// anchorTo makes the staged tuple a child of parent, which may be nil.
func (o *output) anchorTo(parent *Tuple) {
	if o.staged.n < 0 || parent != nil && parent.n < 0 {
		o.anchorRare(parent)
		return
	}
	if parent == nil {
		o.staged.first = track.Anchor{}
		return
	}
	o.staged.first = parent.first
}

// anchorRare is anchorTo where one of the tuples has an overflow.
func (o *output) anchorRare(parent *Tuple) {
	switch {
	case parent == nil:
		o.staged.SetAnchors(nil)
	case parent.Anchors() != nil:
		o.staged.SetAnchors(parent.Anchors())
	default:
		o.staged.SetAnchors([]track.Anchor{parent.first})
	}
}

// anchorToAll makes the staged tuple a child of all parents; trees that they
// have in common count once.
func (o *output) anchorToAll(parents []Tuple) {
	var anchors []track.Anchor
	for i := range parents {
		p := &parents[i]
		if more := p.Anchors(); more != nil {
			for _, a := range more {
				anchors = addRoot(anchors, a)
			}
		} else if p.first.Root != 0 {
			anchors = addRoot(anchors, p.first)
		}
	}
	o.staged.SetAnchors(anchors)
}

func addRoot(anchors []track.Anchor, a track.Anchor) []track.Anchor {
	for _, b := range anchors {
		if (b.Root^a.Root)&^track.First == 0 {
			return anchors
		}
	}
	return append(anchors, a)
}

// OutputCollector is how a Bolt emits and settles tuples.
//
// It belongs to the task's goroutine: call it from Execute, or, from any other
// goroutine, inside a function given to Do.
type OutputCollector struct {
	output
	to BoltEmitter
}

// NewOutputCollector is called by the runtime: streams maps the component's
// stream ids to the indexes that to understands.
func NewOutputCollector(to BoltEmitter, component string, streams map[string]int) *OutputCollector {
	return &OutputCollector{output: newOutput(component, streams), to: to}
}

// Emit emits on the default stream, anchored to the tuple anchor, or to
// nothing if it is nil. It returns the tasks that the tuple goes to, in memory
// that the next emission reuses.
func (c *OutputCollector) Emit(anchor *Tuple, vals ...Value) []TaskID {
	if c.def < 0 {
		c.stream(DefaultStream)
	}
	c.staged.SetValues(vals)
	c.anchorTo(anchor)
	return c.to.Emit(c.def, &c.staged)
}

// EmitAny is Emit with plain Go values, taken by Any. It is slower.
func (c *OutputCollector) EmitAny(anchor *Tuple, xs ...any) []TaskID {
	if c.def < 0 {
		c.stream(DefaultStream)
	}
	c.staged.SetAny(xs)
	c.anchorTo(anchor)
	return c.to.Emit(c.def, &c.staged)
}

// EmitStream is Emit on a stream by name.
func (c *OutputCollector) EmitStream(stream string, anchor *Tuple, vals ...Value) []TaskID {
	i := c.stream(stream)
	c.staged.SetValues(vals)
	c.anchorTo(anchor)
	return c.to.Emit(i, &c.staged)
}

// EmitAnchors is EmitStream with any number of anchors: the trees of all of
// them wait for the new tuple.
func (c *OutputCollector) EmitAnchors(stream string, anchors []Tuple, vals ...Value) []TaskID {
	i := c.stream(stream)
	c.staged.SetValues(vals)
	c.anchorToAll(anchors)
	return c.to.Emit(i, &c.staged)
}

// EmitDirect sends to one task, which must subscribe to the stream by direct
// grouping.
func (c *OutputCollector) EmitDirect(task TaskID, stream string, anchor *Tuple, vals ...Value) {
	i := c.stream(stream)
	c.staged.SetValues(vals)
	c.anchorTo(anchor)
	c.to.EmitDirect(i, task, &c.staged)
}

// EmitDirectAnchors is EmitDirect with any number of anchors.
func (c *OutputCollector) EmitDirectAnchors(task TaskID, stream string, anchors []Tuple, vals ...Value) {
	i := c.stream(stream)
	c.staged.SetValues(vals)
	c.anchorToAll(anchors)
	c.to.EmitDirect(i, task, &c.staged)
}

// Ack says that t is processed. Acking a tuple twice spoils its tree, which
// then times out.
func (c *OutputCollector) Ack(t *Tuple) { c.to.Done(SettleAck, t.origin, t.first, t.Anchors()) }

// Fail fails the trees of t at once; their spouts are told.
func (c *OutputCollector) Fail(t *Tuple) { c.to.Done(SettleFail, t.origin, t.first, t.Anchors()) }

// ResetTimeout gives the trees of t a whole message time-out from now.
func (c *OutputCollector) ResetTimeout(t *Tuple) {
	c.to.Done(SettleResetTimeout, t.origin, t.first, t.Anchors())
}

// ReportError publishes err for the component, with throttling; the worker
// goes on.
func (c *OutputCollector) ReportError(err error) { c.to.ReportError(err) }

// Do has f called on the task's goroutine, where f may use the collector. It
// may be called from any other goroutine and returns once f is queued, waiting
// for room if need be; do not wait for it from within Execute. After an error
// f will not be called.
func (c *OutputCollector) Do(ctx context.Context, f func()) error { return c.to.Post(ctx, f) }

// BasicOutputCollector is how a BasicBolt emits: always anchored to its input.
// It must not be used after Execute has returned.
type BasicOutputCollector struct {
	out   *OutputCollector
	input anchorsOnly
}

// anchorsOnly keeps the anchors of the input, without its values.
type anchorsOnly struct{ t Tuple }

func (a *anchorsOnly) set(t *Tuple) {
	a.t.first = t.first
	if a.t.n < 0 || t.n < 0 {
		a.t.SetAnchors(t.Anchors())
		a.t.first = t.first
	}
}

// Emit emits on the default stream and returns the tasks that the tuple goes
// to, in memory that the next emission reuses.
func (c *BasicOutputCollector) Emit(vals ...Value) []TaskID {
	return c.out.Emit(&c.input.t, vals...)
}

// EmitAny is Emit with plain Go values, taken by Any. It is slower.
func (c *BasicOutputCollector) EmitAny(xs ...any) []TaskID {
	return c.out.EmitAny(&c.input.t, xs...)
}

// EmitStream is Emit on a stream by name.
func (c *BasicOutputCollector) EmitStream(stream string, vals ...Value) []TaskID {
	return c.out.EmitStream(stream, &c.input.t, vals...)
}

// EmitDirect sends to one task, which must subscribe to the stream by direct
// grouping.
func (c *BasicOutputCollector) EmitDirect(task TaskID, stream string, vals ...Value) {
	c.out.EmitDirect(task, stream, &c.input.t, vals...)
}

// ResetTimeout gives the trees of the input a whole message time-out from now.
func (c *BasicOutputCollector) ResetTimeout() { c.out.ResetTimeout(&c.input.t) }

// ReportError publishes err for the component, with throttling.
func (c *BasicOutputCollector) ReportError(err error) { c.out.ReportError(err) }

// SpoutOutputCollector is how a Spout emits. It belongs to the spout's
// goroutine, see OutputCollector.
type SpoutOutputCollector struct {
	output
	to SpoutEmitter
}

// NewSpoutOutputCollector is called by the runtime.
func NewSpoutOutputCollector(to SpoutEmitter, component string, streams map[string]int) *SpoutOutputCollector {
	return &SpoutOutputCollector{output: newOutput(component, streams), to: to}
}

// Emit emits an untracked tuple on the default stream: the spout will not hear
// of it again. It returns the tasks that the tuple goes to, in memory that the
// next emission reuses.
func (c *SpoutOutputCollector) Emit(vals ...Value) []TaskID {
	if c.def < 0 {
		c.stream(DefaultStream)
	}
	c.staged.SetValues(vals)
	return c.to.Emit(c.def, Value{}, &c.staged)
}

// EmitTracked emits on the default stream and later calls the spout's Ack or
// Fail with id; a nil id is that of an untracked tuple. Without ackers Ack is
// called as soon as NextTuple has returned.
func (c *SpoutOutputCollector) EmitTracked(id Value, vals ...Value) []TaskID {
	if c.def < 0 {
		c.stream(DefaultStream)
	}
	c.staged.SetValues(vals)
	return c.to.Emit(c.def, id, &c.staged)
}

// EmitAny is EmitTracked with plain Go values, taken by Any. It is slower.
func (c *SpoutOutputCollector) EmitAny(id Value, xs ...any) []TaskID {
	if c.def < 0 {
		c.stream(DefaultStream)
	}
	c.staged.SetAny(xs)
	return c.to.Emit(c.def, id, &c.staged)
}

// EmitStream is EmitTracked on a stream by name.
func (c *SpoutOutputCollector) EmitStream(stream string, id Value, vals ...Value) []TaskID {
	i := c.stream(stream)
	c.staged.SetValues(vals)
	return c.to.Emit(i, id, &c.staged)
}

// EmitDirect sends to one task, which must subscribe to the stream by direct
// grouping; with a nil id the tuple is not tracked.
func (c *SpoutOutputCollector) EmitDirect(task TaskID, stream string, id Value, vals ...Value) {
	i := c.stream(stream)
	c.staged.SetValues(vals)
	c.to.EmitDirect(i, task, id, &c.staged)
}

// Pending is the number of tuples emitted with an id that are neither acked
// nor failed.
func (c *SpoutOutputCollector) Pending() int { return c.to.Pending() }

// ReportError publishes err for the component, with throttling.
func (c *SpoutOutputCollector) ReportError(err error) { c.to.ReportError(err) }

// Do has f called on the spout's goroutine, where f may use the collector, and
// wakes a spout that waits; see OutputCollector.Do.
func (c *SpoutOutputCollector) Do(ctx context.Context, f func()) error { return c.to.Post(ctx, f) }
