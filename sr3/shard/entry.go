package shard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// An entry, in a log as in an object, little endian:
//
//	0   hash of the key, 8 bytes
//	8   length of the value, 4 bytes
//	12  length of the key, 3 bytes
//	15  flags, 1 byte
//	16  key, then value
const (
	entryHead = 16

	// MaxKey and MaxValue are the longest key and value, in bytes.
	MaxKey   = 1<<24 - 1
	MaxValue = 1 << 30

	flagDeleted = 1
	klenMask    = 1<<24 - 1
)

type entry struct {
	hash       uint64
	key, value []byte
	flags      byte
}

func (e entry) deleted() bool { return e.flags&flagDeleted != 0 }

// entrySize is the bytes of an entry with a key and value so long.
func entrySize(klen, vlen int) int { return entryHead + klen + vlen }

func appendEntry(dst []byte, hash uint64, key, value []byte, flags byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, hash)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(key))|uint32(flags)<<24)
	dst = append(dst, key...)
	return append(dst, value...)
}

// lengths reads the lengths and flags of the entry at off, of a log of ours.
func lengths(log []byte, off int) (klen, vlen int, flags byte) {
	w := binary.LittleEndian.Uint64(log[off+8:])
	meta := uint32(w >> 32)
	return int(meta & klenMask), int(uint32(w)), byte(meta >> 24)
}

func hashAt(log []byte, off int) uint64 { return binary.LittleEndian.Uint64(log[off:]) }

func keyAt(log []byte, off int) []byte {
	klen, _, _ := lengths(log, off)
	return log[off+entryHead : off+entryHead+klen]
}

// sizeAt is the bytes of the entry at off.
func sizeAt(log []byte, off int) int {
	klen, vlen, _ := lengths(log, off)
	return entrySize(klen, vlen)
}

// rawAt is the entry at off as it lies there.
func rawAt(log []byte, off int) []byte { return log[off : off+sizeAt(log, off)] }

// cursor walks the entries of an object whose bytes may be anything.
type cursor struct {
	image  []byte // header and entries
	off    int    // of the current entry
	next   int    // of the next one
	kind   Kind
	rng    Range
	left   int // entries that should still come
	entry      // the current one
	ok     bool
	primed bool
}

// newCursor starts before the first entry.
func newCursor(o *Object) cursor {
	return cursor{image: o.image, next: headerSize, kind: o.Kind, rng: o.Range, left: o.Entries}
}

// advance goes to the next entry; ok is false at the end.
func (c *cursor) advance() error {
	c.off = c.next
	if c.off == len(c.image) {
		c.ok = false
		if c.left != 0 {
			return fmt.Errorf("it ends %d entries early", c.left)
		}
		return nil
	}
	e, size, err := parseEntry(c.image, c.off, c.kind)
	if err != nil {
		return err
	}
	if c.left--; c.left < 0 {
		return fmt.Errorf("at byte %d: more entries than its header says", c.off)
	}
	if !c.rng.Has(e.hash) {
		return fmt.Errorf("at byte %d: a key of slot %d", c.off, SlotOf(e.hash))
	}
	if c.primed && !after(e, c.entry) {
		return fmt.Errorf("at byte %d: entries out of order", c.off)
	}
	c.entry, c.ok, c.primed, c.next = e, true, true, c.off+size
	return nil
}

// raw is the current entry as it lies there.
func (c *cursor) raw() []byte { return c.image[c.off:c.next] }

// parseEntry reads the entry at off of an image that may be damaged.
func parseEntry(image []byte, off int, kind Kind) (entry, int, error) {
	if len(image)-off < entryHead {
		return entry{}, 0, fmt.Errorf("at byte %d: %d bytes are too few for an entry", off, len(image)-off)
	}
	klen, vlen, flags := lengths(image, off)
	if vlen > MaxValue || entrySize(klen, vlen) > len(image)-off {
		return entry{}, 0, fmt.Errorf("at byte %d: key of %d and value of %d bytes do not fit", off, klen, vlen)
	}
	if err := checkFlags(flags, vlen, kind); err != nil {
		return entry{}, 0, fmt.Errorf("at byte %d: %w", off, err)
	}
	at := off + entryHead
	return entry{
		hash:  hashAt(image, off),
		key:   image[at : at+klen : at+klen],
		value: image[at+klen : at+klen+vlen : at+klen+vlen],
		flags: flags,
	}, entrySize(klen, vlen), nil
}

func checkFlags(flags byte, vlen int, kind Kind) error {
	switch {
	case flags == 0:
		return nil
	case flags != flagDeleted:
		return fmt.Errorf("unknown flags %#x", flags)
	case kind == Base:
		return errors.New("a deleted key in a base")
	case vlen != 0:
		return errors.New("a deleted key with a value")
	}
	return nil
}

// after tells whether a comes after b: by hash, then by key.
func after(a, b entry) bool { return compare(a, b) > 0 }

func compare(a, b entry) int {
	switch {
	case a.hash < b.hash:
		return -1
	case a.hash > b.hash:
		return 1
	default:
		return bytes.Compare(a.key, b.key)
	}
}
