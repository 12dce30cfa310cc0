// Package supervisor is the shell of a host: it keeps one worker running in
// each slot that nimbus has given to a topology, and is the workers' way to the
// rest of the cluster.
//
//	New, Run     all of a supervisor's life                     (supervisor.go, life.go)
//	keeper       one slot: a goroutine that owns a slot.Slot    (keeper.go, perform.go)
//	hub          the link to the workers                        (hub.go)
//	watcher      the coordination store -> view                 (watcher.go, read.go, watches.go)
//	view         what is known of topologies; pure              (view.go)
//	known        view <-> disk, for a restart                   (known.go)
//	publish      view -> what keepers and workers are told      (publish.go)
//	reporter     workers -> nimbus                              (report.go)
//	complaints   errors of workers -> the coordination store    (complaints.go)
//
// What a slot does next is decided in package slot; what is done to processes
// and files, behind the ports in ports.go. A worker is never killed because
// something cannot be read: only an assignment that was read moves it. Begin at
// [Supervisor.Run].
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/supervisor/slot"
)

// Config is what a Supervisor needs. Ports, Launcher, ThriftPort and Version
// may be left out.
type Config struct {
	// Conf is the host's configuration.
	Conf *conf.Conf
	// Host is the name under which the workers of other hosts find this one.
	Host string
	// Ports are the slots; nil for supervisor.slots.ports.
	Ports []cluster.Port
	// LocalDir is storm.local.dir, LogDir where logs go.
	LocalDir, LogDir string
	// ThriftPort is where the supervisor's service listens; 0 for
	// supervisor.thrift.port.
	ThriftPort int
	// Coord is the coordination store.
	Coord     coord.Opener
	Nimbus    Nimbus
	Localizer Localizer
	// Launcher runs the workers, and is closed by Run; nil for processes of
	// this host.
	Launcher Launcher
	Clock    clock.Clock
	Logger   *slog.Logger
	// JVMs are the releases of Storm whose workers can run here; nil for none.
	JVMs func() []string
	// JVMState tells whether their state can be kept on the ring; nil for no.
	JVMState func() bool
	// Ring is where the host's ring node listens; nil or "" if there is none.
	Ring func() string
	// Version is what others are told of this release.
	Version string
	// Delays are those of slots; nil for what Conf says.
	Delays *slot.Config
	// StopWorkers ends the workers with the supervisor instead of leaving them
	// running.
	StopWorkers bool
}

// Supervisor is one host's. Its methods may be called by several goroutines.
type Supervisor struct {
	cfg     Config
	id      cluster.SupervisorID
	ports   []cluster.Port
	root    string // of the coordination store
	slots   slot.Config
	log     *slog.Logger
	started time.Time

	launcher Launcher
	socket   string
	listen   func(ctx context.Context) (serve func(context.Context) error, err error)
	hub      *hub
	reporter *reporter
	sorrows  *complaints
	beats    *beats
	refresh  chan struct{}            // capacity 1: read all again
	keepers  map[cluster.Port]*keeper // set before anything runs

	kept known // on disk; the watcher's

	mu   sync.Mutex
	view view
	// given are the topologies that the keepers were last told to run.
	given map[cluster.Port]cluster.TopologyID
}

// New makes a Supervisor; it does nothing before Run but to read or choose its
// id, which is kept in LocalDir. It refuses a configuration that makes no
// sense, naming the key.
func New(cfg Config) (*Supervisor, error) {
	switch {
	case cfg.Conf == nil, cfg.Coord == nil, cfg.Nimbus == nil, cfg.Localizer == nil, cfg.Clock == nil, cfg.Logger == nil:
		return nil, errors.New("supervisor: Conf, Coord, Nimbus, Localizer, Clock and Logger must be given")
	case cfg.Host == "":
		return nil, errors.New("supervisor: the host has no name; set storm.local.hostname")
	case cfg.LocalDir == "" || cfg.LogDir == "":
		return nil, errors.New("supervisor: LocalDir and LogDir must be given")
	}
	if cfg.JVMs == nil {
		cfg.JVMs = func() []string { return nil }
	}
	if cfg.JVMState == nil {
		cfg.JVMState = func() bool { return false }
	}
	var err error
	for _, dir := range []*string{&cfg.LocalDir, &cfg.LogDir} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return nil, fmt.Errorf("supervisor: %w", err)
		}
	}
	ports, err := portsOf(cfg)
	if err != nil {
		return nil, err
	}
	delays := delaysOf(cfg.Conf)
	if cfg.Delays != nil {
		delays = *cfg.Delays
	}
	if err := delays.Validate(); err != nil {
		return nil, err
	}
	id, err := identity(cfg.LocalDir, cfg.Host)
	if err != nil {
		return nil, err
	}
	s := &Supervisor{
		cfg: cfg, id: id, ports: ports, slots: delays, root: cfg.Conf.String(conf.ZookeeperRoot),
		log: cfg.Logger.With("supervisor", id), started: cfg.Clock.Now(), launcher: cfg.Launcher,
		refresh: make(chan struct{}, 1), keepers: map[cluster.Port]*keeper{},
		view: newView(), given: map[cluster.Port]cluster.TopologyID{},
	}
	s.listen = s.openLink
	s.sorrows = newComplaints(cfg.Host, cfg.Clock, s.log)
	s.reporter = newReporter(s)
	s.hub = newHub(cfg.Clock, s.reporter.wakeUp, s.sorrows.add)
	s.beats = &beats{clock: cfg.Clock, hub: s.hub}
	return s, nil
}

// ID is the supervisor's, for as long as LocalDir lasts.
func (s *Supervisor) ID() cluster.SupervisorID { return s.id }

// portsOf are the slots of a supervisor, sorted.
func portsOf(cfg Config) ([]cluster.Port, error) {
	ports := slices.Clone(cfg.Ports)
	if ports == nil {
		for _, p := range cfg.Conf.Ints(conf.SupervisorSlotsPorts) {
			ports = append(ports, cluster.Port(p))
		}
	}
	slices.Sort(ports)
	for i, p := range ports {
		if p < 1 || p > 65535 {
			return nil, fmt.Errorf("supervisor: %s has %d, which is no port", conf.SupervisorSlotsPorts, p)
		}
		if i > 0 && ports[i-1] == p {
			return nil, fmt.Errorf("supervisor: %s has %d twice", conf.SupervisorSlotsPorts, p)
		}
	}
	return ports, nil
}

// delaysOf are a slot's delays.
func delaysOf(c *conf.Conf) slot.Config {
	d := slot.DefaultConfig()
	d.StartTimeout = c.Duration(conf.SupervisorWorkerStartSecs)
	d.HeartbeatTimeout = c.Duration(conf.SupervisorWorkerTimeoutSecs)
	d.MaxHeartbeatTimeout = c.Duration(conf.WorkerMaxTimeoutSecs)
	d.SoftKill = c.Duration(conf.SupervisorShutdownSleepSecs)
	return d
}
