package wordcount

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/stormring/stormring/storm"
)

// job is what the tasks of one run share: the inputs, which spout tasks take
// one by one, so that large and small ones spread evenly, and the result.
type job struct {
	inputs []input
	stdin  io.Reader
	total  int64        // bytes of the regular files
	next   atomic.Int64 // index of the input to take next
	read   atomic.Int64 // bytes read of the regular files
	broken atomic.Bool  // failure is set

	mu       sync.Mutex
	failure  error
	tasks    map[storm.TaskID]bool // those that have begun
	again    bool                  // a task has begun twice
	counters int                   // counters that have begun
	handed   int                   // counters that have handed over
	result   []count
}

func newJob(inputs []input, stdin io.Reader) *job {
	j := &job{inputs: inputs, stdin: stdin, tasks: map[storm.TaskID]bool{}}
	for _, in := range inputs {
		j.total += in.size
	}
	return j
}

// claim takes the next input; ok is false if none is left.
func (j *job) claim() (in input, ok bool) {
	i := j.next.Add(1) - 1
	if i >= int64(len(j.inputs)) {
		return input{}, false
	}
	return j.inputs[i], true
}

// progress is the share of the regular files that has been read.
func (j *job) progress() float64 {
	return min(1, float64(j.read.Load())/float64(max(j.total, 1)))
}

// fail ends the run: no more input is read, and there is no result. It is not
// left to a restart of the worker, since what the worker had counted would be
// missing afterwards.
func (j *job) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failure == nil {
		j.failure = err
	}
	j.broken.Store(true)
}

// enter notes that a task begins.
func (j *job) enter(task storm.TaskID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.again = j.again || j.tasks[task]
	j.tasks[task] = true
}

func (j *job) enterCounter(task storm.TaskID) {
	j.enter(task)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counters++
}

// handOver takes the counts of one counter. Words of different counters
// differ, by the fields grouping.
func (j *job) handOver(counts []count) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.handed++
	j.result = append(j.result, counts...)
}

// counts is the result. It is refused if it cannot be exact.
func (j *job) counts() ([]count, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.failure != nil:
		return nil, fmt.Errorf("wordcount: %w", j.failure)
	case j.again || j.handed < j.counters:
		return nil, errors.New("wordcount: a worker failed during the run and what it had counted is lost; see its error above and run again")
	}
	return j.result, nil
}
