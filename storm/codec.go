package storm

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
)

// Codec turns values of a type into bytes of a state and back. Equal keys must
// have equal bytes.
type Codec[T any] interface {
	// Append appends the bytes of v to dst.
	Append(dst []byte, v T) ([]byte, error)
	// Decode must not keep b.
	Decode(b []byte) (T, error)
}

// The codecs of plain types. Those of numbers are fixed in size, and the order
// of their bytes is that of the numbers.
var (
	StringCodec Codec[string]  = stringCodec{}
	BytesCodec  Codec[[]byte]  = bytesCodec{}
	IntCodec    Codec[int64]   = intCodec{}
	FloatCodec  Codec[float64] = floatCodec{}
	BoolCodec   Codec[bool]    = boolCodec{}
	// ValueCodec takes what Storm's types can hold; not what Any boxed, but
	// large integers.
	ValueCodec Codec[Value] = valueCodec{}
)

// JSONCodec is a codec of any type that encoding/json takes. It is slow beside
// the others, and not for keys that hold floats.
func JSONCodec[T any]() Codec[T] { return jsonCodec[T]{} }

type stringCodec struct{}

func (stringCodec) Append(dst []byte, v string) ([]byte, error) { return append(dst, v...), nil }
func (stringCodec) Decode(b []byte) (string, error)             { return string(b), nil }

type bytesCodec struct{}

func (bytesCodec) Append(dst, v []byte) ([]byte, error) { return append(dst, v...), nil }
func (bytesCodec) Decode(b []byte) ([]byte, error)      { return slices.Clone(b), nil }

const signBit = 1 << 63

type intCodec struct{}

func (intCodec) Append(dst []byte, v int64) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(v)^signBit), nil
}

func (intCodec) Decode(b []byte) (int64, error) {
	n, err := fixed(b)
	return int64(n ^ signBit), err
}

type floatCodec struct{}

func (floatCodec) Append(dst []byte, v float64) ([]byte, error) {
	n := math.Float64bits(v)
	if n&signBit != 0 {
		n = ^n
	} else {
		n |= signBit
	}
	return binary.BigEndian.AppendUint64(dst, n), nil
}

func (floatCodec) Decode(b []byte) (float64, error) {
	n, err := fixed(b)
	if n&signBit != 0 {
		n &^= signBit
	} else {
		n = ^n
	}
	return math.Float64frombits(n), err
}

func fixed(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("%d bytes where a number has 8", len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

type boolCodec struct{}

func (boolCodec) Append(dst []byte, v bool) ([]byte, error) {
	if v {
		return append(dst, 1), nil
	}
	return append(dst, 0), nil
}

func (boolCodec) Decode(b []byte) (bool, error) {
	if len(b) != 1 || b[0] > 1 {
		return false, fmt.Errorf("%x is no boolean", b)
	}
	return b[0] == 1, nil
}

type jsonCodec[T any] struct{}

func (jsonCodec[T]) Append(dst []byte, v T) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

func (jsonCodec[T]) Decode(b []byte) (v T, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

// valueCodec writes a byte for the kind and then the content: numbers in eight
// bytes, text, lists and maps with their length before them, maps in the order
// of keys.
type valueCodec struct{}

// kindBig is a *big.Int, which Any boxes.
const kindBig = KindAny

// maxDepth bounds how deep lists and maps may lie in each other.
const maxDepth = 1000

func (valueCodec) Append(dst []byte, v Value) ([]byte, error) { return appendValue(dst, v, 0) }

func appendValue(dst []byte, v Value, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("lists and maps lie more than %d deep in each other", maxDepth)
	}
	k := v.Kind()
	dst = append(dst, byte(k))
	switch k {
	case KindNil:
		return dst, nil
	case KindBool, KindInt32, KindInt, KindFloat:
		return binary.BigEndian.AppendUint64(dst, v.n), nil
	case KindString:
		s, _ := v.AsString()
		return append(binary.AppendUvarint(dst, uint64(len(s))), s...), nil
	case KindBytes:
		b, _ := v.AsBytes()
		return append(binary.AppendUvarint(dst, uint64(len(b))), b...), nil
	case KindList:
		vs, _ := v.AsList()
		dst = binary.AppendUvarint(dst, uint64(len(vs)))
		var err error
		for _, e := range vs {
			if dst, err = appendValue(dst, e, depth+1); err != nil {
				return nil, err
			}
		}
		return dst, nil
	case KindMap:
		return appendMap(dst, v, depth)
	default:
		n, ok := v.Interface().(*big.Int)
		if !ok {
			return nil, fmt.Errorf("a %T is none of Storm's types", v.Interface())
		}
		text := n.Append(nil, 16)
		return append(binary.AppendUvarint(dst, uint64(len(text))), text...), nil
	}
}

func appendMap(dst []byte, v Value, depth int) ([]byte, error) {
	m, _ := v.AsMap()
	dst = binary.AppendUvarint(dst, uint64(len(m)))
	var err error
	for _, key := range slices.Sorted(maps.Keys(m)) {
		dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
		if dst, err = appendValue(dst, m[key], depth+1); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

var errValue = errors.New("the bytes are no value")

func (valueCodec) Decode(b []byte) (Value, error) {
	d := valueDecoder{b: b}
	v := d.value(0)
	if d.bad || len(d.b) > 0 {
		return Value{}, errValue
	}
	return v, nil
}

// valueDecoder takes values off b; bad tells that it could not.
type valueDecoder struct {
	b   []byte
	bad bool
}

func (d *valueDecoder) value(depth int) Value {
	if len(d.b) == 0 || depth > maxDepth {
		d.bad = true
		return Value{}
	}
	k := Kind(d.b[0])
	d.b = d.b[1:]
	switch k {
	case KindNil:
		return Value{}
	case KindBool:
		return Bool(d.number() != 0)
	case KindInt32:
		return Int32(int32(d.number())) //nolint:gosec // it was written as one
	case KindInt:
		return Int(int64(d.number())) //nolint:gosec // it was written as one
	case KindFloat:
		return Float(math.Float64frombits(d.number()))
	case KindString:
		return String(string(d.text()))
	case KindBytes:
		return Bytes(slices.Clone(d.text()))
	case KindList:
		n := d.length()
		vs := make([]Value, 0, n)
		for i := 0; i < n && !d.bad; i++ {
			vs = append(vs, d.value(depth+1))
		}
		return List(vs...)
	case KindMap:
		n := d.length()
		m := make(map[string]Value, n)
		for i := 0; i < n && !d.bad; i++ {
			key := string(d.text())
			m[key] = d.value(depth + 1)
		}
		return Map(m)
	case kindBig:
		n, ok := new(big.Int).SetString(string(d.text()), 16)
		d.bad = d.bad || !ok
		return Any(n)
	default:
		d.bad = true
		return Value{}
	}
}

func (d *valueDecoder) number() uint64 {
	if len(d.b) < 8 {
		d.bad = true
		return 0
	}
	n := binary.BigEndian.Uint64(d.b)
	d.b = d.b[8:]
	return n
}

// length is a count of things of which each takes a byte at least.
func (d *valueDecoder) length() int {
	n, size := binary.Uvarint(d.b)
	if size <= 0 || n > uint64(len(d.b)-size) {
		d.bad = true
		return 0
	}
	d.b = d.b[size:]
	return int(n) //nolint:gosec // not more than there are bytes
}

func (d *valueDecoder) text() []byte {
	n := d.length()
	t := d.b[:n]
	d.b = d.b[n:]
	return t
}
