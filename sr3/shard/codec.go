package shard

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

const (
	// worthwhile is the size in bytes below which nothing is compressed.
	worthwhile = 1 << 10
	// maxRatio is the most that decompression may make of a byte. What would
	// shrink more is padded, so that nobody has to trust a length.
	maxRatio = 1 << 10
	// maxImage bounds what one object holds: places in it have 32 bits.
	maxImage = math.MaxUint32 - headerSize
	// defaultLimit bounds what one object or bundle may expand to.
	defaultLimit = 1 << 30

	skippable = 0x184D2A50 // magic of a zstd frame that decoders skip
)

// Codec makes and opens objects. It may be used by many goroutines at once;
// give one to all.
type Codec struct {
	enc   *zstd.Encoder // nil: no compression
	dec   *zstd.Decoder
	limit int64
}

// NewCodec makes a codec that compresses at a zstd level from 1 to 22 (of which
// four are distinct), or not at all at level 0, and refuses to expand anything
// beyond limit bytes (1 GiB if 0).
func NewCodec(level int, limit int64) (*Codec, error) {
	if level < 0 || level > 22 {
		return nil, fmt.Errorf("zstd level %d: it must be from 0 (off) to 22", level)
	}
	if limit <= 0 {
		limit = defaultLimit
	}
	c := &Codec{limit: min(limit, maxImage)}
	var err error
	c.dec, err = zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderConcurrency(2),
		zstd.WithDecoderMaxMemory(uint64(c.limit)+headerSize))
	if err != nil {
		return nil, fmt.Errorf("make a zstd decoder: %w", err)
	}
	if level == 0 {
		return c, nil
	}
	// The bytes have a checksum of ours, and the same entries must give the
	// same bytes: one encoder works on each object.
	c.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
		zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(2))
	if err != nil {
		return nil, fmt.Errorf("make a zstd encoder: %w", err)
	}
	return c, nil
}

// seal finishes an image whose entries are in place, and takes it. The result may be the
// image itself. A delta is made with each checkpoint, beside the bolt, and folded
// soon: it gets S2, which takes a third of the time of zstd's first level, and makes
// it larger, by a quarter or a half.
func (c *Codec) seal(image []byte, o *Object) []byte {
	putHeader(image, o)
	raw := len(image) - headerSize
	if c.enc == nil || raw < worthwhile {
		return image
	}
	if leans(o.Entries, raw) {
		image = strip(image)
	}
	if o.Kind == Delta {
		if block, ok := c.block(image, raw); ok {
			return block
		}
	}
	if out, ok := c.shrink(image, headerSize, raw); ok {
		out[6] = zstdRaw
		return out
	}
	return image
}

// shrink is a copy of image with all beyond head compressed, if that is worth it. It
// will be expanded to raw bytes.
func (c *Codec) shrink(image []byte, head, raw int) ([]byte, bool) {
	body := image[head:]
	if c.enc == nil || len(body) < worthwhile {
		return nil, false
	}
	out := append(make([]byte, 0, head+len(body)/2), image[:head]...)
	out = c.enc.EncodeAll(body, out)
	if short := raw/maxRatio + 1 - (len(out) - head); short > 0 {
		out = binary.LittleEndian.AppendUint32(out, skippable)
		out = binary.LittleEndian.AppendUint32(out, uint32(short))
		out = append(out, make([]byte, short)...)
	}
	return out, len(out)-head < len(body)/16*15
}

// block is an image with its entries as one S2 block, if that is worth it. They will be
// expanded to raw bytes.
func (c *Codec) block(image []byte, raw int) ([]byte, bool) {
	body := image[headerSize:]
	out := make([]byte, headerSize+s2.MaxEncodedLen(len(body)))
	copy(out, image[:headerSize])
	n := len(s2.Encode(out[headerSize:], body))
	if n >= len(body)/16*15 || raw/maxRatio >= n { // Open would not believe it
		return nil, false
	}
	out[4], out[6] = leanFormat, s2Raw
	return slices.Clone(out[:headerSize+n]), true
}

// credible tells whether body may claim to expand to raw bytes.
func (c *Codec) credible(body []byte, raw uint64) error {
	switch {
	case raw > uint64(len(body))*maxRatio:
		return damaged("%d bytes claim to expand to %d", len(body), raw)
	case raw > uint64(c.limit):
		return fmt.Errorf("%d bytes, more than the limit of %d: %w", raw, c.limit, ErrTooLarge)
	}
	return nil
}

// expand appends the raw bytes of body to dst, which has the room for them.
func (c *Codec) expand(dst, body []byte, raw uint64) ([]byte, error) {
	head := len(dst)
	out, err := c.dec.DecodeAll(body, dst)
	if err != nil {
		return nil, damaged("zstd: %v", err)
	}
	if uint64(len(out)-head) != raw {
		return nil, damaged("it expands to %d bytes where its header says %d", len(out)-head, raw)
	}
	return out, nil
}

// expandBlock is expand for an S2 block.
func (c *Codec) expandBlock(dst, body []byte, raw uint64) ([]byte, error) {
	if n, err := s2.DecodedLen(body); err != nil || uint64(n) != raw { //nolint:gosec // never negative
		return nil, damaged("an S2 block of %d bytes does not expand to the %d that its header says", len(body), raw)
	}
	head := len(dst)
	dst = slices.Grow(dst, int(raw))[:head+int(raw)] //nolint:gosec // at most the limit
	if _, err := s2.Decode(dst[head:], body); err != nil {
		return nil, damaged("S2: %v", err)
	}
	return dst, nil
}
