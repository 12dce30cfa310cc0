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
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

// Client speaks to the ring for one worker. It is for any goroutine.
type Client struct {
	cfg   Config
	end   *transport.Endpoint
	codec *shard.Codec
	views *views
	shun  shunned
	// short tells that it was said that there are too few hosts.
	short atomic.Bool
	// reports asks for reports to be sent soon.
	reports chan struct{}

	ctx    context.Context //nolint:containedctx // of all that runs in the background; ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	tasks  map[*Task]struct{}
}

// Dial makes a client. It waits for nothing: nodes are looked for as they are
// needed. The error tells what is wrong with cfg.
func Dial(cfg Config) (*Client, error) {
	if err := cfg.defaults(); err != nil {
		return nil, err
	}
	codec, err := shard.NewCodec(cfg.Level, 0)
	if err != nil {
		return nil, err
	}
	end, err := transport.Listen(cfg.Transport, "", nil)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, end: end, codec: codec, tasks: make(map[*Task]struct{}), reports: make(chan struct{}, 1)}
	c.views = newViews(c)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.wg.Go(func() { c.views.run(c.ctx) })
	c.wg.Go(func() { c.report(c.ctx) })
	return c, nil
}

// Close ends all that is under way, tasks included, and waits for it.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	tasks := make([]*Task, 0, len(c.tasks))
	for t := range c.tasks {
		tasks = append(tasks, t)
	}
	c.mu.Unlock()
	c.cancel()
	for _, t := range tasks {
		t.end()
	}
	c.wg.Wait()
	c.end.Close()
}

// ask calls a method of a node; answer may be nil.
func (c *Client) ask(ctx context.Context, addr string, method byte, request, answer any) error {
	var body []byte
	if request != nil {
		body = protocol.Encode(request)
	}
	reply, err := c.raw(ctx, addr, method, body)
	if err != nil || answer == nil {
		return err
	}
	if err := protocol.Decode(reply, answer); err != nil {
		return fmt.Errorf("answer of %s: %w", addr, err)
	}
	return nil
}

// raw is ask with bytes.
func (c *Client) raw(ctx context.Context, addr string, method byte, body []byte) ([]byte, error) {
	reply, err := c.end.Call(ctx, addr, method, body)
	if err != nil {
		return nil, fmt.Errorf("node at %s: %w", addr, meaning(err))
	}
	return reply, nil
}

// meaning gives the errors of nodes their names here.
func meaning(err error) error {
	remote, ok := errors.AsType[*transport.RemoteError](err)
	if !ok {
		return err
	}
	switch remote.Code {
	case protocol.CodeFenced:
		return fmt.Errorf("%w: %s", ErrFenced, remote.Text)
	case protocol.CodeNotFound:
		return fmt.Errorf("%w: %s", errNotFound, remote.Text)
	case protocol.CodeConflict:
		return fmt.Errorf("%w: %s", ErrConflict, remote.Text)
	case protocol.CodeUnavailable:
		return fmt.Errorf("%w: %s", errUnavailable, remote.Text)
	default:
		return err
	}
}

// askFor bounds one attempt to reach any node that answers.
const askFor = 3 * time.Second

// anyNode tries nodes until one does not fail, this host's first.
func (c *Client) anyNode(ctx context.Context, try func(ctx context.Context, addr string) error) error {
	var last error
	for _, addr := range c.addrs() {
		attempt, cancel := context.WithTimeout(ctx, askFor)
		err := try(attempt, addr)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w; the last node that was asked said: %w", context.Cause(ctx), err)
		}
		last = err
	}
	if last == nil {
		last = errors.New("no ring node is known; are supervisors running?")
	}
	return last
}

// addrs are the addresses of all nodes that are known, this host's first.
func (c *Client) addrs() []string {
	addrs := slices.Clone(c.cfg.Nodes())
	if v := c.views.now(); v != nil {
		for _, n := range v.nodes {
			if !slices.Contains(addrs, n.Addr) {
				addrs = append(addrs, n.Addr)
			}
		}
	}
	return addrs
}

// Record is the commit record of a topology; the zero Record if there is none.
func (c *Client) Record(ctx context.Context, topology string) (protocol.Record, error) {
	var r protocol.Record
	err := c.anyNode(ctx, func(ctx context.Context, addr string) error {
		r = protocol.Record{}
		return c.ask(ctx, addr, protocol.GetRecord, protocol.TopologyRequest{Topology: topology}, &r)
	})
	if err != nil {
		return r, fmt.Errorf("read the commit record of %s: %w", topology, err)
	}
	return r, nil
}

// Swap replaces a topology's commit record, if it is expect, through any node that
// answers; written is false if another record was there. An error leaves open what
// happened. next must be one that nobody else would write.
func (c *Client) Swap(ctx context.Context, topology string, expect, next protocol.Record) (written bool, err error) {
	asked := false // an attempt may have succeeded without our knowing
	err = c.anyNode(ctx, func(ctx context.Context, addr string) error {
		var a protocol.SwapAnswer
		unsure := asked
		asked = true
		if err := c.ask(ctx, addr, protocol.SwapRecord, protocol.SwapRequest{Topology: topology, Expect: expect, Next: next}, &a); err != nil {
			return err
		}
		if written = a.Written; written || !unsure {
			return nil
		}
		var r protocol.Record
		if err := c.ask(ctx, addr, protocol.GetRecord, protocol.TopologyRequest{Topology: topology}, &r); err != nil {
			return err
		}
		written = r == next
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("write the commit record of %s: %w", topology, err)
	}
	return written, nil
}

// View is the ring as the node of this host sees it now, or another that answers.
func (c *Client) View(ctx context.Context) (protocol.View, error) {
	var v protocol.View
	err := c.anyNode(ctx, func(ctx context.Context, addr string) error {
		v = protocol.View{}
		return c.ask(ctx, addr, protocol.GetView, nil, &v)
	})
	if err != nil {
		return v, fmt.Errorf("look at the ring: %w", err)
	}
	return v, nil
}
