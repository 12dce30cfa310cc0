package protocol

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/stormring/stormring/sr3/recovery"
)

// FrameHead is the length of a frame's head, in bytes. Each message of a stream of
// shards is a head and a body.
const FrameHead = 56

// ChunkBytes is the longest body of a chunk. The bytes of a part are opened with
// OpenPart.
const ChunkBytes = 256 << 10

// FrameKind is what a frame is.
type FrameKind uint8

// The kinds of frames.
const (
	// FrameChunk brings Length bytes of a part, at Offset.
	FrameChunk FrameKind = iota + 1
	// FrameLacks says that a node, named by the body, does not have the part, or
	// something that it was to add to it.
	FrameLacks
	// FrameBroken says that a node further back, named by the body, was lost;
	// what it should bring will not come.
	FrameBroken
	// FrameSkip asks the sender not to send the part, or the rest of it.
	FrameSkip
)

// Frame is a head; the body follows it.
type Frame struct {
	Kind FrameKind
	// Part needs no Bytes.
	Part    recovery.Part
	Content recovery.Content
	Offset  int64
	// Checksum is the xxhash64 of the body.
	Checksum uint64
}

// AppendFrame appends the head of a frame with this body.
func AppendFrame(b []byte, f Frame, body []byte) []byte {
	b = append(b, byte(f.Kind), 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(f.Part.Shard))
	b = binary.LittleEndian.AppendUint32(b, uint32(f.Part.First))
	b = binary.LittleEndian.AppendUint32(b, uint32(f.Part.Until))
	b = binary.LittleEndian.AppendUint64(b, f.Content.Sum)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.Content.Size))
	b = binary.LittleEndian.AppendUint64(b, uint64(f.Offset))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(body)))
	return binary.LittleEndian.AppendUint64(b, xxhash.Sum64(body))
}

// DecodeFrame reads a head, which has FrameHead bytes, before a body of this
// length.
func DecodeFrame(head []byte, body int) (Frame, error) {
	if len(head) != FrameHead {
		return Frame{}, fmt.Errorf("a frame's head of %d bytes: it must have %d", len(head), FrameHead)
	}
	u32 := func(at int) int { return int(int32(binary.LittleEndian.Uint32(head[at:]))) }
	u64 := func(at int) int64 { return int64(binary.LittleEndian.Uint64(head[at:])) }
	f := Frame{
		Kind:     FrameKind(head[0]),
		Part:     recovery.Part{Shard: u32(4), First: u32(8), Until: u32(12)},
		Content:  recovery.Content{Sum: uint64(u64(16)), Size: u64(24)},
		Offset:   u64(32),
		Checksum: uint64(u64(48)),
	}
	if f.Kind < FrameChunk || f.Kind > FrameSkip {
		return Frame{}, fmt.Errorf("a frame of kind %d, which is unknown: is the sender of another release?", head[0])
	}
	if n := u64(40); n != int64(body) {
		return Frame{}, fmt.Errorf("a frame's head says %d bytes, %d follow", n, body)
	}
	if f.Part.Shard < 0 || f.Part.First < 0 || f.Part.Until < 0 || f.Offset < 0 || f.Content.Size < 0 {
		return Frame{}, fmt.Errorf("a frame with negative numbers: part %+v, offset %d of %d", f.Part, f.Offset, f.Content.Size)
	}
	if f.Kind == FrameChunk && (f.Offset > f.Content.Size || int64(body) > f.Content.Size-f.Offset) {
		return Frame{}, fmt.Errorf("a chunk of %d bytes at %d, beyond the %d of its part", body, f.Offset, f.Content.Size)
	}
	return f, nil
}

// Intact tells whether body is what the frame's checksum says.
func (f Frame) Intact(body []byte) bool { return xxhash.Sum64(body) == f.Checksum }
