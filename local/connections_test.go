package local

import (
	"testing"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/monitor"
)

// What the workers say they sent to each other they say they received, and it
// is every tuple that had to cross.
func TestConnectionsAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 1000
		// Dealt by first task: bolt 1 on worker 0, spout 2 on worker 1.
		top := launch(t, pair(t, upTo(n), fake{execute: ackAll}), Options{
			Conf: storm.Config{"topology.workers": 2, "topology.acker.executors": 0},
		})
		if res, err := top.Run(t.Context()); err != nil || res.Partial {
			t.Fatalf("result %+v, %v", res, err)
		}
		sum := map[string]float64{}
		for _, l := range top.Snapshots() {
			for _, v := range l.Values {
				sum[v.Name] += v.Value
			}
		}
		if sum[monitor.SentTuples] != n || sum[monitor.ReceivedTuples] != n {
			t.Errorf("%v tuples sent, %v received, want %d", sum[monitor.SentTuples], sum[monitor.ReceivedTuples], n)
		}
		if sum[monitor.SentBytes] < n || sum[monitor.ReceivedBytes] < n {
			t.Errorf("%v bytes sent, %v received", sum[monitor.SentBytes], sum[monitor.ReceivedBytes])
		}
		if sum[monitor.DroppedTuples] != 0 || sum[monitor.Reconnects] != 0 {
			t.Errorf("%v dropped, %v reconnects", sum[monitor.DroppedTuples], sum[monitor.Reconnects])
		}
	})
}
