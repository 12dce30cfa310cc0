package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

// ringStream is one stream into a recovering task.
type ringStream struct {
	l     *ringLoad
	id    recovery.StreamID
	skip  map[partKey]bool
	ended bool // nobody listens any more
}

// ringHop is one node's part in a stream: it sends its own and what comes from
// those below.
type ringHop struct {
	w     *ringWorld
	st    *ringStream
	host  *ringHost
	life  *life // of the node
	flow  *recovery.Flow
	up    *ringHop // nil: the task itself
	jobs  []*hopJob
	queue []hopFrame
	busy  bool
	dead  bool // its connection is
	done  bool // all is sent, or never can be
	sent  bool // something is
	came  map[partKey]*partBytes
}

// hopJob is one part that a hop has to send.
type hopJob struct {
	order  recovery.Order
	pieces []recovery.Part
	bytes  map[partKey][]byte
	over   bool
}

type frameKind uint8

const (
	chunkFrame frameKind = iota
	lacksFrame
	brokenFrame
	endFrame
)

type hopFrame struct {
	kind    frameKind
	part    recovery.Part
	content recovery.Content
	offset  int64
	data    []byte
	node    shard.NodeID
	shard   int
}

// open sends the request of a stream on its way.
func (w *ringWorld) open(l *ringLoad, c recovery.Open) {
	st := &ringStream{l: l, id: c.Stream, skip: make(map[partKey]bool)}
	l.streams[c.Stream] = st
	if c.Version != l.ver {
		w.broken("task %d asks for version %d of %d", l.t.id, c.Version, l.ver)
	}
	w.connect(st, nil, l.t.host, c.Flow, c.Orders)
}

func (w *ringWorld) connect(st *ringStream, up *ringHop, from *ringHost, flow *recovery.Flow, orders []recovery.Order) {
	to := w.host(flow.Node)
	if to.node == nil && w.chance(2) { // refused
		w.after(w.millis(1, 5), func() { w.hand(up, st, hopFrame{kind: brokenFrame, node: to.id}) })
		return
	}
	w.post(from, to, func() {
		if st.ended || st.l.life.ended() {
			return
		}
		h := &ringHop{w: w, st: st, host: to, life: to.node, flow: flow, up: up, came: make(map[partKey]*partBytes)}
		to.hops = append(slices.DeleteFunc(to.hops, func(o *ringHop) bool { return o.st.ended || o.st.l.life.ended() }), h)
		h.begin(orders)
	})
}

// hand gives a frame to a hop, or to the task if there is none.
func (w *ringWorld) hand(up *ringHop, st *ringStream, f hopFrame) {
	switch {
	case st.ended || st.l.life.ended():
	case up != nil:
		up.take(f)
	default:
		w.hear(st, f)
	}
}

// hear is what the task does with a frame.
func (w *ringWorld) hear(st *ringStream, f hopFrame) {
	l := st.l
	switch f.kind {
	case chunkFrame:
		if w.fault(400) {
			w.track(l, recovery.Corrupt{Stream: st.id, Part: f.part}, nil)
			return
		}
		p := f.part
		p.Bytes = 0
		w.track(l, recovery.Chunk{
			Stream: st.id, Version: l.ver, Part: p, Content: f.content, Offset: f.offset, Length: int64(len(f.data)),
		}, f.data)
	case lacksFrame:
		w.track(l, recovery.Lacks{Stream: st.id, Node: f.node, Shard: f.shard}, nil)
	case brokenFrame:
		w.track(l, recovery.Broken{Stream: st.id, Node: f.node, Cause: "reset"}, nil)
	case endFrame:
		w.track(l, recovery.Ended{Stream: st.id}, nil)
	}
}

func within(p, q recovery.Part) bool {
	return p.Shard == q.Shard && q.First <= p.First && p.Until <= q.Until
}

// begin reads what is here and asks those below for the rest.
func (h *ringHop) begin(orders []recovery.Order) {
	w := h.w
	below := make([][]recovery.Order, len(h.flow.From))
	for _, o := range orders {
		j := &hopJob{order: o, bytes: make(map[partKey][]byte)}
		h.jobs = append(h.jobs, j)
		for _, p := range h.flow.Own {
			if !within(p, o.Part) || j.over {
				continue
			}
			j.pieces = append(j.pieces, p)
			b := w.readPart(h.host, h.st.l, p)
			if b == nil {
				j.over = true
				h.send(hopFrame{kind: lacksFrame, node: h.host.id, shard: p.Shard})
				break
			}
			j.bytes[keyOf(p)] = b
		}
		for i, child := range h.flow.From {
			for _, p := range child.Sends {
				if within(p, o.Part) && !j.over {
					j.pieces = append(j.pieces, p)
					below[i] = append(below[i], recovery.Order{Part: p})
				}
			}
		}
	}
	for i, child := range h.flow.From {
		if len(below[i]) > 0 {
			w.connect(h.st, h, h.host, child, below[i])
		}
	}
	h.progress()
}

// readPart is a run of a chain as one part, as a node has it.
func (w *ringWorld) readPart(h *ringHost, l *ringLoad, p recovery.Part) []byte {
	var raw [][]byte
	for _, ref := range l.m.Shards[p.Shard][p.First:p.Until] {
		if w.cfg.Bug == "mixes versions" && w.rng.IntN(30) == 0 {
			if newer := h.newest(ref); newer != nil {
				raw = append(raw, newer)
				continue
			}
		}
		b := h.read(ref)
		if b == nil {
			return nil
		}
		raw = append(raw, b)
	}
	b, err := protocol.JoinParts(w.codec, raw)
	if err != nil {
		w.broken("a part of %v at %s: %v", l.t.owner, h.id, err)
		return nil
	}
	return b
}

// newest is a newer object of the same shard and kind.
func (h *ringHost) newest(ref shard.Ref) []byte {
	for _, c := range slices.Backward(h.disk.of(ref.Owner).copies) {
		if c.ref.Range == ref.Range && c.ref.Kind == ref.Kind && c.ref.Version > ref.Version {
			return c.stored
		}
	}
	return nil
}

// take is what a relay does with what comes from below.
func (h *ringHop) take(f hopFrame) {
	if h.dead || h.life.ended() {
		return
	}
	switch f.kind {
	case chunkFrame:
		p := h.came[keyOf(f.part)]
		if p == nil || f.offset == 0 {
			p = &partBytes{content: f.content}
			h.came[keyOf(f.part)] = p
		}
		if f.offset != int64(len(p.data)) || f.content != p.content {
			h.send(hopFrame{kind: brokenFrame, node: h.host.id})
			return
		}
		p.data = append(p.data, f.data...)
		if int64(len(p.data)) == f.content.Size {
			if sumOf(p.data) != f.content.Sum {
				h.send(hopFrame{kind: brokenFrame, node: h.host.id})
				return
			}
			for _, j := range h.jobs {
				if within(f.part, j.order.Part) {
					j.bytes[keyOf(f.part)] = p.data
				}
			}
		}
	case lacksFrame:
		for _, j := range h.jobs {
			j.over = j.over || j.order.Part.Shard == f.shard
		}
		h.send(f)
	case brokenFrame:
		h.send(f)
	case endFrame:
	}
	h.progress()
}

// progress sends what is complete.
func (h *ringHop) progress() {
	w := h.w
	all := true
	for _, j := range h.jobs {
		if j.over {
			continue
		}
		slices.SortFunc(j.pieces, func(a, b recovery.Part) int { return cmp.Compare(a.First, b.First) })
		var raw [][]byte
		for _, p := range j.pieces {
			if b := j.bytes[keyOf(p)]; b != nil {
				raw = append(raw, b)
			}
		}
		if len(raw) < len(j.pieces) || len(raw) == 0 {
			all = false
			continue
		}
		j.over = true
		b, err := protocol.JoinParts(w.codec, raw)
		if err != nil {
			w.broken("relay %s: %v", h.host.id, err)
			return
		}
		h.sendPart(j.order, b)
	}
	if all && !h.done {
		h.done = true
		h.send(hopFrame{kind: endFrame})
	}
}

const chunkBytes = 160

func (h *ringHop) sendPart(o recovery.Order, b []byte) {
	content := recovery.Content{Sum: sumOf(b), Size: int64(len(b))}
	if h.w.fault(150) { // what is sent is not what was read
		b = slices.Clone(b)
		b[h.w.rng.IntN(len(b))] ^= 1 << h.w.rng.IntN(8)
	}
	at := int64(0)
	if o.Content == content {
		at = o.Offset
	}
	for at < content.Size {
		until := min(at+chunkBytes, content.Size)
		h.send(hopFrame{kind: chunkFrame, part: o.Part, content: content, offset: at, data: b[at:until]})
		at = until
	}
}

// send queues a frame.
func (h *ringHop) send(f hopFrame) {
	h.queue = append(h.queue, f)
	if !h.busy {
		h.busy = true
		h.pump()
	}
}

// pump sends the frames one after the other.
func (h *ringHop) pump() {
	w := h.w
	if len(h.queue) == 0 || h.dead || h.st.ended {
		h.busy = false
		return
	}
	if len(h.queue) > 1 && w.fault(400) { // overtaken
		h.queue[0], h.queue[1] = h.queue[1], h.queue[0]
	}
	f := h.queue[0]
	if !w.fault(400) { // else it comes twice
		h.queue = h.queue[1:]
	}
	if w.fault(400) { // lost
		h.pump()
		return
	}
	wait := time.Duration(200+w.rng.IntN(1500)) * time.Microsecond
	if h.host.slow > 0 {
		wait = h.host.slow / 4
		if !h.sent {
			h.sent, wait = true, h.host.slow
		}
	}
	w.on(h.life, wait, func() {
		to := h.st.l.t.host
		if h.up != nil {
			to = h.up.host
		}
		skipped := f.kind == chunkFrame && h.up == nil && h.st.skip[keyOf(f.part)]
		if !w.reach(h.host, to) {
			h.dead = true // silence; the deadline tells
			return
		}
		if !skipped {
			if h.up != nil {
				w.on(h.up.life, time.Millisecond, func() { w.hand(h.up, h.st, f) })
			} else {
				w.on(h.st.l.life, time.Millisecond, func() { w.hand(h.up, h.st, f) })
			}
		}
		h.pump()
	})
}

// breakStreams is what others see of a node that ended: a reset, or nothing.
func (w *ringWorld) breakStreams(host *ringHost) {
	for _, h := range host.hops {
		h.dead = true
		if !h.st.ended && !h.st.l.life.ended() && !w.chance(3) {
			w.after(w.millis(1, 20), func() { w.hand(h.up, h.st, hopFrame{kind: brokenFrame, node: host.id}) })
		}
	}
	host.hops = nil
}
