//go:build linux

package process

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// actEnv makes the test binary a process to test with: see act.
const actEnv = "STORMRING_TEST_ACT"

func TestMain(m *testing.M) {
	if role := os.Getenv(actEnv); role != "" {
		act(role, os.Args[1:])
	}
	goleak.VerifyTestMain(m)
}

// act plays a role of a process under test. args[0] is a FIFO on which it says
// that it has come so far.
func act(role string, args []string) {
	say := func(format string, a ...any) {
		f, err := os.OpenFile(args[0], os.O_WRONLY, 0)
		check(err)
		_, err = fmt.Fprintf(f, format+"\n", a...)
		check(err)
		f.Close()
	}
	switch role {
	case "wait":
	case "stubborn":
		signal.Ignore(unix.SIGTERM)
	case "exit":
		code, err := strconv.Atoi(args[1])
		check(err)
		os.Exit(code)
	case "parent": // of a session-mate without the mark, and of one that left, marked or not
		spawn(args[0], false, nil)
		spawn(args[0], true, []string{MarkerEnv + "=" + os.Getenv(MarkerEnv)})
		if len(args) > 1 {
			spawn(args[0], true, nil)
		}
	case "spew":
		again := make(chan os.Signal, 1)
		signal.Notify(again, unix.SIGUSR1)
		for i := 0; ; i++ {
			fmt.Println(strings.Repeat(strconv.Itoa(i), 99))
			fmt.Fprintln(os.Stderr, "round", i)
			say("spew %d", i)
			<-again
		}
	case "environment":
		fmt.Println(strings.Join(os.Environ(), "\n"))
		wd, err := os.Getwd()
		check(err)
		in, err := os.Readlink("/proc/self/fd/0")
		check(err)
		fmt.Println(wd, in, os.Args[1:])
		fds, err := os.ReadDir("/proc/self/fd")
		check(err)
		for _, fd := range fds {
			to, err := os.Readlink("/proc/self/fd/" + fd.Name())
			if err == nil {
				fmt.Fprintln(os.Stderr, to)
			}
		}
	case "supervisor", "orphanage":
		supervise(role, args, say)
	default:
		panic("no such role: " + role)
	}
	// A bare select would be taken for a deadlock.
	forever := make(chan os.Signal, 1)
	signal.Notify(forever, unix.SIGUSR2)
	say("%s %d", role, os.Getpid())
	<-forever
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "role:", err)
		os.Exit(99)
	}
}

func spawn(fifo string, leave bool, env []string) {
	cmd := exec.Command(os.Args[0], fifo)
	cmd.Env = append(env, actEnv+"=wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: leave}
	check(cmd.Start())
}

// supervise starts the workers named in args; with none, ever more of them.
func supervise(role string, args []string, say func(string, ...any)) {
	cfg := Config{Root: args[1]}
	if role == "orphanage" {
		check(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		cfg.Orphans, cfg.TendEvery = true, time.Millisecond
	}
	m, err := New(context.Background(), cfg)
	check(err)
	for i := 0; len(args) > 2 || i < 1000; i++ {
		id := strconv.Itoa(i)
		if len(args) > 2 {
			if i == len(args)-2 {
				return
			}
			id = args[i+2]
		}
		roleOf, _, _ := strings.Cut(id, "-")
		if len(args) == 2 {
			roleOf = "stubborn"
		}
		_, err := m.Start(context.Background(), Spec{
			WorkerID: id, Argv: []string{os.Args[0], args[0]}, Env: []string{actEnv + "=" + roleOf}, LogDir: args[1] + "/../logs",
		})
		check(err)
		if len(args) == 2 {
			say("started %s", id)
		}
	}
}

// rig is a Manager and what a test needs with it.
type rig struct {
	tb   testing.TB
	cfg  Config
	m    *Manager
	fifo string
	said *bufio.Reader
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	dir := tb.TempDir()
	r := &rig{tb: tb, cfg: Config{Root: filepath.Join(dir, "workers")}, fifo: filepath.Join(dir, "fifo")}
	if err := unix.Mkfifo(r.fifo, 0o600); err != nil {
		tb.Fatal(err)
	}
	// For writing too, so that it is never at its end.
	f, err := os.OpenFile(r.fifo, os.O_RDWR, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	f.SetReadDeadline(time.Now().Add(20 * time.Second))
	r.said = bufio.NewReader(f)
	return r
}

// open makes the Manager; it is swept at the end.
func (r *rig) open() *Manager {
	r.tb.Helper()
	m, err := New(r.tb.Context(), r.cfg)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.m = m
	r.tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Sweep(ctx, func(string) bool { return false }); err != nil && !strings.Contains(err.Error(), ErrClosed.Error()) {
			r.tb.Error(err)
		}
		if err := m.Close(); err != nil {
			r.tb.Error(err)
		}
	})
	return m
}

// spec is a worker in a role.
func (r *rig) spec(worker, role string, args ...string) Spec {
	return Spec{
		WorkerID: worker,
		Argv:     append([]string{os.Args[0], r.fifo}, args...),
		Env:      []string{actEnv + "=" + role},
		LogDir:   filepath.Join(r.cfg.Root, "..", "logs"),
	}
}

func (r *rig) start(s Spec) *Handle {
	r.tb.Helper()
	h, err := r.m.Start(r.tb.Context(), s)
	if err != nil {
		r.tb.Fatal(err)
	}
	return h
}

// hear reads one line of what the processes say: a word and a number.
func (r *rig) hear(word string) int {
	r.tb.Helper()
	line, err := r.said.ReadString('\n')
	if err != nil {
		b, _ := os.ReadFile(filepath.Join(r.cfg.Root, "..", "logs", StderrName))
		r.tb.Fatalf("%v while waiting for %q; stderr: %s", err, word, b)
	}
	first, number, _ := strings.Cut(strings.TrimSpace(line), " ")
	n, err := strconv.Atoi(number)
	if err != nil || first != word {
		r.tb.Fatalf("heard %q, want %s and a number", line, word)
	}
	return n
}

// supervisor starts another process that is a supervisor in this rig's root.
func (r *rig) supervisor(role string, workers ...string) *exec.Cmd {
	r.tb.Helper()
	cmd := exec.Command(os.Args[0], append([]string{r.fifo, r.cfg.Root}, workers...)...)
	cmd.Env = []string{actEnv + "=" + role}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

func (r *rig) find(worker string) *Handle {
	r.tb.Helper()
	h, ok, err := r.m.Find(worker)
	if err != nil || !ok {
		r.tb.Fatalf("Find(%s) = %v, %v", worker, ok, err)
	}
	return h
}

func (r *rig) gone(h *Handle) int {
	r.tb.Helper()
	select {
	case <-h.Done():
	case <-time.After(20 * time.Second):
		r.tb.Fatalf("worker %s, process %d, is not gone", h.WorkerID(), h.PID())
	}
	return h.ExitCode()
}

// noneLeft checks that no process of this root is alive.
func (r *rig) noneLeft(pids ...int) {
	r.tb.Helper()
	all, err := scan()
	if err != nil {
		r.tb.Fatal(err)
	}
	for _, p := range all {
		if !p.zombie && (strings.HasPrefix(p.marker, r.cfg.Root+"/") || slices.Contains(pids, p.pid)) {
			r.tb.Errorf("process %d is left: %+v", p.pid, p)
		}
	}
}
