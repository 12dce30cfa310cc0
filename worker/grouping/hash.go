package grouping

import (
	"math"
	"unicode/utf16"

	"github.com/stormring/stormring/storm"
)

// Hash is the hash that the JVM gives v as one element of a list: what
// Object.hashCode returns, or Arrays.hashCode for arrays. Tuples of equal
// values thus reach the same task as they would under Storm.
//
// Byte slices hash by content wherever they stand; a JVM does so only for an
// element of the list itself, and by identity deeper down. Go types outside
// Value's kinds: see hashAny.
func Hash(v storm.Value) int32 {
	if s, ok := v.AsString(); ok {
		return int32(hashString(s))
	}
	return hashOther(v)
}

// hashOther is Hash without the strings, which are nearly all keys: kept apart,
// they need no large frame.
func hashOther(v storm.Value) int32 {
	switch v.Kind() {
	case storm.KindInt:
		i, _ := v.AsInt()
		return hashLong(uint64(i))
	case storm.KindInt32:
		i, _ := v.AsInt()
		return int32(i)
	case storm.KindBytes:
		b, _ := v.AsBytes()
		return int32(hashSigned(1, b))
	case storm.KindFloat:
		f, _ := v.AsFloat()
		return hashDouble(f)
	case storm.KindBool:
		b, _ := v.AsBool()
		return hashBool(b)
	case storm.KindList:
		vs, _ := v.AsList()
		return DeepHash(vs...)
	case storm.KindMap:
		m, _ := v.AsMap()
		return hashMap(m)
	case storm.KindAny:
		return hashAny(v.Interface())
	default:
		return 0
	}
}

// DeepHash is Java's Arrays.deepHashCode of vs; Storm's fields grouping takes
// the task at index floorMod(DeepHash(selected values), number of tasks).
func DeepHash(vs ...storm.Value) int32 {
	h := uint32(1)
	for _, v := range vs {
		h = 31*h + uint32(Hash(v))
	}
	return int32(h)
}

// floorMod is Java's Math.floorMod for a positive n: never negative.
func floorMod(h, n int32) int32 {
	m := h % n
	if m < 0 {
		m += n
	}
	return m
}

func hashMap(m map[string]storm.Value) int32 {
	var sum uint32
	for k, v := range m {
		sum += hashString(k) ^ uint32(Hash(v))
	}
	return int32(sum)
}

func hashBool(b bool) int32 {
	if b {
		return 1231
	}
	return 1237
}

func hashLong(u uint64) int32 { return int32(u ^ u>>32) }

// hashDouble follows doubleToLongBits: there is one NaN, but two zeros.
func hashDouble(f float64) int32 {
	if f != f {
		return hashLong(0x7ff8 << 48)
	}
	return hashLong(math.Float64bits(f))
}

// hashFloat follows floatToIntBits.
func hashFloat(f float32) int32 {
	if f != f {
		return 0x7fc0 << 16
	}
	return int32(math.Float32bits(f))
}

// Powers of 31 and masks for hashing eight bytes in one step.
const (
	pow2 = 31 * 31
	pow4 = pow2 * pow2 % (1 << 32)
	pow8 = pow4 * pow4 % (1 << 32)

	highBits = 0x8080808080808080
	lowBytes = 0x00ff00ff00ff00ff
	lowHalfs = 0x0000ffff0000ffff

	// signBias is what fold8 yields for eight bytes of 128 each.
	signBias = 128 * (31 + 1) * (pow2 + 1) * (pow4 + 1) % (1 << 32)
)

// load8 is the little-endian word of the first eight bytes; the compiler makes
// it one load, unchecked where it knows the length.
func load8[T string | []byte](s T) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// fold8 is the 31-polynomial of the eight bytes of w, first byte lowest. It
// joins neighbours within the word, so that no step waits for the one before:
// pairs stay under 2^16 and fours under 2^32.
func fold8(w uint64) uint32 {
	w = (w&lowBytes)*31 + w>>8&lowBytes
	w = (w&lowHalfs)*pow2 + w>>16&lowHalfs
	return uint32(w)*pow4 + uint32(w>>32)
}

// hashString is String.hashCode: over UTF-16 units. Each byte that is not
// UTF-8 counts as U+FFFD, as it does once the string went through JSON.
func hashString(s string) uint32 {
	var h uint32
	for len(s) >= 8 {
		w := load8(s)
		if w&highBits != 0 {
			return hashUTF16(h, s)
		}
		h = h*pow8 + fold8(w)
		s = s[8:]
	}
	if len(s) >= 4 {
		w := uint64(s[0])<<32 | uint64(s[1])<<40 | uint64(s[2])<<48 | uint64(s[3])<<56
		if w&highBits != 0 {
			return hashUTF16(h, s)
		}
		h = h*pow4 + fold8(w) // the four zero bytes in front count nothing
		s = s[4:]
	}
	for i := range len(s) {
		c := s[i]
		if c >= 0x80 {
			return hashUTF16(h, s[i:])
		}
		h = 31*h + uint32(c)
	}
	return h
}

func hashUTF16(h uint32, s string) uint32 {
	for _, r := range s {
		if r >= 0x10000 {
			hi, lo := utf16.EncodeRune(r)
			h = 31*h + uint32(hi)
			r = lo
		}
		h = 31*h + uint32(r)
	}
	return h
}

// hashSigned continues h, which starts at 1, as Arrays.hashCode does over
// Java's signed bytes.
func hashSigned[T string | []byte](h uint32, s T) uint32 {
	for len(s) >= 8 {
		// A signed byte is the byte with its top bit turned, less 128.
		h = h*pow8 + fold8(load8(s)^highBits) - signBias
		s = s[8:]
	}
	for i := range len(s) {
		h = 31*h + signExtend(s[i])
	}
	return h
}

func signExtend(b byte) uint32 { return uint32(int32(int8(b))) }
