package grouping

import (
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"testing"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/storm"
)

// slowString is String.hashCode by the book.
func slowString(s string) uint32 {
	var h uint32
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(unit)
	}
	return h
}

func slowSigned(h uint32, b []byte) uint32 {
	for _, c := range b {
		h = 31*h + uint32(int32(int8(c)))
	}
	return h
}

func FuzzHashString(f *testing.F) {
	for _, s := range []string{"", "dog", "abcdefgh", "abcdefg\xc3\xa9", "\xe2\x82", "abcdefgh\xff", "\U0001F600", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := hashString(s), slowString(s); got != want {
			t.Errorf("hashString(%q) = %d, want %d", s, got, want)
		}
		if got, want := hashSigned(1, s), slowSigned(1, []byte(s)); got != want {
			t.Errorf("hashSigned(%q) = %d, want %d", s, got, want)
		}
		if got, want := hashTextString(1, s), slowSigned(1, []byte(string([]rune(s)))); got != want {
			t.Errorf("hashTextString(%q) = %d, want %d", s, got, want)
		}
	})
}

func TestHashStringAgainstBook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		if got, want := hashString(s), slowString(s); got != want {
			t.Fatalf("hashString(%q) = %d, want %d", s, got, want)
		}
		b := []byte(s)
		if got, want := hashSigned(31, b), slowSigned(31, b); got != want {
			t.Fatalf("hashSigned(%x) = %d, want %d", b, got, want)
		}
	})
}

type (
	name   string
	octets []byte
	uuid   [16]byte
	point  struct {
		X, Y   int64
		hidden *int
	}
	sealed struct{ n int }
	ring   struct{ Next *ring }
	outer  struct {
		When time.Time
		Big  *big.Int
		V    storm.Value
		Any  any
	}
)

func TestHashAny(t *testing.T) {
	uuidBytes := [16]byte{0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40, 0}
	loop := &ring{}
	loop.Next = loop
	when := time.UnixMilli(1700000000123)
	for _, c := range []struct {
		x    any
		want int32
	}{
		{int8(-3), -3},
		{int16(-3), -3},
		{uint8(200), 200},
		{uint16(65535), 65535},
		{uint32(math.MaxUint32), -1},
		{uint(5), 5},
		{uint64(1 << 40), 256},
		{uint64(12345678901234567890), -1436577082}, // BigInteger's, from its vector less 31
		{float32(1.5), 0x3fc00000},
		{float32(math.NaN()), 0x7fc00000},
		{complex(0, 1), 0x3ff00000},
		{name("dog"), 99644},
		{octets{1, 2, 255}, 30813},
		{uuidBytes, hashUUID(uuidBytes)},
		{uuid(uuidBytes), hashUUID(uuidBytes)},
		{[3]byte{1, 2, 255}, 30813},
		{[]int32{1, 2}, 994},
		{[]name{"a", "b"}, 31*(31+97) + 98},
		{map[name]int32{"k": 1}, 106},
		{map[int]bool{7: true}, 7 ^ 1231},
		{(*big.Int)(nil), 0},
		{(*point)(nil), 0},
		{new(int64(1 << 32)), 1},
		{when, hashLong(1700000000123)},
		{&when, hashLong(1700000000123)},
		{time.Duration(-1), 0},
		{point{X: 1, Y: 2}, 994},
		{&point{X: 1, Y: 2, hidden: new(int)}, 994},
		{sealed{1}, int32(hashString("grouping.sealed"))},
		{netip.MustParseAddr("10.1.2.3"), int32(hashString("10.1.2.3"))},
		{big.NewRat(1, 3), int32(hashString("1/3"))},
		{make(chan int), 0},
		{func() {}, 0},
		{outer{when, big.NewInt(-5), storm.String("dog"), name("dog")}, javaList(hashLong(1700000000123), -5, 99644, 99644)},
		{outer{}, javaList(hashLong(uint64(time.Time{}.UnixMilli())), 0, 0, 0)},
	} {
		v := storm.Any(c.x)
		if v.Kind() != storm.KindAny {
			t.Errorf("%T is not boxed but a %s", c.x, v.Kind())
		}
		if got := Hash(v); got != c.want {
			t.Errorf("Hash(%T %v) = %d, want %d", c.x, v, got, c.want)
		}
	}
	if a, b := Hash(storm.Any(loop)), Hash(storm.Any(loop)); a != b {
		t.Errorf("a value that contains itself has hashes %d and %d", a, b)
	}
}

func javaList(elems ...int32) int32 {
	h := int32(1)
	for _, e := range elems {
		h = 31*h + e
	}
	return h
}

func TestHashBigOfEveryLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "magnitude")
		x := new(big.Int).SetBytes(b)
		var want uint32
		for len(b)%4 != 0 {
			b = append([]byte{0}, b...)
		}
		for ; len(b) > 0; b = b[4:] {
			want = 31*want + (uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]))
		}
		if got := hashBig(x); got != int32(want) {
			t.Fatalf("hashBig(%v) = %d, want %d", x, got, int32(want))
		}
		if got := hashBig(x.Neg(x)); got != -int32(want) {
			t.Fatalf("hashBig(%v) = %d, want %d", x, got, -int32(want))
		}
	})
}

func TestHashMapsIgnoreOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.String(), rapid.Int32()).Draw(t, "m")
		boxed, plain := map[name]int32{}, map[string]storm.Value{}
		for k, v := range m {
			boxed[name(k)], plain[k] = v, storm.Int32(v)
		}
		if a, b := Hash(storm.Any(boxed)), Hash(storm.Map(plain)); a != b {
			t.Fatalf("hashes %d and %d of the same map", a, b)
		}
	})
}

// genValue draws values; equal draws share nothing.
func genValue(depth int) *rapid.Generator[storm.Value] {
	return rapid.Custom(func(t *rapid.T) storm.Value {
		top := 8
		if depth > 0 {
			top = 10
		}
		switch rapid.IntRange(0, top).Draw(t, "kind") {
		case 0:
			return storm.Nil()
		case 1:
			return storm.Bool(rapid.Bool().Draw(t, "bool"))
		case 2:
			return storm.Int32(rapid.Int32().Draw(t, "int32"))
		case 3:
			return storm.Int(rapid.Int64().Draw(t, "int"))
		case 4:
			return storm.Float(rapid.Float64().Draw(t, "float"))
		case 5, 6:
			return storm.String(rapid.String().Draw(t, "string"))
		case 7:
			return storm.Bytes(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		case 8:
			return storm.Any(point{X: rapid.Int64().Draw(t, "x")})
		case 9:
			return storm.List(rapid.SliceOfN(genValue(depth-1), 0, 3).Draw(t, "list")...)
		default:
			return storm.Map(rapid.MapOfN(rapid.String(), genValue(depth-1), 0, 3).Draw(t, "map"))
		}
	})
}

// deepCopy shares no memory with v.
func deepCopy(v storm.Value) storm.Value {
	switch v.Kind() {
	case storm.KindString:
		s, _ := v.AsString()
		return storm.String(string([]byte(s)))
	case storm.KindBytes:
		b, _ := v.AsBytes()
		return storm.Bytes(append([]byte(nil), b...))
	case storm.KindList:
		vs, _ := v.AsList()
		var out []storm.Value
		for _, e := range vs {
			out = append(out, deepCopy(e))
		}
		return storm.List(out...)
	case storm.KindMap:
		m, _ := v.AsMap()
		out := make(map[string]storm.Value)
		for k, e := range m {
			out[k] = deepCopy(e)
		}
		return storm.Map(out)
	case storm.KindAny:
		p := v.Interface().(point)
		p.hidden = new(int)
		return storm.Any(p)
	default:
		return v
	}
}

func TestFieldsEqualValuesSameTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 50).Draw(t, "n")
		key := rapid.SliceOfN(genValue(2), 1, 3).Draw(t, "key")
		again := make([]storm.Value, len(key))
		for i, v := range key {
			again[i] = deepCopy(v)
		}
		fields := make([]int, len(key))
		for i := range fields {
			fields[i] = len(key) - i // listed backwards, behind another value
		}
		s := Spec{Kind: Fields, Fields: fields, Targets: tasks(n)}
		a, b := mustNewRapid(t, s), mustNewRapid(t, s)
		i := a.One(tuple(append([]storm.Value{storm.Int(1)}, key...)...))
		j := b.One(tuple(append([]storm.Value{storm.String("other")}, again...)...))
		if i != j || i < 0 || i >= n {
			t.Fatalf("equal keys go to %d and %d of %d", i, j, n)
		}
	})
}

func mustNewRapid(t *rapid.T, s Spec) *Grouping {
	g, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestHashReflectAgreesWithKinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i, f := rapid.Int64().Draw(t, "i"), rapid.Float64().Draw(t, "f")
		s, b := rapid.String().Draw(t, "s"), rapid.Bool().Draw(t, "b")
		for _, x := range []any{i, int32(i), f, s, b, []byte(s), []string{s, s}, []any{i, f, nil}} {
			if got, want := hashReflect(reflect.ValueOf(x), maxDepth), Hash(storm.Any(x)); got != want {
				t.Fatalf("%T %v: %d by reflection, %d by kind", x, x, got, want)
			}
		}
	})
}
