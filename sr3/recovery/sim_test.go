package recovery

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// sim is a receiver with its tracker, and senders with links, disks and faults,
// under a simulated clock. Chunks queue at the sender's uplink, travel, queue at
// the downlink; a connection has a window; relays pass on what has come.
type sim struct {
	t       testing.TB
	seed    uint64
	rng     *rand.Rand
	w       *world
	tr      *Tracker
	now     float64 // seconds
	events  simHeap
	seq     int
	nodes   map[NodeID]*simNode
	streams map[StreamID]*simStream
	kept    map[span]*simKept
	shards  map[int]int // times installed
	emptied map[int]bool
	cpu     float64 // when the receiver's processors are free
	tickAt  float64
	done    float64
	steps   int
	trace   []string
	faulty  bool // until healed
	waits   []int
	bytes   int64
}

type simNode struct {
	Node
	free     map[string]float64 // "up", "down", "fold": when it is free
	dead     bool
	frozen   bool
	slow     float64 // its uplink is that many times slower; 0 is not
	corrupt  float64 // probability of a bad chunk
	variant  uint64  // folds to bytes of its own
	zombie   bool    // sends another version
	lacks    map[int]bool
	damaged  map[int]bool // bad as a whole, unnoticed by itself
	unstable bool         // had a fault of any kind
	rotten   bool         // had damaged shards
}

type simKept struct {
	content Content
	got     int64
	bad     bool
}

type simStream struct {
	id    StreamID
	flow  *Flow
	head  *simHop
	ended bool
	hops  []*simHop
}

type simHop struct {
	s        *simStream
	n        *simNode
	up       *simHop // nil: the receiver
	out      []*simOut
	inflight int64
	waiting  bool
}

type simOut struct {
	part    Part
	content Content
	sent    int64
	skip    bool
	ready   float64 // own bytes are folded
	inputs  []*simInput
	joined  bool    // it is made of several, which must be there as a whole
	work    float64 // seconds of folding for that
}

type simInput struct{ got, size int64 }

type simEvent struct {
	at  float64
	seq int
	do  func()
}

type simHeap []simEvent

func (h simHeap) Len() int { return len(h) }
func (h simHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h simHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *simHeap) Push(x any)   { *h = append(*h, x.(simEvent)) }
func (h *simHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

var simEpoch = time.Unix(1_000_000, 0)

func newSim(tb testing.TB, in Input, seed uint64) (*sim, *Plan) {
	tb.Helper()
	p, err := Make(in)
	if err != nil {
		tb.Fatal(err)
	}
	tr, err := NewTracker(in, p)
	if err != nil {
		tb.Fatal(err)
	}
	w, _ := newWorld(in)
	s := &sim{
		t: tb, seed: seed, rng: rand.New(rand.NewPCG(seed, 77)), w: w, tr: tr,
		nodes: map[NodeID]*simNode{}, streams: map[StreamID]*simStream{}, kept: map[span]*simKept{},
		shards: map[int]int{}, emptied: map[int]bool{}, done: -1, tickAt: -1,
	}
	for id, n := range w.nodes {
		s.nodes[id] = &simNode{Node: n, free: map[string]float64{}, lacks: map[int]bool{}, damaged: map[int]bool{}}
	}
	return s, p
}

func (s *sim) fail(format string, args ...any) {
	s.t.Helper()
	from := max(0, len(s.trace)-40)
	for _, l := range s.trace[from:] {
		s.t.Log(l)
	}
	s.t.Fatalf("seed %d at %.3f s: %s", s.seed, s.now, fmt.Sprintf(format, args...))
}

func (s *sim) at(at float64, do func()) {
	s.seq++
	heap.Push(&s.events, simEvent{max(at, s.now), s.seq, do})
}

// run until the tracker is done or nothing happens before limit.
func (s *sim) run(limit float64) {
	s.feed(Tick{})
	for s.done < 0 && len(s.events) > 0 && s.events[0].at <= limit {
		e := heap.Pop(&s.events).(simEvent)
		s.now = e.at
		if s.steps++; s.steps > 3_000_000 {
			s.fail("does not end")
		}
		e.do()
	}
}

func (s *sim) clock() time.Time { return simEpoch.Add(time.Duration(s.now * 1e9)) }

func (s *sim) feed(e Event) {
	if s.done >= 0 {
		return
	}
	if _, chunk := e.(Chunk); !chunk {
		s.trace = append(s.trace, fmt.Sprintf("%.3f %T%+v", s.now, e, e))
	}
	for _, c := range s.tr.Handle(s.clock(), e) {
		s.perform(c, e)
	}
	if at, ok := s.tr.Next(); ok {
		// Half a microsecond later, so that rounding never brings a Tick too early.
		x := at.Sub(simEpoch).Seconds() + 5e-7
		if s.tickAt < s.now || x < s.tickAt {
			s.tickAt = max(x, s.now+1e-6)
			mine := s.tickAt
			s.at(mine, func() {
				if s.tickAt == mine {
					s.tickAt = -1
					s.feed(Tick{})
				}
			})
		}
	}
}

func (s *sim) perform(c Command, cause Event) {
	if _, keep := c.(Keep); !keep {
		what := fmt.Sprintf("%T%+v", c, c)
		if o, is := c.(Open); is {
			what = fmt.Sprintf("Open %d of %v %+v", o.Stream, o.Flow.nodesOf(), o.Orders)
		}
		s.trace = append(s.trace, fmt.Sprintf("%.3f   -> %s", s.now, what))
	}
	switch c := c.(type) {
	case Open:
		s.open(c)
	case Cancel:
		st := s.streams[c.Stream]
		s.at(s.now+st.latency(s), func() { st.ended = true })
	case Skip:
		st := s.streams[c.Stream]
		s.at(s.now+st.latency(s), func() {
			for _, h := range st.hops {
				for _, o := range h.out {
					o.skip = o.skip || o.part.span() == c.Part.span()
				}
			}
		})
	case Keep:
		s.keep(c, cause.(Chunk))
	case Discard:
		delete(s.kept, c.Part.span())
	case Install:
		s.install(c)
	case Wait:
		s.checkWait(c.Shards)
	case Note:
	case Done:
		s.done = s.now
	}
}

func (st *simStream) latency(s *sim) float64 {
	return s.w.rtt(st.head.n.Node, s.w.Receiver.Node) / 2
}

func (s *sim) keep(c Keep, e Chunk) {
	k := s.kept[c.Part.span()]
	if k == nil {
		k = &simKept{content: e.Content}
		s.kept[c.Part.span()] = k
	}
	if k.content != e.Content || k.got != c.Offset || e.Version != s.w.Version {
		s.fail("mixes bytes of part %+v: %+v after %+v", c.Part, e, k)
	}
	k.got += c.Length
	s.cpu = max(s.cpu, s.now) + float64(c.Length)/float64(s.w.Receiver.Install)
	// Damage at rest shows only in the whole, and depends on who sent.
	if n := s.nodes[s.streams[e.Stream].flow.Node]; n.damaged[c.Part.Shard] {
		k.bad = true
	}
	for _, h := range s.streams[e.Stream].hops {
		k.bad = k.bad || h.n.damaged[c.Part.Shard] && slices.ContainsFunc(h.out, func(o *simOut) bool { return o.part.Shard == c.Part.Shard && o.ready >= 0 })
	}
}

func (s *sim) install(c Install) {
	bad, next := false, 0
	for i, p := range c.Parts {
		k := s.kept[p.span()]
		if p.First != next || k == nil || k.content != c.Contents[i] || k.got != c.Contents[i].Size {
			s.fail("installs shard %d with part %+v of which %+v is there", c.Shard, p, k)
		}
		next = p.Until
		bad = bad || k.bad
	}
	if len(c.Parts) > 0 && next != len(s.w.piece(c.Shard).Chain) {
		s.fail("installs shard %d without the end of its chain", c.Shard)
	}
	if len(c.Parts) == 0 {
		s.emptied[c.Shard] = true
	}
	// Indexing goes along with receiving; what is behind of it comes first.
	s.at(s.cpu, func() {
		if bad {
			s.feed(Rejected{c.Shard})
			return
		}
		s.shards[c.Shard]++
		if s.shards[c.Shard] > 1 {
			s.fail("shard %d is installed twice", c.Shard)
		}
		s.feed(Installed{c.Shard})
	})
}

// checkWait: a shard may only wait if some member of its chain has no holder that
// has always been well.
func (s *sim) checkWait(shards []int) {
	s.waits = shards
	for _, id := range shards {
		covered := true
		for _, o := range s.w.piece(id).Chain {
			covered = covered && !slices.ContainsFunc(o.Holders, func(h NodeID) bool { return s.nodes[h].rotten }) && slices.ContainsFunc(o.Holders, func(h NodeID) bool { return !s.nodes[h].unstable })
		}
		if covered {
			s.fail("waits for shard %d, which sound nodes have", id)
		}
	}
}

// open lets the request travel down: a round trip to connect, then to the node.
func (s *sim) open(o Open) {
	st := &simStream{id: o.Stream, flow: o.Flow}
	s.streams[o.Stream] = st
	st.head = s.hop(st, o.Flow, nil)
	rtt := s.w.rtt(st.head.n.Node, s.w.Receiver.Node)
	if o.Flow.Node == s.w.Receiver.ID {
		rtt = 0
	}
	s.at(s.now+1.5*rtt, func() { s.begin(st, st.head, o.Flow, o.Orders) })
}

func (s *sim) hop(st *simStream, f *Flow, up *simHop) *simHop {
	h := &simHop{s: st, n: s.nodes[f.Node], up: up}
	st.hops = append(st.hops, h)
	return h
}

// begin: the request is at the node. It asks those below for what it needs.
func (s *sim) begin(st *simStream, h *simHop, f *Flow, orders []Order) {
	if st.ended || h.n.dead || h.n.frozen {
		if h.n.dead && !st.ended {
			s.breakOff(st, h.n)
		}
		return
	}
	children := make([]*simHop, len(f.From))
	asks := make([][]Order, len(f.From))
	for i, from := range f.From {
		children[i] = s.hop(st, from, h)
	}
	within := func(p, q Part) bool { return p.Shard == q.Shard && q.First <= p.First && p.Until <= q.Until }
	for _, o := range orders {
		out := &simOut{part: o.Part, ready: -1}
		out.content = s.content(h.n, f, o.Part)
		if o.Content == out.content {
			out.sent = o.Offset
		}
		for _, p := range f.Own {
			if !within(p, o.Part) {
				continue
			}
			if h.n.lacks[p.Shard] {
				s.at(s.now+st.latency(s), func() { s.feed(Lacks{Stream: st.id, Node: h.n.ID, Shard: p.Shard}) })
				out.skip = true
				continue
			}
			work := float64(s.w.piece(p.Shard).work(p.First, p.Until)) / float64(h.n.Fold)
			h.n.free["fold"] = max(h.n.free["fold"], s.now) + work
			out.ready = h.n.free["fold"]
		}
		for i, from := range f.From {
			for _, p := range from.Sends {
				if within(p, o.Part) {
					size := s.content(s.nodes[from.Node], from, p).Size
					out.inputs = append(out.inputs, &simInput{size: size})
					asks[i] = append(asks[i], Order{Part: p, Content: Content{Sum: 1}})
				}
			}
		}
		if own := out.ready >= 0; len(out.inputs) > 1 || own && len(out.inputs) > 0 {
			out.joined = true
			out.work = float64(o.Part.Bytes) / float64(h.n.Fold)
		}
		h.out = append(h.out, out)
		if out.ready > s.now {
			s.at(out.ready, func() { s.pump(h) })
		}
	}
	for i, from := range f.From {
		if len(asks[i]) == 0 {
			continue
		}
		s.at(s.now+s.w.rtt(children[i].n.Node, h.n.Node), func() { s.begin(st, children[i], from, asks[i]) })
	}
	s.pump(h)
}

// content is what a node sends for a part: the same bytes on all nodes, unless one
// of those involved folds differently.
func (s *sim) content(n *simNode, f *Flow, p Part) Content {
	sum := uint64(p.Shard)<<32 | uint64(p.First)<<16 | uint64(p.Until)<<8 | 7
	f.walk(func(g *Flow) { sum ^= s.nodes[g.Node].variant })
	return Content{Sum: sum ^ n.variant<<1, Size: p.Bytes}
}

func (s *sim) breakOff(st *simStream, n *simNode) {
	if s.rng.IntN(4) == 0 && s.faulty {
		return // silence; only the deadline tells
	}
	s.at(s.now+st.latency(s), func() { s.feed(Broken{Stream: st.id, Node: n.ID, Cause: "connection reset"}) })
}

// pump sends the next chunk of a hop if link and window allow.
func (s *sim) pump(h *simHop) {
	n := h.n
	if h.s.ended || n.dead || n.frozen || h.waiting {
		return
	}
	if n.free["up"] > s.now {
		h.waiting = true
		s.at(n.free["up"], func() { h.waiting = false; s.pump(h) })
		return
	}
	// What passes and what was joined goes before the node's own.
	for _, o := range slices.Concat(h.passing(), h.own()) {
		size := min(s.w.Params.Chunk, o.content.Size-o.sent)
		if o.skip || size <= 0 && (o.content.Size > 0 || o.sent < 0) || !o.has(s.now, size) {
			continue
		}
		if h.inflight > 0 && h.inflight+size > s.w.Params.Window {
			return
		}
		offset := o.sent
		o.sent += size
		if o.content.Size == 0 {
			o.sent = -1
		}
		s.send(h, o, offset, size)
		break
	}
}

func (h *simHop) passing() []*simOut {
	return slices.DeleteFunc(slices.Clone(h.out), func(o *simOut) bool { return len(o.inputs) == 0 })
}

func (h *simHop) own() []*simOut {
	return slices.DeleteFunc(slices.Clone(h.out), func(o *simOut) bool { return len(o.inputs) > 0 })
}

// has reports whether the bytes up to sent+size can be made of what is there.
func (o *simOut) has(now float64, size int64) bool {
	if o.ready > now {
		return false
	}
	for _, in := range o.inputs {
		if o.joined && in.got < in.size {
			return false
		}
		want := int64(math.Ceil(float64(o.sent+size) / float64(max(o.content.Size, 1)) * float64(in.size)))
		if in.got < min(want, in.size) {
			return false
		}
	}
	return true
}

func (s *sim) send(h *simHop, o *simOut, offset, size int64) {
	n, to := h.n, s.nodes[s.w.Receiver.ID]
	if h.up != nil {
		to = h.up.n
	}
	rate := float64(n.Up) / float64(1+n.Streams) / max(n.slow, 1)
	latency := s.w.rtt(n.Node, to.Node) / 2
	if n == to {
		rate, latency = 1e12, 0
	}
	n.free["up"] = s.now + float64(size)/rate
	h.inflight += size
	s.at(n.free["up"]+latency, func() {
		if n != to {
			share := float64(to.Down) / float64(1+to.Streams)
			to.free["down"] = max(to.free["down"], s.now) + float64(size)/share
		}
		s.at(max(to.free["down"], s.now), func() { s.deliver(h, o, offset, size, latency) })
	})
	s.pump(h)
}

// join folds what is there as a whole.
func (s *sim) join(h *simHop, o *simOut) {
	if !o.joined || slices.ContainsFunc(o.inputs, func(in *simInput) bool { return in.got < in.size }) {
		return
	}
	h.n.free["fold"] = max(h.n.free["fold"], s.now, o.ready) + o.work
	o.ready = h.n.free["fold"]
	s.at(o.ready, func() { s.pump(h) })
}

func (s *sim) deliver(h *simHop, o *simOut, offset, size int64, latency float64) {
	if h.n.dead {
		return
	}
	s.at(s.now+latency, func() { h.inflight -= size; s.pump(h) })
	if h.up != nil {
		if h.up.n.dead {
			return
		}
		for _, out := range h.up.out {
			i := 0
			for ; i < len(out.inputs); i++ {
				if out.part.Shard == o.part.Shard && out.part.First <= o.part.First && o.part.Until <= out.part.Until && out.inputs[i].got == offset && out.inputs[i].size == o.content.Size {
					out.inputs[i].got += size
					s.join(h.up, out)
					break
				}
			}
		}
		s.pump(h.up)
		return
	}
	if h.n.corrupt > 0 && s.rng.Float64() < h.n.corrupt {
		s.feed(Corrupt{Stream: h.s.id, Part: o.part})
		return
	}
	version := s.w.Version
	if h.n.zombie {
		version--
	}
	s.bytes += size
	s.feed(Chunk{Stream: h.s.id, Version: version, Part: Part{Shard: o.part.Shard, First: o.part.First, Until: o.part.Until}, Content: o.content, Offset: offset, Length: size})
}
