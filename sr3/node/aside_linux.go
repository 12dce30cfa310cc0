package node

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// overdueNice is the priority of work that waits too long: a tenth of a share of a
// busy processor.
const overdueNice = 10

// yieldToOthers gives the calling goroutine a thread that runs when nothing else
// wants to, or, if it is overdue, one of low priority. The thread ends with the
// goroutine, since priority cannot be taken back. If the system refuses it goes
// without, less kindly.
func yieldToOthers(overdue bool) {
	runtime.LockOSThread()
	if overdue {
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), overdueNice)
		return
	}
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
}
