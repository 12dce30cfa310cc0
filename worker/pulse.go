package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/executor"
)

const (
	// pulseEvery is how often a worker looks at the clock; it bounds how long
	// a busy executor keeps what it has collected.
	pulseEvery = 5 * time.Millisecond
	// statsEvery is how often the statistics' windows move on.
	statsEvery = 5 * time.Second
)

// timer is something to be done at intervals.
type timer struct {
	every time.Duration
	next  time.Time
	fire  func(now time.Time)
}

func (w *Worker) every(d time.Duration, fire func(now time.Time)) {
	w.due = append(w.due, timer{every: d, next: w.start.Add(d), fire: fire})
}

// rotateEvery calls rotate once a message time-out.
func (w *Worker) rotateEvery(rotate func()) {
	c := w.spec.Layout.Conf
	if c.Bool(storm.ConfTopologyEnableMessageTimeouts) {
		w.every(c.Duration(storm.ConfTopologyMessageTimeoutSecs), func(time.Time) { rotate() })
	}
}

// tickEvery sends tick tuples if the component wants them. A tick that finds
// its predecessor not yet executed is left out.
func (w *Worker) tickEvery(u *unit, x *executor.Bolt) {
	c := w.spec.Layout.ComponentConf(u.Component)
	if !c.Has(string(storm.ConfTopologyTickTupleFreqSecs)) {
		return
	}
	secs := c.Int(storm.ConfTopologyTickTupleFreqSecs)
	if secs <= 0 {
		return
	}
	tick := storm.NewTuple(w.spec.Layout.TickOrigin(), 0, nil, storm.Int(int64(secs)))
	var waiting atomic.Bool
	w.every(time.Duration(secs)*time.Second, func(time.Time) {
		if !waiting.Swap(true) {
			u.tuple.Urge(func() {
				waiting.Store(false)
				x.Tick(tick)
			})
		}
	})
}

// pulse is the worker's clock, until ctx ends.
func (w *Worker) pulse(ctx context.Context) {
	w.every(statsEvery, func(now time.Time) {
		for i := range w.units {
			w.units[i].stats.Tick(now)
		}
	})
	ticker := time.NewTicker(pulseEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			w.coarse.Store(int64(now.Sub(w.start)))
			w.ring(now)
			for i := range w.due {
				if t := &w.due[i]; !now.Before(t.next) {
					t.fire(now)
					// Missed rounds are not made up for.
					t.next = t.next.Add(t.every)
					if t.next.Before(now) {
						t.next = now.Add(t.every)
					}
				}
			}
		}
	}
}
