package multilang

import (
	"sync"

	"github.com/stormring/stormring/storm"
)

// State is what the state of a task is kept in, for children that ask for it
// in the handshake. Values are what the encoding carries. It is used from the
// goroutine of the task.
type State interface {
	// Get is the value of a key; found is false if there is none.
	Get(key string) (v storm.Value, found bool, err error)
	// Put sets the value of a key.
	Put(key string, v storm.Value) error
	// Delete removes a key; it is no error if there is none.
	Delete(key string) error
}

// Memory is a State that is kept nowhere else. It outlives the child, but not
// the task.
type Memory struct {
	mu     sync.Mutex
	values map[string]storm.Value
}

var _ State = (*Memory)(nil)

// NewMemory makes an empty one.
func NewMemory() *Memory { return &Memory{values: map[string]storm.Value{}} }

// Get implements State.
func (m *Memory) Get(key string) (v storm.Value, found bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, found = m.values[key]
	return v, found, nil
}

// Put implements State.
func (m *Memory) Put(key string, v storm.Value) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[key] = v
	return nil
}

// Delete implements State.
func (m *Memory) Delete(key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values, key)
	return nil
}
