package advertising

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/storm"
)

// opened is a spout task that has its state.
type opened struct {
	*spout
	*lineEmitter
	clock time.Time
}

func openSpout(t rapid.TB, d Data, rate, rank, n int, s storm.State) *opened {
	t.Helper()
	o := &opened{lineEmitter: &lineEmitter{}, clock: time.Unix(0, 0)}
	o.spout = &spout{data: d, rate: rate, job: newJob(d.Events, 1), now: func() time.Time { return o.clock }}
	must(t, o.Open(taskContext("events", rank, n), storm.NewSpoutOutputCollector(o.lineEmitter, "events", map[string]int{storm.DefaultStream: 0})))
	must(t, o.InitState(s))
	return o
}

// take returns the lines of n calls of NextTuple.
func (o *opened) take(n int) []string {
	before := len(o.lines)
	for range n {
		o.NextTuple()
	}
	return slices.Clone(o.lines[before:])
}

// TestTasksShare has tasks emit each event once, together.
func TestTasksShare(t *testing.T) {
	for _, c := range []struct{ events, tasks int }{{10, 1}, {10, 3}, {2, 4}, {9, 3}} {
		d := DefaultData(7, int64(c.events))
		g := newGenerator(d)
		want := map[string]int{}
		for n := range d.Events {
			line, arrived := g.next(n)
			want[fmt.Sprint(line, arrived)]++
		}
		for rank := range c.tasks {
			o := openSpout(t, d, 0, rank, c.tasks, storm.NewMapState())
			o.take(c.events + 1)
			for i, line := range o.lines {
				want[fmt.Sprint(line, o.arrived[i])]--
			}
		}
		for line, n := range want {
			if n != 0 {
				t.Errorf("%+v: of event %s there are %d too few", c, line, n)
			}
		}
	}
}

func TestRewind(t *testing.T) {
	state := storm.NewMapState()
	o := openSpout(t, DefaultData(1, 100), 0, 1, 2, state)
	o.take(5)
	if state.Len() != 0 {
		t.Error("the position is in the state before a checkpoint")
	}
	must(t, o.PrePrepare(1))
	saved := clone(state)
	want := o.take(100)
	if len(want) != 45 || o.Exhausted() || o.job.progress() != 0.5 {
		t.Fatalf("%d events, exhausted %t, progress %v", len(want), o.Exhausted(), o.job.progress())
	}
	for _, id := range o.ids[:50] { // though nothing is committed
		o.Ack(storm.Int(id))
	}
	if !o.Exhausted() {
		t.Error("not exhausted when all is acked")
	}
	must(t, o.InitState(clone(saved)))
	if got := o.take(100); !slices.Equal(got, want) {
		t.Errorf("after going back it emits\n%q\nwant\n%q", got, want)
	}
	// The same in another process.
	if got := openSpout(t, DefaultData(1, 100), 0, 1, 2, clone(saved)).take(100); !slices.Equal(got, want) {
		t.Errorf("after a restart it emits\n%q\nwant\n%q", got, want)
	}
	// A failed tree has it emit nothing, nor is it over.
	o.Fail(storm.Int(o.ids[60]))
	if got := o.take(5); len(got) > 0 || o.Exhausted() {
		t.Errorf("emits %q, exhausted %t", got, o.Exhausted())
	}
	must(t, o.InitState(storm.NewMapState()))
	if got := len(o.take(100)); got != 50 {
		t.Errorf("from the begin there are %d events", got)
	}
	for _, id := range o.ids[:95] { // of earlier times
		o.Ack(storm.Int(id))
	}
	if o.pending != 50 || o.Exhausted() {
		t.Errorf("%d pending, exhausted %t", o.pending, o.Exhausted())
	}
	for _, id := range o.ids[95:] {
		o.Ack(storm.Int(id))
	}
	if !o.Exhausted() {
		t.Errorf("not exhausted, %d pending", o.pending)
	}
}

func TestRate(t *testing.T) {
	o := openSpout(t, DefaultData(1, 0), 30, 0, 3, storm.NewMapState())
	for i, c := range []struct {
		after time.Duration
		want  int
	}{{0, 0}, {99 * time.Millisecond, 0}, {time.Millisecond, 1}, {900 * time.Millisecond, 9}, {0, 0}} {
		o.clock = o.clock.Add(c.after)
		if got := len(o.take(20)); got != c.want {
			t.Errorf("step %d: %d events, want %d", i, got, c.want)
		}
	}
	// Going back is no reason to hurry.
	must(t, o.InitState(storm.NewMapState()))
	o.clock = o.clock.Add(time.Second)
	if got := len(o.take(50)); got != 10 {
		t.Errorf("after going back %d events a second", got)
	}
	must(t, o.PrePrepare(1))
	saved := clone(storm.NewMapState())
	storm.NewKeyValueState(saved, storm.StringCodec, storm.IntCodec).Put(positionKey, 1000)
	must(t, o.InitState(saved))
	if got := len(o.take(50)); got != 0 {
		t.Errorf("a position far on is no reason to emit %d events at once", got)
	}
	if o.Exhausted() {
		t.Error("an endless spout is exhausted")
	}
}

// fullState takes nothing.
type fullState struct{ *storm.MapState }

var errFull = errors.New("full")

func (fullState) Put([]byte, []byte) error { return errFull }

func TestSpoutErrors(t *testing.T) {
	o := openSpout(t, DefaultData(1, 100), 0, 0, 1, fullState{storm.NewMapState()})
	if err := o.PrePrepare(1); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	for _, position := range []int64{-1, 101} {
		s := storm.NewMapState()
		must(t, storm.NewKeyValueState(s, storm.StringCodec, storm.IntCodec).Put(positionKey, position))
		if err := o.InitState(s); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("has emitted %d events, but of 100 it has 100", position)) {
			t.Errorf("position %d: %v", position, err)
		}
	}
	s := storm.NewMapState()
	must(t, s.Put([]byte(positionKey), []byte("x")))
	if err := o.InitState(s); err == nil || !strings.Contains(err.Error(), "find where to go on") {
		t.Errorf("got %v", err)
	}
}
