package jvmstate

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/checkpoint"
)

// Store keeps the state of one topology.
type Store interface {
	// Record is the topology's commit record.
	Record(ctx context.Context) (checkpoint.Record, error)
	// Swap writes next in place of expect.
	Swap(ctx context.Context, expect, next checkpoint.Record) checkpoint.Outcome
	// Join takes down for good that a namespace takes part in checkpoints.
	Join(ctx context.Context, component string, task int32) error
	// Unsaved names those of all that have joined that have not saved version v.
	Unsaved(ctx context.Context, v checkpoint.Version) ([]string, error)
	// Keep makes the keeper of a namespace.
	Keep(n Namespace) (Keeper, error)
	// Close ends all that is under way.
	Close()
}

// Namespace is what is to be kept.
type Namespace struct {
	Component string
	Task      int32
	// Settings are its component's, as JSON.
	Settings string
	// Noticed is when its worker was missed, Detect how long it was lost by then; zero
	// if that is not known.
	Noticed time.Time
	Detect  time.Duration
	// Post runs a function on the goroutine that calls the keeper's methods.
	Post func(func())
}

// Keeper keeps the state of one namespace, as executor.Keeper does that of a task.
type Keeper interface {
	State() storm.State
	Load(v checkpoint.Version, era checkpoint.Era, done func(error))
	Save(v, base checkpoint.Version, done func(error))
	Committed(v checkpoint.Version)
	Close()
}

// Config is an agent's.
type Config struct {
	// File tells JVMs where the agent is; see package jvm.
	File string
	// Open opens the store of a topology with such settings, as JSON.
	Open   func(topology cluster.TopologyID, settings string) (Store, error)
	Logger *slog.Logger
	// Beat is how often a JVM that waits hears something. Default: 2 seconds.
	Beat time.Duration
	// Patience is how long the commit record may be behind. Default: 3 seconds.
	Patience time.Duration
	// Saving is how long the checkpoint spout waits for those that save, though Storm
	// has told it that all have. Default: 30 seconds.
	Saving time.Duration
}

// Agent serves the JVMs of a host.
type Agent struct {
	cfg      Config
	token    string
	listener net.Listener

	mu     sync.Mutex
	owners map[owner]*conn
	stores map[cluster.TopologyID]*shared
	count  int
}

// owner is a namespace of a topology.
type owner struct {
	topology  cluster.TopologyID
	component string
	task      int32
}

// shared is a store and how many have it.
type shared struct {
	Store
	users int
}

const (
	// maxConns bounds how many connections there are.
	maxConns = 16384
	// helloTime is how long a new one may take to say who it is.
	helloTime = 10 * time.Second
)

// New makes an agent that listens on this host only, and writes its file. Run must
// follow.
func New(cfg Config) (*Agent, error) {
	cfg.Beat = cmp.Or(cfg.Beat, 2*time.Second)
	cfg.Patience = cmp.Or(cfg.Patience, 3*time.Second)
	cfg.Saving = cmp.Or(cfg.Saving, 30*time.Second)
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return nil, fmt.Errorf("the agent for state of JVMs: %w", err)
	}
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("the agent for state of JVMs: %w", err)
	}
	a := &Agent{
		cfg: cfg, token: hex.EncodeToString(secret[:]), listener: l,
		owners: map[owner]*conn{}, stores: map[cluster.TopologyID]*shared{},
	}
	if err := a.tell(); err != nil {
		return nil, errors.Join(fmt.Errorf("the agent for state of JVMs: %w", err), l.Close())
	}
	return a, nil
}

// tell writes the file: host, port and token.
func (a *Agent) tell() error {
	host, port, err := net.SplitHostPort(a.listener.Addr().String())
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(a.cfg.File), "."+filepath.Base(a.cfg.File)+"-*") // for its owner only
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // if it is still there
	_, err = fmt.Fprintf(f, "%s %s %s\n", host, port, a.token)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), a.cfg.File)
	}
	return err
}

// Run serves until ctx ends, and ends all connections then.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = a.listener.Close() })
	defer stop()
	for {
		c, err := a.listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("the agent for state of JVMs: %w", err)
			}
			a.cfg.Logger.Warn("a JVM could not connect for its state", "error", err)
			if sleep(ctx, pause) != nil {
				return nil
			}
			continue
		}
		if !a.enter() {
			a.cfg.Logger.Warn("too many connections for the state of JVMs", "most", maxConns)
			_ = c.Close()
			continue
		}
		running.Go(func() {
			defer a.leave()
			a.serve(ctx, c)
		})
	}
}

func (a *Agent) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count >= maxConns {
		return false
	}
	a.count++
	return true
}

func (a *Agent) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count--
}

// claim makes c the connection of its owner. An older one is ended, and waited for.
func (a *Agent) claim(c *conn) error {
	for {
		a.mu.Lock()
		old := a.owners[c.owner]
		if old == nil {
			a.owners[c.owner] = c
			a.mu.Unlock()
			return nil
		}
		newer := cmp.Or(cmp.Compare(old.hello.boot, c.hello.boot), cmp.Compare(old.hello.serial, c.hello.serial)) > 0
		a.mu.Unlock()
		if newer {
			return errSuperseded
		}
		old.cancel()
		select {
		case <-old.gone:
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
}

var errSuperseded = &failure{code: superseded, text: "a newer worker has the state of this task: this one has to end"}

// release is the end of c.
func (a *Agent) release(c *conn) {
	a.mu.Lock()
	if a.owners[c.owner] == c {
		delete(a.owners, c.owner)
	}
	a.mu.Unlock()
	close(c.gone)
}

// store is the store of a topology, which put gives back.
func (a *Agent) store(id cluster.TopologyID, settings string) (Store, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.stores[id]; s != nil {
		s.users++
		return s, nil
	}
	opened, err := a.cfg.Open(id, settings)
	if err != nil {
		return nil, err
	}
	s := &shared{Store: opened, users: 1}
	a.stores[id] = s
	return s, nil
}

func (a *Agent) put(id cluster.TopologyID) {
	a.mu.Lock()
	s := a.stores[id]
	if s.users--; s.users > 0 {
		s = nil
	} else {
		delete(a.stores, id)
	}
	a.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

// Idle tells that no JVM is connected.
func (a *Agent) Idle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count == 0
}
