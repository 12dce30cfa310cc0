package client

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// fetch is a recovery under way: the tracker decides, its commands are done here,
// and what happens is told to it, all on the load's goroutine.
type fetch struct {
	l       *loading
	t       *Task
	ctx     context.Context //nolint:containedctx // ends with the fetch
	m       *shard.Manifest
	table   *shard.Table // for Prepare only
	tracker *recovery.Tracker
	survey  *survey
	self    recovery.NodeID
	events  chan happened
	cores   chan struct{} // held by those who install
	wg      sync.WaitGroup

	flows   map[recovery.StreamID]*inflow
	parts   map[partID]*arena
	waiting []int
	said    time.Time
	over    bool

	hurry hurry

	// lands guards where streams write: see inflow.
	lands sync.Mutex

	scouting sync.Mutex // guards addrs
	addrs    map[recovery.NodeID]string
}

// partID is what identifies a part.
type partID struct{ shard, first, until int }

func idOf(p recovery.Part) partID { return partID{p.Shard, p.First, p.Until} }

// happened is an event, and for a chunk where its bytes are.
type happened struct {
	recovery.Event
	from *target
	buf  []byte
}

// arena has the bytes of one part that have come.
type arena struct {
	buf    []byte
	writer *target
}

// fetch brings all shards of m into the table; false if the load ended before.
func (l *loading) fetch(table *shard.Table, m *shard.Manifest) bool {
	ctx, cancel := context.WithCancel(l.ctx)
	f := &fetch{
		l: l, t: l.t, ctx: ctx, m: m, table: table,
		events: make(chan happened, 64), cores: make(chan struct{}, runtime.GOMAXPROCS(0)),
		flows: make(map[recovery.StreamID]*inflow), parts: make(map[partID]*arena), addrs: make(map[recovery.NodeID]string),
	}
	defer f.wg.Wait()
	defer cancel()
	if err := f.plan(); err != nil {
		l.fail(err)
		return false
	}
	f.wg.Go(f.scout)
	f.run()
	return f.over
}

// plan asks around and makes the plan and its tracker.
func (f *fetch) plan() error {
	p, err := f.t.c.views.get(f.ctx)
	if err != nil {
		return err
	}
	if !p.complete {
		p = f.widen(p)
	}
	f.meet(p)
	f.survey = newSurvey(f.t, f.m, p)
	status := make(chan *protocol.NodeStatus, 1)
	f.wg.Go(func() { status <- f.ownStatus(p) })
	f.survey.ask(f.ctx)
	in := f.survey.input(<-status)
	if f.t.o.OnDemand {
		in.Params.Hold = holdFor
	}
	f.t.c.cfg.Log.Debug("what is known of hosts and links", "receiver", in.Receiver, "nodes", in.Nodes)
	f.self = in.Receiver.ID
	plan, err := recovery.Make(in)
	if err != nil {
		return err
	}
	if f.tracker, err = recovery.NewTracker(in, plan); err != nil {
		return err
	}
	f.l.entry.planned(plan)
	f.t.c.cfg.Log.Info("recovery planned", "owner", plan.Owner, "version", int64(plan.Version), "mode", string(plan.Mode),
		"reason", plan.Reason, "shards", plan.Shards, "bytes", plan.Bytes, "local", plan.LocalBytes, "predicted", plan.PredictedTime())
	return nil
}

// widen adds the nodes that the manifest names to a picture of a ring that is too
// large to be known as a whole.
func (f *fetch) widen(p *picture) *picture {
	var mu sync.Mutex
	nodes := p.view.Nodes()
	named := make(map[shard.NodeID]bool)
	var ask []ring.Node
	for _, chain := range f.m.Shards {
		for _, ref := range chain {
			for _, id := range ref.Holders {
				if _, known := p.nodes[id]; !known && !named[id] {
					named[id] = true
					ask = append(ask, ring.Node{ID: string(id)})
				}
			}
		}
	}
	each(ask, func(n ring.Node) {
		if n, ok := f.t.c.locate(f.ctx, p, shard.NodeID(n.ID)); ok {
			mu.Lock()
			defer mu.Unlock()
			nodes = append(nodes, n)
		}
	})
	wide := newPicture(protocol.View{Nodes: nodes}, false)
	wide.self = p.self
	return wide
}

// ownStatus is what the node of this host measured; nil if it does not say at once.
func (f *fetch) ownStatus(p *picture) *protocol.NodeStatus {
	n, ok := p.nodes[p.self]
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(f.ctx, surveyRest)
	defer cancel()
	var s protocol.NodeStatus
	if f.t.c.ask(ctx, n.Addr, protocol.GetStatus, nil, &s) != nil {
		return nil
	}
	return &s
}

// meet takes down where nodes are.
func (f *fetch) meet(p *picture) {
	f.scouting.Lock()
	defer f.scouting.Unlock()
	for id, n := range p.nodes {
		f.addrs[id] = n.Addr
	}
}

// run feeds the tracker until all is installed or the load ends.
func (f *fetch) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	quiet := f.l.quiet
	for !f.over {
		select {
		case h := <-f.events:
			f.handle(h)
		case <-quiet:
			quiet = nil
			f.handle(happened{Event: recovery.Proceed{}})
		case <-timer.C:
			f.catchUp() // who was heard meanwhile was not silent
			f.handle(happened{Event: recovery.Tick{}})
		case <-f.l.wants:
			f.wants()
		case <-f.ctx.Done():
			return
		}
		if at, ok := f.tracker.Next(); ok {
			timer.Reset(max(time.Until(at), 0))
		} else {
			timer.Stop()
		}
	}
}

// catchUp handles what has happened until now.
func (f *fetch) catchUp() {
	for n := len(f.events); n > 0 && !f.over; n-- {
		f.handle(<-f.events)
	}
}

// wants tells the tracker what the task waits for, and the operator's word.
func (f *fetch) wants() {
	wanted, empty := f.l.taken()
	for _, r := range wanted {
		if i := slices.IndexFunc(f.m.Shards, func(chain []shard.Ref) bool { return chain[0].Range == r }); i >= 0 {
			f.hurry.begin(i)
			f.handle(happened{Event: recovery.Wanted{Shard: i}})
		}
	}
	if empty {
		for _, i := range slices.Clone(f.waiting) {
			f.handle(happened{Event: recovery.StartEmpty{Shard: i}})
		}
	}
}

// tell hands an event over; it is dropped if the fetch is over.
func (f *fetch) tell(h happened) {
	select {
	case f.events <- h:
	case <-f.ctx.Done():
	}
}

func (f *fetch) handle(h happened) {
	for _, c := range f.tracker.Handle(time.Now(), h.Event) {
		f.perform(c, h)
	}
	if _, chunk := h.Event.(recovery.Chunk); chunk {
		f.l.entry.arrived()
		return
	}
	f.l.entry.progress(f.tracker.Report(), f.over)
}

func (f *fetch) perform(c recovery.Command, h happened) {
	switch c := c.(type) {
	case recovery.Open:
		f.open(c)
	case recovery.Skip:
		if in := f.flows[c.Stream]; in != nil {
			f.lands.Lock()
			if t := in.targets[idOf(c.Part)]; t != nil {
				t.revoked = true
			}
			f.lands.Unlock()
			in.skip(c.Part)
		}
	case recovery.Cancel:
		if in := f.flows[c.Stream]; in != nil {
			in.cancel()
			delete(f.flows, c.Stream)
		}
	case recovery.Keep:
		f.parts[idOf(c.Part)] = &arena{buf: h.buf, writer: h.from}
	case recovery.Discard:
		delete(f.parts, idOf(c.Part))
	case recovery.Install:
		f.install(c)
	case recovery.Wait:
		f.wait(c.Shards)
	case recovery.Note:
		f.t.c.cfg.Log.Info("recovery went otherwise than planned", "owner", f.t.o.Owner.String(), "version", int64(f.m.Version), "what", c.Text)
	case recovery.Done:
		f.over = true
	}
}

// wait takes down which shards have no living copy.
func (f *fetch) wait(shards []int) {
	f.waiting = shards
	if len(shards) == 0 {
		f.l.entry.waitFor("")
		return
	}
	f.say()
}

// say tells people what is waited for: again and again, but not too often.
func (f *fetch) say() {
	first := f.waiting[0]
	chain := f.m.Shards[first]
	text := fmt.Sprintf("%d shards without a living copy, the first of slots %v, which was on %v", len(f.waiting), chain[0].Range, chain[0].Holders)
	f.l.entry.waitFor(text)
	if now := time.Now(); f.said.IsZero() || now.Sub(f.said) >= sayEvery {
		f.said = now
		f.t.c.cfg.Log.Warn("a recovery waits for nodes to come back", "owner", f.t.o.Owner.String(), "version", int64(f.m.Version), "for", text)
	}
}

// open starts a stream. What was there of a part that it goes on with stays where
// it is, unless the stream before may be writing there just now.
func (f *fetch) open(c recovery.Open) {
	in := &inflow{
		f: f, id: c.Stream, flow: c.Flow, orders: c.Orders, urgent: c.Urgent, stall: c.Stall,
		targets: make(map[partID]*target, len(c.Orders)),
	}
	in.ctx, in.cancel = context.WithCancel(f.ctx)
	f.lands.Lock()
	for _, o := range c.Orders {
		t := &target{}
		in.targets[idOf(o.Part)] = t
		a := f.parts[idOf(o.Part)]
		if a == nil {
			continue
		}
		a.writer.revoked = true
		if o.Offset > 0 {
			t.buf, t.content, t.at = a.buf, o.Content, o.Offset
			if a.writer.filling {
				t.buf = make([]byte, len(a.buf))
				copy(t.buf, a.buf[:o.Offset])
			}
		}
	}
	f.lands.Unlock()
	f.flows[c.Stream] = in
	f.wg.Go(in.run)
}

// addrsOf are the addresses of all nodes of a flow.
func (f *fetch) addrsOf(flow *recovery.Flow) map[recovery.NodeID]string {
	f.scouting.Lock()
	defer f.scouting.Unlock()
	addrs := make(map[recovery.NodeID]string)
	var visit func(*recovery.Flow)
	visit = func(g *recovery.Flow) {
		addrs[g.Node] = f.addrs[g.Node]
		for _, from := range g.From {
			visit(from)
		}
	}
	visit(flow)
	return addrs
}

// scout looks who comes and who goes: answers that came after the plan, holders
// that were away, and what others have if something is waited for.
func (f *fetch) scout() {
	tick := time.NewTicker(f.t.c.cfg.ViewEvery)
	defer tick.Stop()
	gone := make(map[shard.NodeID]bool) // told to have died
	for looks := 0; ; looks++ {
		f.news()
		select {
		case <-f.ctx.Done():
			return
		case <-f.survey.changed:
			continue
		case <-tick.C:
		}
		p := f.t.c.views.now()
		f.meet(p)
		for id := range f.survey.picture.nodes {
			// What a partial picture does not show may live.
			if _, living := p.nodes[id]; !living && !gone[id] && p.complete {
				gone[id] = true
				f.survey.forget(id)
				f.tell(happened{Event: recovery.Died{Node: id}})
			}
		}
		each(f.toAsk(p, gone, looks%askAllEvery == askAllEvery-1), func(n ring.Node) { _, _ = f.survey.askOne(f.ctx, n) })
		maps.DeleteFunc(gone, func(id shard.NodeID, _ bool) bool { return f.survey.answer(id) })
	}
}

// news tells what nodes have said since the plan was made.
func (f *fetch) news() {
	for id, a := range f.survey.news() {
		for _, s := range a.Spans {
			f.tell(happened{Event: recovery.Found{Node: id, Shard: s.Shard, First: s.First, Until: s.Until}})
		}
	}
}

// askAllEvery is after how many looks all nodes are asked though nothing is waited
// for: the holder that is known may be too slow, and others have copies by now.
const askAllEvery = 5

// toAsk are the nodes whose answer may help: those that gave none yet, those that
// were gone, and if something is waited for, all.
func (f *fetch) toAsk(p *picture, gone map[shard.NodeID]bool, all bool) []ring.Node {
	all = all || f.l.entry.isWaiting()
	var ask []ring.Node
	for _, n := range p.view.Nodes() {
		if id := shard.NodeID(n.ID); all || gone[id] || !f.survey.known(id) {
			ask = append(ask, n)
		}
	}
	return ask
}
