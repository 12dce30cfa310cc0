package recovery

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Tracker executes one plan at the receiver. It is a machine: hand it what
// happened (Handle), do what it returns, and hand it a Tick when Next says. It is
// for one goroutine.
type Tracker struct {
	w       *world
	plan    *Plan
	mode    Mode // of what is planned next: falls to star after failures
	now     time.Time
	shards  map[int]*recovering
	order   []int // of shards, sorted
	flights []*flight
	queue   []*flight // not opened yet
	nodes   map[NodeID]*health
	lacking map[lack]bool
	faults  map[lack]int       // how often what a node sent of a shard was damaged as a whole
	suspect map[lack]time.Time // until when it is therefore not asked
	nextID  StreamID
	left    int // shards not installed
	waiting []int
	done    bool
	report  Report
	sources map[NodeID]int64
	// dirty says that some part may have lost its sender, or a sender may serve again.
	dirty  bool
	retry  []time.Time // when nodes may be asked again
	looked time.Time   // when it was last seen to slow streams
	// hold is until when only what is wanted is opened; zero if all is.
	hold time.Time
	// due is when the shell was last told to come back, longest the longest time
	// between two chunks of one stream.
	due     time.Time
	longest time.Duration
	// aside is until when streams that bring nothing wanted are not read from.
	aside time.Time
	out   []Command
}

type lack struct {
	node  NodeID
	shard int
}

// recovering is how far one shard is.
type recovering struct {
	id     int
	state  shardState
	parts  map[span]*progress
	wanted bool
	empty  bool
}

type shardState uint8

const (
	fetching shardState = iota
	installing
	installed
)

// progress is what is there of one part.
type progress struct {
	Part
	content  Content
	got      int64
	complete bool
	by       *flight // who is to bring it; nil if nobody
	carriers []NodeID
	moves    int  // how often it was taken over from a slow sender
	relayed  bool // some of it came through a line or tree
	// alone says that it must come from one node from its beginning, since a whole
	// of several senders' bytes was found damaged.
	alone bool
}

// flight is a flow under way, or in the queue.
type flight struct {
	flow    *Flow
	id      StreamID // 0 in the queue
	parts   []*progress
	urgent  bool
	opened  time.Time
	heard   time.Time
	overdue time.Time     // for relayed flows: when it is too slow; else zero
	stall   time.Duration // how long it may be silent
	grace   time.Duration // for the first byte, on top of stall
	began   bool
	bytes   int64
}

// direct says that nobody else has a hand in the flow.
func (f *flight) direct() bool { return len(f.flow.From) == 0 }

// health is what the tracker saw of a node.
type health struct {
	dead    bool
	strikes int
	silent  int       // how often in a row it was given up since nothing came
	until   time.Time // not asked before
	rate    float64   // bytes a second of its last stream; 0 unknown
}

// NewTracker makes the tracker of a plan that Make made of the same input. The
// first commands come from the first Handle, best a Tick.
func NewTracker(in Input, p *Plan) (*Tracker, error) {
	w, err := newWorld(in)
	if err != nil {
		return nil, err
	}
	if p.Owner != in.Owner || p.Version != in.Version || p.Receiver != in.Receiver.ID || p.Shards != len(in.Pieces) {
		return nil, fmt.Errorf("recovery of %s, version %v: the plan is of %s, version %v; make it of this input", in.Owner, in.Version, p.Owner, p.Version)
	}
	t := &Tracker{
		w: w, plan: p, mode: p.Mode, shards: map[int]*recovering{}, nodes: map[NodeID]*health{},
		lacking: map[lack]bool{}, faults: map[lack]int{}, suspect: map[lack]time.Time{}, left: len(w.Pieces), dirty: true, sources: map[NodeID]int64{},
	}
	for i := range w.Pieces {
		id := w.Pieces[i].Shard
		t.order = append(t.order, id)
		t.shards[id] = &recovering{id: id, parts: map[span]*progress{}}
	}
	t.report = Report{
		Owner: p.Owner, Version: p.Version, Receiver: p.Receiver, Mode: p.Mode, Reason: p.Reason,
		PredictedMS: p.Predicted.TotalMS, Shards: p.Shards,
	}
	for _, f := range p.Flows {
		if err := t.enlist(f); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// enlist puts a flow into the queue and its parts under its care.
func (t *Tracker) enlist(f *Flow) error {
	fl := &flight{flow: f}
	for _, p := range f.Sends {
		s := t.shards[p.Shard]
		if s == nil {
			return fmt.Errorf("recovery of %s: the plan sends shard %d, which the input does not have", t.plan.Owner, p.Shard)
		}
		pr := s.parts[p.span()]
		if pr == nil {
			pr = &progress{Part: p}
			s.parts[p.span()] = pr
		}
		t.clearFor(s, pr)
		pr.by = fl
		fl.parts = append(fl.parts, pr)
	}
	t.queue = append(t.queue, fl)
	return nil
}

// clearFor drops parts that nobody brings and that overlap with p, which is to be
// brought.
func (t *Tracker) clearFor(s *recovering, p *progress) {
	for _, q := range t.partsOf(s) {
		if q != p && !q.complete && q.by == nil && q.First < p.Until && p.First < q.Until {
			t.forget(q)
			delete(s.parts, q.span())
		}
	}
}

// Handle takes in what happened at now, which never goes back.
func (t *Tracker) Handle(now time.Time, e Event) []Command {
	t.advance(now)
	t.out = nil
	switch e := e.(type) {
	case Chunk:
		t.chunk(e)
	case Ended:
		t.ended(e)
	case Broken:
		t.broken(e)
	case Corrupt:
		t.corrupt(e)
	case Lacks:
		t.lacks(e)
	case Died:
		t.died(e.Node)
	case Returned:
		t.returned(e.Node)
	case Found:
		t.found(e)
	case Wanted:
		t.wanted(e.Shard)
	case Proceed:
		t.proceed()
	case Installed:
		t.installed(e.Shard)
	case Rejected:
		t.rejected(e.Shard)
	case StartEmpty:
		t.startEmpty(e.Shard)
	case Tick:
	}
	if !t.done {
		t.expire()
		t.fill()
	}
	return t.out
}

// Next is when a Tick is due if nothing happens before; ok is false if nothing
// is waited for.
func (t *Tracker) Next() (at time.Time, ok bool) {
	earliest := func(x time.Time) {
		if !x.IsZero() && (!ok || x.Before(at)) {
			at, ok = x, true
		}
	}
	if t.done {
		return at, false
	}
	for _, f := range t.flights {
		earliest(t.deadline(f))
		earliest(f.overdue)
		if len(f.flow.From) == 0 && f.flow.Node != t.w.Receiver.ID {
			// Time to look whether an idle stream should take over.
			earliest(t.now.Add(t.w.Params.Stall / 4))
		}
	}
	for _, x := range t.retry {
		earliest(x)
	}
	earliest(t.hold)
	t.due = at
	return at, ok
}

// Report is what is known so far; the durations are the shell's to fill in.
func (t *Tracker) Report() Report {
	r := t.report
	r.Installed = t.report.Shards - t.left
	r.Waiting = slices.Clone(t.waiting)
	r.Emptied = slices.Clone(r.Emptied)
	r.Notes = slices.Clone(r.Notes)
	r.Sources = nil
	for _, id := range slices.Sorted(maps.Keys(t.sources)) {
		r.Sources = append(r.Sources, Source{Node: id, Bytes: t.sources[id]})
	}
	return r
}

func (t *Tracker) do(c Command) { t.out = append(t.out, c) }

// note tells people what went otherwise.
func (t *Tracker) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(t.report.Notes) < MaxNotes {
		t.report.Notes = append(t.report.Notes, text)
	}
	t.do(Note{Text: text})
}

func (t *Tracker) health(id NodeID) *health {
	h := t.nodes[id]
	if h == nil {
		h = &health{}
		t.nodes[id] = h
	}
	return h
}

func (t *Tracker) flight(id StreamID) *flight {
	for _, f := range t.flights {
		if f.id == id {
			return f
		}
	}
	return nil
}

// maxPatience allows a node 16 times Params.Stall.
const maxPatience = 4

// seconds is s as a duration, at most an hour.
func seconds(s float64) time.Duration { return time.Duration(min(s, 3600) * float64(time.Second)) }
