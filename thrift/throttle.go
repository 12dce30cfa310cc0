package thrift

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// throttleEvery is how often the same complaint is logged.
	throttleEvery = time.Minute
	turnedAway    = "thrift: peers turned away"
)

// throttle logs a complaint that a peer can cause at will at most once a
// minute, with how many there were since the last one.
type throttle struct {
	log *slog.Logger
	why string

	mu    sync.Mutex
	next  time.Time
	count int
}

func (t *throttle) note(args ...any) {
	now := time.Now()
	t.mu.Lock()
	t.count++
	count := t.count
	due := !now.Before(t.next)
	if due {
		t.next, t.count = now.Add(throttleEvery), 0
	}
	t.mu.Unlock()
	if due {
		t.log.Warn(turnedAway, append([]any{"why", t.why, "count", count}, args...)...)
	}
}

// flush logs what was only counted so far.
func (t *throttle) flush() {
	t.mu.Lock()
	count := t.count
	t.count = 0
	t.mu.Unlock()
	if count > 0 {
		t.log.Warn(turnedAway, "why", t.why, "count", count)
	}
}
