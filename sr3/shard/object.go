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
//	4   format version: 2 if it is an S2 block or lean, else 1
//	5   kind
//	6   compression
//	7   layout: 1 if the entries are lean, without their hashes
//	8   first slot, 2 bytes
//	10  slots, 2 bytes
//	12  number of entries, 4 bytes
//	16  version, 8 bytes
//	24  bytes of the entries before compression, with hashes, 8 bytes
const (
	headerSize   = 32
	objectMagic  = "SR3o"
	objectFormat = 1
	leanFormat   = 2

	asIs    = 0
	zstdRaw = 1
	s2Raw   = 2

	layoutWhole = 0
	layoutLean  = 1
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
// is neither compressed nor lean. Errors wrap ErrDamaged, unless the format is unknown
// or the codec's limit is too low (ErrTooLarge).
func (c *Codec) Open(stored []byte) (*Object, error) {
	o, h, err := parseHeader(stored)
	if err != nil {
		return nil, err
	}
	body := stored[headerSize:]
	if h.compression == asIs && uint64(len(body)) != h.packed() {
		return nil, damaged("%v: %d bytes of entries where its header says %d", o, len(body), h.packed())
	}
	if h.compression == asIs && !h.lean {
		o.image = stored
		return o, nil
	}
	if err := c.credible(body, h.raw); err != nil {
		return nil, fmt.Errorf("%v: %w", o, err)
	}
	gap := headerSize + h.raw - h.packed()
	o.image = append(make([]byte, 0, headerSize+h.raw), stored[:headerSize]...)
	o.image[4], o.image[6], o.image[7] = objectFormat, asIs, layoutWhole
	switch o.image = o.image[:gap]; h.compression {
	case asIs:
		o.image = append(o.image, body...)
	case zstdRaw:
		o.image, err = c.expand(o.image, body, h.packed())
	default:
		o.image, err = c.expandBlock(o.image, body, h.packed())
	}
	if err == nil && h.lean {
		err = fill(o.image, o.Entries)
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %w", o, err)
	}
	return o, nil
}

type header struct {
	compression byte
	lean        bool
	entries     int
	raw         uint64
}

// packed is the bytes of the entries before compression, as they are stored.
func (h *header) packed() uint64 {
	if h.lean {
		return h.raw - uint64(h.entries)*hashSize
	}
	return h.raw
}

func parseHeader(stored []byte) (*Object, header, error) {
	if len(stored) < headerSize || string(stored[:4]) != objectMagic {
		return nil, header{}, damaged("object of %d bytes: it does not start as an object does", len(stored))
	}
	v := stored[4]
	if v != objectFormat && v != leanFormat {
		return nil, header{}, fmt.Errorf("object of format version %d: this program knows versions %d and %d; update it", v, objectFormat, leanFormat)
	}
	le := binary.LittleEndian
	o := &Object{
		Kind:    Kind(stored[5]),
		Range:   Range{Slot(le.Uint16(stored[8:])), le.Uint16(stored[10:])},
		Version: Version(le.Uint64(stored[16:])),
		Entries: int(le.Uint32(stored[12:])),
	}
	h := header{stored[6], stored[7] == layoutLean, o.Entries, le.Uint64(stored[24:])}
	if o.Kind != Base && o.Kind != Delta {
		return nil, h, damaged("object of unknown %v", o.Kind)
	}
	if err := o.Range.Check(); err != nil {
		return nil, h, damaged("%v: %v", o, err)
	}
	if h.compression > s2Raw || stored[7] > layoutLean || (v == leanFormat) != (h.lean || h.compression == s2Raw) {
		return nil, h, damaged("%v: format version %d with compression %d and layout %d", o, v, h.compression, stored[7])
	}
	if h.raw > maxImage || uint64(o.Entries)*entryHead > h.raw {
		return nil, h, damaged("%v: %d entries in %d bytes", o, o.Entries, h.raw)
	}
	return o, h, nil
}

// putHeader writes the header of an image that is not compressed.
func putHeader(image []byte, o *Object) {
	le := binary.LittleEndian
	copy(image, objectMagic)
	image[4], image[5], image[6], image[7] = objectFormat, byte(o.Kind), asIs, layoutWhole
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
