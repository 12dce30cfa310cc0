package inquiry

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/client"
	"github.com/stormring/stormring/sr3/node"
	"github.com/stormring/stormring/sr3/overview"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// records is a coordination store in memory.
type records struct {
	mu sync.Mutex
	of protocol.Record
}

func (r *records) Get(context.Context, string) (protocol.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of, nil
}

func (r *records) Swap(_ context.Context, _ string, _, next protocol.Record) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of = next
	return true, nil
}

func (r *records) Topologies(context.Context) ([]string, error) { return []string{topology}, nil }

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("not in time: %s", what)
		}
	}
}

// nodes starts a ring and waits until all know each other.
func nodes(t *testing.T, n int) []*node.Node {
	t.Helper()
	dir, rec := t.TempDir(), &records{}
	var all []*node.Node
	var seeds []ring.Node
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		times := ring.Default()
		times.SyncEvery, times.StabilizeEvery, times.RejoinEvery, times.GossipEvery = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond, 20*time.Millisecond
		one, err := node.Start(context.WithoutCancel(t.Context()), node.Config{
			ID: name, Addr: "127.0.0.1:0", Host: "host-" + name, Positions: 16, Dir: filepath.Join(dir, name), Ring: times, Records: rec,
			UpkeepEvery: 100 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = one.Close() })
		all, seeds = append(all, one), append(seeds, one.Self())
	}
	for _, one := range all {
		one.SetSeeds(seeds)
	}
	return all
}

// save has a worker on the host of the first node save a state, and commit it.
func save(t *testing.T, all []*node.Node) {
	t.Helper()
	c, err := client.Dial(client.Config{Nodes: func() []string { return []string{all[0].Addr()} }, ReportEvery: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	posted, done := make(chan func(), 1), make(chan error, 1)
	task, err := c.Task(client.TaskOptions{Owner: owner(3), Replicas: 2, ShardBytes: 4 << 10, Mode: recovery.Tree, Post: func(f func()) { posted <- f }})
	if err != nil {
		t.Fatal(err)
	}
	wait := func() {
		t.Helper()
		limit := time.After(30 * time.Second)
		for {
			select {
			case f := <-posted:
				f()
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
				return
			case <-limit:
				t.Fatal("it does not come to an end")
			}
		}
	}
	task.Load(0, 1, func(err error) { done <- err })
	wait()
	for i := range 2000 {
		if err := task.Put(fmt.Appendf(nil, "word-%d", i), fmt.Appendf(nil, "%0100d", i*i)); err != nil {
			t.Fatal(err)
		}
	}
	task.Save(1, 0, 1, func(err error) { done <- err })
	wait()
	if _, err := c.Swap(t.Context(), topology, protocol.Record{}, protocol.Record{Committed: 1, Last: 1}); err != nil {
		t.Fatal(err)
	}
	if err := task.Committed(1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(task.Close)
}

// TestRealRing: what real nodes say of a state that a real worker saved.
func TestRealRing(t *testing.T) {
	all := nodes(t, 4)
	q := open(t, Config{Nodes: []string{all[3].Addr()}})
	eventually(t, "the ring has four nodes", func() bool {
		for _, n := range all {
			if s := n.Status(); !s.Complete || len(s.Members) != len(all)-1 {
				return false
			}
		}
		return true
	})
	save(t, all)
	var top overview.Topology
	eventually(t, "the report is there", func() bool {
		var err error
		if top, err = q.Topology(t.Context(), topology); err != nil {
			t.Fatal(err)
		}
		return len(top.Components) == 1 && top.Components[0].Tasks[0].Checkpoint.Version == 1 && top.Committed == 1
	})
	k := top.Components[0].Tasks[0]
	if k.Task != 3 || k.Host != "host-n0" || k.Keys != 2000 || k.Mode != recovery.Tree || k.Replicas != 2 || k.Checkpoint.Shards < 8 || k.Checkpoint.Short != 0 || k.Missing != 0 {
		t.Errorf("got %+v", k)
	}
	copies := int64(0)
	for _, h := range k.Holders {
		copies += h.Has
	}
	if copies != 2*k.Checkpoint.Stored {
		t.Errorf("%d bytes at holders of a state of %d with 2 replicas", copies, k.Checkpoint.Stored)
	}
	r, err := q.Ring(t.Context())
	if err != nil || r.Sums.Living != 4 || r.Sums.Answered != 4 || r.Owners[0].Bytes != copies || r.Sums.UnderReplicated != 0 || r.Parts != nil || r.Silent != nil {
		t.Errorf("got %s, %v", r.Text(), err)
	}
	l, err := q.LookupState(t.Context(), owner(3), "word-7")
	if err != nil || len(l.State.Named) != 2 || len(l.State.Holders) != 2 || l.Successors[0].ID != l.State.Holders[0].ID {
		t.Errorf("got %+v, %v", l, err)
	}
	planned(t, q, k)
	lost(t, q, all)
}

// planned: with 2 replicas the loss of one host loses nothing, and each byte is sent
// once or is at the receiver.
func planned(t *testing.T, q *Inquiry, k overview.Task) {
	t.Helper()
	for _, host := range []string{"host-n0", "host-n1", "host-n2", "host-n3"} {
		p, err := q.Plans(t.Context(), overview.PlanRequest{Topology: topology, Fail: []string{host}, Mode: recovery.Star})
		if err != nil {
			t.Fatal(err)
		}
		one := p.Tasks[0]
		plan := one.Plans[0]
		if p.LostTasks != 0 || one.Fails != (host == "host-n0") || one.OnHost == host || plan.Bytes+plan.LocalBytes != k.Checkpoint.Stored || one.Shards != k.Checkpoint.Shards {
			t.Errorf("without %s: got %s", host, p.Text())
		}
	}
}

// lost: the loss of all hosts but one loses shards, which are named, and a node that
// is really away is seen to be.
func lost(t *testing.T, q *Inquiry, all []*node.Node) {
	t.Helper()
	p, err := q.Plans(t.Context(), overview.PlanRequest{Topology: topology, Fail: []string{"host-n0", "host-n1", "n2"}})
	if err != nil || p.LostTasks != 1 || !p.Tasks[0].NoManifest && len(p.Tasks[0].Lost) == 0 {
		t.Errorf("got %s, %v", p.Text(), err)
	}
	for _, l := range p.Tasks[0].Lost {
		if len(l.Named) != 2 || slices.Contains(l.Named, shard.NodeID("n3")) {
			t.Errorf("lost: %+v", l)
		}
	}
	if err := all[1].Close(); err != nil {
		t.Fatal(err)
	}
	r, err := q.Ring(t.Context())
	if err != nil || r.Sums.Answered != 3 || len(r.Silent) != 1 || r.Silent[0].ID != "n1" {
		t.Errorf("got %+v, %v", r.Silent, err)
	}
}
