package overview

import (
	"maps"
	"slices"

	"github.com/stormring/stormring/sr3/evidence"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// input is what a plan is made of, but for the receiver: who is left and has what.
// A worker that recovers sees the same.
func (p *planning) input(f *Found) recovery.Input {
	in := recovery.Input{Owner: f.Owner.String(), Version: f.Version, Pieces: p.pieces(f)}
	if p.q.Params != nil {
		in.Params = p.q.Params(f.Owner.Component)
	}
	return in
}

// pieces are the shards with their holders: who says so, and for objects that
// nobody says to have, those living nodes that the manifest names and that did not
// answer.
func (p *planning) pieces(f *Found) []recovery.Piece {
	have := maps.Clone(f.Have)
	maps.DeleteFunc(have, func(id shard.NodeID, _ protocol.HaveAnswer) bool { return !p.left(id) })
	return evidence.Pieces(f.Manifest, have, func(id shard.NodeID) bool {
		_, has := f.Have[id]
		return !has && !f.Lack[id] && p.left(id)
	})
}

// left tells whether a node lives and is not thought lost.
func (p *planning) left(id shard.NodeID) bool {
	n := p.ring.find(id)
	return n != nil && n.Living() && !p.lost[id]
}

// place is the node that would rebuild: the one asked for; else that of the host
// where the task runs; else the one that has most of it, as the scheduler prefers.
func (p *planning) place(pieces []recovery.Piece, k *Task) *Node {
	if p.on != nil {
		return p.on
	}
	if k != nil && k.Node != "" && p.left(shard.NodeID(k.Node)) {
		return p.ring.find(shard.NodeID(k.Node))
	}
	has := map[shard.NodeID]int64{}
	for _, piece := range pieces {
		for _, o := range piece.Chain {
			for _, id := range o.Holders {
				has[id] += o.Bytes
			}
		}
	}
	var best *Node
	for i := range p.ring.Nodes {
		n := &p.ring.Nodes[i]
		id := shard.NodeID(n.ID)
		if p.left(id) && (best == nil || has[id] > has[shard.NodeID(best.ID)]) {
			best = n
		}
	}
	return best
}

// receiver fills in who rebuilds, and what is known of the links to it.
func (p *planning) receiver(in *recovery.Input, on *Node) {
	s := evidence.Sight{Self: shard.NodeID(on.ID), Links: map[shard.NodeID]protocol.Link{}, Streams: map[shard.NodeID]int{}}
	for i := range p.ring.Nodes {
		n := &p.ring.Nodes[i]
		id := shard.NodeID(n.ID)
		if !p.left(id) {
			continue
		}
		s.Nodes = append(s.Nodes, ring.Node{ID: n.ID, Addr: n.Addr, Host: n.Host, Rack: n.Rack, Positions: n.Positions})
		s.Streams[id] = n.Recoveries
		if status := p.ring.statuses[id]; status != nil {
			s.Links[id] = status.Link
		}
	}
	if own := p.ring.statuses[s.Self]; own != nil {
		s.Peers = slices.Clone(own.Peers)
		for i := range own.Members {
			s.Peers = append(s.Peers, protocol.PeerStatus{Addr: own.Members[i].Addr, RTTMS: own.Members[i].RoundTripMS})
		}
	}
	s.Fill(in)
}
