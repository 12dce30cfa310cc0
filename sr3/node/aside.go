package node

import "time"

// aside runs f, which is work that nobody waits for, where the system can do that
// with less right to the processors than all else on the host: the workers whose
// state it is need them. It returns for how long f was kept from them.
//
// Not with the least right that there is (SCHED_IDLE): the garbage collector stops
// every thread of the process for a moment, and one that never comes to run lets all
// others wait, for a second and more.
func aside(f func()) (kept time.Duration) {
	done := make(chan time.Duration)
	go func() {
		yieldToOthers()
		began, ran := time.Now(), threadTime()
		f()
		done <- time.Since(began) - (threadTime() - ran)
	}()
	return max(0, <-done)
}

const (
	// restsFor is how much longer than it was kept from the processors such work
	// rests, so that it leaves them to those that want them.
	restsFor = 4
	// longestRest bounds it.
	longestRest = 250 * time.Millisecond
	// busyAt is how many wait for such work when there is no more rest: owners that
	// wait too long write all of a shard anew, which is dearer.
	busyAt = 4
)

// rest is how long to leave the processors alone after that.
func rest(kept time.Duration) time.Duration { return min(restsFor*kept, longestRest) }
