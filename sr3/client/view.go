package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// picture is the ring at one moment. It never changes.
type picture struct {
	view     *ring.View
	complete bool
	nodes    map[shard.NodeID]ring.Node
	// self is the node of this host, "" if it does not answer.
	self shard.NodeID
}

func newPicture(v protocol.View, own bool) *picture {
	p := &picture{view: ring.NewView(v.Nodes), complete: v.Complete, nodes: make(map[shard.NodeID]ring.Node, len(v.Nodes))}
	for _, n := range v.Nodes {
		p.nodes[shard.NodeID(n.ID)] = n
	}
	if own {
		p.self = shard.NodeID(v.Self.ID)
	}
	return p
}

// without is the picture with some nodes away.
func (p *picture) without(gone func(shard.NodeID) bool) *picture {
	n := &picture{complete: p.complete, self: p.self, nodes: make(map[shard.NodeID]ring.Node, len(p.nodes))}
	var nodes []ring.Node
	for _, node := range p.view.Nodes() {
		if id := shard.NodeID(node.ID); !gone(id) {
			n.nodes[id] = node
			nodes = append(nodes, node)
		}
	}
	if len(nodes) == len(p.nodes) {
		return p
	}
	n.view = ring.NewView(nodes)
	return n
}

// others are the nodes that are not among those.
func (p *picture) others(those []ring.Node) []ring.Node {
	return slices.DeleteFunc(p.view.Nodes(), func(n ring.Node) bool {
		return slices.ContainsFunc(those, func(t ring.Node) bool { return t.ID == n.ID })
	})
}

// hosts is on how many different hosts the nodes are.
func (p *picture) hosts() int {
	seen := make(map[string]bool, len(p.nodes))
	for _, n := range p.nodes {
		seen[hostOf(n)] = true
	}
	return len(seen)
}

// hostOf names what a node fails with.
func hostOf(n ring.Node) string {
	if n.Host == "" {
		return "node " + n.ID
	}
	return "host " + n.Host
}

// views keeps a picture of the ring.
type views struct {
	c       *Client
	current atomic.Pointer[picture]
	kicks   chan struct{}
	first   sync.Once
	ready   chan struct{}
}

func newViews(c *Client) *views {
	return &views{c: c, kicks: make(chan struct{}, 1), ready: make(chan struct{})}
}

func (v *views) now() *picture { return v.current.Load() }

// kick has the ring looked at soon, after an error say.
func (v *views) kick() {
	select {
	case v.kicks <- struct{}{}:
	default:
	}
}

// get waits for the first picture.
func (v *views) get(ctx context.Context) (*picture, error) {
	select {
	case <-v.ready:
		return v.now(), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("no node of the ring has answered yet: %w", context.Cause(ctx))
	}
}

func (v *views) run(ctx context.Context) {
	tick := time.NewTicker(v.c.cfg.ViewEvery)
	defer tick.Stop()
	again := min(v.c.cfg.ViewEvery, 100*time.Millisecond) // until the first answer
	for {
		v.look(ctx)
		var soon <-chan time.Time
		if v.now() == nil {
			soon = time.After(again)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-v.kicks:
		case <-soon:
		}
	}
}

// look asks for the ring. Without an answer the last picture stays.
func (v *views) look(ctx context.Context) {
	var own string
	if addrs := v.c.cfg.Nodes(); len(addrs) > 0 {
		own = addrs[0]
	}
	_ = v.c.anyNode(ctx, func(ctx context.Context, addr string) error {
		var a protocol.View
		if err := v.c.ask(ctx, addr, protocol.GetView, nil, &a); err != nil {
			return err
		}
		if len(a.Nodes) == 0 {
			return errors.New("it is not on the ring yet")
		}
		v.current.Store(newPicture(a, addr == own))
		v.first.Do(func() { close(v.ready) })
		return nil
	})
}

// holders are the nodes that keep what belongs at key, by a picture of the ring.
// In a ring too large to be known as a whole somebody on it is asked.
func (c *Client) holders(ctx context.Context, p *picture, key uint64, replicas int) ([]ring.Node, error) {
	if p.complete {
		return ring.Holders(p.view, key, replicas), nil
	}
	var a protocol.LookupAnswer
	err := c.anyNode(ctx, func(ctx context.Context, addr string) error {
		a = protocol.LookupAnswer{}
		return c.ask(ctx, addr, protocol.LookupKey, protocol.LookupRequest{Key: key}, &a)
	})
	if err != nil {
		return nil, fmt.Errorf("look up %016x on the ring: %w", key, err)
	}
	return ring.Holders(ring.NewView(a.Nodes), key, replicas), nil
}

// locate is where a node is; false if it is not on the ring.
func (c *Client) locate(ctx context.Context, p *picture, id shard.NodeID) (ring.Node, bool) {
	if n, ok := p.nodes[id]; ok || p.complete {
		return n, ok
	}
	nodes, err := c.holders(ctx, p, ring.PositionOf(string(id), 0), 1)
	if err != nil || len(nodes) == 0 || nodes[0].ID != string(id) {
		return ring.Node{}, false
	}
	return nodes[0], true
}

// How long a node that failed is passed over at once: doubled each time.
const (
	firstShun = 2 * time.Second
	lastShun  = 30 * time.Second
)

// shunned are nodes that did not take objects lately.
type shunned struct {
	mu    sync.Mutex
	nodes map[shard.NodeID]shun
}

type shun struct {
	until time.Time
	last  time.Duration
}

// add says that the node failed.
func (s *shunned) add(id shard.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes == nil {
		s.nodes = make(map[shard.NodeID]shun)
	}
	d := min(max(firstShun, 2*s.nodes[id].last), lastShun)
	s.nodes[id] = shun{until: time.Now().Add(d), last: d}
}

// clear says that the node is well.
func (s *shunned) clear(id shard.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, id)
}

// all are those that are passed over now.
func (s *shunned) all() map[shard.NodeID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, all := time.Now(), make(map[shard.NodeID]bool)
	for id, n := range s.nodes {
		if now.Before(n.until) {
			all[id] = true
		}
	}
	return all
}
