package polyglot

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stormring/stormring/storm"
)

// job is what the tasks of a run in one process share.
type job struct {
	total int64        // bytes of the input
	read  atomic.Int64 // of them

	mu      sync.Mutex
	failure error
	begun   map[storm.TaskID]bool // tasks in Go
	again   bool                  // one has begun twice
	result  map[string]int64      // nil until the last bolt has ended
}

func newJob(total int64) *job { return &job{total: total, begun: map[storm.TaskID]bool{}} }

// progress is the share of the input that has been read.
func (j *job) progress() float64 { return min(1, float64(j.read.Load())/float64(max(j.total, 1))) }

// enter notes that a task begins.
func (j *job) enter(task storm.TaskID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.again = j.again || j.begun[task]
	j.begun[task] = true
}

// fail notes why there will be no result.
func (j *job) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failure == nil {
		j.failure = err
	}
}

func (j *job) handOver(counts map[string]int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.result = counts
}

// counts is the result. It is refused if it cannot be exact: state in memory
// outlives a child, but not the worker.
func (j *job) counts() (map[string]int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.failure != nil:
		return nil, fmt.Errorf("polyglot: %w", j.failure)
	case j.again || j.result == nil:
		return nil, errors.New("polyglot: a worker failed during the run and what it had counted is lost; see its error above and run again")
	}
	return j.result, nil
}
