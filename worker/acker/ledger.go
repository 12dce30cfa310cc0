// Package acker knows when a tuple tree is done. It has no input or output and
// no clock: executors feed it and deliver what it returns.
//
// A tree starts with a spout's tuple and grows with every tuple that is
// anchored to one of its tuples. Each edge, that is each tuple sent to a task,
// has a random number which is XORed into the tree's value once when the tuple
// is emitted and once when it is acked; so the value is 0 when every tuple
// that was emitted has been acked.
//
//   - [Ledger] is one acker task's book of those values. Start there.
//   - [Pending] is the other end: a spout task's table of what it waits for.
//   - [Choose] says which acker task follows which tree.
//
// Both tables are rings over the sequence numbers that track.Root carries,
// see ring.go.
package acker

import "github.com/stormring/stormring/internal/track"

// InitFlag in Message.Root marks an init message. It is the mark track.First,
// so that an ack of a tuple with that mark is an init message by itself.
const InitFlag = track.First

// Message is what spouts and bolts tell the acker task of a tree: an init
// message carries the XOR of the edges that the spout emitted, an ack message
// the edge of the acked tuple XOR the edges of all tuples anchored to it. For
// the only tuple of a spout, marked track.First, both are one message, in
// which the tuple's own edge cancels out.
type Message struct {
	// Root names the tree; InitFlag is set in an init message.
	Root track.Root
	// Val is XORed into the tree's value.
	Val uint64
}

// OutcomeKind tells what became of a tree.
type OutcomeKind uint8

const (
	// OutcomeAck: every tuple of the tree was acked.
	OutcomeAck OutcomeKind = iota + 1
	// OutcomeFail: a bolt failed a tuple of the tree.
	OutcomeFail
	// OutcomeResetTimeout: a bolt asked for more time; the tree lives on.
	OutcomeResetTimeout
)

// String is the kind's name for logs.
func (k OutcomeKind) String() string {
	switch k {
	case OutcomeAck:
		return "ack"
	case OutcomeFail:
		return "fail"
	case OutcomeResetTimeout:
		return "reset-timeout"
	default:
		return "unknown"
	}
}

// Outcome is news for the spout task that Root names.
type Outcome struct {
	Root track.Root
	Kind OutcomeKind
}

// ledgerBuckets is how many rotations an entry lives through, itself not
// counted: it vanishes at the third after it was put or refreshed.
const ledgerBuckets = 3

// Flags of a Ledger's entries.
const (
	sawInit uint8 = 1 << iota
	sawFail
)

// Ledger is the book of one acker task. Messages about a tree may come in any
// order:
//
//	absent         ── init ──> open
//	absent         ── ack ───> early,  it waits for init
//	early          ── init ──> open
//	absent, early  ── Fail ──> failed, it waits for init
//	failed         ── init ──> outcome fail
//	open           ── Fail ──> outcome fail
//	open, value 0              outcome ack
//
// A tree with outcome ack or fail is absent again. Because both use up an init
// message, and a spout sends one a tree, no tree can have two of them: what
// straggles in later waits for an init that never comes, and vanishes after
// three rotations.
//
// Acks do not lengthen an entry's life; Fail and ResetTimeout do. If message
// time-outs are disabled nobody calls Rotate and nothing expires; stragglers
// are then dropped oldest first when their number hits a bound, and open trees
// stay.
//
// A Ledger belongs to one goroutine. Make it with NewLedger.
type Ledger struct {
	tasks    []*taskTrees // by spout task; nil where nothing is known
	gen      uint32
	outcomes []Outcome
	limit    int
	timed    bool
}

// taskTrees are the trees of one spout task with their XOR values.
type taskTrees struct {
	ring[uint64]
	lastInit uint64 // key of the init message seen last; 0 before the first
	seen     uint64 // newest at the last rotation
}

// NewLedger makes an empty Ledger for a topology without time-outs: it is never
// rotated, and all init messages must come from the spouts, in the order of
// their numbers. That order tells what came too late for a tree.
func NewLedger() *Ledger { return &Ledger{limit: maxSlots} }

// NewTimedLedger makes an empty Ledger that is rotated. What came too late for
// a tree goes by Rotate, so inits may come in any order and from anywhere.
func NewTimedLedger() *Ledger { return &Ledger{limit: maxSlots, timed: true} }

// Apply books a batch of init and ack messages. The batch is not kept.
func (l *Ledger) Apply(batch []Message) {
	var t *taskTrees
	task := int32(-1)
	for _, m := range batch {
		root := m.Root &^ InitFlag
		seq := root.Seq()
		if root.Task() != task {
			task = root.Task()
			t = l.task(root)
		}
		// The entry is nearly always at home in the ring, or new.
		s := &t.slots[seq&t.mask]
		if s.key != seq|used {
			if s = t.get(seq); s == nil {
				if m.Val == 0 && m.Root != root {
					// The first tuple had no children and nothing else was said.
					l.outcomes = append(l.outcomes, Outcome{Root: root, Kind: OutcomeAck})
					continue
				}
				s = t.claim(seq, l.gen)
			}
		}
		s.val ^= m.Val
		if m.Root != root {
			s.mark |= sawInit
			t.lastInit = s.key
		}
		if s.val == 0 || s.mark == sawInit|sawFail {
			l.settle(t, s, root)
		}
	}
}

// Fail books that a bolt failed a tuple of the tree. If the tree's init
// message is still on its way the outcome follows when it comes. A failed
// tuple with the mark track.First will not bring one: then it is now.
func (l *Ledger) Fail(root track.Root) {
	first := root&InitFlag != 0
	root &^= InitFlag
	t := l.task(root)
	s := t.get(root.Seq())
	if s == nil {
		s = t.claim(root.Seq(), l.gen)
	}
	s.gen = l.gen
	s.mark |= sawFail
	if first {
		s.mark |= sawInit
	}
	l.settle(t, s, root)
}

// ResetTimeout starts the tree's time anew, here and, by the outcome, in the
// spout task. A tree that is not open has nothing to lengthen at the spout: it
// is too young or over. By a tuple with the mark track.First it is known to be
// open although nothing is said of it here.
func (l *Ledger) ResetTimeout(root track.Root) {
	first := root&InitFlag != 0
	root &^= InitFlag
	open := first
	if t := l.known(root); t != nil {
		if s := t.get(root.Seq()); s != nil {
			s.gen = l.gen
			open = open || s.mark&sawInit != 0
		}
	}
	if open {
		l.outcomes = append(l.outcomes, Outcome{Root: root, Kind: OutcomeResetTimeout})
	}
}

// settle reports and removes a tree that is decided. A fail counts more than
// a value of 0: only a bolt that both failed and acked a tuple causes both,
// and replaying is the safe answer.
func (l *Ledger) settle(t *taskTrees, s *slot[uint64], root track.Root) {
	if s.mark&sawInit == 0 {
		return
	}
	kind := OutcomeAck
	if s.mark&sawFail != 0 {
		kind = OutcomeFail
	} else if s.val != 0 {
		return
	}
	t.remove(s)
	l.outcomes = append(l.outcomes, Outcome{Root: root, Kind: kind})
}

// Rotate is to be called once per message time-out. It drops, silently since
// the spout counts for itself, every entry that was put or refreshed three
// calls ago or earlier.
func (l *Ledger) Rotate() {
	l.gen++
	for i, t := range l.tasks {
		if t == nil {
			continue
		}
		for s := range t.all() {
			if l.gen-s.gen >= ledgerBuckets {
				t.remove(s)
			}
		}
		t.trim()
		if t.len() == 0 && t.newest == t.seen {
			l.tasks[i] = nil // the task is gone or idle: give its ring back
		}
		t.seen = t.newest
	}
}

// Len is the number of entries: open trees and stragglers.
func (l *Ledger) Len() int {
	n := 0
	for _, t := range l.tasks {
		if t != nil {
			n += t.len()
		}
	}
	return n
}

// Outcomes are what was decided since ClearOutcomes, in order. The slice is
// valid until the Ledger is used again.
func (l *Ledger) Outcomes() []Outcome { return l.outcomes }

// ClearOutcomes forgets the outcomes; their memory is used again.
func (l *Ledger) ClearOutcomes() { l.outcomes = l.outcomes[:0] }

// known finds the trees of the spout task that root names, or nil.
func (l *Ledger) known(root track.Root) *taskTrees {
	if i := int(root.Task()); i < len(l.tasks) {
		return l.tasks[i]
	}
	return nil
}

// task finds or makes the trees of the spout task that root names.
func (l *Ledger) task(root track.Root) *taskTrees {
	if t := l.known(root); t != nil {
		return t
	}
	return l.addTask(int(root.Task()))
}

func (l *Ledger) addTask(i int) *taskTrees {
	if i >= len(l.tasks) {
		l.tasks = append(l.tasks, make([]*taskTrees, i+1-len(l.tasks))...)
	}
	t := &taskTrees{ring: newRing[uint64](min(startSlots, l.limit), l.limit)}
	if !l.timed {
		t.evictable = t.stray
	}
	l.tasks[i] = t
	return t
}

// stray reports whether s is what came too late for a tree that is over: its
// init was used up or lost, because a spout task's init messages arrive in the
// order of their numbers and a later one is here.
func (t *taskTrees) stray(s *slot[uint64]) bool {
	return s.mark&sawInit == 0 && t.lastInit != 0 && before(s.key, t.lastInit)
}

// before compares sequence numbers that wrap at track.SeqBits; higher bits are
// ignored.
func before(a, b uint64) bool { return int64((b-a)<<(64-track.SeqBits)) > 0 }
