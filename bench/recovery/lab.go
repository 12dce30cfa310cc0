package recovery

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/ring"
)

// lab are hosts with what runs on them. Without a network everything is on the
// loopback device.
type lab struct {
	starter
	dir   string
	net   *network // nil for loopback
	nodes map[string]*labNode
	store *exec.Cmd
	// upkeep has the nodes repair and throw away what they should.
	upkeep bool
}

// labNode is a ring node, which may be down.
type labNode struct {
	role *nodeRole
	*child
	self ring.Node
}

const (
	ringPort  = "7000"
	storePort = "6379"
	// patience is how long the ring may take to find itself.
	patience = 60 * time.Second
)

func newLab(ctx context.Context, s starter, dir string, loopback bool) (*lab, error) {
	dir, err := os.MkdirTemp(dir, Prefix+"-")
	if err != nil {
		return nil, err
	}
	l := &lab{starter: s, dir: dir, nodes: make(map[string]*labNode)}
	if err := os.Mkdir(l.recordsDir(), 0o700); err != nil {
		return l, err
	}
	if !loopback {
		l.net, err = newNetwork(ctx)
	}
	return l, err
}

func (l *lab) recordsDir() string { return filepath.Join(l.dir, "records") }

// close ends and removes everything.
func (l *lab) close() {
	for _, n := range l.nodes {
		if n.child != nil {
			n.kill()
		}
	}
	if l.store != nil {
		_ = l.store.Process.Kill() // it may have ended
		_ = l.store.Wait()         // it was killed, which is an error
	}
	if l.net != nil {
		l.net.close()
	}
	_ = os.RemoveAll(l.dir) // nothing of it is needed any more
}

// in is what goes before a command that is to run on a host.
func (l *lab) in(host string) []string {
	if l.net == nil {
		return nil
	}
	return l.net.in(host)
}

func (l *lab) addr(host, port string) string {
	if l.net == nil {
		return "127.0.0.1:0"
	}
	return l.net.hosts[host].addr + ":" + port
}

// node starts a ring node on a host, again with the same disk if it was there.
func (l *lab) node(ctx context.Context, host, rack string) error {
	n := l.nodes[host]
	if n == nil {
		n = &labNode{role: &nodeRole{
			ID: host, Addr: l.addr(host, ringPort), Rack: rack, Dir: filepath.Join(l.dir, host), Records: l.recordsDir(), Upkeep: l.upkeep,
		}}
		l.nodes[host] = n
	}
	c, first, err := l.start(ctx, "the node on "+host, l.in(host), role{Node: n.role})
	if err != nil {
		return err
	}
	n.child, n.self = c, first.Self
	n.role.Addr = first.Self.Addr
	return nil
}

// kill ends a node without a goodbye.
func (l *lab) kill(host string) {
	n := l.nodes[host]
	n.kill()
	n.child = nil
}

// join makes the nodes that run one ring and waits until all know each other.
func (l *lab) join(ctx context.Context) error {
	var seeds []ring.Node
	living := 0
	for _, n := range l.nodes {
		seeds = append(seeds, n.self)
		if n.child != nil {
			living++
		}
	}
	for _, n := range l.nodes {
		if n.child != nil {
			if _, err := n.ask(request{Seeds: seeds}, nil); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		met := 0
		for _, n := range l.nodes {
			if n.child == nil {
				continue
			}
			a, err := n.ask(request{Status: true}, nil)
			if err != nil {
				return err
			}
			if a.Living == living {
				met++
			}
		}
		if met == living {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d nodes of the ring know all others: %w", met, living, ctx.Err())
		case <-tick.C:
		}
	}
}

// worker starts a worker on a host. It knows all nodes that there are, and those on
// the hosts that are yet to come.
func (l *lab) worker(ctx context.Context, host string, coming ...string) (*child, error) {
	var nodes []string
	if l.nodes[host] == nil && l.net != nil {
		nodes = append(nodes, l.addr(host, ringPort)) // where its node would be
	}
	for _, name := range slices.Sorted(maps.Keys(l.nodes)) {
		if addr := l.nodes[name].self.Addr; name == host {
			nodes = append([]string{addr}, nodes...)
		} else {
			nodes = append(nodes, addr)
		}
	}
	for _, name := range coming {
		nodes = append(nodes, l.addr(name, ringPort))
	}
	c, _, err := l.start(ctx, "the worker on "+host, l.in(host), role{Worker: &workerRole{Nodes: nodes}})
	return c, err
}

// redis starts the remote store on a host and gives its address.
func (l *lab) redis(ctx context.Context, host string) (string, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return "", fmt.Errorf("the remote store to compare with: install redis-server: %w", err)
	}
	line := append(l.in(host), "redis-server", "--port", storePort, "--protected-mode", "no", "--save", "", "--appendonly", "no", "--dir", l.dir)
	l.store = exec.CommandContext(ctx, line[0], line[1:]...)
	if l.log != nil {
		l.store.Stdout, l.store.Stderr = l.log, l.log
	}
	return l.net.hosts[host].addr + ":" + storePort, l.store.Start()
}
