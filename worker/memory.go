package worker

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/checkpoint"
	"github.com/stormring/stormring/worker/executor"
)

// MemoryStates is States in the memory of this process, for workers without a
// ring: what is in it survives workers, not the process. A checkpoint copies the
// whole state of each task.
type MemoryStates struct {
	mu     sync.Mutex
	record checkpoint.Record
	saved  map[storm.TaskID]map[checkpoint.Version]map[string][]byte
}

var _ States = (*MemoryStates)(nil)

// NewMemoryStates makes empty ones, for one topology.
func NewMemoryStates() *MemoryStates {
	return &MemoryStates{saved: map[storm.TaskID]map[checkpoint.Version]map[string][]byte{}}
}

// Record implements executor.Records.
func (m *MemoryStates) Record(context.Context) (checkpoint.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.record, nil
}

// Swap implements executor.Records.
func (m *MemoryStates) Swap(_ context.Context, expect, next checkpoint.Record) checkpoint.Outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.record != expect {
		return checkpoint.Refused
	}
	m.record = next
	return checkpoint.Written
}

// Keep implements States.
func (m *MemoryStates) Keep(s KeepSpec) (executor.Keeper, error) {
	return &memoryKeeper{states: m, task: s.Task, state: &memoryState{values: map[string][]byte{}}}, nil
}

func (m *MemoryStates) put(task storm.TaskID, v checkpoint.Version, values map[string][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	versions := m.saved[task]
	if versions == nil {
		versions = map[checkpoint.Version]map[string][]byte{}
		m.saved[task] = versions
	}
	if _, ok := versions[v]; ok {
		return fmt.Errorf("task %d has saved version %v before", task, v)
	}
	versions[v] = values
	maps.DeleteFunc(versions, func(old checkpoint.Version, _ map[string][]byte) bool {
		return old != m.record.Committed && (old.Era < v.Era || old.TxID < v.TxID)
	})
	return nil
}

// memoryKeeper implements executor.Keeper.
type memoryKeeper struct {
	states *MemoryStates
	task   storm.TaskID
	state  *memoryState
}

func (k *memoryKeeper) State() storm.State { return k.state }

func (k *memoryKeeper) Load(v checkpoint.Version, _ checkpoint.Era, done func(error)) {
	k.states.mu.Lock()
	values, ok := k.states.saved[k.task][v]
	k.states.mu.Unlock()
	if !ok && v != (checkpoint.Version{}) {
		done(fmt.Errorf("version %v of the state of task %d is not in memory", v, k.task))
		return
	}
	k.state.values = map[string][]byte{}
	maps.Copy(k.state.values, values)
	done(nil)
}

func (k *memoryKeeper) Save(v, _ checkpoint.Version, done func(error)) {
	done(k.states.put(k.task, v, maps.Clone(k.state.values)))
}

func (k *memoryKeeper) Thaw(int64) {}

func (k *memoryKeeper) Committed(checkpoint.Version) {}

func (k *memoryKeeper) Close() {}

// memoryState is a storm.State whose values are never changed in place.
type memoryState struct{ values map[string][]byte }

func (s *memoryState) Get(key []byte) ([]byte, bool) {
	v, ok := s.values[string(key)]
	return v, ok
}

func (s *memoryState) Put(key, value []byte) error {
	s.values[string(key)] = bytes.Clone(value)
	return nil
}

func (s *memoryState) Delete(key []byte) error {
	delete(s.values, string(key))
	return nil
}

func (s *memoryState) All(prefix []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		for _, k := range slices.Sorted(maps.Keys(s.values)) {
			if strings.HasPrefix(k, string(prefix)) && !yield([]byte(k), s.values[k]) {
				return
			}
		}
	}
}

func (s *memoryState) Len() int { return len(s.values) }
