package simulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// truth is what everybody would know if nothing were lost.
type truth struct {
	trees   map[track.Root]*tree
	sources []*source
}

// tree is the truth about one emission of a message.
type tree struct {
	root    track.Root
	message int
	source  *source
	// open counts its tuples that their bolts have not acked. Those that were
	// lost, failed or forgotten stay.
	open int
	// decided is how its acker ended it, and over how it ended at the spout.
	decided acker.OutcomeKind
	over    ending
	// touched is when the spout's table saw it last.
	touched int
}

// ending is how a tree ended at its spout.
type ending uint8

const (
	endAcked ending = iota + 1
	endFailed
	endTimedOut
	endLost // with the worker of its spout
)

var endings = [...]string{"in flight", "acked", "failed", "timed out", "lost with its spout"}

func (e ending) String() string { return endings[e] }

// source is where the messages of one spout task come from. It outlives
// workers.
type source struct {
	total  int
	fresh  int   // the first message that was never emitted
	replay []int // messages to be emitted again
	done   []int // how often each was acked
	left   int   // not yet acked
	trees  []*tree
}

func (tr *truth) newSource(total int) *source {
	s := &source{total: total, done: make([]int, total), left: total}
	tr.sources = append(tr.sources, s)
	return s
}

func (s *source) next() (n int, ok bool) {
	switch {
	case len(s.replay) > 0:
		n, s.replay = s.replay[0], s.replay[1:]
	case s.fresh < s.total:
		n = s.fresh
		s.fresh++
	default:
		return 0, false
	}
	return n, true
}

func (s *source) acked(w *World, n int) {
	s.left--
	if s.done[n]++; s.done[n] > 1 {
		w.broken("message %d is acked twice", n)
	}
}

// inFlight are the trees that are not over.
func (s *source) inFlight() []*tree {
	s.trees = slices.DeleteFunc(s.trees, func(tr *tree) bool { return tr.over != 0 })
	return slices.Clone(s.trees)
}

// plant begins a tree.
func (tr *truth) plant(w *World, t *task, root track.Root, message int) *tree {
	if tr.trees[root] != nil {
		w.broken("root %x comes twice", root)
	}
	s := t.spout.source
	n := &tree{root: root, message: message, source: s, touched: w.now}
	tr.trees[root] = n
	s.trees = append(s.trees, n)
	return n
}

// grow notes a tuple that was sent.
func (tr *truth) grow(t *storm.Tuple) {
	for _, a := range anchors(t) {
		tr.trees[a.Root&^track.First].open++
	}
}

// acked notes that a bolt acked a tuple.
func (tr *truth) acked(root track.Root) { tr.trees[root&^track.First].open-- }

func (tr *truth) touch(w *World, root track.Root) {
	if t := tr.trees[root]; t.over == 0 {
		w.Counts.Resets++
		t.touched = w.now
	}
}

// checkOutcome holds what an acker decides against the truth.
func (w *World) checkOutcome(o acker.Outcome) {
	t := w.truth.trees[o.Root]
	switch {
	case t == nil:
		w.broken("outcome %s of %x, which was never emitted", o.Kind, o.Root)
	case o.Kind == acker.OutcomeResetTimeout:
	case t.decided != 0:
		w.broken("outcome %s of %x after %s", o.Kind, o.Root, t.decided)
	case o.Kind == acker.OutcomeAck && t.open != 0:
		w.broken("%x is acked though %d of its tuples are not", o.Root, t.open)
	default:
		t.decided = o.Kind
	}
}

// end ends a tree at its spout.
func (w *World) end(t *task, tr *tree, how ending) {
	w.note("task %d: message %d, root %x, %s", t.id, tr.message, tr.root, how)
	if tr.over != 0 {
		w.broken("%x is over twice: %s, then %s", tr.root, tr.over, how)
		return
	}
	tr.over = how
	switch how {
	case endAcked:
		w.Counts.Acked++
		if tr.open != 0 {
			w.broken("%x is acked at its spout though %d of its tuples are not", tr.root, tr.open)
		}
		tr.source.acked(w, tr.message)
		return
	case endFailed:
		w.Counts.Failed++
	case endTimedOut:
		w.Counts.TimedOut++
	case endLost:
	}
	tr.source.replay = append(tr.source.replay, tr.message)
}

// checkAges looks for trees that should have timed out.
func (w *World) checkAges() {
	for _, s := range w.truth.sources {
		for _, tr := range s.inFlight() {
			if age := w.now - tr.touched; age > 2*w.timeout {
				w.broken("%x has not timed out after %d ticks, the time-out is %d", tr.root, age, w.timeout)
			}
		}
	}
}

// complete tells that every message was acked.
func (tr *truth) complete() bool {
	return !slices.ContainsFunc(tr.sources, func(s *source) bool { return s.left > 0 })
}

func (tr *truth) missing() string {
	var out []string
	for i, s := range tr.sources {
		for n, times := range s.done {
			if times == 0 {
				out = append(out, fmt.Sprintf("message %d of source %d", n, i))
			}
		}
	}
	return strings.Join(out, ", ")
}

// show is a message as a trace shows it.
func (m *message) show(from, to *task) string {
	switch m.kind {
	case tupleMessage:
		return fmt.Sprintf("%d>%d tuple %x", from.id, to.id, anchors(&m.tuple))
	case ackMessage:
		return fmt.Sprintf("%d>%d ack %x", from.id, to.id, m.ack)
	case failMessage:
		return fmt.Sprintf("%d>%d fail %x", from.id, to.id, m.root)
	case resetMessage:
		return fmt.Sprintf("%d>%d more time for %x", from.id, to.id, m.root)
	default:
		return fmt.Sprintf("%d>%d outcome %s of %x", from.id, to.id, m.outcome.Kind, m.outcome.Root)
	}
}
