package local

import (
	"context"
	"time"
)

const (
	// lookEvery is how often a run looks whether it is through.
	lookEvery = 10 * time.Millisecond
	// steadyLooks is how many looks in a row must agree.
	steadyLooks = 3
)

// watch looks at the workers of a topology from outside.
type watch struct {
	posts     []*post // one for each worker
	start     time.Time
	runFor    time.Duration // 0 is no limit
	drainFor  time.Duration
	ended     <-chan struct{} // there is no point in going on
	restarts  func() int
	setActive func(active bool)
	progress  func() float64 // of the input; nil if that is not known
}

// wait waits for the end of the topology, however it comes.
func (t *watch) wait(ctx context.Context) Result {
	limit := time.NewTimer(time.Hour)
	limit.Stop()
	if t.runFor > 0 {
		limit.Reset(t.runFor)
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var seen steady
	for {
		select {
		case <-ctx.Done():
			return t.drain(true)
		case <-limit.C:
			return t.drain(false)
		case <-t.ended:
			return Result{Partial: true}
		case <-ticker.C:
			if l := t.look(); seen.through(l) && l.exhausted {
				return Result{}
			}
		}
	}
}

// drain stops the spouts and waits for what is under way.
func (t *watch) drain(interrupted bool) Result {
	res := Result{Interrupted: interrupted, Partial: true}
	t.setActive(false)
	deadline := time.NewTimer(t.drainFor)
	defer deadline.Stop()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var seen steady
	for {
		select {
		case <-t.ended:
			return res
		case <-deadline.C:
			res.Undrained = t.look().pending
			return res
		case <-ticker.C:
			if l := t.look(); seen.through(l) {
				res.Partial = !l.exhausted && (interrupted || !l.endless) // a tree that failed meanwhile counts too
				return res
			}
		}
	}
}

// look is what one look at all workers shows.
type look struct {
	exhausted  bool // every spout has come to its end
	endless    bool // a spout has none
	quiet      bool // or is deactivated
	pending    int
	sent, done uint64
	restarts   int
	missing    bool // a worker is not running
}

func (l look) rest() bool {
	// What a lost worker had received is in nobody's books any more; then only
	// the acks count.
	return l.quiet && l.pending == 0 && !l.missing && (l.sent == l.done || l.restarts > 0)
}

func (t *watch) look() look {
	l := look{exhausted: true, quiet: true}
	for _, s := range t.posts {
		if w := s.worker(); w != nil {
			l.done += w.Done()
		}
	}
	for _, s := range t.posts {
		w, running := s.state()
		if !running {
			l.missing = true
		}
		if w == nil {
			continue
		}
		r := w.Rest()
		l.exhausted = l.exhausted && r.Exhausted
		l.endless = l.endless || r.Endless
		l.quiet = l.quiet && r.Quiet
		l.pending += r.Pending
		l.sent += r.Sent
	}
	l.restarts = t.restarts()
	return l
}

// steady waits for several looks at rest that show the same.
type steady struct {
	last  look
	count int
}

func (s *steady) through(l look) bool {
	if !l.rest() {
		s.count = 0
		return false
	}
	if s.count > 0 && l != s.last {
		s.count = 0
	}
	s.last = l
	s.count++
	return s.count >= steadyLooks
}
