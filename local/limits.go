package local

import (
	"fmt"
	"syscall"
)

// Open files of a run: each worker is connected to each other one in both
// directions, each connection has two ends here, and some are needed besides.
func filesFor(workers int) uint64 { return uint64(2*workers*(workers-1)+workers) + 64 }

// checkFiles refuses more workers than this process may open connections for.
// Go itself has already raised the limit as far as it may.
func checkFiles(workers int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil //nolint:nilerr // no limit is known; a run tells soon enough
	}
	if need := filesFor(workers); need > limit.Cur {
		return fmt.Errorf("%d workers need about %d open files for the connections among them, but the limit is %d: use fewer workers, or raise the limit (ulimit -n)", workers, need, limit.Cur)
	}
	return nil
}
