package supervisor

import (
	"context"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/supervisor/slot"
)

// orphaned is a host whose supervisor is down: worker 6700-2 has died since, and
// 6701-2 lives on.
func (h *host) orphaned() {
	h.t.Helper()
	h.up()
	h.topology(words, map[int]cluster.Port{1: 6700, 2: 6701})
	h.after(time.Minute)
	h.down()
	h.worker("6700-2").exit(1)
	h.after(5 * time.Second)
}

// move has nimbus place elsewhere what ran in slot 6700.
func (h *host) move() {
	h.t.Helper()
	sup := h.sup
	if sup == nil {
		s, err := New(h.config())
		if err != nil {
			h.t.Fatal(err)
		}
		h.sup = s // only for its id
	}
	h.place(words, map[int]cluster.Port{1: 0, 2: 6701})
	h.sup = sup
}

// TestRestartStartsNothingStale: a supervisor that was restarted starts no worker
// from what it knew before it has read what is assigned now, or has waited for so
// long. A worker that lives is taken over at once.
func TestRestartStartsNothingStale(t *testing.T) {
	wait := slot.DefaultConfig().AssignmentWait
	type look struct {
		after time.Duration // since the start
		want  []string
	}
	for _, c := range []struct {
		name  string
		moved bool          // while there is no supervisor
		away  time.Duration // how long the store is
		looks []look
	}{
		{"the store answers at once", false, 0, []look{{0, []string{"6700-4", "6701-2"}}}},
		{"at once, and something else", true, 0, []look{{0, []string{"6701-2"}}, {time.Minute, []string{"6701-2"}}}},
		{"the store answers late", false, 2 * time.Second, []look{
			{2 * time.Second, []string{"6701-2"}}, {4 * time.Second, []string{"6700-4", "6701-2"}},
		}},
		{"late, and something else", true, 2 * time.Second, []look{
			{2 * time.Second, []string{"6701-2"}}, {4 * time.Second, []string{"6701-2"}}, {time.Minute, []string{"6701-2"}},
		}},
		{"the store is away", false, time.Hour, []look{
			{wait - 1, []string{"6701-2"}}, {wait, []string{"6700-4", "6701-2"}}, {time.Minute, []string{"6700-4", "6701-2"}},
		}},
		{"the answer comes after the wait", false, 20 * time.Second, []look{
			{wait, []string{"6700-4", "6701-2"}}, {time.Minute, []string{"6700-4", "6701-2"}},
		}},
		{"after the wait, and something else", true, 20 * time.Second, []look{
			{wait, []string{"6700-4", "6701-2"}}, {time.Minute, []string{"6701-2"}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inside(t, func(t *testing.T, h *host) {
				h.orphaned()
				if c.moved {
					h.move()
				}
				h.opens.shut(c.away > 0)
				began := time.Now()
				h.up()
				if c.away > 0 {
					timer := time.AfterFunc(c.away, func() { h.opens.shut(false) })
					defer timer.Stop()
				}
				if got := h.worker("6701-2").lastOrders(); got.Status != cluster.StatusActive {
					t.Errorf("the worker that lives has orders %+v", got)
				}
				for _, l := range c.looks {
					h.after(time.Until(began.Add(l.after)))
					h.expect(l.want...)
				}
			})
		})
	}
}

// TestRestartWaitsForAssignments: that the store has a list of topologies, but
// tells no assignment, is no answer.
func TestRestartWaitsForAssignments(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.orphaned()
		const path = "/storm/assignments/" + string(words)
		raw, err := h.store.Open(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := raw.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		was, _, err := raw.Get(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		put := func(data []byte) {
			t.Helper()
			if _, err := raw.Set(t.Context(), path, data, coord.AnyVersion); err != nil {
				t.Fatal(err)
			}
		}
		put([]byte("nonsense"))
		h.up()
		h.after(slot.DefaultConfig().AssignmentWait - 1)
		h.expect("6701-2")
		h.after(1)
		h.expect("6700-4", "6701-2")
		put(was)
		h.after(time.Minute)
		h.expect("6700-4", "6701-2")
	})
}

// TestRestartThenDeath: a worker that was taken over and dies before the store
// answers is replaced when it does, and its loss counts from its end.
func TestRestartThenDeath(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(time.Minute)
		h.down()
		h.opens.shut(true)
		h.up()
		h.after(time.Second)
		died := time.Now()
		h.worker("6700-2").exit(1)
		h.after(500 * time.Millisecond)
		h.expect()
		h.opens.shut(false)
		h.after(3 * time.Second)
		h.expect("6700-3")
		h.expectOutage("6700-3", died, 0, "")
	})
}
