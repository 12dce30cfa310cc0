package storm

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// State is what one task remembers: values by key. It is used on the task's
// goroutine. What is put becomes part of the next checkpoint, and what the last
// committed checkpoint holds comes back after a failure, byte for byte.
type State interface {
	// Get is the value of a key. It is valid until the next call that writes,
	// and must not be changed.
	Get(key []byte) (value []byte, ok bool)
	// Put sets the value of a key; both are copied. The error says that the
	// state would grow too large.
	Put(key, value []byte) error
	// Delete removes a key; it is no error if there is none.
	Delete(key []byte) error
	// All are the entries whose keys begin with prefix, in no order that means
	// anything. The state must not be written to meanwhile.
	All(prefix []byte) iter.Seq2[[]byte, []byte]
	// Len is the number of keys.
	Len() int
}

// Stateful is implemented by spouts and bolts, basic ones too, that keep state.
// A topology that has one takes checkpoints, every
// topology.state.checkpoint.interval.ms.
//
// Tuples that a stateful bolt acks are acked to their spouts once a checkpoint
// that contains them is committed. The effect of each tuple on state is at least
// once; it is exactly once if the spouts are stateful too and go on from the
// position that their state holds.
type Stateful interface {
	// InitState is called after Open or Prepare and before the first tuple, and
	// again when the state goes back to the last checkpoint while the task runs
	// on: what the component remembers beside the state has to go.
	InitState(s State) error
}

// PrePreparer is a Stateful that wants to write what it has in hand to its state
// before a checkpoint takes that down. An error, like that of the others below,
// gives the checkpoint up.
type PrePreparer interface {
	PrePrepare(txID int64) error
}

// PreCommitter is a Stateful that wants to act before a checkpoint that was
// taken down everywhere is committed.
type PreCommitter interface {
	PreCommit(txID int64) error
}

// PreRollbacker is a Stateful that wants to act before its state goes back to
// the last checkpoint; or a bolt without state, in a topology with state, that wants
// to know that the tuples which it has in hand do not count any more: they will come
// again, and what is emitted for them until then is dropped.
type PreRollbacker interface {
	PreRollback() error
}

// KeyValueState is a State with types.
type KeyValueState[K, V any] struct {
	state  State
	keys   Codec[K]
	values Codec[V]
	// key and value are reused: a State copies them.
	key, value []byte
}

// NewKeyValueState gives types to s. Call it in InitState.
func NewKeyValueState[K, V any](s State, keys Codec[K], values Codec[V]) *KeyValueState[K, V] {
	return &KeyValueState[K, V]{state: s, keys: keys, values: values}
}

// Get is the value of a key. The error names the key whose value is not what
// the codec writes.
func (s *KeyValueState[K, V]) Get(key K) (v V, ok bool, err error) {
	if err := s.encodeKey(key); err != nil {
		return v, false, err
	}
	b, ok := s.state.Get(s.key)
	if !ok {
		return v, false, nil
	}
	if v, err = s.values.Decode(b); err != nil {
		return v, false, fmt.Errorf("the state's value of key %v: %w; was it written with another codec?", key, err)
	}
	return v, true, nil
}

// GetOr is Get with a value for keys that are not there.
func (s *KeyValueState[K, V]) GetOr(key K, def V) (V, error) {
	v, ok, err := s.Get(key)
	if err == nil && !ok {
		v = def
	}
	return v, err
}

// Put sets the value of a key.
func (s *KeyValueState[K, V]) Put(key K, v V) error {
	if err := s.encodeKey(key); err != nil {
		return err
	}
	b, err := s.values.Append(s.value[:0], v)
	if err != nil {
		return fmt.Errorf("the value of key %v cannot be kept in state: %w", key, err)
	}
	s.value = b
	return s.state.Put(s.key, b)
}

// Delete removes a key; it is no error if there is none.
func (s *KeyValueState[K, V]) Delete(key K) error {
	if err := s.encodeKey(key); err != nil {
		return err
	}
	return s.state.Delete(s.key)
}

// Len is the number of keys.
func (s *KeyValueState[K, V]) Len() int { return s.state.Len() }

// All calls yield with all entries until it returns false. The state must not
// be written to meanwhile.
func (s *KeyValueState[K, V]) All(yield func(K, V) bool) error { return s.AllWith(nil, yield) }

// AllWith is All for the keys whose encoding begins with prefix.
func (s *KeyValueState[K, V]) AllWith(prefix []byte, yield func(K, V) bool) error {
	for kb, vb := range s.state.All(prefix) {
		k, err := s.keys.Decode(kb)
		if err != nil {
			return fmt.Errorf("a key of the state, %q: %w; was it written with another codec?", kb, err)
		}
		v, err := s.values.Decode(vb)
		if err != nil {
			return fmt.Errorf("the state's value of key %v: %w; was it written with another codec?", k, err)
		}
		if !yield(k, v) {
			return nil
		}
	}
	return nil
}

func (s *KeyValueState[K, V]) encodeKey(key K) error {
	b, err := s.keys.Append(s.key[:0], key)
	if err != nil {
		return fmt.Errorf("key %v cannot be kept in state: %w", key, err)
	}
	s.key = b
	return nil
}

// MapState is a State in a map that nothing saves, for tests of components.
type MapState struct{ values map[string][]byte }

var _ State = (*MapState)(nil)

// NewMapState makes an empty one.
func NewMapState() *MapState { return &MapState{values: map[string][]byte{}} }

// Get implements State.
func (s *MapState) Get(key []byte) (value []byte, ok bool) {
	value, ok = s.values[string(key)]
	return value, ok
}

// Put implements State.
func (s *MapState) Put(key, value []byte) error {
	s.values[string(key)] = bytes.Clone(value)
	return nil
}

// Delete implements State.
func (s *MapState) Delete(key []byte) error {
	delete(s.values, string(key))
	return nil
}

// All implements State, in the order of keys.
func (s *MapState) All(prefix []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		for _, k := range slices.Sorted(maps.Keys(s.values)) {
			if strings.HasPrefix(k, string(prefix)) && !yield([]byte(k), s.values[k]) {
				return
			}
		}
	}
}

// Len implements State.
func (s *MapState) Len() int { return len(s.values) }
