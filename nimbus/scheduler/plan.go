package scheduler

import (
	"slices"

	"github.com/stormring/stormring/internal/cluster"
)

// Plan is what should run where, and why.
type Plan struct {
	// Topologies has one entry for each in the snapshot, sorted by id.
	Topologies []TopologyPlan

	hosts map[cluster.SupervisorID]string // for Explain
}

// TopologyPlan is what becomes of one topology.
type TopologyPlan struct {
	ID cluster.TopologyID
	// Assignment is the whole new assignment.
	Assignment cluster.Assignment
	// Stay are the executors that keep their slot, sorted.
	Stay []cluster.Executor
	// Moves are those that get a slot, sorted by executor.
	Moves []Move
	// Unplaced are those left without a slot, sorted.
	Unplaced []cluster.Executor
	// WhyNot tells a person what Unplaced would need; "" if there are none.
	WhyNot string
	// MissingSlots is how many more slots would help; 0 if none would. While
	// it is not 0, the caller may want to release blacklisted supervisors.
	MissingSlots int
	// Notes tell what else is not as it was wished for.
	Notes []string
	// Changed: Assignment differs from the current one.
	Changed bool

	components []string // by position in Assignment, for Explain
}

// Move is an executor that gets a slot.
type Move struct {
	Executor cluster.Executor
	// From is where it was, or the zero Slot.
	From cluster.Slot
	To   cluster.Slot
	// Why is the reason in words.
	Why string
}

// Of is the plan of one topology, if it is in the plan.
func (p Plan) Of(id cluster.TopologyID) (TopologyPlan, bool) {
	i, ok := slices.BinarySearchFunc(p.Topologies, id, func(t TopologyPlan, id cluster.TopologyID) int {
		switch {
		case t.ID < id:
			return -1
		case t.ID > id:
			return 1
		}
		return 0
	})
	if !ok {
		return TopologyPlan{}, false
	}
	return p.Topologies[i], true
}

// plan tells what came out for one topology.
func (b *board) plan(t *topo) TopologyPlan {
	p := TopologyPlan{ID: t.ID, WhyNot: t.whyNot, MissingSlots: t.missing, Notes: t.notes}
	for i, e := range t.execs {
		to := t.at[i]
		if to == nowhere {
			p.Unplaced = append(p.Unplaced, e.Executor)
			continue
		}
		pl := cluster.Placement{Executor: e.Executor, Slot: b.slot(to), StartSecs: b.now}
		if to == t.was[i] {
			pl.StartSecs = t.since[i]
			p.Stay = append(p.Stay, e.Executor)
		} else {
			p.Moves = append(p.Moves, Move{Executor: e.Executor, From: t.from[i], To: pl.Slot, Why: t.why[i]})
		}
		p.Assignment = append(p.Assignment, pl)
		p.components = append(p.components, e.Component)
	}
	if len(p.Unplaced) == 0 {
		p.WhyNot = ""
	}
	current := t.Current
	if !slices.IsSortedFunc(current, byExecutor) {
		current = slices.Clone(current)
		current.Sort()
	}
	p.Changed = !p.Assignment.Equal(current)
	return p
}

func byExecutor(a, b cluster.Placement) int { return a.Executor.Compare(b.Executor) }
