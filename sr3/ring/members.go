package ring

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// peer is a row of the table: what is believed of one other node.
type peer struct {
	node   *Node
	inc    uint64
	status Status
	// behind: the node itself names a lower incarnation than others do of it.
	behind bool

	probe        probe
	suspectUntil time.Duration
	// verdict: somebody else found it dead; only one's own look is missing.
	verdict    bool
	heard      time.Duration // last message from itself
	rtt, swing time.Duration // smoothed round trip, and its mean deviation
	buried     time.Duration // when it died or left
	challenged time.Duration // last ping that wants nothing but a refutation

	role role
}

func (p *peer) member() Member { return Member{Node: *p.node, Status: p.status, Incarnation: p.inc} }

// rumor is news of a node that are to be passed on so many times more.
type rumor struct {
	id   string // "" is this node
	left int
}

func contains(list []*peer, p *peer) bool { return slices.Contains(list, p) }

func byID(p *peer, id string) int { return strings.Compare(p.node.ID, id) }

// learnAll takes in a list that somebody else gave.
func (m *Machine) learnAll(list []Member) {
	for i := range list {
		m.learn(&list[i], false)
	}
}

// learn takes in what is said of a node, direct if by itself.
func (m *Machine) learn(rec *Member, direct bool) {
	if rec.ID == m.self.ID {
		m.learnOfSelf(rec)
		return
	}
	p := m.peers[rec.ID]
	if p == nil {
		p = m.meet(rec, direct)
		if !rec.Status.Living() {
			m.waiveDead(rec.ID)
		}
	}
	if p == nil {
		return
	}
	if direct {
		p.heard = m.now
		p.behind = rec.Incarnation < p.inc
	}
	if !newer(rec.Incarnation, rec.Status, p.inc, p.status) {
		if rec.Status == Alive && p.status == Dead {
			m.challenge(p)
		}
		return
	}
	switch rec.Status {
	case Alive:
		m.believeAlive(p, rec)
	case Suspect:
		if !p.status.Living() {
			m.believeAlive(p, rec)
		}
		p.inc = rec.Incarnation
		m.suspect(p)
	case Dead:
		m.doubt(p, rec.Incarnation)
	case Left:
		p.inc = rec.Incarnation
		m.bury(p, Left)
	}
}

// learnOfSelf refutes what is wrong.
func (m *Machine) learnOfSelf(rec *Member) {
	earlier := rec.Status == Alive && rec.Incarnation > m.inc
	if earlier && rec.Addr != m.self.Addr {
		m.out.Events = append(m.out.Events, Event{Kind: Conflict, Node: rec.Node, Incarnation: rec.Incarnation})
	}
	if !earlier && (rec.Status == Alive || rec.Incarnation < m.inc) {
		return
	}
	m.inc = rec.Incarnation + 1
	m.spread("")
	m.out.Events = append(m.out.Events, Event{Kind: Refuted, Node: *m.self, Incarnation: m.inc})
}

// meet makes a row for a node that is not in the table, if it deserves one. In
// large rings, where not all hear of a death, only for one that spoke itself.
func (m *Machine) meet(rec *Member, direct bool) *peer {
	if !rec.Status.Living() || m.large && !m.fits(&rec.Node) {
		return nil
	}
	if m.large && !direct {
		m.invite(&rec.Node)
		return nil
	}
	p := m.insert(rec)
	m.spread(p.node.ID)
	return p
}

// invitation is a ping of a node that is not in the table; its answer will bring
// it in.
type invitation struct {
	id   string
	seq  uint64
	sent time.Duration
}

// maxInvitations bounds those that are open; the oldest is dropped, since what
// is missing in the table will be heard of again.
const maxInvitations = 256

func (m *Machine) invite(n *Node) {
	m.invited = slices.DeleteFunc(m.invited, func(i invitation) bool { return m.now-i.sent >= m.cfg.PingEvery })
	if slices.ContainsFunc(m.invited, func(i invitation) bool { return i.id == n.ID }) {
		return
	}
	if len(m.invited) == maxInvitations {
		m.invited = slices.Delete(m.invited, 0, 1)
	}
	m.seq++
	m.invited = append(m.invited, invitation{n.ID, m.seq, m.now})
	m.send(n, Message{Kind: Ping, Seq: m.seq})
}

// accepted takes in who answered to an invitation.
func (m *Machine) accepted(msg *Message) {
	i := slices.IndexFunc(m.invited, func(i invitation) bool { return i.seq == msg.Seq && i.id == msg.From.ID })
	if i < 0 {
		return
	}
	m.invited = slices.Delete(m.invited, i, i+1)
	if m.peers[msg.From.ID] == nil && msg.From.Status == Alive {
		m.insert(&msg.From)
	}
}

// insert makes a row.
func (m *Machine) insert(rec *Member) *peer {
	node := rec.Node
	p := &peer{node: &node, inc: rec.Incarnation, status: Alive, challenged: -m.cfg.PingEvery}
	i, _ := slices.BinarySearchFunc(m.order, node.ID, byID)
	m.order = slices.Insert(m.order, i, p)
	m.peers[node.ID] = p
	m.come = append(m.come, p.node)
	m.tell(Joined, p)
	if !m.large && m.living() > m.cfg.FullView {
		m.large = true
	}
	return p
}

// believeAlive takes in a new incarnation, and with it a new address or rack.
func (m *Machine) believeAlive(p *peer, rec *Member) {
	was := p.status
	p.inc, p.status, p.verdict, p.behind = rec.Incarnation, Alive, false, false
	if node := rec.Node; node != *p.node || !was.Living() {
		if was.Living() {
			m.gone = append(m.gone, p.node)
		}
		p.node = &node
		m.come = append(m.come, p.node)
	}
	if was != Alive {
		m.stopProbe(p)
	}
	switch was {
	case Suspect:
		m.tell(Cleared, p)
	case Dead, Left:
		m.tell(Joined, p)
	case Alive:
	}
	m.spread(p.node.ID)
}

// bury takes a node off the ring.
func (m *Machine) bury(p *peer, how Status) {
	if p.status.Living() {
		m.gone = append(m.gone, p.node)
	}
	m.stopProbe(p)
	p.status, p.buried, p.verdict = how, m.now, false
	if how == Left {
		m.tell(Departed, p)
	} else {
		m.tell(Died, p)
	}
	m.spread(p.node.ID)
}

// forget takes a row out of the table.
func (m *Machine) forget(p *peer) {
	if p.status.Living() {
		m.gone = append(m.gone, p.node)
	}
	m.stopProbe(p)
	delete(m.peers, p.node.ID)
	if i, ok := slices.BinarySearchFunc(m.order, p.node.ID, byID); ok {
		m.order = slices.Delete(m.order, i, i+1)
	}
}

// forgetDead drops those that died long ago, and of more than FullView (at
// least 64) the oldest.
func (m *Machine) forgetDead() {
	var dead []*peer
	for _, p := range m.order {
		if !p.status.Living() {
			dead = append(dead, p)
		}
	}
	slices.SortStableFunc(dead, func(a, b *peer) int { return cmp.Compare(b.buried, a.buried) })
	const fewest = 64
	for i, p := range dead {
		if i >= max(m.cfg.FullView, fewest) || m.now-p.buried > m.cfg.TombstoneFor {
			m.forget(p)
		}
	}
}

// living is the number of other nodes on the ring.
func (m *Machine) living() int { return m.view.Len() - 1 + len(m.come) - len(m.gone) }

// random are up to n living others, each once.
func (m *Machine) random(n int) []*peer {
	var out []*peer
	if len(m.order) == 0 {
		return nil
	}
	// The dead may be many; do not look for ever.
	for range 4 * n {
		p := m.order[m.rng.IntN(len(m.order))]
		if len(out) < n && p.status == Alive && !contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// spread makes news of a node go round; "" is this one.
func (m *Machine) spread(id string) {
	m.rumors = slices.DeleteFunc(m.rumors, func(r rumor) bool { return r.id == id })
	times := 3 * bits.Len(uint(len(m.order)+1))
	m.rumors = slices.Insert(m.rumors, 0, rumor{id, times})
	// More news than nodes means that the old ones are about forgotten nodes; a
	// comparison of tables will find what got lost.
	m.rumors = m.rumors[:min(len(m.rumors), 2*MaxMembers)]
}

// addRumors takes the news that were told least and puts them into msg.
func (m *Machine) addRumors(msg *Message) {
	const most = MaxUpdates / 2
	n := min(most, len(m.rumors))
	told := m.rumors[:n:n]
	rest := m.rumors[n:]
	if n == 0 {
		return
	}
	var again []rumor
	for _, r := range told {
		if p := m.peers[r.id]; p != nil {
			msg.Updates = append(msg.Updates, p.member())
		} else if r.id != "" {
			continue // forgotten; of this node, From says all
		}
		if r.left--; r.left > 0 {
			again = append(again, r)
		}
	}
	m.rumors = append(slices.Clip(rest), again...)
}

func (m *Machine) gossip() {
	if len(m.rumors) == 0 {
		return
	}
	const fan = 2
	to := m.random(fan)
	if m.large {
		to = m.randomAround(fan) // others do not keep what is new here
	}
	for _, p := range to {
		m.send(p.node, Message{Kind: Gossip})
	}
}

// randomAround are up to n from the successor and predecessor lists of one
// position.
func (m *Machine) randomAround(n int) []*peer {
	r := m.current()
	a := r.around[m.rng.IntN(len(r.around))]
	list := slices.DeleteFunc(slices.Concat(a.pred, a.succ), func(p *peer) bool { return p.status != Alive })
	m.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(n, len(list))]
}

// digest is equal for tables with the same living nodes.
func (m *Machine) digest() uint64 {
	sum := hashMember(m.self.ID, m.inc)
	for _, p := range m.order {
		if p.status.Living() {
			sum ^= hashMember(p.node.ID, p.inc)
		}
	}
	return sum
}

// hashMember is FNV-1a of id and incarnation, mixed.
func hashMember(id string, inc uint64) uint64 {
	const offset, prime, mix = 14695981039346656037, 1099511628211, 0x9e3779b97f4a7c15
	h := uint64(offset)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * prime
	}
	h = (h ^ inc) * mix
	return h ^ h>>32
}

// table is what this node knows of all, the dead included. Of too many dead the
// rest is left out.
func (m *Machine) table() []Member {
	out := []Member{m.me()}
	for _, living := range []bool{true, false} {
		for _, p := range m.order {
			if p.status.Living() == living && len(out) < MaxMembers {
				out = append(out, p.member())
			}
		}
	}
	return out
}

func (m *Machine) sync() {
	if m.phase == joining {
		return // knock does it more often
	}
	if m.large {
		return
	}
	for _, p := range m.random(1) {
		m.send(p.node, Message{Kind: SyncAsk, Digest: m.digest()})
	}
}

func (m *Machine) onSyncAsk(msg *Message) {
	answer := Message{Kind: SyncAnswer, Large: m.large}
	if msg.Digest == m.digest() {
		answer.Done = true
	} else {
		answer.Members = m.table()
	}
	m.reply(msg, answer)
}

func (m *Machine) onSyncAnswer(msg *Message) {
	if m.phase == joining {
		m.phase = member
		m.settled = m.now + settleFor*m.cfg.PingEvery
		m.joined(msg)
	}
	m.synced, m.partial = m.synced || !msg.Large, msg.Large
	if msg.Done {
		return
	}
	theirs := make(map[string]*Member, len(msg.Members))
	for i := range msg.Members {
		theirs[msg.Members[i].ID] = &msg.Members[i]
	}
	// What they do not know is found before it is mixed with theirs.
	var push []Member
	for _, mine := range m.table() {
		t := theirs[mine.ID]
		if t == nil && mine.Status.Living() || t != nil && newer(mine.Incarnation, mine.Status, t.Incarnation, t.Status) {
			push = append(push, mine)
		}
	}
	m.learnAll(msg.Members)
	if len(push) > 1 || len(push) == 1 && push[0].ID != m.self.ID {
		m.send(&msg.From.Node, Message{Kind: SyncPush, Members: push})
	}
}

// knock asks some seeds to be let in, and some of those that are recalled for as
// long as they are waited for.
func (m *Machine) knock() {
	if m.phase == joining {
		m.knockAt(m.seeds, func(Node) bool { return true })
	}
	if len(m.recall.nodes) > 0 {
		m.knockAt(m.recall.nodes, func(n Node) bool { return m.phase != joining || !slices.Contains(m.seeds, n) })
	}
}

func (m *Machine) knockAt(nodes []Node, wanted func(Node) bool) {
	left := 3
	for _, at := range m.rng.Perm(len(nodes)) {
		if left > 0 && wanted(nodes[at]) {
			left--
			m.send(&nodes[at], Message{Kind: SyncAsk, Digest: m.digest()})
		}
	}
}

// rejoin calls upon a seed that is not on the ring, or a dead node: perhaps it
// lives in another part of a broken ring. In large rings also upon those that
// live, since being on a ring does not make it the same ring.
func (m *Machine) rejoin() {
	m.forgetDead()
	if m.phase == joining {
		return
	}
	var away []*Node
	for i := range m.seeds {
		if p := m.peers[m.seeds[i].ID]; p == nil || !p.status.Living() {
			away = append(away, &m.seeds[i])
		}
	}
	for _, p := range m.order {
		if p.status == Dead && !slices.ContainsFunc(away, func(n *Node) bool { return n.ID == p.node.ID }) {
			away = append(away, p.node)
		}
	}
	if len(away) > 0 {
		to := away[m.rng.IntN(len(away))]
		m.send(to, Message{Kind: SyncAsk, Digest: m.digest()})
		if m.large {
			m.findSelf(to)
		}
		return
	}
	if !m.large {
		return
	}
	if len(m.seeds) > 0 {
		m.findSelf(&m.seeds[m.rng.IntN(len(m.seeds))])
	} else if others := m.random(1); len(others) > 0 {
		m.findSelf(others[0].node)
	}
}
