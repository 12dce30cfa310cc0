package client

import (
	"context"

	"github.com/stormring/stormring/thrift"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// conn is a connection to a nimbus. One goroutine uses it at a time.
type conn struct {
	*gen.StormringClient
	wire *thrift.Conn
	addr string
	// used tells that it was idle, so that the other end may have left.
	used bool
}

// Close ends the connection and whatever is on it.
func (x *conn) Close() error { return x.wire.Close() }

// connect connects to the nimbus at addr.
func (c *Client) connect(ctx context.Context, addr string) (*conn, error) {
	w, err := c.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	x := &conn{StormringClient: gen.NewStormringClient(w), wire: w, addr: addr}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = w.Close() // nothing was sent on it
		return nil, ErrClosed
	}
	c.open[x] = true
	return x, nil
}

// take is a connection to the leader, when it is the caller's turn; give
// returns it.
func (c *Client) take(ctx context.Context, p *patience) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case c.places <- struct{}{}:
	case <-c.gone:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if x := c.pop(); x != nil {
		return x, nil
	}
	x, err := c.find(ctx, p)
	if err != nil {
		<-c.places
		return nil, err
	}
	return x, nil
}

func (c *Client) pop() *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.idle)
	if n == 0 {
		return nil
	}
	x := c.idle[n-1]
	c.idle = c.idle[:n-1]
	x.used = true
	return x
}

// give returns a connection, which is good or is closed.
func (c *Client) give(x *conn, good bool) {
	defer func() { <-c.places }()
	if !good {
		c.discard(x)
		return
	}
	c.mu.Lock()
	keep := !c.closed && x.addr == c.leader
	if keep {
		c.idle = append(c.idle, x)
	}
	c.mu.Unlock()
	if !keep {
		c.discard(x)
	}
}

func (c *Client) discard(x *conn) {
	c.mu.Lock()
	delete(c.open, x)
	c.mu.Unlock()
	_ = x.Close() // it is of no use any more
}

// leaderAddr is where the leader was last; "" if that is not known.
func (c *Client) leaderAddr() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leader
}

// setLeader notes where the leader is.
func (c *Client) setLeader(addr string) {
	c.mu.Lock()
	was := c.leader
	c.leader = addr
	stale := c.dropIdle(func(x *conn) bool { return x.addr != addr })
	c.mu.Unlock()
	if was != addr {
		c.cfg.Logger.Info("nimbus found", "leader", addr)
	}
	for _, x := range stale {
		_ = x.Close()
	}
}

// forget notes that the nimbus at addr does not lead, or cannot be reached:
// none of the connections to it is good.
func (c *Client) forget(addr string) {
	c.mu.Lock()
	if c.leader == addr {
		c.leader = ""
	}
	stale := c.dropIdle(func(x *conn) bool { return x.addr == addr })
	c.mu.Unlock()
	for _, x := range stale {
		_ = x.Close()
	}
}

// dropIdle takes those that are stale out of the idle ones; mu is held.
func (c *Client) dropIdle(is func(*conn) bool) []*conn {
	var stale, rest []*conn
	for _, x := range c.idle {
		if is(x) {
			stale = append(stale, x)
			delete(c.open, x)
		} else {
			rest = append(rest, x)
		}
	}
	c.idle = rest
	return stale
}

// firstSeed is where a search begins, which is moved on by a number of seeds.
func (c *Client) firstSeed(move int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seed = (c.seed + move) % max(len(c.cfg.Seeds), 1)
	return c.seed
}
