package clustertests

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
)

// workerPIDs are the processes of all workers by the port of their slot, which
// no other worker of the cluster has.
func (r *rig) workerPIDs() map[int]int {
	pids := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		args := strings.Split(string(line), "\x00")
		link, port := slices.Index(args, "--link")+1, slices.Index(args, "--port")+1
		if link == 0 || port == 0 || !strings.HasPrefix(args[link], r.dir+"/") {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		n, _ := strconv.Atoi(args[port])
		pids[n] = pid
	}
	return pids
}

// workersOf are the processes of one supervisor's workers.
func (r *rig) workersOf(d *daemon) map[int]int {
	pids := r.workerPIDs()
	for port := range pids {
		if !slices.Contains(d.slots, port) {
			delete(pids, port)
		}
	}
	return pids
}

// host is the supervisor that a slot belongs to.
func (r *rig) host(port int) *daemon {
	r.t.Helper()
	for _, d := range r.supervisor {
		if slices.Contains(d.slots, port) {
			return d
		}
	}
	r.t.Fatalf("no supervisor has the slot %d", port)
	return nil
}

// placement is which ports have a component's executors now, by their first
// task.
func (r *rig) placement(topology, component string) map[int]int {
	r.t.Helper()
	info, err := r.client.Topology(r.t.Context(), topology, cluster.NoErrors)
	if err != nil {
		r.t.Fatalf("ask for topology %s: %v", topology, err)
	}
	out := map[int]int{}
	for _, e := range info.ExecutorList {
		if e.Component == component {
			out[int(e.Executor.First)] = int(e.Port)
		}
	}
	return out
}

// sigkill ends a process as a crash would.
func sigkill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill process %d: %v", pid, err)
	}
}

// peakMB is the most memory that a process has had, in MiB.
func peakMB(t *testing.T, pid int) int { t.Helper(); return statusMB(t, pid, "VmHWM") }

// memoryMB is what it has now.
func memoryMB(t *testing.T, pid int) int { t.Helper(); return statusMB(t, pid, "VmRSS") }

func statusMB(t *testing.T, pid int, field string) int {
	t.Helper()
	mb, ok := readStatus(pid, field)
	if !ok {
		t.Fatalf("process %d has no %s", pid, field)
	}
	return mb
}

// readStatus is false if the process is gone.
func readStatus(pid int, field string) (mb int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		if rest, ok := strings.CutPrefix(string(line), field+":"); ok {
			kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			return kb >> 10, err == nil
		}
	}
	return 0, false
}

// peakUntil is the most memory that a process was seen to have, in MiB, until
// it has ended. (What the system tells of an ended one counts its parent in.)
func peakUntil(pid int, ended <-chan error, how func(error)) (peak int) {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case err := <-ended:
			how(err)
			return peak
		case <-again.C:
			if mb, ok := readStatus(pid, "VmHWM"); ok {
				peak = max(peak, mb)
			}
		}
	}
}
