package supervisor

import (
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
)

// TestNewerBlobsInTime: they are looked for as often as is configured.
func TestNewerBlobsInTime(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		c, err := h.conf.With("test", map[string]any{"supervisor.localizer.update.blob.interval.secs": 2})
		if err != nil {
			t.Fatal(err)
		}
		h.conf = c
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(3 * time.Second)
		h.blobs.mu.Lock()
		h.blobs.changed = []cluster.TopologyID{words}
		h.blobs.mu.Unlock()
		h.after(3 * time.Second)
		if h.blobs.updates != 1 {
			t.Errorf("%d updates", h.blobs.updates)
		}
	})
}
