package storm

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"unsafe"
)

// Kind tells what a Value holds.
type Kind uint8

// The kinds of values. KindInt32 exists because Java's Integer and Long hash
// differently when negative, so a value that came as an Integer must stay one.
const (
	KindNil Kind = iota
	KindBool
	KindInt32
	KindInt
	KindFloat
	KindString
	KindBytes
	KindList
	KindMap
	KindAny
)

var kindNames = [...]string{"nil", "bool", "int32", "int64", "float64", "string", "bytes", "list", "map", "any"}

// String is the kind's name as error messages show it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Value is one field of a tuple: a tagged union of 16 bytes that carries
// scalars, strings and byte slices without allocation. The zero Value is nil.
//
// A Value is immutable. Bytes, List, Map and Any share memory with what they
// were made from: do not change that afterwards, the receiver may be reading
// it.
//
// Values of Go types outside the union travel as KindAny. Between workers
// numbers of other widths, *big.Int and time.Time pass by themselves, other
// types if they are registered with encoding/gob.
type Value struct {
	_ [0]func() // Values are not comparable with ==: see Equal
	// p is the data pointer of a string, slice, map or boxed any, or the
	// address of scalars[kind] for a scalar. Nil is KindNil.
	p unsafe.Pointer
	// n is the scalar's bits, or kind<<kindShift | length.
	n uint64
}

const (
	kindShift = 56
	lenMask   = 1<<kindShift - 1
)

var (
	// scalars marks scalar Values: p then points at the byte of the kind.
	scalars [KindFloat + 1]byte
	// empty is where zero-length strings and slices and nil maps point.
	empty [1]Value
)

func scalar(k Kind, n uint64) Value {
	return Value{p: unsafe.Pointer(&scalars[k]), n: n}
}

func sized(k Kind, p unsafe.Pointer, n int) Value {
	if n == 0 || p == nil {
		p = unsafe.Pointer(&empty)
	}
	return Value{p: p, n: uint64(k)<<kindShift | uint64(n)}
}

// Nil is the absent value, Java's null.
func Nil() Value { return Value{} }

// Bool holds a bool.
func Bool(b bool) Value {
	var n uint64
	if b {
		n = 1
	}
	return scalar(KindBool, n)
}

// Int holds an int64, Java's Long.
func Int(i int64) Value { return scalar(KindInt, uint64(i)) }

// Int32 holds an int32, Java's Integer.
func Int32(i int32) Value { return scalar(KindInt32, uint64(int64(i))) }

// Float holds a float64, Java's Double.
func Float(f float64) Value { return scalar(KindFloat, math.Float64bits(f)) }

// String holds a string. It need not be valid UTF-8.
func String(s string) Value {
	return sized(KindString, unsafe.Pointer(unsafe.StringData(s)), len(s))
}

// Bytes holds a byte slice without copying it.
func Bytes(b []byte) Value {
	return sized(KindBytes, unsafe.Pointer(unsafe.SliceData(b)), len(b))
}

// List holds a list of values without copying the slice.
func List(vs ...Value) Value {
	return sized(KindList, unsafe.Pointer(unsafe.SliceData(vs)), len(vs))
}

// Map holds a map without copying it.
func Map(m map[string]Value) Value {
	// A Go map is one pointer; the conversion reads it without boxing.
	return sized(KindMap, *(*unsafe.Pointer)(unsafe.Pointer(&m)), len(m))
}

// Any holds x: as the matching kind if there is one, else boxed as KindAny.
// It is the slow way in: boxing allocates.
func Any(x any) Value {
	switch x := x.(type) {
	case nil:
		return Value{}
	case Value:
		return x
	case bool:
		return Bool(x)
	case int:
		return Int(int64(x))
	case int64:
		return Int(x)
	case int32:
		return Int32(x)
	case float64:
		return Float(x)
	case string:
		return String(x)
	case []byte:
		return Bytes(x)
	case []Value:
		return List(x...)
	case map[string]Value:
		return Map(x)
	case []any:
		return listOf(x)
	case []string:
		return listOf(x)
	case map[string]any:
		m := make(map[string]Value, len(x))
		for k, v := range x {
			m[k] = Any(v)
		}
		return Map(m)
	}
	boxed := x // not x itself, which would then be boxed for every kind
	return sized(KindAny, unsafe.Pointer(&boxed), 1)
}

func listOf[T any](xs []T) Value {
	vs := make([]Value, len(xs))
	for i, x := range xs {
		vs[i] = Any(x)
	}
	return List(vs...)
}

// Values converts Go values with Any, for emitting untyped rows.
func Values(xs ...any) []Value {
	vs := make([]Value, len(xs))
	for i, x := range xs {
		vs[i] = Any(x)
	}
	return vs
}

// Kind tells what v holds.
func (v Value) Kind() Kind {
	if v.p == nil {
		return KindNil
	}
	if k := uintptr(v.p) - uintptr(unsafe.Pointer(&scalars)); k < uintptr(len(scalars)) {
		return Kind(k)
	}
	return Kind(v.n >> kindShift)
}

// IsNil reports whether v is nil.
func (v Value) IsNil() bool { return v.p == nil }

// AsString is the string in v; ok is false if v holds another kind.
func (v Value) AsString() (s string, ok bool) {
	if v.Kind() != KindString {
		return "", false
	}
	return unsafe.String((*byte)(v.p), int(v.n&lenMask)), true
}

// AsBytes is the byte slice in v, which must not be changed; ok is false if v
// holds another kind.
func (v Value) AsBytes() (b []byte, ok bool) {
	if v.Kind() != KindBytes {
		return nil, false
	}
	return unsafe.Slice((*byte)(v.p), int(v.n&lenMask)), true
}

// AsInt is the integer in v, of either width; ok is false if v holds another
// kind.
func (v Value) AsInt() (i int64, ok bool) {
	if k := v.Kind(); k != KindInt && k != KindInt32 {
		return 0, false
	}
	return int64(v.n), true
}

// AsFloat is the float in v, or an integer in v as a float; ok is false if v
// holds another kind.
func (v Value) AsFloat() (f float64, ok bool) {
	switch v.Kind() {
	case KindFloat:
		return math.Float64frombits(v.n), true
	case KindInt, KindInt32:
		return float64(int64(v.n)), true
	default:
		return 0, false
	}
}

// AsBool is the bool in v; ok is false if v holds another kind.
func (v Value) AsBool() (b, ok bool) {
	if v.Kind() != KindBool {
		return false, false
	}
	return v.n != 0, true
}

// AsList is the list in v, which must not be changed; ok is false if v holds
// another kind.
func (v Value) AsList() (vs []Value, ok bool) {
	if v.Kind() != KindList {
		return nil, false
	}
	return unsafe.Slice((*Value)(v.p), int(v.n&lenMask)), true
}

// AsMap is the map in v, which must not be changed; ok is false if v holds
// another kind.
func (v Value) AsMap() (m map[string]Value, ok bool) {
	if v.Kind() != KindMap {
		return nil, false
	}
	if v.p == unsafe.Pointer(&empty) {
		return map[string]Value{}, true
	}
	return *(*map[string]Value)(unsafe.Pointer(&v.p)), true
}

// Interface is v as an ordinary Go value: nil, bool, int32, int64, float64,
// string, []byte, []any, map[string]any, or what Any boxed.
func (v Value) Interface() any {
	switch v.Kind() {
	case KindBool:
		return v.n != 0
	case KindInt32:
		return int32(v.n)
	case KindInt:
		return int64(v.n)
	case KindFloat:
		return math.Float64frombits(v.n)
	case KindString:
		s, _ := v.AsString()
		return s
	case KindBytes:
		b, _ := v.AsBytes()
		return b
	case KindList:
		vs, _ := v.AsList()
		xs := make([]any, len(vs))
		for i, e := range vs {
			xs[i] = e.Interface()
		}
		return xs
	case KindMap:
		m, _ := v.AsMap()
		xs := make(map[string]any, len(m))
		for k, e := range m {
			xs[k] = e.Interface()
		}
		return xs
	case KindAny:
		return *(*any)(v.p)
	default:
		return nil
	}
}

// String shows v for people: strings as they are, the rest as Go prints it.
func (v Value) String() string {
	switch v.Kind() {
	case KindNil:
		return "nil"
	case KindString:
		s, _ := v.AsString()
		return s
	case KindInt, KindInt32:
		return strconv.FormatInt(int64(v.n), 10)
	case KindList:
		vs, _ := v.AsList()
		parts := make([]string, len(vs))
		for i, e := range vs {
			parts[i] = e.String()
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		return fmt.Sprint(v.Interface())
	}
}

// Equal reports whether v and w hold the same kind and the same content.
// Floats are compared by their bits, so NaN equals itself.
func (v Value) Equal(w Value) bool {
	k := v.Kind()
	if k != w.Kind() {
		return false
	}
	switch k {
	case KindNil:
		return true
	case KindBool, KindInt, KindInt32, KindFloat:
		return v.n == w.n
	case KindString:
		a, _ := v.AsString()
		b, _ := w.AsString()
		return a == b
	case KindBytes:
		a, _ := v.AsBytes()
		b, _ := w.AsBytes()
		return bytes.Equal(a, b)
	case KindList:
		a, _ := v.AsList()
		b, _ := w.AsList()
		return equalLists(a, b)
	case KindMap:
		a, _ := v.AsMap()
		b, _ := w.AsMap()
		return equalMaps(a, b)
	default:
		return equalAny(v.Interface(), w.Interface())
	}
}

func equalLists(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}

func equalMaps(a, b map[string]Value) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !v.Equal(w) {
			return false
		}
	}
	return true
}

func equalAny(a, b any) bool {
	if x, ok := a.(*big.Int); ok {
		y, ok := b.(*big.Int)
		return ok && x.Cmp(y) == 0
	}
	return reflect.DeepEqual(a, b)
}
