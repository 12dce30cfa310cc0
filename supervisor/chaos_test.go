package supervisor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/storm"
)

// chaos is a host to which things happen, and what should come of it.
type chaos struct {
	*host
	t      *testing.T
	dice   *rand.Rand
	placed map[cluster.TopologyID]map[int]cluster.Port
	status map[cluster.TopologyID]cluster.TopologyStatus
	cut    bool
	log    []string
}

// TestChaos lets much go wrong at once, in a hundred steps, and then nothing any
// more: in the end there runs what should, and nothing else is left.
func TestChaos(t *testing.T) {
	seeds := uint64(2)
	if env := os.Getenv("STORMRING_SEEDS"); env != "" {
		var err error
		if seeds, err = strconv.ParseUint(env, 10, 64); err != nil {
			t.Fatalf("STORMRING_SEEDS: %v", err)
		}
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inside(t, func(t *testing.T, h *host) {
				c := &chaos{
					host: h, t: t, dice: rand.New(rand.NewPCG(seed, 1)),
					placed: map[cluster.TopologyID]map[int]cluster.Port{}, status: map[cluster.TopologyID]cluster.TopologyStatus{},
				}
				h.up()
				for range 100 {
					c.step()
				}
				c.calm()
				c.check()
				if t.Failed() {
					t.Logf("%q", c.log)
				}
			})
		})
	}
}

// name is some topology.
func (c *chaos) name() cluster.TopologyID {
	return []cluster.TopologyID{"a-1-1", "b-2-2", "c-3-3"}[c.dice.IntN(3)]
}

// step has something happen.
func (c *chaos) step() {
	n := c.dice.IntN(12)
	c.log = append(c.log, fmt.Sprint(n))
	switch n {
	case 0, 1, 2:
		c.move(c.name())
	case 3:
		id := c.name()
		delete(c.placed, id)
		if err := c.rec.RemoveAssignment(c.t.Context(), id); err != nil {
			c.t.Fatal(err)
		}
	case 4:
		id := c.name()
		if c.placed[id] != nil {
			c.status[id] = cluster.StatusActive + cluster.StatusInactive - c.status[id]
			c.host.status(id, c.status[id])
		}
	case 5, 6:
		c.hurt()
	case 7:
		c.down()
		if c.dice.IntN(2) == 0 {
			c.after(time.Duration(c.dice.IntN(40)) * time.Second)
			c.hurt()
		}
		c.forgetHolds()
		c.up()
	case 8:
		c.store()
	case 9:
		c.blobs.mu.Lock()
		c.blobs.fail = nil
		if c.dice.IntN(3) == 0 {
			c.blobs.fail = errors.New("nimbus is away")
		}
		c.blobs.mu.Unlock()
		c.boss.setAway(c.dice.IntN(2) == 0)
	case 10:
		if id := c.name(); c.placed[id] != nil {
			path := "/storm/assignments/" + string(id)
			if _, err := c.rec.Session().Set(c.t.Context(), path, []byte("garbage"), coord.AnyVersion); err != nil {
				c.t.Fatal(err)
			}
		}
	case 11:
		c.blobs.mu.Lock()
		c.blobs.changed = []cluster.TopologyID{c.name()}
		c.blobs.mu.Unlock()
	}
	c.after(time.Duration(c.dice.IntN(4000)) * time.Millisecond)
}

// move places a topology anew: in slots that no other has.
func (c *chaos) move(id cluster.TopologyID) {
	taken := map[cluster.Port]bool{}
	for other, at := range c.placed {
		for _, port := range at {
			taken[port] = taken[port] || other != id
		}
	}
	to := map[int]cluster.Port{}
	for task := range 1 + c.dice.IntN(3) {
		port := []cluster.Port{0, 6700, 6701}[c.dice.IntN(3)]
		if taken[port] {
			port = 0
		}
		to[task+1] = port
	}
	c.blobs.put(id, storm.Config{})
	if c.status[id] == 0 {
		c.status[id] = cluster.StatusActive
		c.host.status(id, cluster.StatusActive)
	}
	c.placed[id] = to
	c.place(id, to)
}

// hurt does something to a worker.
func (c *chaos) hurt() {
	all := c.workers()
	if len(all) == 0 {
		return
	}
	p := c.worker(all[c.dice.IntN(len(all))])
	switch c.dice.IntN(4) {
	case 0:
		p.hush()
	case 1:
		p.stub.Store(true)
	default:
		p.exit(137)
	}
}

func (c *chaos) store() {
	switch {
	case c.cut:
		c.opens.heal()
		c.cut = false
	case c.dice.IntN(2) == 0 && c.opens.session() != nil:
		c.opens.cut()
		c.cut = true
	case c.opens.session() != nil:
		c.host.store.Expire(c.opens.session().ID())
	}
}

// forgetHolds is what a localizer does that starts anew.
func (c *chaos) forgetHolds() {
	c.blobs.mu.Lock()
	defer c.blobs.mu.Unlock()
	clear(c.blobs.holders)
}

// calm takes back all that is wrong.
func (c *chaos) calm() {
	if c.cut {
		c.store()
	}
	c.blobs.mu.Lock()
	c.blobs.fail = nil
	c.blobs.mu.Unlock()
	c.boss.setAway(false)
	for id, to := range c.placed {
		c.place(id, to)
	}
	c.after(5 * time.Minute)
}

// check compares what there is with what should be.
func (c *chaos) check() {
	c.t.Helper()
	var want, got []string
	for id, at := range c.placed {
		execs := map[cluster.Port][]int{}
		for task, port := range at {
			if port != 0 {
				execs[port] = append(execs[port], task)
			}
		}
		for port, tasks := range execs {
			slices.Sort(tasks)
			want = append(want, fmt.Sprint(port, id, tasks, c.status[id]))
		}
	}
	for _, r := range c.boss.last().Workers {
		var tasks []int
		for _, e := range r.Executors {
			tasks = append(tasks, int(e.Executor.First))
		}
		got = append(got, fmt.Sprint(r.Port, r.Topology, tasks, c.orders(r.Port)))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		c.t.Errorf("workers are %q, want %q", got, want)
	}
	if n := len(c.workers()); n != len(want) || len(c.blobs.held()) != len(want) || len(c.procs.left) != 0 || len(c.boss.last().Waiting) != 0 {
		c.t.Errorf("%d workers, held %q, left %q, waiting %v, want %d", n, c.blobs.held(), c.procs.left, c.boss.last().Waiting, len(want))
	}
	before := c.workers()
	c.after(5 * time.Minute)
	if after := c.workers(); !slices.Equal(before, after) {
		c.t.Errorf("workers change for no reason: %q, %q", before, after)
	}
}

// orders is the status that the worker of a slot was told last.
func (c *chaos) orders(port cluster.Port) cluster.TopologyStatus {
	c.procs.mu.Lock()
	defer c.procs.mu.Unlock()
	for _, p := range c.procs.live {
		if p.launch.Port == port {
			return p.lastOrders().Status
		}
	}
	return 0
}
