package recovery

import (
	"cmp"
	"slices"
)

// within tells whether a part is some of another.
func (p Part) within(of Part) bool {
	return p.Shard == of.Shard && p.First >= of.First && p.Until <= of.Until
}

// inputs are what a flow's node has and takes in.
func (f *Flow) inputs() []Part {
	all := slices.Clone(f.Own)
	for _, from := range f.From {
		all = append(all, from.Sends...)
	}
	return all
}

// joined are the parts that a flow's node makes of several.
func (f *Flow) joined() []Part {
	if len(f.From) == 0 {
		return nil
	}
	is := map[span]bool{}
	for _, p := range f.inputs() {
		is[p.span()] = true
	}
	var out []Part
	for _, p := range f.Sends {
		if !is[p.span()] {
			out = append(out, p)
		}
	}
	return out
}

// joinsBelow tells whether anything is joined at the flow's node or behind it.
func (f *Flow) joinsBelow() bool {
	return len(f.joined()) > 0 || slices.ContainsFunc(f.From, (*Flow).joinsBelow)
}

// timed is a part, with when its first chunk and its last byte are there: at the
// node that is to send it, or at the one that it was sent to.
type timed struct {
	Part
	from, until float64
}

// joining is the trip of a flow in which parts are joined on the way. A node has to
// have all of what it joins as a whole, so it matters when each part is where.
func (w *world) joining(f *Flow, request float64) trip {
	n, to := w.nodes[f.Node], w.nodes[f.To]
	out := trip{depth: f.height() + 1}
	parts := w.schedule(f, request)
	for i, p := range parts {
		if i == 0 || p.from < out.first {
			out.first = p.from
		}
		out.finish = max(out.finish, p.until)
	}
	half, inbound := w.rtt(n, to)/2, 0.0
	for _, from := range f.From {
		inbound += float64(from.Bytes)
	}
	out.start = max(out.first-half-float64(w.Params.Chunk)/w.rate(n, to), request)
	out.finish = max(out.finish, out.start+inbound/(float64(n.Down)/float64(1+n.Streams))+half)
	f.walk(func(g *Flow) {
		work, _ := w.work(g)
		out.fold = max(out.fold, work/float64(w.nodes[g.Node].Fold))
	})
	return out
}

// schedule says when the parts that a flow sends arrive. What comes from behind and
// what was joined goes before the node's own, of which it goes in between.
func (w *world) schedule(f *Flow, request float64) []timed {
	n := w.nodes[f.Node]
	own, passing := w.supply(f, request)
	link := uplink{now: request, rate: w.rate(n, w.nodes[f.To]), half: w.rtt(n, w.nodes[f.To]) / 2, chunk: float64(w.Params.Chunk)}
	slices.SortStableFunc(passing, func(a, b timed) int { return cmp.Compare(a.from, b.from) })
	var out []timed
	for len(own)+len(passing) > 0 {
		next := len(passing) > 0 && (len(own) == 0 || passing[0].from <= max(link.now, own[0].ready))
		if next {
			out = append(out, link.pass(passing[0]))
			passing = passing[1:]
			continue
		}
		if link.add(&own[0]); own[0].left == 0 {
			out = append(out, own[0].timed)
			own = own[1:]
		}
	}
	return out
}

// supply is what a flow's node has to send: its own, in order, and what comes or is
// joined.
func (w *world) supply(f *Flow, request float64) (own []adding, passing []timed) {
	n := w.nodes[f.Node]
	sent := map[span]bool{}
	for _, p := range f.Sends {
		sent[p.span()] = true
	}
	var inputs []timed
	read := request
	for _, p := range f.Own {
		read += float64(w.piece(p.Shard).work(p.First, p.Until)) / float64(n.Fold)
		t := timed{Part: p, from: read, until: read}
		if sent[p.span()] {
			own = append(own, adding{timed: t, ready: read, left: float64(p.Bytes)})
		} else {
			inputs = append(inputs, t)
		}
	}
	for _, from := range f.From {
		for _, t := range w.schedule(from, request+w.rtt(w.nodes[from.Node], n)) {
			if sent[t.span()] {
				passing = append(passing, t)
			} else {
				inputs = append(inputs, t)
			}
		}
	}
	byShard := map[int][]timed{}
	for _, in := range inputs {
		byShard[in.Shard] = append(byShard[in.Shard], in)
	}
	var whole []timed
	for _, p := range f.joined() {
		t, bytes := timed{Part: p}, 0.0
		for _, in := range byShard[p.Shard] {
			if in.within(p) {
				t.until, bytes = max(t.until, in.until), bytes+float64(in.Bytes)
			}
		}
		t.from = bytes / float64(n.Fold) // for now, what it takes
		whole = append(whole, t)
	}
	slices.SortStableFunc(whole, func(a, b timed) int { return cmp.Compare(a.until, b.until) })
	free := request
	for _, t := range whole {
		free = max(free, t.until) + t.from
		t.from, t.until = free, free
		passing = append(passing, t)
	}
	return own, passing
}

// adding is a part of the node's own of which some bytes are left to send.
type adding struct {
	timed
	ready, left float64
}

// uplink is what a node sends on.
type uplink struct {
	now, rate, half, chunk float64
}

// pass sends a part as it comes. While the link waits for it, it takes others.
func (l *uplink) pass(p timed) timed {
	began := max(l.now, p.from)
	first := min(l.chunk, float64(p.Bytes)) / l.rate
	l.now = began + float64(p.Bytes)/l.rate
	return timed{Part: p.Part, from: began + first + l.half, until: max(l.now, p.until+first) + l.half}
}

// add sends the next chunk of a part.
func (l *uplink) add(p *adding) {
	size := min(l.chunk, p.left)
	l.now = max(l.now, p.ready) + size/l.rate
	if p.left == float64(p.Bytes) {
		p.from = l.now + l.half
	}
	p.left -= size
	p.until = l.now + l.half
}
