package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A file of the store is a magic number and frames. A frame is a header of
// three little-endian 32-bit numbers, then its payload: the payload's length,
// the checksum of that length, the payload's checksum. The length has its own,
// or a flipped bit in it would look like a torn end and lose all behind it.
const (
	magic       = "SRCOORD1"
	frameHeader = 12
)

// errCorrupt is for damage that no crash of ours can have caused.
var errCorrupt = errors.New("the file is damaged: restore it from a copy, or move the folder away to start anew")

// appendFrame appends a payload with its header.
func appendFrame(b, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, checksum(b[len(b)-4:]))
	b = binary.LittleEndian.AppendUint32(b, checksum(payload))
	return append(b, payload...)
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// readFrames calls yield with each payload of a file and returns how many bytes
// are whole: less than there are if the last write was torn by a crash.
// Damage elsewhere is errCorrupt.
func readFrames(file []byte, yield func(payload []byte) error) (whole int, err error) {
	if len(file) < len(magic) && file != nil && magic[:len(file)] == string(file) {
		return 0, nil
	}
	if len(file) < len(magic) || string(file[:len(magic)]) != magic {
		return 0, fmt.Errorf("%w: it does not start with %s", errCorrupt, magic)
	}
	for at := len(magic); ; {
		rest := file[at:]
		if len(rest) < frameHeader {
			return at, nil
		}
		size := binary.LittleEndian.Uint32(rest)
		if checksum(rest[:4]) != binary.LittleEndian.Uint32(rest[4:]) {
			// A crash can leave zeros in place of what was still to be written.
			if zero(rest[8:]) {
				return at, nil
			}
			return at, fmt.Errorf("%w: length at byte %d", errCorrupt, at)
		}
		if uint64(size) > uint64(len(rest)-frameHeader) {
			return at, nil
		}
		end := frameHeader + int(size)
		payload := rest[frameHeader:end]
		if checksum(payload) != binary.LittleEndian.Uint32(rest[8:]) {
			if zero(rest[end:]) {
				return at, nil
			}
			return at, fmt.Errorf("%w: record at byte %d", errCorrupt, at)
		}
		if err := yield(payload); err != nil {
			return at, fmt.Errorf("record at byte %d: %w", at, err)
		}
		at += end
	}
}

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
