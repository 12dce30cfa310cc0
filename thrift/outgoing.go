package thrift

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	apache "github.com/apache/thrift/lib/go/thrift"
)

// outgoing is a frame being written. It keeps no more than limit bytes of the
// message, but counts on, so that the error can say how many there were.
type outgoing struct {
	buf   []byte // begins with room for the length
	limit int
	size  int
}

func newOutgoing(limit int) *outgoing {
	return &outgoing{buf: make([]byte, sizeLen, 256), limit: limit}
}

// protocol writes into the frame, with the version in the header.
func (o *outgoing) protocol() apache.TProtocol {
	return apache.NewTBinaryProtocolConf(o, &apache.TConfiguration{})
}

func (o *outgoing) tooLong() bool { return o.size > o.limit }

// frame is the length and the message, which must not be too long.
func (o *outgoing) frame() []byte {
	binary.BigEndian.PutUint32(o.buf, uint32(o.size))
	return o.buf
}

// message is what a reader of the frame gets.
func (o *outgoing) message() []byte { return o.buf[sizeLen:] }

func (o *outgoing) grow(n int) bool {
	o.size += n
	if o.tooLong() {
		o.buf = nil
	}
	return !o.tooLong()
}

// Write appends to the message; it never fails.
func (o *outgoing) Write(p []byte) (int, error) {
	if o.grow(len(p)) {
		o.buf = append(o.buf, p...)
	}
	return len(p), nil
}

// WriteString appends to the message; it never fails.
func (o *outgoing) WriteString(s string) (int, error) {
	if o.grow(len(s)) {
		o.buf = append(o.buf, s...)
	}
	return len(s), nil
}

// WriteByte appends to the message; it never fails.
func (o *outgoing) WriteByte(c byte) error {
	if o.grow(1) {
		o.buf = append(o.buf, c)
	}
	return nil
}

// Flush does nothing: whoever made the frame sends it.
func (o *outgoing) Flush(context.Context) error { return nil }

var errWriteOnly = errors.New("a frame being written cannot be read")

// Read fails; the frame is only written.
func (o *outgoing) Read([]byte) (int, error) { return 0, errWriteOnly }

// ReadByte fails; the frame is only written.
func (o *outgoing) ReadByte() (byte, error) { return 0, errWriteOnly }

// RemainingBytes is 0: there is nothing to read.
func (o *outgoing) RemainingBytes() uint64 { return 0 }

// Open does nothing.
func (o *outgoing) Open() error { return nil }

// IsOpen is true.
func (o *outgoing) IsOpen() bool { return true }

// Close does nothing.
func (o *outgoing) Close() error { return nil }

var (
	_ apache.TRichTransport = (*outgoing)(nil)
	_ io.StringWriter       = (*outgoing)(nil)
)
