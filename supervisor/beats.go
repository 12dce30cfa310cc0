package supervisor

import (
	"context"
	"sync"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord/records"
)

// beats read what workers of Storm's write of themselves into the coordination
// store: their statistics. That they live they tell otherwise.
type beats struct {
	clock clock.Clock
	hub   *hub

	mu    sync.Mutex
	store *records.Store // nil while there is none
}

// attach gives the store to read from; nil takes it away.
func (b *beats) attach(s *records.Store) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.store = s
}

// run reads until ctx ends.
func (b *beats) run(ctx context.Context) {
	for rest(ctx, b.clock, reportEvery) {
		b.mu.Lock()
		store := b.store
		b.mu.Unlock()
		if store == nil {
			continue
		}
		for slot, id := range b.hub.unlinked() {
			// What cannot be read now is read the next time.
			if r, ok, err := store.WorkerBeat(ctx, id, slot); ok && err == nil {
				b.hub.learn(slot.Port, r)
			}
		}
	}
}

// unlinked are the slots whose workers live without the link.
func (h *hub) unlinked() map[cluster.Slot]cluster.TopologyID {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[cluster.Slot]cluster.TopologyID{}
	for _, s := range h.seats {
		if s.heard && s.told == nil {
			out[s.keep.slot] = s.topology
		}
	}
	return out
}

// learn takes the statistics of a slot's executors.
func (h *hub) learn(port cluster.Port, r cluster.WorkerReport) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.seats[port]
	if s == nil || !s.heard || s.topology != r.Topology {
		return
	}
	for _, e := range r.Executors {
		s.stats[e.Executor] = e.Stats
	}
	// What another has been given stays as it is.
	executors := make([]cluster.ExecutorReport, len(s.last.Executors))
	for i, e := range s.last.Executors {
		e.Stats = s.stats[e.Executor]
		executors[i] = e
	}
	s.last.Executors, s.last.UptimeSecs = executors, r.UptimeSecs
}
