package recovery

import (
	"slices"
	"time"
)

// chunk takes bytes of a part in, if they are the next ones, of the right version,
// and from the stream that is to bring them.
func (t *Tracker) chunk(c Chunk) {
	t.report.Bytes += max(c.Length, 0)
	f := t.flight(c.Stream)
	if f == nil {
		t.report.Wasted += max(c.Length, 0)
		return
	}
	if f.began {
		t.longest = max(t.longest, t.now.Sub(f.heard))
	}
	f.heard = t.now
	f.began = true
	t.sources[f.flow.Node] += max(c.Length, 0)
	if c.Version != t.plan.Version {
		t.blame(f, f.flow.Node, "it sent another version")
		return
	}
	i := slices.IndexFunc(f.parts, func(p *progress) bool { return p.span() == c.Part.span() })
	if i < 0 {
		// It was skipped while this was under way.
		t.report.Wasted += max(c.Length, 0)
		return
	}
	p := f.parts[i]
	if c.Offset < 0 || c.Length < 0 || c.Content.Size < 0 || c.Length > c.Content.Size-c.Offset || c.Length == 0 && c.Content.Size != 0 {
		t.blame(f, f.flow.Node, "it sent bytes outside of its object")
		return
	}
	if c.Offset == 0 && (p.got > 0 || p.content != c.Content) {
		t.forget(p)
		p.content = c.Content
	}
	if p.content != c.Content || c.Offset != p.got {
		t.blame(f, f.flow.Node, "it left a gap or changed its object")
		return
	}
	t.do(Keep{Part: p.Part, Offset: c.Offset, Length: c.Length})
	p.got += c.Length
	f.bytes += c.Length
	p.relayed = p.relayed || len(f.flow.From) > 0
	if n := len(p.carriers); n == 0 || p.carriers[n-1] != f.flow.Node {
		p.carriers = append(p.carriers, f.flow.Node)
	}
	if p.got == c.Content.Size {
		t.completed(f, p)
	}
}

// forget drops what is there of a part.
func (t *Tracker) forget(p *progress) {
	if p.got > 0 || p.complete {
		t.report.Wasted += p.got
		t.do(Discard{Part: p.Part})
		t.dirty = true
	}
	p.got, p.complete, p.relayed, p.carriers, p.content = 0, false, false, nil, Content{}
}

func (t *Tracker) completed(f *flight, p *progress) {
	p.complete, p.by = true, nil
	f.parts = slices.DeleteFunc(f.parts, func(q *progress) bool { return q == p })
	t.landed(f)
	s := t.shards[p.Shard]
	parts := t.covering(s)
	if parts == nil {
		return
	}
	in := Install{Shard: s.id}
	for _, q := range parts {
		in.Parts = append(in.Parts, q.Part)
		in.Contents = append(in.Contents, q.content)
	}
	s.state = installing
	t.do(in)
}

// landed takes a stream off that has brought all it had to. The shell needs no
// Cancel: the sender is at its end.
func (t *Tracker) landed(f *flight) {
	if len(f.parts) > 0 || f.id == 0 {
		return
	}
	t.remember(f)
	t.dirty = t.dirty || f.urgent // there may be more that is wanted
	t.flights = slices.DeleteFunc(t.flights, func(g *flight) bool { return g == f })
	if f.direct() {
		h := t.health(f.flow.Node)
		h.strikes, h.silent = 0, 0
	}
}

// remember keeps how fast a node was.
func (t *Tracker) remember(f *flight) {
	t.looked = time.Time{}
	if d := t.now.Sub(f.opened).Seconds(); d > 0 && f.bytes > 0 && len(f.flow.From) == 0 {
		t.health(f.flow.Node).rate = float64(f.bytes) / d
	}
}

// covering are the complete parts of a shard if together they are its chain.
func (t *Tracker) covering(s *recovering) []*progress {
	chain := len(t.w.piece(s.id).Chain)
	var out []*progress
	for at := 0; at < chain; {
		var next *progress
		for _, p := range s.parts {
			if p.complete && p.First == at && (next == nil || p.Until > next.Until) {
				next = p
			}
		}
		if next == nil {
			return nil
		}
		out = append(out, next)
		at = next.Until
	}
	return out
}

func (t *Tracker) installed(id int) {
	s := t.shards[id]
	if s == nil || s.state != installing {
		return
	}
	served := s.wanted
	s.state, s.wanted = installed, false
	if served {
		t.proceed()
	}
	s.parts = nil
	t.left--
	if t.left > 0 {
		return
	}
	// Streams that are still open bring what nobody needs.
	for len(t.flights) > 0 {
		t.release(t.flights[0], true)
	}
	t.queue, t.done = nil, true
	t.tellWaiting(nil)
	t.do(Done{})
}

// rejected fetches a shard anew: each of its chunks was good, the whole is not.
// If one node sent all
// of it, that is held to account; if several, one of them is to send it next time.
func (t *Tracker) rejected(id int) {
	s := t.shards[id]
	if s == nil || s.state != installing {
		return
	}
	s.state, t.dirty = fetching, true
	if s.empty {
		s.empty = false
		return
	}
	for _, p := range t.covering(s) {
		if len(p.carriers) == 1 && !p.relayed {
			t.fault(p.carriers[0], id)
		}
		if p.relayed {
			t.mode = Star
		}
		p.alone = true
		t.forget(p)
	}
	t.report.Replans++
	t.note("shard %d did not have its checksum as a whole and is fetched again", id)
}

// maxFaults is how often a node may send a shard that is damaged as a whole before
// it counts as not having it for suspectFor. Not for ever, since of a scattered
// chain nobody knows whose part it was.
const (
	maxFaults  = 2
	suspectFor = 5 * time.Second
)

func (t *Tracker) fault(node NodeID, shard int) {
	k := lack{node, shard}
	t.faults[k]++
	t.health(node).strikes++
	if t.faults[k] >= maxFaults {
		t.suspect[k] = t.now.Add(suspectFor)
		t.retry = append(t.retry, t.suspect[k])
	}
}

func (t *Tracker) startEmpty(id int) {
	s := t.shards[id]
	if s == nil || s.state != fetching || !slices.Contains(t.waiting, id) {
		return
	}
	for _, p := range t.partsOf(s) {
		t.forget(p)
		t.drop(p)
	}
	clear(s.parts)
	s.state, s.empty = installing, true
	t.dirty = true
	t.report.Emptied = append(t.report.Emptied, id)
	t.note("shard %d starts empty, as the operator said", id)
	t.do(Install{Shard: id})
}

// partsOf are the parts of a shard in order.
func (t *Tracker) partsOf(s *recovering) []*progress {
	var out []*progress
	for _, p := range s.parts {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *progress) int { return compareParts(a.Part, b.Part) })
	return out
}

// drop takes a part from whoever is to bring it.
func (t *Tracker) drop(p *progress) {
	f := p.by
	if f == nil {
		return
	}
	p.by = nil
	t.dirty = true
	f.parts = slices.DeleteFunc(f.parts, func(q *progress) bool { return q == p })
	if f.id != 0 {
		if len(f.parts) == 0 {
			t.release(f, true)
			return
		}
		t.do(Skip{Stream: f.id, Part: p.Part})
		return
	}
	if len(f.parts) == 0 {
		t.queue = slices.DeleteFunc(t.queue, func(g *flight) bool { return g == f })
	}
}
