// Package client is how the command line and the supervisors talk to nimbus:
// [Connect] finds the leader among the seeds, and a [Client] has a method for
// each thing that can be asked of it, in the words of internal/cluster.
//
//	client.go    what a Client is and how it begins and ends
//	find.go      which nimbus leads
//	pool.go      the connections
//	call.go      one call: what is tried again and what is not
//	errors.go    what a call can end with
//	submit.go, topologies.go, pages.go, blobs.go, supervisors.go   the calls
//
// A newcomer reads Client.do in call.go first.
package client

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/thrift"
)

// Config is how nimbus is reached. Zero values but those of Seeds stand for
// the defaults.
type Config struct {
	// Seeds are the hosts where a nimbus may run, each with or without a port.
	Seeds []string
	// Only has the calls go to the seeds themselves, whoever leads: a nimbus
	// fetches blobs from another so.
	Only bool
	// Port is that of seeds without one; default 6627.
	Port int
	// MaxFrame is the longest message in bytes, either way; default 1 MiB.
	MaxFrame int
	// ConnectTimeout bounds how long a nimbus may take to be connected, and
	// again to say who leads; default 10 s.
	ConnectTimeout time.Duration
	// CallTimeout bounds how long any other answer may take; default 10 min.
	CallTimeout time.Duration
	// Patience is for how long a nimbus that refuses connections is asked again;
	// default 5 s, below zero: once only.
	Patience time.Duration
	// Election is the same for nimbuses that answer but have no leader, or one
	// that cannot be reached: it has died and its session has not. Default 30 s.
	Election time.Duration
	// MaxConns is how many calls there may be at once; more wait. Default 4.
	MaxConns int
	// Clock tells pauses; default: clock.Real.
	Clock clock.Clock
	// Logger is told of connections lost and found; default: says nothing.
	Logger *slog.Logger
}

// electionMargin is how long an election takes once the session of the leader
// that died is over.
const electionMargin = 5 * time.Second

// ConfigOf is what a cluster's configuration says about reaching nimbus.
func ConfigOf(c *conf.Conf, log *slog.Logger) Config {
	return Config{
		Seeds:       c.Strings(conf.NimbusSeeds),
		Port:        c.Int(conf.NimbusThriftPort),
		MaxFrame:    c.Int(conf.NimbusThriftMaxBuffer),
		CallTimeout: c.Duration(conf.StormThriftTimeoutMS),
		Election:    c.Duration(conf.ZookeeperSessionTimeout) + electionMargin,
		Logger:      log,
	}
}

func (c Config) withDefaults() Config {
	c.Port = cmp.Or(c.Port, 6627)
	c.MaxFrame = cmp.Or(c.MaxFrame, 1<<20)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 10*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, 10*time.Minute)
	c.Patience = cmp.Or(c.Patience, 5*time.Second)
	c.Election = cmp.Or(c.Election, 30*time.Second)
	c.MaxConns = cmp.Or(c.MaxConns, 4)
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Client talks to the nimbus that leads, whichever that is at the moment: when
// a connection breaks or the leader changes it finds its way anew. It may be
// used by several goroutines. Unless they say more, the methods fail with an
// [Error] if nimbus refused, and with [ErrUnreachable] if no nimbus that leads
// could be found in time.
type Client struct {
	cfg    Config
	places chan struct{} // one for each connection in use
	gone   chan struct{} // closed by Close

	mu     sync.Mutex // guards what follows
	open   map[*conn]bool
	idle   []*conn // of them, those that nobody uses
	leader string  // its address; "" if unknown
	seed   int     // at which a search begins
	closed bool
}

// Connect finds the nimbus that leads and connects to it. Without one the
// error, an ErrUnreachable, tells of each seed why not.
func Connect(ctx context.Context, cfg Config) (*Client, error) {
	c := New(cfg)
	x, err := c.take(ctx, c.patience())
	if err != nil {
		c.Close()
		return nil, err
	}
	c.give(x, true)
	return c, nil
}

// New is a Client that has not looked for a nimbus yet: its first call does.
// It is for supervisors, which may be there before any nimbus.
func New(cfg Config) *Client {
	cfg = cfg.withDefaults()
	return &Client{cfg: cfg, places: make(chan struct{}, cfg.MaxConns), gone: make(chan struct{}), open: map[*conn]bool{}}
}

// Close ends all connections, and the calls that are on them. Closing again
// does nothing.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	close(c.gone)
	for x := range c.open {
		_ = x.Close() // it was given up anyway
	}
	c.open, c.idle = nil, nil
}

// Leader is the nimbus that leads.
func (c *Client) Leader(ctx context.Context) (cluster.NimbusSummary, error) {
	return ask(ctx, c, (*conn).askLeader)
}

func (c *Client) address(seed string) string {
	if _, _, err := net.SplitHostPort(seed); err == nil {
		return seed
	}
	return net.JoinHostPort(seed, strconv.Itoa(c.cfg.Port))
}

func (c *Client) dial(ctx context.Context, addr string) (*thrift.Conn, error) {
	return thrift.Dial(ctx, addr, thrift.ClientConfig{
		MaxFrame:       c.cfg.MaxFrame,
		ConnectTimeout: c.cfg.ConnectTimeout,
		CallTimeout:    c.cfg.CallTimeout,
	})
}
