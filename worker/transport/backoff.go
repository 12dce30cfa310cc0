package transport

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is a pause that doubles with each failure, with jitter so that the
// workers of a topology do not all dial at once.
type backoff struct {
	next, lo, hi time.Duration
}

func newBackoff(lo, hi time.Duration) backoff { return backoff{next: lo, lo: lo, hi: hi} }

func (b *backoff) reset() { b.next = b.lo }

// wait pauses for half to all of the current span, or until ctx ends.
func (b *backoff) wait(ctx context.Context) {
	pause := b.next/2 + rand.N(b.next/2+1)
	b.next = min(2*b.next, b.hi)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
