package node

import (
	"cmp"
	"context"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
)

// Status is the node's account of itself.
func (n *Node) Status() protocol.NodeStatus {
	p := n.circle.now.Load()
	usage := n.store.Usage()
	health := n.upkeep.health()
	s := protocol.NodeStatus{
		Node: n.Self(), Joined: p.joined, Complete: p.complete,
		Members: []protocol.MemberStatus{}, Owners: []protocol.OwnerStatus{}, Peers: []protocol.PeerStatus{},
		Objects: usage.Objects, Bytes: usage.Bytes, DiskBytes: usage.DiskBytes,
		UnderReplicated: health.Missing + health.TooFewHosts + health.NoManifest,
		Repaired:        n.repaired.Load(), Damaged: n.damaged.Load(),
		Recoveries: int(n.recoveries.Load()),
		Trouble:    cmp.Or(usage.Full, usage.Readonly),
		Dropped:    n.circle.dropped.Load(), Link: n.word(),
	}
	var e ring.Explanation
	err := n.circle.do(context.Background(), func(m *ring.Machine, _ time.Duration) ring.Out {
		e = m.Explain()
		return ring.Out{}
	})
	if err == nil {
		for _, at := range e.Positions {
			s.Positions = append(s.Positions, at.At)
		}
		for _, m := range e.Members {
			s.Members = append(s.Members, protocol.MemberStatus{
				Node: m.Node, Status: m.Status.String(), RoundTripMS: ms(m.RoundTrip),
			})
		}
	}
	missing := make(map[string]int)
	for _, o := range health.Owners {
		missing[o.Owner.String()] = o.Missing
	}
	for _, o := range n.store.Owners() {
		w := protocol.OwnerStatus{Owner: o, Committed: n.commits.of(o.Topology).version, Missing: missing[o.String()]}
		for _, v := range n.store.Versions(o) {
			w.Version = v
		}
		shards := make(map[uint64]bool)
		for _, r := range n.store.Objects(o) {
			w.Objects++
			w.Bytes += r.Stored
			shards[uint64(r.Range.First)<<16|uint64(r.Range.Slots)] = true
		}
		w.Shards = len(shards)
		s.Owners = append(s.Owners, w)
	}
	for _, peer := range n.end.Peers() {
		s.Peers = append(s.Peers, protocol.PeerStatus{
			Addr: peer.Addr, RTTMS: ms(peer.RTT), SendRate: peer.SendRate, ReceiveRate: peer.RecvRate,
			ReceiveBest: peer.RecvBest, ReceiveTotal: peer.RecvTotal,
		})
	}
	return s
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
