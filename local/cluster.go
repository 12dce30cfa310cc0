package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stormring/stormring/daemon"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/zookeeper"
	"github.com/stormring/stormring/nimbus"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/storm"
	slots "github.com/stormring/stormring/supervisor/slot"
)

// loopback is where a local cluster listens: for this host alone.
const loopback = "127.0.0.1"

// ClusterOptions say which cluster to run.
type ClusterOptions struct {
	// Conf is storm.yaml with what lies on top of it.
	Conf *conf.Conf
	// Dir keeps everything; "" is a temporary folder.
	Dir string
	// Slots is the number of workers that there is room for; 0 is as many as
	// supervisor.slots.ports has.
	Slots int
	// Program has the code of Go components.
	Program storm.Program
	// ZooKeeper has the host's ZooKeeper started for the cluster, which Storm's own
	// workers need.
	ZooKeeper bool
	// Logger is nimbus's and the supervisor's, Workers that of the workers.
	Logger, Workers *slog.Logger
	Version         string
}

// Cluster is a whole cluster in this process: a nimbus, a supervisor and an
// embedded coordination store, or a ZooKeeper beside it. Workers of this program's own topologies run in
// the process too, those of programs that are submitted as processes.
type Cluster struct {
	opts     ClusterOptions
	listener net.Listener
	nimbus   *nimbus.Nimbus
	inside   *inside
	// zookeeper is nil if the coordination store is embedded.
	zookeeper *zookeeper.Server
	stop      context.CancelFunc
	group     *errgroup.Group
	done      context.Context //nolint:containedctx // ends with the first daemon that does
	cleanup   []func() error
	kept      bool // the folder outlasts the cluster
	close     sync.Once
	err       error
}

// StartCluster starts a cluster. Close ends it.
func StartCluster(ctx context.Context, opts ClusterOptions) (*Cluster, error) {
	c := &Cluster{opts: opts}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.clean())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.settle(); err != nil {
		return fmt.Errorf("local cluster: %w", err)
	}
	store, err := c.coordinate(ctx)
	if err != nil {
		return fmt.Errorf("local cluster: %w", err)
	}
	if c.listener, err = c.listen(ctx); err != nil {
		return err
	}
	thriftFor, err := c.reachable(ctx)
	if err != nil {
		return errors.Join(err, c.listener.Close())
	}
	if c.inside, err = newInside(ctx, c.opts); err != nil {
		return errors.Join(err, c.listener.Close(), closeIf(thriftFor))
	}
	opts := c.opts
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.group, c.done = errgroup.WithContext(life)
	if c.zookeeper != nil {
		c.group.Go(func() error { return c.watchZooKeeper(c.done) })
	}
	shell := make(chan *nimbus.Nimbus, 1)
	c.group.Go(func() error {
		return daemon.Nimbus{
			Conf: opts.Conf, Listener: c.listener, Host: c.host(), Coord: store, Dir: filepath.Join(c.opts.Dir, "blobs"),
			Logger: opts.Logger, NoJVMs: c.noJVMs(), Shell: func(n *nimbus.Nimbus) { shell <- n },
		}.Run(c.done)
	})
	select {
	case c.nimbus = <-shell:
	case <-c.done.Done():
		return errors.Join(c.group.Wait(), c.inside.abandon(), closeIf(thriftFor))
	}
	cfg := client.ConfigOf(opts.Conf, opts.Logger)
	cfg.Seeds, cfg.Only = []string{c.listener.Addr().String()}, true
	remote := client.New(cfg)
	ring, other := c.ringAddrs()
	c.group.Go(func() error {
		defer remote.Close()
		return daemon.Supervisor{
			Conf: opts.Conf, Listener: thriftFor, Host: loopback, Coord: store, Leader: daemon.Remote{Client: remote},
			Dir: c.opts.Dir, LogDir: logDir(c.opts.Dir), Logger: opts.Logger, Version: opts.Version,
			RingAddr: ring, RingElse: other, Launcher: c.inside, Delays: delays(), Ports: c.inside.ports(), StopWorkers: true,
		}.Run(c.done)
	})
	return nil
}

// settle finds the cluster's folder.
func (c *Cluster) settle() (err error) {
	c.kept = c.opts.Dir != ""
	if c.kept {
		c.opts.Dir, err = filepath.Abs(c.opts.Dir)
		return err
	}
	dir, err := os.MkdirTemp("", "stormring-local-")
	if err != nil {
		return err
	}
	c.opts.Dir = dir
	c.cleanup = append(c.cleanup, func() error { return os.RemoveAll(dir) })
	return nil
}

// logDir is where workers that are processes log.
func logDir(dir string) string { return filepath.Join(dir, "logs") }

// delays are shorter than on a host of its own: somebody is waiting for the
// result. A worker that fails at once, again and again, is given up soon.
func delays() *slots.Config {
	d := slots.DefaultConfig()
	d.BackoffFirst, d.BackoffMax = backoffMin, backoffMax
	return &d
}

// host is the name under which clients are told to find nimbus.
func (c *Cluster) host() string {
	if name := c.opts.Conf.String(conf.StormLocalHostname); name != "" {
		return name
	}
	return loopback
}

// listen opens nimbus's port. One that nobody has asked for may be another if
// that is taken: then another local cluster runs.
func (c *Cluster) listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	port := c.opts.Conf.Int(conf.NimbusThriftPort)
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil && c.opts.Conf.Layer(string(conf.NimbusThriftPort)) == "" {
		ln, err = lc.Listen(ctx, "tcp", net.JoinHostPort(loopback, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("local cluster: nimbus's port: %w; %s says which, 0 is a free one", err, conf.NimbusThriftPort)
	}
	return ln, nil
}

// ringAddrs is where the ring node is to listen: at its usual port, so that commands
// find it, and elsewhere if that is taken and nobody has asked for it.
func (c *Cluster) ringAddrs() (addr, other string) {
	addr = net.JoinHostPort(loopback, strconv.Itoa(c.opts.Conf.Int(conf.Sr3Port)))
	if c.opts.Conf.Layer(string(conf.Sr3Port)) == "" {
		other = net.JoinHostPort(loopback, "0")
	}
	return addr, other
}

// Addr is where clients reach nimbus.
func (c *Cluster) Addr() net.Addr { return c.listener.Addr() }

// Done is closed when the cluster has ended by itself; Close says why.
func (c *Cluster) Done() <-chan struct{} { return c.done.Done() }

// Close ends the cluster and its workers, and removes a temporary folder.
func (c *Cluster) Close() error {
	c.close.Do(func() {
		c.stop()
		c.err = errors.Join(c.group.Wait(), c.clean())
	})
	return c.err
}

func (c *Cluster) clean() error {
	var errs []error
	for _, f := range slices.Backward(c.cleanup) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// submit has nimbus run a topology, for which it waits until it leads.
func (c *Cluster) submit(ctx context.Context, s nimbus.Submission) error {
	for {
		err := c.nimbus.Submit(ctx, s)
		if !errors.Is(err, nimbus.ErrNotLeader) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.done.Done():
			return err
		case <-time.After(lookEvery):
		}
	}
}

// alive reports whether a topology of that name is still there.
func (c *Cluster) alive(ctx context.Context, name string) bool {
	s, err := c.nimbus.TopologySummaryByName(ctx, name)
	return !errors.Is(err, nimbus.ErrNotAlive) && s.Status != cluster.StatusKilled.String()
}
