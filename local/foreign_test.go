package local

import (
	"context"
	"encoding/gob"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker"
)

type known struct{ N int64 }

type unknown struct{ N int64 }

// A value that cannot be carried to another worker fails its own tuple, with an
// error that says which, and no other.
func TestValueThatCannotTravel(t *testing.T) {
	gob.Register(known{})
	const n = 100
	var mu sync.Mutex
	var reported []worker.ErrorInfo
	seen, failed := map[int64]bool{}, map[int64]bool{}
	acked := 0
	spout := fake{
		next: func(f *fake) error {
			if f.n == n {
				return nil
			}
			f.n++
			var v any = known{f.n}
			if f.n%10 == 0 {
				v = unknown{f.n}
			}
			f.spout.EmitAny(storm.Int(f.n), v)
			return nil
		},
		ack: func(*fake, storm.Value) {
			mu.Lock()
			defer mu.Unlock()
			acked++
		},
		fail: func(_ *fake, id storm.Value) {
			mu.Lock()
			defer mu.Unlock()
			n, _ := id.AsInt()
			failed[n] = true
		},
		over: func(f *fake) bool { return f.n == n },
	}
	bolt := fake{execute: func(f *fake, tp storm.Tuple) error {
		mu.Lock()
		defer mu.Unlock()
		seen[tp.Value(0).Interface().(known).N] = true
		f.bolt.Ack(&tp)
		return nil
	}}
	top := launch(t, pair(t, spout, bolt), Options{
		Conf: storm.Config{"topology.workers": 2, "topology.acker.executors": 1},
		OnError: func(e worker.ErrorInfo) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, e)
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if res, err := top.Run(ctx); err != nil || res.Partial {
		t.Fatalf("result %+v, %v", res, err)
	}
	if acked != n-n/10 || len(failed) != n/10 || len(seen) != n-n/10 {
		t.Errorf("%d acked, %d failed, %d seen", acked, len(failed), len(seen))
	}
	if len(reported) == 0 || !strings.Contains(reported[0].Text, "gob.Register") || !strings.Contains(reported[0].Text, "local.unknown") {
		t.Errorf("reported %s", fmt.Sprint(reported))
	}
}
