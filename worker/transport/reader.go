package transport

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// reader takes a frame apart. The first thing that is not there or makes no
// sense sets err; what is read after that is zero, so that callers look at err
// once per tuple and not once per byte.
type reader struct {
	b       []byte
	off     int
	claimed int // bytes that the counts so far stand for, see claim
	err     error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d of %d: "+format, append([]any{r.off, len(r.b)}, args...)...)
	}
	r.off = len(r.b)
}

func (r *reader) remaining() int { return len(r.b) - r.off }

func (r *reader) byte() byte {
	if r.off >= len(r.b) {
		return r.missing()
	}
	c := r.b[r.off]
	r.off++
	return c
}

func (r *reader) missing() byte {
	r.fail("the frame ends too early")
	return 0
}

func (r *reader) uint64() uint64 {
	if r.remaining() < 8 {
		return uint64(r.missing())
	}
	x := binary.LittleEndian.Uint64(r.b[r.off:])
	r.off += 8
	return x
}

func (r *reader) uint32() uint32 {
	if r.remaining() < 4 {
		return uint32(r.missing())
	}
	x := binary.LittleEndian.Uint32(r.b[r.off:])
	r.off += 4
	return x
}

func (r *reader) uvarint() uint64 {
	if r.off < len(r.b) && r.b[r.off] < 0x80 {
		r.off++
		return uint64(r.b[r.off-1])
	}
	return r.longUvarint()
}

// longUvarint reads numbers of up to eight bytes without a loop, since a branch
// for each byte is mispredicted often.
func (r *reader) longUvarint() uint64 {
	if r.remaining() >= 8 {
		x := binary.LittleEndian.Uint64(r.b[r.off:])
		if last := ^x & 0x8080808080808080; last != 0 { // the last byte's top bit is clear
			r.off += bits.TrailingZeros64(last)/8 + 1
			x &= (last ^ (last - 1)) & 0x7f7f7f7f7f7f7f7f
			x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
			x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
			return x&0x0fffffff | x&0x0fffffff00000000>>4
		}
	}
	x, n := binary.Uvarint(r.b[r.off:])
	if n <= 0 {
		r.fail("a number is cut off or longer than 64 bits")
		return 0
	}
	r.off += n
	return x
}

// varint reads a zigzag-coded number.
func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// count reads a number of things that take size bytes each at least.
func (r *reader) count(size int) int { return r.claim(r.uvarint(), size) }

// claim checks that there can be n things of size bytes each. Every byte is
// claimed by one thing only, however deep lists are nested; so memory that is
// allocated by such counts stays proportional to the frame.
func (r *reader) claim(n uint64, size int) int {
	if n > uint64(min(r.remaining(), len(r.b)-r.claimed)/size) {
		r.fail("%d entries do not fit into the rest", n)
		return 0
	}
	r.claimed += int(n) * size
	return int(n)
}

// take is the next n bytes, in the frame's own memory.
func (r *reader) take(n int) []byte {
	if uint(n) > uint(r.remaining()) {
		r.missing()
		return nil
	}
	b := r.b[r.off : r.off+n : r.off+n]
	r.off += n
	return b
}

// block reads a length and takes that many bytes.
func (r *reader) block() []byte {
	n := r.uvarint()
	if n > uint64(r.remaining()) {
		r.missing()
		return nil
	}
	return r.take(int(n))
}

// task reads the id of a task or executor.
func (r *reader) task() int32 {
	x := r.uvarint()
	if x == 0 || x > 1<<31-1 {
		r.fail("task %d is out of range", x)
		return 0
	}
	return int32(x)
}
