package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/stormring/stormring/storm"
)

// Tags of the foreign types that need no codec.
const (
	tagInt8 byte = tagForeign + iota
	tagInt16
	tagUint
	tagUint8
	tagUint16
	tagUint32
	tagUint64
	tagFloat32 // four bytes
	tagBigInt  // length, sign (0 +, 1 -) and magnitude; length 0 is a nil pointer
	tagTime    // length, bytes of MarshalBinary
)

// appendForeign appends a value of a Go type outside storm's kinds.
func (e *encoder) appendForeign(dst []byte, x any) ([]byte, error) {
	switch x := x.(type) {
	case int8:
		return binary.AppendVarint(append(dst, tagInt8), int64(x)), nil
	case int16:
		return binary.AppendVarint(append(dst, tagInt16), int64(x)), nil
	case uint:
		return binary.AppendUvarint(append(dst, tagUint), uint64(x)), nil
	case uint8:
		return binary.AppendUvarint(append(dst, tagUint8), uint64(x)), nil
	case uint16:
		return binary.AppendUvarint(append(dst, tagUint16), uint64(x)), nil
	case uint32:
		return binary.AppendUvarint(append(dst, tagUint32), uint64(x)), nil
	case uint64:
		return binary.AppendUvarint(append(dst, tagUint64), x), nil
	case float32:
		return binary.LittleEndian.AppendUint32(append(dst, tagFloat32), math.Float32bits(x)), nil
	case *big.Int:
		return appendBig(append(dst, tagBigInt), x), nil
	case time.Time:
		b, err := x.MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("time: %w", err)
		}
		return append(binary.AppendUvarint(append(dst, tagTime), uint64(len(b))), b...), nil
	}
	return e.appendCodec(append(dst, tagCodec), x)
}

func appendBig(dst []byte, x *big.Int) []byte {
	if x == nil {
		return append(dst, 0)
	}
	n := (x.BitLen() + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(n+1))
	dst = appendBool(dst, x.Sign() < 0)
	at := len(dst)
	dst = append(dst, make([]byte, n)...)
	x.FillBytes(dst[at:])
	return dst
}

func (e *encoder) appendCodec(dst []byte, x any) ([]byte, error) {
	if e.codecs == nil {
		return nil, fmt.Errorf("no codec for Go type %T: register one, or emit a type that storm.Any knows", x)
	}
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	out, err := e.codecs.Encode(dst, x)
	if err != nil {
		return nil, fmt.Errorf("encode Go type %T: %w", x, err)
	}
	n := len(out) - len(dst)
	if n < 0 || n > maxFrameLimit {
		return nil, fmt.Errorf("encode Go type %T: the codec returned %d bytes for %d to append to", x, len(out), len(dst))
	}
	binary.LittleEndian.PutUint32(out[at:], uint32(n))
	return out, nil
}

// foreign reads what appendForeign appended after the tag.
func (d *decoder) foreign(r *reader, tag byte) storm.Value {
	switch tag {
	case tagInt8:
		return storm.Any(int8(r.varint()))
	case tagInt16:
		return storm.Any(int16(r.varint()))
	case tagUint:
		return storm.Any(uint(r.uvarint()))
	case tagUint8:
		return storm.Any(uint8(r.uvarint()))
	case tagUint16:
		return storm.Any(uint16(r.uvarint()))
	case tagUint32:
		return storm.Any(uint32(r.uvarint()))
	case tagUint64:
		return storm.Any(r.uvarint())
	case tagFloat32:
		return storm.Any(math.Float32frombits(r.uint32()))
	case tagBigInt:
		return storm.Any(r.big())
	case tagTime:
		var t time.Time
		if err := t.UnmarshalBinary(r.block()); err != nil {
			r.fail("time: %w", err)
		}
		return storm.Any(t)
	case tagCodec:
		return d.codec(r)
	}
	r.fail("unknown tag %d of a value", tag)
	return storm.Nil()
}

func (r *reader) big() *big.Int {
	b := r.block()
	if len(b) == 0 {
		return nil
	}
	x := new(big.Int).SetBytes(b[1:])
	if b[0] != 0 {
		x.Neg(x)
	}
	return x
}

func (d *decoder) codec(r *reader) storm.Value {
	n := r.uint32()
	if int64(n) > int64(r.remaining()) {
		r.missing()
	}
	b := r.take(int(n))
	if r.err != nil {
		return storm.Nil()
	}
	err := errors.New("no codec is registered in this worker")
	var x any
	if d.codecs != nil {
		x, err = d.codecs.Decode(b)
	}
	if err != nil {
		d.refused = fmt.Errorf("decode a foreign value: %w", err)
		return storm.Nil()
	}
	return storm.Any(x)
}
