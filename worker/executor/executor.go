package executor

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/grouping"
	"github.com/stormring/stormring/worker/queue"
	"github.com/stormring/stormring/worker/stats"
)

// sampleEvery is how many tuples share one latency sample: a look at the clock
// costs as much as ten tuples.
const sampleEvery = 256

// TaskSpec is one task of an executor.
type TaskSpec struct {
	ID      storm.TaskID
	Context *storm.TopologyContext
	// Streams are the component's output streams by index.
	Streams []Stream
	// StreamIndex maps stream ids to positions in Streams.
	StreamIndex map[string]int
	Hooks       []storm.TaskHook
}

// Spec is what all kinds of executor need.
type Spec struct {
	Component string
	Tasks     []TaskSpec // contiguous ids, ascending
	// BatchSize is the number of tuples or messages that go to a full queue
	// together.
	BatchSize int
	// Seed starts the generator of edge ids; executors must differ in it.
	Seed   uint64
	Ackers []Lane[*AckBatch]
	// Spouts maps spout tasks to their lanes, for bolts and ackers. Without it
	// bolts leave all news to the ackers.
	Spouts map[storm.TaskID]Lane[*OutcomeBatch]
	Stats  *stats.Executor
	// Coarse ticks every few milliseconds, in nanoseconds since some start.
	// When it has moved on, a busy executor flushes.
	Coarse *atomic.Int64
	// Report publishes an error of a task.
	Report func(task storm.TaskID, err error)
	// Checkpoints is nil if the topology takes none.
	Checkpoints *Checkpoints
	Debug       bool // log every emission
	Logger      *slog.Logger
}

// TaskError ends an executor: user code panicked or returned an error where that
// is final.
type TaskError struct {
	Component string
	Task      storm.TaskID
	Doing     string // what the task was doing, such as "Execute"
	Err       error
	// Stack is the stack of a panic, empty for returned errors and misuse.
	Stack string
}

// Error says which component's task failed at what, and why.
func (f *TaskError) Error() string {
	return fmt.Sprintf("component %q task %d: %s: %v", f.Component, f.Task, f.Doing, f.Err)
}

// Unwrap is Err.
func (f *TaskError) Unwrap() error { return f.Err }

// Flow counts the tuples that an executor has sent to bolts and executed, so
// that an observer can tell when a topology is at rest: Sent of an emission is
// visible before Done of the execution that caused it.
type Flow struct {
	Sent atomic.Uint64
	Done atomic.Uint64
}

// core is what all kinds of executor share.
type core struct {
	Spec
	output
	done uint64
	// current and doing locate user code that panics.
	current storm.TaskID
	doing   activity
	flushed int64 // Coarse at the last flush
	loads   atomic.Pointer[[]float64]
	scratch []storm.TaskID
}

func (c *core) init(s Spec) {
	c.Spec = s
	c.output.init(s.BatchSize, s.Seed, s.Ackers)
	c.outcomes.init(s.BatchSize, s.Spouts)
}

// Flow is the executor's tuple counts.
func (c *core) Flow() *Flow { return &c.flow }

// Executor is what a worker runs.
type Executor interface {
	// Run runs the tasks until the inbox is closed, then cleans them up. The
	// error is a *TaskError, or several joined if clean-ups fail.
	Run() error
	Flow() *Flow
	// QueueLen and QueueLimit are the fill of the inbox, in items.
	QueueLen() int
	QueueLimit() int
	// Close ends Run.
	Close()
}

// guard runs f; a panic in user code becomes a TaskError, and a stopping worker
// ends f quietly.
func (c *core) guard(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stopped:
			err = nil
		case *TaskError:
			err = r
		case *storm.UsageError:
			err = c.failure(r, "")
		case error:
			err = c.failure(fmt.Errorf("panic: %w", r), string(debug.Stack()))
		default:
			err = c.failure(fmt.Errorf("panic: %v", r), string(debug.Stack()))
		}
	}()
	return f()
}

func (c *core) failure(err error, stack string) error {
	return &TaskError{Component: c.Component, Task: c.current, Doing: activities[c.doing], Err: err, Stack: stack}
}

// activity is what a task is doing.
type activity uint8

const (
	atExecute activity = iota
	atNextTuple
	atAck
	atFail
	atPrepare
	atOpen
	atActivate
	atDeactivate
	atCleanup
	atClose
	atPost
	atInitState
	atPrePrepare
	atPreCommit
	atPreRollback
	atCounting
)

var activities = [...]string{
	"Execute", "NextTuple", "Ack", "Fail", "Prepare", "Open", "Activate", "Deactivate", "Cleanup", "Close",
	"a call given to Do", "InitState", "PrePrepare", "PreCommit", "PreRollback", "counting acks",
}

// enter says what user code is about to run.
func (c *core) enter(task storm.TaskID, doing activity) {
	c.current, c.doing = task, doing
}

// flushIfDue keeps what a busy executor has collected from waiting for long. It
// tells whether it has flushed.
func (c *core) flushIfDue() bool {
	now := c.Coarse.Load()
	if now == c.flushed {
		return false
	}
	c.flushed = now
	c.flush()
	return true
}

// due reports whether flushIfDue would flush.
func (c *core) due() bool { return c.Coarse.Load() != c.flushed }

// runPosts calls what was posted.
func runPosts(posts []func()) {
	for i, f := range posts {
		posts[i] = nil
		f()
	}
}

// task is what the tasks of spouts and bolts share.
type task struct {
	c       *core
	id      storm.TaskID
	ctx     *storm.TopologyContext
	streams []stream
	hooks   []storm.TaskHook
	watched bool // hooks or debugging look at every tuple
	// sent counts, by task, what went there in this era; nil without checkpoints.
	sent []int64
}

// put copies a tuple into the outbox of the task that it is addressed to.
func (t *task) put(box *outbox, tp *storm.Tuple) {
	if t.sent != nil {
		t.sent[tp.Dst()]++
	}
	t.c.put(box, tp)
}

func newTask(c *core, spec TaskSpec) task {
	return task{c: c, id: spec.ID, ctx: spec.Context, streams: c.output.streams(spec.Streams), hooks: spec.Hooks}
}

// Shuffles reports whether an output stream of the executor is shuffled over
// several tasks.
func (c *core) Shuffles() bool {
	for _, t := range c.Tasks {
		for _, s := range t.Streams {
			for _, sub := range s.Subs {
				if isShuffle(sub.Grouping) {
					return true
				}
			}
		}
	}
	return false
}

func isShuffle(g *grouping.Grouping) bool {
	return len(g.Targets()) > 1 && (g.Kind() == grouping.Shuffle || g.Kind() == grouping.LocalOrShuffle)
}

// setLoads tells the task's shuffles how busy each task is.
func (t *task) setLoads(byTask []float64) {
	for i := range t.streams {
		for k := range t.streams[i].subs {
			in := &t.streams[i].subs[k]
			if !isShuffle(in.grouping) {
				continue
			}
			load := make([]float64, len(in.tasks))
			for j, task := range in.tasks {
				load[j] = byTask[task]
			}
			in.grouping.SetLoad(load)
		}
	}
}

// prepareHooks collects the hooks that the component added itself.
func (t *task) prepareHooks() {
	t.hooks = append(t.hooks, t.ctx.Hooks()...)
	t.watched = t.c.Debug || len(t.hooks) > 0
	for _, h := range t.hooks {
		if h.Prepare != nil {
			h.Prepare(t.ctx)
		}
	}
}

func (t *task) cleanupHooks() {
	for _, h := range t.hooks {
		if h.Cleanup != nil {
			h.Cleanup()
		}
	}
}

// showEmission tells hooks and log of an emission on s to the tasks in to.
func (t *task) showEmission(s *stream, tp *storm.Tuple, to []storm.TaskID) {
	for _, h := range t.hooks {
		if h.Emit != nil {
			h.Emit(s.origin.Stream, tp, to)
		}
	}
	if t.c.Debug {
		t.c.Logger.Info("emit", "component", t.c.Component, "task", t.id, "stream", s.origin.Stream, "to", to, "values", tp.Values())
	}
}

// publishEmitted moves the counts of emissions to the statistics.
func (t *task) publishEmitted() {
	for i := range t.streams {
		if s := &t.streams[i]; s.emitted > 0 {
			t.c.Stats.Emitted(i, s.emitted, s.transferred)
			s.emitted, s.transferred = 0, 0
		}
	}
}

// sampler picks the executions and trees whose latency is measured: every
// sampleEvery-th, and the first after a rest, so that slow streams are
// measured whole.
type sampler struct{ left int }

func (s *sampler) take() bool {
	s.left--
	if s.left >= 0 {
		return false
	}
	s.left = sampleEvery - 1
	return true
}

func (s *sampler) rest() { s.left = 0 }

// late remembers sampled inputs that were not acked during Execute.
type late struct {
	n       int
	anchors [16]track.Anchor
	starts  [16]time.Time
}

func (l *late) add(a track.Anchor, start time.Time) {
	if l.n == len(l.anchors) {
		copy(l.anchors[:], l.anchors[1:])
		copy(l.starts[:], l.starts[1:])
		l.n--
	}
	l.anchors[l.n], l.starts[l.n] = a, start
	l.n++
}

func (l *late) take(a track.Anchor) (start time.Time, ok bool) {
	for i := range l.n {
		if l.anchors[i] == a {
			start = l.starts[i]
			l.n--
			l.anchors[i], l.starts[i] = l.anchors[l.n], l.starts[l.n]
			return start, true
		}
	}
	return time.Time{}, false
}

// postError tells a component that its task is stopping in the words of its API.
func postError(err error) error {
	if errors.Is(err, queue.ErrClosed) {
		return storm.ErrStopped
	}
	return err
}
