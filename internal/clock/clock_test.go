package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// both runs a test against both clocks; advance moves the time on.
func both(t *testing.T, test func(t *testing.T, c Clock, advance func(time.Duration))) {
	t.Run("real", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			test(t, Real{}, func(d time.Duration) {
				<-time.After(d)
				synctest.Wait()
			})
		})
	})
	t.Run("fake", func(t *testing.T) {
		f := NewFake(start)
		test(t, f, f.Advance)
	})
}

// fired is how long after from the timer fired, or -1 if it did not.
func fired(tm Timer, from time.Time) time.Duration {
	select {
	case at := <-tm.C():
		return at.Sub(from)
	default:
		return -1
	}
}

func TestTimerFiresOnceAtItsTime(t *testing.T) {
	both(t, func(t *testing.T, c Clock, advance func(time.Duration)) {
		from := c.Now()
		tm := c.NewTimer(10 * time.Second)
		advance(10*time.Second - 1)
		if got := fired(tm, from); got != -1 {
			t.Fatalf("fired after %v", got)
		}
		advance(1)
		if got := fired(tm, from); got != 10*time.Second {
			t.Fatalf("fired after %v, want 10s", got)
		}
		advance(time.Hour)
		if got := fired(tm, from); got != -1 {
			t.Fatalf("fired again, after %v", got)
		}
		if got := c.Now().Sub(from); got != time.Hour+10*time.Second {
			t.Errorf("the clock moved by %v", got)
		}
		if tm.Stop() {
			t.Error("Stop says that a timer is running that has fired")
		}
	})
}

func TestTimerStopAndReset(t *testing.T) {
	both(t, func(t *testing.T, c Clock, advance func(time.Duration)) {
		from := c.Now()
		tm := c.NewTimer(time.Second)
		if !tm.Stop() {
			t.Error("Stop says that no timer was running")
		}
		advance(time.Minute)
		if got := fired(tm, from); got != -1 {
			t.Fatalf("fired after %v though stopped", got)
		}
		if tm.Reset(time.Second) {
			t.Error("Reset says that a stopped timer was running")
		}
		if !tm.Reset(2 * time.Second) {
			t.Error("Reset says that no timer was running")
		}
		advance(time.Minute)
		// It fired and nobody looked: Reset takes that back.
		tm.Reset(time.Second)
		if got := fired(tm, from); got != -1 {
			t.Fatalf("a stale time, %v, was left after Reset", got)
		}
		advance(time.Second)
		if got, want := fired(tm, from), 2*time.Minute+time.Second; got != want {
			t.Errorf("fired after %v, want %v", got, want)
		}
	})
}

func TestTimerWithoutWaitFiresAtOnce(t *testing.T) {
	both(t, func(t *testing.T, c Clock, _ func(time.Duration)) {
		for _, d := range []time.Duration{0, -time.Second} {
			<-c.NewTimer(d).C()
		}
	})
}

func TestFakeFiresInOrder(t *testing.T) {
	f := NewFake(start)
	late, early, never := f.NewTimer(3*time.Second), f.NewTimer(time.Second), f.NewTimer(time.Hour)
	f.Advance(time.Minute)
	if got := fired(early, start); got != time.Second {
		t.Errorf("the early timer fired after %v", got)
	}
	if got := fired(late, start); got != 3*time.Second {
		t.Errorf("the late timer fired after %v", got)
	}
	if n, _ := f.Timers(); n != 1 || !never.Stop() {
		t.Errorf("%d timers are left, want 1", n)
	}
}

func TestFakeTellsOfWaiters(t *testing.T) {
	f := NewFake(start)
	n, changed := f.Timers()
	if n != 0 {
		t.Fatalf("%d timers on a new clock", n)
	}
	done := make(chan time.Time)
	go func() { done <- <-f.NewTimer(time.Second).C() }()
	<-changed
	if n, changed = f.Timers(); n != 1 {
		t.Fatalf("%d timers, want 1", n)
	}
	f.Advance(time.Second)
	<-changed
	if got := <-done; !got.Equal(start.Add(time.Second)) {
		t.Errorf("fired at %v", got)
	}
}
