package storm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stormring/stormring/internal/track"
)

// recorder is an emitter that writes down what it is told.
type recorder struct {
	calls   []string
	tuples  []Tuple // copies of what was emitted
	errs    []error
	to      []TaskID
	postErr error
}

// spoutRecorder is a recorder for the collector of a spout.
type spoutRecorder struct{ *recorder }

var (
	_ BoltEmitter  = (*recorder)(nil)
	_ SpoutEmitter = spoutRecorder{}
)

func (r *recorder) log(format string, args ...any) {
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
}

func (r *recorder) Emit(stream int, t *Tuple) []TaskID {
	r.log("emit %d %v to %v", stream, t.Values(), roots(t))
	r.tuples = append(r.tuples, *t)
	return r.to
}

func (r *recorder) EmitDirect(stream int, task TaskID, t *Tuple) {
	r.log("direct %d task %d %v to %v", stream, task, t.Values(), roots(t))
	r.tuples = append(r.tuples, *t)
}

func (r *recorder) ReportError(err error) { r.errs = append(r.errs, err) }

func (r *recorder) Post(_ context.Context, f func()) error {
	if r.postErr == nil {
		f()
	}
	return r.postErr
}

func (r *recorder) Done(how Settlement, origin *track.Origin, first track.Anchor, more []track.Anchor) {
	names := map[Settlement]string{SettleAck: "ack", SettleFail: "fail", SettleResetTimeout: "reset"}
	component := "nobody"
	if origin != nil {
		component = origin.Component
	}
	if more == nil && first.Root != 0 {
		more = []track.Anchor{first}
	}
	r.log("%s %s %v", names[how], component, more)
}

func (r spoutRecorder) Emit(stream int, id Value, t *Tuple) []TaskID {
	r.log("emit %d id %v %v", stream, id, t.Values())
	return r.to
}

func (r spoutRecorder) EmitDirect(stream int, task TaskID, id Value, t *Tuple) {
	r.log("direct %d task %d id %v %v", stream, task, id, t.Values())
}

func (r spoutRecorder) Pending() int { return 42 }

// expect compares the calls since the last time.
func (r *recorder) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(r.calls, want) {
		t.Errorf("calls are\n%q\nwant\n%q", r.calls, want)
	}
	r.calls = nil
}

func roots(t *Tuple) []track.Root {
	var out []track.Root
	for _, a := range anchorsOf(t) {
		out = append(out, a.Root)
	}
	return out
}

func tracked(roots ...track.Root) Tuple {
	var anchors []track.Anchor
	for i, r := range roots {
		anchors = append(anchors, track.Anchor{Root: r, Edge: uint64(100 + i)})
	}
	return NewTuple(testOrigin("a"), 1, anchors, String("in"))
}

// usage is the UsageError that f panics with.
func usage(t *testing.T, f func()) string {
	t.Helper()
	var got string
	func() {
		defer func() {
			e, ok := recover().(*UsageError)
			if !ok {
				t.Errorf("no UsageError")
				return
			}
			got = e.Error()
		}()
		f()
	}()
	return got
}

func TestOutputCollector(t *testing.T) {
	r := &recorder{to: []TaskID{4, 5}}
	c := NewOutputCollector(r, "split", map[string]int{DefaultStream: 2, "side": 0})
	one, two, many := tracked(1), tracked(2), tracked(2, 3, 1)
	var untracked Tuple

	if got := c.Emit(nil, String("x"), Int(1)); !slices.Equal(got, []TaskID{4, 5}) {
		t.Errorf("Emit gives tasks %v", got)
	}
	r.expect(t, "emit 2 [x 1] to []")
	c.Emit(&one, String("x"))
	c.Emit(&many)
	c.Emit(&untracked, Int(1), Int(2), Int(3), Int(4), Int(5))
	c.Emit(nil, Int(9))
	r.expect(t, "emit 2 [x] to [1]", "emit 2 [] to [2 3 1]", "emit 2 [1 2 3 4 5] to []", "emit 2 [9] to []")

	c.EmitStream("side", &two, Nil())
	c.EmitStream(DefaultStream, &one)
	c.EmitDirect(7, "side", &one, Bool(true))
	r.expect(t, "emit 0 [nil] to [2]", "emit 2 [] to [1]", "direct 0 task 7 [true] to [1]")

	c.EmitAnchors("side", []Tuple{one, many, untracked, two, one}, Int(1))
	c.EmitAnchors("side", []Tuple{two, two}, Int(2))
	c.EmitAnchors("side", nil, Int(3))
	c.EmitDirectAnchors(7, "side", []Tuple{many, one}, Int(4))
	r.expect(t, "emit 0 [1] to [1 2 3]", "emit 0 [2] to [2]", "emit 0 [3] to []", "direct 0 task 7 [4] to [2 3 1]")

	c.Ack(&one)
	c.Fail(&many)
	c.ResetTimeout(&two)
	c.Ack(&untracked)
	r.expect(t, "ack words [{1 100}]", "fail words [{2 100} {3 101} {1 102}]", "reset words [{2 100}]", "ack nobody []")

	c.ReportError(errors.ErrUnsupported)
	if len(r.errs) != 1 || !errors.Is(r.errs[0], errors.ErrUnsupported) {
		t.Errorf("reported %v", r.errs)
	}
}

func TestEmittedTuplesAreIndependent(t *testing.T) {
	r := &recorder{}
	c := NewOutputCollector(r, "split", map[string]int{DefaultStream: 0})
	many, one := tracked(1, 2), tracked(3)
	vals := []Value{Int(1), Int(2), Int(3), Int(4), Int(5)}
	c.Emit(&many, vals...)
	vals[0] = Int(-1)
	c.Emit(&one, vals[:2]...)
	c.Emit(nil, vals...)
	for i, want := range []string{"[1 2 3 4 5] [1 2]", "[-1 2] [3]", "[-1 2 3 4 5] []"} {
		if got := fmt.Sprint(r.tuples[i].Values(), roots(&r.tuples[i])); got != want {
			t.Errorf("tuple %d is %s, want %s", i, got, want)
		}
	}
}

func TestSpoutOutputCollector(t *testing.T) {
	r := &recorder{to: []TaskID{4}}
	c := NewSpoutOutputCollector(spoutRecorder{r}, "words", map[string]int{DefaultStream: 1, "side": 0})
	if got := c.Emit(Int(1)); !slices.Equal(got, []TaskID{4}) {
		t.Errorf("Emit gives %v", got)
	}
	c.EmitTracked(String("id"), Int(2))
	c.EmitTracked(Nil(), Int(3)) // no id, no tracking
	c.EmitStream("side", Int(7), Int(4))
	c.EmitStream("side", Nil(), Int(5))
	c.EmitDirect(9, "side", Int(8), Int(6))
	c.EmitDirect(9, "side", Nil(), Int(7))
	r.expect(t, "emit 1 id nil [1]", "emit 1 id id [2]", "emit 1 id nil [3]", "emit 0 id 7 [4]", "emit 0 id nil [5]",
		"direct 0 task 9 id 8 [6]", "direct 0 task 9 id nil [7]")
	if got := c.Pending(); got != 42 {
		t.Errorf("Pending is %d", got)
	}
	c.ReportError(errors.ErrUnsupported)
	if len(r.errs) != 1 {
		t.Errorf("reported %v", r.errs)
	}
	ran := false
	if err := c.Do(t.Context(), func() { ran = true }); err != nil || !ran {
		t.Errorf("Do: %v, ran %t", err, ran)
	}
}

func TestDoPassesErrorsOn(t *testing.T) {
	r := &recorder{postErr: ErrStopped}
	bolt := NewOutputCollector(r, "split", nil)
	spout := NewSpoutOutputCollector(spoutRecorder{r}, "words", nil)
	for _, do := range []func(context.Context, func()) error{bolt.Do, spout.Do} {
		if err := do(t.Context(), func() { t.Error("called") }); !errors.Is(err, ErrStopped) {
			t.Errorf("error is %v", err)
		}
	}
}

func TestUnknownStreamIsAUsageError(t *testing.T) {
	r := &recorder{}
	bolt := NewOutputCollector(r, "split", map[string]int{"side": 0})
	spout := NewSpoutOutputCollector(spoutRecorder{r}, "words", nil)
	basic := BasicOutputCollector{out: bolt}
	for name, c := range map[string]struct {
		f    func()
		want string
	}{
		"Emit":              {func() { bolt.Emit(nil) }, `component "split" emits on stream "default", which it does not declare`},
		"EmitStream":        {func() { bolt.EmitStream("none", nil) }, `component "split" emits on stream "none", which it does not declare`},
		"EmitAnchors":       {func() { bolt.EmitAnchors("", nil) }, `component "split" emits on stream "", which it does not declare`},
		"EmitDirect":        {func() { bolt.EmitDirect(1, "x", nil) }, `component "split" emits on stream "x", which it does not declare`},
		"EmitDirectAnchors": {func() { bolt.EmitDirectAnchors(1, "x", nil) }, `component "split" emits on stream "x", which it does not declare`},
		"basic Emit":        {func() { basic.Emit() }, `component "split" emits on stream "default", which it does not declare`},
		"basic EmitStream":  {func() { basic.EmitStream("x") }, `component "split" emits on stream "x", which it does not declare`},
		"basic EmitDirect":  {func() { basic.EmitDirect(1, "x") }, `component "split" emits on stream "x", which it does not declare`},
		"spout Emit":        {func() { spout.Emit() }, `component "words" emits on stream "default", which it does not declare`},
		"spout EmitTracked": {func() { spout.EmitTracked(Int(1)) }, `component "words" emits on stream "default", which it does not declare`},
		"spout EmitStream":  {func() { spout.EmitStream("x", Int(1)) }, `component "words" emits on stream "x", which it does not declare`},
		"spout EmitDirect":  {func() { spout.EmitDirect(1, "x", Int(1)) }, `component "words" emits on stream "x", which it does not declare`},
	} {
		if got := usage(t, c.f); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	r.expect(t) // nothing was emitted, and nothing is tracked
}

// scriptedBasic is a BasicBolt that does what a test says.
type scriptedBasic struct {
	BaseBasicBolt
	execute func(t Tuple, out *BasicOutputCollector) error
	conf    Config
	ctx     *TopologyContext
}

func (b *scriptedBasic) Prepare(ctx *TopologyContext) error {
	b.ctx = ctx
	return nil
}
func (b *scriptedBasic) Execute(t Tuple, out *BasicOutputCollector) error { return b.execute(t, out) }
func (b *scriptedBasic) ComponentConfiguration() Config                   { return b.conf }

func TestBasicBolt(t *testing.T) {
	broken := errors.New("no route")
	for _, c := range []struct {
		name     string
		err      error
		settled  string
		reported []error
	}{
		{"nil acks", nil, "ack words [{1 100} {2 101}]", nil},
		{"an error is reported and fails", broken, "fail words [{1 100} {2 101}]", []error{broken}},
		{"ErrFail only fails", ErrFail, "fail words [{1 100} {2 101}]", nil},
		{"wrapped ErrFail only fails", fmt.Errorf("later: %w", ErrFail), "fail words [{1 100} {2 101}]", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &recorder{to: []TaskID{3}}
			bolt := &scriptedBasic{execute: func(in Tuple, out *BasicOutputCollector) error {
				if got := out.Emit(in.Value(0)); !slices.Equal(got, []TaskID{3}) {
					t.Errorf("Emit gives %v", got)
				}
				out.EmitStream("side", Int(1))
				out.EmitDirect(9, "side", Int(2))
				out.ResetTimeout()
				out.ReportError(nil)
				r.errs = nil
				return c.err
			}}
			runner := &basicRunner{BasicBolt: bolt}
			ctx := NewTopologyContext(ContextSpec{})
			if err := runner.Prepare(ctx, NewOutputCollector(r, "split", map[string]int{DefaultStream: 0, "side": 1})); err != nil || bolt.ctx != ctx {
				t.Errorf("Prepare: %v, context %p, want %p", err, bolt.ctx, ctx)
			}
			if err := runner.Execute(tracked(1, 2)); err != nil {
				t.Errorf("Execute: %v", err)
			}
			r.expect(t, "emit 0 [in] to [1 2]", "emit 1 [1] to [1 2]", "direct 1 task 9 [2] to [1 2]", "reset nobody [{1 100} {2 101}]", c.settled)
			if !slices.Equal(r.errs, c.reported) {
				t.Errorf("reported %v, want %v", r.errs, c.reported)
			}
		})
	}
}

func TestBasicBoltAnchorsToTheCurrentInputOnly(t *testing.T) {
	r := &recorder{}
	runner := &basicRunner{BasicBolt: &scriptedBasic{execute: func(in Tuple, out *BasicOutputCollector) error {
		out.Emit(in.Value(0))
		return nil
	}}}
	if err := runner.Prepare(nil, NewOutputCollector(r, "split", map[string]int{DefaultStream: 0})); err != nil {
		t.Fatal(err)
	}
	wide := NewTuple(testOrigin("a"), 1, []track.Anchor{{Root: 8, Edge: 1}}, Int(0), Int(1), Int(2), Int(3), Int(4))
	for _, in := range []Tuple{tracked(1, 2), tracked(3), tracked(), tracked(4, 5, 6), wide, tracked(7)} {
		if err := runner.Execute(in); err != nil {
			t.Fatal(err)
		}
	}
	r.expect(t,
		"emit 0 [in] to [1 2]", "ack words [{1 100} {2 101}]", "emit 0 [in] to [3]", "ack words [{3 100}]",
		"emit 0 [in] to []", "ack words []", "emit 0 [in] to [4 5 6]", "ack words [{4 100} {5 101} {6 102}]",
		"emit 0 [0] to [8]", "ack words [{8 1}]", "emit 0 [in] to [7]", "ack words [{7 100}]")
}

func TestBasicBoltConfiguration(t *testing.T) {
	runner := &basicRunner{BasicBolt: &scriptedBasic{conf: Config{"a": 1}}}
	if got := runner.ComponentConfiguration(); len(got) != 1 || got["a"] != 1 {
		t.Errorf("configuration is %v", got)
	}
}

// discard is an emitter that does nothing.
type discard struct{ recorder }

func (*discard) Emit(int, *Tuple) []TaskID { return nil }

func BenchmarkEmit(b *testing.B) {
	c := NewOutputCollector(&discard{}, "split", map[string]int{DefaultStream: 0})
	in := tracked(1)
	b.ReportAllocs()
	for b.Loop() {
		c.Emit(&in, String("word"), Int(1))
	}
}

func TestEmitAny(t *testing.T) {
	for _, xs := range [][]any{{}, {"a"}, {"a", 1, 2.5, nil}, {1, 2, 3, 4, 5}, {true}} {
		r := &recorder{}
		c := NewOutputCollector(r, "c", map[string]int{DefaultStream: 0})
		c.EmitAny(nil, 9, 8, 7, 6)
		c.EmitAny(nil, xs...)
		got := r.tuples[1].Values()
		if want := Values(xs...); !List(got...).Equal(List(want...)) {
			t.Errorf("EmitAny(%v) emits %v", xs, got)
		}
	}
}
