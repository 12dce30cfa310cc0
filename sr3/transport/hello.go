package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

const (
	// magic and the version after it never change their place, so that every
	// release can tell every other what it is.
	magic   = "sr3-ring"
	version = 1

	helloStart = len(magic) + 4
	helloBytes = helloStart + 13
	maxName    = 255

	statusReady = 0
	statusBusy  = 1
)

// errGarbage says that who connected is no ring node at all.
var errGarbage = errors.New("no hello of a ring node")

// hello is what both sides say first, the dialing one first of all.
type hello struct {
	version uint16
	status  uint16
	window  uint32 // first credit of every stream
	message uint32 // largest message, in bytes
	call    uint32 // largest request or reply, in bytes
	name    string // the address by which it is known
}

func (h hello) append(b []byte) []byte {
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint16(b, h.version)
	b = binary.BigEndian.AppendUint16(b, h.status)
	b = binary.BigEndian.AppendUint32(b, h.window)
	b = binary.BigEndian.AppendUint32(b, h.message)
	b = binary.BigEndian.AppendUint32(b, h.call)
	b = append(b, byte(len(h.name)))
	return append(b, h.name...)
}

// readHello reads and checks the hello of addr.
func readHello(r io.Reader, addr string) (hello, error) {
	var b [helloBytes + maxName]byte
	// Garbage is known by its first bytes; more may never come.
	for i := range magic {
		if _, err := io.ReadFull(r, b[i:i+1]); err != nil {
			if i > 0 {
				err = fmt.Errorf("%w: %w", errGarbage, err)
			}
			return hello{}, err
		}
		if b[i] != magic[i] {
			return hello{}, errGarbage
		}
	}
	if _, err := io.ReadFull(r, b[len(magic):helloStart]); err != nil {
		return hello{}, fmt.Errorf("hello breaks off: %w", err)
	}
	h := hello{
		version: binary.BigEndian.Uint16(b[len(magic):]),
		status:  binary.BigEndian.Uint16(b[len(magic)+2:]),
	}
	if h.version != version {
		return h, &VersionError{Addr: addr, Theirs: h.version, Ours: version}
	}
	if _, err := io.ReadFull(r, b[helloStart:helloBytes]); err != nil {
		return h, fmt.Errorf("hello breaks off: %w", err)
	}
	h.window = binary.BigEndian.Uint32(b[helloStart:])
	h.message = binary.BigEndian.Uint32(b[helloStart+4:])
	h.call = binary.BigEndian.Uint32(b[helloStart+8:])
	name := b[helloBytes : helloBytes+int(b[helloBytes-1])]
	if _, err := io.ReadFull(r, name); err != nil {
		return h, fmt.Errorf("hello breaks off: %w", err)
	}
	h.name = string(name)
	if h.message < slack || h.window < 2*h.message || h.window > 1<<31 {
		return h, broken("hello with a window of %d bytes and messages of %d", h.window, h.message)
	}
	return h, nil
}

// greet says hello on a fresh connection and returns the other's. The caller
// has set a deadline.
func greet(nc net.Conn, mine hello, dialed bool) (hello, error) {
	addr := nc.RemoteAddr().String()
	if dialed {
		if _, err := nc.Write(mine.append(nil)); err != nil {
			return hello{}, fmt.Errorf("say hello: %w", err)
		}
		theirs, err := readHello(nc, addr)
		if err == nil && theirs.status != statusReady {
			err = &RemoteError{Code: CodeBusy, Text: "has as many connections as it may"}
		}
		return theirs, err
	}
	theirs, err := readHello(nc, addr)
	if _, other := errors.AsType[*VersionError](err); err != nil && !other {
		return theirs, err
	}
	// Another version is answered too: its number is what the dialer will show.
	if _, werr := nc.Write(mine.append(nil)); werr != nil && err == nil {
		err = fmt.Errorf("say hello: %w", werr)
	}
	return theirs, err
}
