package recovery

import (
	"cmp"
	"slices"
	"time"
)

// Prediction is what the cost model says of one mode; all times in milliseconds.
type Prediction struct {
	Mode Mode `json:"mode"`
	// TotalMS is from the plan to the last installed shard.
	TotalMS float64 `json:"totalMs"`
	// SetupMS is opening the connections and, in line and tree, filling the pipeline.
	SetupMS float64 `json:"setupMs"`
	// LinksMS is what uplinks, connections and the receiver's downlink take,
	// HoldersMS what folding and merging takes at the slowest sender, ReceiverMS
	// what checking and indexing takes, PathMS the busiest path between sites. They
	// overlap: the largest counts.
	LinksMS    float64 `json:"linksMs"`
	HoldersMS  float64 `json:"holdersMs"`
	ReceiverMS float64 `json:"receiverMs"`
	PathMS     float64 `json:"pathMs"`
	// Limit names the largest of these: "links", "holders", "receiver", "path", "setup".
	Limit string `json:"limit"`
	// Bytes come into the receiver, Moved go over all links together.
	Bytes int64 `json:"bytes"`
	Moved int64 `json:"moved"`
	// Streams come into the receiver at a time, Depth is the longest way of hops.
	Streams int `json:"streams"`
	Depth   int `json:"depth"`

	incast bool // the number of connections slows the links down
}

// Total is TotalMS as a duration.
func (p Prediction) Total() time.Duration {
	return time.Duration(p.TotalMS * float64(time.Millisecond))
}

// rtt is the round trip between two nodes. Only those to the receiver are
// measured; between two others it is taken as the mean of both, except in a site.
func (w *world) rtt(a, b Node) float64 {
	if a.Site != "" && a.Site == b.Site && w.sites[a.Site].RTT > 0 {
		return w.sites[a.Site].RTT.Seconds()
	}
	switch w.Receiver.ID {
	case b.ID:
		return a.RTT.Seconds()
	case a.ID:
		return b.RTT.Seconds()
	}
	return (a.RTT + b.RTT).Seconds() / 2
}

// rate is what one connection from a to b carries: its share of the uplink, and
// no more than a window a round trip. The receiver's downlink is shared by all
// streams, see drain; that of a relay is its own.
func (w *world) rate(a, b Node) float64 {
	r := float64(a.Up) / float64(1+a.Streams)
	if t := w.rtt(a, b); t > 0 {
		r = min(r, float64(w.Params.Window)/t)
	}
	if s, ok := w.sites[a.Site]; ok && a.Site != b.Site && s.Up > 0 {
		r = min(r, float64(s.Up))
	}
	return max(r, 1)
}

// lane is a stream into the receiver as drain sees it.
type lane struct {
	bytes float64
	rate  float64 // the most it can carry, alone
	delay float64 // from opening it to the first byte
}

// trip is what the model says of one flow and what feeds it: when its first chunk
// and its last byte are where it goes, in seconds after the plan.
type trip struct {
	start  float64 // its node begins to send
	first  float64
	finish float64
	fold   float64 // what folding and joining takes at the slowest node
	depth  int
}

// trip follows the request down, which is at f.Node after request seconds, and the
// bytes up. A node begins at once with what it has itself, and passes on what comes,
// chunk by chunk; so the filling of the pipeline costs time only as far as own bytes
// do not cover it. Where parts are joined on the way, schedule says more.
func (w *world) trip(f *Flow, request float64) trip {
	if f.joinsBelow() {
		return w.joining(f, request)
	}
	n, to := w.nodes[f.Node], w.nodes[f.To]
	rate, half := w.rate(n, to), w.rtt(n, to)/2
	work, first := w.work(f)
	out := trip{fold: work / float64(n.Fold), depth: 1}
	free := w.alone(f)
	inbound, behind, last := 0.0, 0.0, 0.0
	for i, from := range f.From {
		sub := w.trip(from, request+w.rtt(w.nodes[from.Node], n))
		out.fold, out.depth = max(out.fold, sub.fold), max(out.depth, sub.depth+1)
		inbound += float64(from.Bytes)
		if i == 0 || sub.first < behind == (free > 0) {
			behind = sub.first
		}
		last = max(last, sub.finish+float64(min(w.Params.Chunk, from.Bytes))/rate)
	}
	out.start = request + first/float64(n.Fold)
	if free == 0 && len(f.From) > 0 {
		out.start = behind
	}
	bytes := float64(f.Bytes)
	busy := max(bytes/rate, work/float64(n.Fold), inbound/(float64(n.Down)/float64(1+n.Streams)))
	out.first = out.start + min(float64(w.Params.Chunk), bytes)/rate + half
	out.finish = max(out.start+busy, last) + half
	if len(f.From) > 0 {
		out.finish = max(out.finish, behind+(bytes-float64(free))/rate+half)
	}
	return out
}

// alone are the bytes that a node can send without waiting for others.
func (w *world) alone(f *Flow) int64 {
	sent := map[span]bool{}
	for _, p := range f.Sends {
		sent[p.span()] = true
	}
	sum := int64(0)
	for _, p := range f.Own {
		if sent[p.span()] {
			sum += p.Bytes
		}
	}
	return sum
}

// lane sums up a flow into the receiver.
func (w *world) lane(f *Flow) (lane, trip) {
	rtt := w.rtt(w.nodes[f.Node], w.nodes[f.To])
	t := w.trip(f, 1.5*rtt)
	l := lane{bytes: float64(f.Bytes), delay: t.start + rtt/2, rate: w.rate(w.nodes[f.Node], w.nodes[f.To])}
	if d := t.finish - l.delay; d > 0 && l.bytes > 0 {
		l.rate = min(l.rate, l.bytes/d)
	}
	return l, t
}

// work is the stored bytes that a flow's node folds: its own chains, and what it
// joins; and those of its first part.
func (w *world) work(f *Flow) (all, first float64) {
	for i, p := range f.Own {
		x := float64(w.piece(p.Shard).work(p.First, p.Until))
		all += x
		if i == 0 {
			first = x
		}
	}
	joined := f.joined()
	if len(joined) == 0 {
		return all, first
	}
	byShard := map[int][]Part{}
	for _, q := range f.inputs() {
		byShard[q.Shard] = append(byShard[q.Shard], q)
	}
	for _, p := range joined {
		for _, q := range byShard[p.Shard] {
			if q.within(p) {
				all += float64(q.Bytes)
			}
		}
	}
	return all, first
}

// drain is when the last of the lanes is through, if slots of them are open at a
// time, in order, and those share the downlink fairly: what one cannot use goes
// to the others.
func drain(lanes []lane, down, incast float64, slots int) float64 {
	type open struct {
		lane
		from float64
	}
	var now float64
	var live []*open
	for {
		for len(live) < slots && len(lanes) > 0 {
			live = append(live, &open{lane: lanes[0], from: now + lanes[0].delay})
			lanes = lanes[1:]
		}
		if len(live) == 0 {
			return now
		}
		var flowing []*open
		until := -1.0
		earliest := func(t float64) {
			if until < 0 || t < until {
				until = t
			}
		}
		for _, o := range live {
			if o.from > now {
				earliest(o.from)
			} else {
				flowing = append(flowing, o)
			}
		}
		slices.SortStableFunc(flowing, func(a, b *open) int { return cmp.Compare(a.rate, b.rate) })
		left := down / (1 + incast*float64(max(len(flowing)-1, 0)))
		given := make([]float64, len(flowing))
		for i, o := range flowing {
			given[i] = max(min(o.rate, left/float64(len(flowing)-i)), 1e-6)
			left -= given[i]
			earliest(now + o.bytes/given[i])
		}
		for i, o := range flowing {
			o.bytes -= given[i] * (until - now)
		}
		now = until
		live = slices.DeleteFunc(live, func(o *open) bool { return o.from <= now && o.bytes < 0.5 })
	}
}

// predict says what the flows of a mode take.
func (w *world) predict(mode Mode, flows []*Flow) Prediction {
	p := Prediction{Mode: mode, Limit: "links"}
	var lanes []lane
	var delay, holders, receiver, paths float64
	crossing := map[string]int64{}
	for _, f := range flows {
		if f.Node == w.Receiver.ID {
			work, _ := w.work(f)
			receiver += work/float64(w.Receiver.Fold) + w.installing(f, false)
			continue
		}
		l, trip := w.lane(f)
		lanes = append(lanes, l)
		delay, holders = max(delay, l.delay), max(holders, trip.fold)
		receiver += w.installing(f, mode == Tree && len(f.From) > 0)
		p.Bytes, p.Depth = p.Bytes+f.Bytes, max(p.Depth, trip.depth)
		f.walk(func(g *Flow) {
			p.Moved += g.Bytes
			if s := w.nodes[g.Node].Site; s != w.nodes[g.To].Site {
				crossing[s] += g.Bytes
			}
		})
	}
	for s, bytes := range crossing {
		if up := w.sites[s].Up; up > 0 {
			paths = max(paths, float64(bytes)/float64(up))
		}
	}
	want := len(lanes)
	if mode == Star {
		want = w.Params.StarFanin
	}
	slots := w.slots(want)
	down := float64(w.Receiver.Down) / float64(1+w.Receiver.Streams)
	links := drain(lanes, down, w.Receiver.Incast, slots)
	p.Streams = min(len(lanes), slots)
	p.incast = drain(lanes, down, 0, len(lanes)) < 0.95*links
	sum := max(links, delay+holders, delay+receiver, delay+paths)
	p.TotalMS, p.SetupMS, p.LinksMS = 1e3*sum, 1e3*delay, 1e3*(links-delay)
	p.HoldersMS, p.ReceiverMS, p.PathMS = 1e3*holders, 1e3*receiver, 1e3*paths
	switch sum {
	case delay + receiver:
		p.Limit = "receiver"
	case delay + paths:
		p.Limit = "path"
	case delay + holders:
		p.Limit = "holders"
	default:
		if p.SetupMS > p.LinksMS {
			p.Limit = "setup"
		}
	}
	return p
}

// installing is what the receiver's processors do with a flow: check, index, and
// fold what comes in pieces of a chain.
func (w *world) installing(f *Flow, merged bool) float64 {
	rate := w.Receiver.Install
	if merged {
		rate = w.Receiver.Load
	}
	seconds := float64(f.Bytes) / float64(rate)
	for _, p := range f.Sends {
		if p.Until-p.First < len(w.piece(p.Shard).Chain) {
			seconds += float64(p.Bytes) / float64(w.Receiver.Fold)
		}
	}
	return seconds
}
