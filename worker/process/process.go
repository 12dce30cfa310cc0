// Package process is a worker as a process of its own: what a supervisor
// launches for a slot.
//
// Begin at Run. It reads the topology that the supervisor has put on the disk,
// finds the code of its components in the program that it is part of (code.go),
// asks the supervisor over internal/link where everything runs, and from then on
// does what the supervisor orders. It talks to nobody but its supervisor and
// the other workers of its topology; without the supervisor it runs on.
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/internal/link"
	"github.com/stormring/stormring/internal/wire"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker"
)

// The files of a topology in its folder, with Storm's names.
const (
	CodeFile = "stormcode.ser"
	ConfFile = "stormconf.ser"
)

// Config is which worker to be.
type Config struct {
	Topology   cluster.TopologyID
	Supervisor cluster.SupervisorID
	Port       cluster.Port
	// Worker is the id under which it was launched.
	Worker string
	// Code is the folder with the topology's files.
	Code string
	// Link is the supervisor's socket.
	Link string
	// Base is the configuration of the host, below the topology's own.
	Base storm.Config
	// Program has the code of Go components.
	Program storm.Program
	// Made are topologies by the name of the definition that has made them: the
	// very ones run, and are not made again.
	Made map[string]*storm.Topology
	// Bind is the address to listen at; "" is every address of the host.
	Bind string
	// Listen, if set, listens for the other workers, in place of Bind and Port.
	Listen func(ctx context.Context) (net.Listener, error)
	Logger *slog.Logger
	// Levels set what is logged; nil leaves that to Logger.
	Levels *Levels
	// States keeps the state of stateful topologies; nil keeps it in memory.
	States func(StatesSpec) (States, error)
	// Noticed is when it became known that the worker is needed, Detect how long it
	// was lost by then; 0 if that is not known.
	Noticed time.Time
	Detect  time.Duration
	// OnWorker, if set, is shown the worker before it runs.
	OnWorker func(*worker.Worker)
}

// StatesSpec is a topology whose state is to be kept.
type StatesSpec struct {
	Topology cluster.TopologyID
	Conf     *conf.Conf
	// Ring is where the supervisor's ring node listens now, "" if there is none.
	Ring func() string
	// Noticed and Detect are those of Config.
	Noticed time.Time
	Detect  time.Duration
	Logger  *slog.Logger
}

// States keeps state until it is closed.
type States interface {
	worker.States
	Close()
}

// Run is a worker's life. It ends with ctx, in order and without error; when
// the supervisor orders it or does not want the worker; or with the error of
// the component that failed.
func Run(ctx context.Context, cfg Config) error {
	p, err := load(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var linked sync.WaitGroup
	defer linked.Wait()
	defer cancel()
	linkCtx, unlink := context.WithCancel(context.WithoutCancel(ctx))
	defer unlink()
	linked.Go(func() {
		defer cancel() // a worker that is not wanted ends
		p.linkErr = link.Run(linkCtx, link.Worker{
			Socket: cfg.Link, Every: p.layout.Conf.Duration(conf.WorkerHeartbeatSecs), Logger: cfg.Logger,
			Hello: cluster.Hello{
				Topology: cfg.Topology, Port: cfg.Port, Worker: cfg.Worker, PID: os.Getpid(), Program: program(),
			},
			Urgent: p.urgent, Pulse: p.pulse, Sent: p.sent, Orders: func(o cluster.Orders) { p.follow(o, cancel) },
		})
	})
	err = p.run(ctx)
	if err != nil {
		p.lastWords(err)
	}
	unlink()
	linked.Wait()
	return errors.Join(err, p.linkErr)
}

// process is a worker with its supervisor's orders.
type process struct {
	cfg     Config
	log     *slog.Logger
	layout  *layout.Layout
	started time.Time
	place   *places
	first   chan struct{} // closed with the first orders
	urgent  chan struct{} // capacity 1: pulse now
	linkErr error

	mu      sync.Mutex
	orders  *cluster.Orders
	worker  *worker.Worker
	ready   bool // worker runs or is about to
	errors  []cluster.TaskError
	said    int // of errors, in the pulse under way
	failure string
	stats   time.Time // when they were reported last
	told    chan struct{}
}

// load reads the topology and lays it out.
func load(cfg Config) (*process, error) {
	code, err := os.ReadFile(filepath.Join(cfg.Code, CodeFile))
	if err != nil {
		return nil, fmt.Errorf("topology %s: its code: %w", cfg.Topology, err)
	}
	topology, err := wire.DecodeCode(code)
	if err != nil {
		return nil, fmt.Errorf("topology %s: its code: %w", cfg.Topology, err)
	}
	text, err := os.ReadFile(filepath.Join(cfg.Code, ConfFile))
	if err != nil {
		return nil, fmt.Errorf("topology %s: its configuration: %w", cfg.Topology, err)
	}
	own, err := wire.DecodeConf(text)
	if err != nil {
		return nil, fmt.Errorf("topology %s: its configuration: %w", cfg.Topology, err)
	}
	settings := storm.Config{}
	maps.Copy(settings, cfg.Base)
	maps.Copy(settings, own)
	runnable, err := layout.Resolve(topology, newCode(cfg, topology, settings))
	if err != nil {
		return nil, fmt.Errorf("topology %s: %w", cfg.Topology, err)
	}
	l, err := layout.New(runnable, settings)
	if err != nil {
		return nil, fmt.Errorf("topology %s: %w", cfg.Topology, err)
	}
	return &process{
		cfg: cfg, log: cfg.Logger, layout: l, started: time.Now(),
		place: newPlaces(cluster.Slot{Supervisor: cfg.Supervisor, Port: cfg.Port}),
		first: make(chan struct{}), urgent: make(chan struct{}, 1), told: make(chan struct{}, 1),
	}, nil
}

// run waits for the first orders and runs the worker.
func (p *process) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-p.first:
	}
	listen := p.cfg.Listen
	if listen == nil {
		listen = p.listen
	}
	ln, err := listen(ctx)
	if err != nil {
		return fmt.Errorf("the port of the slot: %w; is another process using it?", err)
	}
	p.mu.Lock()
	orders := *p.orders
	p.mu.Unlock()
	p.layout = p.layout.Recut(ranges(orders.Placement))
	states, err := p.states()
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	if states != nil {
		defer states.Close()
	}
	w, err := worker.New(worker.Spec{
		States:     statesOf(states),
		TopologyID: string(p.cfg.Topology), TopologyName: p.cfg.Topology.Name(), Layout: p.layout,
		Index: 0, Placement: p.place.placement(p.layout, orders.Placement), Port: int(p.cfg.Port),
		Network: &worker.Network{Listener: ln, Addr: p.place.addr, ID: p.place.id},
		Active:  orders.Status == cluster.StatusActive, Logger: p.log, OnError: p.reported,
	})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	if p.cfg.OnWorker != nil {
		p.cfg.OnWorker(w)
	}
	p.mu.Lock()
	p.worker, p.ready = w, true
	orders = *p.orders // newer ones may have come
	p.mu.Unlock()
	if p.obey(w, orders) {
		p.hurry()
		return w.Run(ctx)
	}
	return errMoved
}

// states opens what keeps the topology's state, if it has any.
func (p *process) states() (States, error) {
	if !p.layout.Stateful() || p.cfg.States == nil {
		return nil, nil //nolint:nilnil // there is nothing to keep
	}
	s, err := p.cfg.States(StatesSpec{Topology: p.cfg.Topology, Conf: p.layout.Conf, Ring: p.ringNode, Noticed: p.cfg.Noticed, Detect: p.cfg.Detect, Logger: p.log})
	if err != nil {
		return nil, fmt.Errorf("topology %s: its state: %w", p.cfg.Topology, err)
	}
	return s, nil
}

// statesOf is s for a worker, for which nil is memory.
func statesOf(s States) worker.States {
	if s == nil {
		return nil
	}
	return s
}

// ringNode is where the supervisor's ring node listens, as the newest orders say.
func (p *process) ringNode() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.orders.Ring
}

func (p *process) listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", net.JoinHostPort(p.cfg.Bind, strconv.Itoa(int(p.cfg.Port))))
}

// errMoved ends a worker whose executors are others by now. Its supervisor will
// say the same in a moment.
var errMoved = errors.New("the worker's executors have changed; it has to start anew")

// follow takes orders.
func (p *process) follow(o cluster.Orders, stop context.CancelFunc) {
	if p.cfg.Levels != nil {
		p.cfg.Levels.Set(o.Log)
	}
	p.mu.Lock()
	firstOnes := p.orders == nil
	p.orders = &o
	w := p.worker
	p.mu.Unlock()
	if firstOnes {
		close(p.first)
	}
	if o.Stop || w != nil && !p.obey(w, o) {
		stop()
	}
}

// obey makes the worker do what o says; it reports false if that takes a new
// one.
func (p *process) obey(w *worker.Worker, o cluster.Orders) bool {
	if !p.layout.Fits(ranges(o.Placement)) || !w.Replace(p.place.placement(p.layout, o.Placement)) {
		return false
	}
	w.SetActive(o.Status == cluster.StatusActive)
	return true
}

// hurry has a pulse sent at once.
func (p *process) hurry() {
	select {
	case p.urgent <- struct{}{}:
	default:
	}
}

// lastWords tells the supervisor why the worker ends, if it can be told soon.
func (p *process) lastWords(err error) {
	p.mu.Lock()
	p.failure = err.Error()
	p.mu.Unlock()
	select {
	case <-p.told: // an older one
	default:
	}
	p.hurry()
	for range 2 { // a pulse may be under way that does not say it yet
		select {
		case <-p.told:
			p.hurry()
		case <-time.After(time.Second):
			return
		}
	}
}

// program says what this program was built as.
func program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Path + " " + info.Main.Version + " " + info.GoVersion
}
