//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stormring/stormring/internal/clock"
)

// Start starts a worker and returns when its program runs. A worker's id is not
// used again before it is cleared: [ErrKnown]. If there is an error, there is
// no process.
func (m *Manager) Start(ctx context.Context, spec Spec) (*Handle, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	if err := m.claim(spec.WorkerID); err != nil {
		return nil, fmt.Errorf("start worker %s: %w", spec.WorkerID, err)
	}
	m.births.RLock()
	defer m.births.RUnlock()
	h, err := m.launch(ctx, spec)
	if err != nil {
		m.drop(spec.WorkerID)
		return nil, fmt.Errorf("start worker %s: %w", spec.WorkerID, err)
	}
	m.enter(h)
	return h, nil
}

func (m *Manager) launch(ctx context.Context, spec Spec) (*Handle, error) {
	dir := m.Dir(spec.WorkerID)
	switch _, err := os.Stat(recordPath(dir)); {
	case err == nil:
		return nil, fmt.Errorf("%s is there: %w; give each launch an id of its own", recordPath(dir), ErrKnown)
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	logs := newLogs(spec.logs())
	rec := record{Argv: spec.Argv, Logs: logs.files}
	if err := rec.write(dir); err != nil {
		return nil, fmt.Errorf("put the worker on record: %w", err)
	}
	pid, start, err := run(ctx, m.clock, dir, spec, logs)
	if err != nil {
		return nil, errors.Join(err, os.Remove(recordPath(dir)))
	}
	rec.PID, rec.Start, rec.Boot = pid, start, bootID()
	if err := rec.write(dir); err != nil {
		m.log.Warn("a worker's process is not on record; the next supervisor has to find it by its environment",
			"worker", spec.WorkerID, "pid", pid, "err", err)
	}
	return newHandle(m, spec.WorkerID, logs, look(pid, start)), nil
}

// run starts the program in a session of its own.
func run(ctx context.Context, c clock.Clock, dir string, spec Spec, logs *logs) (pid int, started uint64, err error) {
	program, err := exec.LookPath(spec.Argv[0])
	if err != nil {
		return 0, 0, explain(spec.Argv[0], spec.Dir, err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, 0, err
	}
	defer null.Close()
	stdout, stderr, err := logs.open()
	if err != nil {
		return 0, 0, err
	}
	defer stdout.Close()
	defer stderr.Close()
	attr := &os.ProcAttr{
		Dir:   spec.Dir,
		Env:   environment(spec.Env, dir),
		Files: []*os.File{null, stdout, stderr},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	if attr.Dir == "" {
		attr.Dir = dir
	}
	p, err := start(ctx, c, program, spec.Argv, attr)
	if err != nil {
		return 0, 0, explain(program, attr.Dir, err)
	}
	// The Handle waits for it. Until then nobody else has its number.
	defer func() { _ = p.Release() }()
	started, _, err = startOf(p.Pid)
	if err != nil {
		err = errors.Join(err, unix.Kill(-p.Pid, unix.SIGKILL))
		_, waitErr := p.Wait()
		return 0, 0, errors.Join(fmt.Errorf("see when it started: %w", err), waitErr)
	}
	return p.Pid, started, nil
}

// start tries again while the program is "busy": a file that was just written
// is so as long as a child of some other goroutine, between fork and exec, has
// it open for writing.
func start(ctx context.Context, c clock.Clock, program string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	const tries, pause = 20, 10 * time.Millisecond
	for i := 1; ; i++ {
		p, err := os.StartProcess(program, argv, attr)
		if i == tries || !errors.Is(err, unix.ETXTBSY) || !rest(ctx, c, pause) {
			return p, err
		}
	}
}
