package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stormring/stormring/daemon"
	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/supervisor"
)

// hostSpec is what a host's process is told: one line of JSON on its standard
// input. When its standard input ends it ends too, with its workers.
type hostSpec struct {
	// Host is its address and name, Dir its folder.
	Host, Dir string
	// Ring and Slots are its ports.
	Ring  int
	Slots []int
	// Store is the socket of the coordination store, Nimbus its address.
	Store, Nimbus string
	Settings      map[string]any
	// Workers is a file of JSON: what the configuration of all hosts has besides
	// for workers that start from now on.
	Workers string
	Version string
}

// hostNews is what a host's process tells: lines of JSON on its standard output.
type hostNews struct {
	// Worker is the process of a worker that was started, Ended of one that has
	// ended.
	Worker int `json:"worker,omitempty"`
	Ended  int `json:"ended,omitempty"`
}

// RunHost is the process of one host of a demonstration: a supervisor with its
// ring node, which runs workers as processes of their own. in says which, and
// ends it; out is told what it does. It logs to a file in its folder.
func RunHost(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	text, err := lines.ReadBytes('\n')
	var spec hostSpec
	if err == nil {
		err = json.Unmarshal(text, &spec)
	}
	if err != nil {
		return fmt.Errorf("a host of a demonstration is started by stormring demo: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// The read cannot be interrupted; it ends with whoever started this process.
	go func() {
		_, _ = lines.ReadByte()
		stop()
	}()
	log, err := os.OpenFile(filepath.Join(spec.Dir, "host.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(runHost(ctx, spec, out, slog.New(slog.NewTextHandler(log, nil))), log.Close())
}

func runHost(ctx context.Context, spec hostSpec, out io.Writer, log *slog.Logger) error {
	c, err := conf.Defaults().With("the demonstration", spec.Settings)
	if err != nil {
		return err
	}
	processes, err := supervisor.Processes(ctx, spec.Dir, filepath.Join(spec.Dir, "logs"), clock.Real{}, log)
	if err != nil {
		return err
	}
	cfg := client.ConfigOf(c, log)
	cfg.Seeds, cfg.Only = []string{spec.Nimbus}, true
	nimbus := client.New(cfg)
	defer nimbus.Close()
	ports := make([]cluster.Port, len(spec.Slots))
	for i, p := range spec.Slots {
		ports[i] = cluster.Port(p)
	}
	news := &reporter{out: json.NewEncoder(out)}
	return daemon.Supervisor{
		Conf: c, Host: spec.Host, Coord: storeClient{spec.Store}, Leader: daemon.Remote{Client: nimbus},
		Dir: spec.Dir, LogDir: filepath.Join(spec.Dir, "logs"), Logger: log, Version: spec.Version,
		Launcher: &tellingLauncher{Launcher: processes, settings: spec.Workers, news: news, closed: make(chan struct{})}, Ports: ports, StopWorkers: true,
		RingAddr: fmt.Sprintf("%s:%d", spec.Host, spec.Ring),
	}.Run(ctx)
}

// reporter writes news.
type reporter struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (r *reporter) tell(n hostNews) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.out.Encode(n) // if nobody reads, this process is about to end
}

// tellingLauncher tells of the workers that it starts, with what the configuration
// of hosts has for them now.
type tellingLauncher struct {
	supervisor.Launcher
	settings string // a file
	news     *reporter
	closed   chan struct{}
	wg       sync.WaitGroup
}

// Start implements supervisor.Launcher.
func (l *tellingLauncher) Start(ctx context.Context, s supervisor.Launch) (supervisor.Handle, error) {
	text, err := os.ReadFile(l.settings)
	if err != nil {
		return nil, fmt.Errorf("the configuration of workers: %w", err)
	}
	own := map[string]any{}
	if err := json.Unmarshal(text, &own); err != nil {
		return nil, fmt.Errorf("the configuration of workers: %w", err)
	}
	s.Conf = maps.Clone(s.Conf)
	maps.Copy(s.Conf, own)
	h, err := l.Launcher.Start(ctx, s)
	if err != nil {
		return nil, err
	}
	pid := h.PID()
	l.news.tell(hostNews{Worker: pid})
	l.wg.Go(func() {
		select {
		case <-h.Done():
			l.news.tell(hostNews{Ended: pid})
		case <-l.closed:
		}
	})
	return h, nil
}

// Close implements supervisor.Launcher.
func (l *tellingLauncher) Close() error {
	close(l.closed)
	l.wg.Wait()
	return l.Launcher.Close()
}

// stopGrace is how long a host may take to end its workers.
const stopGrace = 10 * time.Second
