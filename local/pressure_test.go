package local

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/monitor"
)

// queues are the fills of all queues, by component and tasks, with their
// limits.
func queues(top *Topology) map[string][2]int {
	out := map[string][2]int{}
	for _, l := range top.Snapshots() {
		var q [2]int
		for _, v := range l.Values {
			switch v.Name {
			case monitor.QueueTuples:
				q[0] = int(v.Value)
			case monitor.QueueCapacityTuples:
				q[1] = int(v.Value)
			}
		}
		out[l.Component+" "+l.Tasks] = q
	}
	return out
}

// A bolt that is a thousand times slower than its spout holds the spout up:
// queues stay within their bounds and memory stays flat, with nothing but back
// pressure to do it.
func TestBackPressure(t *testing.T) {
	const (
		room    = 1000 // of each queue
		batch   = 100
		samples = 40
		step    = 50       // tuples between two samples
		payload = 512      // bytes of each tuple
		growth  = 4 << 20  // of the heap; a spout that nobody holds up makes fifty times as much
		credits = 4 * room // what a worker grants to another, see worker/remote.go
	)
	for _, workers := range []int{1, 2} {
		// A full queue, what the bolt has taken from it before, and a batch that
		// the spout wants to send. Over the network credits bound the first two.
		bound, underWay := room+batch, int64(2*(room+batch)+batch)
		if workers > 1 {
			bound, underWay = credits+1, credits+batch
		}
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			var emitted, executed atomic.Int64
			var work [64 << 10]byte
			stepped := make(chan struct{}, 1)
			spout := fake{next: func(f *fake) error {
				f.n++
				emitted.Store(f.n)
				f.spout.Emit(storm.Bytes(make([]byte, payload)))
				return nil
			}}
			bolt := fake{execute: func(f *fake, tp storm.Tuple) error {
				sha256.Sum256(work[:]) // a thousand times what an emission costs
				if executed.Add(1)%step == 0 {
					select {
					case stepped <- struct{}{}:
					default:
					}
				}
				f.bolt.Ack(&tp)
				return nil
			}}
			top := launch(t, pair(t, spout, bolt), Options{
				DrainFor: 20 * time.Second,
				Conf: storm.Config{
					"topology.workers": workers, "topology.acker.executors": 0,
					"topology.executor.receive.buffer.size": room, "stormring.batch.size": batch,
				},
			})
			newTCP().use(top)
			ctx, cancel := context.WithCancel(t.Context())
			var res Result
			var wg sync.WaitGroup
			wg.Go(func() {
				var err error
				if res, err = top.Run(ctx); err != nil {
					t.Error(err)
				}
			})
			var first, highest uint64
			longest, most := 0, int64(0)
			for i := range samples {
				<-stepped
				most = max(most, emitted.Load()-executed.Load())
				runtime.GC() // what is garbage, of this test and others, is no matter
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				if i == samples/4 { // queues are full by now, and pools of other tests empty
					first, highest = m.HeapInuse, 0
				}
				highest = max(highest, m.HeapInuse)
				for name, q := range queues(top) {
					longest = max(longest, q[0])
					// The batch that fills a queue up is let in whole.
					if q[0] >= bound {
						t.Errorf("queue of %s holds %d tuples, its bound is %d", name, q[0], bound)
					}
				}
			}
			cancel()
			wg.Wait()
			if !res.Partial || !res.Interrupted || emitted.Load() != executed.Load() {
				t.Errorf("result %+v; %d emitted, %d executed", res, emitted.Load(), executed.Load())
			}
			if highest > first+growth {
				t.Errorf("the heap grew from %d to %d KiB", first>>10, highest>>10)
			}
			if most > underWay || longest < room/2 {
				t.Errorf("up to %d tuples were under way, at most %d may be; the longest queue was %d", most, underWay, longest)
			}
			t.Logf("%d tuples, heap from %d to %d KiB, longest queue %d, at most %d under way", executed.Load(), first>>10, highest>>10, longest, most)
		})
	}
}
