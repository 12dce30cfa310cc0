package storm

import (
	"log/slog"
	"sync"
	"time"
)

// TaskHook is called at moments in the life of a task's tuples; nil functions
// are skipped. Hooks run on the task's goroutine and hold it up while they do.
type TaskHook struct {
	// Prepare is called after the component's own Open or Prepare.
	Prepare func(ctx *TopologyContext)
	// Cleanup is called before the component's own Close or Cleanup.
	Cleanup func()
	// Emit is called for each emission. tasks is valid during the call only.
	Emit func(stream string, t *Tuple, tasks []TaskID)
	// SpoutAck and SpoutFail are called before the spout's own Ack and Fail.
	// latency is 0 for trees that were not timed.
	SpoutAck  func(id Value, latency time.Duration)
	SpoutFail func(id Value, latency time.Duration)
	// BoltExecute is called after each Execute.
	BoltExecute func(t *Tuple, took time.Duration)
	// BoltAck and BoltFail are called when the bolt settles an input, which
	// comes from component source on stream.
	BoltAck  func(source, stream string)
	BoltFail func(source, stream string)
}

// WorkerContext tells a worker hook where it runs.
type WorkerContext struct {
	TopologyID string
	Conf       Config
	Port       int
	Tasks      []TaskID
	Logger     *slog.Logger
	Shared     *SharedValues
}

// WorkerHook is called once in each worker of a topology, for example to open
// what all tasks of the worker share.
type WorkerHook interface {
	// Start is called before any task of the worker; an error restarts the
	// worker.
	Start(ctx *WorkerContext) error
	// Shutdown is called after all tasks have stopped.
	Shutdown() error
}

// SharedValues are named values of one worker, safe for use from all its
// goroutines. The zero value is ready.
type SharedValues struct {
	mu     sync.RWMutex
	values map[string]any
}

// Put sets the value called name.
func (s *SharedValues) Put(name string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string]any{}
	}
	s.values[name] = value
}

// Get is the value called name; ok is false if there is none.
func (s *SharedValues) Get(name string) (value any, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	value, ok = s.values[name]
	return value, ok
}
