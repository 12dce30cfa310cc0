package transport

import "fmt"

// outlog is the sender's memory: the frames that are not yet acknowledged, in
// order, in chunks of memory that frames are encoded into and written from.
// Nothing is copied on the way. It has no lock; the Peer's guards it.
//
//	head ───> chunk ───> … ───> chunk <─── tail
//	  │ acknowledged │ written │ to be written │ open │
//	                           ^ cursor
//
// The last frame may be open: records are still appended to it. It is closed
// when it is big enough or when the writer has nothing else to do.
type outlog struct {
	frameBytes int
	head, tail *chunk
	free       []*chunk

	seq     uint64 // of the last closed frame
	acked   uint64 // of the last acknowledged frame
	highest uint64 // of the last frame ever given to the writer
	bytes   int    // not acknowledged, the open frame included

	cursor     *chunk // the writer's place; nil before the first chunk
	cursorN    int    // index of the next frame in cursor.frames
	openAt     int    // start of the open frame in tail.buf; -1 if there is none
	openTuples int
}

// chunk is a piece of memory with whole frames.
type chunk struct {
	buf    []byte
	first  uint64 // sequence number of frames[0]
	frames []frameMark
	next   *chunk

	writing  bool // the writer reads buf without the lock
	released bool // acknowledged while the writer read it
}

// frameMark says where a frame ends and how many tuples are in it.
type frameMark struct {
	end    int
	tuples int
}

const (
	// chunkFrames is how many full frames a chunk holds, and so how many are
	// written at once under load.
	chunkFrames = 4
	// maxFreeChunks bounds the memory kept for coming frames.
	maxFreeChunks = 8
)

func newOutlog(frameBytes int) outlog { return outlog{frameBytes: frameBytes, openAt: -1} }

// open returns the memory to append records to.
func (l *outlog) open() []byte {
	if l.openAt >= 0 {
		return l.tail.buf
	}
	if l.tail == nil || len(l.tail.buf) > (chunkFrames-1)*l.frameBytes {
		c := l.newChunk()
		c.first = l.seq + 1
		if l.tail == nil {
			l.head = c
		} else {
			l.tail.next = c
		}
		l.tail = c
		if l.cursor == nil {
			l.cursor, l.cursorN = c, 0
		}
	}
	l.openAt = len(l.tail.buf)
	l.tail.buf = append(l.tail.buf, make([]byte, headerBytes)...)
	l.bytes += headerBytes
	return l.tail.buf
}

func (l *outlog) newChunk() *chunk {
	if last := len(l.free) - 1; last >= 0 {
		c := l.free[last]
		l.free[last] = nil
		l.free = l.free[:last]
		return c
	}
	// With room for the last tuple, which ends behind the limit.
	return &chunk{buf: make([]byte, 0, chunkFrames*l.frameBytes+l.frameBytes/4)}
}

// room is how long a record may end in the memory that open returned, if no
// frame is to be longer than maxFrame.
func (l *outlog) room(maxFrame int) int { return l.openAt + headerBytes + maxFrame }

// soft is the length at which the open frame is big enough.
func (l *outlog) soft() int { return l.openAt + l.frameBytes }

// fresh reports whether nothing is in the open frame yet.
func (l *outlog) fresh() bool { return len(l.tail.buf) == l.openAt+headerBytes }

// commit keeps the records with so many tuples that were appended to buf.
func (l *outlog) commit(buf []byte, tuples int) {
	l.bytes += len(buf) - len(l.tail.buf)
	l.tail.buf = buf
	l.openTuples += tuples
	if len(buf) >= l.soft() {
		l.close()
	}
}

// close closes the open frame, if there is one and it is not empty.
func (l *outlog) close() {
	if l.openAt < 0 || l.fresh() {
		return
	}
	c := l.tail
	l.seq++
	putHeader(c.buf[l.openAt:], header{length: len(c.buf) - l.openAt - headerBytes, kind: frameData, seq: l.seq})
	c.frames = append(c.frames, frameMark{end: len(c.buf), tuples: l.openTuples})
	l.openAt, l.openTuples = -1, 0
}

// taken are frames to be written.
type taken struct {
	c      *chunk // nil if there is nothing to be written
	frames []byte
	n      int // how many frames
}

// take returns the next frames to be written, all in one chunk, closing the
// open frame if there is no other. The caller gives them back with written.
func (l *outlog) take() taken {
	for l.cursor != nil && l.cursorN == len(l.cursor.frames) {
		if l.cursor.next == nil {
			l.close()
			break
		}
		l.cursor, l.cursorN = l.cursor.next, 0
	}
	c := l.cursor
	if c == nil || l.cursorN == len(c.frames) {
		return taken{}
	}
	n := len(c.frames) - l.cursorN
	from, to := c.start(l.cursorN), c.frames[len(c.frames)-1].end
	l.cursorN = len(c.frames)
	l.highest = max(l.highest, c.first+uint64(len(c.frames))-1)
	c.writing = true
	return taken{c: c, frames: c.buf[from:to:to], n: n}
}

// start is where frame i of c begins.
func (c *chunk) start(i int) int {
	if i == 0 {
		return 0
	}
	return c.frames[i-1].end
}

// written takes back what take gave.
func (l *outlog) written(c *chunk) {
	c.writing = false
	if c.released {
		l.recycle(c)
	}
}

// recycle keeps the memory of a chunk that is no longer in the list.
func (l *outlog) recycle(c *chunk) {
	if c.writing {
		c.released = true
		return
	}
	if len(l.free) < maxFreeChunks && cap(c.buf) <= 2*chunkFrames*l.frameBytes {
		*c = chunk{buf: c.buf[:0], frames: c.frames[:0]}
		l.free = append(l.free, c)
	}
}

// ack forgets the frames up to seq.
func (l *outlog) ack(seq uint64) error {
	if seq < l.acked || seq > l.highest {
		return fmt.Errorf("ack of frame %d, but %d are acknowledged and %d sent", seq, l.acked, l.highest)
	}
	for l.acked < seq {
		c := l.head
		i := int(l.acked + 1 - c.first)
		n := min(int(seq-l.acked), len(c.frames)-i)
		l.bytes -= c.frames[i+n-1].end - c.start(i)
		l.acked += uint64(n)
		if i+n == len(c.frames) && c != l.tail {
			l.dropHead()
		}
	}
	return nil
}

func (l *outlog) dropHead() {
	c := l.head
	l.head = c.next
	if l.cursor == c {
		l.cursor, l.cursorN = l.head, 0
	}
	c.next = nil
	l.recycle(c)
}

// rewind makes take begin again behind the last acknowledged frame and returns
// how many frames that were given out before are given out again.
func (l *outlog) rewind() (again uint64) {
	l.cursor, l.cursorN = l.head, 0
	if l.head != nil {
		l.cursorN = int(l.acked + 1 - l.head.first)
	}
	return l.highest - l.acked
}

// reset forgets everything, numbers included, and returns how many tuples were
// not acknowledged.
func (l *outlog) reset() (tuples int) {
	tuples = l.openTuples
	for c := l.head; c != nil; {
		for i := range c.frames {
			if c.first+uint64(i) > l.acked {
				tuples += c.frames[i].tuples
			}
		}
		next := c.next
		c.next = nil
		l.recycle(c)
		c = next
	}
	*l = outlog{frameBytes: l.frameBytes, free: l.free, openAt: -1}
	return tuples
}
