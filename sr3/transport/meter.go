package transport

import (
	"sync"
	"time"
)

const (
	// meterGap is the silence after which a transfer counts as over; the round
	// trip is added, since a full window is silent for as long.
	meterGap   = 50 * time.Millisecond
	meterSpan  = 50 * time.Millisecond
	meterBytes = 1 * mib
	meterLeast = 256 * kib
)

// meter measures the rate of bulk bytes while they flow: pauses do not count,
// nor do the first skip bytes of a transfer, which a buffer may have swallowed.
type meter struct {
	skip int64

	mu          sync.Mutex
	start, last time.Duration
	bytes, left int64
}

// add counts n bytes that passed at now and returns a rate in bytes a second,
// when there is a new one, else 0.
func (m *meter) add(now, rtt time.Duration, n int) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == 0 || now-m.last > meterGap+2*rtt {
		rate := m.sample(meterLeast, time.Millisecond)
		// When this first piece began to flow is not known, so it only starts
		// the clock.
		m.start, m.last, m.bytes, m.left = now, now, 0, m.skip
		return rate
	}
	m.last = now
	if m.left > 0 {
		m.left -= int64(n)
		m.start = now
		return 0
	}
	m.bytes += int64(n)
	return m.sample(meterBytes, meterSpan)
}

// flush returns the rate of a transfer that has ended, or 0.
func (m *meter) flush(now, rtt time.Duration) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now-m.last <= meterGap+2*rtt {
		return 0
	}
	return m.sample(meterLeast, time.Millisecond)
}

func (m *meter) sample(least int64, span time.Duration) float64 {
	took := m.last - m.start
	if m.bytes < least || took < span {
		return 0
	}
	rate := float64(m.bytes) / took.Seconds()
	m.start, m.bytes = m.last, 0
	return rate
}
