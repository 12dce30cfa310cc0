package node

import (
	"runtime"
	"syscall"
)

// calmNice is the priority of work aside: a tenth of a share of a busy processor.
const calmNice = 10

// yieldToOthers gives the calling goroutine a thread of low priority, which ends
// with it, since priority cannot be taken back.
func yieldToOthers() {
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), calmNice) // it goes without, less kindly
}
