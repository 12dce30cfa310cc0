package scheduler

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
)

// BlacklistConfig says when a supervisor is no longer trusted.
type BlacklistConfig struct {
	// ToleranceSecs is the window in which failures are counted.
	ToleranceSecs int64
	// ToleranceCount is how many failures in the window put a supervisor on
	// the list.
	ToleranceCount int
	// ResumeSecs is how long it stays on it.
	ResumeSecs int64
}

// DefaultBlacklistConfig has Storm's defaults.
func DefaultBlacklistConfig() BlacklistConfig {
	return BlacklistConfig{ToleranceSecs: 300, ToleranceCount: 3, ResumeSecs: 1800}
}

// Validate refuses settings that make no sense, naming the key.
func (c BlacklistConfig) Validate() error {
	switch {
	case c.ToleranceSecs < 1:
		return fmt.Errorf("blacklist.scheduler.tolerance.time.secs is %d; it must be at least 1", c.ToleranceSecs)
	case c.ToleranceCount < 1:
		return fmt.Errorf("blacklist.scheduler.tolerance.count is %d; it must be at least 1", c.ToleranceCount)
	case c.ResumeSecs < 0:
		return fmt.Errorf("blacklist.scheduler.resume.time.secs is %d; it must not be negative", c.ResumeSecs)
	}
	return nil
}

// Blacklist remembers which supervisors fail too often.
//
//	trusted ── ToleranceCount failures in ToleranceSecs ──> listed
//	listed  ── ResumeSecs later, or Release ──────────────> trusted, no failures
//
// Failures of a listed supervisor change nothing. Time is an argument, in
// seconds, and must not go back; whatever is due by then happens first. A
// Blacklist belongs to one goroutine. Make it with NewBlacklist.
type Blacklist struct {
	cfg   BlacklistConfig
	known map[cluster.SupervisorID]*record
}

// record is a supervisor's past.
type record struct {
	failures []int64 // seconds, ascending, at most ToleranceCount
	until    int64   // if listed
	listed   bool
}

// NewBlacklist makes an empty Blacklist, or returns what is wrong with cfg.
func NewBlacklist(cfg BlacklistConfig) (*Blacklist, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Blacklist{cfg: cfg, known: map[cluster.SupervisorID]*record{}}, nil
}

// Fail books a failure of a supervisor, such as that it went missing or that a
// worker could not be started on it. It reports whether the supervisor went on
// the list by that.
func (b *Blacklist) Fail(id cluster.SupervisorID, nowSecs int64) bool {
	b.Expire(nowSecs)
	r := b.known[id]
	if r == nil {
		r = &record{}
		b.known[id] = r
	}
	if r.listed {
		return false
	}
	r.failures = append(r.failures, nowSecs)
	if len(r.failures) < b.cfg.ToleranceCount {
		return false
	}
	r.listed, r.until, r.failures = true, nowSecs+b.cfg.ResumeSecs, nil
	return true
}

// Expire forgets failures that are too old and returns, sorted, the
// supervisors whose time on the list is over.
func (b *Blacklist) Expire(nowSecs int64) []cluster.SupervisorID {
	var back []cluster.SupervisorID
	for id, r := range b.known {
		r.failures = slices.DeleteFunc(r.failures, func(at int64) bool { return nowSecs-at >= b.cfg.ToleranceSecs })
		if r.listed && nowSecs >= r.until {
			r.listed = false
			back = append(back, id)
		}
		if !r.listed && len(r.failures) == 0 {
			delete(b.known, id)
		}
	}
	slices.Sort(back)
	return back
}

// Release takes a supervisor off the list, at an operator's word or because
// slots are short. It reports whether it was on it.
func (b *Blacklist) Release(id cluster.SupervisorID) bool {
	r := b.known[id]
	if r == nil || !r.listed {
		return false
	}
	delete(b.known, id)
	return true
}

// Listed reports whether a supervisor is on the list.
func (b *Blacklist) Listed(id cluster.SupervisorID, nowSecs int64) bool {
	r := b.known[id]
	return r != nil && r.listed && nowSecs < r.until
}

// All are the supervisors on the list, sorted.
func (b *Blacklist) All(nowSecs int64) []cluster.SupervisorID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(b.known)), func(id cluster.SupervisorID) bool { return !b.Listed(id, nowSecs) })
}
