package transport

import (
	"math"
	"sync/atomic"
	"time"
)

// Peer is what an Endpoint knows of an address that it talks to, over
// connections of both directions.
type Peer struct {
	// Addr is the address that is dialed, or that the peer says it has.
	Addr string
	// RTT is the smoothed time from ping to answer, 0 if unknown. It includes
	// what waits in the kernel's buffers.
	RTT time.Duration
	// SendRate and RecvRate are bytes a second of bulk while it was under way,
	// smoothed, 0 if unknown. A reader or sender that is slower than the
	// network lowers them.
	SendRate, RecvRate float64
	// RecvBest is the best rate at which bulk came in the last minutes, RecvTotal
	// what came from all peers together in the same moment: if that is all that the
	// own link carries, the peer may be able to send faster. 0 if unknown.
	RecvBest, RecvTotal float64
	// Sent and Received are bytes on the wire, Dropped are messages that were
	// not sent or not delivered for lack of room or connection.
	Sent, Received, Dropped uint64
	// Streams is how many streams are open.
	Streams int
	// Connected tells whether there is a connection of either direction.
	Connected bool
}

// link gathers what Peer shows. It outlives connections.
type link struct {
	addr                    string
	sent, received, dropped atomic.Uint64
	sendRate, recvRate      rate
	best                    bestShare // received
	smoothed                atomic.Int64

	// Guarded by the endpoint's mu.
	conns    int
	lastUsed time.Duration
}

// rate is a smoothed rate in bytes a second.
type rate struct{ bits atomic.Uint64 }

func (r *rate) get() float64 { return math.Float64frombits(r.bits.Load()) }

// learn takes a new sample; 0 is none.
func (r *rate) learn(sample float64) {
	if sample == 0 {
		return
	}
	if old := r.get(); old != 0 {
		sample = old + (sample-old)*0.3
	}
	r.bits.Store(math.Float64bits(sample))
}

func (l *link) rtt() time.Duration { return time.Duration(l.smoothed.Load()) }

// round takes the time of one round trip.
func (l *link) round(took time.Duration) {
	took = max(took, 1)
	if old := l.rtt(); old != 0 {
		took = old + (took-old)/8
	}
	l.smoothed.Store(int64(took))
}
