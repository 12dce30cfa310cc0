package storm_test

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/storm"
)

func TestKeyValueState(t *testing.T) {
	raw := storm.NewMapState()
	s := storm.NewKeyValueState(raw, storm.StringCodec, storm.IntCodec)
	if n, err := s.GetOr("a", 7); n != 7 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	for i, k := range []string{"a", "ab", "b", "a"} {
		if err := s.Put(k, int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n, ok, err := s.Get("a"); n != 3 || !ok || err != nil {
		t.Errorf("got %d, %t, %v", n, ok, err)
	}
	got := map[string]int64{}
	if err := s.AllWith([]byte("a"), func(k string, v int64) bool { got[k] = v; return true }); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int64{"a": 3, "ab": 1}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	n := 0
	if err := s.All(func(string, int64) bool { n++; return false }); n != 1 || err != nil {
		t.Errorf("%d entries, %v", n, err)
	}
	if err := errors.Join(s.Delete("a"), s.Delete("a")); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Get("a"); ok || err != nil || s.Len() != 2 {
		t.Errorf("deleted: %t, %v, %d left", ok, err, s.Len())
	}
	if err := raw.Put([]byte("x"), []byte("short")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Get("x"); err == nil || err.Error() != "the state's value of key x: 5 bytes where a number has 8; was it written with another codec?" {
		t.Errorf("got %v", err)
	}
	if err := s.All(func(string, int64) bool { return true }); err == nil {
		t.Error("no error for a value of another codec")
	}
	odd := storm.NewKeyValueState(raw, storm.StringCodec, storm.ValueCodec)
	if err := odd.Put("c", storm.Any(make(chan int))); err == nil || !strings.Contains(err.Error(), "key c cannot be kept in state: a chan int is none of Storm's types") {
		t.Errorf("got %v", err)
	}
}

func TestCodecs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roundTrip(t, storm.StringCodec, rapid.String().Draw(t, "s"))
		roundTrip(t, storm.BoolCodec, rapid.Bool().Draw(t, "b"))
		a, b := rapid.Int64().Draw(t, "i"), rapid.Int64().Draw(t, "j")
		if order(roundTrip(t, storm.IntCodec, a), roundTrip(t, storm.IntCodec, b)) != (a < b) {
			t.Errorf("%d and %d are out of order", a, b)
		}
		x, y := rapid.Float64().Draw(t, "x"), rapid.Float64().Draw(t, "y")
		if x != 0 || y != 0 { // -0 comes before 0
			if order(roundTrip(t, storm.FloatCodec, x), roundTrip(t, storm.FloatCodec, y)) != (x < y) {
				t.Errorf("%v and %v are out of order", x, y)
			}
		}
		roundTrip(t, storm.JSONCodec[map[string]int](), rapid.MapOf(rapid.String(), rapid.Int()).Draw(t, "m"))
		v := value(3).Draw(t, "v")
		enc, err := storm.ValueCodec.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := storm.ValueCodec.Decode(enc); err != nil || !back.Equal(v) {
			t.Errorf("%v came back as %v, %v", v, back, err)
		}
		if len(enc) > 1 {
			if v, err := storm.ValueCodec.Decode(enc[:len(enc)-1]); err == nil {
				t.Errorf("a cut value is %v", v)
			}
		}
	})
	if n, err := storm.FloatCodec.Decode(must(storm.FloatCodec.Append(nil, math.NaN()))); err != nil || n == n { //nolint:gocritic // NaN
		t.Errorf("NaN came back as %v, %v", n, err)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func order(a, b []byte) bool { return bytes.Compare(a, b) < 0 }

func roundTrip[T any](t *rapid.T, c storm.Codec[T], v T) []byte {
	b, err := c.Append([]byte("before"), v)
	if err != nil {
		t.Fatal(err)
	}
	enc, ok := bytes.CutPrefix(b, []byte("before"))
	back, err := c.Decode(enc)
	if !ok || err != nil || !storm.Any(back).Equal(storm.Any(v)) {
		t.Errorf("%v came back as %v, %v", v, back, err)
	}
	return enc
}

// value makes values of all kinds that a state can hold.
func value(depth int) *rapid.Generator[storm.Value] {
	kinds := []*rapid.Generator[storm.Value]{
		rapid.Just(storm.Value{}),
		rapid.Map(rapid.Bool(), storm.Bool),
		rapid.Map(rapid.Int32(), storm.Int32),
		rapid.Map(rapid.Int64(), storm.Int),
		rapid.Map(rapid.Float64(), storm.Float),
		rapid.Map(rapid.String(), storm.String),
		rapid.Map(rapid.SliceOf(rapid.Byte()), storm.Bytes),
		rapid.Map(rapid.Int64(), func(n int64) storm.Value { return storm.Any(new(big.Int).Lsh(big.NewInt(n), 70)) }),
	}
	if depth > 0 {
		kinds = append(kinds,
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(vs []storm.Value) storm.Value { return storm.List(vs...) }),
			rapid.Map(rapid.MapOfN(rapid.String(), value(depth-1), 0, 3), storm.Map))
	}
	return rapid.OneOf(kinds...)
}

func TestDeepValues(t *testing.T) {
	v := storm.Int(1)
	for range 2000 {
		v = storm.List(v)
	}
	if _, err := storm.ValueCodec.Append(nil, v); err == nil {
		t.Error("a value that cannot be read back was written")
	}
	if _, err := storm.ValueCodec.Decode(bytes.Repeat([]byte{byte(storm.KindList), 1}, 5000)); err == nil {
		t.Error("no error")
	}
}

func FuzzValueCodec(f *testing.F) {
	for _, v := range []storm.Value{storm.Int(1), storm.List(storm.String("a"), storm.Map(map[string]storm.Value{"k": storm.Float(1.5)}))} {
		f.Add(must(storm.ValueCodec.Append(nil, v)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := storm.ValueCodec.Decode(b)
		if err != nil {
			return
		}
		again, err := storm.ValueCodec.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := storm.ValueCodec.Decode(again); err != nil || !back.Equal(v) {
			t.Errorf("%v came back as %v, %v", v, back, err)
		}
	})
}
