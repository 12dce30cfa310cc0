package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
)

const (
	// maxComplaints is how many errors of a topology wait for the store at most;
	// the oldest go first. The store keeps ten of a component anyhow.
	maxComplaints = 100
	// systemComponent has the errors of workers that are no component's.
	systemComponent = "__system"
)

// complaint is an error on its way to the coordination store.
type complaint struct {
	component string
	record    cluster.ErrorRecord
}

// complaints brings errors of workers to the coordination store. While that is
// away, the newest wait.
type complaints struct {
	host  string
	log   *slog.Logger
	clock clock.Clock
	wake  chan struct{} // capacity 1

	mu      sync.Mutex
	store   *records.Store // nil while there is none
	waiting map[cluster.TopologyID][]complaint
	dropped int
}

func newComplaints(host string, c clock.Clock, log *slog.Logger) *complaints {
	return &complaints{host: host, clock: c, log: log, wake: make(chan struct{}, 1), waiting: map[cluster.TopologyID][]complaint{}}
}

// add takes errors that tasks have reported.
func (c *complaints) add(id cluster.TopologyID, port cluster.Port, errs []cluster.TaskError) {
	for _, e := range errs {
		c.put(id, complaint{e.Component, cluster.ErrorRecord{Text: e.Text, TimeSecs: e.TimeMS / 1000, Host: c.host, Port: port}})
	}
}

// blame takes what has gone wrong with a worker. It is the error of the
// component that the text names, if it does.
func (c *complaints) blame(id cluster.TopologyID, port cluster.Port, text string) {
	component := systemComponent
	if _, rest, found := strings.Cut(text, `component "`); found {
		if name, _, whole := strings.Cut(rest, `"`); whole && name != "" {
			component = name
		}
	}
	c.put(id, complaint{component, cluster.ErrorRecord{Text: text, TimeSecs: c.clock.Now().Unix(), Host: c.host, Port: port}})
}

func (c *complaints) put(id cluster.TopologyID, one complaint) {
	c.mu.Lock()
	list := append(c.waiting[id], one)
	if over := len(list) - maxComplaints; over > 0 {
		list = list[over:]
		c.dropped += over
	}
	c.waiting[id] = list
	c.mu.Unlock()
	c.wakeUp()
}

func (c *complaints) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// attach gives the store to write to, detach takes it away.
func (c *complaints) attach(s *records.Store) {
	c.mu.Lock()
	c.store = s
	c.mu.Unlock()
	c.wakeUp()
}

func (c *complaints) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store = nil
}

// keep drops the errors of topologies that are not wanted any more: what is
// written of one that is gone would stay for ever.
func (c *complaints) keep(wanted func(cluster.TopologyID) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.waiting {
		if !wanted(id) {
			delete(c.waiting, id)
		}
	}
}

// run writes until ctx ends.
func (c *complaints) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		for {
			err := c.write(ctx)
			if err == nil || ctx.Err() != nil {
				break
			}
			if !rest(ctx, c.clock, time.Second) {
				return
			}
		}
	}
}

// write writes what waits, as long as there is a store. The error is that the
// store could not be asked.
func (c *complaints) write(ctx context.Context) error {
	for {
		store, id, one, ok := c.next()
		if !ok {
			return nil
		}
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		err := store.AddError(asking, id, one.component, one.record)
		cancel()
		switch {
		case err == nil:
		case errors.Is(err, coord.ErrConnectionLoss), errors.Is(err, coord.ErrSessionClosed), errors.Is(err, coord.ErrSessionExpired),
			errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			c.back(id, one)
			return err
		default:
			c.log.Warn("an error of a topology cannot be written down", "topology", id, "component", one.component, "text", one.record.Text, "error", err)
		}
	}
}

// next takes the oldest error of some topology.
func (c *complaints) next() (*records.Store, cluster.TopologyID, complaint, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.store == nil {
		return nil, "", complaint{}, false
	}
	if c.dropped > 0 {
		c.log.Warn("errors of topologies were dropped while the coordination store was away", "errors", c.dropped)
		c.dropped = 0
	}
	for id, list := range c.waiting {
		one := list[0]
		if c.waiting[id] = list[1:]; len(list) == 1 {
			delete(c.waiting, id)
		}
		return c.store, id, one, true
	}
	return nil, "", complaint{}, false
}

// back puts one back that could not be written, unless newer ones fill its place.
func (c *complaints) back(id cluster.TopologyID, one complaint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list := c.waiting[id]; len(list) < maxComplaints {
		c.waiting[id] = append([]complaint{one}, list...)
	} else {
		c.dropped++
	}
}
