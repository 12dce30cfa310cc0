//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestWorkerEndsByItself(t *testing.T) {
	r := newRig(t)
	r.open()
	for _, code := range []int{0, 3, 255} {
		began := time.Now()
		h := r.start(r.spec("w"+strconv.Itoa(code), "exit", strconv.Itoa(code)))
		if got := r.gone(h); got != code {
			t.Errorf("exit code %d, want %d", got, code)
		}
		if at := h.Ended(); at.Before(began) || at.After(time.Now()) {
			t.Errorf("ended at %v, began at %v", at, began)
		}
		if err := errors.Join(h.Terminate(), h.Kill()); err != nil {
			t.Errorf("signals to a worker that is gone: %v", err)
		}
		if _, ok, err := r.m.Find(h.WorkerID()); ok || err != nil {
			t.Errorf("Find of a worker that is gone: %v, %v", ok, err)
		}
	}
}

func TestWhatAWorkerIsGiven(t *testing.T) {
	r := newRig(t)
	r.open()
	s := r.spec("w1", "environment", "one", "two words")
	s.Env = append(s.Env, "A=1", MarkerEnv+"=/elsewhere", "B=x y")
	h := r.start(s)
	pid := r.hear("environment")
	if pid != h.PID() || h.Adopted() || h.WorkerID() != "w1" {
		t.Errorf("pid %d, handle %d, adopted %v, id %s", pid, h.PID(), h.Adopted(), h.WorkerID())
	}
	dir := filepath.Join(r.m.Root(), "w1")
	out, _ := os.ReadFile(filepath.Join(s.LogDir, StdoutName))
	want := fmt.Sprintf("%s=%s\n%s=environment\nA=1\nB=x y\n%s /dev/null [%s one two words]\n", MarkerEnv, dir, actEnv, dir, r.fifo)
	if string(out) != want {
		t.Errorf("the worker sees\n%s\nwant\n%s", out, want)
	}
	files, _ := os.ReadFile(filepath.Join(s.LogDir, StderrName))
	if strings.Contains(string(files), ".lock") || strings.Contains(string(files), "pidfd") {
		t.Errorf("the worker has files of the supervisor open:\n%s", files)
	}
	if group, err := unix.Getpgid(pid); err != nil || group != pid {
		t.Errorf("process group %d of process %d, %v", group, pid, err)
	}
}

func TestTerminateAndKill(t *testing.T) {
	r := newRig(t)
	r.open()
	soft := r.start(r.spec("soft", "wait"))
	r.hear("wait")
	if err := soft.Terminate(); err != nil {
		t.Fatal(err)
	}
	if got := r.gone(soft); got != 128+15 {
		t.Errorf("exit code %d, want 143", got)
	}
	hard := r.start(r.spec("hard", "stubborn"))
	r.hear("stubborn")
	if err := hard.Terminate(); err != nil {
		t.Fatal(err)
	}
	if got, at := hard.ExitCode(), hard.Ended(); got != -1 || !at.IsZero() {
		t.Errorf("exit code %d and end %v of a living worker, want -1 and none", got, at)
	}
	if err := hard.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := r.gone(hard); got != 128+9 {
		t.Errorf("exit code %d, want 137", got)
	}
}

// A stopped process cannot even ignore a signal.
func TestKillStopped(t *testing.T) {
	r := newRig(t)
	r.open()
	h := r.start(r.spec("w", "wait"))
	unix.Kill(r.hear("wait"), unix.SIGSTOP)
	if err := errors.Join(h.Terminate(), h.Kill()); err != nil {
		t.Fatal(err)
	}
	if got := r.gone(h); got != 128+9 {
		t.Errorf("exit code %d, want 137", got)
	}
}

// family starts a worker with processes of its own and returns all but it.
func (r *rig) family(worker string, args ...string) (*Handle, []int) {
	r.tb.Helper()
	h := r.start(r.spec(worker, "parent", args...))
	var pids []int
	var line string
	for range 3 + len(args) {
		text, err := r.said.ReadString('\n')
		if err != nil {
			r.tb.Fatal(err)
		}
		line = strings.TrimSpace(text)
		if pid, ok := strings.CutPrefix(line, "wait "); ok {
			n, _ := strconv.Atoi(pid)
			pids = append(pids, n)
		}
	}
	if len(pids) != 2+len(args) {
		r.tb.Fatalf("children %v", pids)
	}
	return h, pids
}

func TestLeaderDiesAndTheRestGoesToo(t *testing.T) {
	r := newRig(t)
	r.open()
	h, children := r.family("w")
	unix.Kill(h.PID(), unix.SIGKILL)
	if got := r.gone(h); got != 128+9 {
		t.Errorf("exit code %d, want 137", got)
	}
	r.noneLeft(children...)
}

func TestKillEndsWhatLeftTheGroup(t *testing.T) {
	r := newRig(t)
	r.open()
	h, children := r.family("w", "and one that is known by its parent only")
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	r.gone(h)
	// That one is killed and not waited for, as nothing ties it to the worker
	// when its parent is dead.
	for _, pid := range children {
		start, _, _ := startOf(pid)
		l := look(pid, start)
		l.wait(t.Context(), r.m.clock)
		l.close()
	}
	r.noneLeft(children...)
}

func TestIDsAreUsedOnce(t *testing.T) {
	r := newRig(t)
	r.open()
	h := r.start(r.spec("w", "wait"))
	r.hear("wait")
	if _, err := r.m.Start(t.Context(), r.spec("w", "wait")); !errors.Is(err, ErrKnown) {
		t.Errorf("second start of a living worker: %v", err)
	}
	if err := r.m.Clear(t.Context(), "w"); !errors.Is(err, ErrAlive) {
		t.Errorf("Clear of a living worker: %v", err)
	}
	h.Kill()
	r.gone(h)
	if _, err := r.m.Start(t.Context(), r.spec("w", "wait")); !errors.Is(err, ErrKnown) {
		t.Errorf("second start of a dead worker: %v", err)
	}
	for range 2 {
		if err := r.m.Clear(t.Context(), "w"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(r.m.Dir("w")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

func TestRefusedSpecs(t *testing.T) {
	r := newRig(t)
	r.open()
	ok := r.spec("w", "wait")
	for name, tt := range map[string]struct {
		change func(s *Spec)
		want   string
	}{
		"no id":       {func(s *Spec) { s.WorkerID = "" }, `"" is no worker id`},
		"outside":     {func(s *Spec) { s.WorkerID = "../w" }, `"../w" is no worker id`},
		"dots":        {func(s *Spec) { s.WorkerID = ".." }, `".." is no worker id`},
		"no program":  {func(s *Spec) { s.Argv = nil }, "no program"},
		"relative":    {func(s *Spec) { s.Argv = []string{"bin/x"} }, "bin/x has a relative path"},
		"dir":         {func(s *Spec) { s.Dir = "here" }, "working directory here is relative"},
		"logs":        {func(s *Spec) { s.LogDir = "logs" }, `log directory "logs" is not absolute`},
		"limit":       {func(s *Spec) { s.LogMaxBytes = -1 }, "LogMaxBytes is -1"},
		"zero":        {func(s *Spec) { s.Env = []string{"A=\x00"} }, "zero byte"},
		"unknown":     {func(s *Spec) { s.Argv = []string{"no-such-program"} }, `start worker w: exec: "no-such-program": executable file not found in $PATH; install it`},
		"no such dir": {func(s *Spec) { s.Dir = "/no/such" }, "working directory /no/such is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			s := ok
			tt.change(&s)
			_, err := r.m.Start(t.Context(), s)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	// None of them keeps the id from being used.
	r.start(ok)
	r.hear("wait")
}

func TestProgramsThatCannotBeStarted(t *testing.T) {
	r := newRig(t)
	r.open()
	foreign := []byte("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\xf3\x00\x01")
	foreign = append(foreign, make([]byte, 64)...)
	foreign[52] = 64 // the header's own size
	for name, tt := range map[string]struct {
		content []byte
		mode    os.FileMode
		want    string
	}{
		"missing":     {nil, 0, "no such file or directory; it is not there"},
		"mode":        {[]byte("#!/bin/sh\n"), 0o600, "permission denied; it may not be executed; check its mode (chmod +x)"},
		"interpreter": {[]byte("#! /no/such/python3 -u\nx"), 0o700, `its interpreter "/no/such/python3 -u" is not there`},
		"empty":       {[]byte{}, 0o700, "exec format error; it is empty"},
		"zip":         {[]byte("PK\x03\x04xxxx"), 0o700, "exec format error; it is a zip or jar"},
		"windows":     {[]byte("MZ\x03\x04xxxx"), 0o700, "it is a program for Windows; this host needs one built with GOOS=linux"},
		"mac":         {[]byte("\xcf\xfa\xed\xfe\x07"), 0o700, "it is a program for macOS; this host"},
		"text":        {[]byte("hello\n"), 0o700, "it is not a program; a script needs"},
		"risc-v":      {foreign, 0o700, "exec format error; it is a program for EM_RISCV (ELFCLASS64); this host needs one built with GOOS=linux GOARCH="},
		"damaged":     {foreign[:18], 0o700, "it is a damaged program"},
	} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "stormjar.jar")
			if tt.content != nil {
				if err := os.WriteFile(program, tt.content, tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			s := r.spec(name, "wait")
			s.Argv = []string{program}
			_, err := r.m.Start(t.Context(), s)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), program) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	if l, err := r.m.List(); err != nil || len(l) != 10 || len(l[0].PIDs) != 0 {
		t.Errorf("List: %+v, %v", l, err)
	}
}

// A program that is still open for writing somewhere can be started a little
// later.
func TestBusyProgram(t *testing.T) {
	r := newRig(t)
	r.open()
	program := filepath.Join(t.TempDir(), "true")
	b, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(program, b, 0o700)
	f, err := os.OpenFile(program, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := r.spec("w", "")
	s.Argv = []string{program}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.m.Start(ctx, s); !errors.Is(err, unix.ETXTBSY) || !strings.Contains(err.Error(), "somebody is writing to it") {
		t.Errorf("%v, want text file busy", err)
	}
	f.Close()
	if got := r.gone(r.start(s)); got != 0 {
		t.Errorf("exit code %d", got)
	}
}

func TestOneManagerPerRoot(t *testing.T) {
	r := newRig(t)
	m := r.open()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, r.cfg); !errors.Is(err, ErrInUse) {
		t.Errorf("a second Manager: %v", err)
	}
	m.Close()
	m.Close()
	if _, err := m.Start(t.Context(), r.spec("w", "wait")); !errors.Is(err, ErrClosed) {
		t.Errorf("Start of a closed Manager: %v", err)
	}
	r.open()
}

func TestManyStartsLeaveNothing(t *testing.T) { manyStarts(t, 5, 12) }

// For a thousand of them: -bench StartToExit -benchtime 1000x.
func BenchmarkStartToExit(b *testing.B) { manyStarts(b, 1, b.N) }

func manyStarts(tb testing.TB, lanes, each int) {
	tb.Helper()
	r := newRig(tb)
	r.open()
	fds := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			tb.Fatal(err)
		}
		return len(list)
	}
	before := fds()
	var wg sync.WaitGroup
	for lane := range lanes {
		wg.Go(func() {
			for i := range each {
				s := r.spec(fmt.Sprintf("w%d-%d", lane, i), "")
				s.Argv = []string{"true"}
				h, err := r.m.Start(tb.Context(), s)
				if err != nil {
					tb.Error(err)
					return
				}
				<-h.Done()
				if h.ExitCode() != 0 {
					tb.Errorf("exit code %d", h.ExitCode())
				}
				if err := r.m.Clear(tb.Context(), s.WorkerID); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if after := fds(); after > before {
		tb.Errorf("%d file descriptors before, %d after", before, after)
	}
	all, _ := scan()
	for _, p := range all {
		if p.ppid == os.Getpid() {
			tb.Errorf("a child is left: %+v", p)
		}
	}
	if l, err := r.m.List(); err != nil || len(l) != 0 {
		tb.Errorf("List: %v, %v", l, err)
	}
}
