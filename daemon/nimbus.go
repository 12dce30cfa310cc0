// Package daemon puts nimbus and supervisor together: the shells, what they
// stand on, and the ports that they listen at. The commands and local mode both
// use it, with different coordination stores.
//
// Begin at Nimbus.Run and Supervisor.Run.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/internal/coord/zk"
	"github.com/stormring/stormring/nimbus"
	"github.com/stormring/stormring/nimbus/blobstore"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/nimbus/handler"
)

// Host is the name under which others reach this host:
// storm.local.hostname, or the host's own.
func Host(c *conf.Conf) (string, error) {
	if name := c.String(conf.StormLocalHostname); name != "" {
		return name, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("this host's name: %w; set %s", err, conf.StormLocalHostname)
	}
	return name, nil
}

// ZooKeeper is the coordination store that c names.
func ZooKeeper(c *conf.Conf, log *slog.Logger) (coord.Opener, error) {
	servers := make([]string, len(c.Strings(conf.ZookeeperServers)))
	for i, host := range c.Strings(conf.ZookeeperServers) {
		servers[i] = host
		if _, _, err := net.SplitHostPort(host); err != nil {
			servers[i] = net.JoinHostPort(host, strconv.Itoa(c.Int(conf.ZookeeperPort)))
		}
	}
	cfg := zk.DefaultConfig(log, servers...)
	cfg.ConnectTimeout = c.Duration(conf.ZookeeperConnTimeout)
	return zk.New(cfg)
}

// Nimbus is a nimbus to run. Its zero value lacks all but Replicate, NoJVMs and Shell.
type Nimbus struct {
	Conf *conf.Conf
	// Listener brings clients, Host and its port are where they find it.
	Listener net.Listener
	Host     string
	Coord    coord.Opener
	// Dir is where it keeps blobs.
	Dir    string
	Logger *slog.Logger
	// Replicate keeps its blobs like those of the other nimbuses. Without it,
	// there is no other.
	Replicate bool
	// NoJVMs is the NoJVMs of nimbus.Config.
	NoJVMs error
	// Shell, if set, is shown the nimbus before it runs.
	Shell func(*nimbus.Nimbus)
}

// Run runs the nimbus until ctx ends.
func (d Nimbus) Run(ctx context.Context) (err error) {
	blobs, err := blobstore.Open(blobstore.Config{
		Dir: d.Dir, Clock: clock.Real{}, Logger: d.Logger,
		InboxExpiry:   d.Conf.Duration(conf.NimbusInboxExpirationSecs),
		ACLValidation: d.Conf.Bool(conf.BlobstoreACLValidation),
		Admins:        d.Conf.Strings(conf.NimbusAdmins),
		Replication:   d.Conf.Int(conf.BlobstoreReplication),
	})
	if err != nil {
		return errors.Join(err, d.Listener.Close())
	}
	defer func() { err = errors.Join(err, blobs.Close()) }()
	addr, ok := d.Listener.Addr().(*net.TCPAddr)
	if !ok {
		return errors.Join(fmt.Errorf("nimbus listens at %s, which is no TCP port", d.Listener.Addr()), d.Listener.Close())
	}
	// Clients take the port from a topology's configuration, and so do workers.
	settings, err := d.Conf.With("nimbus's port", map[string]any{string(conf.NimbusThriftPort): addr.Port})
	if err != nil {
		return errors.Join(err, d.Listener.Close())
	}
	cfg := nimbus.Config{
		Conf: settings, Host: d.Host, Port: addr.Port, Coord: d.Coord,
		Blobs: nimbus.NewBlobs(blobs, clock.Real{}), Clock: clock.Real{}, Logger: d.Logger, User: osUser(), NoJVMs: d.NoJVMs,
	}
	if d.Replicate {
		cfg.Replicator = func(s *records.Store) nimbus.Replicator {
			self := net.JoinHostPort(d.Host, strconv.Itoa(addr.Port))
			return blobstore.NewReplicator(blobs, peers{Store: s, conf: d.Conf, log: d.Logger}, self)
		}
	}
	near, err := newKept(d)
	if err != nil {
		return errors.Join(err, d.Listener.Close())
	}
	defer func() { err = errors.Join(err, near.close()) }()
	cfg.Kept = near.of
	n, err := nimbus.New(cfg)
	if err != nil {
		return errors.Join(err, d.Listener.Close())
	}
	if d.Shell != nil {
		d.Shell(n)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := n.Run(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	})
	group.Go(func() error {
		return handler.Serve(ctx, handler.Config{
			Listener: d.Listener, Conf: d.Conf, Nimbus: n, Blobs: blobs, Copies: n.BlobCopies, Logger: d.Logger,
		})
	})
	return group.Wait()
}

// peers are the other nimbuses, from which blobs come.
type peers struct {
	*records.Store
	conf *conf.Conf
	log  *slog.Logger
}

// peerPatience is how long another nimbus is given to answer.
const peerPatience = 30 * time.Second

// Fetch implements blobstore.Fetcher.
func (p peers) Fetch(ctx context.Context, peer, key string, w io.Writer) (int64, blobstore.Meta, error) {
	cfg := client.ConfigOf(p.conf, p.log)
	cfg.Seeds, cfg.Only, cfg.Patience, cfg.CallTimeout = []string{peer}, true, -1, peerPatience
	c := client.New(cfg)
	defer c.Close()
	meta, err := c.BlobMeta(ctx, key)
	if err != nil {
		return 0, blobstore.Meta{}, err
	}
	version, err := c.FetchBlob(ctx, key, w)
	return version, meta.Meta, err
}

// osUser is whom the operating system takes this process for: a name, else
// what $USER says, else the number.
func osUser() string {
	name := ""
	if u, err := user.Current(); err == nil { // else there is no such user here, as in containers
		name = u.Username
	}
	return cmp.Or(name, os.Getenv("USER"), strconv.Itoa(os.Getuid()))
}

// BlobDir is where a nimbus with this configuration keeps blobs.
func BlobDir(c *conf.Conf) string {
	if dir := c.String(conf.BlobstoreDir); dir != "" {
		return dir
	}
	return filepath.Join(c.String(conf.StormLocalDir), "blobs")
}
