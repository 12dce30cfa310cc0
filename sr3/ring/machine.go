package ring

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Machine is one node of the ring. It does nothing by itself and is not for
// several goroutines at once. All times are since any fixed moment, on a clock
// that does not jump back.
type Machine struct {
	cfg   Config
	self  *Node
	inc   uint64
	own   []uint64 // own positions
	rng   *rand.Rand
	phase phase
	now   time.Duration
	due   [chores]time.Duration
	seq   uint64
	out   Out

	seeds  []Node
	recall recall
	synced bool // somebody's table of the whole ring was received
	// partial: the last who sent a table does not know the whole ring.
	partial bool
	// settled is when whoever was not met by then is taken for dead.
	settled time.Duration

	// The table of nodes (members.go), without this one.
	peers  map[string]*peer
	order  []*peer // by id
	rumors []rumor
	// invited are to be taken into the table if they answer.
	invited []invitation

	// The ring as it follows from the table (chord.go).
	view       *View
	gone, come []*Node // not yet in view
	roles      roles
	large      bool // not everybody is known

	probing []*peer // without an answer (detect.go)
	turn    int     // whose turn in order it is to be pinged
	relays  []relay

	lookups []*lookup
	finger  int // the last that was looked up, of position fixing
	fixing  int
	round   int // own position whose turn it is to stabilize or to rejoin
}

type phase uint8

const (
	idle    phase = iota // Join was not called
	joining              // no seed has answered yet
	member
	gone
)

// chore is something that is done regularly.
type chore uint8

const (
	chorePing chore = iota
	choreStabilize
	choreFix
	choreGossip
	choreSync
	choreRejoin
	chores // how many there are
)

// New makes the machine of a node that has not joined yet. The incarnation
// should be higher than in all earlier lives of this id, say the time in
// milliseconds; if it is not, the machine raises it when it hears of them.
// rng is the machine's only source of chance and must not be used by others.
func New(cfg Config, self Node, incarnation uint64, rng *rand.Rand) (*Machine, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if err := self.Check(); err != nil {
		return nil, err
	}
	m := &Machine{cfg: cfg, self: &self, inc: incarnation, rng: rng, peers: make(map[string]*peer)}
	for i := range self.Positions {
		m.own = append(m.own, PositionOf(self.ID, i))
	}
	m.view = (&View{}).change(nil, []*Node{m.self})
	return m, nil
}

// Join makes the node a member, through any of seeds that answers; without
// seeds but itself it is a ring of one, unless it recalls others. It is asked for
// until somebody answers, and the seeds are called upon later too, so that rings
// which do not know of each other become one.
func (m *Machine) Join(seeds []Node, now time.Duration) Out {
	if m.phase == gone {
		m.inc++
	}
	if m.phase == idle || m.phase == gone {
		m.now = now
		for c := range chores {
			m.due[c] = now + time.Duration(m.rng.Int64N(int64(m.every(c))))
		}
		m.phase = joining
		m.recall.until = now + recallFor*m.cfg.PingEvery
	}
	m.SetSeeds(seeds)
	m.knock()
	return m.take()
}

// SetSeeds changes the nodes that are known to others, as registered in the
// coordination store, say. The node itself may be among them.
func (m *Machine) SetSeeds(seeds []Node) {
	m.seeds = m.seeds[:0:0]
	for _, s := range seeds {
		if s.ID != m.self.ID && s.Check() == nil {
			m.seeds = append(m.seeds, s)
		}
	}
	m.relocate()
	m.alone()
}

// Leave says goodbye: neighbours and some others are told, which tell all. The
// machine then only answers that it is gone, until Join.
func (m *Machine) Leave(now time.Duration) Out {
	if m.phase != joining && m.phase != member {
		return Out{}
	}
	m.advance(now)
	m.phase = gone
	const others = 8
	told := append(m.current().near(), m.random(others)...)
	for i, p := range told {
		if !contains(told[:i], p) {
			m.send(p.node, Message{Kind: Gossip})
		}
	}
	for _, l := range slices.Clone(m.lookups) {
		m.giveUp(l)
	}
	m.probing, m.lookups, m.relays, m.rumors = nil, nil, nil, nil
	for _, p := range m.order {
		p.probe = probe{}
	}
	return m.take()
}

// Next is when Tick should be called. Any call of the machine may change it.
func (m *Machine) Next() time.Duration {
	if m.phase == idle || m.phase == gone {
		return m.now + m.cfg.StabilizeEvery
	}
	next := m.due[chorePing]
	for c, due := range m.due {
		if chore(c) != choreGossip || len(m.rumors) > 0 {
			next = min(next, due)
		}
	}
	if len(m.recall.nodes) > 0 {
		next = min(next, m.recall.until)
	}
	for _, p := range m.probing {
		next = min(next, p.probe.deadline)
	}
	for _, l := range m.lookups {
		next = min(next, l.deadline, l.until)
	}
	return next
}

// Tick does what is due at now.
func (m *Machine) Tick(now time.Duration) Out {
	m.advance(now)
	if m.phase == idle || m.phase == gone {
		return Out{}
	}
	m.checkRecalled()
	m.checkProbes()
	m.checkLookups()
	for c := range chores {
		if m.due[c] > m.now {
			continue
		}
		every := m.every(c)
		m.due[c] = m.now + every - every/8 + time.Duration(m.rng.Int64N(int64(every/4)+1))
		m.do(c)
	}
	return m.take()
}

func (m *Machine) every(c chore) time.Duration {
	return [chores]time.Duration{
		chorePing: m.cfg.PingEvery, choreStabilize: m.cfg.StabilizeEvery, choreFix: m.cfg.FixEvery,
		choreGossip: m.cfg.GossipEvery, choreSync: m.cfg.SyncEvery, choreRejoin: m.cfg.RejoinEvery,
	}[c]
}

func (m *Machine) do(c chore) {
	switch c {
	case chorePing:
		m.pingNeighbours()
	case choreStabilize:
		m.stabilize()
	case choreFix:
		m.fixFingers()
	case choreGossip:
		m.gossip()
	case choreSync:
		m.sync()
	case choreRejoin:
		m.rejoin()
	case chores:
	}
}

// Receive takes a message in. What is not for this node, or is of a kind that
// it does not know, is ignored.
func (m *Machine) Receive(msg *Message, now time.Duration) Out {
	if m.phase == idle || msg.To != m.self.ID || msg.From.ID == m.self.ID {
		return Out{}
	}
	m.advance(now)
	if m.phase == gone {
		// Who still believes in this node is told, but not those that answer to
		// that, or to what was asked before.
		switch msg.Kind {
		case Ping, Find, Stabilize, SyncAsk, PingReq:
			m.send(&msg.From.Node, Message{Kind: Gossip})
		default:
		}
		return m.take()
	}
	m.learn(&msg.From, true)
	for i := range msg.Updates {
		m.learn(&msg.Updates[i], false)
	}
	m.handle(msg)
	m.waiveMet()
	return m.take()
}

func (m *Machine) handle(msg *Message) {
	switch msg.Kind {
	case Ping:
		m.reply(msg, Message{Kind: Ack})
	case Ack:
		m.onAck(msg)
	case PingReq:
		m.onPingReq(msg)
	case Reached:
		m.onReached(msg)
	case Stabilize:
		m.onStabilize(msg)
	case Around:
		m.learnAll(msg.Members)
	case Find:
		m.onFind(msg)
	case Step:
		m.onStep(msg)
	case SyncAsk:
		m.onSyncAsk(msg)
	case SyncAnswer:
		m.onSyncAnswer(msg)
	case SyncPush:
		m.learnAll(msg.Members)
	case Gossip:
	default:
	}
}

// advance moves the clock. After a pause in which this node did not run, those
// that it waits for get the time back.
func (m *Machine) advance(now time.Duration) {
	gap := now - m.now
	if gap <= 0 {
		return
	}
	m.now = now
	if gap < m.cfg.Pause {
		return
	}
	m.recall.until += gap
	for _, p := range m.probing {
		p.probe.deadline += gap
		p.suspectUntil += gap
	}
	for _, l := range m.lookups {
		l.deadline += gap
		l.until += gap
	}
}

// me is this node as others should know it.
func (m *Machine) me() Member {
	status := Alive
	if m.phase == gone {
		status = Left
	}
	return Member{Node: *m.self, Status: status, Incarnation: m.inc}
}

func (m *Machine) reply(to *Message, msg Message) {
	msg.Seq = to.Seq
	m.send(&to.From.Node, msg)
}

// send sends msg with news: first what is wrongly or no longer believed of the
// receiver, so that it can refute.
func (m *Machine) send(to *Node, msg Message) {
	msg.From, msg.To = m.me(), to.ID
	if p := m.peers[to.ID]; p != nil && (p.status != Alive || p.behind) {
		msg.Updates = append(msg.Updates, p.member())
	}
	m.addRumors(&msg)
	m.out.Send = append(m.out.Send, Send{To: *to, Message: msg})
}

func (m *Machine) tell(k EventKind, p *peer) {
	m.out.Events = append(m.out.Events, Event{Kind: k, Node: *p.node, Incarnation: p.inc})
}

func (m *Machine) take() Out {
	out := m.out
	m.out = Out{}
	return out
}

// Self is this node and what it says of itself.
func (m *Machine) Self() Member { return m.me() }

// Joined reports whether some seed has answered, or there was none and nobody that
// the node recalls.
func (m *Machine) Joined() bool { return m.phase == member }

// View is the ring as this node sees it, itself included: all of it if Complete.
func (m *Machine) View() *View {
	m.current()
	return m.view
}

// Living are the nodes of View by id.
func (m *Machine) Living() []Node { return m.View().Nodes() }

// Complete reports whether View is the whole ring, as far as this node has
// heard. A node that has just joined may have done so through another that knew
// as little, so all seeds have to be met, for which there is some time, and those
// that it recalls, see there.
func (m *Machine) Complete() bool {
	return m.phase == member && !m.large && !m.partial && len(m.recall.nodes) == 0 && (m.synced || len(m.seeds) == 0) && (m.now >= m.settled || m.metAll())
}

// Finds reports whether lookups that begin here are right.
func (m *Machine) Finds() bool {
	return m.phase == member && (m.large || m.partial || m.Complete())
}

// settleFor is for how many pings a node that has joined waits to meet all seeds.
const settleFor = 3

func (m *Machine) metAll() bool {
	return !slices.ContainsFunc(m.seeds, func(s Node) bool { return m.peers[s.ID] == nil })
}

// Holders is the function Holders on this node's View: right if Complete.
func (m *Machine) Holders(key uint64, replicas int) []Node { return Holders(m.View(), key, replicas) }

// Member is what this node believes of another; false if it does not know it.
func (m *Machine) Member(id string) (Member, bool) {
	if id == m.self.ID {
		return m.me(), true
	}
	if p := m.peers[id]; p != nil {
		return p.member(), true
	}
	return Member{}, false
}
