package client

import (
	"time"

	"github.com/stormring/stormring/sr3/protocol"
)

// link is what this worker has measured of its host's link.
func (c *Client) link() protocol.Link {
	l := c.end.Link()
	return protocol.Link{Up: int64(l.Up), UpLeast: int64(l.UpLeast), Down: int64(l.Down)}
}

// peers are what this worker has measured on the way to others.
func (c *Client) peers() []protocol.PeerStatus {
	var out []protocol.PeerStatus
	for _, p := range c.end.Peers() {
		out = append(out, protocol.PeerStatus{
			Addr: p.Addr, RTTMS: float64(p.RTT) / float64(time.Millisecond), SendRate: p.SendRate, ReceiveRate: p.RecvRate,
			ReceiveBest: p.RecvBest, ReceiveTotal: p.RecvTotal,
		})
	}
	return out
}
