package node

import (
	"context"
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
}

func (c *commits) init(n *Node) {
	c.node, c.topics, c.asked = n, make(map[string]*commit), make(chan struct{}, 1)
	c.every = n.cfg.UpkeepEvery * 3 / 2
}

// heard takes in that a version is committed.
func (c *commits) heard(topology string, v shard.Version) {
	now := c.node.circle.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.topics[topology]
	if t == nil {
		t = &commit{}
		c.topics[topology] = t
	}
	t.known, t.version, t.confirmed = true, max(t.version, v), now
}

// hint is like heard for a version that somebody claims; 0 says nothing.
func (c *commits) hint(topology string, v shard.Version) {
	if v > 0 {
		c.heard(topology, v)
	}
}

// of is what is known of a topology.
func (c *commits) of(topology string) commit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.topics[topology]; t != nil {
		return *t
	}
	select {
	case c.asked <- struct{}{}:
	default:
	}
	return commit{}
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

// run reads the records of all topologies of which anything is here.
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
	here := make(map[string]bool)
	for _, o := range c.node.store.Owners() {
		here[o.Topology] = true
	}
	c.mu.Lock()
	for t := range c.topics {
		if !here[t] {
			delete(c.topics, t)
		}
	}
	c.mu.Unlock()
	if len(here) == 0 {
		return nil
	}
	exist, err := c.node.cfg.Records.Topologies(ctx)
	if err != nil {
		return err
	}
	for t := range here {
		if !slices.Contains(exist, t) {
			c.missing(t)
			continue
		}
		r, err := c.node.cfg.Records.Get(ctx, t)
		if err != nil {
			return err
		}
		c.heard(t, r.Committed)
		c.there(t)
	}
	return nil
}

func (c *commits) missing(topology string) {
	now := c.node.circle.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.topics[topology]
	if t == nil {
		t = &commit{}
		c.topics[topology] = t
	}
	if !t.gone {
		t.gone, t.goneSince = true, now
	}
	t.confirmed = now
}

func (c *commits) there(topology string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.topics[topology]; t != nil {
		t.gone = false
	}
}
