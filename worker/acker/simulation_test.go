package acker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stormring/stormring/internal/track"
)

// A world is one seeded run of spouts, bolts and ackers: tuples with several
// anchors make random graphs, bolts ack, fail, forget or ask for time, and what
// they tell travels first in, first out from each sender to each acker task,
// is delivered in any order between senders, and may be lost. Beside it stands
// the truth about each tree, against which every outcome is held.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	chaos chaos

	spouts  []*simSpout
	tuples  []*simTuple // emitted, not executed
	held    [][]*simTuple
	ackers  []*Ledger
	links   []*simLink // by sender * ackers + acker
	sender  int        // who tells, while an action runs
	truth   map[track.Root]*simTree
	rotated int
}

// chaos are the chances, in percent, of what goes wrong.
type chaos struct {
	fail, forget, lose, reset int
	rotations                 int // at most so many
	restarts                  bool
}

type simSpout struct {
	task    int32
	seq     uint64
	pending *Pending[*simTree]
}

// simTuple is a tuple with its edges by root, and the running XOR of what was
// anchored to it.
type simTuple struct {
	edges map[track.Root]uint64
	ack   uint64
}

// simTree is the truth about one tree.
type simTree struct {
	root    track.Root
	open    int  // tuples not acked; a failed or forgotten one stays open
	queued  int  // messages on their way
	lost    bool // an init or ack of it was
	gotInit bool
	gotFail bool
	resets  int // reset messages that arrived
	outcome OutcomeKind
	ended   string // at the spout
}

type simLink struct {
	ledger *Ledger
	queue  []simMessage
}

type simMessage struct {
	kind simKind
	msg  Message
}

type simKind int

const (
	simApply simKind = iota
	simFail
	simReset
)

func newWorld(t *testing.T, seed uint64, c chaos) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 42)), chaos: c, truth: map[track.Root]*simTree{}}
	for i := range 1 + w.rng.IntN(3) {
		s := &simSpout{task: int32(i + 1), seq: w.rng.Uint64() & track.SeqMask, pending: NewPending[*simTree]()}
		s.pending.ring = newRing[*simTree](1, 1<<w.rng.IntN(7))
		w.spouts = append(w.spouts, s)
	}
	for range 1 + w.rng.IntN(3) {
		w.ackers = append(w.ackers, &Ledger{limit: 1 << w.rng.IntN(7)})
	}
	w.held = make([][]*simTuple, 1+w.rng.IntN(4))
	for range len(w.spouts) + len(w.held) {
		for _, l := range w.ackers {
			w.links = append(w.links, &simLink{ledger: l})
		}
	}
	return w
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

// run does so many random actions, then lets all messages arrive.
func (w *world) run(steps int) {
	for range steps {
		switch n := w.rng.IntN(100); {
		case n < 12:
			w.spout(w.rng.IntN(len(w.spouts)))
		case n < 65:
			w.bolt(w.rng.IntN(len(w.held)))
		case n < 98:
			w.deliver(w.links[w.rng.IntN(len(w.links))])
		case n == 98 && w.rotated < w.chaos.rotations:
			w.rotate()
		case n == 99 && w.chaos.restarts:
			w.restart(w.spouts[w.rng.IntN(len(w.spouts))])
		}
	}
	for len(w.tuples) > 0 || w.anyHeld() {
		w.bolt(w.rng.IntN(len(w.held)))
	}
	for _, l := range w.links {
		for len(l.queue) > 0 {
			w.deliver(l)
		}
	}
}

func (w *world) anyHeld() bool {
	for _, h := range w.held {
		if len(h) > 0 {
			return true
		}
	}
	return false
}

// tell sends a message about a tree to its acker, or loses it.
func (w *world) tell(kind simKind, m Message) {
	tree := w.truth[m.Root&^InitFlag]
	if w.chance(w.chaos.lose) {
		tree.lost = tree.lost || kind == simApply
		return
	}
	tree.queued++
	l := w.links[w.sender*len(w.ackers)+Choose(tree.root, len(w.ackers))]
	l.queue = append(l.queue, simMessage{kind, m})
}

// spout emits one tuple to up to three tasks.
func (w *world) spout(i int) {
	s := w.spouts[i]
	w.sender = i
	root := track.MakeRoot(s.task, s.seq)
	s.seq++
	tree := &simTree{root: root}
	w.truth[root] = tree
	s.pending.Add(root.Seq(), tree)
	val := uint64(0)
	for range w.rng.IntN(4) {
		edge := w.rng.Uint64()
		val ^= edge
		tree.open++
		w.tuples = append(w.tuples, &simTuple{edges: map[track.Root]uint64{root: edge}})
	}
	w.tell(simApply, Message{Root: root | InitFlag, Val: val})
}

// bolt executes some tuple, or finishes one that it holds. It holds several
// at times, to anchor to them together.
func (w *world) bolt(b int) {
	w.sender = len(w.spouts) + b
	if len(w.tuples) > 0 && len(w.held[b]) < 4 && w.chance(50) {
		i := w.rng.IntN(len(w.tuples))
		w.held[b] = append(w.held[b], w.tuples[i])
		w.tuples[i] = w.tuples[len(w.tuples)-1]
		w.tuples = w.tuples[:len(w.tuples)-1]
		return
	}
	if len(w.held[b]) == 0 {
		return
	}
	if w.chance(40) {
		w.emit(w.held[b])
		return
	}
	i := w.rng.IntN(len(w.held[b]))
	tuple := w.held[b][i]
	w.held[b] = append(w.held[b][:i:i], w.held[b][i+1:]...)
	w.finish(tuple)
}

// emit sends a tuple anchored to some of the held ones, with a fresh edge for
// every anchor.
func (w *world) emit(held []*simTuple) {
	child := &simTuple{edges: map[track.Root]uint64{}}
	for _, anchor := range held {
		if !w.chance(60) {
			continue
		}
		edge := w.rng.Uint64()
		anchor.ack ^= edge
		for root := range anchor.edges {
			if _, known := child.edges[root]; !known {
				w.truth[root].open++
			}
			child.edges[root] ^= edge
		}
	}
	if len(child.edges) > 0 {
		w.tuples = append(w.tuples, child)
	}
}

func (w *world) finish(tuple *simTuple) {
	forget, fail, reset := w.chance(w.chaos.forget), w.chance(w.chaos.fail), w.chance(w.chaos.reset)
	for _, root := range sortedRoots(tuple.edges) {
		if reset {
			w.tell(simReset, Message{Root: root})
		}
		switch {
		case forget:
		case fail:
			w.tell(simFail, Message{Root: root})
		default:
			w.truth[root].open--
			w.tell(simApply, Message{Root: root, Val: tuple.edges[root] ^ tuple.ack})
		}
	}
}

// deliver hands over some messages of a link, acks and inits in batches.
func (w *world) deliver(l *simLink) {
	var batch []Message
	for range min(len(l.queue), 1+w.rng.IntN(5)) {
		m := l.queue[0]
		l.queue = l.queue[1:]
		tree := w.truth[m.msg.Root&^InitFlag]
		tree.queued--
		if m.kind == simApply {
			tree.gotInit = tree.gotInit || m.msg.Root&InitFlag != 0
			batch = append(batch, m.msg)
			continue
		}
		l.ledger.Apply(batch)
		batch = batch[:0]
		if m.kind == simFail {
			tree.gotFail = true
			l.ledger.Fail(tree.root)
		} else {
			tree.resets++
			l.ledger.ResetTimeout(tree.root)
		}
	}
	l.ledger.Apply(batch)
	w.take(l.ledger)
}

// take holds the outcomes against the truth and gives them to the spouts.
func (w *world) take(l *Ledger) {
	for _, o := range l.Outcomes() {
		tree := w.truth[o.Root]
		if tree == nil {
			w.t.Fatalf("outcome %v of an unknown tree", o)
		}
		pending := w.spouts[o.Root.Task()-1].pending
		if o.Kind == OutcomeResetTimeout {
			if tree.resets--; tree.resets < 0 {
				w.t.Fatalf("tree %x has more resets than were asked for", o.Root)
			}
			pending.Touch(o.Root.Seq())
			continue
		}
		if tree.outcome != 0 {
			w.t.Fatalf("tree %x has a second outcome, %v after %v", o.Root, o.Kind, tree.outcome)
		}
		tree.outcome = o.Kind
		if !tree.gotInit {
			w.t.Fatalf("tree %x: %v before its init", o.Root, o.Kind)
		}
		if o.Kind == OutcomeAck && (tree.open != 0 || tree.lost || tree.acksQueued(w)) {
			w.t.Fatalf("tree %x is acked with %+v", o.Root, tree)
		}
		if o.Kind == OutcomeFail && !tree.gotFail {
			w.t.Fatalf("tree %x failed by itself", o.Root)
		}
		if _, ok := pending.Take(o.Root.Seq()); ok {
			w.end(tree, o.Kind.String())
		}
	}
	l.ClearOutcomes()
}

// acksQueued reports whether an init or ack of the tree is on its way.
func (tree *simTree) acksQueued(w *world) bool {
	if tree.queued == 0 {
		return false
	}
	for _, l := range w.links {
		for _, m := range l.queue {
			if m.kind == simApply && m.msg.Root&^InitFlag == tree.root {
				return true
			}
		}
	}
	return false
}

func (w *world) end(tree *simTree, how string) {
	if tree.ended != "" {
		w.t.Fatalf("tree %x ended twice: %s, then %s", tree.root, tree.ended, how)
	}
	tree.ended = how
}

// rotate is a message time-out that passes at all spouts and ackers.
func (w *world) rotate() {
	w.rotated++
	for _, l := range w.ackers {
		l.Rotate()
	}
	for _, s := range w.spouts {
		last := int64(-1)
		s.pending.Rotate(func(seq uint64, tree *simTree) {
			if age := int64((seq - s.seq) & track.SeqMask); age <= last {
				w.t.Fatalf("tree %x expired out of order", tree.root)
			} else {
				last = age
			}
			if tree.root != track.MakeRoot(s.task, seq) {
				w.t.Fatalf("tree %x expired as %d", tree.root, seq)
			}
			w.end(tree, "timeout")
		})
	}
}

// restart forgets what a spout task waits for and lets it count from
// somewhere else.
func (w *world) restart(s *simSpout) {
	s.pending.Drain(func(_ uint64, tree *simTree) {
		w.end(tree, "restart")
	})
	s.seq = w.rng.Uint64() & track.SeqMask
}

// finale checks what must have become of every tree once all messages are in.
func (w *world) finale() {
	for root, tree := range w.truth {
		want := OutcomeKind(0)
		switch {
		case !tree.gotInit:
		case tree.gotFail:
			want = OutcomeFail
		case tree.open == 0 && !tree.lost:
			want = OutcomeAck
		}
		if tree.outcome != want && w.rotated < ledgerBuckets {
			w.t.Fatalf("tree %x has outcome %v, want %v; %+v", root, tree.outcome, want, tree)
		}
	}
	for range ledgerBuckets {
		w.rotate()
	}
	for root, tree := range w.truth {
		if tree.ended == "" {
			w.t.Fatalf("tree %x never ended at its spout; %+v", root, tree)
		}
	}
	for i, l := range w.ackers {
		if l.Len() != 0 || len(l.Outcomes()) != 0 {
			w.t.Fatalf("acker %d: %d entries and %d outcomes in the end", i, l.Len(), len(l.Outcomes()))
		}
	}
	for _, s := range w.spouts {
		if s.pending.Len() != 0 {
			w.t.Fatalf("spout %d: %d entries in the end", s.task, s.pending.Len())
		}
	}
}

func sortedRoots(m map[track.Root]uint64) []track.Root {
	roots := make([]track.Root, 0, len(m))
	for r := range m {
		roots = append(roots, r)
	}
	slices.Sort(roots)
	return roots
}

func TestSimulation(t *testing.T) {
	worlds := map[string]chaos{
		"calm":      {},
		"fails":     {fail: 5, forget: 2, reset: 5},
		"losses":    {fail: 5, lose: 3, reset: 5},
		"rotations": {fail: 3, forget: 3, reset: 10, rotations: 2},
		"time-outs": {fail: 3, forget: 3, lose: 1, reset: 10, rotations: 30},
		"restarts":  {fail: 3, lose: 1, reset: 5, rotations: 30, restarts: true},
	}
	runs := uint64(400)
	if raceEnabled {
		runs = 40
	}
	for name, c := range worlds {
		t.Run(name, func(t *testing.T) {
			outcomes := map[OutcomeKind]int{}
			for seed := range runs {
				ok := t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
					w := newWorld(t, seed, c)
					w.run(600)
					w.finale()
					for _, tree := range w.truth {
						outcomes[tree.outcome]++
					}
				})
				if !ok {
					return
				}
			}
			// A simulation in which nothing happens proves nothing.
			if outcomes[OutcomeAck] < int(runs) || c.fail > 0 && outcomes[OutcomeFail] < int(runs) {
				t.Errorf("too little happened: %v", outcomes)
			}
			t.Logf("trees by outcome: %v", outcomes)
		})
	}
}
