package upkeep

import (
	"fmt"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

var owner = shard.Owner{Topology: "words-1", Component: "count", Task: 7}

// rig is a keeper with a disk that the test writes to.
type rig struct {
	t     *testing.T
	k     *Keeper
	self  shard.NodeID
	now   int64
	view  *ring.View
	c     Committed
	stock Stock
	part  bool // the view is not complete
}

func newRig(t *testing.T, nodes int) *rig {
	t.Helper()
	k, err := New(Default())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, k: k, now: 1000, view: view(nodes), stock: Stock{Owner: owner}}
	return r
}

func view(n int) *ring.View {
	nodes := make([]ring.Node, n)
	for i := range nodes {
		nodes[i] = ring.Node{ID: fmt.Sprintf("n%d", i), Positions: 4}
	}
	return ring.NewView(nodes)
}

// at makes the rig that of a node that keeps, or does not keep, copies of the
// shard.
func (r *rig) at(first shard.Slot, keeps bool) *rig {
	r.t.Helper()
	of := holders(r.view, owner.ShardHash(first), 3)
	manifest := holders(r.view, owner.Hash(), 3)
	for _, id := range nodeIDs(r.view) {
		in, inManifest := false, false
		for _, h := range of {
			in = in || h == id
		}
		for _, h := range manifest {
			inManifest = inManifest || h == id
		}
		if in == keeps && !inManifest {
			r.self = id
			return r
		}
	}
	r.t.Fatal("no such node")
	return nil
}

func (r *rig) decide(after time.Duration) []Action {
	r.now += after.Milliseconds()
	return r.k.Decide(r.now, Inventory{Self: r.self, Owners: []Stock{r.stock}}, Ring{View: r.view, Complete: !r.part},
		func(string) Committed { return r.c })
}

// wait decides each second for so long, and gives what came last.
func (r *rig) wait(d time.Duration) []Action {
	var out []Action
	for range int(d / time.Second) {
		out = r.decide(time.Second)
	}
	return out
}

// ref is an object of the owner's whole state.
func ref(kind shard.Kind, v shard.Version, size int64, holders ...shard.NodeID) shard.Ref {
	return shard.Ref{
		ObjectID: shard.ObjectID{Owner: owner, Range: shard.Whole(), Version: v, Epoch: 1, Kind: kind},
		Size:     size, Stored: size + 64, Checksum: uint64(v)<<8 | uint64(kind), Holders: holders,
	}
}

func manifest(v shard.Version, chains ...[]shard.Ref) *shard.Manifest {
	return &shard.Manifest{Owner: owner, Version: v, Epoch: 1, Replicas: 3, Shards: chains}
}

// only are the actions of one type.
func only[A Action](actions []Action) []A {
	var out []A
	for _, a := range actions {
		if a, ok := a.(A); ok {
			out = append(out, a)
		}
	}
	return out
}
