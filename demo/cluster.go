package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stormring/stormring/daemon"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/embedded"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/nimbus"
)

// silence is how long nimbus hears nothing of a host until it gives it up. Storm's
// own default is a minute.
const silence = 4 * time.Second

// firstPort is where free ports are looked for: below those that systems take for
// connections, so that they stay free while their host is dead.
const firstPort = 14000

// settings are those of all daemons.
func settings() map[string]any {
	return map[string]any{
		string(conf.NimbusSupervisorTimeout): int(silence / time.Second),
		string(conf.NimbusMonitorFreqSecs):   1,
		string(conf.SupervisorHeartbeatSecs): 1,
		string(conf.Sr3RepairDelaySecs):      1,
		string(conf.ZookeeperSessionTimeout): int(silence / time.Millisecond),
	}
}

// clusterOf is a cluster of which nimbus and the coordination store are in this
// process, and hosts are processes.
type clusterOf struct {
	hosts  []*host
	nimbus *nimbus.Nimbus
	// records are read in a session of the demonstration's own.
	records *records.Store
	root    string
	workers string // the file of hostSpec.Workers

	store  *embedded.Server
	server *storeServer
	stop   context.CancelFunc
	group  *errgroup.Group
	done   context.Context //nolint:containedctx // ends with nimbus
}

// startCluster starts nimbus and the hosts. close ends it.
func startCluster(ctx context.Context, o Options, dir string, log *slog.Logger, onNews func(*host, hostNews, time.Time)) (_ *clusterOf, err error) {
	c := &clusterOf{workers: filepath.Join(dir, "workers.json")}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	settings := settings()
	conf0, err := conf.Defaults().With("the demonstration", settings)
	if err != nil {
		return nil, err
	}
	c.root = conf0.String(conf.ZookeeperRoot)
	if c.store, err = embedded.New(embedded.DefaultConfig()); err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "store")
	if c.server, err = serveStore(c.store, socket); err != nil {
		return nil, err
	}
	addr, err := c.startNimbus(ctx, conf0, dir, log)
	if err != nil {
		return nil, err
	}
	s, err := c.store.Open(ctx, silence)
	if err != nil {
		return nil, err
	}
	c.records = records.New(s, c.root)
	if err := c.records.Init(ctx); err != nil {
		return nil, err
	}
	return c, c.startHosts(ctx, o, dir, hostSpec{Store: socket, Nimbus: addr, Settings: settings, Workers: c.workers, Version: o.Version}, onNews)
}

func (c *clusterOf) startNimbus(ctx context.Context, settings *conf.Conf, dir string, log *slog.Logger) (addr string, err error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("nimbus's port: %w", err)
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.group, c.done = errgroup.WithContext(life)
	shell := make(chan *nimbus.Nimbus, 1)
	c.group.Go(func() error {
		return daemon.Nimbus{
			Conf: settings, Listener: ln, Host: "127.0.0.1", Coord: c.store, Dir: filepath.Join(dir, "blobs"),
			Logger: log, Shell: func(n *nimbus.Nimbus) { shell <- n },
		}.Run(c.done)
	})
	select {
	case c.nimbus = <-shell:
		return ln.Addr().String(), nil
	case <-c.done.Done():
		return "", context.Cause(c.done)
	}
}

func (c *clusterOf) startHosts(ctx context.Context, o Options, dir string, spec hostSpec, onNews func(*host, hostNews, time.Time)) error {
	port := firstPort + os.Getpid()*37%12_000 // others may do the same
	for i := range o.Hosts {
		spec.Host, spec.Dir = fmt.Sprintf("127.0.0.%d", i+2), filepath.Join(dir, fmt.Sprintf("host%d", i+1))
		free := make([]int, 2)
		for j := range free {
			var err error
			if free[j], err = freePort(ctx, spec.Host, &port); err != nil {
				return err
			}
		}
		spec.Ring, spec.Slots = free[0], free[1:]
		h := &host{spec: spec, command: o.Host, env: o.Env, onNews: onNews}
		c.hosts = append(c.hosts, h)
		if err := h.start(); err != nil {
			return err
		}
	}
	return nil
}

// freePort is the first port from *from on that nothing uses.
func freePort(ctx context.Context, addr string, from *int) (int, error) {
	var lc net.ListenConfig
	probe, err := lc.Listen(ctx, "tcp", net.JoinHostPort(addr, "0"))
	if err != nil {
		return 0, fmt.Errorf("each host has a loopback address of its own, but this system has no %s: %w; on macOS make it with: sudo ifconfig lo0 alias %s", addr, err, addr)
	}
	probe.Close()
	for *from < 30000 {
		*from++
		ln, err := lc.Listen(ctx, "tcp", fmt.Sprintf(":%d", *from))
		if err == nil {
			ln.Close()
			return *from, nil
		}
	}
	return 0, errors.New("there is no free port below 30000")
}

// configureWorkers changes what the configuration of all hosts has for workers
// that start from now on.
func (c *clusterOf) configureWorkers(settings map[string]any) error {
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.workers+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(c.workers+".new", c.workers)
}

// close ends all.
func (c *clusterOf) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	var all sync.WaitGroup
	ends := make([]error, len(c.hosts))
	for i, h := range c.hosts {
		all.Go(func() { ends[i] = h.stop(ctx) })
	}
	all.Wait()
	errs := []error{errors.Join(ends...)}
	if c.records != nil {
		errs = append(errs, c.records.Session().Close(ctx))
	}
	if c.group != nil {
		c.stop()
		errs = append(errs, c.group.Wait())
	}
	if c.server != nil {
		errs = append(errs, c.store.Close())
		c.server.close()
	} else if c.store != nil {
		errs = append(errs, c.store.Close())
	}
	return errors.Join(errs...)
}

// submit has nimbus run a topology, for which it waits until it leads.
func (c *clusterOf) submit(ctx context.Context, s nimbus.Submission) error {
	for {
		err := c.nimbus.Submit(ctx, s)
		if !errors.Is(err, nimbus.ErrNotLeader) {
			return err
		}
		if err := c.rest(ctx); err != nil {
			return err
		}
	}
}

// lookEvery is how often is looked whether something has come about.
const lookEvery = 20 * time.Millisecond

// rest waits for the next look.
func (c *clusterOf) rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done.Done():
		return fmt.Errorf("nimbus has ended: %w", context.Cause(c.done))
	case <-time.After(lookEvery):
		return nil
	}
}

var _ coord.Opener = storeClient{}
