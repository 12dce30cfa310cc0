package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// protocolVersion changes when the meaning of any frame does. Magic and
	// version stay where they are in hello and reply for all time.
	protocolVersion = 1
	magic           = "SRwt"
)

// hello is the dialler's first frame.
type hello struct {
	topology string
	from, to WorkerID
	// life is a random number that names this life of the sending end. What is
	// numbered by another life is from before a restart.
	life uint64
	// maxFrame is the largest frame that the dialler may send.
	s2 bool
}

// reply is the listener's answer.
type reply struct {
	refusal string // why not; nothing below is valid then
	// life names this life of the receiving end: it changes when the worker
	// restarts, and with it all that was received is forgotten.
	life     uint64
	received uint64 // last data frame received in this life
	maxFrame int    // largest data frame that the listener accepts
	window   [creditClasses]int64
	s2       bool
	grants   []grantNote
}

// creditClass separates the id spaces that credits are counted in.
type creditClass byte

const (
	tupleCredits  creditClass = iota // by executor
	ackerCredits                     // by acker task
	creditClasses = 2
)

// grantNote tells how much an executor or acker task has released since the
// life began. It is a total, not a difference, so that it may be told twice.
type grantNote struct {
	class    creditClass
	id       int32
	released int64
}

func appendString[S ~string](dst []byte, s S) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendPreamble(dst []byte) []byte {
	return binary.LittleEndian.AppendUint16(append(dst, magic...), protocolVersion)
}

// preamble checks magic and version.
func (r *reader) preamble() error {
	if string(r.take(len(magic))) != magic {
		return errors.New("no hello: the peer is not a worker of this runtime")
	}
	if b := r.take(2); b == nil {
		return errors.New("hello is cut off")
	} else if v := binary.LittleEndian.Uint16(b); v != protocolVersion {
		return fmt.Errorf("the peer speaks version %d of the protocol, this worker version %d: run both with the same release", v, protocolVersion)
	}
	return nil
}

func (r *reader) bool() bool { return r.byte() != 0 }

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func (h *hello) append(dst []byte) []byte {
	dst = appendPreamble(dst)
	dst = appendString(dst, h.topology)
	dst = appendString(dst, h.from)
	dst = appendString(dst, h.to)
	dst = binary.LittleEndian.AppendUint64(dst, h.life)
	return appendBool(dst, h.s2)
}

func parseHello(b []byte) (hello, error) {
	r := reader{b: b}
	if err := r.preamble(); err != nil {
		return hello{}, err
	}
	h := hello{topology: string(r.block()), from: WorkerID(r.block()), to: WorkerID(r.block()), life: r.uint64(), s2: r.bool()}
	if r.err == nil && (len(h.from) == 0 || len(h.from) > maxIDBytes || h.life == 0) {
		r.fail("the peer does not say who it is")
	}
	if r.err != nil {
		return hello{}, fmt.Errorf("bad hello: %w", r.err)
	}
	return h, nil
}

func (p *reply) append(dst []byte) []byte {
	dst = appendPreamble(dst)
	dst = appendString(dst, p.refusal)
	dst = binary.LittleEndian.AppendUint64(dst, p.life)
	dst = binary.LittleEndian.AppendUint64(dst, p.received)
	dst = binary.AppendUvarint(dst, uint64(p.maxFrame))
	for _, w := range p.window {
		dst = binary.AppendUvarint(dst, uint64(w))
	}
	dst = appendBool(dst, p.s2)
	return appendGrants(dst, p.grants)
}

func parseReply(b []byte) (reply, error) {
	r := reader{b: b}
	if err := r.preamble(); err != nil {
		return reply{}, err
	}
	p := reply{refusal: string(r.block()), life: r.uint64(), received: r.uint64(), maxFrame: int(r.uvarint() & (1<<31 - 1))}
	if p.refusal != "" {
		return p, nil
	}
	for i := range p.window {
		p.window[i] = int64(r.uvarint() & (1<<31 - 1))
		if p.window[i] == 0 {
			r.fail("no credits")
		}
	}
	p.s2 = r.bool()
	p.grants = r.grants(nil)
	if r.err == nil && p.life == 0 {
		r.fail("the peer does not name its life")
	}
	if r.err != nil {
		return reply{}, fmt.Errorf("bad reply to hello: %w", r.err)
	}
	return p, nil
}

func appendGrants(dst []byte, gs []grantNote) []byte {
	for _, g := range gs {
		dst = append(dst, byte(g.class))
		dst = binary.AppendUvarint(dst, uint64(g.id))
		dst = binary.AppendUvarint(dst, uint64(g.released))
	}
	return dst
}

// grants reads grants to the end of the payload and appends them to dst.
func (r *reader) grants(dst []grantNote) []grantNote {
	for r.remaining() > 0 {
		g := grantNote{class: creditClass(r.byte()), id: r.task(), released: int64(r.uvarint())}
		if g.class >= creditClasses || g.released < 0 {
			r.fail("bad grant %v", g)
		}
		if r.err != nil {
			return dst
		}
		dst = append(dst, g)
	}
	return dst
}
