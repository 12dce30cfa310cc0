package ring

import (
	"slices"
	"time"
)

// probe is an unanswered ping.
type probe struct {
	tries    int // 0: there is none
	seq      uint64
	sent     time.Duration
	deadline time.Duration
}

// relay is a ping on behalf of another node.
type relay struct {
	seq    uint64 // of our ping
	asker  Node
	theirs uint64 // what the asker calls it
}

// maxRelays bounds the pings on behalf of others that may be open. What is
// dropped counts as unanswered, and the asker has other helpers.
const maxRelays = 256

// pingNeighbours checks the first successors and predecessors, those that are
// suspected, and one more node, so that everybody's turn comes.
func (m *Machine) pingNeighbours() {
	m.knock()
	r := m.current()
	for _, p := range r.near() {
		m.startProbe(p)
	}
	// Behind one that does not answer the next may be dead too: do not wait until
	// the first is buried.
	for _, a := range r.around {
		m.probeBeyond(a.succ)
		m.probeBeyond(a.pred)
	}
	for range m.order {
		m.turn++
		p := m.order[m.turn%len(m.order)]
		if !p.status.Living() || p.role&roleNear != 0 {
			continue
		}
		m.startProbe(p)
		break
	}
}

// probeBeyond pings those of a list that come after silent ones.
func (m *Machine) probeBeyond(list []*peer) {
	for i, p := range list {
		if i > 0 {
			m.startProbe(p)
		}
		if p.status == Alive && p.probe.tries < 2 {
			return
		}
	}
}

func (m *Machine) startProbe(p *peer) {
	if p.probe.tries > 0 || !p.status.Living() {
		return
	}
	m.probing = append(m.probing, p)
	m.ping(p, m.timeout(p))
}

func (m *Machine) stopProbe(p *peer) {
	if p.probe.tries == 0 {
		return
	}
	p.probe = probe{}
	m.probing = slices.DeleteFunc(m.probing, func(q *peer) bool { return q == p })
}

// ping is one more try of p's probe. All tries since the first have one Seq, so
// that a late answer to an earlier one counts.
func (m *Machine) ping(p *peer, timeout time.Duration) {
	if p.probe.tries == 0 {
		m.seq++
		p.probe.seq, p.probe.sent = m.seq, m.now
	}
	p.probe.tries++
	p.probe.deadline = m.now + timeout
	m.send(p.node, Message{Kind: Ping, Seq: p.probe.seq})
}

// timeout is when an answer of p is overdue: the mean round trip and four times
// its deviation.
func (m *Machine) timeout(p *peer) time.Duration {
	if p == nil || p.rtt == 0 {
		return m.cfg.FirstTimeout
	}
	return min(max(p.rtt+4*p.swing, m.cfg.MinTimeout), m.cfg.MaxTimeout)
}

// measure takes a round trip in.
func (p *peer) measure(trip time.Duration) {
	trip = max(trip, 1)
	if p.rtt == 0 {
		p.rtt, p.swing = trip, trip/2
		return
	}
	off := trip - p.rtt
	p.rtt += off / 8
	p.swing += (max(off, -off) - p.swing) / 4
}

// checkProbes goes on with those that did not answer in time.
func (m *Machine) checkProbes() {
	for _, p := range slices.Clone(m.probing) {
		if p.probe.tries == 0 || p.probe.deadline > m.now {
			continue
		}
		m.overdue(p)
	}
}

func (m *Machine) overdue(p *peer) {
	switch {
	case p.probe.tries == 1:
		if !p.verdict {
			m.askHelpers(p)
		}
		m.ping(p, 2*m.timeout(p))
	case p.status == Alive:
		m.suspect(p)
		m.ping(p, m.timeout(p))
	case p.verdict || m.now >= p.suspectUntil:
		m.bury(p, Dead)
	default:
		m.ping(p, min(m.timeout(p), p.suspectUntil-m.now))
	}
}

func (m *Machine) askHelpers(p *peer) {
	helpers := m.random(m.cfg.Helpers + 1)
	asked := 0
	for _, h := range helpers {
		if h != p && asked < m.cfg.Helpers {
			asked++
			m.send(h.node, Message{Kind: PingReq, Seq: p.probe.seq, Members: []Member{p.member()}})
		}
	}
}

// suspect begins to doubt p, whose incarnation is set already, and looks.
func (m *Machine) suspect(p *peer) {
	if p.status != Suspect {
		m.tell(Suspected, p)
	}
	p.status = Suspect
	p.suspectUntil = m.now + m.cfg.SuspectFor
	m.spread(p.node.ID)
	m.startProbe(p)
}

// doubt takes in that somebody found p dead.
func (m *Machine) doubt(p *peer, inc uint64) {
	p.inc = inc
	if !p.status.Living() { // it left, and came back, and died
		m.bury(p, Dead)
		return
	}
	if p.status == Suspect && p.probe.tries > 2 {
		m.bury(p, Dead) // one's own look has been in vain already
		return
	}
	p.verdict = true
	m.suspect(p)
}

// challenge makes p, which may live, refute that it is dead.
func (m *Machine) challenge(p *peer) {
	if m.now-p.challenged < m.cfg.PingEvery {
		return
	}
	p.challenged = m.now
	m.seq++
	m.send(p.node, Message{Kind: Ping, Seq: m.seq})
}

func (m *Machine) onAck(msg *Message) {
	if i := slices.IndexFunc(m.relays, func(r relay) bool { return r.seq == msg.Seq }); i >= 0 {
		r := m.relays[i]
		m.relays = slices.Delete(m.relays, i, i+1)
		m.send(&r.asker, Message{Kind: Reached, Seq: r.theirs, Members: []Member{msg.From}})
	}
	m.accepted(msg)
	p := m.peers[msg.From.ID]
	if p == nil || p.probe.tries == 0 || p.probe.seq != msg.Seq {
		return
	}
	if p.probe.tries == 1 {
		p.measure(m.now - p.probe.sent)
	} else {
		// It was slower than was thought, or a message got lost; which, nobody
		// knows. Give it more time from now on.
		p.swing = min(p.swing+p.swing/4, m.cfg.MaxTimeout)
	}
	m.answered(p)
}

func (m *Machine) onReached(msg *Message) {
	if len(msg.Members) != 1 {
		return
	}
	m.learnAll(msg.Members)
	if p := m.peers[msg.Members[0].ID]; p != nil && p.probe.tries > 0 && p.probe.seq == msg.Seq {
		m.answered(p)
	}
}

// answered ends the probe of p. If it is suspected it is alive but has not yet
// heard of the suspicion: it is asked again, and told.
func (m *Machine) answered(p *peer) {
	if p.status == Alive {
		m.stopProbe(p)
		return
	}
	p.verdict = false
	p.suspectUntil = m.now + m.cfg.SuspectFor
	m.stopProbe(p)
	m.startProbe(p)
}

func (m *Machine) onPingReq(msg *Message) {
	if len(msg.Members) != 1 || msg.Members[0].ID == m.self.ID {
		return
	}
	m.learnAll(msg.Members)
	m.seq++
	if len(m.relays) == maxRelays {
		m.relays = slices.Delete(m.relays, 0, 1)
	}
	m.relays = append(m.relays, relay{m.seq, msg.From.Node, msg.Seq})
	m.send(&msg.Members[0].Node, Message{Kind: Ping, Seq: m.seq})
}
