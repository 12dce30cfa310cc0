package storm

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/track"
)

func testOrigin(fields ...string) *track.Origin {
	return &track.Origin{Component: "words", Stream: DefaultStream, Task: 7, ID: 3, Fields: fields}
}

// panicText is the text that f panics with; it fails the test if f does not.
func panicText(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() {
		r := recover()
		if r == nil {
			t.Error("no panic")
		}
		text = fmt.Sprint(r)
	}()
	f()
	return ""
}

func TestTupleGetters(t *testing.T) {
	tp := NewTuple(testOrigin("s", "i", "f", "b"), 9, nil, String("word"), Int32(-5), Float(1.5), Bool(true))
	if tp.Len() != 4 || tp.String(0) != "word" || tp.Int(1) != -5 || tp.Float(2) != 1.5 || !tp.Bool(3) {
		t.Errorf("getters of %v", tp)
	}
	if got := tp.Float(1); got != -5 {
		t.Errorf("an integer read as a float is %v", got)
	}
	if got := tp.ByField("i"); !got.Equal(Int32(-5)) {
		t.Errorf("ByField is %v", got)
	}
	if i, j := tp.FieldIndex("b"), tp.FieldIndex("none"); i != 3 || j != -1 {
		t.Errorf("FieldIndex is %d and %d", i, j)
	}
	if got := tp.Fields(); !reflect.DeepEqual(got, Fields{"s", "i", "f", "b"}) {
		t.Errorf("Fields are %v", got)
	}
	if tp.SourceComponent() != "words" || tp.SourceStream() != "default" || tp.SourceTask() != 7 || tp.Dst() != 9 {
		t.Errorf("source of %v, to %d", tp, tp.Dst())
	}
	if tp.IsTick() || tp.IsTracked() {
		t.Errorf("tick %t, tracked %t", tp.IsTick(), tp.IsTracked())
	}
	raw := NewTuple(testOrigin("raw"), 1, nil, Bytes([]byte("xy")))
	if got := raw.Bytes(0); string(got) != "xy" {
		t.Errorf("Bytes is %q", got)
	}
	if got := fmt.Sprintf("%v|%s", tp, tp); got != "source: words:7, stream: default, values: [word -5 1.5 true]|source: words:7, stream: default, values: [word -5 1.5 true]" {
		t.Errorf("formatted as %s", got)
	}
}

func TestZeroTuple(t *testing.T) {
	var tp Tuple
	if tp.Len() != 0 || len(tp.Values()) != 0 || tp.Fields() != nil || tp.FieldIndex("x") != -1 {
		t.Errorf("the zero tuple has content: %v", tp)
	}
	if tp.SourceComponent() != "" || tp.SourceStream() != "" || tp.SourceTask() != 0 || tp.IsTick() || tp.IsTracked() || tp.Anchors() != nil {
		t.Errorf("the zero tuple has a source: %v", tp)
	}
}

func TestTupleKeepsItsAddress(t *testing.T) {
	origin := testOrigin("a")
	tp := NewTuple(testOrigin("b"), 1, nil, Int(1))
	tp.SetOrigin(origin)
	tp.SetDst(5)
	var c Tuple
	tp.CopyTo(&c)
	if c.Origin() != origin || c.Dst() != 5 || c.Int(0) != 1 {
		t.Errorf("copy is %v for task %d", c, c.Dst())
	}
}

func TestTickTuple(t *testing.T) {
	origin := &track.Origin{Component: SystemComponent, Stream: TickStream, Task: int32(SystemTask), Fields: Fields{"rate_secs"}}
	tp := NewTuple(origin, 1, nil, Int(5))
	if !tp.IsTick() || tp.SourceTask() != -1 || tp.ByField("rate_secs").String() != "5" {
		t.Errorf("%v: tick %t", tp, tp.IsTick())
	}
	origin.Stream = MetricsTickStream
	if tp.IsTick() {
		t.Error("a metrics tick passes as a tick")
	}
}

func TestTuplePanics(t *testing.T) {
	narrow := NewTuple(testOrigin("a", "b"), 1, nil, String("x"), Nil())
	wide := NewTuple(testOrigin("a", "b", "c", "d", "e"), 1, nil, Int(0), Int(1), Int(2), Int(3), Int(4))
	var zero Tuple
	for _, c := range []struct {
		f    func()
		want string
	}{
		{func() { narrow.Value(2) }, `storm: value 2 of a tuple of 2 from component "words" stream "default"`},
		{func() { narrow.Value(-1) }, `storm: value -1 of a tuple of 2 from component "words" stream "default"`},
		{func() { wide.Value(5) }, `storm: value 5 of a tuple of 5 from component "words" stream "default"`},
		{func() { zero.Value(0) }, `storm: value 0 of a tuple of 0 from component "" stream ""`},
		{func() { _ = narrow.String(7) }, `storm: value 7 of a tuple of 2 from component "words" stream "default"`},
		{func() { _ = narrow.String(1) }, `storm: value 1 of a tuple from component "words" stream "default" is of kind nil, not string`},
		{func() { narrow.Int(0) }, `storm: value 0 of a tuple from component "words" stream "default" is of kind string, not int64`},
		{func() { narrow.Float(0) }, `storm: value 0 of a tuple from component "words" stream "default" is of kind string, not float64`},
		{func() { wide.Bool(4) }, `storm: value 4 of a tuple from component "words" stream "default" is of kind int64, not bool`},
		{func() { narrow.Bytes(0) }, `storm: value 0 of a tuple from component "words" stream "default" is of kind string, not bytes`},
		{func() { narrow.ByField("z") }, `storm: no field "z" in stream "default" of component "words", which declares [a, b]`},
		{func() { zero.ByField("z") }, `storm: no field "z" in stream "" of component "", which declares []`},
	} {
		if got := panicText(t, c.f); got != c.want {
			t.Errorf("panic is\n%s\nwant\n%s", got, c.want)
		}
	}
}

func anchorsOf(t *Tuple) []track.Anchor {
	if more := t.Anchors(); more != nil {
		return more
	}
	if a := t.Anchor(); a.Root != 0 {
		return []track.Anchor{a}
	}
	return nil
}

func genAnchors(n int) *rapid.Generator[[]track.Anchor] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) track.Anchor {
		return track.Anchor{Root: track.Root(rapid.Uint64Min(1).Draw(t, "root")), Edge: rapid.Uint64().Draw(t, "edge")}
	}), 0, n)
}

// TestTupleIsItsParts sets values and anchors in any order, and compares with
// what was set; copies that were taken earlier stay as they were.
func TestTupleIsItsParts(t *testing.T) {
	type kept struct {
		tuple   Tuple
		values  []Value
		anchors []track.Anchor
	}
	rapid.Check(t, func(t *rapid.T) {
		var tp Tuple
		var vals []Value
		var anchors []track.Anchor
		var copies []kept
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				in := rapid.SliceOfN(genValue(1), 0, 9).Draw(t, "values")
				tp.SetValues(in)
				vals = append([]Value(nil), in...)
				clear(in) // the tuple must have copied them
			case 1:
				in := genAnchors(5).Draw(t, "anchors")
				tp.SetAnchors(in)
				anchors = append([]track.Anchor(nil), in...)
				clear(in)
			case 2:
				tp.SetAnchors(nil)
				anchors = nil
			case 3:
				copies = append(copies, kept{tp, vals, anchors})
			}
			var c Tuple
			tp.CopyTo(&c)
			copies = append(copies, kept{tp, vals, anchors}, kept{c, vals, anchors})
		}
		for i := range copies {
			c := &copies[i]
			if got := c.tuple.Values(); !List(got...).Equal(List(c.values...)) {
				t.Fatalf("copy %d has values %v, want %v", i, got, c.values)
			}
			if got := anchorsOf(&c.tuple); !reflect.DeepEqual(got, c.anchors) && len(got)+len(c.anchors) > 0 {
				t.Fatalf("copy %d has anchors %v, want %v", i, got, c.anchors)
			}
			if c.tuple.IsTracked() != (len(c.anchors) > 0) || len(c.anchors) > 0 && c.tuple.Anchor() != c.anchors[0] {
				t.Fatalf("copy %d: tracked %t, first %v of %v", i, c.tuple.IsTracked(), c.tuple.Anchor(), c.anchors)
			}
			for j, want := range c.values {
				if !c.tuple.Value(j).Equal(want) {
					t.Fatalf("copy %d value %d is %v, want %v", i, j, c.tuple.Value(j), want)
				}
			}
		}
	})
}

func TestSetAnchorMovesTheOnlyAnchor(t *testing.T) {
	tp := NewTuple(testOrigin("a"), 1, []track.Anchor{{Root: 5, Edge: 1}}, Int(1))
	tp.SetAnchor(track.Anchor{Root: 5, Edge: 2})
	if tp.Anchor() != (track.Anchor{Root: 5, Edge: 2}) || tp.Anchors() != nil {
		t.Errorf("anchors are %v and %v", tp.Anchor(), tp.Anchors())
	}
}

func TestSetValuesLetsGoOfOldValues(t *testing.T) {
	freed := make(chan struct{})
	var tp Tuple
	func() {
		old := new([1 << 16]byte)
		runtime.AddCleanup(old, func(done chan struct{}) { close(done) }, freed)
		tp.SetValues([]Value{Int(1), Int(2), Int(3), Bytes(old[:])})
	}()
	tp.SetValues([]Value{Int(1)})
	for i := 1; i < inlineValues; i++ {
		if !tp.inline[i].IsNil() {
			t.Errorf("inline value %d is still %v", i, tp.inline[i])
		}
	}
	for range 10 {
		runtime.GC()
		select {
		case <-freed:
			runtime.KeepAlive(&tp)
			return
		default:
		}
	}
	<-freed // the test's time-out tells that it never is
	runtime.KeepAlive(&tp)
}

func TestWideTupleHasNoInlineValues(t *testing.T) {
	var tp Tuple
	tp.SetValues([]Value{Int(1), Int(2)})
	tp.SetValues([]Value{Int(1), Int(2), Int(3), Int(4), Int(5)})
	for i := 1; i < inlineValues; i++ {
		if !tp.inline[i].IsNil() {
			t.Errorf("inline value %d is %v", i, tp.inline[i])
		}
	}
	tp.SetValues(nil)
	if tp.Len() != 0 || tp.rare() != nil || !tp.inline[0].IsNil() {
		t.Errorf("emptied tuple has %d values, overflow %v", tp.Len(), tp.rare())
	}
}

// Copies of tuples are cheap only if their size is a multiple of a vector
// register's.
func TestTupleSize(t *testing.T) {
	if n := unsafe.Sizeof(Tuple{}); n%16 != 0 {
		t.Errorf("a Tuple has %d bytes", n)
	}
}

func TestNarrowTuplesDoNotAllocate(t *testing.T) {
	vals := []Value{String("a"), Int(1), Int(2), Int(3)}
	anchor := []track.Anchor{{Root: 1, Edge: 1}}
	origin := testOrigin("a", "b", "c", "d")
	var kept Tuple
	if got := testing.AllocsPerRun(100, func() {
		kept = NewTuple(origin, 1, anchor, vals...)
		kept.SetValues(vals[:2])
		kept.SetAnchor(track.Anchor{Root: 2})
		vals = kept.AppendValues(vals[:0])[:4]
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
