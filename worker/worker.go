package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/checkpoint"
	"github.com/stormring/stormring/worker/executor"
	"github.com/stormring/stormring/worker/stats"
)

const (
	// orderlyPatience is how long a worker that stops lets executors wait for
	// each other, so that what is under way gets there.
	orderlyPatience = time.Second
	// stopPatience is how long it waits for user code to return.
	stopPatience = 20 * time.Second
)

// Spec is what a worker is to run.
type Spec struct {
	TopologyID   string
	TopologyName string
	Layout       *layout.Layout
	// Index is this worker's number and Placement the worker of each of the
	// layout's executors.
	Index     int
	Placement []int
	// Port is the slot's port, for components to know.
	Port int
	// Network connects with the other workers; nil if there are none.
	Network *Network
	// Active is whether the spouts begin to emit at once.
	Active bool
	Logger *slog.Logger
	// States keeps the state of stateful components; nil keeps it in memory, where
	// it ends with the worker.
	States States
	// OnError gets every reported error that throttling lets through. It may
	// be called from any goroutine; nil is allowed.
	OnError func(ErrorInfo)
}

// Worker runs executors. It runs once; a new life needs a new Worker.
type Worker struct {
	spec   Spec
	log    *slog.Logger
	errors *errorLog
	shared *storm.SharedValues
	hooks  []storm.WorkerHook

	links *links
	// failLanes are this worker's own ways to the ackers.
	failLanes []executor.Lane[*executor.AckBatch]
	lost      atomic.Uint64                   // tuples sent by executors that could not leave
	running   atomic.Pointer[context.Context] // of Run

	plan     checkpoint.Plan // of a topology that takes checkpoints
	check    *executor.Checkpointer
	started  started
	measured sync.Map // of storm.TaskID to Measured
	spouts   []*executor.Spout
	bolts    []*executor.Bolt
	ackers   []*executor.Acker
	units    []unit
	byTask   map[storm.TaskID]*unit // by first task of executor
	lanes    map[laneKey]*tupleLane
	coarse   atomic.Int64
	start    time.Time
	due      []timer

	alarmMu sync.Mutex
	alarms  []alarm // under alarmMu

	loads loads
	// balanced are the executors with shuffle groupings over several tasks.
	balanced []balanced
	failed   chan error
	taskCt   context.Context //nolint:containedctx // handed to every task; ends when the worker stops
	cancel   context.CancelFunc
}

// unit is an executor with what the worker knows of it.
type unit struct {
	layout.Executor
	exec  executor.Executor
	stats *stats.Executor
	tuple *executor.TupleInbox   // bolts
	acks  *executor.AckInbox     // ackers
	outs  *executor.OutcomeInbox // spouts
	check bool                   // the checkpoint task
	done  chan struct{}
	// contexts are those of its tasks.
	contexts []*storm.TopologyContext
}

// New builds the executors; nothing of the user's runs before Run.
func New(spec Spec) (*Worker, error) {
	w := &Worker{
		spec: spec, log: spec.Logger, shared: &storm.SharedValues{},
		start: time.Now(), lanes: map[laneKey]*tupleLane{}, failed: make(chan error, len(spec.Layout.Executors)+1),
	}
	w.errors = newErrorLog(spec.Layout.Conf, spec.Logger, spec.OnError)
	w.taskCt, w.cancel = context.WithCancel(context.Background())
	if spec.Network != nil {
		w.links = newLinks(w, spec.Network)
	}
	if err := w.build(); err != nil {
		w.cancel()
		if w.links != nil {
			w.links.close()
		}
		return nil, fmt.Errorf("worker %d of topology %q: %w", spec.Index, spec.TopologyName, err)
	}
	w.SetActive(spec.Active) // here, so that every other call comes later
	return w, nil
}

// Run runs the worker until ctx ends or a component fails, then stops it in
// order: spouts, bolts, ackers, connections. The error is an
// *executor.TaskError if a component caused the end, and nil after ctx.
func (w *Worker) Run(ctx context.Context) error {
	defer w.cancel()
	w.running.Store(&ctx)
	if w.links != nil {
		defer w.links.close()
		if err := w.links.open(); err != nil {
			return err
		}
	}
	if err := w.startHooks(); err != nil {
		return err
	}
	w.sayStarted()
	var running sync.WaitGroup
	pulseCtx, stopPulse := context.WithCancel(ctx)
	running.Go(func() { w.pulse(pulseCtx) })
	for i := range w.units {
		running.Go(func() { w.runUnit(&w.units[i]) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-w.failed:
		w.closeAll() // nobody may wait for the one that is gone
	}
	stopPulse()
	late := w.stop()
	if late != nil {
		// User code does not return; its goroutine cannot be ended from here.
		return errors.Join(err, late)
	}
	running.Wait()
	close(w.failed)
	for more := range w.failed {
		err = errors.Join(err, more) // what went wrong in cleaning up
	}
	return errors.Join(err, w.stopHooks())
}

func (w *Worker) runUnit(u *unit) {
	defer close(u.done)
	if err := u.exec.Run(); err != nil {
		if f, ok := errors.AsType[*executor.TaskError](err); ok {
			w.errors.failure(f)
		}
		w.failed <- err
	}
}

// stop ends the executors in order and waits for them.
func (w *Worker) stop() error {
	w.cancel()
	hurry := time.AfterFunc(orderlyPatience, w.closeAll)
	defer hurry.Stop()
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	for _, kind := range [][]*unit{w.kind(isCheckpointer), w.kind(isSpout), w.kind(isBolt), w.kind(isAcker)} {
		for _, u := range kind {
			u.exec.Close()
		}
		for _, u := range kind {
			select {
			case <-u.done:
			case <-timer.C:
				return fmt.Errorf("component %q, tasks %d to %d: has not returned within %s of being stopped", u.Component, u.First, u.Last, stopPatience)
			}
		}
	}
	return nil
}

func isSpout(u *unit) bool { return u.outs != nil }
func isBolt(u *unit) bool  { return u.tuple != nil }
func isAcker(u *unit) bool { return u.acks != nil }

func isCheckpointer(u *unit) bool { return u.check }

func (w *Worker) kind(is func(*unit) bool) []*unit {
	var out []*unit
	for i := range w.units {
		if is(&w.units[i]) {
			out = append(out, &w.units[i])
		}
	}
	return out
}

// closeAll ends all executors at once; none can wait for another any more.
func (w *Worker) closeAll() {
	w.links.abort()
	for i := range w.units {
		w.units[i].exec.Close()
	}
}

// SetActive activates or deactivates the spouts.
func (w *Worker) SetActive(active bool) {
	if w.check != nil && active {
		w.check.Activate()
	}
	for _, s := range w.spouts {
		s.SetActive(active)
	}
}

// Shared are the values that the worker's components share.
func (w *Worker) Shared() *storm.SharedValues { return w.shared }

// Errors are the errors that were reported, newest last, for each component
// at most as many as Storm keeps.
func (w *Worker) Errors() map[string][]ErrorInfo { return w.errors.all() }

func (w *Worker) startHooks() error {
	ctx := &storm.WorkerContext{
		TopologyID: w.spec.TopologyID, Conf: w.spec.Layout.Conf.All(), Port: w.spec.Port,
		Tasks: w.workerTasks(), Logger: w.log, Shared: w.shared,
	}
	for _, newHook := range w.spec.Layout.Topology.WorkerHooks {
		h := newHook()
		if err := h.Start(ctx); err != nil {
			return errors.Join(fmt.Errorf("worker hook %T: start: %w", h, err), w.stopHooks())
		}
		w.hooks = append(w.hooks, h)
	}
	return nil
}

func (w *Worker) stopHooks() error {
	var errs []error
	for _, h := range slices.Backward(w.hooks) {
		if err := h.Shutdown(); err != nil {
			errs = append(errs, fmt.Errorf("worker hook %T: shutdown: %w", h, err))
		}
	}
	w.hooks = nil
	return errors.Join(errs...)
}

// Rest is what an observer needs to tell whether a topology is at rest.
type Rest struct {
	// Exhausted tells that every spout of the worker has come to its end, and
	// Quiet that it has or is deactivated.
	Exhausted, Quiet bool
	// Endless tells that a spout of the worker cannot come to an end.
	Endless bool
	Pending int
	// Sent and Done count tuples sent to bolts anywhere and executed here.
	Sent, Done uint64
}

// Done is the number of tuples executed, to be read before Rest.
func (w *Worker) Done() uint64 {
	n := w.lost.Load()
	for i := range w.units {
		n += w.units[i].exec.Flow().Done.Load()
	}
	return n
}

// Rest reads the worker's share of the topology's state of rest. A topology is
// at rest if every worker is quiet with nothing pending and the sum of
// Done, read first in all workers, equals the sum of Sent.
func (w *Worker) Rest() Rest {
	r := Rest{Exhausted: true, Quiet: true}
	for _, s := range w.spouts {
		st := s.State()
		r.Exhausted = r.Exhausted && st.Exhausted
		r.Endless = r.Endless || st.Endless
		r.Quiet = r.Quiet && (st.Exhausted || st.Paused)
		r.Pending += st.Pending
	}
	for i := range w.units {
		r.Sent += w.units[i].exec.Flow().Sent.Load()
	}
	return r
}
