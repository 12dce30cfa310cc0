package storm

import (
	"fmt"
	"strings"

	"github.com/stormring/stormring/internal/track"
)

// TaskID numbers a task within its topology, from 1. SystemTask is the task
// of tuples that the runtime itself sends.
type TaskID int32

// SystemTask is the source task of tick tuples.
const SystemTask TaskID = -1

// inlineValues is how many fields a Tuple carries in itself; a wider tuple
// costs one allocation.
const inlineValues = 4

// Tuple is one row of a stream: values under the field names that its stream
// declares. It is a plain value that shares nothing with the runtime: a bolt
// that wants to keep a tuple after Execute, for a join, a window or a later
// ack, keeps a copy of the struct, and the values in it never change.
//
// The zero Tuple has no values and belongs to no tree; anchoring to it is
// anchoring to nothing.
type Tuple struct {
	_      [0]func()
	origin *track.Origin
	first  track.Anchor // zero Root when untracked
	dst    int32        // task that is to execute it
	n      int32        // number of values, or ^number if they are in an overflow
	inline [inlineValues]Value
}

// The size of a Tuple is a multiple of 16 bytes, so that copies of it go in
// whole vector registers: an odd word at the end would make the next copy wait
// for the last one to reach the cache.

// overflow holds the values of a Tuple when there are more than fit into it, or
// when it has several anchors. Then inline[0].p points to it. It is never
// changed once the tuple has left its emitter.
type overflow struct {
	anchors []track.Anchor // all anchors when there are two or more
	values  []Value
}

func (t *Tuple) rare() *overflow {
	if t.n >= 0 {
		return nil
	}
	return (*overflow)(t.inline[0].p)
}

// Len is the number of values.
func (t *Tuple) Len() int { return int(t.n ^ t.n>>31) }

// Value is the value at position i; it panics if i is out of range.
func (t *Tuple) Value(i int) Value {
	if uint(i) < uint(inlineValues) && i < int(t.n) {
		return t.inline[i]
	}
	return t.rareValue(i)
}

func (t *Tuple) rareValue(i int) Value {
	if uint(i) >= uint(t.Len()) {
		panic(fmt.Sprintf("storm: value %d of a tuple of %d from component %q stream %q", i, t.Len(), t.SourceComponent(), t.SourceStream()))
	}
	return t.rare().values[i]
}

// Values is a copy of all values.
func (t *Tuple) Values() []Value { return t.AppendValues(make([]Value, 0, t.Len())) }

// AppendValues appends all values to dst and returns it.
func (t *Tuple) AppendValues(dst []Value) []Value {
	if r := t.rare(); r != nil {
		return append(dst, r.values...)
	}
	return append(dst, t.inline[:t.n]...)
}

// String is the string at position i; it panics if i is out of range or holds
// another kind.
func (t *Tuple) String(i int) string {
	v := t.Value(i)
	s, ok := v.AsString()
	if !ok {
		t.wrongKind(i, v, KindString)
	}
	return s
}

// Int is the integer at position i; it panics if i is out of range or holds
// another kind.
func (t *Tuple) Int(i int) int64 {
	v := t.Value(i)
	n, ok := v.AsInt()
	if !ok {
		t.wrongKind(i, v, KindInt)
	}
	return n
}

// Float is the number at position i; it panics if i is out of range or holds
// no number.
func (t *Tuple) Float(i int) float64 {
	v := t.Value(i)
	f, ok := v.AsFloat()
	if !ok {
		t.wrongKind(i, v, KindFloat)
	}
	return f
}

// Bool is the bool at position i; it panics if i is out of range or holds
// another kind.
func (t *Tuple) Bool(i int) bool {
	v := t.Value(i)
	b, ok := v.AsBool()
	if !ok {
		t.wrongKind(i, v, KindBool)
	}
	return b
}

// Bytes is the byte slice at position i, which must not be changed; it panics
// if i is out of range or holds another kind.
func (t *Tuple) Bytes(i int) []byte {
	v := t.Value(i)
	b, ok := v.AsBytes()
	if !ok {
		t.wrongKind(i, v, KindBytes)
	}
	return b
}

func (t *Tuple) wrongKind(i int, v Value, want Kind) {
	panic(fmt.Sprintf("storm: value %d of a tuple from component %q stream %q is of kind %s, not %s", i, t.SourceComponent(), t.SourceStream(), v.Kind(), want))
}

// Fields are the names of the values, in order.
func (t *Tuple) Fields() Fields {
	if t.origin == nil {
		return nil
	}
	return Fields(t.origin.Fields)
}

// FieldIndex is the position of the field called name, or -1.
func (t *Tuple) FieldIndex(name string) int {
	if t.origin == nil {
		return -1
	}
	return t.origin.FieldIndex(name)
}

// ByField is the value of the field called name; it panics if the stream
// declares no such field.
func (t *Tuple) ByField(name string) Value {
	i := t.FieldIndex(name)
	if i < 0 {
		panic(fmt.Sprintf("storm: no field %q in stream %q of component %q, which declares [%s]", name, t.SourceStream(), t.SourceComponent(), strings.Join(t.Fields(), ", ")))
	}
	return t.Value(i)
}

// SourceComponent is the id of the component that emitted t.
func (t *Tuple) SourceComponent() string {
	if t.origin == nil {
		return ""
	}
	return t.origin.Component
}

// SourceStream is the id of the stream that t was emitted on.
func (t *Tuple) SourceStream() string {
	if t.origin == nil {
		return ""
	}
	return t.origin.Stream
}

// SourceTask is the task that emitted t.
func (t *Tuple) SourceTask() TaskID {
	if t.origin == nil {
		return 0
	}
	return TaskID(t.origin.Task)
}

// IsTick reports whether t is a tick tuple, see ConfTickTupleFreqSecs.
func (t *Tuple) IsTick() bool {
	return t.origin != nil && t.origin.Component == SystemComponent && t.origin.Stream == TickStream
}

// IsTracked reports whether t belongs to a tuple tree that an acker follows.
func (t *Tuple) IsTracked() bool { return t.first.Root != 0 }

// Format shows t in logs as Storm does: source, stream and values.
func (t Tuple) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "source: %s:%d, stream: %s, values: %v", t.SourceComponent(), t.SourceTask(), t.SourceStream(), t.Values())
}
