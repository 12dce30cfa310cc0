package local

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stormring/stormring/storm"
)

// What a worker did before it failed is in the totals of the run.
func TestTotalsOutliveRestarts(t *testing.T) {
	const n = 50
	bubble(t, func(t *testing.T) {
		var executed atomic.Int64
		var acked atomic.Int64
		spout := fake{
			next: func(f *fake) error {
				// The truth is outside: a restarted spout begins where acks are.
				if f.n == 0 {
					f.n = acked.Load()
				}
				if f.n < n {
					f.n++
					f.spout.EmitTracked(storm.Int(f.n), storm.Int(f.n))
				}
				return nil
			},
			ack:  func(*fake, storm.Value) { acked.Add(1) },
			over: func(*fake) bool { return acked.Load() >= n },
		}
		bolt := fake{execute: func(f *fake, tp storm.Tuple) error {
			if executed.Add(1) == 20 {
				panic("once")
			}
			f.bolt.Ack(&tp)
			return nil
		}}
		res, err := launch(t, pair(t, spout, bolt), Options{
			Conf: storm.Config{"topology.max.spout.pending": 1},
		}).Run(t.Context())
		if err != nil || res.Restarts != 1 || res.Partial {
			t.Fatalf("result %+v, %v", res, err)
		}
		if res.Totals.Acked != n || res.Totals.Emitted != n+1 {
			t.Errorf("%d emitted and %d acked, want %d and %d", res.Totals.Emitted, res.Totals.Acked, n+1, n)
		}
	})
}

// A spout that counts itself exhausted only with its last ack is asked again
// after that ack, though it was deactivated meanwhile.
func TestInterruptedAfterTheLastEmission(t *testing.T) {
	bubble(t, func(t *testing.T) {
		acked := 0
		spout := fake{
			next: func(f *fake) error {
				if f.n == 0 {
					f.n++
					f.spout.EmitTracked(storm.Int(1), storm.Int(1))
				}
				return nil
			},
			ack:  func(*fake, storm.Value) { acked++ },
			over: func(*fake) bool { return acked == 1 },
		}
		ctx, interrupt := context.WithCancel(t.Context())
		bolt := fake{execute: func(f *fake, tp storm.Tuple) error {
			interrupt()
			<-time.After(time.Second) // of virtual time: the drain has begun
			f.bolt.Ack(&tp)
			return nil
		}}
		res, err := launch(t, pair(t, spout, bolt), Options{}).Run(ctx)
		if err != nil || !res.Interrupted || res.Partial {
			t.Errorf("result %+v, %v", res, err)
		}
	})
}

// untidy fails to clean up.
type untidy struct{ storm.BaseBasicBolt }

func (untidy) Execute(storm.Tuple, *storm.BasicOutputCollector) error { return nil }
func (untidy) Cleanup() error                                         { return errors.New("disk full") }

// A component that cannot clean up makes the run fail, since what it was to
// leave behind may be missing.
func TestCleanupFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := storm.NewTopologyBuilder()
		b.SetSpout("spout", spoutOf(upTo(3)), 1)
		b.SetBasicBolt("bolt", func() storm.BasicBolt { return untidy{} }, 1).ShuffleGrouping("spout")
		top, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		res, err := launch(t, top, Options{}).Run(t.Context())
		if res.Partial || err == nil || !strings.Contains(err.Error(), `component "bolt" task 2: Cleanup: disk full`) {
			t.Errorf("result %+v, error %v", res, err)
		}
	})
}
