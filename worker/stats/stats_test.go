package stats

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return t0.Add(d) }

func boltSpec() Spec {
	return Spec{
		Component: "count",
		Outputs:   []string{"default", "__metrics"},
		Inputs:    []Input{{"split", "default"}, {"__system", "__tick"}},
	}
}

func spoutSpec() Spec {
	return Spec{Component: "words", Spout: true, Outputs: []string{"default", "errors"}}
}

func TestNamesOfStorm(t *testing.T) {
	want := []string{"600", "10800", "86400", ":all-time"}
	if got := Windows(); !reflect.DeepEqual(got, want) {
		t.Errorf("Windows() = %v, want %v", got, want)
	}
	for i, w := range rotating() {
		if w.name != want[i] || w.name != strconv.Itoa(int(w.length/time.Second)) {
			t.Errorf("window %q is %v long", w.name, w.length)
		}
	}
	if got := (Input{"split", "default"}).String(); got != "split:default" {
		t.Errorf("Input = %q", got)
	}
}

func TestBoltCounts(t *testing.T) {
	e := New(boltSpec(), t0)
	e.Emitted(0, 10, 20)
	e.Emitted(0, 1, 0)
	e.Emitted(1, 2, 2)
	e.Executed(0, 100, 90, 3)
	e.Executed(0, 0, 5, 1) // acked long after Execute
	e.Executed(1, 7, 0, 0)
	e.ObserveExecute(0, 2*time.Millisecond)
	e.ObserveExecute(0, 4*time.Millisecond)
	e.ObserveExecute(1, time.Microsecond)
	e.ObserveProcess(0, 9*time.Millisecond)
	e.ObserveProcess(0, -time.Second) // a clock set back is no time

	s := e.Snapshot(at(100 * time.Second))
	want := Window{
		Span: 100 * time.Second,
		Outputs: map[string]Output{
			"default":   {Emitted: 11, Transferred: 20},
			"__metrics": {Emitted: 2, Transferred: 2},
		},
		Inputs: map[Input]Received{
			{"split", "default"}: {
				Executed: 100, Acked: 95, Failed: 4,
				Execute: Latency{2, 6 * time.Millisecond},
				Process: Latency{2, 9 * time.Millisecond},
			},
			{"__system", "__tick"}: {Executed: 7, Execute: Latency{1, time.Microsecond}},
		},
	}
	if len(s.Windows) != 4 {
		t.Errorf("%d windows, want 4", len(s.Windows))
	}
	for _, name := range Windows() {
		if got := s.Windows[name]; !reflect.DeepEqual(got, want) {
			t.Errorf("window %s\n got %+v\nwant %+v", name, got, want)
		}
	}
	if s.Component != "count" || s.Spout || s.Executors != 1 || s.Uptime != 100*time.Second {
		t.Errorf("snapshot says %q spout=%v executors=%d uptime=%v", s.Component, s.Spout, s.Executors, s.Uptime)
	}
	// 100 tuples of 3 ms and 7 of 1 us in 100 s.
	if want := (100*3e6 + 7*1e3) / 100e9; s.Capacity != want {
		t.Errorf("capacity %v, want %v", s.Capacity, want)
	}
	if s.Complete != nil || s.Execute.Samples() != 3 || s.Process.Samples() != 2 {
		t.Errorf("distributions of %v, %d, %d samples", s.Complete, s.Execute.Samples(), s.Process.Samples())
	}
}

func TestSpoutCounts(t *testing.T) {
	e := New(spoutSpec(), t0)
	e.Emitted(0, 5, 10)
	e.Emitted(1, 1, 1)
	e.SpoutDone(0, 3, 1)
	e.SpoutDone(1, 0, 1)
	e.ObserveComplete(0, 30*time.Millisecond)
	e.ObserveComplete(0, 15*time.Millisecond)

	s := e.Snapshot(at(time.Minute))
	want := map[string]Output{
		"default": {Emitted: 5, Transferred: 10, Acked: 3, Failed: 1, Complete: Latency{2, 45 * time.Millisecond}},
		"errors":  {Emitted: 1, Transferred: 1, Failed: 1},
	}
	if got := s.Windows[AllTime].Outputs; !reflect.DeepEqual(got, want) {
		t.Errorf("outputs\n got %+v\nwant %+v", got, want)
	}
	if !s.Spout || s.Capacity != 0 || s.Execute != nil || s.Process != nil || s.Complete.Samples() != 2 {
		t.Errorf("spout=%v capacity=%v execute=%v process=%v complete=%d", s.Spout, s.Capacity, s.Execute, s.Process, s.Complete.Samples())
	}
	if got := want["default"].Complete; got.Millis() != 22.5 || got.Mean() != 22500*time.Microsecond {
		t.Errorf("mean %v, %v ms", got.Mean(), got.Millis())
	}
	if got := (Latency{}); got.Millis() != 0 || got.Mean() != 0 {
		t.Errorf("mean of nothing %v, %v ms", got.Mean(), got.Millis())
	}
}

func TestFreshSnapshotHasAllKeys(t *testing.T) {
	s := New(boltSpec(), t0).Snapshot(t0)
	for _, name := range Windows() {
		w := s.Windows[name]
		if w.Span != 0 || len(w.Outputs) != 2 || len(w.Inputs) != 2 {
			t.Errorf("window %s: %+v", name, w)
		}
	}
	if s.Capacity != 0 || s.Execute.Quantile(0.5) != 0 || s.Execute.Percentiles() != (Percentiles{}) {
		t.Errorf("capacity %v, percentiles %v", s.Capacity, s.Execute.Percentiles())
	}
}

func TestMisusePanics(t *testing.T) {
	e := New(boltSpec(), t0)
	tests := []struct {
		name, message string
		do            func()
	}{
		{"output twice", `output stream "a" of component "c" is listed twice`, func() {
			New(Spec{Component: "c", Outputs: []string{"a", "b", "a"}}, t0)
		}},
		{"input twice", `input "a:b" of component "c" is listed twice`, func() {
			New(Spec{Component: "c", Inputs: []Input{{"a", "b"}, {"a", "b"}}}, t0)
		}},
		{"no such output", "index out of range", func() { e.Emitted(2, 1, 1) }},
		{"no such input", "index out of range", func() { e.Executed(2, 1, 1, 1) }},
		{"negative input", "index out of range", func() { e.Executed(-1, 1, 1, 1) }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			defer func() {
				if got := panicText(recover()); !strings.Contains(got, tc.message) {
					t.Errorf("panic %q, want %q in it", got, tc.message)
				}
			}()
			tc.do()
		})
	}
	if got := e.Snapshot(t0).Windows[AllTime].Totals(true); got != (Totals{}) {
		t.Errorf("a refused call counted: %+v", got)
	}
}

func panicText(p any) string {
	switch p := p.(type) {
	case error:
		return p.Error()
	case string:
		return p
	default:
		return ""
	}
}

func TestTotals(t *testing.T) {
	e := New(boltSpec(), t0)
	e.Emitted(0, 1, 2)
	e.Emitted(1, 10, 20)
	e.Executed(0, 3, 2, 1)
	e.Executed(1, 30, 20, 10)
	e.ObserveExecute(0, time.Millisecond)
	e.ObserveExecute(1, time.Second)
	e.ObserveProcess(0, 2*time.Millisecond)
	w := e.Snapshot(at(time.Second)).Windows[AllTime]
	want := Totals{
		Emitted: 1, Transferred: 2, Executed: 3, Acked: 2, Failed: 1,
		Execute: Latency{1, time.Millisecond}, Process: Latency{1, 2 * time.Millisecond},
	}
	if got := w.Totals(false); got != want {
		t.Errorf("without system streams\n got %+v\nwant %+v", got, want)
	}
	want = Totals{
		Emitted: 11, Transferred: 22, Executed: 33, Acked: 22, Failed: 11,
		Execute: Latency{2, time.Second + time.Millisecond}, Process: Latency{1, 2 * time.Millisecond},
	}
	if got := w.Totals(true); got != want {
		t.Errorf("with system streams\n got %+v\nwant %+v", got, want)
	}
}
