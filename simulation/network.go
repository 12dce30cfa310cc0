package simulation

import (
	"slices"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// network carries messages between tasks: first in, first out from each sender
// to each receiver, in any order otherwise.
type network struct {
	links []*link  // between workers, by from * workers + to
	busy  []*queue // those with messages, in no order
}

// link is the connection from one worker to another.
type link struct {
	from, to *process
	// cut: nothing is delivered, but what is sent waits.
	cut bool
	// stale: the worker at the other end was started anew and the sender does
	// not know. What it sends is for the dead one, and dropped once it knows.
	stale bool
}

// queue is the way from one task to another.
type queue struct {
	from, to *task
	link     *link // nil within a worker
	messages []message
	place    int // in network.busy, or -1
}

// message is what goes from task to task; kind tells which field counts.
type message struct {
	kind    messageKind
	tuple   storm.Tuple
	ack     acker.Message
	root    track.Root
	outcome acker.Outcome
}

type messageKind uint8

const (
	tupleMessage messageKind = iota + 1
	ackMessage
	failMessage
	resetMessage
	outcomeMessage
)

func (n *network) setUp(processes []*process) {
	for _, from := range processes {
		for _, to := range processes {
			n.links = append(n.links, &link{from: from, to: to})
		}
	}
}

func (w *World) link(from, to *process) *link {
	if from == to {
		return nil
	}
	return w.net.links[from.index*len(w.processes)+to.index]
}

// send puts m on its way.
func (w *World) send(from, to *task, m message) {
	q := from.queues[to.id]
	if q == nil {
		q = &queue{from: from, to: to, link: w.link(from.home, to.home), place: -1}
		from.queues[to.id] = q
	}
	if q.link != nil && (q.link.stale || w.fault(w.cfg.Lose)) {
		w.Counts.Lost++
		w.note("lost: %s", m.show(from, to))
		return
	}
	q.messages = append(q.messages, m)
	if q.place < 0 {
		q.place = len(w.net.busy)
		w.net.busy = append(w.net.busy, q)
	}
}

// deliver delivers some message, if there is one that can be.
func (w *World) deliver() {
	if len(w.net.busy) == 0 {
		return
	}
	q := w.net.busy[w.rng.IntN(len(w.net.busy))]
	if q.link != nil && q.link.cut {
		return
	}
	m := q.messages[0]
	q.messages = q.messages[1:]
	w.net.tidy(q)
	w.note("%s", m.show(q.from, q.to))
	switch m.kind {
	case tupleMessage:
		w.execute(q.to, m.tuple)
	case outcomeMessage:
		w.outcome(q.to, m.outcome)
	default:
		w.count(q.to, &m)
	}
}

// tidy takes an empty queue off the busy ones.
func (n *network) tidy(q *queue) {
	if len(q.messages) > 0 || q.place < 0 {
		return
	}
	last := len(n.busy) - 1
	n.busy[q.place] = n.busy[last]
	n.busy[q.place].place = q.place
	n.busy = n.busy[:last]
	q.place = -1
	q.messages = nil
}

// crash drops what dies with p: all that is under way to it, and of what it has
// sent the end, from anywhere on.
func (n *network) crash(w *World, p *process) {
	for _, q := range slices.Backward(n.busy) { // tidy moves those that were seen
		if q.from.home == p && q.to.home != p {
			q.messages = q.messages[:w.rng.IntN(len(q.messages)+1)]
		}
		if q.to.home == p {
			q.messages = nil
		}
		n.tidy(q)
	}
	for _, l := range n.links {
		if l.to == p && l.from != p {
			l.stale = true
		}
		if l.from == p {
			l.cut, l.stale = false, false
		}
	}
}

// cut cuts some link.
func (w *World) cut() {
	l := w.net.links[w.rng.IntN(len(w.net.links))]
	if l.from != l.to && !l.cut {
		w.Counts.Cuts++
		w.note("link from %d to %d is cut", l.from.index, l.to.index)
		l.cut = true
	}
}

// restore lets a few links find together again.
func (w *World) restore() {
	for range 3 {
		w.net.join(w, w.net.links[w.rng.IntN(len(w.net.links))])
	}
}

func (n *network) join(w *World, l *link) {
	if l.cut || l.stale {
		w.note("link from %d to %d is up", l.from.index, l.to.index)
	}
	l.cut, l.stale = false, false
}
