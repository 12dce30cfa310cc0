package grouping

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/stormring/stormring/storm"
)

// hashText continues h over the UTF-8 bytes of what Java's toString shows for
// v. What it shows by address (arrays) or in an order of its own (maps) goes
// in as content: the bytes themselves, or the bytes of the element hash.
func hashText(h uint32, v storm.Value) uint32 {
	var buf [32]byte
	switch v.Kind() {
	case storm.KindNil:
		return hashSigned(h, "null")
	case storm.KindBool:
		b, _ := v.AsBool()
		return hashSigned(h, strconv.AppendBool(buf[:0], b))
	case storm.KindInt32, storm.KindInt:
		i, _ := v.AsInt()
		return hashSigned(h, strconv.AppendInt(buf[:0], i, 10))
	case storm.KindFloat:
		f, _ := v.AsFloat()
		return hashSigned(h, appendDouble(buf[:0], f))
	case storm.KindString:
		s, _ := v.AsString()
		return hashTextString(h, s)
	case storm.KindBytes:
		b, _ := v.AsBytes()
		return hashSigned(h, b)
	case storm.KindList:
		vs, _ := v.AsList()
		h = hashSigned(h, "[")
		for i, e := range vs {
			if i > 0 {
				h = hashSigned(h, ", ")
			}
			h = hashText(h, e)
		}
		return hashSigned(h, "]")
	case storm.KindAny:
		if x, ok := v.Interface().(*big.Int); ok && x != nil {
			return hashSigned(h, x.Append(nil, 10))
		}
		return hashWord(h, Hash(v))
	default:
		return hashWord(h, Hash(v))
	}
}

func hashTextString(h uint32, s string) uint32 {
	if utf8.ValidString(s) {
		return hashSigned(h, s)
	}
	for _, r := range s {
		var buf [utf8.UTFMax]byte
		h = hashSigned(h, utf8.AppendRune(buf[:0], r))
	}
	return h
}

// appendDouble appends f as Double.toString shows it since Java 19: the
// shortest digits, at least one behind the point, with an exponent outside
// [1e-3, 1e7). Older releases now and then show a digit more.
func appendDouble(dst []byte, f float64) []byte {
	switch a := math.Abs(f); {
	case f != f:
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case a == 0 || a >= 1e-3 && a < 1e7:
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
		if bytes.IndexByte(dst[start:], '.') < 0 {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	var buf, wide [32]byte
	mantissa, exponent := splitExponent(strconv.AppendFloat(buf[:0], f, 'e', -1, 64))
	suffix := ""
	if bytes.IndexByte(mantissa, '.') < 0 {
		// One digit will do, but Java takes two if they are nearer: 4.9E-324.
		two := strconv.AppendFloat(wide[:0], f, 'e', 1, 64)
		if back, err := strconv.ParseFloat(string(two), 64); err == nil && back == f {
			mantissa, exponent = splitExponent(two)
		} else {
			suffix = ".0"
		}
	}
	dst = append(append(append(dst, mantissa...), suffix...), 'E')
	if exponent[0] == '-' {
		dst = append(dst, '-')
	}
	return append(dst, bytes.TrimLeft(exponent, "+-0")...)
}

// splitExponent cuts strconv's form at its 'e'.
func splitExponent(sci []byte) (mantissa, exponent []byte) {
	i := bytes.IndexByte(sci, 'e')
	return sci[:i], sci[i+1:]
}
