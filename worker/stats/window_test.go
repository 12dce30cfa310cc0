package stats

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// emitted are the counts of output 0 by window, in the order of Windows().
func emitted(e *Executor, now time.Time) []uint64 {
	s := e.Snapshot(now)
	var got []uint64
	for _, name := range Windows() {
		got = append(got, s.Windows[name].Outputs["default"].Emitted)
	}
	return got
}

func TestWindowEdges(t *testing.T) {
	const ms = time.Millisecond
	type step struct {
		at   time.Duration
		tick bool
		emit uint64
		want []uint64 // nil: not looked at
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"a bucket leaves when all of it is older than the window", []step{
			{at: 10 * time.Second, emit: 1},
			{at: 30 * time.Second, tick: true},
			{at: 30*time.Second + ms, emit: 2},
			{at: 60 * time.Second, tick: true},
			{at: 630*time.Second - ms, want: []uint64{3, 3, 3, 3}},
			{at: 630 * time.Second, want: []uint64{2, 3, 3, 3}},
			{at: 660*time.Second - ms, want: []uint64{2, 3, 3, 3}},
			{at: 660 * time.Second, want: []uint64{0, 3, 3, 3}},
		}},
		{"the running bucket counts", []step{
			{at: 30 * time.Second, tick: true},
			{at: 31 * time.Second, emit: 5, want: []uint64{5, 5, 5, 5}},
		}},
		{"nothing is forgotten without ticks", []step{
			{at: time.Second, emit: 4},
			{at: 48 * time.Hour, want: []uint64{4, 4, 4, 4}},
			{at: 48 * time.Hour, tick: true, want: []uint64{4, 4, 4, 4}},
			{at: 48*time.Hour + 10*time.Minute, want: []uint64{0, 4, 4, 4}},
			{at: 51 * time.Hour, want: []uint64{0, 0, 4, 4}},
			{at: 72*time.Hour - ms, want: []uint64{0, 0, 4, 4}},
			{at: 72 * time.Hour, want: []uint64{0, 0, 0, 4}},
		}},
		{"a bucket ends at the first tick after its end", []step{
			{at: 29 * time.Second, tick: true},
			{at: 33 * time.Second, emit: 1},
			{at: 34 * time.Second, tick: true},
			{at: 35 * time.Second, emit: 2},
			{at: 59 * time.Second, tick: true},
			{at: 61 * time.Second, tick: true},
			{at: 634*time.Second - ms, want: []uint64{3, 3, 3, 3}},
			{at: 634 * time.Second, want: []uint64{2, 3, 3, 3}},
			{at: 661 * time.Second, want: []uint64{0, 3, 3, 3}},
		}},
		{"time that goes back changes nothing", []step{
			{at: 30 * time.Second, emit: 1},
			{at: 60 * time.Second, tick: true},
			{at: 59 * time.Second, emit: 1},
			{at: -time.Hour, tick: true, want: []uint64{2, 2, 2, 2}},
			{at: 660 * time.Second, want: []uint64{1, 2, 2, 2}},
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			e := New(spoutSpec(), t0)
			for _, s := range tc.steps {
				if s.emit != 0 {
					e.Emitted(0, s.emit, 0)
				}
				if s.tick {
					e.Tick(at(s.at))
				}
				if s.want == nil {
					continue
				}
				if got := emitted(e, at(s.at)); !slices.Equal(got, s.want) {
					t.Errorf("at %v: %v, want %v", s.at, got, s.want)
				}
			}
		})
	}
}

func TestSteadyStateOfADay(t *testing.T) {
	// A tuple a second for two days, ticks every five seconds: a window holds
	// its length in tuples, and at most a bucket more.
	e := New(spoutSpec(), t0)
	for sec := range 48 * 3600 {
		if sec%5 == 0 {
			e.Tick(at(time.Duration(sec) * time.Second))
		}
		e.Emitted(0, 1, 1)
	}
	past := e.past.Load()
	for i, w := range past.windows {
		if len(w) > bucketsPerWindow+2 {
			t.Errorf("window %d keeps %d marks", i, len(w))
		}
	}
	if n := len(past.complete); n > 7 {
		t.Errorf("%d marks of the histogram", n)
	}
	// The second before 48 h was the last: 10-minute buckets end each 30 s.
	got := emitted(e, at(48*time.Hour))
	want := []uint64{600 + 0, 10800 + 0, 86400 + 0, 172800}
	if !slices.Equal(got, want) {
		t.Errorf("at the edge %v, want %v", got, want)
	}
	got = emitted(e, at(48*time.Hour-time.Second))
	want = []uint64{600 + 29, 10800 + 539, 86400 + 4319, 172800}
	// What is counted is one tuple more than the time asked about.
	for i := range 3 {
		want[i]++
	}
	if !slices.Equal(got, want) {
		t.Errorf("just before the edge %v, want %v", got, want)
	}
}

func TestCapacityOverCoveredTime(t *testing.T) {
	e := New(boltSpec(), t0)
	for sec := range 3600 {
		now := at(time.Duration(sec) * time.Second)
		if sec%10 == 0 {
			e.Tick(now)
		}
		// Idle for 50 minutes, then a quarter of each second is spent.
		if sec >= 3000 {
			e.Executed(0, 25, 25, 0)
			e.ObserveExecute(0, 10*time.Millisecond)
		}
	}
	if got := e.Snapshot(at(3600 * time.Second)).Capacity; got != 0.25 {
		t.Errorf("capacity %v, want 0.25", got)
	}
	// Fifteen seconds later 615 s are covered; nothing was added.
	if got, want := e.Snapshot(at(3615*time.Second)).Capacity, 150.0/615; got != want {
		t.Errorf("capacity %v, want %v", got, want)
	}
}

// twin remembers everything and rotates nothing.
type twin struct {
	events []event
	ticks  []event // n is the number of events before the tick
}

type event struct {
	at time.Duration
	n  uint64
}

// sum is the window's value at now, worked out from all that ever happened.
func (w *twin) sum(now, length time.Duration) (n uint64, from time.Duration) {
	step := length / bucketsPerWindow
	bucket := time.Duration(0)
	var base event
	for _, tick := range w.ticks {
		if tick.at/step == bucket {
			continue
		}
		bucket = tick.at / step
		if tick.at <= now-length {
			base = tick
		}
	}
	for _, ev := range w.events[base.n:] {
		n += ev.n
	}
	return n, base.at
}

// younger is the sum of what happened after from.
func (w *twin) younger(from time.Duration) (n uint64) {
	for _, ev := range w.events {
		if ev.at > from {
			n += ev.n
		}
	}
	return n
}

// longestGap is the longest time without a tick.
func (w *twin) longestGap(now time.Duration) time.Duration {
	var last, gap time.Duration
	for _, tick := range w.ticks {
		gap = max(gap, tick.at-last)
		last = tick.at
	}
	return max(gap, now-last)
}

func TestWindowsMatchTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// From seconds to hours, so that each window is put to the test.
		scale := rapid.SampledFrom([]int{2_000, 40_000, 600_000, 5_000_000}).Draw(t, "scale")
		e := New(spoutSpec(), t0)
		w := &twin{}
		now := time.Duration(0)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, scale).Draw(t, "ms")) * time.Millisecond
			switch rapid.IntRange(0, 5).Draw(t, "do") {
			case 0, 1:
				n := rapid.Uint64Range(1, 1000).Draw(t, "n")
				e.Emitted(0, n, 2*n)
				w.events = append(w.events, event{now, n})
			case 2, 3, 4:
				e.Tick(at(now))
				w.ticks = append(w.ticks, event{now, uint64(len(w.events))})
			default:
				compare(t, e, w, now)
			}
		}
		compare(t, e, w, now)
	})
}

func compare(t *rapid.T, e *Executor, w *twin, now time.Duration) {
	s := e.Snapshot(at(now))
	for _, win := range rotating() {
		got := s.Windows[win.name]
		n, from := w.sum(now, win.length)
		if out := got.Outputs["default"]; out.Emitted != n || out.Transferred != 2*n {
			t.Fatalf("at %v window %s: %+v, want %d emitted", now, win.name, out, n)
		}
		if got.Span != now-from {
			t.Fatalf("at %v window %s covers %v, want %v", now, win.name, got.Span, now-from)
		}
		if least := w.younger(now - win.length); n < least {
			t.Fatalf("at %v window %s: %d, but %d are younger", now, win.name, n, least)
		}
		if most := win.length + win.length/bucketsPerWindow + w.longestGap(now); got.Span > most {
			t.Fatalf("at %v window %s covers %v, more than %v", now, win.name, got.Span, most)
		}
	}
	if got := s.Windows[AllTime].Outputs["default"].Emitted; got != w.younger(-1) {
		t.Fatalf("at %v all time: %d, want %d", now, got, w.younger(-1))
	}
}
