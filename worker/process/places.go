package process

import (
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/worker"
)

// places numbers the slots of a topology as they become known. This worker's
// own is 0.
type places struct {
	mu    sync.Mutex
	slots []cluster.Slot
	hosts []string
}

func newPlaces(own cluster.Slot) *places {
	return &places{slots: []cluster.Slot{own}, hosts: []string{""}}
}

// placement is the number of the slot of each executor of the layout.
func (p *places) placement(l *layout.Layout, all []cluster.Place) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]int, len(l.Executors))
	for x := range out {
		out[x] = worker.Unplaced
	}
	for _, pl := range all {
		x := l.ExecutorOf(pl.Executor.First)
		if x < 0 || l.Executors[x].Last != pl.Executor.Last {
			continue // of a layout that was; this worker is started anew
		}
		i := slices.Index(p.slots, pl.Slot)
		if i < 0 {
			i = len(p.slots)
			p.slots = append(p.slots, pl.Slot)
			p.hosts = append(p.hosts, "")
		}
		p.hosts[i] = pl.Host
		out[x] = i
	}
	return out
}

// ranges are the executors of a placement.
func ranges(all []cluster.Place) []cluster.Executor {
	out := make([]cluster.Executor, len(all))
	for i, p := range all {
		out[i] = p.Executor
	}
	return out
}

// addr is where the worker of a slot listens.
func (p *places) addr(i int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return net.JoinHostPort(p.hosts[i], strconv.Itoa(int(p.slots[i].Port)))
}

// id is the slot's name, the same in all workers.
func (p *places) id(i int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slots[i].String()
}
