package tree

import (
	"maps"
	"slices"
	"time"

	"github.com/stormring/stormring/internal/coord"
)

// session is one client as the store sees it.
//
//	Open -> present -Leave-> absent -time-out or End-> gone
//	           ^---Return------'
type session struct {
	timeout    time.Duration
	deadline   time.Time // when it expires; zero while present
	ephemerals map[string]bool
	watches    map[watchPlace]bool
}

// Open starts a session and returns its id, which no other ever has. It does
// not expire while its client is present, which it is from the start.
func (t *Tree) Open(now time.Time, timeout time.Duration) int64 {
	b := t.begin(now)
	t.commit(b)
	id := b.txn.Zxid
	t.sessions[id] = &session{timeout: timeout, ephemerals: map[string]bool{}, watches: map[watchPlace]bool{}}
	return id
}

// Alive reports whether there is such a session.
func (t *Tree) Alive(id int64) bool { return t.sessions[id] != nil }

// Leave tells that a session's client has not been heard of since now: the
// session expires one time-out later unless it returns.
func (t *Tree) Leave(id int64, now time.Time) {
	if s := t.sessions[id]; s != nil && s.deadline.IsZero() {
		s.deadline = now.Add(s.timeout)
	}
}

// Return tells that a session's client is back. It reports whether the session
// still was there.
func (t *Tree) Return(id int64) bool {
	s := t.sessions[id]
	if s != nil {
		s.deadline = time.Time{}
	}
	return s != nil
}

// NextDeadline is when the next session expires; false if none will.
func (t *Tree) NextDeadline() (time.Time, bool) {
	var next time.Time
	for _, s := range t.sessions {
		if !s.deadline.IsZero() && (next.IsZero() || s.deadline.Before(next)) {
			next = s.deadline
		}
	}
	return next, !next.IsZero()
}

// Tick ends the sessions whose time is over and returns them, oldest first.
func (t *Tree) Tick(now time.Time) []int64 {
	var over []int64
	for id, s := range t.sessions {
		if !s.deadline.IsZero() && !s.deadline.After(now) {
			over = append(over, id)
		}
	}
	slices.Sort(over)
	for _, id := range over {
		t.End(id, now)
	}
	return over
}

// End ends a session: its watches are dropped without a word, its ephemeral
// znodes deleted, in the order of their paths. It reports whether the session
// was there.
func (t *Tree) End(id int64, now time.Time) bool {
	s := t.sessions[id]
	if s == nil {
		return false
	}
	t.unwatch(id, s)
	b := t.begin(now)
	for _, path := range slices.Sorted(maps.Keys(s.ephemerals)) {
		t.change(b, Change{Type: coord.EventNodeDeleted, Path: path})
	}
	delete(t.sessions, id)
	t.commit(b)
	return true
}
