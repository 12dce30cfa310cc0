package clock

import (
	"slices"
	"sync"
	"time"
)

// Fake is a Clock that moves only when Advance is called. It is safe for use
// by several goroutines.
type Fake struct {
	mu     sync.Mutex
	now    time.Time
	timers []*fakeTimer // running ones
	// changed is closed and replaced whenever the number of timers changes.
	changed chan struct{}
}

var _ Clock = (*Fake)(nil)

// NewFake makes a Fake that shows start.
func NewFake(start time.Time) *Fake {
	return &Fake{now: start, changed: make(chan struct{})}
}

// Now is the time that the clock shows.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// NewTimer makes a timer that fires when Advance reaches d from now; one with
// d <= 0 fires at once.
func (f *Fake) NewTimer(d time.Duration) Timer {
	t := &fakeTimer{clock: f, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// Advance moves the clock on by d and fires the timers that come due, in the
// order of their times. Each sees its own time in the channel.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	end := f.now.Add(d)
	slices.SortStableFunc(f.timers, func(a, b *fakeTimer) int { return a.when.Compare(b.when) })
	for len(f.timers) > 0 && !f.timers[0].when.After(end) {
		t := f.timers[0]
		f.timers = f.timers[1:]
		f.now = t.when
		t.c <- t.when // has room: a running timer's channel is empty
		f.notify()
	}
	f.now = end
}

// Timers is the number of running timers, and a channel that is closed when
// it changes. A test waits on it until the code under test sleeps, before it
// advances the clock.
func (f *Fake) Timers() (running int, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.timers), f.changed
}

// notify wakes who waits on Timers; f.mu is held.
func (f *Fake) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

type fakeTimer struct {
	clock *Fake
	when  time.Time
	c     chan time.Time
}

func (t *fakeTimer) C() <-chan time.Time { return t.c }

func (t *fakeTimer) Reset(d time.Duration) bool {
	f := t.clock
	f.mu.Lock()
	defer f.mu.Unlock()
	running := t.remove()
	t.when = f.now.Add(d)
	if d <= 0 {
		t.c <- f.now
		return running
	}
	f.timers = append(f.timers, t)
	f.notify()
	return running
}

func (t *fakeTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.remove()
}

// remove takes t off the clock and empties its channel, and reports whether it
// was still to fire; the clock's mutex is held.
func (t *fakeTimer) remove() bool {
	select {
	case <-t.c:
	default:
	}
	f := t.clock
	i := slices.Index(f.timers, t)
	if i < 0 {
		return false
	}
	f.timers = slices.Delete(f.timers, i, i+1)
	f.notify()
	return true
}
