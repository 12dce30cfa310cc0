package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
)

// JSON is Storm's own encoding. What it writes is ASCII, with escapes for the
// rest, so that no child reads it wrong whatever its locale.
type JSON struct {
	// ShortIntegers has integers of children that fit 32 bits be Java's Integer
	// (storm.Int32), as in Storm since 2.6; else all up to 64 bits are Long.
	// Fields grouping tells the two apart if they are negative.
	ShortIntegers bool
}

var _ Codec = JSON{}

// NewEncoder implements Codec.
func (JSON) NewEncoder() Encoder { return &jsonEncoder{} }

// NewDecoder implements Codec.
func (j JSON) NewDecoder(limit int) Decoder {
	d := newJSONDecoder(limit)
	d.short = j.ShortIntegers
	return d
}

const (
	jsonEnd       = "\nend\n"
	jsonHeartbeat = `{"id":"` + heartbeatID + `","comp":"__system","stream":"__heartbeat","task":-1,"tuple":[]}` + jsonEnd
	// maxOrigins bounds the memory for the beginnings of tuples.
	maxOrigins = 4096
	// maxDepth bounds how deep lists and maps may lie within one another.
	maxDepth = 500
)

type jsonEncoder struct {
	last   *track.Origin
	middle []byte // of last
	known  map[*track.Origin][]byte
}

// Tuple implements Encoder.
func (e *jsonEncoder) Tuple(dst []byte, ref uint64, t *storm.Tuple) ([]byte, error) {
	start := len(dst)
	if o := t.Origin(); o != e.last || o == nil {
		e.middle, e.last = e.describe(o), o
	}
	dst = append(dst, `{"id":"`...)
	dst = strconv.AppendUint(dst, ref, 10)
	dst = append(dst, e.middle...)
	for i := range t.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendJSON(dst, t.Value(i), 0); err != nil {
			return dst[:start], &FieldError{Index: i, Reason: err.Error()}
		}
	}
	return append(dst, "]}"+jsonEnd...), nil
}

// describe is what all tuples of an origin have between id and values.
func (e *jsonEncoder) describe(o *track.Origin) []byte {
	if b, ok := e.known[o]; ok {
		return b
	}
	if o == nil {
		o = &track.Origin{}
	}
	b := append([]byte(nil), `","comp":`...)
	b = appendQuoted(b, o.Component)
	b = append(b, `,"stream":`...)
	b = appendQuoted(b, o.Stream)
	b = append(b, `,"task":`...)
	b = strconv.AppendInt(b, int64(o.Task), 10)
	b = append(b, `,"tuple":[`...)
	if e.known == nil || len(e.known) >= maxOrigins {
		e.known = map[*track.Origin][]byte{}
	}
	e.known[o] = b
	return b
}

// Heartbeat implements Encoder.
func (*jsonEncoder) Heartbeat(dst []byte) []byte { return append(dst, jsonHeartbeat...) }

// TaskIDs implements Encoder.
func (*jsonEncoder) TaskIDs(dst []byte, tasks []storm.TaskID) []byte {
	dst = append(dst, '[')
	for i, t := range tasks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(t), 10)
	}
	return append(dst, "]"+jsonEnd...)
}

// Command implements Encoder.
func (*jsonEncoder) Command(dst []byte, name, id string) []byte {
	dst = append(dst, `{"command":`...)
	dst = appendQuoted(dst, name)
	if id != "" {
		dst = append(dst, `,"id":`...)
		dst = append(dst, id...)
	}
	return append(dst, "}"+jsonEnd...)
}

// Object implements Encoder.
func (*jsonEncoder) Object(dst []byte, m map[string]storm.Value) ([]byte, error) {
	out, err := appendJSON(dst, storm.Map(m), 0)
	if err != nil {
		return dst, err
	}
	return append(out, jsonEnd...), nil
}

var (
	errDepth  = errors.New("lists and maps lie too deep within one another")
	errBytes  = errors.New("JSON has no bytes; emit text, or set topology.multilang.serializer to msgpack")
	errNotNum = errors.New("JSON has no NaN and no infinity")
)

// appendJSON appends v. If there is an error, what was appended is garbage.
func appendJSON(dst []byte, v storm.Value, depth int) ([]byte, error) {
	switch v.Kind() {
	case storm.KindNil:
		return append(dst, "null"...), nil
	case storm.KindBool:
		b, _ := v.AsBool()
		return strconv.AppendBool(dst, b), nil
	case storm.KindInt, storm.KindInt32:
		n, _ := v.AsInt()
		return strconv.AppendInt(dst, n, 10), nil
	case storm.KindFloat:
		f, _ := v.AsFloat()
		return appendFloat(dst, f, 64)
	case storm.KindString:
		s, _ := v.AsString()
		return appendString(dst, s)
	case storm.KindList:
		vs, _ := v.AsList()
		return appendList(dst, vs, depth)
	case storm.KindMap:
		m, _ := v.AsMap()
		return appendMap(dst, m, depth)
	case storm.KindBytes:
		return dst, errBytes
	default:
		return appendOther(dst, v.Interface())
	}
}

func appendList(dst []byte, vs []storm.Value, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, errDepth
	}
	dst = append(dst, '[')
	for i, e := range vs {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendJSON(dst, e, depth+1); err != nil {
			return dst, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, m map[string]storm.Value, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, errDepth
	}
	dst = append(dst, '{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendString(dst, k); err != nil {
			return dst, fmt.Errorf("a key: %w", err)
		}
		dst = append(dst, ':')
		if dst, err = appendJSON(dst, m[k], depth+1); err != nil {
			return dst, fmt.Errorf("[%q]: %w", k, err)
		}
	}
	return append(dst, '}'), nil
}

// appendFloat writes the shortest digits that give f again, and so that they
// are read as a float: 1.0 is not 1.
func appendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, errNotNum
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, bits)
	for _, c := range dst[start:] {
		if c == '.' || c == 'e' {
			return dst, nil
		}
	}
	return append(dst, ".0"...), nil
}

// appendOther writes numbers of Go types that have no kind of their own.
func appendOther(dst []byte, x any) ([]byte, error) {
	switch x := x.(type) {
	case *big.Int:
		return x.Append(dst, 10), nil
	case json.Number:
		if !json.Valid([]byte(x)) {
			return dst, fmt.Errorf("%q is no number", string(x))
		}
		return append(dst, x...), nil
	case float32:
		return appendFloat(dst, float64(x), 32)
	case int8:
		return strconv.AppendInt(dst, int64(x), 10), nil
	case int16:
		return strconv.AppendInt(dst, int64(x), 10), nil
	case uint8:
		return strconv.AppendUint(dst, uint64(x), 10), nil
	case uint16:
		return strconv.AppendUint(dst, uint64(x), 10), nil
	case uint32:
		return strconv.AppendUint(dst, uint64(x), 10), nil
	case uint64:
		return strconv.AppendUint(dst, x, 10), nil
	case uint:
		return strconv.AppendUint(dst, uint64(x), 10), nil
	case time.Time:
		return appendString(dst, x.Format(time.RFC3339Nano))
	}
	return dst, fmt.Errorf("a value of the Go type %T cannot be sent to another language", x)
}

// appendQuoted is appendString for names of the system's own, which are always
// text.
func appendQuoted(dst []byte, s string) []byte {
	out, err := appendString(dst, s)
	if err != nil {
		out, _ = appendString(dst, plain([]byte(s)))
	}
	return out
}

const hexDigits = "0123456789abcdef"

func appendString(dst []byte, s string) ([]byte, error) {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf-1 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		size := 1
		if c < utf8.RuneSelf {
			dst = appendEscape(dst, c)
		} else {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				return dst, fmt.Errorf("the string is not UTF-8 at byte %d", i)
			}
			dst = appendRune(dst, r)
		}
		i += size
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"'), nil
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

func appendRune(dst []byte, r rune) []byte {
	if r >= 0x10000 {
		r -= 0x10000
		dst = appendUnit(dst, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return appendUnit(dst, r)
}

func appendUnit(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
