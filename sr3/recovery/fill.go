package recovery

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// fill gives every part that nobody brings to somebody, opens what may be open,
// and lets idle streams take over.
func (t *Tracker) fill() {
	served := slices.DeleteFunc(t.retry, func(at time.Time) bool { return !at.After(t.now) })
	t.dirty = t.dirty || len(served) < len(t.retry)
	t.retry = served
	if t.dirty {
		t.dirty = false
		t.assign()
		t.hurry()
	}
	if t.held() {
		return
	}
	t.open()
	if t.now.Sub(t.looked) >= settle/5 {
		t.looked = t.now
		t.steal()
	}
}

// may says whether a node can be asked for a shard now.
func (t *Tracker) may(id NodeID, shard int) bool {
	return t.alive(id, shard) && !t.health(id).until.After(t.now)
}

// alive says whether a node is thought to have a shard, whatever it failed before.
func (t *Tracker) alive(id NodeID, shard int) bool {
	return !t.health(id).dead && !t.lacking[lack{id, shard}] && !t.suspect[lack{id, shard}].After(t.now)
}

// assign finds senders for the parts that have none, and says which shards have
// no living copy at all.
func (t *Tracker) assign() {
	var items []item
	var waiting []int
	for _, id := range t.order {
		s := t.shards[id]
		if s.state != fetching {
			continue
		}
		found, ok := t.need(s)
		if !ok {
			waiting = append(waiting, id)
		}
		items = append(items, found...)
	}
	t.tellWaiting(waiting)
	if len(items) == 0 {
		return
	}
	for i := range items {
		items[i].holders = t.trusted(items[i].holders)
	}
	mode := t.mode
	if total64(items) <= t.w.Params.StarMaxBytes/4 && t.report.Replans > 0 {
		mode = Star // too little to be worth a chain
	}
	for _, f := range t.w.build(mode, t.w.keepLocal(items), t.busy()) {
		if err := t.enlist(f); err != nil {
			panic(err) // Made from our own shards.
		}
	}
}

func total64(items []item) int64 {
	sum := int64(0)
	for _, it := range items {
		sum += it.Bytes
	}
	return sum
}

// need lists what nobody brings of a shard, as far as somebody can be asked now.
// ok is false if some of it has no living holder.
func (t *Tracker) need(s *recovering) (items []item, ok bool) {
	p := t.w.piece(s.id)
	ok = true
	at := 0
	for _, pr := range t.partsOf(s) {
		if pr.First < at {
			t.superfluous(s, pr)
			continue
		}
		if pr.complete || pr.by != nil {
			gap, there := t.gap(p, at, pr.First)
			items, ok = append(items, gap...), ok && there
			at = pr.Until
			continue
		}
		if len(p.holdersOf(pr.span(), t.alive)) == 0 {
			// Nobody can go on with it: its place is filled in another way.
			t.forget(pr)
			delete(s.parts, pr.span())
			continue
		}
		gap, there := t.gap(p, at, pr.First)
		items, ok = append(items, gap...), ok && there
		at = pr.Until
		if now := p.holdersOf(pr.span(), t.may); len(now) > 0 {
			items = append(items, item{Part: pr.Part, work: p.work(pr.First, pr.Until), holders: now})
		}
	}
	gap, there := t.gap(p, at, len(p.Chain))
	return append(items, gap...), ok && there
}

// gap covers [first, until) anew; parts that can be asked for only later are left
// out, but are no reason to wait for a holder.
func (t *Tracker) gap(p *Piece, first, until int) (items []item, ok bool) {
	if first >= until {
		return nil, true
	}
	if _, ok := p.cover(first, until, t.alive); !ok {
		return nil, false
	}
	items, whole := p.cover(first, until, t.may)
	if !whole {
		return nil, true
	}
	return items, true
}

// superfluous drops a part that lies within what others bring.
func (t *Tracker) superfluous(s *recovering, p *progress) {
	t.forget(p)
	t.drop(p)
	delete(s.parts, p.span())
}

// trusted leaves only the holders with the fewest failures: who fails again and
// again is asked last.
func (t *Tracker) trusted(holders []NodeID) []NodeID {
	fewest := -1
	for _, id := range holders {
		if n := t.health(id).strikes; fewest < 0 || n < fewest {
			fewest = n
		}
	}
	return slices.DeleteFunc(slices.Clone(holders), func(id NodeID) bool { return t.health(id).strikes > fewest })
}

// busy is how many seconds the nodes need for what they were asked already.
func (t *Tracker) busy() map[NodeID]float64 {
	out := map[NodeID]float64{}
	for _, f := range slices.Concat(t.flights, t.queue) {
		rest := 0.0
		for _, p := range f.parts {
			rest += float64(max(p.Bytes-p.got, 0))
		}
		out[f.flow.Node] += rest / t.w.rate(t.w.nodes[f.flow.Node], t.w.Receiver.Node)
	}
	return out
}

func (t *Tracker) tellWaiting(waiting []int) {
	if slices.Equal(waiting, t.waiting) {
		return
	}
	t.waiting = waiting
	t.do(Wait{Shards: slices.Clone(waiting)})
	if len(waiting) > 0 {
		t.note("no living copy is known of shards %s; waiting for a holder", ranges(waiting))
	}
}

// open opens streams as long as there may be more.
func (t *Tracker) open() {
	for i := 0; i < len(t.queue); {
		f := t.queue[i]
		local := f.flow.Node == t.w.Receiver.ID
		if !local && t.streaming() >= t.slots() {
			i++
			continue
		}
		t.queue = slices.Delete(t.queue, i, i+1)
		t.start(f)
	}
}

// slots is how many streams from others may be open.
func (t *Tracker) slots() int {
	if t.mode == Star {
		return t.w.slots(t.w.Params.StarFanin)
	}
	return t.w.slots(max(t.plan.Streams, 1))
}

func (t *Tracker) streaming() int {
	n := 0
	for _, f := range t.flights {
		if f.flow.Node != t.w.Receiver.ID && !f.urgent {
			n++
		}
	}
	return n
}

func (t *Tracker) start(f *flight) {
	t.nextID++
	f.id, f.opened, f.heard = t.nextID, t.now, t.now
	l, trip := t.w.lane(f.flow)
	f.grace = seconds(2 * trip.first)
	f.stall = t.w.patience(f.flow, min(l.rate, float64(t.w.Receiver.Down)/float64(t.slots()*(1+t.w.Receiver.Streams))))
	if len(f.flow.From) > 0 {
		expected := l.delay + l.bytes/min(l.rate, float64(t.w.Receiver.Down)/float64(t.slots()*(1+t.w.Receiver.Streams)))
		f.overdue = t.now.Add(seconds(4*expected) + t.w.Params.Stall)
	}
	o := Open{Stream: f.id, Flow: f.flow, Version: t.plan.Version, Urgent: f.urgent, Stall: t.deadline(f).Sub(f.heard)}
	for _, p := range f.parts {
		if p.alone && p.got > 0 {
			t.forget(p)
		}
		o.Orders = append(o.Orders, Order{Part: p.Part, Content: p.content, Offset: p.got})
	}
	t.flights = append(t.flights, f)
	t.do(o)
}

// maxUrgent bounds the streams for shards that tasks wait for; they come on top of
// the slots, since they are short.
const maxUrgent = 4

// hurry fetches the shards that tasks wait for on streams of their own, unless
// they are the next thing that comes anyway.
func (t *Tracker) hurry() {
	open := 0
	for _, f := range t.flights {
		if f.urgent {
			open++
		}
	}
	batches := map[NodeID][]*progress{}
	for _, id := range t.order {
		s := t.shards[id]
		if !s.wanted || s.state != fetching {
			continue
		}
		for _, p := range t.partsOf(s) {
			if p.complete || p.by == nil || p.by.urgent || p.got > 0 || t.isNext(p) {
				continue
			}
			if node, ok := t.quickest(p, batches); ok && (batches[node] != nil || open+len(batches) < maxUrgent) {
				batches[node] = append(batches[node], p)
			}
		}
	}
	for _, node := range slices.Sorted(maps.Keys(batches)) {
		t.fetch(node, batches[node], true)
	}
}

// isNext reports whether the part is the first of an open stream.
func (t *Tracker) isNext(p *progress) bool {
	return p.by.id != 0 && len(p.by.flow.From) == 0 && p.by.parts[0] == p
}

// quickest is the holder that would be done with the part first.
func (t *Tracker) quickest(p *progress, batches map[NodeID][]*progress) (NodeID, bool) {
	holders := t.w.piece(p.Shard).holdersOf(p.span(), t.may)
	if len(holders) == 0 {
		return "", false
	}
	streams := map[NodeID]int{}
	for _, f := range t.flights {
		streams[f.flow.Node]++
	}
	return slices.MinFunc(t.trusted(holders), func(a, b NodeID) int {
		return cmp.Or(cmp.Compare(streams[a]+len(batches[a]), streams[b]+len(batches[b])), cmp.Compare(a, b))
	}), true
}

// fetch moves parts to a new stream straight from node.
func (t *Tracker) fetch(node NodeID, parts []*progress, urgent bool) *flight {
	flow := &Flow{Node: node, To: t.w.Receiver.ID}
	f := &flight{flow: flow, urgent: urgent}
	for _, p := range parts {
		t.drop(p)
		p.by = f
		flow.Own = append(flow.Own, p.Part)
	}
	f.parts = parts
	t.w.seal(flow)
	t.start(f)
	return f
}
