package transport

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// PeerStats counts what a Peer has sent since it was made.
type PeerStats struct {
	Connected    bool
	Frames       uint64 // written, those sent again included
	Bytes        uint64 // likewise, headers included, as they went over the wire
	Tuples       uint64 // accepted by SendTuples
	AckerMsgs    uint64 // messages, fails and resets accepted by SendAcker
	Outcomes     uint64 // accepted by SendOutcomes
	Connects     uint64 // connections that came to be
	Resends      uint64 // frames sent again
	Dropped      uint64 // tuples lost because the remote worker restarted
	UnackedBytes int    // kept for a resend at this moment
}

// ListenerStats counts what a Listener has received since it was made.
type ListenerStats struct {
	Connections int64 // at this moment
	Frames      uint64
	Bytes       uint64 // as they came over the wire
	Tuples      uint64
	AckerMsgs   uint64
	Outcomes    uint64
	Dropped     uint64 // tuples left out because the codec refused a value
	Duplicates  uint64 // frames that came twice and were thrown away
	Refused     uint64 // connections that were turned away at hello
	Broken      uint64 // connections closed because of what came in
}

// frameCount is what one frame adds to ListenerStats.
type frameCount struct {
	frames, bytes, tuples, acker, outcomes, dropped, duplicates int
}

// counters are ListenerStats as connections write them.
type counters struct {
	connections                                                 atomic.Int64
	frames, bytes, tuples, acker, outcomes, dropped, duplicates atomic.Uint64
	refused, broken                                             atomic.Uint64
}

func (c *counters) add(n frameCount) {
	c.frames.Add(uint64(n.frames))
	c.bytes.Add(uint64(n.bytes))
	c.tuples.Add(uint64(n.tuples))
	if n.acker|n.outcomes|n.dropped|n.duplicates != 0 {
		c.acker.Add(uint64(n.acker))
		c.outcomes.Add(uint64(n.outcomes))
		c.dropped.Add(uint64(n.dropped))
		c.duplicates.Add(uint64(n.duplicates))
	}
}

func (c *counters) read() ListenerStats {
	return ListenerStats{
		Connections: c.connections.Load(),
		Frames:      c.frames.Load(),
		Bytes:       c.bytes.Load(),
		Tuples:      c.tuples.Load(),
		AckerMsgs:   c.acker.Load(),
		Outcomes:    c.outcomes.Load(),
		Dropped:     c.dropped.Load(),
		Duplicates:  c.duplicates.Load(),
		Refused:     c.refused.Load(),
		Broken:      c.broken.Load(),
	}
}

// reportEvery is the shortest time between two reports of one reporter: a peer
// that is down for a night must not fill a disk.
const reportEvery = 5 * time.Second

// reporter passes errors on, but not too many.
type reporter struct {
	report func(error) // nil: nobody wants to know

	mu         sync.Mutex
	last       time.Time
	suppressed int
}

func (r *reporter) error(err error) {
	if r.report == nil {
		return
	}
	r.mu.Lock()
	now := time.Now()
	if !r.last.IsZero() && now.Sub(r.last) < reportEvery {
		r.suppressed++
		r.mu.Unlock()
		return
	}
	if r.suppressed > 0 {
		err = fmt.Errorf("%w (and %d errors before it that were not reported)", err, r.suppressed)
	}
	r.last, r.suppressed = now, 0
	r.mu.Unlock()
	r.report(err)
}
