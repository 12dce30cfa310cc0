package storm

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// point is a Go type that the union does not know.
type point struct{ X, Y int }

func TestKindNames(t *testing.T) {
	want := map[Kind]string{
		KindNil: "nil", KindBool: "bool", KindInt32: "int32", KindInt: "int64", KindFloat: "float64",
		KindString: "string", KindBytes: "bytes", KindList: "list", KindMap: "map", KindAny: "any",
		Kind(10): "kind(10)", Kind(255): "kind(255)",
	}
	for k, name := range want {
		if got := k.String(); got != name {
			t.Errorf("Kind %d is called %q, want %q", k, got, name)
		}
	}
}

// allValues is at least one value of every kind, with the edges of each.
func allValues() []struct {
	v    Value
	kind Kind
	x    any    // what Interface gives
	text string // what String gives
} {
	huge := strings.Repeat("é", 1<<20)
	return []struct {
		v    Value
		kind Kind
		x    any
		text string
	}{
		{Value{}, KindNil, nil, "nil"},
		{Nil(), KindNil, nil, "nil"},
		{Any(nil), KindNil, nil, "nil"},
		{Bool(true), KindBool, true, "true"},
		{Bool(false), KindBool, false, "false"},
		{Int32(math.MinInt32), KindInt32, int32(math.MinInt32), "-2147483648"},
		{Int32(-1), KindInt32, int32(-1), "-1"},
		{Int32(0), KindInt32, int32(0), "0"},
		{Int(math.MinInt64), KindInt, int64(math.MinInt64), "-9223372036854775808"},
		{Int(0), KindInt, int64(0), "0"},
		{Int(math.MaxInt64), KindInt, int64(math.MaxInt64), "9223372036854775807"},
		{Float(0), KindFloat, 0.0, "0"},
		{Float(-1.5), KindFloat, -1.5, "-1.5"},
		{Float(math.Inf(-1)), KindFloat, math.Inf(-1), "-Inf"},
		{Float(math.MaxFloat64), KindFloat, math.MaxFloat64, "1.7976931348623157e+308"},
		{String(""), KindString, "", ""},
		{String("a"), KindString, "a", "a"},
		{String("\x00\xff"), KindString, "\x00\xff", "\x00\xff"},
		{String(huge), KindString, huge, huge},
		{Bytes(nil), KindBytes, []byte{}, "[]"},
		{Bytes([]byte{}), KindBytes, []byte{}, "[]"},
		{Bytes([]byte{0, 255}), KindBytes, []byte{0, 255}, "[0 255]"},
		{List(), KindList, []any{}, "[]"},
		{List(nil...), KindList, []any{}, "[]"},
		{List(Int(1), List(Nil(), String("x"))), KindList, []any{int64(1), []any{nil, "x"}}, "[1 [nil x]]"},
		{Map(nil), KindMap, map[string]any{}, "map[]"},
		{Map(map[string]Value{}), KindMap, map[string]any{}, "map[]"},
		{Map(map[string]Value{"": Nil()}), KindMap, map[string]any{"": nil}, "map[:<nil>]"},
		{Map(map[string]Value{"b": Int(2), "a": Map(nil)}), KindMap, map[string]any{"b": int64(2), "a": map[string]any{}}, "map[a:map[] b:2]"},
		{Any(point{1, 2}), KindAny, point{1, 2}, "{1 2}"},
		{Any((*point)(nil)), KindAny, (*point)(nil), "<nil>"},
		{Any(uint64(math.MaxUint64)), KindAny, uint64(math.MaxUint64), "18446744073709551615"},
	}
}

func TestValueOfEachKind(t *testing.T) {
	for i, c := range allValues() {
		name := c.kind.String()
		if got := c.v.Kind(); got != c.kind {
			t.Errorf("%d: kind is %s, want %s", i, got, name)
		}
		if got := c.v.IsNil(); got != (c.kind == KindNil) {
			t.Errorf("%d (%s): IsNil is %t", i, name, got)
		}
		if got := c.v.Interface(); !reflect.DeepEqual(got, c.x) {
			t.Errorf("%d (%s): Interface is %#v, want %#v", i, name, got, c.x)
		}
		if got := c.v.String(); got != c.text {
			t.Errorf("%d (%s): String is %.60q, want %.60q", i, name, got, c.text)
		}
		checkAccessors(t, c.v, c.kind)
	}
}

// checkAccessors expects that each accessor takes the kinds it should, and
// gives a zero for all others.
func checkAccessors(t *testing.T, v Value, k Kind) {
	t.Helper()
	integer := k == KindInt || k == KindInt32
	s, isString := v.AsString()
	b, isBytes := v.AsBytes()
	i, isInt := v.AsInt()
	f, isFloat := v.AsFloat()
	o, isBool := v.AsBool()
	l, isList := v.AsList()
	m, isMap := v.AsMap()
	got := []bool{isString, isBytes, isInt, isFloat, isBool, isList, isMap}
	want := []bool{k == KindString, k == KindBytes, integer, integer || k == KindFloat, k == KindBool, k == KindList, k == KindMap}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: string, bytes, int, float, bool, list, map are ok = %v, want %v", k, got, want)
	}
	if !isString && s != "" || !isBytes && b != nil || !isInt && i != 0 || !isFloat && f != 0 || !isBool && o || !isList && l != nil || !isMap && m != nil {
		t.Errorf("%s: an accessor of another kind gives more than a zero", k)
	}
}

func TestIntegersReadAsFloats(t *testing.T) {
	for v, want := range map[int64]float64{-3: -3, 1<<53 + 1: 1 << 53} {
		if f, ok := Int(v).AsFloat(); !ok || f != want {
			t.Errorf("Int(%d).AsFloat() is %v, %t", v, f, ok)
		}
	}
	if f, ok := Int32(-7).AsFloat(); !ok || f != -7 {
		t.Errorf("Int32(-7).AsFloat() is %v, %t", f, ok)
	}
}

func TestAny(t *testing.T) {
	number := big.NewInt(7)
	for _, c := range []struct {
		in   any
		want Value
	}{
		{true, Bool(true)},
		{5, Int(5)},
		{int64(-5), Int(-5)},
		{int32(-5), Int32(-5)},
		{1.25, Float(1.25)},
		{"s", String("s")},
		{[]byte("b"), Bytes([]byte("b"))},
		{[]Value{Int(1)}, List(Int(1))},
		{map[string]Value{"k": Int(1)}, Map(map[string]Value{"k": Int(1)})},
		{[]any{1, "a", nil, []any{2.5}}, List(Int(1), String("a"), Nil(), List(Float(2.5)))},
		{[]string{"a", ""}, List(String("a"), String(""))},
		{map[string]any{"k": []string{"v"}}, Map(map[string]Value{"k": List(String("v"))})},
		{Int32(4), Int32(4)}, // a Value stays what it is
		{number, Any(big.NewInt(7))},
	} {
		if got := Any(c.in); !got.Equal(c.want) {
			t.Errorf("Any(%#v) is %s %v, want %s %v", c.in, got.Kind(), got, c.want.Kind(), c.want)
		}
	}
	if got := Values(1, "a", nil); len(got) != 3 || !List(got...).Equal(List(Int(1), String("a"), Nil())) {
		t.Errorf("Values gives %v", got)
	}
	if got := Any(number).Interface(); got != any(number) {
		t.Errorf("a boxed pointer comes back as %v", got)
	}
}

func TestEqual(t *testing.T) {
	nan := math.NaN()
	otherNaN := math.Float64frombits(math.Float64bits(nan) ^ 1)
	values := []Value{
		Nil(), Bool(false), Bool(true), Int32(0), Int32(-1), Int(0), Int(-1), Float(0), Float(math.Copysign(0, -1)),
		Float(nan), Float(otherNaN), String(""), String("a"), String("b"), String("a\x00"), Bytes(nil), Bytes([]byte("a")), Bytes([]byte("b")),
		List(), List(Nil()), List(Int(1)), List(Int32(1)), List(Int(1), Int(2)), List(List(Float(nan))),
		Map(nil), Map(map[string]Value{"a": Nil()}), Map(map[string]Value{"b": Nil()}), Map(map[string]Value{"a": Int(1)}),
		Any(point{}), Any(point{1, 0}), Any(big.NewInt(1)), Any(big.NewInt(2)), Any(new(point)),
	}
	again := []Value{ // the same content in other memory
		{}, Bool(false), Bool(true), Int32(0), Int32(-1), Int(0), Int(-1), Float(0), Float(math.Copysign(0, -1)),
		Float(nan), Float(otherNaN), String(strings.Repeat("x", 0)), String(strings.Clone("a")), String(strings.Clone("b")), String(strings.Clone("a\x00")),
		Bytes([]byte{}), Bytes([]byte("a")), Bytes([]byte("b")),
		List([]Value{}...), List(Nil()), List(Int(1)), List(Int32(1)), List(Int(1), Int(2)), List(List(Float(nan))),
		Map(map[string]Value{}), Map(map[string]Value{"a": Nil()}), Map(map[string]Value{"b": Nil()}), Map(map[string]Value{"a": Int(1)}),
		Any(point{}), Any(point{1, 0}), Any(new(big.Int).SetBits([]big.Word{1, 0})), Any(big.NewInt(2)), Any(new(point)),
	}
	for i, v := range values {
		for j, w := range again {
			if got := v.Equal(w); got != (i == j) {
				t.Errorf("%s %v equals %s %v: %t", v.Kind(), v, w.Kind(), w, got)
			}
		}
	}
}

// genValue draws a value with the Go value that it stands for.
func genValue(depth int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		top := int(KindAny)
		if depth == 0 {
			top = int(KindBytes)
		}
		switch Kind(rapid.IntRange(0, top).Draw(t, "kind")) {
		case KindNil:
			return Nil()
		case KindBool:
			return Bool(rapid.Bool().Draw(t, "bool"))
		case KindInt32:
			return Int32(rapid.Int32().Draw(t, "int32"))
		case KindInt:
			return Int(rapid.Int64().Draw(t, "int"))
		case KindFloat:
			return Float(math.Float64frombits(rapid.Uint64().Draw(t, "float bits")))
		case KindString:
			return String(string(rapid.SliceOf(rapid.Byte()).Draw(t, "string")))
		case KindBytes:
			return Bytes(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		case KindList:
			return List(rapid.SliceOfN(genValue(depth-1), 0, 4).Draw(t, "list")...)
		case KindMap:
			return Map(rapid.MapOfN(rapid.String(), genValue(depth-1), 0, 4).Draw(t, "map"))
		default:
			return Any(point{rapid.Int().Draw(t, "x"), 0})
		}
	})
}

func TestValuesComeBackFromInterface(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(3).Draw(t, "value")
		back := Any(v.Interface())
		if !back.Equal(v) || !v.Equal(back) || back.Kind() != v.Kind() {
			t.Fatalf("%s %v came back as %s %v", v.Kind(), v, back.Kind(), back)
		}
		if got, want := back.String(), v.String(); got != want {
			t.Fatalf("String is %q, was %q", got, want)
		}
	})
}

func TestEqualIsAnEquivalence(t *testing.T) {
	gen := genValue(2)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := gen.Draw(t, "a"), gen.Draw(t, "b"), gen.Draw(t, "c")
		if !a.Equal(a) {
			t.Fatalf("%v does not equal itself", a)
		}
		if a.Equal(b) != b.Equal(a) {
			t.Fatalf("%v and %v: equal one way only", a, b)
		}
		if a.Equal(b) && b.Equal(c) && !a.Equal(c) {
			t.Fatalf("%v, %v and %v: not transitive", a, b, c)
		}
	})
}

func TestScalarsAndStringsDoNotAllocate(t *testing.T) {
	text, raw := strings.Repeat("t", 100), bytes.Repeat([]byte("r"), 100)
	m := map[string]Value{"k": Int(1)}
	list := []Value{Int(1), Int(2)}
	var boxedInt, boxedText any = 12345, text
	var kept Value
	for name, f := range map[string]func() Value{
		"Nil":         Nil,
		"Bool":        func() Value { return Bool(true) },
		"Int":         func() Value { return Int(1 << 40) },
		"Int32":       func() Value { return Int32(1 << 20) },
		"Float":       func() Value { return Float(math.Pi) },
		"String":      func() Value { return String(text) },
		"Bytes":       func() Value { return Bytes(raw) },
		"List":        func() Value { return List(list...) },
		"Map":         func() Value { return Map(m) },
		"Any(int)":    func() Value { return Any(boxedInt) },
		"Any(string)": func() Value { return Any(boxedText) },
	} {
		got := testing.AllocsPerRun(100, func() {
			kept = f()
			_ = kept.Kind()
			_, _ = kept.AsString()
			_, _ = kept.AsBytes()
			_, _ = kept.AsInt()
			_, _ = kept.AsFloat()
			_, _ = kept.AsBool()
			_, _ = kept.AsList()
			_, _ = kept.AsMap()
		})
		if got != 0 {
			t.Errorf("%s allocates %v times", name, got)
		}
	}
}

// fleeting makes values whose memory nothing else refers to.
//
//go:noinline
func fleeting(i int) []Value {
	text := fmt.Sprintf("text %d", i)
	m := map[string]Value{text: Int(int64(i)), "nested": List(String(text))}
	return []Value{
		String(text), Bytes([]byte(text)), List(String(text), Int(int64(i))), Map(m), Any(point{i, -i}),
		Any(&point{i, i}), String(""), Map(nil), Int(int64(i)),
	}
}

// growStack makes the runtime move the goroutine's stack.
func growStack(n int) byte {
	var room [1024]byte
	room[n%len(room)] = byte(n)
	if n == 0 {
		return room[0]
	}
	return room[n%len(room)] + growStack(n-1)
}

func TestValuesSurviveTheGarbageCollector(t *testing.T) {
	const n = 200
	var kept [][]Value
	for i := range n {
		kept = append(kept, fleeting(i))
	}
	for range 3 {
		runtime.GC()
		growStack(200)
		for i := range 20 * n { // overwrite what was freed by mistake
			fleeting(-i)
		}
	}
	for i, got := range kept {
		want := fleeting(i)
		for j := range want {
			if !got[j].Equal(want[j]) {
				t.Fatalf("value %d of row %d is now %s %v, want %s %v", j, i, got[j].Kind(), got[j], want[j].Kind(), want[j])
			}
		}
	}
}

func TestBytesCannotGrowIntoTheirNeighbours(t *testing.T) {
	whole := []byte("abcdef")
	b, _ := Bytes(whole[:3]).AsBytes()
	if cap(b) != 3 {
		t.Errorf("capacity is %d, want 3", cap(b))
	}
	all := []Value{Int(1), Int(2), Int(3)}
	l, _ := List(all[:1]...).AsList()
	if cap(l) != 1 {
		t.Errorf("capacity of the list is %d, want 1", cap(l))
	}
}

func BenchmarkValue(b *testing.B) {
	text := "some word"
	b.Run("string", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			s, _ := String(text).AsString()
			n += len(s)
		}
	})
	b.Run("int", func(b *testing.B) {
		b.ReportAllocs()
		var n int64
		for b.Loop() {
			i, _ := Int(n).AsInt()
			n += i
		}
	})
	b.Run("any", func(b *testing.B) {
		b.ReportAllocs()
		var x any = text
		for b.Loop() {
			_ = Any(x)
		}
	})
}
