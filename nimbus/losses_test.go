package nimbus

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord/records"
)

// stateful submits words with a bolt that keeps state.
func (r *rig) stateful(m *master, name string, workers int) cluster.TopologyID {
	r.t.Helper()
	t := words(2)
	count := t.Components["count"]
	count.Conf = `{"topology.sr3.stateful": true}`
	t.Components["count"] = count
	if err := m.Submit(r.t.Context(), Submission{Name: name, ConfJSON: fmt.Sprintf(`{"topology.workers":%d}`, workers), Topology: t, Who: "ann"}); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
	s, err := m.TopologySummaryByName(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return s.ID
}

// placedAt is since when a slot has what it has.
func (r *rig) placedAt(id cluster.TopologyID, at cluster.Slot) (secs int64) {
	for _, p := range r.assignment(id) {
		if p.Slot == at {
			secs = max(secs, p.StartSecs)
		}
	}
	return secs
}

func (r *rig) expectLosses(id cluster.TopologyID, want ...records.Loss) {
	r.t.Helper()
	got, err := r.admin.Losses(r.t.Context(), id)
	if err != nil || !slices.Equal(got, want) {
		r.t.Errorf("losses %+v, error %v; want %+v", got, err, want)
	}
}

// TestLossesAreTold: how long it took to notice, and to place anew: at once, or when a
// slot is free.
func TestLossesAreTold(t *testing.T) {
	for name, later := range map[string]time.Duration{"at once": 0, "when there is room": 25 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(t *testing.T, r *rig) {
				b := r.supervisor("b", 6700)
				m := r.start("n1")
				id := r.stateful(m, "words", 1)
				b.report(m)
				r.expectLosses(id)
				c := (*helper)(nil)
				beat := func() {
					if c != nil {
						c.beat()
					}
				}
				if later == 0 {
					c = r.supervisor("c", 6700, 6701)
				}
				lost := time.Now()
				b.close()
				r.pass(61*time.Second+later, beat)
				if c == nil {
					r.expectLosses(id)
					c = r.supervisor("c", 6700, 6701)
				}
				r.pass(time.Second, beat)
				slot := cluster.Slot{Supervisor: "c", Port: 6700}
				since := r.placedAt(id, slot)
				if since != lost.Add(61*time.Second+later).Unix() {
					t.Errorf("placed at %d, lost at %d", since, lost.Unix())
				}
				r.expectLosses(id, records.Loss{Slot: slot, StartSecs: since, Detect: 61 * time.Second, Place: later})

				// What is made good is not told again, and without state nothing is.
				if err := m.Rebalance(t.Context(), "words", cluster.RebalanceOptions{WaitSecs: new(0)}); err != nil {
					t.Fatal(err)
				}
				plain := r.submit(m, "plain", 1, 1)
				r.pass(2*time.Second, beat)
				r.expectLosses(id, records.Loss{Slot: slot, StartSecs: since, Detect: 61 * time.Second, Place: later})
				r.expectLosses(plain)
			})
		})
	}
}

// TestSilentExecutorIsALoss: it was heard of last when its worker was.
func TestSilentExecutorIsALoss(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		a, b := r.supervisor("a", 6700), r.supervisor("b", 6700)
		m := r.start("n1")
		id := r.stateful(m, "words", 2)
		c := r.supervisor("c", 6700)
		silent := func() {
			if err := m.Report(t.Context(), cluster.SupervisorReport{Supervisor: "a"}); err != nil {
				t.Fatal(err)
			}
		}
		a.report(m)
		last := time.Now()
		for time.Since(last) < 40*time.Second && r.placedAt(id, cluster.Slot{Supervisor: "c", Port: 6700}) == 0 {
			r.pass(time.Second, a.beat, silent, b.beat, func() { b.report(m) }, c.beat)
		}
		slot := cluster.Slot{Supervisor: "c", Port: 6700}
		since := r.placedAt(id, slot)
		if since != last.Unix()+31 {
			t.Errorf("placed at %d, silent since %d", since, last.Unix())
		}
		r.expectLosses(id, records.Loss{Slot: slot, StartSecs: since, Detect: 31 * time.Second})
	})
}
