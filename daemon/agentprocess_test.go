//go:build linux

package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/supervisor/process"
)

// TestMain is the agent, too: a supervisor starts its own program as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		act(os.Args)
	}
	goleak.VerifyTestMain(m)
}

// act is an agent that does nothing but write down that it is there.
func act(args []string) {
	after := func(flag string) string { return args[slices.Index(args, flag)+1] }
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	f, err := os.OpenFile(filepath.Join(after("--dir"), "seen"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid(), after("--ring"))
	}
	if err != nil {
		os.Exit(1)
	}
	<-ended
	os.Exit(0)
}

// agentRig is a host whose supervisor keeps an agent.
type agentRig struct {
	*testing.T
	dir   string
	stop  context.CancelFunc
	ended chan error
}

func (r *agentRig) supervise(ring string, wanted bool) {
	r.Helper()
	program, err := os.Executable()
	if err != nil {
		r.Fatal(err)
	}
	ctx, stop := context.WithCancel(r.Context())
	r.stop, r.ended = stop, make(chan error, 1)
	spec := agentSpec{
		JVMAgent: JVMAgent{Conf: conf.Defaults(), Ring: ring, Dir: r.dir, Logger: slog.New(slog.DiscardHandler)},
		program:  program, logs: filepath.Join(r.dir, "logs"),
	}
	go func() { r.ended <- keepAgentProcess(ctx, spec, func() bool { return wanted }) }()
}

func (r *agentRig) end() {
	r.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		r.Error(err)
	}
}

// agent is the process of the nth agent that was started, and its ring.
func (r *agentRig) agent(n int) (pid int, ring string) {
	r.Helper()
	r.until(fmt.Sprintf("agent %d is there", n), func() bool {
		text, _ := os.ReadFile(filepath.Join(r.dir, "seen"))
		lines := strings.Split(string(text), "\n")
		if len(lines) <= n {
			return false
		}
		_, err := fmt.Sscan(lines[n-1], &pid, &ring)
		return err == nil && len(lines) == n+1
	})
	return pid, ring
}

func (r *agentRig) until(what string, ask func() bool) {
	r.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for end := time.After(30 * time.Second); !ask(); {
		select {
		case <-again.C:
		case <-end:
			r.Fatalf("still waiting for this: %s", what)
		}
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// An agent outlives its supervisor, the next one of which takes it over, unless it wants
// another; and one that dies is started again.
func TestAgentProcess(t *testing.T) {
	r := &agentRig{T: t, dir: t.TempDir()}
	r.supervise("ring:1", false)
	r.until("the supervisor has the folder", func() bool { return process.InUse(agentRoot(r.dir)) })
	r.end()
	if process.InUse(agentRoot(r.dir)) {
		t.Error("without a supervisor the folder is in use")
	}
	if _, err := os.Stat(filepath.Join(r.dir, "seen")); err == nil {
		t.Error("an agent was started that nobody wants")
	}

	r.supervise("ring:1", true)
	first, ring := r.agent(1)
	t.Cleanup(func() { _ = syscall.Kill(first, syscall.SIGKILL) })
	if ring != "ring:1" {
		t.Errorf("the agent is told of %s", ring)
	}
	r.end()
	if !alive(first) {
		t.Fatal("the agent ended with its supervisor")
	}

	r.supervise("ring:1", true)
	r.until("the supervisor has the folder", func() bool { return process.InUse(agentRoot(r.dir)) })
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second, _ := r.agent(2) // were the first not taken over, there would be two before
	t.Cleanup(func() { _ = syscall.Kill(second, syscall.SIGKILL) })
	r.end()

	r.supervise("ring:2", true)
	third, ring := r.agent(3)
	t.Cleanup(func() { _ = syscall.Kill(third, syscall.SIGKILL) })
	if ring != "ring:2" || alive(second) {
		t.Errorf("with another configuration the agent is told of %s, and the other one is alive: %v", ring, alive(second))
	}
	r.end()
}
