package ring

import (
	"slices"
	"time"
)

// Explanation is a machine's whole picture, for people.
type Explanation struct {
	Self Member
	// Joined, Complete: see the methods of Machine.
	Joined, Complete bool
	// Estimate is the number of nodes, guessed from the distances of successors.
	Estimate int
	// Members are the rows of the table, by id, the dead that are remembered
	// included.
	Members   []MemberState
	Positions []PositionState
	// Lookups and Rumors are how many are under way.
	Lookups, Rumors int
}

// MemberState is a row of the table.
type MemberState struct {
	Member
	// RoundTrip is the smoothed time of a ping, 0 if there was none.
	RoundTrip time.Duration
	// Timeout is when an answer is overdue.
	Timeout time.Duration
	// Silent is the time since its last message to this node; the time since
	// the clock's zero if there was none.
	Silent time.Duration
}

// PositionState is what a machine knows around one of its positions.
type PositionState struct {
	At uint64
	// Predecessors and Successors are ids, nearest first.
	Predecessors, Successors []string
	// Fingers are those that differ from the one before.
	Fingers []Finger
}

// Finger is the first known position at or after a position plus 2^Exponent.
type Finger struct {
	Exponent int
	At       uint64
	ID       string
}

// Explain is what the machine knows and believes.
func (m *Machine) Explain() Explanation {
	r := m.current()
	e := Explanation{
		Self: m.me(), Joined: m.Joined(), Complete: m.Complete(), Estimate: int(m.estimate() + 0.5),
		Lookups: len(m.lookups), Rumors: len(m.rumors),
	}
	for _, p := range m.order {
		e.Members = append(e.Members, MemberState{p.member(), p.rtt, m.timeout(p), m.now - p.heard})
	}
	for i, at := range m.own {
		a := PositionState{At: at, Predecessors: ids(r.around[i].pred), Successors: ids(r.around[i].succ)}
		for f := range 64 {
			pt, ok := m.fingerOf(at, f)
			if last := len(a.Fingers) - 1; !ok || last >= 0 && a.Fingers[last].At == pt.At {
				continue
			}
			a.Fingers = append(a.Fingers, Finger{f, pt.At, pt.Node.ID})
		}
		e.Positions = append(e.Positions, a)
	}
	slices.SortFunc(e.Positions, func(a, b PositionState) int { return comparePoints(Point{a.At, m.self}, Point{b.At, m.self}) })
	return e
}

func ids(list []*peer) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = p.node.ID
	}
	return out
}
