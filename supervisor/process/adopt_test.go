//go:build linux

package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bereave starts a supervisor with workers, kills it with SIGKILL once all run,
// and opens a Manager as its successor. It returns the workers' processes in
// no order.
func (r *rig) bereave(workers ...string) []int {
	r.tb.Helper()
	cmd := r.supervisor("supervisor", workers...)
	var pids []int
	for range len(workers) + 1 {
		line, err := r.said.ReadString('\n')
		if err != nil {
			r.tb.Fatal(err)
		}
		var role string
		var pid int
		if role, pid = split(line); role != "supervisor" {
			pids = append(pids, pid)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	r.open()
	return pids
}

func split(line string) (role string, pid int) {
	for i := range line {
		if line[i] == ' ' {
			pid, _ = strconv.Atoi(line[i+1 : len(line)-1])
			return line[:i], pid
		}
	}
	return line, 0
}

func TestAdoptedWorkerIsWatched(t *testing.T) {
	r := newRig(t)
	pids := r.bereave("wait-1", "stubborn-1")
	h := r.find("wait-1")
	if !slices.Contains(pids, h.PID()) || !h.Adopted() {
		t.Errorf("found process %d, adopted %v, want one of %v", h.PID(), h.Adopted(), pids)
	}
	if again := r.find("wait-1"); again != h {
		t.Error("found twice, not the same")
	}
	list, err := r.m.List()
	if err != nil || len(list) != 2 || list[1].WorkerID != "wait-1" || !list[1].Dir || !slices.Equal(list[1].PIDs, []int{h.PID()}) {
		t.Errorf("List: %+v, %v", list, err)
	}
	// It ends by itself, as far as the Manager knows.
	unix.Kill(h.PID(), unix.SIGKILL)
	if got := r.gone(h); got != -1 {
		t.Errorf("exit code %d, want -1", got)
	}
	other := r.find("stubborn-1")
	if err := other.Terminate(); err != nil {
		t.Error(err)
	}
	if err := other.Kill(); err != nil {
		t.Error(err)
	}
	r.gone(other)
	for _, worker := range []string{"wait-1", "stubborn-1", "never"} {
		if _, ok, err := r.m.Find(worker); ok || err != nil {
			t.Errorf("Find(%s) = %v, %v", worker, ok, err)
		}
	}
}

// A supervisor may have died before it could write down what it started, or its
// record may be lost or spoiled.
func TestAdoptWithoutRecord(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"lost":    func(dir string) error { return os.RemoveAll(dir) },
		"spoiled": func(dir string) error { return os.WriteFile(recordPath(dir), []byte(`{"pid":`), 0o600) },
		"early":   func(dir string) error { return record{Logs: logFiles{Dir: "/x", Keep: 3}}.write(dir) },
		"no dir":  func(dir string) error { return os.RemoveAll(filepath.Dir(dir)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			cmd := r.supervisor("supervisor", "wait-1")
			pids := map[string]int{}
			for range 2 {
				line, err := r.said.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				role, pid := split(line)
				pids[role] = pid
			}
			cmd.Process.Kill()
			cmd.Wait()
			if err := spoil(filepath.Join(r.cfg.Root, "wait-1")); err != nil {
				t.Fatal(err)
			}
			r.open()
			h := r.find("wait-1")
			if h.PID() != pids["wait"] {
				t.Errorf("found process %d, want %d", h.PID(), pids["wait"])
			}
			if rec, ok, _ := readRecord(r.m.Dir("wait-1")); name == "early" && (!ok || rec.PID != h.PID() || rec.Logs.Keep != 3) {
				t.Errorf("on record: %v, %+v", ok, rec)
			}
			if err := h.Kill(); err != nil {
				t.Error(err)
			}
			r.gone(h)
			r.noneLeft()
		})
	}
}

// The number on record is another process's by now: that one is left alone.
func TestReusedPID(t *testing.T) {
	r := newRig(t)
	r.open()
	stranger := r.start(r.spec("stranger", "wait"))
	pid := r.hear("wait")
	start, _, _ := startOf(pid)
	for name, rec := range map[string]record{
		"start": {PID: pid, Start: start - 1, Boot: bootID()},
		"boot":  {PID: pid, Start: start, Boot: "another"},
	} {
		os.Mkdir(r.m.Dir(name), 0o700)
		if err := rec.write(r.m.Dir(name)); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := r.m.Find(name); ok || err != nil {
			t.Errorf("%s: found: %v, %v", name, ok, err)
		}
		if err := kill(proc{pid: pid, start: start - 1}); err != nil {
			t.Error(err)
		}
		h := newHandle(r.m, name, newLogs(logFiles{}), look(pid, start-1))
		if err := h.Kill(); err != nil {
			t.Error(err)
		}
	}
	if alive, err := isAlive(pid, start); !alive || err != nil {
		t.Errorf("the stranger: %v, %v", alive, err)
	}
	stranger.Kill()
	r.gone(stranger)
}

// The leader died while no supervisor looked; what it left is found and ended.
func TestOnlyOthersAreLeft(t *testing.T) {
	r := newRig(t)
	m := r.open()
	h, children := r.family("w")
	m.Close()
	unix.Kill(h.PID(), unix.SIGKILL)
	var ws unix.WaitStatus
	if _, err := unix.Wait4(h.PID(), &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	r.open()
	found := r.find("w")
	if got := r.gone(found); got != -1 || found.PID() != h.PID() {
		t.Errorf("exit code %d, process %d; want -1, %d", got, found.PID(), h.PID())
	}
	r.noneLeft(children...)
}

// Whenever a supervisor is killed, the next one finds all that it started.
func TestSupervisorKilledAtAnyInstant(t *testing.T) {
	for round := range 3 {
		r := newRig(t)
		cmd := r.supervisor("supervisor")
		for heard := 0; heard < round+1; {
			line, err := r.said.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if word, _ := split(line); word == "started" {
				heard++
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		r.open()
		list, err := r.m.List()
		if err != nil || len(list) < round+1 {
			t.Fatalf("List: %+v, %v", list, err)
		}
		all, err := scan()
		if err != nil {
			t.Fatal(err)
		}
		leaders := 0
		for _, p := range all {
			if filepath.Dir(p.marker) != r.m.Root() || p.zombie {
				continue
			}
			leaders++
			if h := r.find(filepath.Base(p.marker)); h.PID() != p.pid {
				t.Errorf("worker %s: process %d, found %d", p.marker, p.pid, h.PID())
			}
		}
		if leaders < round+1 {
			t.Errorf("%d workers are alive, %d were started at least", leaders, round+1)
		}
		if err := r.m.Sweep(t.Context(), func(string) bool { return false }); err != nil {
			t.Error(err)
		}
		r.noneLeft()
		if list, err := r.m.List(); err != nil || len(list) != 0 {
			t.Errorf("List after Sweep: %+v, %v", list, err)
		}
		r.m.Close()
	}
}

func TestSweepKeepsWhatIsNamed(t *testing.T) {
	r := newRig(t)
	r.bereave("wait-1", "wait-2")
	os.MkdirAll(filepath.Join(r.m.Root(), "old", "deep"), 0o700)
	if err := r.m.Sweep(t.Context(), func(worker string) bool { return worker == "wait-2" }); err != nil {
		t.Fatal(err)
	}
	list, err := r.m.List()
	if err != nil || len(list) != 1 || list[0].WorkerID != "wait-2" || len(list[0].PIDs) != 1 {
		t.Errorf("List: %+v, %v", list, err)
	}
}

// As the first process of a container, a supervisor becomes the parent of what
// its workers orphan.
func TestOrphansAreReaped(t *testing.T) {
	r := newRig(t)
	cmd := r.supervisor("orphanage", "parent-1")
	var children []int
	parent := 0
	for range 4 {
		line, err := r.said.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		switch role, pid := split(line); role {
		case "wait":
			children = append(children, pid)
		case "parent":
			parent = pid
		}
	}
	unix.Kill(parent, unix.SIGKILL)
	began := time.Now()
	for _, pid := range append(children, parent) {
		// It is a zombie until it is reaped, of which nothing tells.
		for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
			p, err := readProc(pid)
			if err != nil || p.ppid != cmd.Process.Pid && p.ppid != parent {
				break
			}
			if time.Since(began) > 20*time.Second {
				t.Fatalf("process %d is left: %+v", pid, p)
			}
		}
	}
}
