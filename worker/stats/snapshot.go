package stats

import (
	"strings"
	"time"
)

// Snapshot is what an executor, or several of one component, did until a
// moment. It shares nothing with the executor and is not changed by this
// package, so it may be passed around; Distributions never change at all.
type Snapshot struct {
	Component string
	Spout     bool
	Executors int           // how many were added up
	Uptime    time.Duration // of the oldest executor

	// Windows holds the counts by window name; all of Windows() are there,
	// with all streams, however small the counts.
	Windows map[string]Window

	// Capacity is the share of the last ten minutes (or of Uptime, if that is
	// less) that a bolt spent executing: 1 is a bolt that can do no more. Of
	// several executors it is the busiest one's. 0 for spouts.
	Capacity float64

	// Execute and Process are nil for spouts, Complete is nil for bolts.
	Execute, Process, Complete *Distribution
}

// Window is what happened in one window.
type Window struct {
	// Span is the time that the counts cover, for rates: at least the
	// window's length once Uptime is, and at most a twentieth and a tick more.
	Span    time.Duration
	Outputs map[string]Output // by stream id
	Inputs  map[Input]Received
}

// Output counts an output stream.
type Output struct {
	Emitted     uint64 // tuples that the component emitted
	Transferred uint64 // copies of them that were sent to tasks
	// The rest is 0 in bolts.
	Acked    uint64  // trees completed
	Failed   uint64  // trees failed or timed out
	Complete Latency // emit to completion of the tree
}

// Received counts an input stream of a bolt.
type Received struct {
	Executed, Acked, Failed uint64
	Execute                 Latency // time in Execute
	Process                 Latency // receive to ack
}

// Latency is the mean of sampled latencies.
type Latency struct {
	Samples uint64
	Sum     time.Duration
}

// Mean is 0 without samples.
func (l Latency) Mean() time.Duration {
	if l.Samples == 0 {
		return 0
	}
	return time.Duration(uint64(l.Sum) / l.Samples)
}

// Millis is the mean in milliseconds, as Storm reports latencies; 0 without
// samples.
func (l Latency) Millis() float64 {
	if l.Samples == 0 {
		return 0
	}
	return float64(l.Sum) / float64(l.Samples) / float64(time.Millisecond)
}

func (l Latency) plus(o Latency) Latency {
	return Latency{l.Samples + o.Samples, l.Sum + o.Sum}
}

// Totals is the sum over the streams of a window.
type Totals struct {
	Emitted, Transferred       uint64
	Executed                   uint64 // bolts only
	Acked, Failed              uint64 // of inputs in bolts, of outputs in spouts
	Execute, Process, Complete Latency
}

// Totals adds up the streams of w; those of Storm itself, whose names start
// with "__", only if system is true.
func (w Window) Totals(system bool) Totals {
	var t Totals
	for stream, o := range w.Outputs {
		if system || !isSystem(stream) {
			t.Emitted += o.Emitted
			t.Transferred += o.Transferred
			t.Acked += o.Acked
			t.Failed += o.Failed
			t.Complete = t.Complete.plus(o.Complete)
		}
	}
	for in, r := range w.Inputs {
		if system || !isSystem(in.Stream) {
			t.Executed += r.Executed
			t.Acked += r.Acked
			t.Failed += r.Failed
			t.Execute = t.Execute.plus(r.Execute)
			t.Process = t.Process.plus(r.Process)
		}
	}
	return t
}

func isSystem(name string) bool { return strings.HasPrefix(name, "__") }

// Snapshot reads all statistics at now. While the executor runs, counts may
// be those of slightly different moments; but of an input never more tuples
// are acked than executed, if the executor counts them in that order.
func (e *Executor) Snapshot(now time.Time) Snapshot {
	at := max(now.Sub(e.start), 0)
	// Marks before cells: cells only grow, so no difference is negative.
	past := e.past.Load()
	cells := e.read()
	s := Snapshot{
		Component: e.spec.Component,
		Spout:     e.spec.Spout,
		Executors: 1,
		Uptime:    at,
		Windows:   make(map[string]Window, len(past.windows)+1),
		Execute:   e.execute.since(past.execute, at),
		Process:   e.process.since(past.process, at),
		Complete:  e.complete.since(past.complete, at),
	}
	for i, w := range rotating() {
		marks := past.windows[i]
		base := marks[baseIndex(marks, at-w.length)]
		s.Windows[w.name] = e.window(base.vals, cells, max(at-base.at, 0))
	}
	s.Windows[AllTime] = e.window(make([]uint64, len(cells)), cells, at)
	if !e.spec.Spout {
		s.Capacity = capacity(s.Windows[TenMinutes])
	}
	return s
}

// window is what was added to the cells between from and to.
func (e *Executor) window(from, to []uint64, span time.Duration) Window {
	w := Window{
		Span:    span,
		Outputs: make(map[string]Output, len(e.spec.Outputs)),
		Inputs:  make(map[Input]Received, len(e.spec.Inputs)),
	}
	at := 0
	for _, stream := range e.spec.Outputs {
		w.Outputs[stream] = newOutput(delta{from[at:], to[at:]})
		at += outCells
	}
	for _, in := range e.spec.Inputs {
		w.Inputs[in] = newReceived(delta{from[at:], to[at:]})
		at += inCells
	}
	return w
}

// delta is the growth of the cells of one stream.
type delta struct{ from, to []uint64 }

func (d delta) count(cell int) uint64 { return d.to[cell] - d.from[cell] }

func (d delta) latency(samples, nanos int) Latency {
	return Latency{d.count(samples), time.Duration(d.count(nanos))}
}

func newOutput(d delta) Output {
	return Output{
		Emitted:     d.count(outEmitted),
		Transferred: d.count(outTransferred),
		Acked:       d.count(outAcked),
		Failed:      d.count(outFailed),
		Complete:    d.latency(outCompleteSamples, outCompleteNanos),
	}
}

func newReceived(d delta) Received {
	return Received{
		Executed: d.count(inExecuted),
		Acked:    d.count(inAcked),
		Failed:   d.count(inFailed),
		Execute:  d.latency(inExecuteSamples, inExecuteNanos),
		Process:  d.latency(inProcessSamples, inProcessNanos),
	}
}

// capacity is executed tuples times their mean execute latency, of each
// input, over the time in which that happened.
func capacity(w Window) float64 {
	if w.Span <= 0 {
		return 0
	}
	var busy float64 // nanoseconds
	for _, r := range w.Inputs {
		if r.Execute.Samples != 0 {
			busy += float64(r.Executed) * float64(r.Execute.Sum) / float64(r.Execute.Samples)
		}
	}
	return busy / float64(w.Span)
}
