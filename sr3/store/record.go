package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/stormring/stormring/sr3/shard"
)

// A key is 'r', the number of the record (8 bytes) and the part (4 bytes), big
// endian. Parts from 0 are chunks; the last part is the head, which is
//
//	0  format version
//	1  what
//	2  fields, see encode; numbers are varints, strings have their length before them
//	-8 xxhash64 of all before, little endian
const (
	keySize    = 13
	headPart   = 1<<32 - 1
	headFormat = 1
	chunkSize  = 256 << 10
	maxName    = 1 << 12
	// overhead is about what a record takes beside its bytes.
	overhead = 256
)

type what byte

const (
	anObject   what = 1
	aManifest  what = 2
	aFence     what = 3
	aDeletion  what = 4
	lastOfWhat      = aDeletion
)

func key(number uint64, part uint32) []byte {
	b := append(make([]byte, 0, keySize), 'r')
	b = binary.BigEndian.AppendUint64(b, number)
	return binary.BigEndian.AppendUint32(b, part)
}

func parseKey(k []byte) (number uint64, part uint32, ok bool) {
	if len(k) != keySize || k[0] != 'r' {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(k[1:]), binary.BigEndian.Uint32(k[9:]), true
}

// head is what a record says of itself.
type head struct {
	what  what
	owner shard.Owner // of all but deletions
	// object is what distinguishes the owner's objects.
	object objectKey
	// version is the manifest's, epoch the manifest's or the fence's.
	version shard.Version
	epoch   shard.Epoch
	// size is of an object's entries, stored and sum of the record's bytes.
	size, stored int64
	sum          uint64
	// gone are the numbers of deleted records, ascending.
	gone []uint64
}

// objectKey is an ObjectID within its owner.
type objectKey struct {
	slots   shard.Range
	version shard.Version
	epoch   shard.Epoch
	kind    shard.Kind
}

func keyOf(id shard.ObjectID) objectKey {
	return objectKey{id.Range, id.Version, id.Epoch, id.Kind}
}

func (k objectKey) id(o shard.Owner) shard.ObjectID {
	return shard.ObjectID{Owner: o, Range: k.slots, Version: k.version, Epoch: k.epoch, Kind: k.kind}
}

func headOf(ref shard.Ref) head {
	return head{what: anObject, owner: ref.Owner, object: keyOf(ref.ObjectID), size: ref.Size, stored: ref.Stored, sum: ref.Checksum}
}

func (h *head) ref() shard.Ref {
	return shard.Ref{ObjectID: h.object.id(h.owner), Size: h.size, Stored: h.stored, Checksum: h.sum}
}

// chunks is how many chunks the record has.
func (h *head) chunks() int { return int((h.stored + chunkSize - 1) / chunkSize) }

func (h *head) encode() []byte {
	b := []byte{headFormat, byte(h.what)}
	if h.what != aDeletion {
		b = appendString(b, h.owner.Topology)
		b = appendString(b, h.owner.Component)
		b = binary.AppendVarint(b, int64(h.owner.Task))
	}
	switch h.what {
	case anObject:
		b = binary.AppendUvarint(b, uint64(h.object.slots.First))
		b = binary.AppendUvarint(b, uint64(h.object.slots.Slots))
		b = binary.AppendVarint(b, int64(h.object.version))
		b = binary.AppendVarint(b, int64(h.object.epoch))
		b = binary.AppendUvarint(b, uint64(h.object.kind))
		b = binary.AppendUvarint(b, uint64(h.size))
		b = h.appendStored(b)
	case aManifest:
		b = binary.AppendVarint(b, int64(h.version))
		b = binary.AppendVarint(b, int64(h.epoch))
		b = h.appendStored(b)
	case aFence:
		b = binary.AppendVarint(b, int64(h.epoch))
	case aDeletion:
		b = binary.AppendUvarint(b, uint64(len(h.gone)))
		var before uint64
		for _, n := range h.gone {
			b = binary.AppendUvarint(b, n-before)
			before = n
		}
	}
	return binary.LittleEndian.AppendUint64(b, xxhash.Sum64(b))
}

func (h *head) appendStored(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(h.stored))
	return binary.LittleEndian.AppendUint64(b, h.sum)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodeHead reads what encode wrote. Errors wrap ErrDamaged unless the format
// is unknown, which only a checksum that fits makes believable.
func decodeHead(b []byte) (head, error) {
	if len(b) < 2+8 {
		return head{}, fmt.Errorf("head of %d bytes: too short: %w", len(b), ErrDamaged)
	}
	body, sum := b[:len(b)-8], binary.LittleEndian.Uint64(b[len(b)-8:])
	if got := xxhash.Sum64(body); got != sum {
		return head{}, fmt.Errorf("head of %d bytes: checksum %016x where it says %016x: %w", len(b), got, sum, ErrDamaged)
	}
	if body[0] != headFormat {
		return head{}, fmt.Errorf("record of format version %d: this program knows version %d; update it", body[0], headFormat)
	}
	h := head{what: what(body[1])}
	if h.what < anObject || h.what > lastOfWhat {
		return head{}, fmt.Errorf("record of unknown kind %d: update this program", h.what)
	}
	r := reader{b: body, at: 2}
	h.decode(&r)
	if r.err == nil && r.at != len(body) {
		r.fail("too many bytes")
	}
	if r.err != nil {
		return head{}, fmt.Errorf("head of %d bytes: at byte %d: %w: %w", len(b), r.at, r.err, ErrDamaged)
	}
	return h, nil
}

func (h *head) decode(r *reader) {
	if h.what != aDeletion {
		h.owner.Topology, h.owner.Component = r.text(), r.text()
		h.owner.Task = int32(r.inRange(-1<<31, 1<<31-1))
	}
	switch h.what {
	case anObject:
		h.object.slots = shard.Range{First: shard.Slot(r.upTo(shard.NumSlots - 1)), Slots: uint16(r.upTo(shard.NumSlots))}
		h.object.version, h.object.epoch = shard.Version(r.varint()), shard.Epoch(r.varint())
		h.object.kind = shard.Kind(r.upTo(uint64(shard.Delta)))
		h.size = int64(r.upTo(1<<63 - 1))
		h.decodeStored(r)
		if err := h.object.slots.Check(); r.err == nil && err != nil {
			r.fail("a shard that cannot be")
		}
	case aManifest:
		h.version, h.epoch = shard.Version(r.varint()), shard.Epoch(r.varint())
		h.decodeStored(r)
	case aFence:
		h.epoch = shard.Epoch(r.varint())
	case aDeletion:
		n := r.upTo(uint64(len(r.b) - r.at))
		var number uint64
		for i := range n {
			step := r.uvarint()
			if r.err != nil || i > 0 && step == 0 || number+step < number {
				r.fail("numbers out of order")
				return
			}
			number += step
			h.gone = append(h.gone, number)
		}
	}
}

func (h *head) decodeStored(r *reader) {
	h.stored, h.sum = int64(r.upTo(MaxObject)), r.uint64()
}

// reader reads fields until the first error.
type reader struct {
	b   []byte
	at  int
	err error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = errors.New(what)
	}
}

func (r *reader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b[r.at:])
	if n <= 0 {
		r.fail("no number")
		return 0
	}
	r.at += n
	return v
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *reader) upTo(most uint64) uint64 {
	v := r.uvarint()
	if v > most {
		r.fail("a number that is too large")
		return 0
	}
	return v
}

func (r *reader) inRange(least, most int64) int64 {
	v := r.varint()
	if v < least || v > most {
		r.fail("a number out of range")
		return 0
	}
	return v
}

func (r *reader) text() string {
	n := int(r.upTo(maxName))
	if r.err != nil || n > len(r.b)-r.at {
		r.fail("a name that does not end")
		return ""
	}
	r.at += n
	return string(r.b[r.at-n : r.at])
}

func (r *reader) uint64() uint64 {
	if r.err != nil || len(r.b)-r.at < 8 {
		r.fail("no checksum")
		return 0
	}
	r.at += 8
	return binary.LittleEndian.Uint64(r.b[r.at-8:])
}
