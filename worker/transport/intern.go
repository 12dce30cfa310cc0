package transport

import "encoding/binary"

const (
	internSlots = 1 << 13
	// internBytes is the longest string worth a slot: words and keys, but not
	// UUIDs in text, which do not come twice.
	internBytes = 32
	// internWhole is the longest string that is all in head and tail.
	internWhole = 16
)

// intern remembers short strings of a connection, so that a word that comes
// again costs no allocation. It is direct-mapped: two words that hash alike
// displace each other.
type intern struct {
	slots []internSlot
}

// internSlot holds a string with its first and last eight bytes, so that most
// strings are told apart without touching their memory.
type internSlot struct {
	head, tail uint64
	s          string
}

// string is b as a string of its own.
func (t *intern) string(b []byte) string {
	if len(b) > internBytes || len(b) == 0 {
		return string(b)
	}
	if t.slots == nil {
		t.slots = make([]internSlot, internSlots)
	}
	head, tail := ends(b)
	slot := &t.slots[mix(head, tail, len(b))&(internSlots-1)]
	if slot.head == head && slot.tail == tail && len(slot.s) == len(b) &&
		(len(b) <= internWhole || slot.s == string(b)) {
		return slot.s
	}
	*slot = internSlot{head: head, tail: tail, s: string(b)}
	return slot.s
}

// ends are the first and the last eight bytes of b, which overlap if b is
// shorter than sixteen.
func ends(b []byte) (head, tail uint64) {
	switch n := len(b); {
	case n >= 8:
		return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	default:
		return uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16, 0
	}
}

func mix(head, tail uint64, n int) uint64 {
	h := (head+uint64(n))*0x9E3779B97F4A7C15 ^ (tail^0x7F4A7C15)*0xC2B2AE3D27D4EB4F
	h ^= h >> 32
	return h * 0x9E3779B97F4A7C15 >> 40
}
