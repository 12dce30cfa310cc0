package protocol

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/stormring/stormring/storm"
)

// Msgpack is the encoding that streamparse and pystorm call msgpack: the same
// messages as maps, one behind the other. It carries bytes, NaN and infinities,
// but no integers of more than 64 bits.
type Msgpack struct{}

var _ Codec = Msgpack{}

// NewEncoder implements Codec.
func (Msgpack) NewEncoder() Encoder { return msgpackEncoder{} }

// NewDecoder implements Codec.
func (Msgpack) NewDecoder(limit int) Decoder { return &msgpackDecoder{limit: max(limit, 16)} }

type msgpackEncoder struct{}

// Tuple implements Encoder.
func (msgpackEncoder) Tuple(dst []byte, ref uint64, t *storm.Tuple) ([]byte, error) {
	start := len(dst)
	var digits [20]byte
	dst = append(dst, 0x85)
	dst = packText(dst, "id")
	dst = packText(dst, string(strconv.AppendUint(digits[:0], ref, 10)))
	dst = packText(dst, "comp")
	dst = packText(dst, t.SourceComponent())
	dst = packText(dst, "stream")
	dst = packText(dst, t.SourceStream())
	dst = packText(dst, "task")
	dst = packInt(dst, int64(t.SourceTask()))
	dst = packText(dst, "tuple")
	dst = packHead(dst, t.Len(), 0x90, 0xdc)
	for i := range t.Len() {
		var err error
		if dst, err = packValue(dst, t.Value(i), 0); err != nil {
			return dst[:start], &FieldError{Index: i, Reason: err.Error()}
		}
	}
	return dst, nil
}

// Heartbeat implements Encoder.
func (msgpackEncoder) Heartbeat(dst []byte) []byte {
	dst = append(dst, 0x85)
	for _, s := range []string{"id", heartbeatID, "comp", storm.SystemComponent, "stream", HeartbeatStream, "task"} {
		dst = packText(dst, s)
	}
	dst = packInt(dst, -1)
	return append(packText(dst, "tuple"), 0x90)
}

// TaskIDs implements Encoder.
func (msgpackEncoder) TaskIDs(dst []byte, tasks []storm.TaskID) []byte {
	dst = packHead(dst, len(tasks), 0x90, 0xdc)
	for _, t := range tasks {
		dst = packInt(dst, int64(t))
	}
	return dst
}

// Command implements Encoder.
func (msgpackEncoder) Command(dst []byte, name, id string) []byte {
	if id == "" {
		return packText(packText(append(dst, 0x81), "command"), name)
	}
	dst = packText(packText(append(dst, 0x82), "command"), name)
	return append(packText(dst, "id"), id...)
}

// Object implements Encoder.
func (msgpackEncoder) Object(dst []byte, m map[string]storm.Value) ([]byte, error) {
	out, err := packValue(dst, storm.Map(m), 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func packValue(dst []byte, v storm.Value, depth int) ([]byte, error) {
	switch v.Kind() {
	case storm.KindNil:
		return append(dst, 0xc0), nil
	case storm.KindBool:
		if b, _ := v.AsBool(); b {
			return append(dst, 0xc3), nil
		}
		return append(dst, 0xc2), nil
	case storm.KindInt, storm.KindInt32:
		n, _ := v.AsInt()
		return packInt(dst, n), nil
	case storm.KindFloat:
		f, _ := v.AsFloat()
		return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(f)), nil
	case storm.KindString:
		s, _ := v.AsString()
		return packString(dst, s)
	case storm.KindBytes:
		b, _ := v.AsBytes()
		return packBytes(dst, b)
	case storm.KindList:
		vs, _ := v.AsList()
		return packList(dst, vs, depth)
	case storm.KindMap:
		m, _ := v.AsMap()
		return packMap(dst, m, depth)
	default:
		return packOther(dst, v.Interface())
	}
}

func packList(dst []byte, vs []storm.Value, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, errDepth
	}
	dst = packHead(dst, len(vs), 0x90, 0xdc)
	for i, e := range vs {
		var err error
		if dst, err = packValue(dst, e, depth+1); err != nil {
			return dst, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return dst, nil
}

func packMap(dst []byte, m map[string]storm.Value, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, errDepth
	}
	dst = packHead(dst, len(m), 0x80, 0xde)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		var err error
		if dst, err = packString(dst, k); err != nil {
			return dst, fmt.Errorf("a key: %w", err)
		}
		if dst, err = packValue(dst, m[k], depth+1); err != nil {
			return dst, fmt.Errorf("[%q]: %w", k, err)
		}
	}
	return dst, nil
}

// packHead writes the head of a list or map of n entries: up to 15 in the byte
// small, else behind the byte large or the next one.
func packHead(dst []byte, n int, small, large byte) []byte {
	switch {
	case n < 16:
		return append(dst, small|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, large), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(dst, large+1), uint32(n))
	}
}

func packInt(dst []byte, n int64) []byte {
	switch {
	case n >= -32 && n <= 127:
		return append(dst, byte(n))
	case n >= math.MinInt8 && n < 0:
		return append(dst, 0xd0, byte(n))
	case n >= math.MinInt16 && n <= math.MaxInt16:
		return binary.BigEndian.AppendUint16(append(dst, 0xd1), uint16(n))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return binary.BigEndian.AppendUint32(append(dst, 0xd2), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, 0xd3), uint64(n))
	}
}

func packString(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return dst, fmt.Errorf("the string is not UTF-8; emit it as bytes")
	}
	if uint64(len(s)) > math.MaxUint32 {
		return dst, fmt.Errorf("a string of %d bytes is too long", len(s))
	}
	return packText(dst, s), nil
}

// packText is packString for names and what was checked.
func packText(dst []byte, s string) []byte {
	switch n := len(s); {
	case n < 32:
		dst = append(dst, 0xa0|byte(n))
	case n <= math.MaxUint8:
		dst = append(dst, 0xd9, byte(n))
	case n <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, 0xda), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint32(append(dst, 0xdb), uint32(n))
	}
	return append(dst, s...)
}

func packBytes(dst, b []byte) ([]byte, error) {
	switch n := len(b); {
	case n <= math.MaxUint8:
		dst = append(dst, 0xc4, byte(n))
	case n <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, 0xc5), uint16(n))
	case uint64(n) <= math.MaxUint32:
		dst = binary.BigEndian.AppendUint32(append(dst, 0xc6), uint32(n))
	default:
		return dst, fmt.Errorf("%d bytes are too many", n)
	}
	return append(dst, b...), nil
}

func packOther(dst []byte, x any) ([]byte, error) {
	switch x := x.(type) {
	case *big.Int:
		if x.IsInt64() {
			return packInt(dst, x.Int64()), nil
		}
		if x.IsUint64() {
			return binary.BigEndian.AppendUint64(append(dst, 0xcf), x.Uint64()), nil
		}
		return dst, fmt.Errorf("msgpack has no integer as large as %s", x)
	case float32:
		return binary.BigEndian.AppendUint32(append(dst, 0xca), math.Float32bits(x)), nil
	case int8:
		return packInt(dst, int64(x)), nil
	case int16:
		return packInt(dst, int64(x)), nil
	case uint8:
		return packInt(dst, int64(x)), nil
	case uint16:
		return packInt(dst, int64(x)), nil
	case uint32:
		return packInt(dst, int64(x)), nil
	case uint64:
		return packOther(dst, new(big.Int).SetUint64(x))
	case uint:
		return packOther(dst, new(big.Int).SetUint64(uint64(x)))
	case time.Time:
		return packString(dst, x.Format(time.RFC3339Nano))
	}
	return dst, fmt.Errorf("a value of the Go type %T cannot be sent to another language", x)
}
