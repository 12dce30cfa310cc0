package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

const (
	shellComponent = "shell"
	shellTaskID    = 4
	// maxPosts is as in an executor's inbox.
	maxPosts = 1024
)

// shellInput is what children get: two fields, 97 bytes as JSON with an id of
// six digits.
func shellInput() storm.Tuple {
	origin := &track.Origin{Component: "spout", Stream: storm.DefaultStream, Task: 1, ID: 1, Fields: []string{"word", "n"}}
	return storm.NewTuple(origin, shellTaskID, []track.Anchor{{Root: 1, Edge: 1}}, storm.String("word"), storm.Int(1_234_567))
}

// shellTask is a shell bolt with what is around it in a worker reduced to the
// least: one goroutine that executes tuples and the calls that were posted.
type shellTask struct {
	meter  *meter
	window int
	bolt   *multilang.ShellBolt
	posts  chan func()
	acked  int
	told   int // of acked, to the meter
	tasks  [1]storm.TaskID
	err    error
}

// ReportError implements storm.Task: nothing may go wrong.
func (s *shellTask) ReportError(err error) { s.err = errors.Join(s.err, err) }

// Post implements storm.Task.
func (s *shellTask) Post(ctx context.Context, f func()) error {
	select {
	case s.posts <- f:
		return nil
	case <-ctx.Done():
		return storm.ErrStopped
	}
}

// Emit implements storm.BoltEmitter.
func (s *shellTask) Emit(int, *storm.Tuple) []storm.TaskID { return s.tasks[:] }

// EmitDirect implements storm.BoltEmitter.
func (*shellTask) EmitDirect(int, storm.TaskID, *storm.Tuple) {}

var errFailed = errors.New("a tuple failed")

// Done implements storm.BoltEmitter.
func (s *shellTask) Done(how storm.Settlement, _ *track.Origin, _ track.Anchor, _ []track.Anchor) {
	if how != storm.SettleAck {
		s.err = errors.Join(s.err, errFailed)
		return
	}
	s.acked++
}

// run executes tuples until ctx ends. Calls of the bolt may panic with what it
// cannot go on after.
func (s *shellTask) run(ctx context.Context, spec multilang.Spec) (err error) {
	streams := map[string]int{storm.DefaultStream: 0}
	tc := storm.NewTopologyContext(storm.ContextSpec{
		Context: ctx, Topology: &storm.Topology{Components: map[string]*storm.Component{
			shellComponent: {ID: shellComponent, Streams: spec.Streams},
		}},
		Component: shellComponent, Task: shellTaskID, Logger: slog.New(slog.DiscardHandler),
		Tasks: map[string][]storm.TaskID{shellComponent: {shellTaskID}},
		Conf:  storm.Config{string(storm.ConfTopologyShellboltMaxPending): s.window},
	})
	s.bolt, s.posts = multilang.NewBolt(spec), make(chan func(), maxPosts)
	defer func() {
		if usage, ok := recover().(*storm.UsageError); ok {
			err = usage
		}
		err = errors.Join(err, s.bolt.Cleanup())
	}()
	if err := s.bolt.Prepare(tc, storm.NewOutputCollector(s, shellComponent, streams)); err != nil {
		return err
	}
	input := shellInput()
	for n := 1; ctx.Err() == nil; n++ {
		start := time.Time{}
		if s.window == 1 {
			start = time.Now()
		}
		if err := s.bolt.Execute(input); err != nil {
			return err
		}
		for s.window == 1 && s.acked < n && ctx.Err() == nil {
			select {
			case f := <-s.posts:
				f()
			case <-ctx.Done():
			}
		}
		for len(s.posts) > 0 {
			(<-s.posts)()
		}
		if s.err != nil && ctx.Err() == nil {
			return s.err
		}
		s.count(start)
	}
	return nil
}

// count tells the meter what has been done since start.
func (s *shellTask) count(start time.Time) {
	s.meter.count.Add(int64(s.acked - s.told))
	s.told = s.acked
	if start.IsZero() {
		return
	}
	if l := s.meter.latency.Load(); l != nil {
		l.add(int64(time.Since(start)))
	}
}

// bolts measures so many shell bolts with a window each.
func (c *command) bolts(ctx context.Context, o Options, executors, window int) (Result, error) {
	m := newMeter()
	m.children = c.cpu
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for range executors {
		wg.Go(func() {
			s := &shellTask{meter: m, window: window}
			if err := s.run(running, c.spec()); err != nil && running.Err() == nil {
				stop(fmt.Errorf("%s: %w", strings.Join(c.argv, " "), err))
			}
		})
	}
	r, err := m.measure(running, o)
	stop(nil)
	wg.Wait()
	return r, err
}

// cpu is the processor time that the children have used so far.
func (c *command) cpu() (sum time.Duration) {
	files, err := os.ReadDir(c.pids)
	if err != nil {
		return 0
	}
	for _, f := range files {
		if pid, err := strconv.Atoi(f.Name()); err == nil {
			sum += processCPU(pid)
		}
	}
	return sum
}
