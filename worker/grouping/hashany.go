package grouping

import (
	"encoding"
	"math/big"
	"math/bits"
	"reflect"
	"slices"
	"time"

	"github.com/stormring/stormring/storm"
)

// maxDepth ends the walk through Go values that contain themselves.
const maxDepth = 32

// hashAny hashes Go values that have no kind of their own. A value with a
// plain counterpart in Java hashes like that:
//
//	int8, int16, int32          Byte, Short, Integer
//	int, int64                  Long
//	uint8 … uint64              Long, or BigInteger if too large
//	float32, float64            Float, Double
//	*big.Int                    BigInteger
//	time.Time                   java.util.Date (milliseconds)
//	[16]byte                    UUID
//	slices and arrays           the Java array or List of the elements
//	maps                        Map
//
// and so do types defined on them. Everything else gets a hash that depends on
// its content alone and hence is the same in every process, though no JVM would
// compute it: pointers count as what they point to; structs as their text if
// they are an encoding.TextMarshaler, else as the list of their exported
// fields, else (all hidden) as the name of their type; channels and functions
// as nil.
func hashAny(x any) int32 {
	switch x := x.(type) {
	case int8:
		return int32(x)
	case int16:
		return int32(x)
	case float32:
		return hashFloat(x)
	case *big.Int:
		return hashBig(x)
	case time.Time:
		return hashLong(uint64(x.UnixMilli()))
	case [16]byte:
		return hashUUID(x)
	default:
		return hashReflect(reflect.ValueOf(x), maxDepth)
	}
}

// hashBig is BigInteger.hashCode: 32-bit words of the magnitude, then sign.
func hashBig(x *big.Int) int32 {
	if x == nil {
		return 0
	}
	var h uint32
	for _, word := range slices.Backward(x.Bits()) {
		w := uint64(word)
		if bits.UintSize == 64 {
			h = 31*h + uint32(w>>32)
		}
		h = 31*h + uint32(w)
	}
	return int32(h) * int32(x.Sign())
}

// hashUUID is UUID.hashCode: the four words joined by XOR.
func hashUUID(id [16]byte) int32 {
	var h uint32
	for i := 0; i < len(id); i += 4 {
		h ^= uint32(id[i])<<24 | uint32(id[i+1])<<16 | uint32(id[i+2])<<8 | uint32(id[i+3])
	}
	return int32(h)
}

func hashUnsigned(u uint64) int32 {
	if u>>63 == 0 {
		return hashLong(u)
	}
	return int32(31*uint32(u>>32) + uint32(u))
}

// hashReflect is hashAny by reflection, at most depth levels down.
func hashReflect(v reflect.Value, depth int) int32 {
	if depth == 0 {
		return 0
	}
	switch v.Kind() {
	case reflect.Bool:
		return hashBool(v.Bool())
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return int32(v.Int())
	case reflect.Int, reflect.Int64:
		return hashLong(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return hashUnsigned(v.Uint())
	case reflect.Float32:
		return hashFloat(float32(v.Float()))
	case reflect.Float64:
		return hashDouble(v.Float())
	case reflect.Complex64, reflect.Complex128:
		c := v.Complex()
		return 31*hashDouble(real(c)) + hashDouble(imag(c))
	case reflect.String:
		return int32(hashString(v.String()))
	case reflect.Slice, reflect.Array:
		return hashSequence(v, depth)
	case reflect.Map:
		return hashReflectMap(v, depth)
	case reflect.Interface:
		return hashReflect(v.Elem(), depth)
	case reflect.Pointer, reflect.Struct:
		return hashObject(v, depth)
	default:
		return 0
	}
}

func hashSequence(v reflect.Value, depth int) int32 {
	octets := v.Type().Elem().Kind() == reflect.Uint8
	if octets && v.Kind() == reflect.Array && v.Len() == 16 {
		var id [16]byte
		for i := range id {
			id[i] = byte(v.Index(i).Uint())
		}
		return hashUUID(id)
	}
	h := uint32(1)
	for i := range v.Len() {
		if octets {
			h = 31*h + signExtend(byte(v.Index(i).Uint()))
		} else {
			h = 31*h + uint32(hashReflect(v.Index(i), depth-1))
		}
	}
	return int32(h)
}

func hashReflectMap(v reflect.Value, depth int) int32 {
	var sum int32
	for it := v.MapRange(); it.Next(); {
		sum += hashReflect(it.Key(), depth-1) ^ hashReflect(it.Value(), depth-1)
	}
	return sum
}

// hashObject hashes pointers and structs.
func hashObject(v reflect.Value, depth int) int32 {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return 0
	}
	switch x := v.Interface().(type) {
	case *big.Int:
		return hashBig(x)
	case time.Time:
		return hashLong(uint64(x.UnixMilli()))
	case storm.Value:
		return Hash(x)
	case encoding.TextMarshaler:
		if _, isTime := x.(*time.Time); isTime {
			break // follow the pointer: the text would carry the zone
		}
		if text, err := x.MarshalText(); err == nil {
			return int32(hashString(string(text)))
		}
	}
	if v.Kind() == reflect.Pointer {
		return hashReflect(v.Elem(), depth-1)
	}
	return hashStruct(v, depth)
}

// hashStruct leaves unexported fields out: encoders do not send them, so a
// value that came from another worker would have a different hash.
func hashStruct(v reflect.Value, depth int) int32 {
	h, t, seen := uint32(1), v.Type(), false
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			h = 31*h + uint32(hashReflect(v.Field(i), depth-1))
			seen = true
		}
	}
	if !seen {
		return int32(hashString(t.String()))
	}
	return int32(h)
}
