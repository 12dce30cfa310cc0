package worker

import (
	"slices"
	"time"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
)

// alarm is something to be done once.
type alarm struct {
	at   time.Time
	ring func()
}

// later has f called by pulse at a time.
func (w *Worker) later(at time.Time, f func()) {
	w.alarmMu.Lock()
	defer w.alarmMu.Unlock()
	w.alarms = append(w.alarms, alarm{at, f})
}

// ring calls what has come due.
func (w *Worker) ring(now time.Time) {
	w.alarmMu.Lock()
	var due []func()
	w.alarms = slices.DeleteFunc(w.alarms, func(a alarm) bool {
		if now.Before(a.at) {
			return false
		}
		due = append(due, a.ring)
		return true
	})
	w.alarmMu.Unlock()
	for _, f := range due {
		f()
	}
}

// suspect is called when another worker was lost, and with it whatever was under
// way there. Without time-outs nothing would ever tell of that, so all trees
// fail. With them, trees that were in flight get the time that trees need, and
// then fail: their spouts may have reached their limit of pending trees, and
// would be silent for a whole message time-out.
func (w *Worker) suspect() {
	c := w.spec.Layout.Conf
	if !c.Bool(storm.ConfTopologyEnableMessageTimeouts) {
		for _, s := range w.spouts {
			s.FailAll()
		}
		return
	}
	grace := c.Duration(conf.ReplayGraceMS)
	if grace == 0 {
		return
	}
	now := time.Now()
	for i, u := range w.kind(isSpout) {
		s := w.spouts[i]
		patience := max(grace, slowest(u, now))
		if patience >= c.Duration(storm.ConfTopologyMessageTimeoutSecs) {
			continue // they time out by then
		}
		s.Suspect()
		w.later(now.Add(patience), s.FailSuspects)
	}
}

// slowest is twice what the slowest trees of a spout took lately.
func slowest(u *unit, now time.Time) time.Duration {
	return 2 * u.stats.Snapshot(now).Complete.Quantile(0.99)
}
