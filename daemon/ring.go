package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/sr3/node"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// announceEvery is how often a node looks who else is registered.
const announceEvery = 2 * time.Second

// ringNode is a supervisor's node of the ring.
type ringNode struct {
	node    *node.Node // nil before start
	records *ringRecords
	id      cluster.SupervisorID
	log     *slog.Logger
}

// start starts the node; run must follow.
func (r *ringNode) start(ctx context.Context, d Supervisor, id cluster.SupervisorID) error {
	c := d.Conf
	r.id, r.log = id, d.Logger
	r.records = newRingRecords(c, d.Coord)
	cfg := node.Config{
		ID: string(id), Addr: d.RingAddr, Host: d.Host, Rack: c.String(conf.Sr3Rack),
		Positions: c.Int(conf.Sr3VirtualNodes), Dir: c.String(conf.Sr3Dir),
		RepairDelay: c.Duration(conf.Sr3RepairDelaySecs), RepairRate: int64(c.Int(conf.Sr3RepairRate)),
		ScrubRate: int64(c.Int(conf.Sr3ScrubRate)), Level: level(c), Records: r.records, Log: d.Logger,
	}
	if cfg.Addr == "" {
		cfg.Addr = net.JoinHostPort("", strconv.Itoa(c.Int(conf.Sr3Port)))
	}
	if cfg.Dir == "" {
		cfg.Dir = filepath.Join(d.Dir, "sr3")
	}
	n, err := node.Start(ctx, cfg)
	if errors.Is(err, syscall.EADDRINUSE) && d.RingElse != "" {
		cfg.Addr = d.RingElse
		n, err = node.Start(ctx, cfg)
	}
	if err != nil {
		return fmt.Errorf("the ring node: %w; %s says its port, %s its folder", err, conf.Sr3Port, conf.Sr3Dir)
	}
	r.node = n
	return nil
}

// level is the compression of state, as packages of sr3 take it.
func level(c *conf.Conf) int {
	if l := c.Int(conf.Sr3CompressionLevel); l > 0 {
		return l
	}
	return -1
}

// addr is where the node listens.
func (r *ringNode) addr() string {
	if r.node == nil {
		return ""
	}
	return r.node.Addr()
}

// run keeps the node registered, and told who else is, until ctx ends. Without
// the coordination store the ring goes on by itself. That nobody else is registered
// may also be since all sessions have expired: the node then calls upon those that
// it remembers before it believes to be alone.
func (r *ringNode) run(ctx context.Context) error {
	ticker := time.NewTicker(announceEvery)
	defer ticker.Stop()
	away := false
	for {
		err := r.announce(ctx)
		if err != nil && !away && ctx.Err() == nil {
			r.log.Warn("the ring node is not registered; the ring goes on without", "error", err)
		}
		away = err != nil
		select {
		case <-ctx.Done():
			return errors.Join(r.node.Close(), r.records.close())
		case <-ticker.C:
		}
	}
}

func (r *ringNode) announce(ctx context.Context) error {
	return r.records.with(ctx, func(s *records.Store) error {
		self := r.node.Self()
		if err := s.PutRingNode(ctx, r.id, records.RingNode{Addr: self.Addr, Host: self.Host, Rack: self.Rack, Positions: self.Positions}); err != nil {
			return err
		}
		all, err := s.RingNodes(ctx)
		if err != nil {
			return err // no seeds would mean that there are no others
		}
		var seeds []ring.Node
		for id, n := range all {
			seeds = append(seeds, ring.Node{ID: string(id), Addr: n.Addr, Host: n.Host, Rack: n.Rack, Positions: n.Positions})
		}
		r.node.SetSeeds(seeds)
		return nil
	})
}

// ringRecords is the coordination store as a ring node sees it. It implements
// node.Records in a session of its own, which it opens anew if it expires.
type ringRecords struct {
	opener  coord.Opener
	timeout time.Duration
	root    string

	mu      sync.Mutex
	session coord.Session
	closed  bool
}

var _ node.Records = (*ringRecords)(nil)

func newRingRecords(c *conf.Conf, store coord.Opener) *ringRecords {
	return &ringRecords{opener: store, timeout: c.Duration(conf.ZookeeperSessionTimeout), root: c.String(conf.ZookeeperRoot)}
}

// patience bounds what is asked of the coordination store, so that nobody waits
// for a store that is away.
const patience = 10 * time.Second

func (r *ringRecords) with(ctx context.Context, do func(*records.Store) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := r.open(ctx)
	if err != nil {
		return err
	}
	err = do(records.New(s, r.root))
	if errors.Is(err, coord.ErrSessionExpired) || errors.Is(err, coord.ErrSessionClosed) {
		r.mu.Lock()
		if r.session == s {
			r.session = nil
		}
		r.mu.Unlock()
	}
	return err
}

func (r *ringRecords) open(ctx context.Context) (coord.Session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session != nil || r.closed {
		if r.closed {
			return nil, coord.ErrSessionClosed
		}
		return r.session, nil
	}
	s, err := r.opener.Open(ctx, r.timeout)
	if err != nil {
		return nil, fmt.Errorf("the coordination store: %w", err)
	}
	if err := records.New(s, r.root).Init(ctx); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	r.session = s
	return s, nil
}

func (r *ringRecords) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.session == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.session.Close(ctx)
}

// Get implements node.Records.
func (r *ringRecords) Get(ctx context.Context, topology string) (out protocol.Record, err error) {
	err = r.with(ctx, func(s *records.Store) error {
		c, err := s.Checkpoint(ctx, cluster.TopologyID(topology))
		out = protocol.Record{Committed: shard.Version(c.Committed), Last: shard.Epoch(c.Last), Claimant: c.Claimant}
		return err
	})
	return out, err
}

// Swap implements node.Records.
func (r *ringRecords) Swap(ctx context.Context, topology string, expect, next protocol.Record) (written bool, err error) {
	plain := func(p protocol.Record) records.Checkpoint {
		return records.Checkpoint{Committed: int64(p.Committed), Last: int64(p.Last), Claimant: p.Claimant}
	}
	err = r.with(ctx, func(s *records.Store) error {
		written, err = s.SwapCheckpoint(ctx, cluster.TopologyID(topology), plain(expect), plain(next))
		return err
	})
	return written, err
}

// Topologies implements node.Records.
func (r *ringRecords) Topologies(ctx context.Context) (ids []string, err error) {
	err = r.with(ctx, func(s *records.Store) error {
		all, err := s.Topologies(ctx)
		for _, id := range all {
			ids = append(ids, string(id))
		}
		return err
	})
	return ids, err
}
