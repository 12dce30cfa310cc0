//go:build unix

package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stormring/stormring/supervisor/process"
)

const (
	// resourcesDir is where shell components run, if there is such a folder.
	resourcesDir = "resources"
	// How a worker's output is rotated.
	outputBytes = 100 << 20
	outputKept  = 9
)

// processes is the launcher of a host: each worker is a process.
type processes struct {
	manager *process.Manager
	self    string // this very program
	// localDir and logDir are absolute.
	localDir, logDir string
}

func newProcesses(ctx context.Context, cfg Config) (Launcher, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program's own path: %w", err)
	}
	m, err := process.New(ctx, process.Config{Root: filepath.Join(cfg.LocalDir, "workers"), Clock: cfg.Clock, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	return &processes{manager: m, self: self, localDir: cfg.LocalDir, logDir: cfg.LogDir}, nil
}

// Start implements Launcher.
func (p *processes) Start(ctx context.Context, l Launch) (Handle, error) {
	if l.JVM != "" {
		return p.startJVM(ctx, l)
	}
	program := filepath.Join(l.Dir, jarFile)
	own, err := isProgram(program)
	if err != nil {
		return nil, fmt.Errorf("the topology's code: %w", err)
	}
	if !own {
		program = p.self
	}
	text, err := json.Marshal(l.Conf)
	if err != nil {
		return nil, fmt.Errorf("the host's configuration: %w", err)
	}
	settings := filepath.Join(p.manager.Dir(l.Worker), "conf.json")
	if err := writeFile(settings, text); err != nil {
		return nil, fmt.Errorf("the worker's configuration: %w", err)
	}
	work := filepath.Join(l.Dir, resourcesDir)
	if info, err := os.Stat(work); err != nil || !info.IsDir() {
		work = ""
	}
	h, err := p.manager.Start(ctx, process.Spec{
		WorkerID: l.Worker,
		Argv: []string{
			program, "worker", "--topology", string(l.Topology), "--supervisor", string(l.Supervisor),
			"--port", strconv.Itoa(int(l.Port)), "--worker-id", l.Worker, "--code", l.Dir, "--link", l.Link,
			"--conf", settings, "--log", filepath.Join(l.LogDir, "worker.log"),
		},
		Dir: work, Env: environ(os.Environ(), l.Env), LogDir: l.LogDir, LogMaxBytes: outputBytes, LogKeep: outputKept,
	})
	if err != nil {
		return nil, err // not a nil *Handle in an interface
	}
	return h, nil
}

// Find implements Launcher.
func (p *processes) Find(worker string) (Handle, bool, error) {
	h, alive, err := p.manager.Find(worker)
	if err != nil || !alive {
		return nil, false, err
	}
	return h, true, nil
}

// Clear implements Launcher.
func (p *processes) Clear(ctx context.Context, worker string) error {
	return p.manager.Clear(ctx, worker)
}

// List implements Launcher.
func (p *processes) List() ([]string, error) {
	list, err := p.manager.List()
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = l.WorkerID
	}
	return out, err
}

// Close implements Launcher.
func (p *processes) Close() error { return p.manager.Close() }

// environ is a worker's environment: little of the supervisor's own, and what
// is wanted for it, sorted.
func environ(own []string, wanted map[string]string) []string {
	all := map[string]string{}
	for _, v := range own {
		name, value, _ := strings.Cut(v, "=")
		switch name {
		case "PATH", "HOME", "LANG", "TMPDIR":
			all[name] = value
		default:
			if strings.HasPrefix(name, "STORM_") {
				all[name] = value
			}
		}
	}
	maps.Copy(all, wanted)
	out := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return out
}
