package polyglot

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// killer kills processes that have left their files in a folder, none twice.
type killer struct {
	t      *testing.T
	dir    string
	killed map[string]bool
}

// at kills all that are there when ready reports true.
func (k *killer) at(ready func() bool) {
	k.t.Helper()
	timeout := time.After(30 * time.Second)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for !ready() || k.kill() == 0 {
		select {
		case <-look.C:
		case <-timeout:
			k.t.Fatalf("no process to kill in %s", k.dir)
		}
	}
}

func (k *killer) kill() (n int) {
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || k.killed[e.Name()] {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			k.killed[e.Name()] = true
			n++
		}
	}
	return n
}
