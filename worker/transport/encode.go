package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// A data frame is a row of records. Numbers are varints unless said otherwise;
// roots are zigzag differences to the root before, starting at 0 in each
// record, because roots of one spout task follow each other.
type recordKind byte

const (
	// recordTuples: executor, uint32 number of tuples, tuples.
	recordTuples recordKind = iota + 1
	// recordAcker: task, number of messages, fails and resets; then those.
	recordAcker
	// recordOutcomes: task, number of outcomes, outcomes.
	recordOutcomes
	// recordControl: length, bytes.
	recordControl
)

// A tuple begins with a byte that holds, from the lowest bit: two bits for the
// number of anchors, one bit each for "source as before" and "destination as
// before", four bits for the number of values. The source before the first is
// unknown, the destination before the first is the executor's first task.
// Then, where the byte asks for it: source task and stream index; destination
// less the one before; number of values less valuesMany; number of anchors;
// and always the anchors, root and eight bytes of edge, and the values.
const (
	anchorsMany     = 2 // a number follows
	anchorsMask     = 3
	sameSource      = 1 << 2
	sameDestination = 1 << 3
	valuesShift     = 4
	valuesMany      = 15 // a number follows
)

// A value begins with a tag.
const (
	tagNil byte = iota
	tagFalse
	tagTrue
	tagInt32   // zigzag
	tagInt     // zigzag
	tagFloat   // eight bytes
	tagString  // length, bytes
	tagBytes   // length, bytes
	tagList    // length, values
	tagMap     // length, pairs of string (length, bytes) and value
	tagCodec   // uint32 length, bytes of the codec
	tagForeign // the first of the tags in encodeany.go

	tagSmallInt    byte = 0x40 // and the integer, 0 to 63
	tagShortString byte = 0x80 // and the length, 0 to 127; bytes
)

// maxDepth bounds lists within lists, so that no frame can exhaust a stack.
const maxDepth = 64

var (
	errTooLong = errors.New("too long")
	errTooDeep = fmt.Errorf("lists and maps are nested more than %d deep", maxDepth)
)

// TupleError says that a tuple cannot be sent. The connection and the other
// tuples are unharmed.
type TupleError struct {
	// Component and Stream say who emitted the tuple.
	Component, Stream string
	// Err is the reason.
	Err error
}

// Error names the component, the stream and the reason.
func (e *TupleError) Error() string {
	return fmt.Sprintf("cannot send a tuple of component %q, stream %q: %v", e.Component, e.Stream, e.Err)
}

// Unwrap is the reason.
func (e *TupleError) Unwrap() error { return e.Err }

// encoder appends records. It holds what the next tuple is coded relative to.
type encoder struct {
	codecs Codecs
	limit  int // longest the output may get

	source *track.Origin
	dst    int32
	root   track.Root
}

// appendTuples appends one record with tuples from the front of batch, until
// the output is soft bytes long, and returns how many. With an error, batch[n]
// is the tuple that cannot be encoded: dst is then valid and holds the n
// tuples before it, or nothing new if n is 0.
func (e *encoder) appendTuples(dst []byte, ex ExecutorID, batch []storm.Tuple, soft int) (out []byte, n int, err error) {
	before := len(dst)
	e.source, e.dst, e.root = nil, int32(ex), 0
	dst = append(dst, byte(recordTuples))
	dst = binary.AppendUvarint(dst, uint64(uint32(ex)))
	count := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for n < len(batch) {
		next, err := e.appendTuple(dst, &batch[n])
		if err == nil && len(next) > e.limit {
			err = errTooLong
		}
		if err != nil {
			if n == 0 {
				return dst[:before], 0, err
			}
			binary.LittleEndian.PutUint32(dst[count:], uint32(n))
			return dst, n, err
		}
		dst = next
		n++
		if len(dst) >= soft {
			break
		}
	}
	binary.LittleEndian.PutUint32(dst[count:], uint32(n))
	return dst, n, nil
}

func (e *encoder) appendTuple(dst []byte, t *storm.Tuple) ([]byte, error) {
	source := t.Origin()
	if source == nil {
		return nil, errors.New("it has no origin")
	}
	head := len(dst)
	n := t.Len()
	flags := byte(min(n, valuesMany)) << valuesShift
	dst = append(dst, 0)
	if source == e.source {
		flags |= sameSource
	} else {
		e.source = source
		dst = binary.AppendUvarint(dst, uint64(uint32(source.Task)))
		dst = binary.AppendUvarint(dst, uint64(source.StreamIndex))
	}
	if to := int32(t.Dst()); to == e.dst {
		flags |= sameDestination
	} else {
		dst = binary.AppendVarint(dst, int64(to)-int64(e.dst))
		e.dst = to
	}
	if n >= valuesMany {
		dst = binary.AppendUvarint(dst, uint64(n-valuesMany))
	}
	if more := t.Anchors(); more != nil {
		flags |= anchorsMany
		dst = binary.AppendUvarint(dst, uint64(len(more)))
		for _, a := range more {
			dst = e.appendAnchor(dst, a)
		}
	} else if t.IsTracked() {
		flags |= 1
		dst = e.appendAnchor(dst, t.Anchor())
	}
	dst[head] = flags
	for i := range n {
		var err error
		if dst, err = e.appendValue(dst, t.Value(i), 0); err != nil {
			if errors.Is(err, errTooLong) {
				return nil, err
			}
			return nil, fmt.Errorf("value %d: %w", i, err)
		}
	}
	return dst, nil
}

func (e *encoder) appendAnchor(dst []byte, a track.Anchor) []byte {
	dst = binary.AppendVarint(dst, int64(a.Root-e.root))
	e.root = a.Root
	return binary.LittleEndian.AppendUint64(dst, a.Edge)
}

func (e *encoder) appendValue(dst []byte, v storm.Value, depth int) ([]byte, error) {
	switch v.Kind() {
	case storm.KindNil:
		return append(dst, tagNil), nil
	case storm.KindBool:
		if b, _ := v.AsBool(); b {
			return append(dst, tagTrue), nil
		}
		return append(dst, tagFalse), nil
	case storm.KindInt32:
		n, _ := v.AsInt()
		return binary.AppendVarint(append(dst, tagInt32), n), nil
	case storm.KindInt:
		n, _ := v.AsInt()
		if uint64(n) < uint64(tagSmallInt) {
			return append(dst, tagSmallInt|byte(n)), nil
		}
		return binary.AppendVarint(append(dst, tagInt), n), nil
	case storm.KindFloat:
		f, _ := v.AsFloat()
		return binary.LittleEndian.AppendUint64(append(dst, tagFloat), math.Float64bits(f)), nil
	case storm.KindString:
		s, _ := v.AsString()
		if len(s) < int(tagShortString) {
			return append(append(dst, tagShortString|byte(len(s))), s...), nil
		}
		return appendLong(e, append(dst, tagString), s)
	case storm.KindBytes:
		b, _ := v.AsBytes()
		return appendLong(e, append(dst, tagBytes), b)
	case storm.KindList, storm.KindMap:
		return e.appendNested(dst, v, depth+1)
	default:
		return e.appendForeign(dst, v.Interface())
	}
}

// appendLong appends length and content, unless that is hopelessly long.
func appendLong[S ~string | ~[]byte](e *encoder, dst []byte, s S) ([]byte, error) {
	if len(s) > e.limit-len(dst) {
		return nil, errTooLong
	}
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...), nil
}

func (e *encoder) appendNested(dst []byte, v storm.Value, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	var err error
	if vs, ok := v.AsList(); ok {
		dst = binary.AppendUvarint(append(dst, tagList), uint64(len(vs)))
		for _, x := range vs {
			if dst, err = e.appendValue(dst, x, depth); err != nil {
				return nil, err
			}
		}
		return dst, nil
	}
	m, _ := v.AsMap()
	dst = binary.AppendUvarint(append(dst, tagMap), uint64(len(m)))
	for k, x := range m {
		if dst, err = appendLong(e, dst, k); err != nil {
			return nil, err
		}
		if dst, err = e.appendValue(dst, x, depth); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// sizeOf is about how long t is when encoded; foreign values count nothing.
func sizeOf(t *storm.Tuple) int {
	n := 0
	for i := range t.Len() {
		n += sizeOfValue(t.Value(i))
	}
	return n
}

func sizeOfValue(v storm.Value) int {
	n := 1
	if s, ok := v.AsString(); ok {
		n += len(s)
	} else if b, ok := v.AsBytes(); ok {
		n += len(b)
	} else if vs, ok := v.AsList(); ok {
		for _, x := range vs {
			n += sizeOfValue(x)
		}
	} else if m, ok := v.AsMap(); ok {
		for k, x := range m {
			n += len(k) + sizeOfValue(x)
		}
	}
	return n
}

// appendAcker appends one record for an acker task. Of a message the flag in
// its top bit is moved to the bottom, so that the difference stays short.
func appendAcker(dst []byte, task int32, msgs []acker.Message, fails, resets []track.Root) []byte {
	dst = append(dst, byte(recordAcker))
	for _, n := range []int{int(task), len(msgs), len(fails), len(resets)} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	var last uint64
	for _, m := range msgs {
		r := uint64(m.Root)<<1 | uint64(m.Root>>63)
		dst = binary.AppendVarint(dst, int64(r-last))
		last = r
		dst = binary.LittleEndian.AppendUint64(dst, m.Val)
	}
	return appendRoots(appendRoots(dst, fails), resets)
}

func appendRoots(dst []byte, roots []track.Root) []byte {
	var last track.Root
	for _, r := range roots {
		dst = binary.AppendVarint(dst, int64(r-last))
		last = r
	}
	return dst
}

// appendOutcomes appends one record for a spout task.
func appendOutcomes(dst []byte, task int32, outcomes []acker.Outcome) []byte {
	dst = append(dst, byte(recordOutcomes))
	dst = binary.AppendUvarint(dst, uint64(task))
	dst = binary.AppendUvarint(dst, uint64(len(outcomes)))
	var last track.Root
	for _, o := range outcomes {
		dst = append(binary.AppendVarint(dst, int64(o.Root-last)), byte(o.Kind))
		last = o.Root
	}
	return dst
}

// appendControl appends one record with a message of the runtime.
func appendControl(dst, msg []byte) []byte {
	dst = append(dst, byte(recordControl))
	return append(binary.AppendUvarint(dst, uint64(len(msg))), msg...)
}
