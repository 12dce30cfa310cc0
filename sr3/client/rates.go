package client

import (
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/transport"
)

// rates are what was measured of the links to this host, by this worker and by the
// host's node.
type rates struct {
	up   map[string]int64 // by address: bytes a second that came from it
	rtt  map[string]time.Duration
	down int64
}

// newRates takes the best that was seen of each link: load makes a link look
// slower, nothing makes it look faster.
func newRates(own []transport.Peer, status *protocol.NodeStatus) rates {
	r := rates{up: make(map[string]int64), rtt: make(map[string]time.Duration)}
	for _, p := range own {
		r.add(p.Addr, p.RecvRate, p.RTT)
	}
	if status != nil {
		for _, p := range status.Peers {
			r.add(p.Addr, p.ReceiveRate, time.Duration(p.RTTMS*float64(time.Millisecond)))
		}
	}
	return r
}

func (r *rates) add(addr string, rate float64, rtt time.Duration) {
	r.up[addr] = max(r.up[addr], int64(rate))
	r.down = max(r.down, int64(rate))
	if old := r.rtt[addr]; rtt > 0 && (old == 0 || rtt < old) {
		r.rtt[addr] = rtt
	}
}
