package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// A frame is a header of 16 bytes, little-endian, and a payload:
//
//	0  uint32  length of the payload
//	4  byte    kind
//	5  byte    flags
//	6  uint16  zero
//	8  uint64  sequence number: of a data frame, from 1; of an ack frame, that
//	           of the last data frame received; else zero
const headerBytes = 16

type frameKind byte

// Kinds of frames and who sends them.
const (
	frameHello frameKind = iota + 1 // dialler: who I am; first frame
	frameReply                      // listener: where we stand, or a refusal
	frameData                       // dialler: records
	frameAck                        // listener: received so far; payload: grants
	framePing                       // dialler: answer with an ack
)

// flagS2 marks a data frame whose payload is compressed.
const flagS2 = 1

const (
	// maxReplyBytes bounds hello, reply and ack frames: enough for the credits
	// of all tasks a topology can have.
	maxReplyBytes = 1 << 20
	// maxPackedBytes bounds what a compressed frame unpacks to. Bigger frames
	// are sent as they are, so a few bytes can never ask for a huge buffer.
	maxPackedBytes = 2 << 20
)

type header struct {
	length int
	kind   frameKind
	flags  byte
	seq    uint64
}

func putHeader(b []byte, h header) {
	binary.LittleEndian.PutUint32(b, uint32(h.length))
	b[4], b[5], b[6], b[7] = byte(h.kind), h.flags, 0, 0
	binary.LittleEndian.PutUint64(b[8:], h.seq)
}

// appendFrame appends a whole frame.
func appendFrame(dst []byte, kind frameKind, seq uint64, payload []byte) []byte {
	var b [headerBytes]byte
	putHeader(b[:], header{length: len(payload), kind: kind, seq: seq})
	return append(append(dst, b[:]...), payload...)
}

func parseHeader(b []byte, maxData int) (header, error) {
	h := header{
		length: int(binary.LittleEndian.Uint32(b)),
		kind:   frameKind(b[4]),
		flags:  b[5],
		seq:    binary.LittleEndian.Uint64(b[8:]),
	}
	limit := 0
	switch h.kind {
	case frameHello, frameReply, frameAck:
		limit = maxReplyBytes
	case frameData:
		limit = maxData
	case framePing:
	default:
		return h, fmt.Errorf("frame of unknown kind %d: the peer speaks another protocol", h.kind)
	}
	if h.length > limit {
		return h, fmt.Errorf("frame of kind %d has %d bytes, more than the limit of %d", h.kind, h.length, limit)
	}
	if b[6]|b[7] != 0 || h.flags&^flagS2 != 0 || h.flags != 0 && h.kind != frameData {
		return h, fmt.Errorf("frame of kind %d has unknown flags %x", h.kind, b[5:8])
	}
	return h, nil
}

// frameReader reads frames from a connection through one buffer that grows as
// bytes arrive, never in trust of a length.
type frameReader struct {
	conn    net.Conn
	timeout time.Duration // longest silence
	maxData int           // longest payload of a data frame

	base       int // usual size of buf
	buf        []byte
	start, end int // unread bytes in buf
}

func newFrameReader(conn net.Conn, base, maxData int, timeout time.Duration) *frameReader {
	return &frameReader{conn: conn, timeout: timeout, maxData: maxData, base: base, buf: make([]byte, base)}
}

// next returns the next frame. The payload is good until the next call. At the
// end of the connection the error is io.EOF.
func (r *frameReader) next() (header, []byte, error) {
	if left := r.buf[r.start:r.end]; len(r.buf) > r.base && len(left) <= r.base {
		r.buf, r.start = make([]byte, r.base), 0
		r.end = copy(r.buf, left)
	}
	if err := r.fill(headerBytes); err != nil {
		return header{}, nil, err
	}
	h, err := parseHeader(r.buf[r.start:], r.maxData)
	if err != nil {
		return h, nil, err
	}
	if err := r.fill(headerBytes + h.length); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return h, nil, err
	}
	payload := r.buf[r.start+headerBytes:][:h.length:h.length]
	r.start += headerBytes + h.length
	return h, payload, nil
}

// fill reads until n bytes are in the buffer.
func (r *frameReader) fill(n int) error {
	for r.end-r.start < n {
		if r.start > 0 && (r.start == r.end || r.start+n > len(r.buf)) {
			r.end = copy(r.buf, r.buf[r.start:r.end])
			r.start = 0
		}
		if r.end == len(r.buf) {
			bigger := make([]byte, min(2*len(r.buf), n+r.base))
			copy(bigger, r.buf)
			r.buf = bigger
		}
		if err := r.conn.SetReadDeadline(time.Now().Add(r.timeout)); err != nil {
			return fmt.Errorf("set read deadline: %w", err)
		}
		got, err := r.conn.Read(r.buf[r.end:])
		r.end += got
		if err != nil && r.end-r.start < n {
			return err
		}
	}
	return nil
}
