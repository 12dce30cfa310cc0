package peers_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// rig is a task with one goroutine, as an executor has, and a record of what it
// did: "emit other [1] <2" is a tuple on the stream other with the anchor 2,
// "ack 2" the end of input 2. What a child logs is "log WARN text", what it
// reports "error text".
type rig struct {
	t       *testing.T
	ctx     *storm.TopologyContext
	stop    context.CancelFunc
	posts   chan func()
	done    chan struct{}
	end     func() error  // of the component; nil if there is none
	changed chan struct{} // capacity 1
	logs    bytes.Buffer  // under mu

	mu     sync.Mutex
	record []string
	tuples []storm.Tuple // emitted
	ids    []storm.Value // of a spout's tuples
	errs   []string
}

// patient is longer than anything takes, even where many tests run at once.
const patient = 30 * time.Second

// inputs are the streams from which the tests send.
var (
	lines = &track.Origin{Component: "in", Stream: "default", Task: 1, ID: 1, Fields: []string{"op", "arg"}}
	ticks = &track.Origin{Component: storm.SystemComponent, Stream: storm.TickStream, Task: -1, Fields: []string{"rate_secs"}}
)

var streams = map[string]storm.StreamSpec{
	"default":  {Fields: storm.Fields{"op", "arg"}},
	"other":    {Fields: storm.Fields{"x"}},
	"straight": {Fields: storm.Fields{"x"}, Direct: true},
}

var (
	streamNames = []string{"default", "other", "straight"}
	streamIndex = map[string]int{"default": 0, "other": 1, "straight": 2}
)

func newRig(t *testing.T, conf storm.Config) *rig {
	t.Helper()
	r := &rig{t: t, posts: make(chan func(), 1024), done: make(chan struct{}), changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	r.ctx = storm.NewTopologyContext(storm.ContextSpec{
		Context: ctx, Topology: topology(), TopologyID: "t-1", TopologyName: "t", Conf: conf, Component: "shell", Task: 4,
		Tasks:  map[string][]storm.TaskID{"in": {1}, "out": {2, 3}, "shell": {4}},
		Logger: slog.New(&childLog{Handler: slog.NewTextHandler(&lockedWriter{r}, nil), r: r}),
	})
	go func() {
		defer close(r.done)
		for f := range r.posts {
			f()
		}
	}()
	t.Cleanup(func() {
		r.stop()
		if r.end != nil {
			r.on(func() { _ = r.end() })
		}
		close(r.posts)
		<-r.done
	})
	return r
}

func topology() *storm.Topology {
	return &storm.Topology{Components: map[string]*storm.Component{
		"in": {ID: "in", Streams: map[string]storm.StreamSpec{"default": {Fields: lines.Fields}}},
		"shell": {ID: "shell", Streams: streams, Inputs: []storm.Input{{
			Component: "in", Stream: "default", Grouping: storm.Grouping{Kind: storm.GroupFields, Fields: storm.Fields{"op"}},
		}}},
		"out": {ID: "out", Inputs: []storm.Input{{Component: "shell", Stream: "default", Grouping: storm.Grouping{Kind: storm.GroupShuffle}}}},
	}}
}

// lockedWriter is the rig's log as text.
type lockedWriter struct{ r *rig }

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	return w.r.logs.Write(p)
}

// childLog records what the child logs.
type childLog struct {
	slog.Handler
	r *rig
}

func (*childLog) Enabled(context.Context, slog.Level) bool { return true }

func (c *childLog) Handle(ctx context.Context, rec slog.Record) error {
	rec.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == "from" && a.Value.String() == "child":
			c.r.note(fmt.Sprintf("log %v %s", rec.Level, rec.Message))
		case a.Key == "text":
			c.r.note("text " + a.Value.String())
		}
		return true
	})
	return c.Handler.Handle(ctx, rec)
}

func (c *childLog) WithAttrs(as []slog.Attr) slog.Handler {
	return &childLog{Handler: c.Handler.WithAttrs(as), r: c.r}
}

// on runs f on the goroutine of the task and waits for it.
func (r *rig) on(f func()) {
	r.t.Helper()
	done := make(chan struct{})
	r.posts <- func() { defer close(done); f() }
	select {
	case <-done:
	case <-time.After(patient):
		r.t.Fatalf("the task is stuck\n%s", r.dump())
	}
}

func (r *rig) note(what string) {
	r.mu.Lock()
	r.record = append(r.record, what)
	r.mu.Unlock()
	r.rouse()
}

func (r *rig) rouse() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *rig) dump() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	const most = 4000
	log := r.logs.String()
	return fmt.Sprintf("recorded:\n%.*s\nlog:\n%.*s", most, strings.Join(r.record, "\n"), most, log)
}

// until waits until ok reports true.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	timeout := time.After(patient)
	for {
		if ok() {
			return
		}
		select {
		case <-r.changed:
		case <-timeout:
			r.t.Fatalf("never: %s\n%s", what, r.dump())
		}
	}
}

// count is how many records begin so.
func (r *rig) count(prefix string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.record {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

// await waits for n records that begin so.
func (r *rig) await(prefix string, n int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d of %q", n, prefix), func() bool { return r.count(prefix) >= n })
}

// take is what was recorded since it was last asked.
func (r *rig) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.record
	r.record = nil
	return got
}

func (r *rig) errors() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.errs)
}

// output is all that was emitted, trees the ids of it.
func (r *rig) output() []storm.Tuple {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tuples)
}

func (r *rig) trees() []storm.Value {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ids)
}

// ReportError implements storm.Task.
func (r *rig) ReportError(err error) {
	r.mu.Lock()
	r.errs = append(r.errs, err.Error())
	r.mu.Unlock()
	r.note("error " + err.Error())
}

// Post implements storm.Task.
func (r *rig) Post(ctx context.Context, f func()) error {
	select {
	case r.posts <- f:
		return nil
	case <-ctx.Done():
		return storm.ErrStopped
	}
}

func anchorsOf(t *storm.Tuple) (roots []string) {
	more := t.Anchors()
	if more == nil && t.IsTracked() {
		more = []track.Anchor{t.Anchor()}
	}
	for _, a := range more {
		roots = append(roots, fmt.Sprint(uint64(a.Root)))
	}
	return roots
}

func (r *rig) emitted(how string, stream int, t *storm.Tuple) {
	r.mu.Lock()
	r.tuples = append(r.tuples, *t)
	r.mu.Unlock()
	r.note(fmt.Sprintf("%s %s %.200v <%s", how, streamNames[stream], t.Values(), strings.Join(anchorsOf(t), ",")))
}

// Emit implements storm.BoltEmitter.
func (r *rig) Emit(stream int, t *storm.Tuple) []storm.TaskID {
	if want := len(streams[streamNames[stream]].Fields); t.Len() != want {
		panic(&storm.UsageError{Reason: fmt.Sprintf("%d values for the %d fields of stream %q", t.Len(), want, streamNames[stream])})
	}
	r.emitted("emit", stream, t)
	if stream == 1 {
		return nil
	}
	return []storm.TaskID{2, 3}
}

// EmitDirect implements storm.BoltEmitter.
func (r *rig) EmitDirect(stream int, task storm.TaskID, t *storm.Tuple) {
	r.emitted(fmt.Sprintf("to %d", task), stream, t)
}

// Done implements storm.BoltEmitter.
func (r *rig) Done(how storm.Settlement, _ *track.Origin, first track.Anchor, _ []track.Anchor) {
	r.note(fmt.Sprintf("%s %d", map[storm.Settlement]string{storm.SettleAck: "ack", storm.SettleFail: "fail"}[how], uint64(first.Root)))
}

// bolt prepares a bolt, which is ended with the test.
func (r *rig) bolt(s multilang.Spec) *multilang.ShellBolt {
	r.t.Helper()
	s.Streams = streams
	b := multilang.NewBolt(s)
	var err error
	r.on(func() { err = b.Prepare(r.ctx, storm.NewOutputCollector(r, "shell", streamIndex)) })
	r.began(err, b.Cleanup)
	return b
}

// began notes how the component is ended, if it has begun.
func (r *rig) began(err error, end func() error) {
	r.t.Helper()
	if r.end = end; err != nil {
		r.t.Fatalf("%v\n%s", err, r.dump())
	}
}

// send gives the bolt the input with this root.
func (r *rig) send(b *multilang.ShellBolt, root int, vals ...any) {
	r.t.Helper()
	r.on(func() {
		if err := b.Execute(storm.NewTuple(lines, 4, []track.Anchor{{Root: track.Root(root), Edge: 1}}, storm.Values(vals...)...)); err != nil {
			r.note("Execute: " + err.Error())
		}
	})
}

// tick gives the bolt a tick.
func (r *rig) tick(b *multilang.ShellBolt) {
	r.t.Helper()
	r.on(func() {
		if err := b.Execute(storm.NewTuple(ticks, 4, nil, storm.Int(1))); err != nil {
			r.note("Execute: " + err.Error())
		}
	})
}

// spoutRig is the task of a spout.
type spoutRig struct{ *rig }

// Emit implements storm.SpoutEmitter.
func (r spoutRig) Emit(stream int, id storm.Value, t *storm.Tuple) []storm.TaskID {
	r.mu.Lock()
	r.ids = append(r.ids, id)
	r.mu.Unlock()
	return r.rig.Emit(stream, t)
}

// EmitDirect implements storm.SpoutEmitter.
func (r spoutRig) EmitDirect(stream int, task storm.TaskID, id storm.Value, t *storm.Tuple) {
	r.mu.Lock()
	r.ids = append(r.ids, id)
	r.mu.Unlock()
	r.rig.EmitDirect(stream, task, t)
}

// Pending implements storm.SpoutEmitter.
func (r spoutRig) Pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ids)
}

// spout opens a spout, which is ended with the test.
func (r spoutRig) spout(s multilang.Spec) *multilang.ShellSpout {
	r.t.Helper()
	s.Streams = streams
	p := multilang.NewSpout(s)
	var err error
	r.on(func() { err = p.Open(r.ctx, storm.NewSpoutOutputCollector(r, "shell", streamIndex)) })
	r.began(err, p.Close)
	return p
}

// next calls NextTuple until there are n records that begin so.
func (r spoutRig) next(p *multilang.ShellSpout, prefix string, n int) {
	r.t.Helper()
	timeout := time.After(patient)
	for {
		r.on(func() {
			if err := p.NextTuple(); err != nil {
				r.note("NextTuple: " + err.Error())
			}
		})
		yes := r.count(prefix) >= n
		select {
		case <-timeout:
			r.t.Fatalf("never: %d of %q\n%s", n, prefix, r.dump())
		default:
		}
		if yes {
			return
		}
	}
}
