package recovery

import (
	"slices"
	"time"
)

// release takes a stream away from its parts; what they have stays.
func (t *Tracker) release(f *flight, cancel bool) {
	for _, p := range f.parts {
		p.by = nil
	}
	f.parts = nil
	t.dirty = true
	if f.id == 0 {
		t.queue = slices.DeleteFunc(t.queue, func(g *flight) bool { return g == f })
		return
	}
	t.remember(f)
	t.flights = slices.DeleteFunc(t.flights, func(g *flight) bool { return g == f })
	if cancel {
		t.do(Cancel{Stream: f.id})
	}
}

// Back-off of a node that failed without being dead: doubled each time.
const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 5 * time.Second
)

// blame gives up a stream because of a node.
func (t *Tracker) blame(f *flight, node NodeID, why string) {
	h := t.health(node)
	h.strikes++
	h.until = t.now.Add(min(firstBackoff<<min(h.strikes-1, 10), lastBackoff))
	t.retry = append(t.retry, h.until)
	t.lose(f, node, why)
}

// lose gives up a stream and says so. A relayed flow that fails is planned once
// more in its mode; after that the rest is fetched in star, which depends on the
// fewest nodes.
func (t *Tracker) lose(f *flight, node NodeID, why string) {
	t.report.Replans++
	missing := int64(0)
	for _, p := range f.parts {
		missing += max(p.Bytes-p.got, 0)
	}
	t.release(f, true)
	then := "other holders send the rest"
	if t.mode != Star && len(f.flow.From) > 0 {
		if t.report.Replans > maxRelayReplans {
			t.mode = Star
			then = "the rest comes in star"
		} else {
			then = "the rest is planned anew as " + string(t.mode)
		}
	}
	t.note("%s failed: %s; %s were missing, %s", node, why, Size(missing), then)
}

// maxRelayReplans is how often line and tree are planned anew.
const maxRelayReplans = 2

func (t *Tracker) ended(e Ended) {
	f := t.flight(e.Stream)
	if f == nil {
		return
	}
	if len(f.parts) > 0 {
		t.blame(f, f.flow.Node, "it ended before all was sent")
	}
}

func (t *Tracker) broken(e Broken) {
	f := t.flight(e.Stream)
	if f == nil {
		return
	}
	node := e.Node
	if node == "" || !slices.Contains(f.flow.nodesOf(), node) {
		node = f.flow.Node
	}
	t.blame(f, node, e.Cause)
}

func (t *Tracker) corrupt(e Corrupt) {
	f := t.flight(e.Stream)
	if f == nil || t.shards[e.Part.Shard] == nil {
		return
	}
	t.blame(f, f.flow.Node, "a chunk did not have its checksum")
}

func (t *Tracker) lacks(e Lacks) {
	s := t.shards[e.Shard]
	if s == nil {
		return
	}
	t.lacking[lack{e.Node, e.Shard}] = true
	t.dirty = true
	// Everything of this shard that the node has a hand in comes from elsewhere;
	// the other shards of the stream go on.
	for _, p := range t.partsOf(s) {
		if p.by != nil && !p.complete && p.by.flow.reads(e.Node, e.Shard) {
			t.report.Replans++
			t.drop(p)
		}
	}
}

// reads reports whether the node reads of the shard in this flow.
func (f *Flow) reads(node NodeID, shard int) bool {
	found := false
	f.walk(func(g *Flow) {
		found = found || g.Node == node && slices.ContainsFunc(g.Own, func(p Part) bool { return p.Shard == shard })
	})
	return found
}

func (t *Tracker) died(node NodeID) {
	h := t.health(node)
	if h.dead {
		return
	}
	h.dead, t.dirty = true, true
	h.silent = 0 // it was not slow
	h.strikes++
	for _, f := range slices.Concat(t.flights, t.queue) {
		if slices.Contains(f.flow.nodesOf(), node) {
			t.lose(f, node, "it died")
		}
	}
}

func (t *Tracker) returned(node NodeID) {
	h := t.health(node)
	h.dead, t.dirty = false, true
	h.until = time.Time{}
}

func (t *Tracker) found(e Found) {
	s := t.shards[e.Shard]
	if s == nil {
		return
	}
	p := t.w.piece(e.Shard)
	if e.First < 0 || e.Until > len(p.Chain) || e.First >= e.Until {
		return
	}
	for i := e.First; i < e.Until; i++ {
		o := &p.Chain[i]
		if at, there := slices.BinarySearch(o.Holders, e.Node); !there {
			o.Holders = slices.Insert(o.Holders, at, e.Node)
		}
	}
	t.w.meet(e.Node)
	delete(t.lacking, lack{e.Node, e.Shard})
	delete(t.faults, lack{e.Node, e.Shard})
	delete(t.suspect, lack{e.Node, e.Shard})
	t.returned(e.Node)
}

// meet gives rates to a node that was not known: those of the median holder.
func (w *world) meet(id NodeID) {
	if _, ok := w.nodes[id]; ok {
		return
	}
	var ups, downs, folds []int64
	var rtts []time.Duration
	for _, n := range w.nodes {
		ups, downs, folds = append(ups, n.Up), append(downs, n.Down), append(folds, n.Fold)
		rtts = append(rtts, n.RTT)
	}
	w.nodes[id] = Node{
		ID: id, Up: median(ups, guessLink), Down: median(downs, guessLink),
		Fold: median(folds, guessFold), RTT: median(rtts, guessRTT),
	}
}

// expire gives up streams that are silent, and relayed ones that take far longer
// than the model says: nobody can take over from the middle of a line.
func (t *Tracker) expire() {
	for _, f := range slices.Clone(t.flights) {
		switch {
		case !t.now.Before(t.deadline(f)):
			if f.direct() {
				t.health(f.flow.Node).silent++
			}
			t.blame(f, f.flow.Node, "it was silent for "+t.now.Sub(f.heard).Round(time.Millisecond).String())
		case !f.overdue.IsZero() && !t.now.Before(f.overdue):
			t.report.Replans = max(t.report.Replans, maxRelayReplans)
			t.lose(f, f.flow.Node, "its stream is several times slower than predicted")
		}
	}
}
