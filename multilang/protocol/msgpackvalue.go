package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/stormring/stormring/storm"
)

// shape is the size of a value's head and of the bytes that follow, and the
// number of values in it; ok is false if the head is not all there.
func shape(b []byte) (head, skip, inner int, ok bool) {
	c := b[0]
	length := func(width int) (int, bool) {
		if len(b) < 1+width {
			return 0, false
		}
		n := 0
		for _, x := range b[1 : 1+width] {
			n = n<<8 | int(x)
		}
		return n, true
	}
	switch {
	case c < 0x80 || c >= 0xe0 || c >= 0xc0 && c <= 0xc3:
		return 1, 0, 0, true
	case c < 0x90:
		return 1, 0, 2 * int(c&15), true
	case c < 0xa0:
		return 1, 0, int(c & 15), true
	case c < 0xc0:
		return 1, int(c & 31), 0, true
	case c <= 0xc6: // bytes
		width := 1 << (c - 0xc4)
		skip, ok = length(width)
		return 1 + width, skip, 0, ok
	case c <= 0xc9: // extensions
		width := 1 << (c - 0xc7)
		skip, ok = length(width)
		return 2 + width, skip, 0, ok
	case c <= 0xcb: // floats
		return 1, 4 << (c - 0xca), 0, true
	case c <= 0xcf:
		return 1, 1 << (c - 0xcc), 0, true
	case c <= 0xd3:
		return 1, 1 << (c - 0xd0), 0, true
	case c <= 0xd8:
		return 2, 1 << (c - 0xd4), 0, true
	case c <= 0xdb:
		width := 1 << (c - 0xd9)
		skip, ok = length(width)
		return 1 + width, skip, 0, ok
	case c <= 0xdd:
		width := 2 << (c - 0xdc)
		inner, ok = length(width)
		return 1 + width, 0, inner, ok
	default:
		width := 2 << (c - 0xde)
		inner, ok = length(width)
		return 1 + width, 0, 2 * inner, ok
	}
}

// unpacker reads values from b, which holds whole ones.
type unpacker struct {
	b    []byte
	hard error
	soft error
}

// head steps over the head of a list or map.
func (u *unpacker) head() {
	n, _, _, _ := shape(u.b)
	u.b = u.b[n:]
}

func (u *unpacker) spoil(err error) {
	if u.soft == nil {
		u.soft = err
	}
}

var errShort = errors.New("the msgpack ends too early")

func (u *unpacker) value(depth int) storm.Value {
	if u.hard != nil {
		return storm.Nil()
	}
	if len(u.b) == 0 {
		u.hard = errShort
		return storm.Nil()
	}
	c := u.b[0]
	head, skip, inner, ok := shape(u.b)
	if !ok || head+skip > len(u.b) || inner > len(u.b) {
		u.hard = errShort
		return storm.Nil()
	}
	body := u.b[head : head+skip]
	u.b = u.b[head+skip:]
	switch {
	case c < 0x80 || c >= 0xe0:
		return storm.Int(int64(int8(c)))
	case c < 0x90 || c >= 0xde:
		return u.object(inner/2, depth)
	case c < 0xa0 || c >= 0xdc:
		return u.list(inner, depth)
	case c < 0xc0 || c >= 0xd9:
		return u.text(body)
	}
	return u.scalar(c, body)
}

func (u *unpacker) scalar(c byte, body []byte) storm.Value {
	switch c {
	case 0xc0:
		return storm.Nil()
	case 0xc2, 0xc3:
		return storm.Bool(c == 0xc3)
	case 0xc4, 0xc5, 0xc6:
		return storm.Bytes(bytes.Clone(body))
	case 0xca:
		return storm.Float(float64(math.Float32frombits(binary.BigEndian.Uint32(body))))
	case 0xcb:
		return storm.Float(math.Float64frombits(binary.BigEndian.Uint64(body)))
	case 0xcc, 0xcd, 0xce, 0xcf:
		n := unsigned(body)
		if n > math.MaxInt64 {
			return storm.Any(new(big.Int).SetUint64(n))
		}
		return storm.Int(int64(n))
	case 0xd0, 0xd1, 0xd2, 0xd3:
		unused := 64 - 8*len(body)
		return storm.Int(int64(unsigned(body)<<unused) >> unused)
	case 0xc1:
		u.hard = errors.New("byte 0xc1 is not msgpack")
	default:
		u.spoil(errors.New("it is a msgpack extension, which is not understood"))
	}
	return storm.Nil()
}

func unsigned(b []byte) (n uint64) {
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	return n
}

func (u *unpacker) text(body []byte) storm.Value {
	if !utf8.Valid(body) {
		u.spoil(errors.New("the string is not UTF-8; emit it as bytes"))
		return storm.String(plain(body))
	}
	return storm.String(string(body))
}

func (u *unpacker) list(n, depth int) storm.Value {
	if depth >= maxDepth {
		u.hard = errDepth
		return storm.Nil()
	}
	vs := make([]storm.Value, 0, n)
	for range n {
		vs = append(vs, u.value(depth+1))
	}
	return storm.List(vs...)
}

func (u *unpacker) object(n, depth int) storm.Value {
	if depth >= maxDepth {
		u.hard = errDepth
		return storm.Nil()
	}
	m := make(map[string]storm.Value, n)
	for range n {
		k := u.value(depth + 1)
		name, ok := k.AsString()
		if b, isBytes := k.AsBytes(); isBytes {
			name, ok = plain(b), utf8.Valid(b)
		}
		if !ok {
			u.spoil(errors.New("the keys of a map have to be strings"))
		}
		m[name] = u.value(depth + 1)
	}
	return storm.Map(m)
}
