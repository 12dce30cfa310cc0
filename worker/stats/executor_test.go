package stats

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestOneWriterManyReaders: while an executor counts, others tick and look;
// what they see only grows, effects never come before causes, and in the end
// nothing is missing.
func TestOneWriterManyReaders(t *testing.T) {
	const batches = 20_000
	e := New(boltSpec(), t0)
	var seconds atomic.Int64
	now := func() time.Time { return at(time.Duration(seconds.Load()) * time.Second) }
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !done.Load() {
				seconds.Add(7)
				e.Tick(now())
			}
		})
		wg.Go(func() {
			var last Totals
			for !done.Load() {
				s := e.Snapshot(now())
				all := s.Windows[AllTime].Totals(true)
				if all.Executed < last.Executed || all.Emitted < last.Emitted || all.Acked < last.Acked {
					t.Errorf("all time went from %+v to %+v", last, all)
				}
				last = all
				for name, w := range s.Windows {
					checkOrder(t, name, w, all)
				}
			}
		})
	}
	for i := range batches {
		e.Executed(i%2, 100, 0, 0)
		e.Executed(i%2, 0, 90, 10)
		e.Emitted(0, 100, 200)
		e.ObserveExecute(i%2, time.Duration(i))
		e.ObserveProcess(i%2, time.Duration(2*i))
	}
	done.Store(true)
	wg.Wait()

	got := e.Snapshot(now()).Windows[AllTime].Totals(true)
	sum := time.Duration(batches * (batches - 1) / 2)
	want := Totals{
		Emitted: 100 * batches, Transferred: 200 * batches,
		Executed: 100 * batches, Acked: 90 * batches, Failed: 10 * batches,
		Execute: Latency{batches, sum}, Process: Latency{batches, 2 * sum},
	}
	if got != want {
		t.Errorf("in the end\n got %+v\nwant %+v", got, want)
	}
}

func checkOrder(t *testing.T, name string, w Window, all Totals) {
	t.Helper()
	if sum := w.Totals(true); sum.Executed > all.Executed || sum.Emitted > all.Emitted {
		t.Errorf("window %s: %+v of all %+v", name, sum, all)
	}
	if name != AllTime {
		return // a window may begin between a tuple and its ack
	}
	for in, r := range w.Inputs {
		if r.Acked+r.Failed > r.Executed {
			t.Errorf("input %v: %d acked and %d failed of %d", in, r.Acked, r.Failed, r.Executed)
		}
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	bolt, spout := New(boltSpec(), t0), New(spoutSpec(), t0)
	if n := testing.AllocsPerRun(100, func() {
		bolt.Emitted(0, 1, 1)
		bolt.Executed(1, 1, 1, 1)
		bolt.ObserveExecute(0, time.Second)
		bolt.ObserveProcess(1, time.Hour)
		bolt.Tick(at(29 * time.Second)) // within a bucket
		spout.SpoutDone(1, 1, 1)
		spout.ObserveComplete(0, time.Millisecond)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCount(b *testing.B) {
	e := New(boltSpec(), t0)
	spout := New(spoutSpec(), t0)
	calls := []struct {
		name string
		call func()
	}{
		{"emitted", func() { e.Emitted(0, 100, 100) }},
		{"executed", func() { e.Executed(0, 100, 100, 0) }},
		{"spoutDone", func() { spout.SpoutDone(0, 100, 0) }},
		{"observe", func() { e.ObserveExecute(0, 1234) }},
		{"tick", func() { e.Tick(t0) }},
	}
	for _, c := range calls {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.call()
			}
		})
	}
}

// BenchmarkCountWatched is a batch of a bolt while somebody takes snapshots
// without a pause, which is far more often than happens.
func BenchmarkCountWatched(b *testing.B) {
	e := New(boltSpec(), t0)
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			e.Snapshot(t0)
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		e.Emitted(0, 100, 100)
		e.Executed(0, 100, 100, 0)
	}
	done.Store(true)
	wg.Wait()
}

func BenchmarkSnapshot(b *testing.B) {
	e := New(boltSpec(), t0)
	for i := range 10_000 {
		e.ObserveExecute(0, time.Duration(i)*time.Microsecond)
	}
	b.ReportAllocs()
	for b.Loop() {
		e.Snapshot(t0)
	}
}

func BenchmarkPercentiles(b *testing.B) {
	e := New(boltSpec(), t0)
	for i := range 10_000 {
		e.ObserveExecute(0, time.Duration(i)*time.Microsecond)
	}
	d := e.Snapshot(t0).Execute
	b.ReportAllocs()
	for b.Loop() {
		d.Percentiles()
	}
}

func BenchmarkRotate(b *testing.B) {
	e := New(boltSpec(), t0)
	now := t0
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(30 * time.Second)
		e.ObserveExecute(0, time.Millisecond)
		e.Tick(now)
	}
}

func BenchmarkAggregate(b *testing.B) {
	var snaps []Snapshot
	for range 16 {
		e := New(boltSpec(), t0)
		for i := range 1000 {
			e.ObserveExecute(0, time.Duration(i)*time.Microsecond)
			e.ObserveProcess(0, time.Duration(i)*time.Microsecond)
		}
		snaps = append(snaps, e.Snapshot(t0))
	}
	b.ReportAllocs()
	for b.Loop() {
		Aggregate(snaps)
	}
}
