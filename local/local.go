// Package local runs a topology on this machine: all its workers in this
// process, connected by the same transport as in a cluster.
//
// Begin at Run. A worker whose component fails is started anew with fresh
// instances while the others go on; run.go decides when a topology is through.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker"
	"github.com/stormring/stormring/worker/monitor"
)

// Options say what to run and how.
type Options struct {
	// Name is the topology's name.
	Name string
	// Instance is the topology with its configuration.
	Instance *storm.Instance
	// Base lies below the instance's configuration and Conf on top of it;
	// defaults are added by themselves.
	Base, Conf storm.Config
	// RunFor ends the run after so long; 0 is no limit.
	RunFor time.Duration
	// DrainFor is how long a run that is ended from outside waits for what is
	// under way; 0 is the message time-out.
	DrainFor time.Duration
	// MetricsAddr is where Prometheus may ask, "host:port"; empty is nowhere.
	MetricsAddr string
	Logger      *slog.Logger
	// OnError gets the errors that components report; nil is allowed.
	OnError func(worker.ErrorInfo)
	// States keeps the state of stateful components; nil is this process's memory.
	States worker.States
}

// Result tells how a run ended.
type Result struct {
	// Partial tells that the run was ended before the spouts had come to their
	// end and everything was processed. A topology that has no end is
	// not partial after RunFor.
	Partial bool
	// Interrupted tells that ctx ended the run, not RunFor.
	Interrupted bool
	// Undrained is the number of trees that were still pending at the end.
	Undrained int
	Restarts  int
	Took      time.Duration
	Totals    Progress
}

// Topology is a running topology.
type Topology struct {
	opts   Options
	log    *slog.Logger
	layout *layout.Layout
	id     string
	slots  []*slot
	watch
	place []int

	// How workers reach each other: TCP, unless a test puts trouble in between.
	listenAt func(ctx context.Context) (net.Listener, error)
	dial     func(ctx context.Context, from int, addr string) (net.Conn, error)

	mu       sync.Mutex
	failures int
	fatal    error
	over     chan struct{} // closed when fatal is set
}

// New lays out the topology; nothing runs before Run.
func New(opts Options) (*Topology, error) {
	settings := storm.Config{}
	maps.Copy(settings, opts.Base)
	maps.Copy(settings, opts.Instance.Conf)
	maps.Copy(settings, opts.Conf)
	l, err := layout.New(opts.Instance.Topology, settings)
	if err != nil {
		return nil, fmt.Errorf("topology %q: %w", opts.Name, err)
	}
	// A worker without an executor would have nothing to do, as in Storm.
	workers := min(l.Workers, len(l.Executors))
	if err := checkFiles(workers); err != nil {
		return nil, fmt.Errorf("topology %q: %w", opts.Name, err)
	}
	if opts.States == nil && l.Stateful() {
		opts.States = worker.NewMemoryStates()
	}
	t := &Topology{
		opts: opts, log: opts.Logger, layout: l, place: l.Deal(workers),
		id:       fmt.Sprintf("%s-1-%d", opts.Name, time.Now().Unix()),
		over:     make(chan struct{}),
		listenAt: listenLoopback, dial: dialTCP,
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	for _, warning := range append(slices.Clone(opts.Instance.Topology.Warnings), idleSettings(l.Conf)...) {
		t.log.Warn("topology", "name", opts.Name, "warning", warning)
	}
	t.watch = watch{
		start: time.Now(), runFor: opts.RunFor, drainFor: opts.DrainFor, ended: t.over,
		restarts: t.restarted, setActive: t.setActive, progress: opts.Instance.Progress,
	}
	if t.drainFor <= 0 {
		t.drainFor = l.Conf.Duration(storm.ConfTopologyMessageTimeoutSecs)
	}
	for i := range workers {
		s := &slot{t: t, index: i}
		t.slots = append(t.slots, s)
		t.posts = append(t.posts, &s.post)
	}
	return t, nil
}

// idleSettings warns of settings that ask for what is not there yet.
func idleSettings(c *conf.Conf) []string {
	var warnings []string
	if c.Int(storm.ConfTopologyEventloggerExecutors) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s has no effect: event loggers are not built yet", storm.ConfTopologyEventloggerExecutors))
	}
	if len(c.List(storm.ConfTopologyMetricsConsumerRegister)) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s has no effect: metrics consumers are not built yet; see --metrics-addr", storm.ConfTopologyMetricsConsumerRegister))
	}
	return warnings
}

// Run runs the topology until all spouts have come to their end and everything
// is processed, until RunFor has passed, or until ctx ends; in the last two
// cases it first stops the spouts and waits for what is under way. The error
// tells why the topology could not go on.
func (t *Topology) Run(ctx context.Context) (Result, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	quiet, err := serveMetrics(life, t.opts, &t.watch, t.log)
	if err != nil {
		return Result{}, err
	}
	defer func() {
		stop()
		quiet()
	}()
	if err := t.listen(life); err != nil {
		return Result{}, err
	}
	t.setActive(true)
	for _, s := range t.slots {
		running.Go(func() { s.run(life) })
	}
	res := t.wait(ctx)
	stop()
	running.Wait()
	res.Took = time.Since(t.start)
	res.Totals = t.Progress()
	t.mu.Lock()
	defer t.mu.Unlock()
	res.Restarts = t.failures
	return res, t.fatal
}

// serveMetrics serves the metrics that opts ask for until ctx ends; wait waits
// for that.
func serveMetrics(ctx context.Context, opts Options, source monitor.Source, log *slog.Logger) (wait func(), err error) {
	if opts.MetricsAddr == "" {
		return func() {}, nil
	}
	addr, end, err := monitor.Serve(ctx, opts.MetricsAddr, source, log)
	if err != nil {
		return nil, fmt.Errorf("metrics endpoint %s: %w", opts.MetricsAddr, err)
	}
	log.Info("metrics are served", "url", "http://"+addr.String()+"/metrics")
	return func() {
		if err := end(); err != nil {
			log.Warn("metrics endpoint", "error", err)
		}
	}, nil
}

// listen gives every slot an address, if there is anyone to talk to.
func (t *Topology) listen(ctx context.Context) error {
	if len(t.slots) == 1 {
		return nil
	}
	for _, s := range t.slots {
		ln, err := t.listenAt(ctx)
		if err != nil {
			return fmt.Errorf("worker %d: %w", s.index, err)
		}
		s.listener = ln
		s.setAddr(ln.Addr().String())
	}
	return nil
}

func (t *Topology) setActive(active bool) {
	for _, s := range t.slots {
		s.setActive(active)
	}
}

// restarted is how many workers have failed so far.
func (t *Topology) restarted() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failures
}

// fail ends the run for good.
func (t *Topology) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fatal == nil {
		t.fatal = err
		close(t.over)
		return
	}
	t.fatal = errors.Join(t.fatal, err)
}

// ID is the topology's id, as a nimbus would have given it.
func (t *Topology) ID() string { return t.id }
