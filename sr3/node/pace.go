package node

import (
	"context"
	"sync"
	"time"
)

// pace bounds how many bytes a second pass.
type pace struct {
	rate float64
	mu   sync.Mutex
	free time.Time // when the next bytes may pass
}

func newPace(rate int64) *pace { return &pace{rate: float64(rate)} }

// slack is how far ahead of its time something may pass, so that few waits are
// shorter than what a timer can tell.
const slack = 20 * time.Millisecond

// wait lets n bytes pass when it is their time.
func (p *pace) wait(ctx context.Context, n int64) error {
	p.mu.Lock()
	now := time.Now()
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	due := p.free.Add(-slack).Sub(now)
	p.mu.Unlock()
	return sleep(ctx, due)
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
