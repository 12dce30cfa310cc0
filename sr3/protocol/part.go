package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stormring/stormring/sr3/shard"
)

// A part travels as one object, folded if it is a run of several. Deltas whose
// base is elsewhere cannot be folded: they travel as a pack, one after the other,
// little endian:
//
//	0  magic
//	4  format version
//	5  0
//	6  number of objects, 2 bytes
//	8  per object: its length, 8 bytes, and its stored bytes
const (
	packMagic  = "SR3p"
	packFormat = 1
	packHead   = 8
)

// PackPart makes one part of several objects' stored bytes, oldest first. One
// object is its own pack.
func PackPart(objects [][]byte) ([]byte, error) {
	if len(objects) == 0 || len(objects) > 1<<16-1 {
		return nil, fmt.Errorf("a part of %d objects", len(objects))
	}
	if len(objects) == 1 {
		return objects[0], nil
	}
	size := packHead
	for _, o := range objects {
		size += 8 + len(o)
	}
	b := append(make([]byte, 0, size), packMagic...)
	b = append(b, packFormat, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(objects)))
	for _, o := range objects {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(o)))
		b = append(b, o...)
	}
	return b, nil
}

// UnpackPart gives the stored bytes of the objects in a part, oldest first, as
// shard.Codec.Open takes them; they share the part's memory. Errors wrap
// shard.ErrDamaged, unless the format is unknown.
func UnpackPart(part []byte) ([][]byte, error) {
	if len(part) < packHead || string(part[:4]) != packMagic {
		return [][]byte{part}, nil
	}
	if v := part[4]; v != packFormat {
		return nil, fmt.Errorf("a part of format version %d: this program knows version %d; update it", v, packFormat)
	}
	n := int(binary.LittleEndian.Uint16(part[6:]))
	rest := part[packHead:]
	var objects [][]byte
	for range n {
		if len(rest) < 8 {
			return nil, fmt.Errorf("a part of %d objects ends after %d: %w", n, len(objects), shard.ErrDamaged)
		}
		size := binary.LittleEndian.Uint64(rest)
		rest = rest[8:]
		if size > uint64(len(rest)) {
			return nil, fmt.Errorf("object %d of %d in a part has %d bytes of which %d are there: %w", len(objects), n, size, len(rest), shard.ErrDamaged)
		}
		objects, rest = append(objects, rest[:size:size]), rest[size:]
	}
	if len(rest) != 0 || n < 2 {
		return nil, fmt.Errorf("a part of %d objects with %d bytes after them: %w", n, len(rest), shard.ErrDamaged)
	}
	return objects, nil
}

// OpenPart opens the objects of a part, oldest first.
func OpenPart(c *shard.Codec, part []byte) ([]*shard.Object, error) {
	raw, err := UnpackPart(part)
	if err != nil {
		return nil, err
	}
	objects := make([]*shard.Object, len(raw))
	for i, b := range raw {
		if objects[i], err = c.Open(b); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// JoinParts makes one part of neighbouring parts of one shard, oldest first: a
// base if they begin with one, else a pack. The same members give the same bytes,
// however they were cut into parts. Errors wrap shard.ErrDamaged if a part is to
// blame.
func JoinParts(c *shard.Codec, parts [][]byte) ([]byte, error) {
	var raw [][]byte
	for _, p := range parts {
		objects, err := UnpackPart(p)
		if err != nil {
			return nil, err
		}
		raw = append(raw, objects...)
	}
	if len(raw) == 1 {
		return raw[0], nil
	}
	if len(raw) == 0 {
		return nil, errors.New("a part of no objects")
	}
	first, err := c.Open(raw[0])
	if err != nil {
		return nil, err
	}
	if first.Kind != shard.Base {
		return PackPart(raw)
	}
	chain := []*shard.Object{first}
	for _, b := range raw[1:] {
		o, err := c.Open(b)
		if err != nil {
			return nil, err
		}
		chain = append(chain, o)
	}
	return c.Fold(chain)
}
