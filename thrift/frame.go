package thrift

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	apache "github.com/apache/thrift/lib/go/thrift"
)

const (
	sizeLen = 4
	// maxName is far above the name of any method.
	maxName = 256
	// firstRead is what a frame gets before any of it has arrived; from there
	// its buffer doubles with what the peer has really sent.
	firstRead = 4 << 10
)

var (
	errNotThrift = errors.New("no message of the binary protocol")
	errFull      = errors.New("no memory left for another frame")
)

// budget is how many bytes of frames a server holds at once.
type budget struct {
	max  int64
	used atomic.Int64
}

func (b *budget) take(n int) bool {
	if b.used.Add(int64(n)) > b.max {
		b.used.Add(-int64(n))
		return false
	}
	return true
}

func (b *budget) give(n int) { b.used.Add(-int64(n)) }

// readBody reads a frame of size bytes behind its length. The capacity of what
// comes back, also with an error, is taken from b.
func readBody(r io.Reader, size int, b *budget) ([]byte, error) {
	var buf []byte
	for len(buf) < size {
		if len(buf) == cap(buf) {
			grown := min(size, max(2*cap(buf), firstRead))
			if !b.take(grown - cap(buf)) {
				return buf, errFull
			}
			buf = append(make([]byte, 0, grown), buf...)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err != nil && len(buf) < size {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return buf, err
		}
	}
	return buf, nil
}

// head is the beginning of a message.
type head struct {
	name string
	kind apache.TMessageType
	seq  int32
	size int // bytes that it took
}

// readHead reads the beginning of a message, with the version (strict) or
// without, and not one byte more than that. It gives up with errNotThrift as
// soon as the bytes cannot be one.
func readHead(r io.Reader) (head, error) {
	length, err := readInt(r)
	if err != nil {
		return head{}, err
	}
	h := head{size: sizeLen}
	strict := length < 0
	if strict {
		version := uint32(length) & apache.VERSION_MASK
		if version != apache.VERSION_1 {
			return head{}, errNotThrift
		}
		h.kind = apache.TMessageType(length & 0xff)
		if length, err = readInt(r); err != nil {
			return head{}, err
		}
		h.size += sizeLen
	}
	if length < 0 || length > maxName {
		return head{}, errNotThrift
	}
	name := make([]byte, length)
	if _, err = io.ReadFull(r, name); err != nil {
		return head{}, err
	}
	if !printable(name) {
		return head{}, errNotThrift
	}
	h.name, h.size = string(name), h.size+len(name)+sizeLen
	if !strict {
		var kind [1]byte
		if _, err = io.ReadFull(r, kind[:]); err != nil {
			return head{}, err
		}
		h.kind = apache.TMessageType(kind[0])
		h.size++
	}
	if h.kind < apache.CALL || h.kind > apache.ONEWAY {
		return head{}, errNotThrift
	}
	h.seq, err = readInt(r)
	return h, err
}

// parseHead splits a frame into the beginning of its message and the rest.
func parseHead(frame []byte) (head, []byte, error) {
	h, err := readHead(bytes.NewReader(frame))
	if err != nil {
		return head{}, nil, err
	}
	return h, frame[h.size:], nil
}

func readInt(r io.Reader) (int32, error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, err
	}
	return int32(binary.BigEndian.Uint32(b[:])), nil
}

func printable(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// guess says what a peer speaks that sent start where the length of a frame
// belongs.
func guess(start [sizeLen]byte) string {
	switch s := string(start[:]); s {
	case "GET ", "POST", "PUT ", "HEAD", "OPTI", "DELE", "PATC", "CONN", "TRAC", "HTTP", "PRI ":
		return "HTTP"
	case "\x80\x01\x00\x01", "\x80\x01\x00\x02", "\x80\x01\x00\x03":
		return "Thrift without frames"
	default:
		if (start[0] == 0x16 || start[0] == 0x15) && start[1] == 3 {
			return "TLS"
		}
		if start[0] == 0x82 {
			return "Thrift's compact protocol without frames"
		}
		return fmt.Sprintf("neither frames nor Thrift (begins with %x)", start)
	}
}
