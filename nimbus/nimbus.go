// Package nimbus is the shell of the cluster's master: it takes submissions,
// decides with the pure cores beside it what runs where, and writes that into
// the coordination store, where supervisors see it.
//
//	New, Run        a session after the other, for ever        (nimbus.go, term.go)
//	reign           what a leader does: one goroutine           (reign.go)
//	  steps         lifecycle -> records                        (steps.go, state.go)
//	  round         records -> scheduler -> assignments         (round.go)
//	Submit, Kill…   what clients want changed                   (submission.go, actions.go)
//	…Summary, …Page what clients want to know                   (answers.go)
//
// Decisions are in nimbus/submit (may this be submitted?), nimbus/survey (what
// does the cluster look like?), nimbus/scheduler, nimbus/lifecycle and
// nimbus/answer (what do people see?). Begin at [Nimbus.Run].
package nimbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/nimbus/election"
	"github.com/stormring/stormring/nimbus/scheduler"
	"github.com/stormring/stormring/nimbus/survey"
	"github.com/stormring/stormring/storm"
)

// Version is the release of Storm that clients are told of.
const Version = "2.8.8"

// Config is what a Nimbus needs. Elect, Replicator, User and TLSPort
// may be left out.
type Config struct {
	// Conf is the cluster's configuration.
	Conf *conf.Conf
	// Host and Port are where clients reach it.
	Host    string
	Port    int
	TLSPort int
	// Coord is the coordination store.
	Coord coord.Opener
	Blobs Blobs
	// User owns the topologies of submitters who have no name: with Storm it is
	// the user of the operating system that nimbus runs as.
	User string
	// Elect is the election; nil for that of package election.
	Elect Elect
	// Replicator makes the replicator of a session; nil if there is but one
	// nimbus.
	Replicator func(s *records.Store) Replicator
	Clock      clock.Clock
	Logger     *slog.Logger
	// Kept tells how many bytes of the state of each task of a topology lie at which
	// supervisor, as far as it can be told soon; nil if nobody knows.
	Kept func(id cluster.TopologyID) map[storm.TaskID]map[cluster.SupervisorID]int64
	// NoJVMs says why no topology of this cluster can have workers in Java; nil if it
	// is up to the supervisors.
	NoJVMs error
}

// Nimbus is a master, leading or standing by. Its methods may be called by
// several goroutines, also before Run and after it.
type Nimbus struct {
	cfg     Config
	root    string
	rules   survey.Rules
	black   scheduler.BlacklistConfig
	times   survey.Timeouts
	started time.Time
	catalog *catalog
	sync    chan struct{} // wakes replication

	mu      sync.Mutex
	term    *term
	counter int
	// underway are ids of submissions that are not yet committed, by name.
	underway map[string]cluster.TopologyID
}

// New makes a Nimbus; it does nothing before Run. It refuses a configuration
// that makes no sense, naming the key.
func New(cfg Config) (*Nimbus, error) {
	if cfg.Conf == nil || cfg.Coord == nil || cfg.Blobs == nil || cfg.Clock == nil || cfg.Logger == nil {
		return nil, errors.New("nimbus: Conf, Coord, Blobs, Clock and Logger must be given")
	}
	if cfg.Elect == nil {
		cfg.Elect = func(s coord.Session, root, id string) (Latch, error) {
			return election.Join(election.Config{Session: s, Root: root, ID: id, Clock: cfg.Clock, Logger: cfg.Logger})
		}
	}
	rules, err := survey.NewRules(cfg.Conf)
	if err != nil {
		return nil, err
	}
	n := &Nimbus{
		cfg: cfg, rules: rules, root: cfg.Conf.String(conf.ZookeeperRoot), started: cfg.Clock.Now(),
		catalog: newCatalog(cfg.Blobs, cfg.Conf), sync: make(chan struct{}, 1), underway: map[string]cluster.TopologyID{},
		black: scheduler.BlacklistConfig{
			ToleranceSecs:  int64(cfg.Conf.Int(conf.BlacklistToleranceSecs)),
			ToleranceCount: cfg.Conf.Int(conf.BlacklistToleranceCount),
			ResumeSecs:     int64(cfg.Conf.Int(conf.BlacklistResumeSecs)),
		},
		times: survey.Timeouts{
			Supervisor: int64(cfg.Conf.Int(conf.NimbusSupervisorTimeout)),
			Task:       int64(cfg.Conf.Int(conf.NimbusTaskTimeoutSecs)),
			Launch:     int64(cfg.Conf.Int(conf.NimbusTaskLaunchSecs)),
		},
	}
	if err := n.black.Validate(); err != nil {
		return nil, err
	}
	return n, nil
}

// ID is the name by which other nimbuses know it.
func (n *Nimbus) ID() string {
	id := net.JoinHostPort(n.cfg.Host, strconv.Itoa(n.cfg.Port))
	if n.cfg.TLSPort > 0 {
		id += ":" + strconv.Itoa(n.cfg.TLSPort)
	}
	return id
}

// Bounds of the pause between two sessions.
const (
	leastPause = 100 * time.Millisecond
	mostPause  = 5 * time.Second
)

// Run stands for election and leads while elected, until ctx ends. When the
// session is lost it steps down and comes back with a new one. The error is
// ctx's.
func (n *Nimbus) Run(ctx context.Context) error {
	pause := leastPause
	for {
		began := n.cfg.Clock.Now()
		err := n.serve(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n.cfg.Logger.Warn("nimbus has no session with the coordination store and comes back with a new one", "error", err, "pause", pause)
		if n.cfg.Clock.Now().Sub(began) > mostPause {
			pause = leastPause
		}
		if err := n.wait(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, mostPause)
	}
}

// wait waits for d, or for the end of ctx.
func (n *Nimbus) wait(ctx context.Context, d time.Duration) error {
	t := n.cfg.Clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// current is the term that lasts, or an error if there is no session.
func (n *Nimbus) current() (*term, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.term == nil {
		return nil, fmt.Errorf("nimbus %s has no session with the coordination store: %w", n.ID(), ErrNotLeader)
	}
	return n.term, nil
}

// leading is the reign of this nimbus, or an error that wraps ErrNotLeader.
func (n *Nimbus) leading() (*reign, error) {
	t, err := n.current()
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if t.reign == nil {
		return nil, fmt.Errorf("nimbus %s: %w", n.ID(), ErrNotLeader)
	}
	// A process that was frozen may be asked before it finds out.
	if fence, leads := t.latch.Term(); !leads || fence != t.reign.fence {
		return nil, fmt.Errorf("nimbus %s: %w", n.ID(), ErrNotLeader)
	}
	return t.reign, nil
}

// nowSecs is the time in seconds since 1970.
func (n *Nimbus) nowSecs() int64 { return n.cfg.Clock.Now().Unix() }
