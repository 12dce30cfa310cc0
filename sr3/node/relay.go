package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

// child is the stream from one flow behind this node. All but skip is called by the
// goroutine that runs it.
type child struct {
	t      *serving
	flow   *recovery.Flow
	stall  time.Duration // how long it may be silent
	orders []recovery.Order
	buffer []byte
	due    map[span]*coming // what has not come yet
	fault  bool             // some of it will not come, which the receiver knows

	mu     sync.Mutex
	stream *transport.Stream // nil until it is open
}

// coming is a part that a child is to send.
type coming struct {
	route   *route
	part    recovery.Part
	content recovery.Content
	got     int64
	bytes   []byte // if it is to be joined
	weight  int64
}

// makeChildren are the flows behind of which anything is needed.
func (t *serving) makeChildren() []*child {
	if t.header.Flow == nil {
		return nil
	}
	byFlow := make([]*child, len(t.header.Flow.From))
	for _, r := range t.routes {
		for _, b := range r.below {
			c := byFlow[b.from]
			if c == nil {
				flow := t.header.Flow.From[b.from]
				c = &child{t: t, flow: flow, stall: t.stallOf(), due: make(map[span]*coming)}
				byFlow[b.from] = c
			}
			o := recovery.Order{Part: b.part}
			if r.join == nil {
				o.Content, o.Offset = r.order.Content, r.order.Offset
			}
			c.orders = append(c.orders, o)
			c.due[spanOf(b.part)] = &coming{route: r, part: b.part}
		}
	}
	return byFlow
}

// stallOf is how long the node of a flow may be silent: less than the receiver of
// this stream bears, so that it is the neighbour of a node who misses it first.
func (t *serving) stallOf() time.Duration {
	return max(t.stall()-recovery.HopStall, t.stall()/2)
}

// run passes on what the child sends, in the order in which it comes: the receiver
// puts shards in their place by number. If the child fails, the receiver is told, and
// all else goes on.
func (c *child) run(ctx context.Context) error {
	if c == nil {
		return nil
	}
	defer c.forget()
	c.buffer = make([]byte, protocol.ChunkBytes)
	err := c.open(ctx)
	for err == nil {
		var more bool
		if more, err = c.next(ctx); !more {
			break
		}
	}
	if s := c.opened(); s != nil {
		s.Close()
	}
	own, ours := errors.AsType[*ownError](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case ours:
		return own.err
	case err == nil:
		return nil
	}
	c.t.node.log.Warn("a node behind this one failed in a recovery; the receiver is told",
		"owner", c.t.header.Owner, "node", c.flow.Node, "err", err)
	return c.t.out.broken(ctx, c.flow.Node)
}

// ownError is one for which the child is not to blame.
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }

func own(err error) error {
	if err == nil {
		return nil
	}
	return &ownError{err}
}

func (c *child) opened() *transport.Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stream
}

// waiting tells whether something has come that was not passed on yet.
func (c *child) waiting() bool {
	if c == nil {
		return false
	}
	s := c.opened()
	return s != nil && s.Waiting()
}

func (c *child) open(ctx context.Context) error {
	h := c.t.header
	addr := h.Addrs[c.flow.Node]
	if addr == "" {
		addr = c.t.node.addr(c.flow.Node)
	}
	if addr == "" {
		return fmt.Errorf("no address of node %s is known", c.flow.Node)
	}
	h.Flow, h.Orders, h.StallMillis = c.flow, c.orders, c.stall.Milliseconds()
	head, rest := protocol.SplitHeader(protocol.Encode(h))
	ctx, cancel := context.WithTimeout(ctx, c.t.stall())
	defer cancel()
	s, err := c.t.node.end.Open(ctx, addr, protocol.FetchShards, head)
	if err != nil {
		return err
	}
	for m := range rest {
		if err := s.Send(ctx, m); err != nil {
			s.Close()
			return err
		}
	}
	c.mu.Lock()
	c.stream = s // from now on others may send skips on it
	c.mu.Unlock()
	return nil
}

// next takes in one frame. more is false when nothing comes any more.
func (c *child) next(ctx context.Context) (more bool, err error) {
	recvCtx, cancel := context.WithTimeout(ctx, c.stall)
	defer cancel()
	f, body, err := recvFrame(recvCtx, c.opened(), c.buffer)
	switch {
	case errors.Is(err, io.EOF):
		if c.missing() {
			return false, errors.New("it ended before all was sent")
		}
		return false, nil
	case err != nil && recvCtx.Err() != nil && ctx.Err() == nil:
		return false, fmt.Errorf("it was silent for %v", c.stall)
	case err != nil:
		return false, err
	case !f.Intact(body):
		return false, fmt.Errorf("a chunk of part %v: %w", spanOf(f.Part), shard.ErrDamaged)
	}
	switch f.Kind {
	case protocol.FrameLacks:
		c.lost(f.Part)
		return true, own(c.t.out.lacks(ctx, f.Part, recovery.NodeID(body)))
	case protocol.FrameBroken:
		c.fault = true
		return true, own(c.t.out.broken(ctx, recovery.NodeID(body)))
	case protocol.FrameChunk:
		return true, c.chunk(ctx, f, body)
	case protocol.FrameSkip:
	}
	return true, nil
}

// chunk passes a chunk on at once, or keeps it for a join.
func (c *child) chunk(ctx context.Context, f protocol.Frame, body []byte) error {
	p := c.due[spanOf(f.Part)]
	if p == nil || c.t.out.skips(spanOf(p.route.order.Part)) {
		return nil // skipped while it was under way
	}
	if f.Offset == 0 || p.got == 0 && p.route.join == nil {
		p.content, p.got = f.Content, f.Offset // it may go on where another sender stopped
		p.bytes = p.bytes[:0]
	}
	if p.content != f.Content || p.got != f.Offset {
		return fmt.Errorf("it left a gap in part %v or changed it", spanOf(f.Part))
	}
	p.got += int64(len(body))
	if p.route.join != nil {
		return c.keep(ctx, p, body)
	}
	if err := c.t.out.pass(ctx, f, body); err != nil {
		return own(err)
	}
	if p.got == p.content.Size {
		delete(c.due, spanOf(p.part))
	}
	return nil
}

// keep adds to a part that is to be joined.
func (c *child) keep(ctx context.Context, p *coming, body []byte) error {
	if p.weight == 0 {
		w := c.t.node.weight(p.content.Size)
		if err := c.t.reserve(ctx, w); err != nil {
			return own(err)
		}
		p.weight = w
	}
	p.bytes = append(p.bytes, body...)
	if p.got < p.content.Size {
		return nil
	}
	if sumOf(p.bytes) != p.content.Sum {
		return fmt.Errorf("part %v as a whole: %w", spanOf(p.part), shard.ErrDamaged)
	}
	delete(c.due, spanOf(p.part))
	return own(c.t.deliver(ctx, p.route, p.part, p.bytes, p.weight))
}

// lost notes that a part, or something that belongs to it, will not come.
func (c *child) lost(p recovery.Part) {
	for s, due := range c.due {
		if s.shard == p.Shard && s.first < p.Until && p.First < s.until {
			c.drop(s, due)
		}
	}
}

func (c *child) drop(s span, p *coming) {
	delete(c.due, s)
	c.t.node.reading.Release(p.weight)
	c.t.fail(p.route)
}

// forget frees what is held at the end.
func (c *child) forget() {
	for s, p := range c.due {
		c.drop(s, p)
	}
}

// missing tells whether something is due that the receiver thinks will come.
func (c *child) missing() bool {
	for _, p := range c.due {
		if !c.fault && !c.t.out.skips(spanOf(p.route.order.Part)) {
			return true
		}
	}
	return false
}

// skip asks the child not to send a part.
func (c *child) skip(ctx context.Context, p recovery.Part) {
	if s := c.opened(); s != nil {
		head := protocol.AppendFrame(nil, protocol.Frame{Kind: protocol.FrameSkip, Part: p}, nil)
		// If this fails, the child's stream does too, which run sees.
		_ = s.Send(ctx, head)
	}
}
