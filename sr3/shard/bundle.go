package shard

import (
	"encoding/binary"
	"fmt"
)

// A bundle is several bases in one piece, for the inner nodes of a recovery
// tree: one compression window over many shards. Little endian:
//
//	0   magic
//	4   format version
//	5   compression
//	6   0, 2 bytes
//	8   number of objects, 4 bytes
//	12  bytes of what follows before compression, 8 bytes
//	20  per object: its length, 4 bytes, and the object, not compressed, but lean if
//	    its entries are small
const (
	bundleHead   = 20
	bundleMagic  = "SR3b"
	bundleFormat = 1
)

// FoldMany folds several chains, base first each, and packs the bases into one
// bundle in the order given. To bound memory, call it with a few shards at a
// time: a bundle may have no more bytes than an object.
func (c *Codec) FoldMany(chains [][]*Object) ([]byte, error) {
	if len(chains) > MaxShards {
		return nil, fmt.Errorf("bundle of %d shards, more than %d", len(chains), MaxShards)
	}
	raw := append(make([]byte, 0, bundleHead), bundleMagic...)
	raw = append(raw, bundleFormat, asIs, 0, 0)
	raw = binary.LittleEndian.AppendUint32(raw, uint32(len(chains)))
	raw = binary.LittleEndian.AppendUint64(raw, 0) // set below
	for _, chain := range chains {
		image, o, err := fold(chain)
		if err != nil {
			return nil, err
		}
		if c.enc != nil && leans(o.Entries, len(image)-headerSize) {
			image = strip(image)
		}
		if len(raw)+4+len(image)-bundleHead > maxImage {
			return nil, fmt.Errorf("bundle of %d shards: %v is beyond its %d bytes, bundle fewer: %w", len(chains), o, maxImage, ErrTooLarge)
		}
		raw = binary.LittleEndian.AppendUint32(raw, uint32(len(image)))
		raw = append(raw, image...)
	}
	binary.LittleEndian.PutUint64(raw[12:], uint64(len(raw)-bundleHead))
	if out, ok := c.shrink(raw, bundleHead, len(raw)-bundleHead); ok {
		out[5] = zstdRaw
		return out, nil
	}
	return raw, nil
}

// OpenBundle gives the bases of a bundle; those that are not lean share one piece of memory. It
// is as careful as Open.
func (c *Codec) OpenBundle(stored []byte) ([]*Object, error) {
	if len(stored) < bundleHead || string(stored[:4]) != bundleMagic {
		return nil, damaged("bundle of %d bytes: it does not start as a bundle does", len(stored))
	}
	if v := stored[4]; v != bundleFormat {
		return nil, fmt.Errorf("bundle of format version %d: this program knows version %d; update it", v, bundleFormat)
	}
	count, raw := binary.LittleEndian.Uint32(stored[8:]), binary.LittleEndian.Uint64(stored[12:])
	body := stored[bundleHead:]
	switch {
	case stored[6] != 0 || stored[7] != 0 || count > MaxShards || raw > maxImage:
		return nil, damaged("bundle of %d objects in %d bytes, reserved bytes %x", count, raw, stored[6:8])
	case stored[5] == zstdRaw:
		err := c.credible(body, raw)
		if err == nil {
			body, err = c.expand(make([]byte, 0, raw), body, raw)
		}
		if err != nil {
			return nil, fmt.Errorf("bundle of %d objects: %w", count, err)
		}
	case stored[5] != asIs || uint64(len(body)) != raw:
		return nil, damaged("bundle of %d objects: compression %d, %d bytes where its header says %d", count, stored[5], len(body), raw)
	}
	return c.unpack(body, int(count))
}

func (c *Codec) unpack(body []byte, count int) ([]*Object, error) {
	var objects []*Object
	for i := range count {
		if len(body) < 4 {
			return nil, damaged("bundle: it ends before object %d of %d", i, count)
		}
		n := binary.LittleEndian.Uint32(body)
		body = body[4:]
		if uint64(n) > uint64(len(body)) {
			return nil, damaged("bundle: object %d of %d has %d bytes of which %d are there", i, count, n, len(body))
		}
		if n > 6 && body[6] != asIs {
			return nil, damaged("bundle: object %d of %d is compressed by itself", i, count)
		}
		o, err := c.Open(body[:n:n])
		if err != nil {
			return nil, fmt.Errorf("bundle: object %d of %d: %w", i, count, err)
		}
		if o.Kind != Base {
			return nil, damaged("bundle: object %d of %d is a %v", i, count, o.Kind)
		}
		objects, body = append(objects, o), body[n:]
	}
	if len(body) != 0 {
		return nil, damaged("bundle: %d bytes after the last of %d objects", len(body), count)
	}
	return objects, nil
}
