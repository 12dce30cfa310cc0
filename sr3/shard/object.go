package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/cespare/xxhash/v2"
)

// Header of an object, little endian; the entries follow, as they are or as
// one zstd frame or S2 block:
//
//	0   magic
//	4   format version: 2 if it is an S2 block, else 1
//	5   kind
//	6   compression
//	7   0
//	8   first slot, 2 bytes
//	10  slots, 2 bytes
//	12  number of entries, 4 bytes
//	16  version, 8 bytes
//	24  bytes of the entries before compression, 8 bytes
const (
	headerSize   = 32
	objectMagic  = "SR3o"
	objectFormat = 1
	blockFormat  = 2

	asIs    = 0
	zstdRaw = 1
	s2Raw   = 2
)

// ErrDamaged is what errors about bytes that are not what was written wrap:
// ask another holder. An unknown format version is no damage.
var ErrDamaged = errors.New("damaged")

// Object is an opened object. Its bytes must not be changed any more.
type Object struct {
	Kind    Kind
	Range   Range
	Version Version
	// Entries is how many entries it has, deleted ones included.
	Entries int
	image   []byte // header, then entries as they are
}

// Size is the bytes of the entries.
func (o *Object) Size() int64 { return int64(len(o.image) - headerSize) }

// String is kind, slots and version.
func (o *Object) String() string {
	return fmt.Sprintf("%v of slots %v version %v", o.Kind, o.Range, o.Version)
}

// Open reads an object's stored bytes: checks the header and decompresses,
// allocating at most 1024 times the length of stored and the codec's limit.
// The entries are checked when they are used. The object keeps stored if that
// is not compressed. Errors wrap ErrDamaged, unless the format is unknown or the
// codec's limit is too low (ErrTooLarge).
func (c *Codec) Open(stored []byte) (*Object, error) {
	o, h, err := parseHeader(stored)
	if err != nil {
		return nil, err
	}
	body := stored[headerSize:]
	switch h.compression {
	case asIs:
		if uint64(len(body)) != h.raw {
			return nil, damaged("%v: %d bytes of entries where its header says %d", o, len(body), h.raw)
		}
		o.image = stored
	case zstdRaw, s2Raw:
		expand := c.expand
		if h.compression == s2Raw {
			expand = c.expandBlock
		}
		o.image = append(make([]byte, 0, headerSize+c.room(body, h.raw)), stored[:headerSize]...)
		o.image[4], o.image[6] = objectFormat, asIs
		if o.image, err = expand(o.image, body, h.raw); err != nil {
			return nil, fmt.Errorf("%v: %w", o, err)
		}
	default:
		return nil, damaged("%v: unknown compression %d", o, h.compression)
	}
	return o, nil
}

type header struct {
	compression byte
	raw         uint64
}

func parseHeader(stored []byte) (*Object, header, error) {
	if len(stored) < headerSize || string(stored[:4]) != objectMagic {
		return nil, header{}, damaged("object of %d bytes: it does not start as an object does", len(stored))
	}
	if v := stored[4]; v != objectFormat && v != blockFormat {
		return nil, header{}, fmt.Errorf("object of format version %d: this program knows versions %d and %d; update it", v, objectFormat, blockFormat)
	}
	le := binary.LittleEndian
	o := &Object{
		Kind:    Kind(stored[5]),
		Range:   Range{Slot(le.Uint16(stored[8:])), le.Uint16(stored[10:])},
		Version: Version(le.Uint64(stored[16:])),
		Entries: int(le.Uint32(stored[12:])),
	}
	h := header{stored[6], le.Uint64(stored[24:])}
	if o.Kind != Base && o.Kind != Delta {
		return nil, h, damaged("object of unknown %v", o.Kind)
	}
	if err := o.Range.Check(); err != nil {
		return nil, h, damaged("%v: %v", o, err)
	}
	if (stored[4] == blockFormat) != (h.compression == s2Raw) {
		return nil, h, damaged("%v: format version %d with compression %d", o, stored[4], h.compression)
	}
	if stored[7] != 0 || h.raw > maxImage || uint64(o.Entries)*entryHead > h.raw {
		return nil, h, damaged("%v: %d entries in %d bytes, reserved byte %d", o, o.Entries, h.raw, stored[7])
	}
	return o, h, nil
}

// putHeader writes the header of an image that is not compressed.
func putHeader(image []byte, o *Object) {
	le := binary.LittleEndian
	copy(image, objectMagic)
	image[4], image[5], image[6], image[7] = objectFormat, byte(o.Kind), asIs, 0
	le.PutUint16(image[8:], uint16(o.Range.First))
	le.PutUint16(image[10:], o.Range.Slots)
	le.PutUint32(image[12:], uint32(o.Entries))
	le.PutUint64(image[16:], uint64(o.Version))
	le.PutUint64(image[24:], uint64(len(image)-headerSize))
}

// Verify tells whether stored are the bytes that ref names. It looks at all of
// them. Errors wrap ErrDamaged and name the object.
func Verify(ref Ref, stored []byte) error {
	if int64(len(stored)) != ref.Stored {
		return damaged("%v: %d bytes where its manifest says %d", ref.ObjectID, len(stored), ref.Stored)
	}
	if sum := xxhash.Sum64(stored); sum != ref.Checksum {
		return damaged("%v: checksum %016x where its manifest says %016x", ref.ObjectID, sum, ref.Checksum)
	}
	o, h, err := parseHeader(stored)
	if err != nil {
		return fmt.Errorf("%v: %w", ref.ObjectID, err)
	}
	if o.Kind != ref.Kind || o.Range != ref.Range || o.Version != ref.Version || int64(h.raw) != ref.Size {
		return damaged("%v: the bytes are of another object: %v, %d bytes", ref.ObjectID, o, h.raw)
	}
	return nil
}

// RefTo is the ref, without holders, to stored bytes that were written for
// owner in epoch. It fails if they are no object.
func RefTo(owner Owner, epoch Epoch, stored []byte) (Ref, error) {
	o, h, err := parseHeader(stored)
	if err != nil {
		return Ref{}, err
	}
	return Ref{
		ObjectID: ObjectID{Owner: owner, Range: o.Range, Version: o.Version, Epoch: epoch, Kind: o.Kind},
		Size:     int64(h.raw),
		Stored:   int64(len(stored)),
		Checksum: xxhash.Sum64(stored),
	}, nil
}

// Check walks all entries. Errors wrap ErrDamaged.
func (o *Object) Check() error {
	for _, err := range o.entries() {
		if err != nil {
			return err
		}
	}
	return nil
}

// All gives the entries in order of hash, then key; the value of a deleted key
// is nil, and of no other. It stops early at damage; ask Check first.
func (o *Object) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		for e, err := range o.entries() {
			if err != nil {
				return
			}
			if e.deleted() {
				e.value = nil
			}
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

func (o *Object) entries() iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		c := newCursor(o)
		for {
			if err := c.advance(); err != nil {
				yield(entry{}, damaged("%v: %v", o, err))
				return
			}
			if !c.ok || !yield(c.entry, nil) {
				return
			}
		}
	}
}

func damaged(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrDamaged)...)
}
