package recovery

import "time"

const (
	// leastStall is the shortest silence that means something while others are
	// heard; with nobody to compare with, or relays on the way, it is aloneStall:
	// the trouble may be here, or further behind.
	leastStall = 500 * time.Millisecond
	aloneStall = time.Second
	// gaps is how many times as long as the longest time between two chunks until
	// then a silence must be; but Params.Stall is enough for that.
	gaps = 4
)

// HopStall is how much sooner each relay gives up those behind it than it would be
// given up itself.
const HopStall = 150 * time.Millisecond

// height is how many nodes are behind a flow's node, along the longest way.
func (f *Flow) height() int {
	h := 0
	for _, from := range f.From {
		h = max(h, 1+from.height())
	}
	return h
}

// A stream may be this many times slower than its share of the links says, since
// streams share them unfairly; pauses of relays are known better.
const (
	unfair = 8
	unsure = 3
	rounds = 4 // in which a lost packet is sent again
)

// patience is how long a flow may be silent once it has begun, if rate is what it
// should bring.
func (w *world) patience(f *Flow, rate float64) time.Duration {
	if !w.measured {
		return w.Params.Stall
	}
	gap := unfair * float64(w.Params.Chunk) / max(rate, 1)
	round := 0.0
	f.walk(func(g *Flow) {
		round += w.rtt(w.nodes[g.Node], w.nodes[g.To])
		gap = max(gap, unsure*w.pause(g))
	})
	return max(leastStall, seconds(rounds*round+gap)) + time.Duration(f.height())*HopStall
}

// pause is the longest time between two chunks that a flow's node sends: while it
// folds a part, or waits for all of one that is to be joined.
func (w *world) pause(f *Flow) float64 {
	n := w.nodes[f.Node]
	longest := 0.0
	for _, p := range f.Own {
		longest = max(longest, float64(w.piece(p.Shard).work(p.First, p.Until))/float64(n.Fold))
	}
	for _, p := range f.Sends {
		if in := w.inbound(f, p); in > 0 {
			longest = max(longest, in+float64(p.Bytes)/w.rate(n, w.nodes[f.To]))
		}
	}
	return longest
}

// inbound is how long the node of f waits for what a part of it is joined of, and
// folds, once that is on its way; 0 if nothing is joined.
func (w *world) inbound(f *Flow, p Part) float64 {
	n := w.nodes[f.Node]
	work, pieces, slowest := 0.0, 0, 0.0
	within := func(q Part) bool { return q.Shard == p.Shard && q.First >= p.First && q.Until <= p.Until }
	for _, q := range f.Own {
		if within(q) {
			work, pieces = work+float64(q.Bytes), pieces+1
		}
	}
	for _, from := range f.From {
		for _, q := range from.Sends {
			if within(q) {
				work, pieces = work+float64(q.Bytes), pieces+1
				slowest = max(slowest, float64(q.Bytes)/w.rate(w.nodes[from.Node], n))
			}
		}
	}
	if pieces < 2 {
		return 0
	}
	return slowest + work/float64(n.Fold)
}

// deadline is when a silent stream is given up. Before its first byte it may take
// as long as the model says, on top; and twice as long each time that its node was
// given up for silence, which may only be slow.
func (t *Tracker) deadline(f *flight) time.Time {
	d := max(f.stall, min(gaps*t.longest, t.w.Params.Stall))
	if (!t.comparable(f) || !f.direct()) && t.w.measured {
		d = max(d, aloneStall)
	}
	if f.direct() {
		d <<= min(t.health(f.flow.Node).silent, maxPatience)
	}
	if !f.began || !f.direct() {
		d += f.grace
	}
	return f.heard.Add(d)
}

// comparable tells whether another stream was heard since this one was.
func (t *Tracker) comparable(f *flight) bool {
	for _, g := range t.flights {
		if g != f && g.began && g.heard.Sub(f.heard) > leastStall/2 {
			return true
		}
	}
	return false
}

// late is how late the shell may be before its lateness counts as a pause of this
// process, in which nobody could be heard.
const late = 50 * time.Millisecond

// advance moves the clock. While this process stood still, senders may have been
// heard without its knowing.
func (t *Tracker) advance(now time.Time) {
	if !now.After(t.now) {
		return
	}
	if t.now.IsZero() && t.w.Params.Hold > 0 {
		t.hold = now.Add(t.w.Params.Hold)
	}
	if lost := now.Sub(t.due); !t.due.IsZero() && lost > late {
		for _, f := range t.flights {
			f.heard = f.heard.Add(min(lost, now.Sub(f.heard)))
		}
	}
	for _, f := range t.flights {
		if until := earlier(now, t.aside); !f.urgent && until.After(f.heard) {
			f.heard = until
		}
	}
	t.due = time.Time{} // the shell asks anew
	t.now = now
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// AsideFor is how long the shell may leave streams unread while a task waits for
// a shard that they do not bring.
const AsideFor = 150 * time.Millisecond

// wanted lets a shard go first.
func (t *Tracker) wanted(id int) {
	s := t.shards[id]
	if s == nil || s.state != fetching {
		return
	}
	s.wanted, t.dirty = true, true
	t.aside = t.now.Add(AsideFor)
	if !t.hold.IsZero() {
		t.hold = t.now.Add(t.w.Params.Hold)
	}
}

// proceed opens everything, unless a shard is wanted that is not there yet.
func (t *Tracker) proceed() {
	for _, s := range t.shards {
		if s.wanted {
			return
		}
	}
	t.hold = time.Time{}
}

// held tells whether only what is wanted may be opened.
func (t *Tracker) held() bool {
	if !t.now.Before(t.hold) {
		t.hold = time.Time{}
	}
	return !t.hold.IsZero()
}
