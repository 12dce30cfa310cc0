package upkeep

import (
	"slices"

	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// places knows where the copies of one owner belong in one view.
type places struct {
	view     *ring.View
	replicas int
	owner    shard.Owner
	manifest []shard.NodeID
	shards   map[shard.Slot][]shard.NodeID
}

func newPlaces(v *ring.View, o shard.Owner, replicas int) *places {
	return &places{
		view: v, replicas: replicas, owner: o,
		manifest: holders(v, o.Hash(), replicas),
		shards:   make(map[shard.Slot][]shard.NodeID),
	}
}

// of are the nodes that keep the shard that starts at first.
func (p *places) of(first shard.Slot) []shard.NodeID {
	h, ok := p.shards[first]
	if !ok {
		h = holders(p.view, p.owner.ShardHash(first), p.replicas)
		p.shards[first] = h
	}
	return h
}

// owing are the nodes that should have something of the manifest, by id.
func (p *places) owing(m *shard.Manifest) []shard.NodeID {
	seen := make(map[shard.NodeID]bool)
	out := slices.Clone(p.manifest)
	for _, id := range out {
		seen[id] = true
	}
	for _, chain := range m.Shards {
		for _, id := range p.of(chain[0].Range.First) {
			if !seen[id] {
				seen[id] = true
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return out
}

func holders(v *ring.View, key uint64, replicas int) []shard.NodeID {
	nodes := ring.Holders(v, key, replicas)
	out := make([]shard.NodeID, len(nodes))
	for i, n := range nodes {
		out[i] = shard.NodeID(n.ID)
	}
	return out
}

// sources joins lists of nodes to ask, each once, without self.
func sources(self shard.NodeID, lists ...[]shard.NodeID) []shard.NodeID {
	var out []shard.NodeID
	for _, l := range lists {
		for _, id := range l {
			if id != self && !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

func nodeIDs(v *ring.View) []shard.NodeID {
	nodes := v.Nodes()
	out := make([]shard.NodeID, len(nodes))
	for i, n := range nodes {
		out[i] = shard.NodeID(n.ID)
	}
	return out
}
