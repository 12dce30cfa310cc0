package supervisor

import (
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord/records"
)

// outageOf is what a worker is told of how it came about.
func (h *host) outageOf(id string) (noticed time.Time, detect time.Duration, env string) {
	h.t.Helper()
	l := h.worker(id).launch
	return l.Noticed, l.Detect, l.Env[DetectEnv]
}

func (h *host) expectOutage(id string, noticed time.Time, detect time.Duration, env string) {
	h.t.Helper()
	if n, d, e := h.outageOf(id); !n.Equal(noticed) || d != detect || e != env {
		h.t.Errorf("worker %s: noticed %v, %v after the loss, environment %q; want %v, %v, %q", id, n, d, e, noticed, detect, env)
	}
}

// TestOutageOfWorkers: what is known of a worker's end when the next one starts.
func TestOutageOfWorkers(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.expectOutage("6700-2", time.Now(), 0, "")
		h.after(61 * time.Second)

		p := h.worker("6700-2")
		p.unseen = 1500 * time.Microsecond
		p.exit(1)
		h.settle()
		h.expectOutage("6700-3", time.Now(), 1500*time.Microsecond, "1.500")

		// It is heard of every second. What it takes to kill it belongs to the time after.
		h.after(61500 * time.Millisecond)
		last := time.Now().Add(-500 * time.Millisecond)
		p = h.worker("6700-3")
		p.hush()
		p.stub.Store(true)
		h.after(29400 * time.Millisecond)
		h.expect("6700-3")
		h.after(4 * time.Second)
		h.expectOutage("6700-4", last.Add(30*time.Second), 30*time.Second, "30000.000")

		// One that is ended since its blobs have changed is not lost.
		h.after(61 * time.Second)
		h.blobs.mu.Lock()
		h.blobs.changed = []cluster.TopologyID{words}
		h.blobs.mu.Unlock()
		h.after(31 * time.Second)
		if noticed, detect, env := h.outageOf("6700-6"); noticed.After(time.Now()) || time.Since(noticed) > 31*time.Second || detect != 0 || env != "" {
			t.Errorf("noticed %v, detected after %v, environment %q", noticed, detect, env)
		}
	})
}

// TestOutageWithoutSupervisor: when a worker ended while nobody looked is not known.
func TestOutageWithoutSupervisor(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(61 * time.Second)
		p := h.worker("6700-2")
		h.down()
		p.exit(1)
		h.after(5 * time.Second)
		h.up()
		h.expectOutage("6700-4", time.Now(), 0, "")
	})
}

// TestOutageOfHosts: what nimbus knows of a loss, where it is of this placement.
func TestOutageOfHosts(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		tell := func(id cluster.TopologyID, port cluster.Port, since int64) {
			t.Helper()
			if err := h.rec.PutLosses(t.Context(), id, []records.Loss{
				{Slot: cluster.Slot{Supervisor: h.sup.ID(), Port: port}, StartSecs: since, Detect: 61 * time.Second, Place: 300 * time.Millisecond},
			}); err != nil {
				t.Fatal(err)
			}
		}
		tell(words, 6700, time.Now().Unix())
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.expectOutage("6700-2", time.Now().Add(-300*time.Millisecond), 61*time.Second, "61000.000")
		tell("old-2-2", 6701, time.Now().Unix()-7)
		h.topology("old-2-2", map[int]cluster.Port{1: 6701})
		h.expectOutage("6701-2", time.Now(), 0, "")

		// The worker that has to go does not count as lost.
		h.after(2 * time.Second)
		tell(words, 6700, time.Now().Unix())
		began := time.Now()
		h.worker("6700-2").stub.Store(true)
		h.place(words, map[int]cluster.Port{1: 6700, 2: 6700})
		h.after(4 * time.Second)
		h.expectOutage("6700-4", began.Add(-300*time.Millisecond), 61*time.Second, "61000.000")
	})
}
