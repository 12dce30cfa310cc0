package compare

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/client"
)

const (
	// patience is how long anything may take that is waited for.
	patience = 3 * time.Minute
	// look is the time between two looks at what is waited for.
	look = 10 * time.Millisecond
	// localhost is where all of a system is.
	localhost = "127.0.0.1"
)

// system is a running cluster of one nimbus and one supervisor.
type system struct {
	dir     string
	opts    *Options
	ports   ports
	daemons []*daemon
	client  *client.Client
	yaml    string // the configuration of clients
}

// ports are those of a system.
type ports struct {
	nimbus, supervisor, ring int
	slots                    []int
}

// daemon is a process that we have started.
type daemon struct {
	name  string
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
}

// newSystem makes the folder of a system and finds its ports.
func newSystem(ctx context.Context, dir string, o *Options) (*system, error) {
	s := &system{dir: dir, opts: o, yaml: filepath.Join(dir, "client.yaml")}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	free, err := freePorts(ctx, 3+o.Settings.Workers)
	if err != nil {
		return nil, err
	}
	s.ports = ports{free[0], free[1], free[2], free[3:]}
	return s, writeYAML(s.yaml, map[string]string{
		"nimbus.seeds": `["` + localhost + `"]`, "nimbus.thrift.port": strconv.Itoa(s.ports.nimbus),
	})
}

// settings are those that the daemons of both systems have.
func (s *system) settings(root string) (map[string]string, error) {
	host, port, err := net.SplitHostPort(s.opts.ZooKeeper)
	if err != nil {
		return nil, fmt.Errorf("the address of ZooKeeper: %w", err)
	}
	return map[string]string{
		"storm.zookeeper.servers": `["` + host + `"]`, "storm.zookeeper.port": port, "storm.zookeeper.root": root,
		"nimbus.seeds": `["` + localhost + `"]`, "nimbus.thrift.port": strconv.Itoa(s.ports.nimbus),
		"supervisor.thrift.port": strconv.Itoa(s.ports.supervisor),
		"supervisor.slots.ports": strings.ReplaceAll(fmt.Sprint(s.ports.slots), " ", ", "),
		"storm.local.dir":        filepath.Join(s.dir, "local"), "storm.local.hostname": localhost,
	}, nil
}

func writeYAML(path string, settings map[string]string) error {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s: %s\n", key, settings[key])
	}
	return os.WriteFile(path, []byte(text.String()), 0o600)
}

// freePorts finds ports that nothing uses, below those that the system takes for
// connections.
func freePorts(ctx context.Context, n int) ([]int, error) {
	var free []int
	for port := 12000 + os.Getpid()%4000; len(free) < n && port < 20000; port++ {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
		free = append(free, port)
	}
	if len(free) < n {
		return nil, fmt.Errorf("there are no %d free ports from 12000 to 20000", n)
	}
	return free, nil
}

// launch starts a daemon, and does not wait for it.
func (s *system) launch(name string, argv ...string) error {
	d, err := launch(s.dir, name, argv...)
	if err == nil {
		s.daemons = append(s.daemons, d)
	}
	return err
}

func launch(dir, name string, argv ...string) (*daemon, error) {
	d := &daemon{name: name, log: filepath.Join(dir, name+".out"), ended: make(chan struct{})}
	log, err := os.OpenFile(d.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	d.cmd = exec.Command(argv[0], argv[1:]...) //nolint:noctx // kill ends it, when all that it has started is to end
	d.cmd.Dir, d.cmd.Stdout, d.cmd.Stderr = dir, log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		defer close(d.ended)
		_ = d.cmd.Wait() // how it ended, its log tells
	}()
	return d, nil
}

// kill ends a daemon at once.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill() // it may have ended
	<-d.ended
}

// failed tells if the daemon has ended by itself.
func (d *daemon) failed() error {
	select {
	case <-d.ended:
		return fmt.Errorf("%s has ended; its log %s ends:\n%s", d.name, d.log, tail(d.log))
	default:
		return nil
	}
}

func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitAfter(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "")
}

// await waits until nimbus leads and knows the supervisor.
func (s *system) await(ctx context.Context) error {
	s.client = client.New(client.Config{
		Seeds: []string{net.JoinHostPort(localhost, strconv.Itoa(s.ports.nimbus))}, Patience: patience, Election: patience,
		CallTimeout: patience, MaxFrame: 16 << 20, Logger: slog.New(slog.DiscardHandler),
	})
	return s.until(ctx, "nimbus knows the supervisor", func() (bool, error) {
		sum, err := s.client.ClusterSummary(ctx)
		return err == nil && len(sum.Supervisors) == 1, nil
	})
}

// until looks until the answer is yes; an error, or the end of a daemon, ends that.
func (s *system) until(ctx context.Context, what string, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("still waiting after %s for this: %s", patience, what))
	defer cancel()
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		ok, err := ask()
		if err != nil || ok {
			return err
		}
		for _, d := range s.daemons {
			if err := d.failed(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
}

// usage is what the processes of a system use at one time.
type usage struct {
	at               time.Time
	cpu              map[int]time.Duration
	all              time.Duration // of all processes of the machine
	daemons, workers int64         // resident bytes
}

// use looks at the processes.
func (s *system) use() (usage, error) {
	u := usage{cpu: map[int]time.Duration{}}
	own, err := processesOf(s.dir)
	if err != nil {
		return u, err
	}
	for pid, p := range own {
		u.cpu[pid] = p.cpu
		if s.isDaemon(p) {
			u.daemons += p.resident
		} else {
			u.workers += p.resident
		}
	}
	u.at = time.Now()
	u.all, err = machineCPU()
	return u, err
}

// since is the processor time that was used since an earlier look, by the system and
// by all else.
func (u usage) since(before usage) (own, others time.Duration) {
	for pid, cpu := range u.cpu {
		own += cpu - before.cpu[pid]
	}
	return own, max(0, u.all-before.all-own)
}

// isDaemon tells the daemons that were started, and their agents, from workers.
func (s *system) isDaemon(p process) bool {
	return p.agent || slices.ContainsFunc(s.daemons, func(d *daemon) bool { return d.cmd.Process.Pid == p.pid })
}

// workers are the processes that are no daemons.
func (s *system) workers() (map[int]process, error) {
	own, err := processesOf(s.dir)
	maps.DeleteFunc(own, func(_ int, p process) bool { return s.isDaemon(p) })
	return own, err
}

// kill kills a topology, and tells how long it took until nothing of it was left.
func (s *system) kill(ctx context.Context, name string) (time.Duration, error) {
	begin, at := time.Now(), 0
	if err := s.client.Kill(ctx, name, cluster.KillOptions{WaitSecs: &at}); err != nil {
		return 0, err
	}
	err := s.until(ctx, "the topology is gone", func() (bool, error) {
		workers, err := s.workers()
		if err != nil || len(workers) > 0 {
			return false, err
		}
		_, err = s.client.TopologySummary(ctx, name)
		if errors.Is(err, client.ErrNotAlive) {
			return true, nil
		}
		return false, err
	})
	return time.Since(begin), err
}

// close ends all processes of the system, in whatever state it is, and removes its
// folder unless that is to be kept.
func (s *system) close() error {
	if s.client != nil {
		s.client.Close()
	}
	for _, d := range s.daemons {
		d.kill()
	}
	// What a dead supervisor has left belongs to nobody.
	for range 100 {
		left, err := processesOf(s.dir)
		if err != nil || len(left) == 0 {
			break
		}
		for pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	if s.opts.Keep {
		return nil
	}
	err := os.RemoveAll(s.dir)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) { // who was killed may just have written
		err = os.RemoveAll(s.dir)
	}
	return err
}
