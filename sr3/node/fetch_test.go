package node

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

// A version comes back byte for byte, whatever the mode, also when no node has a
// whole chain, so that relays and the receiver fold.
func TestRecoverInEveryMode(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c", "d", "e", "f")
	rng := rand.New(rand.NewPCG(1, 1))
	whole, scattered := r.task("whole"), r.task("scattered")
	// Members of a chain in turn are on one node only.
	scattered.spare = func(ref shard.Ref, node string) bool {
		return int(node[0]-'a')%3 != int(ref.Version)%3
	}
	scattered.replicas = 6
	for v := range shard.Version(4) {
		for _, k := range []*task{whole, scattered} {
			n := 4000
			if v > 0 {
				n = 150
			}
			k.write(rng, n, 4000)
			k.prepare(v + 1)
		}
		whole.commit(v + 1)
	}
	for _, k := range []*task{whole, scattered} {
		m, err := r.any().askManifest(t.Context(), shard.NodeID(nodesOf(k.last, r.view())[0]), k.owner, 4)
		if err != nil {
			t.Fatal(err)
		}
		want := contents(k.table)
		for _, mode := range []recovery.Mode{recovery.Star, recovery.Line, recovery.Tree} {
			got, plan := r.recover(m, mode, func(in *recovery.Input) { in.Params.TreeFanin = 2 })
			equal(t, k.owner.Component+" "+string(mode), got, want)
			t.Log(k.owner.Component, mode, plan.Bytes, len(plan.Flows))
		}
	}
	for _, n := range r.nodes {
		if got := n.Status().Recoveries; got != 0 {
			t.Errorf("%s serves %d recoveries", n.id, got)
		}
	}
}

// A stream goes on where another stopped, does not send what is skipped, and says
// what is not there.
func TestLeafOrders(t *testing.T) {
	t.Parallel()
	r := newBrokenRig(t, "a", "b", "c")
	k := r.task("c")
	k.write(rand.New(rand.NewPCG(1, 2)), 6000, 6000)
	m := k.save(1)
	if len(m.Shards) < 8 {
		t.Fatalf("%d shards are too few for this test", len(m.Shards))
	}
	ref := m.Shards[1][0]
	gone := m.Shards[3][0]
	if err := r.nodes["a"].store.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	part := func(i int) recovery.Part { return recovery.Part{Shard: i, Until: 1} }
	h := protocol.FetchHeader{Owner: k.owner, Version: 1, Flow: &recovery.Flow{Node: "a"}, Orders: []recovery.Order{
		{Part: part(0)},
		{Part: part(1), Content: recovery.Content{Sum: ref.Checksum, Size: ref.Stored}, Offset: ref.Stored - 10},
		{Part: part(3)},
		{Part: recovery.Part{Shard: 0, First: 0, Until: 9}},
		{Part: part(2), Content: recovery.Content{Sum: 1, Size: 100}, Offset: 50},
	}}
	got := map[int][]byte{}
	offsets := map[int]int64{}
	ended := r.fetchRaw(h, func(f protocol.Frame, body []byte) {
		if f.Kind == protocol.FrameChunk {
			if _, ok := offsets[f.Part.Shard]; !ok {
				offsets[f.Part.Shard] = f.Offset
			}
			got[f.Part.Shard] = append(got[f.Part.Shard], body...)
		} else {
			offsets[-f.Part.Shard*100-f.Part.Until] = int64(f.Kind)
			if string(body) != "a" {
				t.Errorf("%q lacks it, want a", body)
			}
		}
	})
	if ended != nil {
		t.Fatal(ended)
	}
	want := map[int]int64{0: 0, 1: ref.Stored - 10, 2: 0, -301: int64(protocol.FrameLacks), -9: int64(protocol.FrameLacks)}
	if len(offsets) != len(want) {
		t.Fatalf("got %v, want %v", offsets, want)
	}
	for i, at := range want {
		if offsets[i] != at {
			t.Errorf("shard %d began at %d, want %d", i, offsets[i], at)
		}
		if i >= 0 && !slices.Equal(got[i], k.objects[m.Shards[i][0].ObjectID][at:]) {
			t.Errorf("shard %d has other bytes", i)
		}
	}
}
