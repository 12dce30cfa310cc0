package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/wire"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/supervisor"
	"github.com/stormring/stormring/supervisor/handler"
	"github.com/stormring/stormring/supervisor/localizer"
	"github.com/stormring/stormring/supervisor/slot"
	"github.com/stormring/stormring/thrift"
	"github.com/stormring/stormring/worker/process"
)

// supervisorQueue is how many requests wait for a thread, as with Storm.
const supervisorQueue = 128

// Supervisor is a supervisor to run. Launcher, Delays, Ports and StopWorkers may
// be left out.
type Supervisor struct {
	Conf *conf.Conf
	// Listener brings Storm's own workers and nimbus; nil for none.
	Listener net.Listener
	Host     string
	Coord    coord.Opener
	// Leader takes reports, and has the blobs.
	Leader Leader
	// Dir is its local directory, LogDir where logs go.
	Dir, LogDir string
	Logger      *slog.Logger
	// Version is what others are told of this release.
	Version string
	// Launcher, Delays, Ports and StopWorkers are those of supervisor.Config.
	Launcher    supervisor.Launcher
	Delays      *slot.Config
	Ports       []cluster.Port
	StopWorkers bool
	// RingAddr is where the ring node listens; "" is sr3.port of all addresses.
	// RingElse, if set, takes its place if it is taken.
	RingAddr, RingElse string
}

// Leader is what a supervisor needs of the nimbus that leads.
type Leader interface {
	supervisor.Nimbus
	localizer.Source
}

// Remote is a leader that is reached over Thrift.
type Remote struct{ *client.Client }

// Meta implements localizer.Source.
func (r Remote) Meta(ctx context.Context, key string) (int64, error) {
	m, err := r.BlobMeta(ctx, key)
	return m.Version, noBlob(err)
}

// Fetch implements localizer.Source.
func (r Remote) Fetch(ctx context.Context, key string, w io.Writer) (version, size int64, err error) {
	version, err = r.FetchBlob(ctx, key, w)
	return version, -1, noBlob(err)
}

// noBlob is the localizer's word for what the client says.
func noBlob(err error) error {
	if errors.Is(err, client.ErrKeyNotFound) {
		return fmt.Errorf("%w: %w", localizer.ErrNoBlob, err)
	}
	return err
}

// needs reads what else a topology's workers want on the disk.
func needs(dir string) (localizer.Needs, error) {
	code, err := os.ReadFile(filepath.Join(dir, process.CodeFile))
	if err != nil {
		return localizer.Needs{}, err
	}
	t, err := wire.DecodeCode(code)
	if err != nil {
		return localizer.Needs{}, err
	}
	text, err := os.ReadFile(filepath.Join(dir, process.ConfFile))
	if err != nil {
		return localizer.Needs{}, err
	}
	settings, err := wire.DecodeConf(text)
	if err != nil {
		return localizer.Needs{}, err
	}
	named, _ := settings["topology.blobstore.map"].(map[string]any) // nimbus has checked its type
	blobs, err := localizer.ParseMap(named)
	return localizer.Needs{Dependencies: slices.Concat(t.DependencyJars, t.DependencyArtifacts), Blobs: blobs}, err
}

// Run runs the supervisor until ctx ends.
func (d Supervisor) Run(ctx context.Context) error {
	disk, err := localizer.Open(localizer.Config{
		Dir: filepath.Join(d.Dir, "supervisor"), Source: d.Leader, Needs: needs, Clock: clock.Real{}, Logger: d.Logger,
		// So that a topology that is moved about is not fetched each time.
		Grace: d.Conf.Duration(conf.SupervisorCleanupMS),
	})
	if err != nil {
		return errors.Join(err, d.closeListener())
	}
	cfg := supervisor.Config{
		Conf: d.Conf, Host: d.Host, Ports: d.Ports, LocalDir: d.Dir, LogDir: d.LogDir, Coord: d.Coord,
		Nimbus: d.Leader, Localizer: disk, Launcher: d.Launcher, Delays: d.Delays, Clock: clock.Real{},
		Logger: d.Logger, Version: d.Version, StopWorkers: d.StopWorkers,
	}
	if d.Listener != nil {
		addr, ok := d.Listener.Addr().(*net.TCPAddr)
		if !ok {
			return errors.Join(fmt.Errorf("the supervisor listens at %s, which is no TCP port", d.Listener.Addr()), d.closeListener())
		}
		cfg.ThriftPort = addr.Port
	}
	local, err := filepath.Abs(d.Dir)
	if err != nil {
		return errors.Join(err, d.closeListener())
	}
	var circle ringNode
	found := &jvms{conf: d.Conf, dir: local, log: d.Logger}
	if d.Listener != nil { // which Storm's own workers speak to
		cfg.JVMs, cfg.JVMState = found.releases, found.state
	}
	cfg.Ring = circle.addr
	s, err := supervisor.New(cfg)
	if err != nil {
		return errors.Join(err, d.closeListener())
	}
	if err := circle.start(ctx, d, s.ID()); err != nil {
		if ctx.Err() != nil {
			err = nil // it is over before it began
		}
		over, cancel := context.WithCancel(ctx)
		cancel()
		return errors.Join(err, s.Run(over), d.closeListener()) // which closes what it was given
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return circle.run(ctx) })
	if d.Listener != nil {
		agent := JVMAgent{Conf: d.Conf, Ring: circle.addr(), Dir: local, Logger: d.Logger}
		group.Go(func() error {
			if err := d.keepAgent(ctx, agent, circle.records, found.state); err != nil && ctx.Err() == nil {
				d.Logger.Error("Java topologies get no state on the ring here", "error", err)
			}
			return nil
		})
	}
	group.Go(func() error { return s.Run(ctx) })
	if d.Listener != nil {
		group.Go(func() error {
			return thrift.Serve(ctx, thrift.ServerConfig{
				Listener: d.Listener, Processor: handler.Processor(s), Logger: d.Logger, Queue: supervisorQueue,
				Threads: d.Conf.Int(conf.SupervisorThriftThreads), MaxFrame: d.Conf.Int(conf.SupervisorThriftMaxBuffer),
				Key: string(conf.SupervisorThriftMaxBuffer),
			})
		})
	}
	return group.Wait()
}

// keepAgent has the agent run for as long as Java topologies can have state here: in
// this process if all workers end with it, else in one of its own.
func (d Supervisor) keepAgent(ctx context.Context, a JVMAgent, all *ringRecords, wanted func() bool) error {
	if !d.StopWorkers {
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("this program's own path: %w", err)
		}
		logs, err := filepath.Abs(d.LogDir)
		if err != nil {
			return err
		}
		return keepAgentProcess(ctx, agentSpec{JVMAgent: a, program: program, version: d.Version, logs: logs}, wanted)
	}
	agent, err := jvmAgent(a, all)
	if err != nil {
		return err
	}
	return agent.Run(ctx)
}

func (d Supervisor) closeListener() error {
	if d.Listener == nil {
		return nil
	}
	return d.Listener.Close()
}

// LogDir is where a daemon with this configuration has its workers' logs.
func LogDir(c *conf.Conf) string {
	if dir := c.String(conf.StormLogDir); dir != "" {
		return dir
	}
	return filepath.Join(c.String(conf.StormLocalDir), "logs")
}
