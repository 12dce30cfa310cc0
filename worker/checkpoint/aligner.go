package checkpoint

import (
	"fmt"

	"github.com/stormring/stormring/internal/assert"
)

// Mode is what happens to tuples that come behind a marker before the marker
// has come on all inputs.
type Mode uint8

// The modes of alignment.
const (
	// Aligned holds them back, so that a version is one cut through all tasks.
	Aligned Mode = iota
	// Unaligned executes them, as Storm does: nothing waits, and they are
	// executed again after a rollback, whatever the spouts can do.
	Unaligned
)

// Verdict is what to do with a tuple that has come.
type Verdict uint8

// The verdicts.
const (
	// Run executes it.
	Run Verdict = iota
	// Hold puts it at the end of the task's held tuples.
	Hold
	// Drop fails it: it belongs to an older era, or to one not known yet.
	Drop
)

// Cut is what a marker changed in an Aligner.
type Cut struct {
	// Release says that held tuples are to be executed: before anything else
	// if Act is false, after it if Act is true.
	Release bool
	// Begun says that a new era has begun: held tuples are of an older one.
	Begun bool
	// Act says that the marker is complete: act on it, and forward it.
	Act bool
	// Lost is not empty if the transaction cannot be one cut any more.
	Lost string
}

// Aligner is the part of a task's machine that knows its inputs: which tuples
// come before a marker, which behind it, and which do not count any more.
type Aligner struct {
	mode   Mode
	inputs []input
	index  map[int32]int
	era    Era
	// aligning is the transaction whose markers are being waited for, 0 if none;
	// marker is the first of them.
	aligning int64
	marker   Marker
	// done is the last transaction that was aligned or given up.
	done int64
	// precommitted, committed and abandoned are the last of each that were seen.
	precommitted, committed, abandoned int64
	held, maxHeld                      int
}

// input is one task that sends to this one.
type input struct {
	era Era
	// got counts its tuples in this era.
	got int64
	// marked is the last transaction whose marker it sent in this era.
	marked int64
	ended  bool
}

// NewAligner makes the aligner of a task whose inputs are these tasks, for
// spouts the checkpoint task alone. At most maxHeld tuples are held back for a
// marker.
func NewAligner(mode Mode, inputs []int32, maxHeld int) *Aligner {
	assert.That(len(inputs) > 0, "a task without inputs cannot take part in checkpoints")
	a := &Aligner{mode: mode, inputs: make([]input, len(inputs)), index: make(map[int32]int, len(inputs)), maxHeld: maxHeld}
	for i, task := range inputs {
		a.index[task] = i
	}
	assert.That(len(a.index) == len(inputs), "inputs %v name a task twice", inputs)
	return a
}

// Index is the place of a task among the inputs; ok is false for others.
func (a *Aligner) Index(task int32) (i int, ok bool) {
	i, ok = a.index[task]
	return i, ok
}

// Era is the one that the task is in, 0 before the first.
func (a *Aligner) Era() Era { return a.era }

// Arrive counts a tuple of an input and says what to do with it.
func (a *Aligner) Arrive(i int) Verdict {
	in := &a.inputs[i]
	if in.era != a.era || a.era == 0 {
		return Drop
	}
	in.got++
	if a.aligning != 0 && in.marked == a.aligning && a.mode == Aligned {
		a.held++
		return Hold
	}
	return Run
}

// Full tells whether more is held back than may be: then GiveUp, since the
// missing marker may wait in the same inbox, behind what one would not take in.
func (a *Aligner) Full() bool { return a.held > a.maxHeld }

// GiveUp gives up the transaction that is being aligned and returns it, 0 if
// there is none. What was held is to be executed.
func (a *Aligner) GiveUp() int64 {
	tx := a.aligning
	if tx != 0 {
		a.finish(tx)
	}
	return tx
}

func (a *Aligner) finish(tx int64) {
	a.done = max(a.done, tx)
	a.aligning, a.held = 0, 0
}

// Mark takes in a marker. sent is the number of tuples that the input has sent
// to this task in the marker's era: a cut through a channel that loses tuples is
// none.
func (a *Aligner) Mark(i int, m Marker, sent int64) Cut {
	in := &a.inputs[i]
	if m.Era < a.era {
		return Cut{}
	}
	if m.begins() {
		return a.begin(in, m)
	}
	if m.Era > a.era {
		return Cut{Lost: fmt.Sprintf("a marker of era %d came before the one that begins it", m.Era)}
	}
	switch m.Action {
	case Prepare:
		return a.prepare(in, m, sent)
	case PreCommit:
		return first(&a.precommitted, m.TxID)
	case Commit:
		return first(&a.committed, m.Committed.TxID)
	case Abandon:
		cut := first(&a.abandoned, m.TxID)
		if a.aligning != 0 && a.aligning <= m.TxID {
			a.GiveUp()
			return Cut{Act: true, Release: true}
		}
		a.done = max(a.done, m.TxID)
		return cut
	case InitState, Rollback: // handled above
	}
	return Cut{}
}

// first acts on the first marker of a transaction that comes on any input.
func first(last *int64, tx int64) Cut {
	if tx <= *last {
		return Cut{}
	}
	*last = tx
	return Cut{Act: true}
}

// begin starts an era on the first marker that comes. Nothing has to be waited
// for: tuples of inputs where it has not come yet are of an older era.
func (a *Aligner) begin(in *input, m Marker) Cut {
	enter(in, m.Era)
	if m.Era == a.era {
		return Cut{}
	}
	a.era = m.Era
	a.aligning, a.held, a.done = 0, 0, m.Committed.TxID
	a.precommitted, a.committed, a.abandoned = a.done, a.done, a.done
	return Cut{Begun: true, Act: true}
}

func enter(in *input, era Era) {
	if in.era < era {
		in.era, in.got, in.marked = era, 0, 0
	}
}

func (a *Aligner) prepare(in *input, m Marker, sent int64) Cut {
	// If the marker that begins the era was lost here, so was what came behind
	// it, and the count says so.
	enter(in, m.Era)
	if m.TxID <= in.marked {
		return Cut{}
	}
	in.marked = m.TxID
	if in.got != sent {
		cut := Cut{Release: a.aligning != 0}
		cut.Lost = fmt.Sprintf("%d tuples have come from an input that sent %d before the marker", in.got, sent)
		a.finish(max(m.TxID, a.aligning))
		return cut
	}
	if m.TxID <= a.done || m.TxID < a.aligning {
		return Cut{}
	}
	cut := Cut{}
	if m.TxID > a.aligning {
		// A newer transaction supersedes: what was held is before its marker.
		cut.Release = a.aligning != 0
		a.aligning, a.marker, a.held = m.TxID, m, 0
	}
	return a.complete(cut)
}

// complete ends the alignment if the marker has come on all inputs.
func (a *Aligner) complete(cut Cut) Cut {
	for i := range a.inputs {
		in := &a.inputs[i]
		if !in.ended && (in.era != a.era || in.marked < a.aligning) {
			return cut
		}
	}
	a.finish(a.aligning)
	return Cut{Act: true, Release: true}
}

// End says that nothing will come from an input any more. If a transaction was
// waiting for that input alone, complete is true and its marker is to be acted on.
func (a *Aligner) End(i int) (m Marker, complete bool) {
	a.inputs[i].ended = true
	return a.marker, a.aligning != 0 && a.complete(Cut{}).Act
}
