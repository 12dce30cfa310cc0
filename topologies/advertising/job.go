package advertising

import (
	"fmt"
	"sync"
)

// progressStep is after how many events a spout task tells where it is.
const progressStep = 1024

// job is what the tasks of one process share: what a local run shows while it
// runs and at its end.
type job struct {
	events int64
	tasks  int // of those that count

	mu      sync.Mutex
	emitted map[int64]int64   // events by rank of the spout task
	parts   map[string]Counts // by component and rank
}

func newJob(events int64, tasks int) *job {
	return &job{events: events, tasks: tasks, emitted: map[int64]int64{}, parts: map[string]Counts{}}
}

// note keeps how many events a spout task has emitted.
func (j *job) note(task, emitted int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.emitted[task] = emitted
}

// progress is the share of the events that were emitted.
func (j *job) progress() float64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	sum := int64(0)
	for _, n := range j.emitted {
		sum += n
	}
	return min(1, float64(sum)/float64(max(j.events, 1)))
}

// handOver takes what a task has counted, which may be one that was started
// again.
func (j *job) handOver(name string, c Counts) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.parts[name] = c
}

// counts is what all tasks have counted.
func (j *job) counts() (Counts, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.parts) < j.tasks {
		return Counts{}, fmt.Errorf("advertising: %d of %d tasks that count came to an orderly end; see the errors above and run again", len(j.parts), j.tasks)
	}
	c := NewCounts()
	for _, part := range j.parts {
		c.add(part)
	}
	return c, nil
}
