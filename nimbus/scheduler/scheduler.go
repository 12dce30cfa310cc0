// Package scheduler decides which executor runs in which slot. It is a
// function: [Schedule] reads a [Snapshot] and returns a [Plan], which tells
// for every topology what stays, what moves and why, and what cannot be placed
// and what it would need. It has no clock and no input or output, and the same
// snapshot gives the same plan in whatever order its parts come. Start there.
//
// A round goes so:
//
//	seat      whoever is healthy stays where it is (board.go)
//	isolate   topologies that want hosts for themselves get them (isolate.go)
//	serve     one topology after the other, by priority, then age:
//	          even (even.go) or by resources (pack.go)
//
// [Blacklist] is a small machine beside it that says which supervisors failed
// too often lately.
package scheduler

import (
	"cmp"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
)

// Schedule makes the plan for a snapshot. Ids of supervisors and of topologies
// are unique in it, as executors are within their topology.
func Schedule(s Snapshot) Plan {
	b := newBoard(s)
	b.isolate()
	var rest []*sup
	for _, s := range b.sups {
		if s.owner == nil {
			rest = append(rest, s)
		}
	}
	b.shared = newPool(b, rest)
	for _, t := range b.topos {
		if t.frozen() {
			if len(t.unplaced()) > 0 {
				t.whyNot = "it is " + t.Status.String() + " and gets nothing new until that is over"
			}
			continue
		}
		switch t.Strategy {
		case Even:
			b.even(t)
		case ResourceAware:
			b.pack(t)
		}
	}
	p := Plan{hosts: make(map[cluster.SupervisorID]string, len(b.sups))}
	for _, s := range b.sups {
		p.hosts[s.ID] = s.Host
	}
	for _, t := range b.topos {
		p.Topologies = append(p.Topologies, b.plan(t))
	}
	slices.SortFunc(p.Topologies, func(x, y TopologyPlan) int { return cmp.Compare(x.ID, y.ID) })
	return p
}

// poolOf is where t finds slots.
func (b *board) poolOf(t *topo) *pool {
	if t.own != nil {
		return t.own
	}
	return b.shared
}
