package client

import (
	"testing"

	"github.com/stormring/stormring/sr3/recovery"
)

func TestStateComesBackInEveryMode(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5)
	w := r.worker(r.client("n0"), nil)
	w.mustLoad(0)
	w.check()
	w.fill(1, 3000, 100)
	w.checkpoint(1)
	for v := range 3 {
		w.churn(uint64(v), 200)
		w.checkpoint(2 + 2*w.last)
	}
	w.churn(9, 100) // what is not saved is lost
	for _, mode := range []recovery.Mode{recovery.Star, recovery.Line, recovery.Tree, recovery.Auto} {
		t.Run(string(mode), func(t *testing.T) {
			h := r.heir(w, r.client("n1"), func(o *TaskOptions) { o.Mode = mode })
			h.t = t
			h.mustLoad(w.last)
			h.check()
			report := h.Report().Recoveries
			if n := len(report); n != 1 || report[0].Running || report[0].Installed != report[0].Shards || report[0].Shards == 0 {
				t.Fatalf("reported: %+v", report)
			}
			if got := report[0].Mode; mode != recovery.Auto && got != mode {
				t.Errorf("mode %s, want %s", got, mode)
			}
			h.Close()
		})
	}
}
