package transport

import (
	"math/bits"
	"sync"
)

const (
	smallestBits = 6  // 64 bytes
	largestBits  = 17 // 128 KiB; above there is one size, the largest message
)

// buffer is memory of a pool; b has the length that was asked for.
type buffer struct {
	b     []byte
	class int
}

// pool keeps buffers of a few sizes, so that a window full of small messages
// does not take the memory of as many big ones.
type pool struct {
	classes [largestBits - smallestBits + 2]sync.Pool
	largest int
}

func newPool(largest int) *pool { return &pool{largest: largest} }

func (p *pool) get(n int) *buffer {
	class := max(bits.Len(uint(max(n, 1)-1))-smallestBits, 0)
	size := 1 << (class + smallestBits)
	if class > largestBits-smallestBits {
		class, size = len(p.classes)-1, max(p.largest, n)
	}
	if buf, ok := p.classes[class].Get().(*buffer); ok && cap(buf.b) >= n {
		buf.b = buf.b[:n]
		return buf
	}
	return &buffer{b: make([]byte, n, size), class: class}
}

func (p *pool) put(buf *buffer) {
	if buf != nil {
		p.classes[buf.class].Put(buf)
	}
}
