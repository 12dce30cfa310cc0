package checkpoint

import (
	"fmt"
	"slices"
)

// Settlement is what to do with the ack of a tuple.
type Settlement uint8

// The settlements.
const (
	// AckNow passes the ack on.
	AckNow Settlement = iota
	// AckLater means that the machine has it, and returns it in AckAll once it is
	// committed, or in FailAll.
	AckLater
	// FailNow fails the tuple: its effect was rolled back.
	FailNow
)

// Participant is the part of a task's machine that keeps state: it has it
// installed, taken down and rolled back, and keeps acks until they are committed.
// A is what settles one ack.
type Participant[A any] struct {
	task       int32
	preCommits bool
	era        Era
	open       bool // the state is in place
	loading    bool
	want       Version    // what is loading, or was loaded last
	base       Version    // what the next version is changed from
	saving     int64      // the transaction being saved, 0 if none
	frozen     int64      // the transaction that is neither committed nor thawed
	acks       backlog[A] // since the last cut
	sealed     []sealed[A]
}

// sealed are the acks of tuples between two cuts.
type sealed[A any] struct {
	tx   int64
	acks [][]A
}

// NewParticipant makes the machine of a stateful task. preCommits says that the
// component wants to act before each commit.
func NewParticipant[A any](task int32, preCommits bool) *Participant[A] {
	return &Participant[A]{task: task, preCommits: preCommits}
}

// Open tells whether the state is in place, so that tuples may be executed.
func (p *Participant[A]) Open() bool { return p.open }

// Settle takes in the ack of a tuple that was executed in this era.
func (p *Participant[A]) Settle(ack A, era Era) Settlement {
	if era != p.era {
		return FailNow
	}
	p.acks.add(ack)
	return AckLater
}

// Step acts on a marker that is complete and returns what is to be done.
func (p *Participant[A]) Step(m Marker) []TaskEffect {
	if m.begins() {
		return p.begin(m)
	}
	// Whatever the marker is for, it makes up for a commit that was lost.
	out := p.commit(m.Committed)
	switch m.Action {
	case Prepare:
		out = append(out, p.prepare(m)...)
	case PreCommit:
		if p.preCommits && p.frozen == m.TxID && p.saving == 0 {
			out = append(out, RunPreCommit{TxID: m.TxID})
		}
	case Abandon:
		out = append(out, p.thaw(m.TxID)...)
	case InitState, Rollback, Commit: // done above
	}
	return out
}

func (p *Participant[A]) begin(m Marker) []TaskEffect {
	var out []TaskEffect
	if m.Committed.Era == p.era {
		// The word of the commit may not have come here in time.
		out = p.commit(m.Committed)
	}
	out = append(out, p.failAll()...)
	wasOpen := p.open
	p.era, p.open, p.saving, p.frozen = m.Era, false, 0, 0
	if p.loading && p.want == m.Committed {
		return out // what is on its way is what is wanted
	}
	p.loading, p.want = true, m.Committed
	return append(out, LoadState{Version: m.Committed, Running: wasOpen})
}

func (p *Participant[A]) failAll() []TaskEffect {
	var failed []A
	for _, s := range append(p.sealed, sealed[A]{acks: p.acks.take()}) {
		failed = append(failed, slices.Concat(s.acks...)...)
	}
	p.sealed = nil
	if len(failed) == 0 {
		return nil
	}
	return []TaskEffect{FailAll[A]{Acks: failed}}
}

// Loaded says what became of LoadState. A failed one is tried again by the next
// era.
func (p *Participant[A]) Loaded(v Version, err error) []TaskEffect {
	if !p.loading || v != p.want {
		return nil
	}
	p.loading = false
	if err != nil {
		return []TaskEffect{p.fail(v.TxID, true, fmt.Sprintf("version %v was not installed: %v", v, err))}
	}
	p.open, p.base = true, v
	return []TaskEffect{Reply{Answer{Task: p.task, Kind: Installed, Era: p.era, TxID: v.TxID}}}
}

func (p *Participant[A]) prepare(m Marker) []TaskEffect {
	if !p.open {
		return []TaskEffect{p.fail(m.TxID, true, "its state is not in place")}
	}
	out := p.thaw(m.TxID - 1)
	p.sealed = append(p.sealed, sealed[A]{tx: m.TxID, acks: p.acks.take()})
	p.saving, p.frozen = m.TxID, m.TxID
	return append(out, SaveState{Version: Version{TxID: m.TxID, Era: p.era}, Base: p.base})
}

// thaw gives up the save of a transaction up to tx. Its acks stay with it, and
// are released by the next commit, which holds what it would have held.
func (p *Participant[A]) thaw(tx int64) []TaskEffect {
	if p.frozen == 0 || p.frozen > tx {
		return nil
	}
	given := p.frozen
	p.saving, p.frozen = 0, 0
	return []TaskEffect{ThawState{TxID: given}}
}

// Saved says what became of SaveState. rollback says that not only the save
// failed, but the component's hook: what it did to the state is not known.
func (p *Participant[A]) Saved(v Version, err error, rollback bool) []TaskEffect {
	if v.Era != p.era || v.TxID != p.saving {
		return nil
	}
	p.saving = 0
	if err != nil {
		return []TaskEffect{p.fail(v.TxID, rollback, fmt.Sprintf("transaction %d was not saved: %v", v.TxID, err))}
	}
	return []TaskEffect{Reply{Answer{Task: p.task, Kind: Prepared, Era: p.era, TxID: v.TxID, PreCommits: p.preCommits}}}
}

// PreCommitted says what became of RunPreCommit.
func (p *Participant[A]) PreCommitted(tx int64, err error) []TaskEffect {
	if err != nil {
		return []TaskEffect{p.fail(tx, true, fmt.Sprintf("the component refused to commit transaction %d: %v", tx, err))}
	}
	return []TaskEffect{Reply{Answer{Task: p.task, Kind: PreCommitted, Era: p.era, TxID: tx}}}
}

func (p *Participant[A]) fail(tx int64, rollback bool, reason string) Reply {
	return Reply{Answer{Task: p.task, Kind: Failed, Era: p.era, TxID: tx, Rollback: rollback, Reason: reason}}
}

// commit releases the acks of tuples that v holds. A version of an older era
// holds none of this one.
func (p *Participant[A]) commit(v Version) []TaskEffect {
	if v.Era != p.era || v == p.base || v.TxID < p.base.TxID {
		return nil
	}
	out := []TaskEffect{StateCommitted{Version: v}}
	n := 0
	for n < len(p.sealed) && p.sealed[n].tx <= v.TxID {
		for _, acks := range p.sealed[n].acks {
			out = append(out, AckAll[A]{Acks: acks})
		}
		n++
	}
	p.sealed = p.sealed[n:]
	p.base = v
	if p.frozen <= v.TxID {
		p.frozen = 0
	}
	return out
}
