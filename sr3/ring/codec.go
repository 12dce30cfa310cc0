package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Format is the version of the encoding of messages.
const Format = 1

// MaxMessage is the longest encoding of a message, in bytes: MaxMembers members
// with the longest names.
const MaxMessage = 4 << 20

// ErrFormat is wrapped by the error of a message in another format than ours.
var ErrFormat = errors.New("unknown format of a ring message")

var errTruncated = errors.New("ring: a message ends too early")

const (
	flagDone = 1 << iota
	flagLarge
	flagsKnown = flagDone | flagLarge
)

// Append appends the encoding of m to b. It fails if m breaks a bound.
func Append(b []byte, m *Message) ([]byte, error) {
	if m.Kind < Ping || m.Kind > lastKind {
		return nil, fmt.Errorf("ring: cannot encode a message of %s", m.Kind)
	}
	if len(m.Keys) > MaxKeys || len(m.Members) > MaxMembers || len(m.Updates) > MaxUpdates || len(m.To) > MaxName {
		return nil, fmt.Errorf("ring: %s message to %.40q with %d keys, %d members, %d updates is too large (at most %d, %d, %d)",
			m.Kind, m.To, len(m.Keys), len(m.Members), len(m.Updates), MaxKeys, MaxMembers, MaxUpdates)
	}
	var flags byte
	if m.Done {
		flags |= flagDone
	}
	if m.Large {
		flags |= flagLarge
	}
	b = append(b, Format, byte(m.Kind), flags)
	b = appendString(b, m.To)
	b = binary.AppendUvarint(b, m.Seq)
	b = binary.LittleEndian.AppendUint64(b, m.Digest)
	b = binary.AppendUvarint(b, uint64(len(m.Keys)))
	for _, k := range m.Keys {
		b = binary.LittleEndian.AppendUint64(b, k)
	}
	b, err := appendMember(b, &m.From)
	for _, list := range [][]Member{m.Members, m.Updates} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for i := range list {
			if err == nil {
				b, err = appendMember(b, &list[i])
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ring: cannot encode a %s message: %w", m.Kind, err)
	}
	return b, nil
}

func appendMember(b []byte, m *Member) ([]byte, error) {
	if err := m.Check(); err != nil {
		return b, err
	}
	if m.Status > Left {
		return b, fmt.Errorf("ring: node %q has %s", m.ID, m.Status)
	}
	b = append(b, byte(m.Status))
	b = binary.AppendUvarint(b, m.Incarnation)
	b = binary.AppendUvarint(b, uint64(m.Positions))
	for _, s := range []string{m.ID, m.Addr, m.Host, m.Rack} {
		b = appendString(b, s)
	}
	return b, nil
}

func appendString(b []byte, s string) []byte {
	return append(append(b, byte(len(s))), s...)
}

// Decode is the message in b, all of it. It keeps nothing of b.
func Decode(b []byte) (*Message, error) {
	if len(b) > MaxMessage {
		return nil, fmt.Errorf("ring: a message of %d bytes: at most %d", len(b), MaxMessage)
	}
	d := decoder{rest: b}
	if v := d.byte(); d.err == nil && v != Format {
		return nil, fmt.Errorf("ring: %w: %d, this node understands %d", ErrFormat, v, Format)
	}
	m := &Message{Kind: Kind(d.byte())}
	if d.err == nil && (m.Kind < Ping || m.Kind > lastKind) {
		return nil, fmt.Errorf("ring: a message of unknown %s", m.Kind)
	}
	flags := d.byte()
	if flags&^flagsKnown != 0 {
		d.fail(fmt.Errorf("ring: a %s message with unknown flags %#x", m.Kind, flags))
	}
	m.Done, m.Large = flags&flagDone != 0, flags&flagLarge != 0
	m.To = d.string()
	m.Seq = d.uvarint()
	m.Digest = d.fixed()
	if n := d.count("keys", MaxKeys, 8); n > 0 {
		m.Keys = make([]uint64, n)
		for i := range m.Keys {
			m.Keys[i] = d.fixed()
		}
	}
	m.From = d.member()
	m.Members = d.members("members", MaxMembers)
	m.Updates = d.members("updates", MaxUpdates)
	if d.err == nil && len(d.rest) > 0 {
		d.fail(fmt.Errorf("ring: %d bytes after the end of a %s message", len(d.rest), m.Kind))
	}
	if d.err != nil {
		return nil, d.err
	}
	return m, nil
}

// decoder takes a message apart. After an error everything is zero.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.rest = nil
}

func (d *decoder) take(n int) []byte {
	if d.err != nil || len(d.rest) < n {
		d.fail(errTruncated)
		return nil
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) fixed() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail(errTruncated)
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count is the length of a list whose items have at least size bytes.
func (d *decoder) count(what string, most uint64, size int) int {
	n := d.uvarint()
	if n > most {
		d.fail(fmt.Errorf("ring: a message with %d %s: at most %d", n, what, most))
		return 0
	}
	if int(n)*size > len(d.rest) {
		d.fail(errTruncated)
		return 0
	}
	return int(n)
}

func (d *decoder) string() string { return string(d.take(int(d.byte()))) }

func (d *decoder) members(what string, most uint64) []Member {
	const smallest = 7 // status, incarnation, positions, four lengths
	n := d.count(what, most, smallest)
	if n == 0 {
		return nil
	}
	out := make([]Member, n)
	for i := range out {
		out[i] = d.member()
	}
	return out
}

func (d *decoder) member() Member {
	m := Member{Status: Status(d.byte()), Incarnation: d.uvarint()}
	positions := d.uvarint()
	m.Positions = int(min(positions, MaxPositions+1))
	m.ID, m.Addr, m.Host, m.Rack = d.string(), d.string(), d.string(), d.string()
	if d.err != nil {
		return Member{}
	}
	if m.Status > Left {
		d.fail(fmt.Errorf("ring: node %q has unknown %s", m.ID, m.Status))
	} else if err := m.Check(); err != nil {
		d.fail(err)
	}
	return m
}
