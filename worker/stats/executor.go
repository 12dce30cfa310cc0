package stats

import (
	"sync/atomic"
	"time"
)

// Cells of an output stream. Both layouts put what happens first first:
// readers go backwards, so that they never see an effect without its cause.
const (
	outEmitted = iota
	outTransferred
	outAcked
	outFailed
	outCompleteSamples
	outCompleteNanos
	outCells
)

// Cells of an input stream.
const (
	inExecuted = iota
	inAcked
	inFailed
	inExecuteSamples
	inExecuteNanos
	inProcessSamples
	inProcessNanos
	inCells
)

// cacheLines is how many cells fill the two cache lines that one processor
// may fetch together.
const cacheLines = 16

// Executor counts for one executor. Its methods are safe for any goroutine
// and never block or allocate, Tick and Snapshot excepted, which allocate.
// Nearly all calls come from the executor's own goroutine; counting from
// elsewhere, as in an ack of a helper goroutine, is as exact, only slower.
//
// An index that Spec does not have panics.
type Executor struct {
	spec  Spec
	start time.Time

	// cells are the growing counters: outCells for each output, then inCells
	// for each input.
	cells []atomic.Uint64
	// execute and process are nil in spouts, complete is nil in bolts.
	execute, process, complete *histogram

	past atomic.Pointer[history]
}

// history is where the windows begin. It is replaced, never changed.
type history struct {
	windows                    [3][]mark[uint64] // in the order of rotating()
	execute, process, complete []mark[uint32]
}

// New starts counting at now. It keeps spec, and panics if spec names a
// stream twice.
func New(spec Spec, now time.Time) *Executor {
	spec.check()
	n := len(spec.Outputs)*outCells + len(spec.Inputs)*inCells
	padded := (n + cacheLines - 1) / cacheLines * cacheLines
	e := &Executor{
		spec:  spec,
		start: now,
		cells: make([]atomic.Uint64, padded)[:n:n],
	}
	h := &history{}
	for i := range h.windows {
		h.windows[i] = []mark[uint64]{{vals: make([]uint64, n)}}
	}
	if spec.Spout {
		e.complete, h.complete = new(histogram), []mark[uint32]{{}}
	} else {
		e.execute, h.execute = new(histogram), []mark[uint32]{{}}
		e.process, h.process = new(histogram), []mark[uint32]{{}}
	}
	e.past.Store(h)
	return e
}

// Emitted counts emitted tuples that the component emitted on output out, and
// transferred copies of them that were sent to tasks.
func (e *Executor) Emitted(out int, emitted, transferred uint64) {
	c := e.output(out)
	c[outEmitted].Add(emitted)
	if transferred != 0 {
		c[outTransferred].Add(transferred)
	}
}

// Executed counts executed tuples of input in, and acked and failed tuples of
// it, which may have been executed before.
func (e *Executor) Executed(in int, executed, acked, failed uint64) {
	c := e.input(in)
	if executed != 0 {
		c[inExecuted].Add(executed)
	}
	if acked != 0 {
		c[inAcked].Add(acked)
	}
	if failed != 0 {
		c[inFailed].Add(failed)
	}
}

// SpoutDone counts tuples that a spout emitted on output out and whose trees
// are now complete, or failed or timed out.
func (e *Executor) SpoutDone(out int, acked, failed uint64) {
	c := e.output(out)
	if acked != 0 {
		c[outAcked].Add(acked)
	}
	if failed != 0 {
		c[outFailed].Add(failed)
	}
}

// ObserveExecute notes how long a bolt's Execute took for a tuple of input in.
func (e *Executor) ObserveExecute(in int, d time.Duration) {
	c := e.input(in)
	n := nanos(d)
	c[inExecuteSamples].Add(1)
	c[inExecuteNanos].Add(n)
	e.execute.record(n)
}

// ObserveProcess notes how long it took a bolt from receiving a tuple of
// input in to acking it.
func (e *Executor) ObserveProcess(in int, d time.Duration) {
	c := e.input(in)
	n := nanos(d)
	c[inProcessSamples].Add(1)
	c[inProcessNanos].Add(n)
	e.process.record(n)
}

// ObserveComplete notes how long it took from a spout's emit on output out to
// the completion of the tuple's tree.
func (e *Executor) ObserveComplete(out int, d time.Duration) {
	c := e.output(out)
	n := nanos(d)
	c[outCompleteSamples].Add(1)
	c[outCompleteNanos].Add(n)
	e.complete.record(n)
}

// Tick lets the windows move on to now. A worker calls it every few seconds;
// a window is imprecise by a twentieth of its length plus the time between
// two calls. A now before that of an earlier call changes nothing.
func (e *Executor) Tick(now time.Time) {
	at := now.Sub(e.start)
	old := e.past.Load()
	// The buckets of the shortest window divide all others.
	if !due(old.windows[0], at, shortWindow/bucketsPerWindow) {
		return
	}
	cells := e.read()
	next := &history{
		execute:  e.execute.rotate(old.execute, at),
		process:  e.process.rotate(old.process, at),
		complete: e.complete.rotate(old.complete, at),
	}
	for i, w := range rotating() {
		next.windows[i] = rotate(old.windows[i], at, w.length, w.length/bucketsPerWindow, func() []uint64 { return cells })
	}
	// Losing means that another Tick has just done the same.
	e.past.CompareAndSwap(old, next)
}

// output are the cells of output i; like input it panics if i is out of range.
func (e *Executor) output(i int) *[outCells]atomic.Uint64 {
	_ = e.spec.Outputs[i]
	return (*[outCells]atomic.Uint64)(e.cells[i*outCells:])
}

func (e *Executor) input(i int) *[inCells]atomic.Uint64 {
	_ = e.spec.Inputs[i]
	return (*[inCells]atomic.Uint64)(e.cells[len(e.spec.Outputs)*outCells+i*inCells:])
}

// read copies the cells, last first.
func (e *Executor) read() []uint64 {
	vals := make([]uint64, len(e.cells))
	for i := len(vals) - 1; i >= 0; i-- {
		vals[i] = e.cells[i].Load()
	}
	return vals
}

// nanos is d without the sign that a clock set back would give it.
func nanos(d time.Duration) uint64 { return uint64(max(d, 0)) }
