package multilang

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
)

// rig is a task with one goroutine, as an executor has, and a record of what it
// did.
type rig struct {
	t       *testing.T
	ctx     *storm.TopologyContext
	stop    context.CancelFunc
	posts   chan func()
	done    chan struct{}
	changed chan struct{} // capacity 1
	logs    safeBuffer

	mu      sync.Mutex
	emitted []string
	settled []string
	ended   map[string]int // acks and fails by what was settled
	errs    []string
	panicky string
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// patient is longer than anything takes, even where many tests run at once.
const patient = 20 * time.Second

func newRig(t *testing.T, conf storm.Config) *rig {
	t.Helper()
	r := &rig{t: t, posts: make(chan func(), 1024), done: make(chan struct{}), changed: make(chan struct{}, 1), ended: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	r.ctx = storm.NewTopologyContext(storm.ContextSpec{
		Context: ctx, Topology: testTopology(), TopologyID: "t-1", TopologyName: "t", Conf: conf, Component: "shell", Task: 4,
		Tasks:  map[string][]storm.TaskID{"in": {1}, "out": {2, 3}, "shell": {4}},
		Logger: slog.New(slog.NewTextHandler(&r.logs, &slog.HandlerOptions{Level: slog.LevelDebug - 4})),
	})
	go func() {
		defer close(r.done)
		for f := range r.posts {
			r.call(f)
		}
	}()
	return r
}

func testTopology() *storm.Topology {
	return &storm.Topology{Components: map[string]*storm.Component{
		"in": {ID: "in", Streams: map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"word", "n"}}}},
		"shell": {
			ID: "shell", Inputs: []storm.Input{{Component: "in", Stream: "default", Grouping: storm.Grouping{Kind: storm.GroupFields, Fields: storm.Fields{"word"}}}},
			Streams: map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"word", "n"}}, "other": {Fields: storm.Fields{"x"}}},
		},
		"out": {ID: "out", Inputs: []storm.Input{{Component: "shell", Stream: "default", Grouping: storm.Grouping{Kind: storm.GroupShuffle}}}},
	}}
}

// call runs a function of the task; what it panics with ends the task.
func (r *rig) call(f func()) {
	defer func() {
		if p := recover(); p != nil {
			r.note(func() { r.panicky = fmt.Sprint(p) })
		}
	}()
	f()
}

// on runs f on the goroutine of the task and waits for it.
func (r *rig) on(f func()) {
	r.t.Helper()
	done := make(chan struct{})
	r.posts <- func() { defer close(done); f() }
	select {
	case <-done:
	case <-time.After(patient):
		r.t.Fatalf("the task is stuck; log:\n%s", r.logs.String())
	}
}

func (r *rig) note(f func()) {
	r.mu.Lock()
	f()
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// until waits until ok reports true.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	timeout := time.After(patient)
	for {
		r.mu.Lock()
		yes := ok()
		r.mu.Unlock()
		if yes {
			return
		}
		select {
		case <-r.changed:
		case <-time.After(20 * time.Millisecond): // for what is not noted
		case <-timeout:
			r.t.Fatalf("never: %s\nemitted %q\nsettled %q\nerrors %q\nlog:\n%s", what, r.emitted, r.settled, r.errs, r.logs.String())
		}
	}
}

// ReportError implements storm.Task.
func (r *rig) ReportError(err error) { r.note(func() { r.errs = append(r.errs, err.Error()) }) }

// Post implements storm.Task.
func (r *rig) Post(ctx context.Context, f func()) error {
	select {
	case r.posts <- f:
		return nil
	case <-ctx.Done():
		return storm.ErrStopped
	}
}

func describe(stream int, t *storm.Tuple, roots []track.Anchor) string {
	var anchors []string
	for _, a := range roots {
		anchors = append(anchors, fmt.Sprint(uint64(a.Root)))
	}
	return fmt.Sprintf("%d %v <%s", stream, t.Values(), strings.Join(anchors, ","))
}

func rootsOf(t *storm.Tuple) []track.Anchor {
	if more := t.Anchors(); more != nil {
		return more
	}
	if t.IsTracked() {
		return []track.Anchor{t.Anchor()}
	}
	return nil
}

// Emit implements storm.BoltEmitter.
func (r *rig) Emit(stream int, t *storm.Tuple) []storm.TaskID {
	if stream == 0 && t.Len() != 2 {
		panic(&storm.UsageError{Reason: "wrong number of values"})
	}
	r.note(func() { r.emitted = append(r.emitted, describe(stream, t, rootsOf(t))) })
	return []storm.TaskID{2, 3}
}

// EmitDirect implements storm.BoltEmitter.
func (r *rig) EmitDirect(stream int, task storm.TaskID, t *storm.Tuple) {
	r.note(func() { r.emitted = append(r.emitted, fmt.Sprintf("to %d: %s", task, describe(stream, t, rootsOf(t)))) })
}

// Done implements storm.BoltEmitter.
func (r *rig) Done(how storm.Settlement, _ *track.Origin, first track.Anchor, more []track.Anchor) {
	word := map[storm.Settlement]string{storm.SettleAck: "ack", storm.SettleFail: "fail"}[how]
	r.note(func() {
		r.ended[word]++
		if len(r.settled) < 1000 {
			r.settled = append(r.settled, fmt.Sprintf("%s %d", word, uint64(first.Root)))
		}
		if more != nil {
			r.t.Error("the inputs of these tests have one root")
		}
	})
}

var shellStreams = map[string]int{"default": 0, "other": 1}

// bolt prepares a bolt that runs a script of testdata.
func (r *rig) bolt(s Spec, argv ...string) *ShellBolt {
	r.t.Helper()
	b, err := r.tryBolt(s, argv...)
	if err != nil {
		r.t.Fatalf("Prepare: %v\nlog:\n%s", err, r.logs.String())
	}
	return b
}

func (r *rig) tryBolt(s Spec, argv ...string) (b *ShellBolt, err error) {
	r.t.Helper()
	r.fill(&s, argv)
	b = NewBolt(s)
	r.on(func() { err = b.Prepare(r.ctx, storm.NewOutputCollector(r, "shell", shellStreams)) })
	r.t.Cleanup(func() {
		r.stop()
		r.on(func() { _ = b.Cleanup() })
		close(r.posts)
		<-r.done
	})
	return b, err
}

// fill completes a spec: python if argv names a script.
func (r *rig) fill(s *Spec, argv []string) {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		r.t.Fatal(err)
	}
	if s.Dir == "" && s.Files == nil {
		s.Dir = dir
	}
	if strings.HasSuffix(argv[0], ".py") {
		argv = append([]string{python(r.t)}, argv...)
	}
	s.Argv = argv
	s.Env = append(s.Env, "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
	tune := s.tune
	s.tune = func(set *settings) {
		set.heartbeat, set.timeout, set.start = 50*time.Millisecond, time.Second, 5*time.Second
		set.backoff, set.grace = 10*time.Millisecond, 300*time.Millisecond
		if tune != nil {
			tune(set)
		}
	}
}

// send gives the bolt inputs with the roots from first on.
func (r *rig) send(b *ShellBolt, first, n int, vals ...storm.Value) {
	r.t.Helper()
	origin := &track.Origin{Component: "in", Stream: "default", Task: 1, ID: 1, Fields: []string{"word", "n"}}
	for i := range n {
		tp := storm.NewTuple(origin, 4, []track.Anchor{{Root: track.Root(first + i), Edge: 1}}, vals...)
		r.on(func() {
			if err := b.Execute(tp); err != nil {
				r.note(func() { r.errs = append(r.errs, "Execute: "+err.Error()) })
			}
		})
	}
}

func (r *rig) acked(n int) func() bool { return func() bool { return r.ended["ack"] == n } }

// says reports whether an error has all the parts.
func (r *rig) says(parts ...string) func() bool {
	return func() bool {
		return slices.ContainsFunc(r.errs, func(e string) bool {
			return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(e, p) })
		})
	}
}
