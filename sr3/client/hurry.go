package client

import (
	"context"
	"sync"
	"time"

	"github.com/stormring/stormring/sr3/recovery"
)

// hurry lets everything else of a recovery wait while the task waits for a shard,
// so that this has links and processors for itself. Not for long: the shard may be
// one that nobody has.
type hurry struct {
	mu     sync.Mutex
	shards map[int]bool
	there  map[int]bool // shards that have come
	until  time.Time
	over   chan struct{} // closed when no shard is waited for
}

// begin says that the task waits for a shard.
func (h *hurry) begin(shard int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.there[shard] {
		return
	}
	if len(h.shards) == 0 {
		h.shards, h.over = make(map[int]bool), make(chan struct{})
	}
	h.shards[shard] = true
	h.until = time.Now().Add(recovery.AsideFor)
}

// end says that a shard is there.
func (h *hurry) end(shard int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.there == nil {
		h.there = make(map[int]bool)
	}
	h.there[shard] = true
	if h.shards[shard] {
		delete(h.shards, shard)
		if len(h.shards) == 0 {
			close(h.over)
		}
	}
}

// wanted tells whether the task waits for a shard.
func (h *hurry) wanted(shard int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.shards[shard]
}

// giveWay waits while the task waits for a shard, unless brings tells that it is
// this one that comes.
func (h *hurry) giveWay(ctx context.Context, brings func(shard int) bool) {
	h.mu.Lock()
	over, left := h.over, time.Until(h.until)
	must := len(h.shards) > 0 && left > 0
	for s := range h.shards {
		must = must && !brings(s)
	}
	h.mu.Unlock()
	if !must {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
	case <-ctx.Done():
	}
}
