package recovery

import (
	"slices"
	"time"
)

// maxMoves is how often one part may be taken over, so that it cannot wander
// between slow senders for ever.
const maxMoves = 3

// settle is how long a stream is watched before its rate says anything.
const settle = 500 * time.Millisecond

// steal lets nodes that have nothing to do take over from the slowest stream, as
// long as a stream may be opened: its last part that it has not begun or, if it is
// far slower than the other would be, the rest of what it sends now.
func (t *Tracker) steal() {
	if len(t.queue) > 0 {
		return
	}
	for t.streaming() < t.slots() {
		slow, left := t.slowest()
		if slow == nil || !t.takeOver(slow, left) {
			return
		}
	}
}

// slowest is the open stream that will need longest, and how many seconds.
func (t *Tracker) slowest() (slow *flight, left float64) {
	for _, f := range t.flights {
		if len(f.flow.From) > 0 || f.flow.Node == t.w.Receiver.ID || t.now.Sub(f.opened) < settle {
			continue
		}
		if s := f.rest() / max(f.speed(t), 1); s > left {
			slow, left = f, s
		}
	}
	return slow, left
}

// rest is what the stream has still to bring, in bytes.
func (f *flight) rest() float64 {
	sum := 0.0
	for _, p := range f.parts {
		size := p.Bytes
		if p.got > 0 {
			size = p.content.Size
		}
		sum += float64(max(size-p.got, 0))
	}
	return sum
}

// speed is what the stream has brought a second so far.
func (f *flight) speed(t *Tracker) float64 {
	return float64(f.bytes) / max(t.now.Sub(f.opened).Seconds(), 1e-3)
}

// takeOver moves one part of a slow stream to an idle node that is done with it
// well before the slow stream would be.
func (t *Tracker) takeOver(slow *flight, left float64) bool {
	for i, p := range slices.Backward(slow.parts) {
		if p.moves >= maxMoves {
			continue
		}
		current := i == 0 || p.got > 0
		node, takes := t.idle(p)
		if node == "" {
			continue
		}
		need := 1.25 * takes
		if current {
			need = 3*takes + settle.Seconds()
		}
		if left < need {
			continue
		}
		p.moves++
		t.report.Stolen++
		t.fetch(node, []*progress{p}, false)
		return true
	}
	return false
}

// idle is the holder without a stream that would be done with a part first, and
// in how many seconds.
func (t *Tracker) idle(p *progress) (best NodeID, takes float64) {
	down := float64(t.w.Receiver.Down) / float64(1+t.w.Receiver.Streams) / float64(t.streaming()+1)
	piece := t.w.piece(p.Shard)
	for _, id := range piece.holdersOf(p.span(), t.may) {
		if slices.ContainsFunc(t.flights, func(f *flight) bool { return slices.Contains(f.flow.nodesOf(), id) }) {
			continue
		}
		n := t.w.nodes[id]
		rate := min(t.w.rate(n, t.w.Receiver.Node), down)
		if h := t.health(id); h.rate > 0 {
			rate = min(rate, h.rate)
		}
		s := 2*t.w.rtt(n, t.w.Receiver.Node) + float64(max(p.Bytes-p.got, 0))/rate +
			float64(piece.work(p.First, p.Until))/float64(n.Fold)
		if best == "" || s < takes {
			best, takes = id, s
		}
	}
	return best, takes
}
