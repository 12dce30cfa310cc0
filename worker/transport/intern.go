package transport

import "encoding/binary"

const (
	internSlots = 1 << 13
	// internBytes is the longest string worth a slot: words and keys, but not
	// UUIDs in text, which do not come twice.
	internBytes = 32
)

// intern remembers short strings of a connection, so that a word that comes
// again costs no allocation. It is direct-mapped: two words that hash alike
// displace each other.
type intern struct {
	slots []string
}

// string is b as a string of its own.
func (t *intern) string(b []byte) string {
	if len(b) > internBytes || len(b) == 0 {
		return string(b)
	}
	if t.slots == nil {
		t.slots = make([]string, internSlots)
	}
	slot := &t.slots[hashShort(b)&(internSlots-1)]
	if *slot == string(b) {
		return *slot
	}
	*slot = string(b)
	return *slot
}

// hashShort mixes the length with the first and the last eight bytes, which
// overlap; so strings up to 16 bytes are hashed wholly.
func hashShort(b []byte) uint64 {
	var x, y uint64
	switch n := len(b); {
	case n >= 8:
		x = binary.LittleEndian.Uint64(b)
		y = binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		x = uint64(binary.LittleEndian.Uint32(b))
		y = uint64(binary.LittleEndian.Uint32(b[n-4:]))
	default:
		x = uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16
	}
	h := (x^uint64(len(b))<<56)*0x9E3779B97F4A7C15 ^ (y+0x7F4A7C15)*0xC2B2AE3D27D4EB4F
	h ^= h >> 32
	return h * 0x9E3779B97F4A7C15 >> 40
}
