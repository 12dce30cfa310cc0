package supervisor

import (
	"context"
	"time"
)

const (
	// reportEvery is how often nimbus is told that nothing has changed but the
	// numbers; reportPause how long at least lies between two reports.
	reportEvery = 3 * time.Second
	reportPause = time.Second
	// reportTimeout is how long nimbus may take to hear a report.
	reportTimeout = 10 * time.Second
)

// reporter tells nimbus what the workers do. A report that cannot be delivered
// is dropped: the next has all that it had.
type reporter struct {
	s    *Supervisor
	wake chan struct{} // capacity 1
	away bool
}

func newReporter(s *Supervisor) *reporter { return &reporter{s: s, wake: make(chan struct{}, 1)} }

// wakeUp has a report sent as soon as may be.
func (r *reporter) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run reports until ctx ends.
func (r *reporter) run(ctx context.Context) {
	for {
		r.send(ctx)
		if !rest(ctx, r.s.cfg.Clock, reportPause) {
			return
		}
		t := r.s.cfg.Clock.NewTimer(reportEvery - reportPause)
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-t.C():
		}
		t.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

func (r *reporter) send(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	err := r.s.cfg.Nimbus.Report(ctx, r.s.hub.report(r.s.id))
	switch {
	case err != nil && !r.away && ctx.Err() == nil:
		r.s.log.Warn("nimbus does not hear reports; workers run on", "error", err)
	case err == nil && r.away:
		r.s.log.Info("nimbus hears reports again")
	}
	r.away = err != nil
}
