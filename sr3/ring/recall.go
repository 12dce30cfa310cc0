package ring

import (
	"slices"
	"time"
)

// recallFor is for how many pings a node calls upon those that it knew in an
// earlier life, before it does without them: ten seconds by Default. Others may
// have been started a little later; where they are gone for good, this is how much
// later the ring is whole, once, since then they are not recalled any more.
const recallFor = 10

// recall is whom the node knew in an earlier life and has not met in this one.
type recall struct {
	nodes []Node        // never changed in place, since others have read it
	until time.Duration // then they are given up
}

// Recall says, before Join, whom the node knew on the ring in an earlier life, so
// that it does not take itself for the whole ring just because nobody else is
// registered. They are called upon like seeds; without seeds, Join ends only when
// one of them has answered, or none did for so long. Neither is the View Complete
// before each has been met, was told to be dead, or has not answered for so long.
// The node itself may be among them.
func (m *Machine) Recall(nodes []Node) {
	var kept []Node
	for _, n := range nodes {
		known := slices.ContainsFunc(kept, func(k Node) bool { return k.ID == n.ID })
		if n.ID != m.self.ID && n.Check() == nil && !known {
			kept = append(kept, n)
		}
	}
	m.recall.nodes = kept
}

// Recalled are those of Recall that are still waited for. The caller must not
// change them.
func (m *Machine) Recalled() []Node { return m.recall.nodes }

// relocate takes in where seeds say that recalled nodes are by now.
func (m *Machine) relocate() {
	if len(m.recall.nodes) == 0 {
		return
	}
	m.recall.nodes = slices.Clone(m.recall.nodes)
	for i, n := range m.recall.nodes {
		if at := slices.IndexFunc(m.seeds, func(s Node) bool { return s.ID == n.ID }); at >= 0 {
			m.recall.nodes[i] = m.seeds[at]
		}
	}
}

// waive stops waiting for those that it is not worth to wait for.
func (m *Machine) waive(worthless func(Node) bool) {
	if slices.ContainsFunc(m.recall.nodes, worthless) {
		m.recall.nodes = slices.DeleteFunc(slices.Clone(m.recall.nodes), worthless)
	}
}

// waiveMet stops waiting for those that are in the table. As long as the node has
// not joined, they may be as lost as itself.
func (m *Machine) waiveMet() {
	if m.phase == member {
		m.waive(func(n Node) bool { return m.peers[n.ID] != nil })
	}
}

// waiveDead stops waiting for a node of which somebody on the ring says that it is
// gone.
func (m *Machine) waiveDead(id string) {
	if m.phase == member {
		m.waive(func(n Node) bool { return n.ID == id })
	}
}

// checkRecalled gives up those that did not answer for too long.
func (m *Machine) checkRecalled() {
	if len(m.recall.nodes) > 0 && m.now >= m.recall.until {
		m.recall.nodes = nil
		m.alone()
	}
}

// alone makes the node a ring of one if there is nobody to join.
func (m *Machine) alone() {
	if m.phase == joining && len(m.seeds) == 0 && len(m.recall.nodes) == 0 {
		m.phase = member
	}
}
