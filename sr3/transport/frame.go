package transport

import "encoding/binary"

// kind says what a frame is.
type kind uint8

// The frames. Those of the first group go from the dialing to the accepting
// side, those of the second back, the others both ways.
const (
	kindCall    kind = 1 + iota // id, method, request; or with flagParts the length of a request that follows in parts
	kindCancel                  // id of a call that nobody waits for any more
	kindMessage                 // payload
	kindOpen                    // id, method, header

	kindReply   // id, reply; or with flagParts its length
	kindFailure // id, code, text: the answer to a call that failed

	kindPart   // id, some bytes of a request or reply
	kindData   // id, one message of a stream
	kindEnd    // id, code, text: nothing more follows; with flagStop nothing more is read either
	kindReset  // id, code, text: both directions are over at once
	kindCredit // id, 4 bytes: so much more may be sent
	kindPing   // id
	kindPong   // id of the ping
	kindsEnd
)

const (
	flagParts = 1
	flagStop  = 2

	headerBytes = 16
	// messageCost is what a message takes from its stream's window beside its
	// bytes, so that empty messages are bounded too.
	messageCost = 64
)

// header starts every frame: kind, flags, method, one byte 0, code (2), 2 bytes
// 0 ... see put for the layout; numbers are big-endian.
type header struct {
	kind   kind
	flags  uint8
	method byte
	code   uint16
	length uint32 // of the payload that follows
	id     uint64
}

// put writes h in 16 bytes: kind 4 bits and flags 4 bits, method, code, length,
// id.
func (h header) put(b []byte) {
	b[0] = byte(h.kind)<<4 | h.flags&0x0f
	b[1] = h.method
	binary.BigEndian.PutUint16(b[2:], h.code)
	binary.BigEndian.PutUint32(b[4:], h.length)
	binary.BigEndian.PutUint64(b[8:], h.id)
}

// limits are the largest payloads that one side accepts.
type limits struct {
	message int // of a stream, and parts
	chunk   int // one-way messages
}

// parseHeader reads a header and checks that its payload is of a possible
// length, before anybody takes memory for it.
func parseHeader(b []byte, l limits) (header, error) {
	if len(b) < headerBytes {
		return header{}, broken("header of %d bytes, want %d", len(b), headerBytes)
	}
	h := header{
		kind:   kind(b[0] >> 4),
		flags:  b[0] & 0x0f,
		method: b[1],
		code:   binary.BigEndian.Uint16(b[2:]),
		length: binary.BigEndian.Uint32(b[4:]),
		id:     binary.BigEndian.Uint64(b[8:]),
	}
	least, most := 0, 0
	switch h.kind {
	case kindCall, kindReply:
		most = inlineBytes
		if h.flags&flagParts != 0 {
			least, most = 4, 4
		}
	case kindMessage:
		most = l.chunk
	case kindOpen:
		most = maxHeader
	case kindPart, kindData:
		most = l.message
	case kindFailure, kindEnd, kindReset:
		most = maxText
	case kindCredit:
		least, most = 4, 4
	case kindCancel, kindPing, kindPong:
	default:
		return header{}, broken("frame of unknown kind %d", h.kind)
	}
	if n := int64(h.length); n < int64(least) || n > int64(most) {
		return header{}, broken("frame of kind %d has %d bytes, may have %d to %d", h.kind, n, least, most)
	}
	return h, nil
}

// cost is what a message of n bytes takes from its stream's window.
func cost(n int) int64 { return int64(n) + messageCost }
