package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// host is one host of the cluster as the demonstration has it: a process that can
// be killed and started again.
type host struct {
	spec    hostSpec
	command []string // that is a host
	env     []string
	onNews  func(h *host, n hostNews, at time.Time)

	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}

	mu      sync.Mutex
	workers map[int]bool // their processes
}

// start starts the process, and does not wait.
func (h *host) start() error {
	if err := os.MkdirAll(h.spec.Dir, 0o700); err != nil {
		return err
	}
	errs, err := os.OpenFile(h.spec.Dir+"/host.err", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer errs.Close()
	// No context ends it: its workers would be left.
	cmd := exec.CommandContext(context.Background(), h.command[0], h.command[1:]...)
	cmd.Env, cmd.Stderr, cmd.Dir = h.env, errs, h.spec.Dir
	// Ctrl-C is for the demonstration, which ends its hosts.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("host %s: %w", h.spec.Host, err)
	}
	ended := make(chan struct{})
	h.mu.Lock()
	h.workers = map[int]bool{}
	h.mu.Unlock()
	h.cmd, h.stdin, h.ended = cmd, in, ended
	go func() {
		defer close(ended)
		h.listen(out)
		_ = cmd.Wait() // how it ended, its log tells
	}()
	return json.NewEncoder(in).Encode(h.spec)
}

// listen takes the process's news until it ends.
func (h *host) listen(out io.Reader) {
	news := json.NewDecoder(out)
	for {
		var n hostNews
		if news.Decode(&n) != nil {
			return
		}
		at := time.Now()
		h.mu.Lock()
		delete(h.workers, n.Ended)
		if n.Worker != 0 {
			h.workers[n.Worker] = true
		}
		h.mu.Unlock()
		h.onNews(h, n, at)
	}
}

// pids are the workers that run.
func (h *host) pids() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.workers))
}

// kill ends the host's workers and its own process as a loss of power would: by
// SIGKILL.
func (h *host) kill() error {
	if h.cmd == nil {
		return nil
	}
	var errs []error
	h.mu.Lock()
	for pid := range h.workers { // each leads a session of its own
		if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("kill worker %d of host %s: %w", pid, h.spec.Host, err))
		}
		delete(h.workers, pid)
	}
	h.mu.Unlock()
	if err := h.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		errs = append(errs, fmt.Errorf("kill host %s: %w", h.spec.Host, err))
	}
	h.stdin.Close()
	return errors.Join(errs...)
}

// stop lets the host end its workers and itself, and kills what does not.
func (h *host) stop(ctx context.Context) error {
	if h.cmd == nil {
		return nil
	}
	h.stdin.Close()
	select {
	case <-h.ended:
		return nil
	case <-ctx.Done():
	case <-time.After(stopGrace):
	}
	err := h.kill()
	<-h.ended
	return err
}

// alive tells whether its process runs.
func (h *host) alive() bool {
	if h.cmd == nil {
		return false
	}
	select {
	case <-h.ended:
		return false
	default:
		return true
	}
}
