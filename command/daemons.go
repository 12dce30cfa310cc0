package command

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/daemon"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/nimbus/client"
)

// daemonFlags are those of the daemons.
type daemonFlags struct {
	clusterFlags
	debug bool
}

func (e *env) daemon(name, short, long string, run func(context.Context, *conf.Conf, *slog.Logger) error) *cobra.Command {
	var f daemonFlags
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := f.load()
			if err != nil {
				return err
			}
			level := slog.LevelInfo
			if f.debug {
				level = slog.LevelDebug
			}
			log := slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}))
			return run(cmd.Context(), c, log)
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().BoolVar(&f.debug, "debug", false, "log more")
	completeNothing(cmd, "set")
	mustComplete(cmd.MarkFlagFilename("config", "yaml", "yml"))
	return cmd
}

// nimbus is the command `nimbus`.
func (e *env) nimbus() *cobra.Command {
	return e.daemon("nimbus", "Be a cluster's master, leading or standing by",
		`Take submissions and decide what runs where, until SIGTERM. Of several nimbuses
one leads; the others keep copies of the code and take over. Logs to stderr.
Keys: nimbus.thrift.port, storm.local.dir, storm.zookeeper.servers,
storm.local.hostname.`, runNimbus)
}

func runNimbus(ctx context.Context, c *conf.Conf, log *slog.Logger) error {
	host, store, err := surroundings(c, log)
	if err != nil {
		return err
	}
	ln, err := listen(ctx, c.Int(conf.NimbusThriftPort), conf.NimbusThriftPort)
	if err != nil {
		return err
	}
	log.Info("nimbus is up", "address", ln.Addr(), "host", host)
	defer log.Info("nimbus ends")
	return daemon.Nimbus{
		Conf: c, Listener: ln, Host: host, Coord: store, Dir: daemon.BlobDir(c), Logger: log, Replicate: true,
	}.Run(ctx)
}

// supervisor is the command `supervisor`.
func (e *env) supervisor() *cobra.Command {
	return e.daemon("supervisor", "Run workers on this host",
		`Run a worker in each of this host's slots that nimbus gives to a topology, until
SIGTERM. The workers run on without it and are taken over by the next one. Logs
to stderr. Keys: supervisor.slots.ports, storm.local.dir,
storm.zookeeper.servers, nimbus.seeds, storm.local.hostname.`, runSupervisor)
}

func runSupervisor(ctx context.Context, c *conf.Conf, log *slog.Logger) error {
	host, store, err := surroundings(c, log)
	if err != nil {
		return err
	}
	ln, err := listen(ctx, c.Int(conf.SupervisorThriftPort), conf.SupervisorThriftPort)
	if err != nil {
		return err
	}
	nimbus := client.New(client.ConfigOf(c, log))
	defer nimbus.Close()
	defer log.Info("the supervisor ends")
	return daemon.Supervisor{
		Conf: c, Listener: ln, Host: host, Coord: store, Leader: daemon.Remote{Client: nimbus},
		Dir: c.String(conf.StormLocalDir), LogDir: daemon.LogDir(c), Logger: log, Version: readVersion().Version,
	}.Run(ctx)
}

// surroundings are what every daemon needs: this host's name, and the
// coordination store.
func surroundings(c *conf.Conf, log *slog.Logger) (host string, store coord.Opener, err error) {
	if host, err = daemon.Host(c); err != nil {
		return "", nil, err
	}
	store, err = daemon.ZooKeeper(c, log)
	return host, store, err
}

// listen opens a port of this host; key says where it is set.
func listen[K ~string](ctx context.Context, port int, key K) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("%w; %s says which port", err, key)
	}
	return ln, nil
}
