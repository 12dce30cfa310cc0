// Package clock is the port to time of the shells and adapters: what waits or
// stamps takes a Clock, so that a test or a simulation decides what time it
// is. Pure cores do not use it; they are handed the time as an argument.
//
// Real is the computer's clock, NewFake one that stands still until told to
// move. Where a whole test can run in a testing/synctest bubble, Real does
// there too and no Fake is needed.
package clock

import "time"

// Clock tells the time and makes timers.
type Clock interface {
	// Now is the current time.
	Now() time.Time
	// NewTimer makes a timer that sends the time on its channel once, after d.
	NewTimer(d time.Duration) Timer
}

// Timer is a *time.Timer as far as its users need it. As with that, after Stop
// or Reset the channel holds nothing from before.
type Timer interface {
	// C is the channel on which the time is sent.
	C() <-chan time.Time
	// Reset starts the timer anew. It reports whether it was still to fire.
	Reset(d time.Duration) bool
	// Stop keeps the timer from firing. It reports whether it was still to fire.
	Stop() bool
}

// Real is the computer's clock.
type Real struct{}

var _ Clock = Real{}

// Now is time.Now.
func (Real) Now() time.Time { return time.Now() }

// NewTimer is time.NewTimer.
func (Real) NewTimer(d time.Duration) Timer { return realTimer{time.NewTimer(d)} }

type realTimer struct{ *time.Timer }

func (t realTimer) C() <-chan time.Time { return t.Timer.C }
