package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/supervisor/jvmstate"
	"github.com/stormring/stormring/supervisor/process"
)

const (
	// agentEvery is how often a supervisor looks whether its agent is there.
	agentEvery = 2 * time.Second
	// agentEnds bounds how long an agent of another configuration may take to end.
	agentEnds = 10 * time.Second
	// idleEvery is how often an agent looks whether anybody needs it. One that was not
	// needed twice in a row ends.
	idleEvery = 30 * time.Second
)

// agentSpec says which agent a supervisor wants: of which program and version, with logs
// in which folder, absolute.
type agentSpec struct {
	JVMAgent
	program, version, logs string
}

// agentRoot is where the agent's process has its files, in storm.local.dir.
func agentRoot(local string) string { return filepath.Join(local, "jvm-agent") }

// keepAgentProcess sees to it that the one agent runs while it is wanted. When ctx ends
// that is left to the next supervisor: the agent goes on, as workers do.
func keepAgentProcess(ctx context.Context, spec agentSpec, wanted func() bool) (err error) {
	m, err := process.New(ctx, process.Config{Root: agentRoot(spec.Dir), Clock: clock.Real{}, Logger: spec.Logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	settings, id, err := spec.told()
	if err != nil {
		return err
	}
	// Another one has other settings, or is of another release. JVMs find the new one.
	sweep, cancel := context.WithTimeout(ctx, agentEnds)
	err = m.Sweep(sweep, func(agent string) bool { return agent == id })
	cancel()
	if err != nil {
		return err
	}
	again := time.NewTicker(agentEvery)
	defer again.Stop()
	failed := false
	for {
		if wanted() {
			err := spec.ensure(ctx, m, id, settings)
			if err != nil && !failed && ctx.Err() == nil {
				spec.Logger.Error("Java topologies get no state on the ring here for now", "error", err)
			}
			failed = err != nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

// told is the configuration that the agent is given, as JSON, and its name: all that it is
// told is in that, so that one with other settings has another.
func (s agentSpec) told() (settings []byte, id string, err error) {
	info, err := os.Stat(s.program)
	if err != nil {
		return nil, "", fmt.Errorf("this program: %w", err)
	}
	if settings, err = json.Marshal(s.Conf.All()); err != nil {
		return nil, "", fmt.Errorf("the configuration of the agent for state of JVMs: %w", err)
	}
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s %s %d %d %s %s", s.version, s.program, info.Size(), info.ModTime().UnixNano(), s.Ring, settings)
	return settings, fmt.Sprintf("agent-%016x", sum.Sum64()), nil
}

// ensure starts the agent unless it runs.
func (s agentSpec) ensure(ctx context.Context, m *process.Manager, id string, settings []byte) error {
	if _, alive, err := m.Find(id); err != nil || alive {
		return err
	}
	if err := m.Clear(ctx, id); err != nil {
		return err
	}
	if err := os.MkdirAll(m.Dir(id), 0o750); err != nil {
		return err
	}
	file := filepath.Join(m.Dir(id), "conf.json")
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		return err
	}
	h, err := m.Start(ctx, process.Spec{
		WorkerID: id, Env: os.Environ(), LogDir: filepath.Join(s.logs, "jvm-agent"), LogMaxBytes: 1 << 20, LogKeep: 1,
		Argv: []string{s.program, "agent", "--conf", file, "--dir", s.Dir, "--ring", s.Ring, "--log", filepath.Join(s.logs, "jvm-agent.log")},
	})
	if err == nil {
		s.Logger.Info("the agent for the state of Java topologies runs", "pid", h.PID())
	}
	return err
}

// unneeded returns when no JVM is connected and no supervisor runs, for a while.
func unneeded(ctx context.Context, local string, agent *jvmstate.Agent) {
	ticker := time.NewTicker(idleEvery)
	defer ticker.Stop()
	for before := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		idle := agent.Idle() && !process.InUse(agentRoot(local))
		if idle && before {
			return
		}
		before = idle
	}
}
