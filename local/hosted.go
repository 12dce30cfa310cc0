package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/nimbus"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker"
)

// aliveEvery is how often a run looks whether its topology is still wanted.
const aliveEvery = 500 * time.Millisecond

// Hosted is a topology on a Cluster whose workers this process can look at.
type Hosted struct {
	cluster *Cluster
	opts    Options
	log     *slog.Logger
	layout  *layout.Layout
	watch

	mu       sync.Mutex
	at       map[cluster.Port]*post
	began    map[cluster.Port]time.Time
	failures int // of workers
	row      int // in a row, soon after their start
	fatal    error
	over     chan struct{}
	closed   bool
}

// Host prepares a topology to run on c. Its workers begin with Run.
func (c *Cluster) Host(opts Options) (*Hosted, error) {
	l, err := New(opts) // checks and lays out as a run without a cluster does
	if err != nil {
		return nil, err
	}
	h := &Hosted{
		cluster: c, opts: opts, log: l.log, layout: l.layout, at: map[cluster.Port]*post{},
		began: map[cluster.Port]time.Time{}, over: make(chan struct{}),
	}
	h.watch = l.watch
	h.ended, h.restarts, h.setActive = h.over, h.restarted, h.deactivate
	c.inside.host(h)
	return h, nil
}

// Workers is how many workers opts will have.
func Workers(opts Options) (int, error) {
	t, err := New(opts)
	if err != nil {
		return 0, err
	}
	return len(t.slots), nil
}

// Run submits the topology and runs it as Topology.Run does; it also ends when
// a client has killed it.
func (h *Hosted) Run(ctx context.Context) (Result, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	quiet, err := serveMetrics(life, h.opts, &h.watch, h.log)
	if err != nil {
		return Result{}, err
	}
	defer func() {
		stop()
		quiet()
	}()
	if err := h.submit(life); err != nil {
		return Result{}, err
	}
	var looking sync.WaitGroup
	looking.Go(func() { h.lookAfter(life) })
	res := h.wait(ctx)
	if h.cluster.kept { // the name must be free again
		h.remove()
	}
	stop()
	looking.Wait()
	res.Took = time.Since(h.start)
	res.Totals = h.Progress()
	h.mu.Lock()
	defer h.mu.Unlock()
	res.Restarts = h.failures
	return res, h.fatal
}

func (h *Hosted) submit(ctx context.Context) error {
	topology, err := layout.Describe(h.opts.Instance.Topology, h.opts.Name)
	if err != nil {
		return err
	}
	settings := storm.Config{}
	maps.Copy(settings, h.opts.Instance.Conf)
	maps.Copy(settings, h.opts.Conf)
	conf.TopologyArgs.Set(settings, nil)
	text, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("topology %q: its configuration: %w", h.opts.Name, err)
	}
	return h.cluster.submit(ctx, nimbus.Submission{Name: h.opts.Name, ConfJSON: string(text), Topology: topology})
}

// lookAfter ends the run when there is no topology or no cluster any more.
func (h *Hosted) lookAfter(ctx context.Context) {
	ticker := time.NewTicker(aliveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.cluster.Done():
			h.fail(errors.New("the local cluster has ended"))
			return
		case <-ticker.C:
			if !h.cluster.alive(ctx, h.opts.Name) {
				h.log.Warn("the topology was killed", "name", h.opts.Name)
				h.finish(nil)
				return
			}
		}
	}
}

// deactivate silences the spouts; active is always false.
func (h *Hosted) deactivate(bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := h.cluster.nimbus.Deactivate(ctx, h.opts.Name); err != nil {
		h.log.Debug("deactivate", "error", err) // then the posts are told directly
	}
	for _, p := range h.posts {
		p.setActive(false)
	}
}

// remove kills the topology.
func (h *Hosted) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	now := 0
	err := h.cluster.nimbus.Kill(ctx, h.opts.Name, cluster.KillOptions{WaitSecs: &now})
	if err != nil && !errors.Is(err, nimbus.ErrNotAlive) {
		h.log.Warn("the topology stays in the cluster's folder", "error", err)
	}
}

// begin puts a worker on its post.
func (h *Hosted) begin(port cluster.Port, w *worker.Worker) {
	h.mu.Lock()
	p := h.postOf(port)
	h.began[port] = time.Now()
	h.mu.Unlock()
	if p != nil {
		p.begin(w)
	}
}

// postOf is the post of a port, a free one for a port that has none; nil if
// there is none left. mu is held.
func (h *Hosted) postOf(port cluster.Port) *post {
	if p := h.at[port]; p != nil {
		return p
	}
	used := map[*post]bool{}
	for _, p := range h.at {
		used[p] = true
	}
	for _, p := range h.posts {
		if !used[p] {
			h.at[port] = p
			p.setPort(int(port))
			return p
		}
	}
	for old, p := range h.at { // its worker was placed elsewhere
		if _, running := p.state(); !running {
			delete(h.at, old)
			h.at[port] = p
			p.setPort(int(port))
			return p
		}
	}
	return nil
}

// end takes a worker off its post. asked tells that it was to end.
func (h *Hosted) end(port cluster.Port, err error, asked bool) {
	h.mu.Lock()
	p := h.at[port]
	began, had := h.began[port]
	delete(h.began, port)
	h.mu.Unlock()
	if p != nil {
		p.end()
	}
	if asked {
		if err != nil {
			h.fail(fmt.Errorf("the worker at port %d did not stop in order: %w", port, err))
		}
		return
	}
	h.mu.Lock()
	h.failures++
	if had && time.Since(began) > healthyFor {
		h.row = 0
	}
	h.row++
	row := h.row
	h.mu.Unlock()
	if row > mostRetries {
		h.fail(fmt.Errorf("workers failed %d times in a row, last: %w", row, err))
	}
}

func (h *Hosted) restarted() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures
}

// fail ends the run with an error.
func (h *Hosted) fail(err error) { h.finish(err) }

// finish ends the run.
func (h *Hosted) finish(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fatal = errors.Join(h.fatal, err)
	if !h.closed {
		h.closed = true
		close(h.over)
	}
}
