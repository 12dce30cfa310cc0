package recovery

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/stormring/stormring/sr3/protocol"
)

// RingOptions say what ring to start.
type RingOptions struct {
	Nodes int
	// Command, Dir and Log are as in Options.
	Command []string
	Dir     string
	Log     *os.File
}

// Ring is a ring of nodes on this host, each a process of its own as a supervisor
// is: for other benches.
type Ring struct{ lab *lab }

// StartRing starts a ring, which ends with ctx or Close, and waits until its nodes
// know each other.
func StartRing(ctx context.Context, o RingOptions) (*Ring, error) {
	l, err := newLab(ctx, starter{o.Command, o.Log}, o.Dir, true)
	r := &Ring{l}
	if err != nil {
		r.Close()
		return nil, err
	}
	l.upkeep = true
	for i := range max(o.Nodes, 1) {
		if err := l.node(ctx, fmt.Sprintf("n%02d", i+1), ""); err != nil {
			r.Close()
			return nil, err
		}
	}
	if err := l.join(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close ends the nodes and removes what they stored.
func (r *Ring) Close() {
	if r.lab != nil {
		r.lab.close()
	}
}

// Addr is the address of one node.
func (r *Ring) Addr() string {
	first := slices.Min(slices.Collect(maps.Keys(r.lab.nodes)))
	return r.lab.nodes[first].self.Addr
}

// PIDs are the nodes' processes.
func (r *Ring) PIDs() []int {
	var pids []int
	for _, n := range r.lab.nodes {
		if n.child != nil {
			pids = append(pids, n.cmd.Process.Pid)
		}
	}
	return pids
}

// Record is a topology's commit record.
func (r *Ring) Record(ctx context.Context, topology string) (protocol.Record, error) {
	return records{r.lab.recordsDir()}.Get(ctx, topology)
}
