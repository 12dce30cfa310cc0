// Package evidence makes of what nodes say the input of a plan: who has which part
// of a version (Pieces), and how fast hosts and the links between them are (Sight).
// A worker that recovers and the command that shows what a recovery would be
// make their plans of the same input, so both take it from here.
//
// # Rates
//
// A rate that was seen is never more than a lower bound: a transfer may have been
// slow for reasons of its own, or held up at its other end. So the best that was
// seen counts, and of a holder's uplink what it sent to several others at once who
// all had to wait for it, or sent to the receiver while that could have taken more.
// If there is only less than that, its uplink is taken to be like that of others, or
// like the receiver's downlink: streams that together fill the downlink say nothing
// of who sends them.
package evidence

import (
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// Pieces are the shards of a version with their holders: who says so; and for
// objects that nobody says to have, those whom the manifest names and of whom hint
// tells that they may. A nil hint takes nobody's word but their own.
func Pieces(m *shard.Manifest, have map[shard.NodeID]protocol.HaveAnswer, hint func(shard.NodeID) bool) []recovery.Piece {
	pieces := make([]recovery.Piece, len(m.Shards))
	for i, chain := range m.Shards {
		pieces[i] = recovery.Piece{Shard: i, Chain: make([]recovery.Object, len(chain))}
		for j := range chain {
			pieces[i].Chain[j].Bytes = chain[j].Stored
			pieces[i].Bytes = max(pieces[i].Bytes, chain[j].Stored) // what is left after folding
		}
	}
	for id, a := range have {
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
	if hint == nil {
		return pieces
	}
	for i, chain := range m.Shards {
		for j := range chain {
			if o := &pieces[i].Chain[j]; len(o.Holders) == 0 {
				o.Holders = slices.DeleteFunc(slices.Clone(chain[j].Holders), func(id shard.NodeID) bool { return !hint(id) })
			}
		}
	}
	return pieces
}

// Sight is what is known of hosts and links, as seen from where a task is rebuilt.
type Sight struct {
	// Self is the node of the host that rebuilds.
	Self shard.NodeID
	// Nodes are all that live, Self included.
	Nodes []ring.Node
	// Links are their own words, Streams what they serve of other recoveries.
	Links   map[shard.NodeID]protocol.Link
	Streams map[shard.NodeID]int
	// Own is what the worker that rebuilds has measured itself.
	Own protocol.Link
	// Peers were measured on the host that rebuilds, by whomever.
	Peers []protocol.PeerStatus
}

// wellBelow is the part of the downlink up to which something else holds a stream
// up.
const wellBelow = 0.8

// Fill fills in the receiver, the nodes and their sites.
func (s *Sight) Fill(in *recovery.Input) {
	self := s.Own.Best(s.Links[s.Self])
	in.Receiver.ID = s.Self
	in.Receiver.Down, in.Receiver.Up, in.Receiver.Fold = self.Down, max(self.Up, self.UpLeast), self.Fold
	if in.Receiver.Down == 0 {
		in.Receiver.Down = int64(s.fastest())
	}
	// Hardly any link brings less than it sends.
	in.Receiver.Down = max(in.Receiver.Down, in.Receiver.Up)
	seen := make(map[string]*seen)
	for _, p := range s.Peers {
		at := seen[p.Addr]
		if at == nil {
			at = newSeen()
			seen[p.Addr] = at
		}
		at.take(p, float64(in.Receiver.Down))
	}
	in.Nodes = in.Nodes[:0]
	var known []int64 // uplinks
	for _, n := range s.Nodes {
		at := seen[n.Addr]
		if at == nil {
			at = newSeen()
		}
		id, word := shard.NodeID(n.ID), s.Links[shard.NodeID(n.ID)]
		if n.ID == string(s.Self) {
			in.Receiver.Site = n.Rack
		}
		at.up, at.least = max(at.up, word.Up), max(at.least, word.UpLeast)
		if at.up > 0 {
			at.up = max(at.up, at.least)
			known = append(known, at.up)
		}
		in.Nodes = append(in.Nodes, recovery.Node{
			ID: id, Site: n.Rack, Up: at.up, Down: word.Down, RTT: at.rtt, Fold: word.Fold, Streams: s.Streams[id],
		})
		seen[n.Addr] = at
	}
	usual := in.Receiver.Down
	if slices.Sort(known); len(known) > 0 {
		usual = known[len(known)/2]
	}
	for i := range in.Nodes {
		n := &in.Nodes[i]
		if least := seen[s.Nodes[i].Addr].least; n.Up == 0 && least > 0 {
			n.Up = max(least, usual)
		}
		if n.Down > 0 {
			n.Down = max(n.Down, n.Up) // see above
		}
	}
	in.Sites = s.sites()
}

// fastest is the fastest that any one peer has sent, for want of a downlink.
func (s *Sight) fastest() float64 {
	best := 0.0
	for _, p := range s.Peers {
		best = max(best, p.ReceiveRate, p.ReceiveBest)
	}
	return best
}

// sites are the racks of all nodes.
func (s *Sight) sites() []recovery.Site {
	var names []string
	for _, n := range s.Nodes {
		if n.Rack != "" {
			names = append(names, n.Rack)
		}
	}
	slices.Sort(names)
	var sites []recovery.Site
	for _, name := range slices.Compact(names) {
		sites = append(sites, recovery.Site{Name: name})
	}
	return sites
}

// seen is what was measured of one node.
type seen struct {
	up, least int64
	rtt       time.Duration
}

func newSeen() *seen { return &seen{} }

func (a *seen) take(p protocol.PeerStatus, down float64) {
	if a.least = max(a.least, int64(p.ReceiveBest)); p.ReceiveBest == 0 {
		a.least = max(a.least, int64(p.ReceiveRate)) // all that an older node tells
	}
	if p.ReceiveTotal > 0 && p.ReceiveTotal < wellBelow*down {
		a.up = max(a.up, int64(p.ReceiveBest))
	}
	rtt := time.Duration(p.RTTMS * float64(time.Millisecond))
	if rtt > 0 && (a.rtt == 0 || rtt < a.rtt) {
		a.rtt = rtt
	}
}
