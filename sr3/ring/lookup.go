package ring

import (
	"slices"
	"time"
)

// purpose is who wants to know the end of a lookup.
type purpose uint8

const (
	forUser purpose = iota
	forFinger
	forNeighbour
)

// lookup is an iterative search. It asks one node at a time for nodes nearer to
// the key; who does not answer in time is passed over for the next best.
type lookup struct {
	purpose    purpose
	key, token uint64
	seq        uint64
	until      time.Duration // given up then
	deadline   time.Duration // of the node that is being asked
	asking     *Node         // nil while there is nobody to ask
	from       *Node         // where to begin, nil for here
	tried      []string
	best       []candidate // by distance
	path       []Node
}

// candidate is a node and how far its position is before the key.
type candidate struct {
	node Node
	dist uint64
}

const (
	// maxCandidates bounds the next best that a lookup keeps.
	maxCandidates = 16
	// stepsOffered is how many nearer nodes a Step names.
	stepsOffered = 4
	// maxLookups bounds the lookups that a machine makes for itself.
	maxLookups = 4 * MaxPositions
	// maxPath bounds a lookup that is led around.
	maxPath = 64
)

// Lookup searches the node that is responsible for key. The event Found or
// NotFound, perhaps among those that are returned, has the token.
func (m *Machine) Lookup(key, token uint64, now time.Duration) Out {
	m.advance(now)
	m.start(lookup{purpose: forUser, key: key, token: token})
	return m.take()
}

func (m *Machine) start(l lookup) { m.startAt(l, nil) }

func (m *Machine) startAt(l lookup, from *Node) {
	if l.purpose != forUser && len(m.lookups) >= maxLookups {
		return // its turn comes again
	}
	m.seq++
	l.seq, l.from = m.seq, from
	l.until = m.now + m.cfg.LookupFor
	m.lookups = append(m.lookups, &l)
	if m.phase == idle || m.phase == gone {
		m.giveUp(&l)
		return
	}
	m.begin(&l)
}

// begin starts a lookup, or starts it again when all candidates failed.
func (m *Machine) begin(l *lookup) {
	l.tried, l.best = nil, nil
	l.path = append(l.path[:0], *m.self)
	if l.from != nil {
		l.best = []candidate{{*l.from, 0}}
		m.ask(l)
		return
	}
	done, keys, list := m.step(l.key)
	m.advanceLookup(l, done, keys, m.members(list))
}

// step is what this node knows of key: the end, or nodes nearer to it.
func (m *Machine) step(key uint64) (done bool, keys []uint64, list []*Node) {
	m.current()
	for pt := range m.view.Back(key) {
		if pt.Node == m.self || len(list) == stepsOffered {
			break
		}
		if slices.Contains(list, pt.Node) || m.peers[pt.Node.ID].status != Alive {
			continue
		}
		keys, list = append(keys, pt.At), append(list, pt.Node)
	}
	if len(list) > 0 {
		return false, keys, list
	}
	return true, nil, distinct(m.view.Walk(key), m.cfg.Successors, nil)
}

func (m *Machine) onFind(msg *Message) {
	if len(msg.Keys) != 1 {
		return
	}
	done, keys, list := m.step(msg.Keys[0])
	m.reply(msg, Message{Kind: Step, Done: done, Keys: keys, Members: m.members(list)})
}

func (m *Machine) onStep(msg *Message) {
	i := slices.IndexFunc(m.lookups, func(l *lookup) bool { return l.seq == msg.Seq })
	if i < 0 {
		return
	}
	l := m.lookups[i]
	if !slices.Contains(l.tried, msg.From.ID) || slices.ContainsFunc(l.path, func(n Node) bool { return n.ID == msg.From.ID }) {
		return // not asked, or a second copy
	}
	if !msg.Done && len(msg.Keys) != len(msg.Members) || msg.Done && len(msg.Members) == 0 {
		return
	}
	l.path = append(l.path, msg.From.Node)
	m.advanceLookup(l, msg.Done, msg.Keys, msg.Members)
}

// advanceLookup goes on with what one node said.
func (m *Machine) advanceLookup(l *lookup, done bool, keys []uint64, list []Member) {
	if done {
		m.found(l, list)
		return
	}
	for i := range list {
		c := candidate{list[i].Node, l.key - 1 - keys[i]}
		same := slices.IndexFunc(l.best, func(b candidate) bool { return b.node.ID == c.node.ID })
		if same >= 0 {
			if l.best[same].dist <= c.dist {
				continue
			}
			l.best = slices.Delete(l.best, same, same+1)
		}
		at, _ := slices.BinarySearchFunc(l.best, c, func(a, b candidate) int {
			if a.dist < b.dist {
				return -1
			}
			return 1
		})
		l.best = slices.Insert(l.best, at, c)
	}
	l.best = l.best[:min(len(l.best), maxCandidates)]
	m.ask(l)
}

// ask asks the best candidate that was not asked yet.
func (m *Machine) ask(l *lookup) {
	l.asking = nil
	if len(l.path) > maxPath {
		l.deadline = l.until
		return
	}
	for i := range l.best {
		to := &l.best[i].node
		if to.ID == m.self.ID || slices.Contains(l.tried, to.ID) {
			continue
		}
		p := m.peers[to.ID]
		if p != nil && p.status == Dead && l.from == nil {
			continue
		}
		l.tried = append(l.tried, to.ID)
		node := *to
		l.asking = &node
		l.deadline = m.now + m.timeout(p)
		m.send(l.asking, Message{Kind: Find, Seq: l.seq, Keys: []uint64{l.key}})
		return
	}
	// Nobody is left to ask: begin again, when those that failed may be known
	// to be dead.
	l.deadline = min(l.until, m.now+m.cfg.FirstTimeout)
}

// checkLookups passes over who did not answer.
func (m *Machine) checkLookups() {
	for _, l := range slices.Clone(m.lookups) {
		switch {
		case l.until <= m.now:
			m.giveUp(l)
		case l.deadline > m.now:
		case l.asking == nil && l.from != nil:
			m.giveUp(l) // the way in was closed, or led nowhere
		case l.asking == nil:
			m.begin(l)
		default:
			if p := m.peers[l.asking.ID]; p != nil {
				m.startProbe(p)
			}
			m.ask(l)
		}
	}
}

func (m *Machine) end(l *lookup) {
	m.lookups = slices.DeleteFunc(m.lookups, func(o *lookup) bool { return o == l })
}

func (m *Machine) giveUp(l *lookup) {
	m.end(l)
	if l.purpose == forUser {
		m.out.Events = append(m.out.Events, Event{Kind: NotFound, Token: l.token, Key: l.key, Path: l.path})
	}
}

// found ends a lookup; list are the first nodes at or after the key.
func (m *Machine) found(l *lookup, list []Member) {
	m.end(l)
	switch l.purpose {
	case forUser:
		e := Event{Kind: Found, Node: list[0].Node, Incarnation: list[0].Incarnation, Token: l.token, Key: l.key, Path: l.path}
		for i := range list {
			e.Successors = append(e.Successors, list[i].Node)
		}
		m.out.Events = append(m.out.Events, e)
	case forFinger:
		m.adopt(&list[0])
	case forNeighbour:
		m.learnAll(list)
	}
}

// adopt invites a finger into the table, neighbourhood or not.
func (m *Machine) adopt(rec *Member) {
	if rec.ID != m.self.ID && m.peers[rec.ID] == nil && rec.Status.Living() {
		m.invite(&rec.Node)
	}
	m.learn(rec, false)
}
