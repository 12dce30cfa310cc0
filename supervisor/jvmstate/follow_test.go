package jvmstate

import (
	"errors"
	"maps"
	"testing"

	"github.com/stormring/stormring/worker/checkpoint"
)

// windowed is a topology of which transaction 0 is committed, by a task and by its
// windows.
func windowed(t *testing.T) (r *rig, s *spout, j, w *jvm) {
	t.Helper()
	r = newRig(t)
	s = r.spout(7)
	s.saves(settled, -1, true)
	j = r.opened(r.hello(), empty)
	h := r.hello()
	h.namespace = "sum-5-window"
	w = r.opened(h, empty)
	s.saves(preparing, 0, true)
	w.prepare(0, empty, 0, values{"w": "0"})
	w.wantVersion(prepared, v(0, 1))
	j.prepare(0, empty, 0, values{"a": "0"})
	j.wantVersion(prepared, v(0, 1))
	s.saves(committing, 0, false)
	for _, each := range []*jvm{w, j} {
		each.commit(0)
		each.wantVersion(base, v(0, 1))
	}
	s.saves(settled, 0, false)
	return r, s, j, w
}

// transaction is one in which the windows have no part.
func transaction(s *spout, j *jvm, tx int64, from checkpoint.Version, value string) {
	s.t.Helper()
	s.saves(preparing, tx, false)
	j.prepare(tx, from, 0, values{"a": value})
	j.wantVersion(prepared, v(tx, 1))
	s.saves(committing, tx, false)
	j.commit(tx)
	j.wantVersion(base, v(tx, 1))
	s.saves(settled, tx, false)
}

// TestWindowsFollow: windows that are not prepared, since they recover, are saved as
// they are; their JVM goes on with the version that it knows.
func TestWindowsFollow(t *testing.T) {
	r, s, j, w := windowed(t)
	transaction(s, j, 1, v(0, 1), "1")
	transaction(s, j, 2, v(1, 1), "2")
	if got, want := r.ring.saved["sum-window/5"][v(2, 1)], (values{"w": "0"}); !maps.Equal(got, want) {
		t.Errorf("the windows of the last transaction are %v, want %v", got, want)
	}

	// A rollback does not tell it more.
	w.send(rollback, nil)
	w.wantVersion(base, v(0, 1))

	// It has recovered.
	s.saves(preparing, 3, false)
	w.prepare(3, v(0, 1), 0, values{"w": "3"})
	w.wantVersion(prepared, v(3, 1))
	j.prepare(3, v(2, 1), 0, values{"a": "3"})
	j.wantVersion(prepared, v(3, 1))
	s.saves(committing, 3, false)
	for _, each := range []*jvm{w, j} {
		each.commit(3)
		each.wantVersion(base, v(3, 1))
	}
	h := later(r.hello())
	h.namespace = "sum-5-window"
	if got := r.opened(h, v(3, 1)).contents(); !maps.Equal(got, values{"w": "3"}) {
		t.Errorf("the windows are %v", got)
	}
}

// TestWindowsThatFollowedComeBack: who starts anew finds the windows at the version that
// is committed, as they were left.
func TestWindowsThatFollowedComeBack(t *testing.T) {
	r, s, j, _ := windowed(t)
	transaction(s, j, 1, v(0, 1), "1")
	h := later(r.hello())
	h.namespace = "sum-5-window"
	if got := r.opened(h, v(1, 1)).contents(); !maps.Equal(got, values{"w": "0"}) {
		t.Errorf("the windows are %v", got)
	}
}

// TestFollowedInVain: a transaction that is tried again has its windows saved again,
// and one that prepares what it followed in before is taken at its word.
func TestFollowedInVain(t *testing.T) {
	r, s, j, w := windowed(t)
	s.saves(preparing, 1, false)
	r.ring.set(func() {
		r.ring.saveOf = func(owner string) error {
			if owner == "sum/5" {
				return errors.New("no node answers")
			}
			return nil
		}
	})
	j.prepare(1, v(0, 1), 0, values{"a": "1"})
	j.wantFailure(refused, "no node answers")
	r.ring.set(func() { r.ring.saveOf = nil })
	j.prepare(1, v(0, 1), 0, values{"a": "1"}) // the windows have followed already
	j.wantVersion(prepared, v(1, 1))
	w.prepare(1, v(0, 1), 0, nil) // and say so themselves
	w.wantVersion(prepared, v(1, 1))
	s.saves(committing, 1, false)
	for _, each := range []*jvm{w, j} {
		each.commit(1)
		each.wantVersion(base, v(1, 1))
	}

	// In the next era.
	s.saves(settled, 1, false)
	s.saves(preparing, 2, false)
	j.prepare(2, v(1, 1), 0, values{"a": "2"})
	j.wantVersion(prepared, v(2, 1))
	j.send(rollback, nil)
	j.wantVersion(base, v(1, 1))
	s.saves(settled, 1, false)
	s.saves(preparing, 2, true)
	j.prepare(2, v(1, 1), 1, values{"a": "3"})
	j.wantVersion(prepared, v(2, 2))
	s.saves(committing, 2, false)
	j.commit(2)
	j.wantVersion(base, v(2, 2))
	w.commit(2)
	w.wantVersion(base, v(1, 1))
}

// TestWindowsThatChanged: windows whose own prepare has failed do not follow, since what
// they have is not what they had.
func TestWindowsThatChanged(t *testing.T) {
	r, s, j, w := windowed(t)
	s.saves(preparing, 1, false)
	r.ring.set(func() { r.ring.saveOf = func(string) error { return errors.New("no node answers") } })
	w.prepare(1, v(0, 1), 0, values{"w": "1"})
	w.wantFailure(refused, "no node answers")
	r.ring.set(func() { r.ring.saveOf = nil })
	j.prepare(1, v(0, 1), 0, values{"a": "1"})
	j.wantFailure(refused, "sum-window was not prepared for it")
	for _, each := range []*jvm{w, j} {
		each.send(rollback, nil)
		each.wantVersion(base, v(0, 1))
	}
	s.saves(settled, 0, false)
	s.saves(preparing, 1, true)
	j.prepare(1, v(0, 1), 1, values{"a": "1"})
	j.wantVersion(prepared, v(1, 2))
	if got := r.ring.saved["sum-window/5"][v(1, 2)]; !maps.Equal(got, values{"w": "0"}) {
		t.Errorf("the windows are %v", got)
	}
}

// TestOthersDoNotFollow: another task is nobody's follower.
func TestOthersDoNotFollow(t *testing.T) {
	r := newRig(t)
	s := r.spout(7)
	s.saves(settled, -1, true)
	j := r.opened(r.hello(), empty)
	for _, other := range []struct {
		component, namespace string
		task                 int32
	}{{"sum", "sum-6", 6}, {"sum", "sum-6-window", 6}, {"max", "max-5", 5}} {
		h := r.hello()
		h.component, h.namespace, h.task = other.component, other.namespace, other.task
		r.opened(h, empty)
	}
	s.saves(preparing, 0, true)
	j.prepare(0, empty, 0, values{"a": "1"})
	j.wantVersion(prepared, v(0, 1))
	r.ring.mu.Lock()
	defer r.ring.mu.Unlock()
	if len(r.ring.saved) != 1 || len(r.ring.joined) != 1 {
		t.Errorf("%v are saved, %v have joined", r.ring.saved, r.ring.joined)
	}
}
