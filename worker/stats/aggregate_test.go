package stats

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAggregate(t *testing.T) {
	busy, idle := New(boltSpec(), t0), New(boltSpec(), at(50*time.Second))
	busy.Executed(0, 100, 100, 0)
	busy.ObserveExecute(0, 10*time.Millisecond)
	busy.ObserveProcess(0, time.Second)
	busy.Emitted(0, 7, 8)
	idle.Executed(0, 1, 0, 1)
	idle.ObserveExecute(0, 40*time.Millisecond)
	idle.ObserveExecute(0, 40*time.Millisecond)
	now := at(100 * time.Second)
	parts := []Snapshot{busy.Snapshot(now), idle.Snapshot(now)}

	got := Aggregate(parts)
	if got.Component != "count" || got.Executors != 2 || got.Uptime != 100*time.Second || got.Spout {
		t.Errorf("%q executors=%d uptime=%v spout=%v", got.Component, got.Executors, got.Uptime, got.Spout)
	}
	if got.Capacity != 0.01 {
		t.Errorf("capacity %v, want 0.01", got.Capacity)
	}
	r := got.Windows[TenMinutes].Inputs[Input{"split", "default"}]
	want := Received{
		Executed: 101, Acked: 100, Failed: 1,
		Execute: Latency{3, 90 * time.Millisecond}, Process: Latency{1, time.Second},
	}
	if r != want {
		t.Errorf("input\n got %+v\nwant %+v", r, want)
	}
	if out := got.Windows[AllTime].Outputs["default"]; out != (Output{Emitted: 7, Transferred: 8}) {
		t.Errorf("output %+v", out)
	}
	if got.Windows[OneDay].Span != 100*time.Second {
		t.Errorf("span %v", got.Windows[OneDay].Span)
	}
	if got.Execute.Samples() != 3 || got.Process.Samples() != 1 || got.Complete != nil {
		t.Errorf("distributions of %d, %d, %v", got.Execute.Samples(), got.Process.Samples(), got.Complete)
	}
	if p := got.Execute.Quantile(0.3); p < 10*time.Millisecond || p > 10100*time.Microsecond {
		t.Errorf("quantile 0.3 is %v, want about 10ms", p)
	}
	if parts[0].Execute.Samples() != 1 || parts[0].Windows[AllTime].Outputs["default"].Emitted != 7 {
		t.Error("Aggregate changed what it was given")
	}
	if zero := Aggregate(nil); !reflect.DeepEqual(zero, Snapshot{}) {
		t.Errorf("of nothing: %+v", zero)
	}
}

func TestTopology(t *testing.T) {
	spout := New(spoutSpec(), t0)
	spout.Emitted(0, 100, 200)
	spout.SpoutDone(0, 80, 20)
	spout.ObserveComplete(0, 12*time.Millisecond)
	bolt := New(boltSpec(), t0)
	bolt.Emitted(0, 5, 5)
	bolt.Emitted(1, 1000, 1000) // __metrics
	bolt.Executed(0, 200, 190, 10)
	acker := New(Spec{Component: "__acker", Outputs: []string{"default"}, Inputs: []Input{{"words", "__ack_init"}}}, t0)
	acker.Emitted(0, 10_000, 10_000)
	acker.Executed(0, 100, 100, 0)
	now := at(time.Minute)
	snaps := []Snapshot{spout.Snapshot(now), bolt.Snapshot(now), acker.Snapshot(now)}

	want := TopologyTotals{
		Span: time.Minute, Emitted: 105, Transferred: 205, Acked: 80, Failed: 20,
		Complete: Latency{1, 12 * time.Millisecond},
	}
	for name, got := range Topology(snaps, false) {
		if got != want {
			t.Errorf("window %s\n got %+v\nwant %+v", name, got, want)
		}
	}
	want.Emitted, want.Transferred = 11_105, 11_205
	all := Topology(snaps, true)
	for _, name := range Windows() {
		if all[name] != want {
			t.Errorf("window %s with system\n got %+v\nwant %+v", name, all[name], want)
		}
	}
	if got := Topology(nil, true); len(got) != 4 || got[AllTime] != (TopologyTotals{}) {
		t.Errorf("of nothing: %+v", got)
	}

	by := ByComponent(append(snaps, bolt.Snapshot(now)))
	if len(by) != 3 || by["count"].Executors != 2 || by["count"].Windows[AllTime].Outputs["default"].Emitted != 10 || by["__acker"].Executors != 1 {
		t.Errorf("by component: %d, %+v", len(by), by["count"].Windows[AllTime].Outputs)
	}
}

// TestAggregateInAnyOrder: adding up executors worker by worker and then the
// workers is the same as adding up all executors.
func TestAggregateInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var snaps []Snapshot
		for range rapid.IntRange(2, 6).Draw(t, "executors") {
			e := New(boltSpec(), at(time.Duration(rapid.IntRange(0, 100).Draw(t, "start"))*time.Second))
			for range rapid.IntRange(0, 5).Draw(t, "batches") {
				in := rapid.IntRange(0, 1).Draw(t, "in")
				n := rapid.Uint64Range(0, 100).Draw(t, "n")
				e.Executed(in, n, n/2, n/3)
				e.Emitted(in, n, 3*n)
				e.ObserveExecute(in, time.Duration(nanoseconds().Draw(t, "d"))%time.Hour)
			}
			snaps = append(snaps, e.Snapshot(at(200*time.Second)))
		}
		cut := rapid.IntRange(1, len(snaps)-1).Draw(t, "cut")
		left, right := Aggregate(snaps[:cut]), Aggregate(snaps[cut:])
		all, parts := Aggregate(snaps), Aggregate([]Snapshot{right, left})
		if !reflect.DeepEqual(all, parts) {
			t.Fatalf("all\n%+v\nparts\n%+v", all, parts)
		}
	})
}
