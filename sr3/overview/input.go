package overview

import (
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
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
	pieces := make([]recovery.Piece, len(f.Manifest.Shards))
	for i, chain := range f.Manifest.Shards {
		pieces[i] = recovery.Piece{Shard: i, Chain: make([]recovery.Object, len(chain))}
		for j := range chain {
			pieces[i].Chain[j].Bytes = chain[j].Stored
			pieces[i].Bytes = max(pieces[i].Bytes, chain[j].Stored) // what is left after folding
		}
	}
	for id, a := range f.Have {
		if p.left(id) {
			addHolder(pieces, id, a)
		}
	}
	for i, chain := range f.Manifest.Shards {
		for j := range chain {
			if o := &pieces[i].Chain[j]; len(o.Holders) == 0 {
				o.Holders = p.hints(f, chain[j].Holders)
			}
		}
	}
	return pieces
}

func addHolder(pieces []recovery.Piece, id shard.NodeID, a protocol.HaveAnswer) {
	for _, s := range a.Spans {
		if s.Shard < 0 || s.Shard >= len(pieces) || s.First < 0 {
			continue // it is of another release, or damaged
		}
		chain := pieces[s.Shard].Chain
		for j := s.First; j < min(s.Until, len(chain)); j++ {
			if !slices.Contains(chain[j].Holders, id) {
				chain[j].Holders = append(chain[j].Holders, id)
			}
		}
	}
}

func (p *planning) hints(f *Found, named []shard.NodeID) []shard.NodeID {
	var out []shard.NodeID
	for _, id := range named {
		if _, has := f.Have[id]; !has && !f.Lack[id] && p.left(id) {
			out = append(out, id)
		}
	}
	return out
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
	l := p.ring.links(on)
	in.Receiver.ID, in.Receiver.Site, in.Receiver.Down = shard.NodeID(on.ID), on.Rack, l.down
	for i := range p.ring.Nodes {
		n := &p.ring.Nodes[i]
		if !p.left(shard.NodeID(n.ID)) {
			continue
		}
		in.Nodes = append(in.Nodes, recovery.Node{
			ID: shard.NodeID(n.ID), Site: n.Rack, Up: l.up[n.Addr], RTT: l.rtt[n.Addr], Streams: n.Recoveries,
		})
	}
}

// links are what was measured on the way to one node, by address of the others;
// rates in bytes a second.
type links struct {
	up   map[string]int64
	rtt  map[string]time.Duration
	down int64
}

// links takes the best that was seen: load makes a link look slower, nothing makes
// it look faster. The node's own measurements count, and of uplinks those of all.
func (r *Ring) links(to *Node) links {
	l := links{up: map[string]int64{}, rtt: map[string]time.Duration{}}
	for id, s := range r.statuses {
		own := string(id) == to.ID
		for _, peer := range s.Peers {
			if l.up[peer.Addr] = max(l.up[peer.Addr], int64(peer.ReceiveRate)); own {
				l.down = max(l.down, int64(peer.ReceiveRate))
				l.near(peer.Addr, peer.RTTMS)
			}
			l.up[s.Node.Addr] = max(l.up[s.Node.Addr], int64(peer.SendRate))
		}
		for i := range s.Members {
			if own {
				l.near(s.Members[i].Addr, s.Members[i].RoundTripMS)
			}
		}
	}
	return l
}

// near takes the least time that a round trip took.
func (l *links) near(addr string, ms float64) {
	d := time.Duration(ms * float64(time.Millisecond))
	if old := l.rtt[addr]; d > 0 && (old == 0 || d < old) {
		l.rtt[addr] = d
	}
}
