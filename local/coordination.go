package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/stormring/stormring/daemon"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/embedded"
	"github.com/stormring/stormring/internal/zookeeper"
	"github.com/stormring/stormring/supervisor/jvm"
)

// errNoZooKeeper is why topologies of Java are refused.
var errNoZooKeeper = errors.New("this local cluster has no ZooKeeper, which Storm's own workers (and Trident) cannot do without: start it with --zookeeper, or submit to a cluster that has one")

// noJVMs is the reason, nil if there is none.
func (c *Cluster) noJVMs() error {
	if c.opts.ZooKeeper {
		return nil
	}
	return errNoZooKeeper
}

// coordinate starts the coordination store.
func (c *Cluster) coordinate(ctx context.Context) (coord.Opener, error) {
	if c.opts.ZooKeeper {
		return c.startZooKeeper(ctx)
	}
	cfg := embedded.DefaultConfig()
	if c.kept {
		cfg.Dir = filepath.Join(c.opts.Dir, "coordination")
	}
	store, err := embedded.New(cfg)
	if err != nil {
		return nil, err
	}
	c.cleanup = append(c.cleanup, store.Close)
	return store, nil
}

// startZooKeeper starts one and has the configuration name it.
func (c *Cluster) startZooKeeper(ctx context.Context) (coord.Opener, error) {
	java, err := jvm.FindJava(ctx, os.Getenv)
	if err != nil {
		return nil, err
	}
	classpath, err := zookeeper.Classpath(os.Getenv)
	if err != nil {
		return nil, err
	}
	server, err := zookeeper.Start(ctx, zookeeper.Config{Java: java.Path, Dir: filepath.Join(c.opts.Dir, "zookeeper"), Classpath: classpath})
	if err != nil {
		return nil, err
	}
	c.zookeeper = server
	c.cleanup = append(c.cleanup, server.Close)
	c.opts.Conf, err = c.opts.Conf.With("--zookeeper", map[string]any{
		string(conf.ZookeeperServers): []any{loopback}, string(conf.ZookeeperPort): server.Port(),
	})
	if err != nil {
		return nil, err
	}
	return daemon.ZooKeeper(c.opts.Conf, c.opts.Logger)
}

// reachable has Storm's own workers find nimbus and the supervisor: it opens the
// supervisor's Thrift port and puts all addresses into the configuration. Without
// ZooKeeper there are no such workers, and it gives nil.
func (c *Cluster) reachable(ctx context.Context) (net.Listener, error) {
	if !c.opts.ZooKeeper {
		return nil, nil //nolint:nilnil // nobody is to reach it
	}
	values := map[string]any{string(conf.NimbusSeeds): []any{loopback}}
	if addr, ok := c.listener.Addr().(*net.TCPAddr); ok {
		values[string(conf.NimbusThriftPort)] = addr.Port
	}
	if c.opts.Conf.String(conf.StormLocalHostname) == "" {
		values[string(conf.StormLocalHostname)] = loopback
	}
	var err error
	if c.opts.Conf, err = c.opts.Conf.With("the local cluster", values); err != nil {
		return nil, fmt.Errorf("local cluster: %w", err)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return nil, fmt.Errorf("local cluster: the supervisor's port: %w", err)
	}
	return ln, nil
}

func closeIf(ln net.Listener) error {
	if ln == nil {
		return nil
	}
	return ln.Close()
}

// watchZooKeeper ends the cluster with its ZooKeeper.
func (c *Cluster) watchZooKeeper(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.zookeeper.Done():
		return fmt.Errorf("local cluster: ZooKeeper has ended; its log is %s", filepath.Join(c.opts.Dir, "zookeeper", "log"))
	}
}

// ZooKeeper is where the cluster's ZooKeeper listens, "" if it has none.
func (c *Cluster) ZooKeeper() string {
	if c.zookeeper == nil {
		return ""
	}
	return net.JoinHostPort(loopback, strconv.Itoa(c.zookeeper.Port()))
}
