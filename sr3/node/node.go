package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/store"
	"github.com/stormring/stormring/sr3/transport"
)

// errClosed is what calls get while the node ends.
var errClosed = errors.New("the node is closing")

// Node is a node of the ring. Its methods may be called by several goroutines.
type Node struct {
	cfg    Config
	id     shard.NodeID
	me     ring.Node
	log    *slog.Logger
	store  *store.Store
	codec  *shard.Codec
	end    *transport.Endpoint
	circle *circle

	commits   commits
	manifests manifests
	reports   reports
	upkeep    upkeeper

	reading, writing *semaphore.Weighted // bytes
	folding          *semaphore.Weighted // folds at once, of recoveries
	mending          *semaphore.Weighted // folds at once, of long chains
	menders          atomic.Int64        // who folds or waits for mending
	mendAfter        time.Time           // who holds mending has this: folding rests until then
	folds            foldRate
	recoveries       atomic.Int64
	repaired         atomic.Int64
	damaged          atomic.Int64

	stop  context.CancelFunc
	loops sync.WaitGroup
	once  sync.Once
	err   error // of the first Close
}

// Start opens the store and listens. The node joins the ring with the first
// SetSeeds. ctx bounds only the start; the node runs until Close.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, id: shard.NodeID(cfg.ID), log: cfg.Log.With("ring", cfg.ID),
		reading: semaphore.NewWeighted(cfg.ReadBudget), writing: semaphore.NewWeighted(cfg.ReadBudget),
		folding: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))), mending: semaphore.NewWeighted(1),
	}
	n.cfg.Log = n.log
	if err := n.open(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Node) open() error {
	life, stop := context.WithCancel(context.Background())
	n.stop = stop
	fail := func(err error) error {
		return errors.Join(fmt.Errorf("start ring node %s: %w", n.id, err), n.Close())
	}
	// Before the store, which moves its folder away if it is damaged.
	memory := openMemory(n.cfg.Dir, n.log)
	var err error
	if n.codec, err = shard.NewCodec(n.cfg.Level, 0); err != nil {
		return fail(err)
	}
	o := store.Options{Dir: n.cfg.Dir, Log: n.log, Now: n.cfg.Now, OnDamage: n.foundDamaged}
	if n.cfg.tune != nil {
		n.cfg.tune(&o)
	}
	if n.store, err = store.Open(o); err != nil {
		return fail(err)
	}
	n.commits.init(n)
	n.manifests.init(n)
	if err = n.upkeep.init(n); err != nil {
		return fail(err)
	}

	// The endpoint serves at once, but what it serves waits for the circle.
	served := &server{node: n, ready: make(chan struct{})}
	if n.end, err = transport.Listen(n.transport(), n.cfg.Addr, served); err != nil {
		return fail(err)
	}
	if n.me, err = n.self(); err != nil {
		return fail(err)
	}
	if n.circle, err = newCircle(&n.cfg, n.me, memory.kept, n.end.Send); err != nil {
		return fail(err)
	}
	n.circle.joined = n.upkeep.joined
	close(served.ready)
	n.loops.Go(func() { n.circle.run(life) })
	n.loops.Go(func() { memory.run(life, n.circle, n.cfg.ID) })
	n.loops.Go(func() { n.commits.run(life) })
	n.loops.Go(func() { n.upkeep.run(life) })
	n.loops.Go(func() { n.scrub(life) })
	return nil
}

func (n *Node) transport() transport.Config {
	t := n.cfg.Transport
	if t.Log == nil {
		t.Log = n.log
	}
	t.Advertise = cmp.Or(t.Advertise, n.cfg.Advertise)
	return t
}

// self is the node as others know it.
func (n *Node) self() (ring.Node, error) {
	addr := n.cfg.Advertise
	if addr == "" {
		host, port, err := net.SplitHostPort(n.end.Addr())
		if err != nil {
			return ring.Node{}, fmt.Errorf("address %q: %w", n.end.Addr(), err)
		}
		if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
			if host = n.cfg.Host; host == "" {
				if host, err = os.Hostname(); err != nil {
					return ring.Node{}, fmt.Errorf("no host is configured, and the machine does not tell its name: %w", err)
				}
			}
		}
		addr = net.JoinHostPort(host, port)
	}
	self := ring.Node{ID: n.cfg.ID, Addr: addr, Host: n.cfg.Host, Rack: n.cfg.Rack, Positions: n.cfg.Positions}
	return self, self.Check()
}

// Addr is where others reach the node.
func (n *Node) Addr() string { return n.me.Addr }

// Self is the node as the ring knows it; others take it as a seed.
func (n *Node) Self() ring.Node { return n.me }

// SetSeeds tells which nodes should be on the ring, as the coordination store has
// them, and joins it; the node itself may be among them. They are called upon until
// they answer. Without others the node is a ring of one, but if it knew some before it
// was restarted, they have to be silent for a while first. Once it has left the ring,
// seeds do not bring it back.
func (n *Node) SetSeeds(seeds []ring.Node) {
	// A node that is closing needs no seeds.
	_ = n.circle.do(context.Background(), func(m *ring.Machine, now time.Duration) ring.Out {
		if m.Self().Status == ring.Left {
			return ring.Out{}
		}
		return m.Join(seeds, now)
	})
}

// Leave says goodbye to the ring. The node goes on serving what it has until
// Close, while the others make up for it.
func (n *Node) Leave(ctx context.Context) error {
	return n.circle.do(ctx, func(m *ring.Machine, now time.Duration) ring.Out { return m.Leave(now) })
}

// Close ends the node, without a goodbye, and waits for all that it runs. What
// was acknowledged is on disk.
func (n *Node) Close() error {
	n.once.Do(func() {
		n.stop()
		if n.end != nil {
			n.end.Close()
		}
		n.loops.Wait()
		if n.store != nil {
			n.err = n.store.Close()
		}
	})
	return n.err
}

// addr is where a node is reached; "" if it is not on the ring.
func (n *Node) addr(id shard.NodeID) string { return n.circle.now.Load().addrs[id] }

// weight is what n bytes count in a budget, which a single object may exceed.
func (n *Node) weight(bytes int64) int64 { return min(cmp.Or(bytes, 1), n.cfg.ReadBudget) }
