// Package zk is the coordination store in a real ZooKeeper. Start at New; the
// contract is package coord's.
//
// The protocol is go-zookeeper's. What that does otherwise than the contract
// wants is put right here: session.go ends a session when ZooKeeper has, where
// the library would begin another; calls.go gives calls contexts and bounds;
// watches.go delivers events in their order; link.go sits between the library
// and the network.
package zk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"time"

	zookeeper "github.com/go-zookeeper/zk"

	"github.com/stormring/stormring/internal/coord"
)

// packetRoom is what a request has besides data: paths, headers. With it the
// default of MaxDataBytes is just what ZooKeeper's jute.maxbuffer allows.
const packetRoom = 64<<10 - 1

// DefaultMaxDataBytes is what fits into a request as long as ZooKeeper's
// jute.maxbuffer is not set.
const DefaultMaxDataBytes = coord.DefaultMaxDataBytes - packetRoom - 1

// Bounds for the time-out of a session that is asked for; ZooKeeper's own are
// narrower.
const (
	minTimeout = 100 * time.Millisecond
	maxTimeout = 24 * time.Hour
)

// Dial makes a connection; net.Dialer's DialContext is one.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Config is what a Store needs to know.
type Config struct {
	// Servers are the ensemble's, as host:port. Names are looked up whenever
	// one is dialled.
	Servers []string
	// ConnectTimeout is how long a call waits for a lost connection before it
	// fails with ErrConnectionLoss. All servers are tried once within it.
	ConnectTimeout time.Duration
	// MaxDataBytes is how much data a znode holds at most, and all that one
	// Multi writes. More than the default needs a larger jute.maxbuffer at the
	// servers, by 64 KiB at least.
	MaxDataBytes int
	// Dial is used instead of a net.Dialer, if it is not nil.
	Dial Dial
	// Logger is told when a connection is lost and found.
	Logger *slog.Logger
}

// DefaultConfig has Storm's time-out for connections.
func DefaultConfig(logger *slog.Logger, servers ...string) Config {
	return Config{
		Servers:        servers,
		ConnectTimeout: 15 * time.Second,
		MaxDataBytes:   DefaultMaxDataBytes,
		Logger:         logger,
	}
}

// Validate says what is wrong with c, or nil.
func (c Config) Validate() error {
	var errs []error
	if len(c.Servers) == 0 {
		errs = append(errs, errors.New("no Servers"))
	}
	for _, server := range c.Servers {
		if _, _, err := net.SplitHostPort(server); err != nil {
			errs = append(errs, fmt.Errorf("server %q is not host:port: %w", server, err))
		}
	}
	if c.ConnectTimeout <= 0 {
		errs = append(errs, fmt.Errorf("ConnectTimeout is %v, has to be positive", c.ConnectTimeout))
	}
	if c.MaxDataBytes <= 0 || c.MaxDataBytes > math.MaxInt32-packetRoom {
		errs = append(errs, fmt.Errorf("MaxDataBytes is %d, has to be from 1 to %d", c.MaxDataBytes, math.MaxInt32-packetRoom))
	}
	if c.Logger == nil {
		errs = append(errs, errors.New("no Logger: use slog.New(slog.DiscardHandler)"))
	}
	return errors.Join(errs...)
}

// Store opens sessions with an ensemble. It holds no connection itself.
type Store struct {
	cfg Config
}

var _ coord.Opener = (*Store)(nil)

// New makes a Store; it does not connect.
func New(cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("ZooKeeper client: %w", err)
	}
	cfg.Servers = slices.Clone(cfg.Servers)
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	return &Store{cfg: cfg}, nil
}

// Open implements coord.Opener. It tries until ctx is over.
func (s *Store) Open(ctx context.Context, timeout time.Duration) (coord.Session, error) {
	c, err := s.open(ctx, timeout)
	if err != nil {
		return nil, coord.Failed("open", "", err)
	}
	return c, nil
}

func (s *Store) open(ctx context.Context, timeout time.Duration) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	timeout = min(max(timeout, minTimeout), maxTimeout)
	c := newSession(s.cfg)
	// The dialling ends with the session, not with ctx.
	life, cancel := context.WithCancel(context.Background())
	conn, events, err := zookeeper.Connect(s.cfg.Servers, timeout,
		zookeeper.WithHostProvider(&c.route),
		zookeeper.WithDialer(func(network, address string, _ time.Duration) (net.Conn, error) {
			return c.dial(life, network, address)
		}),
		zookeeper.WithEventCallback(c.event),
		zookeeper.WithMaxConnBufferSize(s.cfg.MaxDataBytes+2*packetRoom),
		zookeeper.WithLogger(printer{s.cfg.Logger}),
	)
	if err != nil {
		cancel()
		return nil, err
	}
	c.conn = conn
	go c.reap(cancel, events) // ends with the session; Close waits for it
	select {
	case <-c.connected():
		return c, nil
	case <-c.done:
		err = c.Err()
	case <-ctx.Done():
		err = fmt.Errorf("%w: %w; last: %w", coord.ErrConnectionLoss, ctx.Err(), c.route.lastError())
	}
	c.finish(coord.ErrSessionClosed)
	<-c.ended
	return nil, err
}

// printer hands on what the library logs.
type printer struct{ log *slog.Logger }

// Printf implements the library's Logger.
func (p printer) Printf(format string, args ...any) {
	p.log.Debug("ZooKeeper client", "message", fmt.Sprintf(format, args...))
}
