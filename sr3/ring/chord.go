package ring

import (
	"math"
	"slices"
)

// role is what a peer is to this node.
type role uint8

const (
	roleNear    role = 1 << iota // a neighbour that is watched, see computeRoles
	roleSucc                     // in a successor list, or one of the predecessors
	roleFinger                   // in a finger table
	roleNothing role = 0
)

// predecessors is how many are kept of each position; Chord needs one.
const predecessors = 2

// roles are Chord's pointers, computed from a view.
type roles struct {
	of        *View // the view that they are for
	neighbour []*peer
	around    []around // by own position
}

// around is what lies around one of this node's positions.
type around struct {
	succ, pred []*peer // by distance
	// succEnd and predEnd are how far the lists reach from the position, the
	// whole ring if there are not enough nodes.
	succEnd, predEnd uint64
}

// near are the peers with roleNear.
func (r *roles) near() []*peer { return slices.Clone(r.neighbour) }

// current brings view and roles up to date.
func (m *Machine) current() *roles {
	if len(m.gone)+len(m.come) > 0 {
		come := slices.DeleteFunc(m.come, func(n *Node) bool { return slices.Contains(m.gone, n) })
		m.view = m.view.change(m.gone, come)
		m.gone, m.come = nil, nil
	}
	if m.roles.of != m.view {
		m.computeRoles()
	}
	return &m.roles
}

func (m *Machine) computeRoles() {
	for _, p := range m.order {
		p.role = roleNothing
	}
	m.roles = roles{of: m.view, around: make([]around, len(m.own))}
	for i, at := range m.own {
		a := &m.roles.around[i]
		a.succ, a.succEnd = m.peersOf(at, m.cfg.Successors, true)
		a.pred, a.predEnd = m.peersOf(at, predecessors, false)
		for _, p := range slices.Concat(a.succ, a.pred) {
			p.role |= roleSucc
		}
		if !m.large {
			// Everybody is kept anyway, and the dead are no news of one position.
			// So a few watchers are enough, as many as with one position a node.
			if i == 0 {
				m.watch(a.succ, 3)
				m.watch(a.pred, 2)
			}
			continue
		}
		m.watch(a.succ, 1)
		m.watch(a.pred, 1)
		for f := range 64 {
			if pt, ok := m.fingerOf(at, f); ok {
				m.peers[pt.Node.ID].role |= roleFinger
			}
		}
	}
}

// watch makes the first n of a list neighbours, which are pinged regularly.
func (m *Machine) watch(list []*peer, n int) {
	for _, p := range list[:min(n, len(list))] {
		if p.role&roleNear == 0 {
			p.role |= roleNear
			m.roles.neighbour = append(m.roles.neighbour, p)
		}
	}
}

// peersOf are the first most different nodes from at, clockwise or back, and how
// far that goes.
func (m *Machine) peersOf(at uint64, most int, clockwise bool) ([]*peer, uint64) {
	walk := m.view.Back(at)
	if clockwise {
		walk = m.view.Walk(at + 1)
	}
	var out []*peer
	for pt := range walk {
		if pt.Node == m.self {
			continue
		}
		p := m.peers[pt.Node.ID]
		if contains(out, p) {
			continue
		}
		out = append(out, p)
		if len(out) == most {
			if clockwise {
				return out, pt.At - at
			}
			return out, at - pt.At
		}
	}
	return out, math.MaxUint64
}

// fingerOf is the first known position at or after at + 2^f, if it is of another
// node and beyond the one itself.
func (m *Machine) fingerOf(at uint64, f int) (Point, bool) {
	pt, ok := m.view.Successor(at + 1<<f)
	return pt, ok && pt.Node != m.self
}

// fits reports whether a node that is not in the table belongs to the
// neighbourhood of a position.
func (m *Machine) fits(n *Node) bool {
	r := m.current()
	for i := range n.Positions {
		q := PositionOf(n.ID, i)
		for j, at := range m.own {
			if q-at < r.around[j].succEnd || at-q < r.around[j].predEnd {
				return true
			}
		}
	}
	return false
}

// stabilize asks successors what lies around this node's positions. If everybody
// is known, one position a round is enough: news come in other ways.
func (m *Machine) stabilize() {
	m.trim()
	r := m.current()
	type question struct {
		to   *peer
		keys []uint64
	}
	var questions []question
	m.round++
	for i, a := range r.around {
		if !m.large && i != m.round%len(m.own) {
			continue
		}
		to := firstAlive(a.succ)
		if to == nil {
			continue
		}
		q := slices.IndexFunc(questions, func(q question) bool { return q.to == to })
		if q < 0 {
			q = len(questions)
			questions = append(questions, question{to: to})
		}
		questions[q].keys = append(questions[q].keys, m.own[i])
	}
	for _, q := range questions {
		m.send(q.to.node, Message{Kind: Stabilize, Keys: q.keys})
	}
}

// firstAlive is the nearest that is not even suspected, else the nearest.
func firstAlive(list []*peer) *peer {
	for _, p := range list {
		if p.status == Alive {
			return p
		}
	}
	if len(list) > 0 {
		return list[0]
	}
	return nil
}

func (m *Machine) onStabilize(msg *Message) {
	m.current()
	asker := m.view.find(msg.From.ID)
	var list []*Node
	for _, at := range msg.Keys {
		list = append(list, distinct(m.view.Walk(at+1), m.cfg.Successors, asker)...)
		list = append(list, distinct(m.view.Back(at), predecessors, asker)...)
	}
	m.reply(msg, Message{Kind: Around, Members: m.members(list)})
}

// members are the given nodes, each once, as this node knows them.
func (m *Machine) members(list []*Node) []Member {
	out := make([]Member, 0, len(list))
	for i, n := range list {
		if len(out) == MaxMembers || slices.Contains(list[:i], n) {
			continue
		}
		if n == m.self {
			out = append(out, m.me())
		} else {
			out = append(out, m.peers[n.ID].member())
		}
	}
	return out
}

// farMore reports whether the distances to successors tell of far more nodes
// than a full view has.
func (m *Machine) farMore() bool { return m.estimate() > 2*float64(m.cfg.FullView) }

// estimate guesses the number of nodes from how near the successors are.
func (m *Machine) estimate() float64 {
	r := m.current()
	var positions, span float64
	for i, a := range r.around {
		if len(a.succ) < m.cfg.Successors {
			return float64(m.view.Len()) // fewer than a list is all there are
		}
		span += float64(a.succEnd)
		for pt := range m.view.Walk(m.own[i] + 1) {
			if pt.At-m.own[i] > a.succEnd {
				break
			}
			positions++
		}
	}
	perNode := float64(len(m.view.points)) / float64(m.view.Len())
	return positions / span * math.Exp2(64) / perNode
}

// trim keeps the table small in large rings: nodes without a role go.
func (m *Machine) trim() {
	if !m.large {
		m.large = m.partial && m.farMore()
		return
	}
	if m.view.Len() > 1 && m.estimate() < float64(m.cfg.FullView)/2 {
		// The ring has shrunk: begin to know everybody.
		m.large, m.synced, m.partial = false, false, false
		m.roles.of = nil
		return
	}
	m.roles.of = nil // fingers may not have been computed yet
	m.current()
	for _, p := range slices.Clone(m.order) {
		if p.status.Living() && p.role == roleNothing {
			m.forget(p)
		}
	}
}

// fixFingers looks up one finger: of one position all, from the longest to those
// that lie within its successor list and are known, then of the next.
func (m *Machine) fixFingers() {
	if !m.large || m.phase != member {
		return
	}
	r := m.current()
	m.finger--
	if m.finger < 0 || 1<<m.finger <= r.around[m.fixing].succEnd {
		m.finger, m.fixing = 63, (m.fixing+1)%len(m.own)
	}
	if 1<<m.finger > r.around[m.fixing].succEnd {
		m.start(lookup{purpose: forFinger, key: m.own[m.fixing] + 1<<m.finger})
	}
}

// findSelf looks up what lies around one of this node's positions, beginning at
// a node that may be on another ring.
func (m *Machine) findSelf(from *Node) {
	at := m.own[m.round%len(m.own)]
	m.startAt(lookup{purpose: forNeighbour, key: at + 1}, from)
	m.startAt(lookup{purpose: forNeighbour, key: at}, from)
}

// joined finds this node's place in a ring of which nobody knows all.
func (m *Machine) joined(msg *Message) {
	if !msg.Large {
		return
	}
	for _, at := range m.own {
		m.startAt(lookup{purpose: forNeighbour, key: at + 1}, &msg.From.Node)
		m.startAt(lookup{purpose: forNeighbour, key: at}, &msg.From.Node)
	}
}
