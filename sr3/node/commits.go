package node

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/upkeep"
)

// commits is what is known of the commit records. Versions only grow, so what was
// heard once stays true enough: nothing that a newer one needs is dropped for it.
type commits struct {
	node   *Node
	mu     sync.Mutex
	topics map[string]*commit
	asked  chan struct{} // told when a topology came up
	// every is how often the coordination store is asked; that may take as long.
	every time.Duration
}

type commit struct {
	known   bool
	version shard.Version
	// confirmed is when the record was last read or heard of, on the circle's clock.
	confirmed time.Duration
	gone      bool
	goneSince time.Duration
	// used is when somebody last wanted to know, heard when others last told.
	used, heard time.Duration
}

func (c *commits) init(n *Node) {
	c.node, c.topics, c.asked = n, make(map[string]*commit), make(chan struct{}, 1)
	c.every = n.cfg.UpkeepEvery * 3 / 2
}

// entry is that of a topology; mu is held.
func (c *commits) entry(topology string) *commit {
	t := c.topics[topology]
	if t == nil {
		t = &commit{}
		c.topics[topology] = t
	}
	return t
}

// heard takes in that a version is committed.
func (c *commits) heard(topology string, v shard.Version) {
	now := c.node.circle.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.entry(topology)
	t.known, t.version, t.confirmed, t.heard = true, max(t.version, v), now, now
}

// hint is like heard for a version that somebody claims; 0 says nothing.
func (c *commits) hint(topology string, v shard.Version) {
	if v > 0 {
		c.heard(topology, v)
	}
}

// of is what is known of a topology. It is asked for from now on.
func (c *commits) of(topology string) commit {
	now := c.node.circle.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.entry(topology)
	if t.used == 0 {
		select {
		case c.asked <- struct{}{}:
		default:
		}
	}
	t.used = now
	return *t
}

// fresh is for how many rounds of asking a word is good.
const fresh = 5

// committed is what package upkeep needs to know of a topology.
func (c *commits) committed(topology string) upkeep.Committed {
	t := c.of(topology)
	return upkeep.Committed{
		Known:   (t.known || t.gone) && c.node.circle.clock()-t.confirmed <= fresh*c.every,
		Version: t.version, Gone: t.gone, GoneSinceMillis: t.goneSince.Milliseconds(),
	}
}

// run reads the records of all topologies that are of interest here.
func (c *commits) run(ctx context.Context) {
	ticker := time.NewTicker(c.every)
	defer ticker.Stop()
	away := false
	for {
		err := c.poll(ctx)
		if ctx.Err() != nil {
			return
		}
		if (err != nil) != away {
			away = err != nil
			if away {
				c.node.log.Warn("the coordination store does not answer; nothing is dropped until it does", "err", err)
			} else {
				c.node.log.Info("the coordination store answers again")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-c.asked:
			if away {
				select { // not faster than the ticker
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
			}
		}
	}
}

func (c *commits) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.every)
	defer cancel()
	here := c.wanted()
	if len(here) == 0 {
		return nil
	}
	exist, err := c.node.cfg.Records.Topologies(ctx)
	if err != nil {
		return err
	}
	for _, t := range here {
		if !slices.Contains(exist, t) {
			c.missing(t)
			continue
		}
		r, err := c.node.cfg.Records.Get(ctx, t)
		if err != nil {
			return err
		}
		c.read(t, r.Committed)
	}
	return nil
}

// wanted are the topologies that somebody asked for of late; the others are
// forgotten.
func (c *commits) wanted() []string {
	now := c.node.circle.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.topics, func(_ string, t *commit) bool { return now-max(t.used, t.heard) > 10*c.every })
	return slices.Collect(maps.Keys(c.topics))
}

// read takes in what the record of a topology says.
func (c *commits) read(topology string, v shard.Version) {
	now := c.node.circle.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.entry(topology)
	t.known, t.version, t.confirmed, t.gone = true, max(t.version, v), now, false
}

// missing takes in that there is no such topology.
func (c *commits) missing(topology string) {
	now := c.node.circle.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.entry(topology)
	if !t.gone {
		t.gone, t.goneSince = true, now
	}
	t.confirmed = now
}
