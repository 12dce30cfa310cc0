package multilang

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

func TestHandshakeTellsWhatStormTells(t *testing.T) {
	t.Parallel()
	r := newRig(t, storm.Config{"a": []string{"x"}, "b": 1, "c": 1.0, "d": map[string]any{"e": nil}, "f": []int{1}})
	defer close(r.posts)
	b, err := protocol.JSON{}.NewEncoder().Object(nil, handshake(r.ctx, "/pids"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{
		"pidDir": "/pids",
		"conf": {"a": ["x"], "b": 1, "c": 1.0, "d": {"e": null}, "f": [1]},
		"context": {
			"task->component": {"1": "in", "2": "out", "3": "out", "4": "shell"},
			"taskid": 4, "componentid": "shell",
			"streams": ["default", "other"],
			"stream->outputfields": {"default": ["word", "n"], "other": ["x"]},
			"stream->target->grouping": {"default": {"out": {"type": "SHUFFLE"}}},
			"source->stream->grouping": {"in": {"default": {"type": "FIELDS", "fields": ["word"]}}},
			"source->stream->fields": {"in": {"default": ["word", "n"]}}
		},
		"stormring": ["state", "pipeline"]
	}`
	var got, wanted any
	if err := errors.Join(json.Unmarshal(b[:len(b)-len("\nend\n")], &got), json.Unmarshal([]byte(want), &wanted)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("got %s", b)
	}
}

func TestSettings(t *testing.T) {
	s, err := readSettings(storm.Config{"topology.subprocess.timeout.secs": 7, "topology.shellbolt.max.pending": 3, "topology.message.timeout.secs": 10})
	if err != nil || s.timeout != 7*time.Second || s.start != 28*time.Second || s.maxPending != 3 || s.forget != 40*time.Second || s.strict || s.maxMessage != 64<<20 {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = readSettings(storm.Config{"supervisor.worker.timeout.secs": 9, "topology.enable.message.timeouts": false})
	if err != nil || s.timeout != 9*time.Second || s.forget != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = readSettings(storm.Config{"topology.shellbolt.max.pending": 0, "stormring.multilang.max.restarts": "x", "topology.multilang.serializer": "a.b.Xml"})
	for _, part := range []string{"topology.shellbolt.max.pending is 0", "stormring.multilang.max.restarts wants a whole number", `serializer is "a.b.Xml"`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

func TestSerializers(t *testing.T) {
	for name, want := range map[string]protocol.Codec{
		"": protocol.JSON{}, "org.apache.storm.multilang.JsonSerializer": protocol.JSON{}, "json": protocol.JSON{},
		"msgpack": protocol.Msgpack{}, "com.yelp.pyleus.serializer.MessagePackSerializer": protocol.Msgpack{},
	} {
		if got, err := codecOf(name); got != want || err != nil {
			t.Errorf("%q: %T, %v", name, got, err)
		}
	}
}

func TestTries(t *testing.T) {
	set := settings{maxRestarts: 4, firstTries: 3, backoff: 10, maxBackoff: 50, healthy: 1000}
	var n tries
	var got []string
	for _, step := range []struct {
		lived time.Duration
		ready bool
	}{{1, false}, {1, false}, {1, true}, {1, true}, {2000, true}, {1, true}, {1, true}, {1, true}, {1, false}} {
		wait, again := n.next(set, step.lived, step.ready)
		got = append(got, fmt.Sprint(int64(wait), again))
	}
	want := []string{"10 true", "20 true", "40 true", "50 true", "10 true", "20 true", "40 true", "50 true", "50 false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	n = tries{}
	for i := range 3 {
		if _, again := n.next(set, 1, false); again != (i < 2) {
			t.Errorf("try %d that never answered: again %t", i+1, again)
		}
	}
}

func TestLinesAndLastWords(t *testing.T) {
	var got []string
	var l lineCutter
	say := func(s string) { got = append(got, s) }
	for _, piece := range []string{"a\r\nb", "c\n\n", strings.Repeat("x", maxLine+3), "\nd\xff"} {
		l.add([]byte(piece), say)
	}
	l.end(say)
	if want := []string{"a", "bc", strings.Repeat("x", maxLine), "xxx", "d\ufffd"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	var w lastWords
	if w.String() != "" {
		t.Errorf("no words are %q", w.String())
	}
	for i := range 25 {
		w.add(fmt.Sprint(i))
	}
	w.add(strings.Repeat("y", 1000))
	lines := strings.Split(w.String(), "\n")
	if len(lines) != keptLines+1 || lines[1] != "6" || lines[keptLines] != strings.Repeat("y", keptLine)+"…" {
		t.Errorf("%q", lines)
	}
}

func TestLimiter(t *testing.T) {
	var l limiter
	now := time.Unix(100, 0)
	passed := 0
	for range 3 * linesPerSecond {
		if ok, _ := l.allow(now); ok {
			passed++
		}
	}
	if passed != linesPerSecond || l.left() != 2*linesPerSecond {
		t.Errorf("%d passed, %d are left", passed, l.left())
	}
	if ok, skipped := l.allow(now.Add(time.Second)); !ok || skipped != 2*linesPerSecond || l.left() != 0 {
		t.Errorf("%t, %d", ok, skipped)
	}
}

// nowhere is a pipe that nobody writes to.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Close() error                { return nil }

func TestWindowOpensWhenInputsAreSettledOrRead(t *testing.T) {
	o := newOutbox(protocol.JSON{}.NewEncoder(), nowhere{}, 2)
	send := func() uint64 { o.after++; return o.epoch }
	first := send()
	if o.full() {
		t.Fatal("full with one of two")
	}
	send()
	if !o.full() {
		t.Fatal("not full with two of two")
	}
	if _, owes, _ := o.owes(); !owes {
		t.Fatal("no heartbeat asks whether they have been read")
	}
	o.settled(first)
	if o.full() {
		t.Fatal("full after one of two was settled")
	}
	third := send()
	if !o.full() {
		t.Fatal("not full again")
	}
	o.synced()
	if o.full() || o.before+o.after != 1 {
		t.Fatalf("%d+%d in flight after an answer to what came before the third", o.before, o.after)
	}
	o.settled(first) // late; it does not count any more
	o.settled(third)
	if o.before+o.after != 0 {
		t.Errorf("%d+%d in flight in the end", o.before, o.after)
	}
}

// TestForgottenInputsDoNotStay is about children that never settle an input.
func TestForgottenInputsDoNotStay(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{tune: func(s *settings) { s.forget = time.Nanosecond }}, "nasty.py", "holds")
	r.send(b, 1, 999, word("a")...)
	if n := len(b.pending) + len(b.old); n > 2*turnsPerLook {
		t.Errorf("%d inputs are kept", n)
	}
	r.send(b, 1000, 1, word("a")...)
	<-time.After(100 * time.Millisecond)
	if len(r.errs) > 0 {
		t.Errorf("errors %q", r.errs)
	}
}

func TestTicksThatAreNotAckedDoNotStay(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "holds")
	tick := storm.NewTuple(&track.Origin{Component: storm.SystemComponent, Stream: storm.TickStream, Task: -1}, 4, nil, storm.Int(1))
	for range 300 {
		r.on(func() { _ = b.Execute(tick) })
	}
	if n := len(b.pending); n != keptTicks {
		t.Errorf("%d are kept", n)
	}
}

// TestTaskThatIsNeverIdleIsNotFloodedWithCalls is about a task that executes
// without end, so that nothing given to Do is called meanwhile.
func TestTaskThatIsNeverIdleIsNotFloodedWithCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "plain")
	origin := &track.Origin{Component: "in", Stream: "default", Task: 1, ID: 1, Fields: []string{"word", "n"}}
	r.on(func() {
		for i := range 5000 {
			tp := storm.NewTuple(origin, 4, []track.Anchor{{Root: track.Root(i + 1), Edge: 1}}, word("a")...)
			if err := b.Execute(tp); err != nil {
				t.Error(err)
				return
			}
			if n := len(r.posts); n > 1 {
				t.Errorf("%d calls are queued after %d tuples", n, i)
				return
			}
		}
	})
	r.until("all acks", r.acked(5000))
}
