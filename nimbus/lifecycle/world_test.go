package lifecycle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/cluster"
)

// world is a coordination store with one topology in it, and a leader that may
// die after any effect.
type world struct {
	now time.Time
	// What outlives a leader.
	base       *State // nil: no record
	tomb       *State
	assignment bool
	blobs      bool
	workers    int // as the records have it
	placed     int // with how many workers it was last placed from scratch
	deleted    time.Time
	// What a leader has in memory.
	state State
	timer time.Time // zero: none
	log   []string
}

func newWorld() *world {
	s := New(id, false)
	return &world{now: at(0), base: &s, state: s, assignment: true, blobs: true, workers: 1, placed: 1}
}

// step steps an action and performs its effects, but at most budget of them;
// it reports whether it got through.
func (w *world) step(a Action, budget int) (bool, error) {
	s, effects, err := rules().Step(w.state, a, w.now)
	for i, e := range effects {
		if i == budget {
			return false, err
		}
		w.perform(e)
	}
	w.state = s
	return true, err
}

func (w *world) perform(e Effect) {
	w.log = append(w.log, strings.TrimPrefix(fmt.Sprintf("%T", e), "lifecycle."))
	switch e := e.(type) {
	case Persist:
		if e.State.Removed {
			w.tomb = &e.State
		} else {
			w.base = &e.State
		}
	case Delay:
		w.timer = e.At
	case Apply:
		if e.Changes.Workers > 0 {
			w.workers = e.Changes.Workers
		}
	case Reschedule:
		if e.Fresh {
			w.placed = w.workers
		}
	case RemoveAssignment:
		w.assignment = false
	case RemoveRecords:
		w.base = nil
	case DeleteBlobs:
		w.blobs, w.deleted = false, w.now
	case Forget:
		w.tomb = nil
	case Spouts:
	}
}

// restart is a new leader, which may die like the one before it.
func (w *world) restart(budget int) bool {
	w.timer = time.Time{}
	switch {
	case w.tomb != nil:
		w.state = *w.tomb
	case w.base != nil:
		w.state = *w.base
	default:
		w.state = State{}
		return true
	}
	ok, err := w.step(Startup{}, budget)
	return ok && err == nil
}

// pass lets time go by, and the timer fire if it is due.
func (w *world) pass(d time.Duration, budget int) bool {
	w.now = w.now.Add(d)
	if w.timer.IsZero() || w.now.Before(w.timer) || w.state.Over() {
		return true
	}
	w.timer = time.Time{}
	ok, _ := w.step(DelayDue{}, budget)
	return ok
}

// check is what holds whenever a leader is at rest.
func (w *world) check() error {
	switch {
	case w.state.pending() && w.timer.IsZero():
		return fmt.Errorf("%v is pending and has no timer", w.state.Status)
	case w.state.pending() && !w.timer.Equal(w.state.Due):
		return fmt.Errorf("the timer is at %v, due is %v", w.timer, w.state.Due)
	case !w.state.Over() && !w.state.Removed && (w.base == nil || w.base.Status != w.state.Status):
		return fmt.Errorf("the record has %+v, the leader %+v", w.base, w.state)
	case w.state.Over() && (w.base != nil || w.tomb != nil || w.assignment || w.blobs):
		return fmt.Errorf("something is left: base %v, tombstone %v, assignment %v, blobs %v", w.base, w.tomb, w.assignment, w.blobs)
	case w.base != nil && !w.blobs:
		return errors.New("the blobs went before the topology")
	case !w.state.Over() && !w.state.pending() && w.placed != w.workers:
		return fmt.Errorf("placed for %d workers, asked for %d", w.placed, w.workers)
	}
	return nil
}

// live draws a life of some steps with crashes in it, and then lets time go by
// until nothing is pending. It returns the first thing that is wrong.
func live(rnd *rand.Rand, steps int) error {
	w := newWorld()
	const all = 100
	killed := false
	killedAt := time.Time{}
	budget := func() int {
		if rnd.IntN(3) == 0 {
			return rnd.IntN(6)
		}
		return all
	}
	for range steps {
		var ok bool
		var err error
		before := w.state
		switch rnd.IntN(8) {
		case 0:
			ok, err = w.step(Activate{}, budget())
		case 1:
			ok, err = w.step(Deactivate{}, budget())
		case 2:
			ok, err = w.step(Kill{Wait: secs(rnd.IntN(60))}, budget())
		case 3:
			ok, err = w.step(Rebalance{Wait: secs(rnd.IntN(60)), Changes: Changes{Workers: rnd.IntN(4)}}, budget())
		case 4:
			ok = w.restart(budget())
		case 5:
			ok, err = w.step(DelayDue{}, budget())
		default:
			ok = w.pass(time.Duration(rnd.IntN(400))*time.Second, budget())
		}
		if err != nil && !errors.Is(err, ErrRefused) {
			return err
		}
		if err != nil && !before.pending() {
			return fmt.Errorf("refused from %v: %w", before.Status, err)
		}
		for !ok {
			ok = w.restart(budget())
		}
		if err := w.check(); err != nil {
			return fmt.Errorf("%w\n%v", err, w.log)
		}
		isKilled := w.state.Over() || w.state.Status == cluster.StatusKilled
		if killed && !isKilled {
			return fmt.Errorf("it left KILLED for %v", w.state.Status)
		}
		if isKilled && !killed {
			killedAt = w.now
		}
		killed = isKilled
		if w.state.Over() {
			break
		}
	}
	return w.rest(killed, killedAt)
}

// rest lets time go by until nothing is pending, and looks at what is left.
func (w *world) rest(killed bool, killedAt time.Time) error {
	for !w.timer.IsZero() && !w.state.Over() {
		if !w.pass(max(0, w.timer.Sub(w.now)), 100) {
			return errors.New("a step did not get through")
		}
	}
	if err := w.check(); err != nil {
		return fmt.Errorf("in the end: %w", err)
	}
	if killed != w.state.Over() {
		return fmt.Errorf("killed is %v, and in the end it is %+v", killed, w.state)
	}
	if killed && w.deleted.Sub(killedAt) < rules().BlobDelay {
		return fmt.Errorf("the blobs went %v after the kill", w.deleted.Sub(killedAt))
	}
	return nil
}

func TestNothingIsLostInACrash(t *testing.T) {
	for seed := range uint64(5000) {
		if err := live(rand.New(rand.NewPCG(seed, 1)), 25); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestCrashAfterEachEffect kills the leader at every single point of a whole
// life, and at each of the next start too.
func TestCrashAfterEachEffect(t *testing.T) {
	script := []func(w *world, budget int) bool{
		func(w *world, n int) bool { ok, _ := w.step(Deactivate{}, n); return ok },
		func(w *world, n int) bool {
			ok, _ := w.step(Rebalance{Wait: secs(10), Changes: Changes{Workers: 3}}, n)
			return ok
		},
		func(w *world, n int) bool { return w.pass(10*time.Second, n) },
		func(w *world, n int) bool { ok, _ := w.step(Kill{}, n); return ok },
		func(w *world, n int) bool { return w.pass(30*time.Second, n) },
		func(w *world, n int) bool { return w.pass(5*time.Minute, n) },
	}
	for crash := range script {
		for first := range 6 {
			for second := range 6 {
				w := newWorld()
				for i, f := range script {
					if i == crash && !f(w, first) {
						if !w.restart(second) && !w.restart(100) {
							t.Fatal("a start did not get through")
						}
						w.pass(0, 100) // what is overdue
						if w.state.Status != 0 && i < 5 {
							f(w, 100) // the user tries again; time goes on
						}
					} else if i != crash {
						f(w, 100)
					}
					if err := w.check(); err != nil {
						t.Fatalf("crash in step %d after %d effects, then after %d: %v", crash, first, second, err)
					}
				}
				for !w.timer.IsZero() && !w.state.Over() {
					w.pass(max(0, w.timer.Sub(w.now)), 100)
				}
				if !w.state.Over() || w.blobs || w.workers != 3 {
					t.Fatalf("crash in step %d after %d effects, then after %d: %+v is left, %d workers", crash, first, second, w.state, w.workers)
				}
			}
		}
	}
}

func TestKilledForGood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := killed()
		now := 0
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			now += rapid.IntRange(0, 30).Draw(t, "seconds")
			a := rapid.SampledFrom([]Action{Activate{}, Deactivate{}, Kill{}, Kill{Wait: secs(3)}, Rebalance{}, Startup{}, DelayDue{}}).Draw(t, "action")
			next, effects, err := rules().Step(s, a, at(now))
			if err != nil && len(effects) > 0 {
				t.Fatalf("%v, and yet %v", err, effects)
			}
			if next.Over() {
				return
			}
			if next.Status != cluster.StatusKilled || s.Removed && !next.Removed {
				t.Fatalf("%T turned %+v into %+v", a, s, next)
			}
			s = next
		}
	})
}
