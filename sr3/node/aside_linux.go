package node

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// asideNice is the priority of work that nobody waits for: a tenth of a share of a
// busy processor.
const asideNice = 10

// yieldToOthers gives the calling goroutine a thread of low priority. The thread ends
// with the goroutine, since priority cannot be taken back. If the system refuses it
// goes without, less kindly.
func yieldToOthers() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), asideNice)
}

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
