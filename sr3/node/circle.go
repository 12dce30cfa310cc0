package node

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// inboxSize is how many messages of the ring may wait; more are dropped, as a
// network would.
const inboxSize = 1024

// picture is the ring as the node sees it; it does not change any more.
type picture struct {
	view             *ring.View
	complete, joined bool
	// finds tells that lookups from here are right.
	finds bool
	// since is when it became so, on the circle's clock.
	since time.Duration
	addrs map[shard.NodeID]string
	// recalled are those of an earlier life that are still waited for.
	recalled []ring.Node
}

// circle is the goroutine that owns the ring's machine.
type circle struct {
	machine *ring.Machine
	log     *slog.Logger
	send    func(addr string, payload []byte) bool
	begun   time.Time
	inbox   chan *ring.Message
	calls   chan func(*ring.Machine, time.Duration) ring.Out
	done    chan struct{} // closed when the goroutine has ended
	now     atomic.Pointer[picture]
	dropped atomic.Int64
	joined  func(shard.NodeID) // is told of nodes that are new, or anew, on the ring
	// turned and news are told when the picture changed: upkeep, and the memory.
	turned, news chan struct{}

	// The goroutine's own.
	lookups map[uint64]chan<- ring.Event
	token   uint64
}

func newCircle(cfg *Config, self ring.Node, recalled []ring.Node, send func(string, []byte) bool) (*circle, error) {
	seed := cfg.Now()
	m, err := ring.New(cfg.Ring, self, uint64(max(seed.UnixMilli(), 1)), rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	if err != nil {
		return nil, err
	}
	m.Recall(recalled)
	c := &circle{
		machine: m, log: cfg.Log, send: send, begun: time.Now(),
		inbox:  make(chan *ring.Message, inboxSize),
		calls:  make(chan func(*ring.Machine, time.Duration) ring.Out),
		done:   make(chan struct{}),
		turned: make(chan struct{}, 1),
		news:   make(chan struct{}, 1),

		lookups: make(map[uint64]chan<- ring.Event),
	}
	c.publish()
	return c, nil
}

// clock is the time since the node began; it does not jump.
func (c *circle) clock() time.Duration { return time.Since(c.begun) }

// run is the goroutine. It ends with ctx.
func (c *circle) run(ctx context.Context) {
	defer close(c.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var out ring.Out
		select {
		case <-ctx.Done():
			return
		case m := <-c.inbox:
			out = c.machine.Receive(m, c.clock())
		case call := <-c.calls:
			out = call(c.machine, c.clock())
		case <-timer.C:
			out = c.machine.Tick(c.clock())
		}
		c.perform(out)
		timer.Reset(max(c.machine.Next()-c.clock(), 0))
	}
}

func (c *circle) perform(out ring.Out) {
	for i := range out.Send {
		s := &out.Send[i]
		payload, err := ring.Append(nil, &s.Message)
		if err != nil {
			panic(fmt.Sprintf("node: a ring message that cannot be encoded: %v", err)) // the machine's own bounds
		}
		if !c.send(s.To.Addr, payload) {
			c.dropped.Add(1)
		}
	}
	for _, e := range out.Events {
		c.tell(e)
	}
	c.publish()
}

// publish shows the picture if it changed.
func (c *circle) publish() {
	view, complete, joined, finds := c.machine.View(), c.machine.Complete(), c.machine.Joined(), c.machine.Finds()
	recalled := c.machine.Recalled()
	old := c.now.Load()
	if old != nil && old.view == view && old.complete == complete && old.joined == joined && old.finds == finds && slices.Equal(old.recalled, recalled) {
		return
	}
	p := &picture{
		view: view, complete: complete, joined: joined, finds: finds, since: c.clock(), addrs: make(map[shard.NodeID]string), recalled: recalled,
	}
	for _, n := range view.Nodes() {
		p.addrs[shard.NodeID(n.ID)] = n.Addr
	}
	c.now.Store(p)
	for _, to := range []chan struct{}{c.turned, c.news} {
		select {
		case to <- struct{}{}:
		default:
		}
	}
}

func (c *circle) tell(e ring.Event) {
	switch e.Kind {
	case ring.Found, ring.NotFound:
		if to := c.lookups[e.Token]; to != nil {
			delete(c.lookups, e.Token)
			to <- e // has room
		}
	case ring.Conflict:
		c.log.Error("another node lives under this node's id; if this repeats, stop one of them", "addr", e.Node.Addr)
	case ring.Joined:
		c.log.Info("ring: node joined", "node", e.Node.ID, "addr", e.Node.Addr, "host", e.Node.Host)
		c.joined(shard.NodeID(e.Node.ID))
	case ring.Departed:
		c.log.Info("ring: node left", "node", e.Node.ID, "addr", e.Node.Addr, "host", e.Node.Host)
	case ring.Died:
		c.log.Warn("ring: node died", "node", e.Node.ID, "addr", e.Node.Addr, "host", e.Node.Host)
	case ring.Suspected, ring.Cleared, ring.Refuted:
		c.log.Debug("ring: news of a node", "news", e.Kind.String(), "node", e.Node.ID, "addr", e.Node.Addr)
	}
}

// receive takes a message from the wire; it never blocks.
func (c *circle) receive(payload []byte) {
	m, err := ring.Decode(payload)
	if err != nil {
		c.dropped.Add(1)
		c.log.Debug("ring: a message that cannot be read", "err", err)
		return
	}
	select {
	case c.inbox <- m:
	default:
		c.dropped.Add(1)
	}
}

// do runs f in the circle's goroutine and returns when it was run.
func (c *circle) do(ctx context.Context, f func(*ring.Machine, time.Duration) ring.Out) error {
	ran := make(chan struct{})
	call := func(m *ring.Machine, now time.Duration) ring.Out {
		defer close(ran)
		return f(m, now)
	}
	select {
	case c.calls <- call:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
		return errClosed
	}
	<-ran
	return nil
}

// lookup searches the node that is responsible for key.
func (c *circle) lookup(ctx context.Context, key uint64) (ring.Event, error) {
	answer := make(chan ring.Event, 1)
	err := c.do(ctx, func(m *ring.Machine, now time.Duration) ring.Out {
		c.token++
		c.lookups[c.token] = answer
		return m.Lookup(key, c.token, now)
	})
	if err != nil {
		return ring.Event{}, err
	}
	select {
	case e := <-answer:
		return e, nil
	case <-ctx.Done(): // the machine gives lookups up by itself
		return ring.Event{}, ctx.Err()
	case <-c.done:
		return ring.Event{}, errClosed
	}
}
