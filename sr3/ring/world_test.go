package ring

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// world runs machines in a time of its own, from one seed.
type world struct {
	tb    testing.TB
	seed  uint64
	cfg   Config
	rng   *rand.Rand
	now   time.Duration
	queue agenda
	order uint64

	actors []*actor
	byAddr map[string]*actor

	// Faults, all of them off in a calm world.
	lose, double float64       // probabilities
	slowest      time.Duration // messages take 1 ms to this
	part         func(from, to *actor) bool
	encode       bool // messages go through the codec

	sent, lost int
	byKind     [lastKind + 1]int
	history    hash.Hash64
	found      map[uint64]Event // by token
	onEvent    func(a *actor, e Event)
}

// actor is one node in a world: its machine changes with every restart.
type actor struct {
	node    Node
	m       *Machine
	up      bool
	life    int
	wake    time.Duration // of the tick that is on the agenda
	drowsy  bool          // messages wait until then
	drowned []*Message
}

type happening struct {
	at    time.Duration
	order uint64
	to    *actor
	life  int
	msg   *Message // nil is a tick
	do    func()
}

// agenda is a heap of what will happen, the next first.
type agenda []happening

func (q agenda) less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}

func (q *agenda) push(h happening) {
	*q = append(*q, h)
	for i := len(*q) - 1; i > 0 && q.less(i, (i-1)/2); i = (i - 1) / 2 {
		(*q)[i], (*q)[(i-1)/2] = (*q)[(i-1)/2], (*q)[i]
	}
}

func (q *agenda) pop() happening {
	old := *q
	first, last := old[0], len(old)-1
	old[0], old[last] = old[last], happening{}
	*q = old[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < last && q.less(child+1, child) {
			child++
		}
		if child >= last || !q.less(child, i) {
			return first
		}
		old[i], old[child] = old[child], old[i]
		i = child
	}
}

func newWorld(tb testing.TB, seed uint64, cfg Config, nodes, positions int) *world {
	tb.Helper()
	w := &world{
		tb: tb, seed: seed, cfg: cfg, rng: rand.New(rand.NewPCG(seed, 1)), slowest: 20 * time.Millisecond,
		byAddr: make(map[string]*actor), history: fnv.New64a(), found: make(map[uint64]Event),
	}
	for i := range nodes {
		w.add(Node{
			ID: fmt.Sprintf("n%d-%d", seed, i), Addr: fmt.Sprintf("10.0.%d.%d:6700", i/256, i%256),
			Host: fmt.Sprintf("h%d", i), Rack: fmt.Sprintf("r%d", i%4), Positions: positions,
		})
	}
	return w
}

func (w *world) add(n Node) *actor {
	a := &actor{node: n}
	w.actors = append(w.actors, a)
	w.byAddr[n.Addr] = a
	return a
}

// start gives a node a new life, without joining.
func (w *world) start(a *actor) {
	a.life++
	a.up, a.drowsy, a.drowned = true, false, nil
	// Every other life forgets the incarnation of the one before.
	inc := uint64(0)
	if w.rng.IntN(2) == 0 {
		inc = uint64(a.life) * 1000
	}
	m, err := New(w.cfg, a.node, inc, rand.New(rand.NewPCG(w.seed, w.rng.Uint64())))
	if err != nil {
		w.tb.Fatal(err)
	}
	a.m = m
}

func (w *world) join(a *actor, seeds ...*actor) {
	var nodes []Node
	for _, s := range seeds {
		nodes = append(nodes, s.node)
	}
	w.perform(a, a.m.Join(nodes, w.now))
}

func (w *world) crash(a *actor) { a.up = false }

// perform does what a machine asks for, and sets its alarm.
func (w *world) perform(a *actor, out Out) {
	for i := range out.Send {
		w.post(a, &out.Send[i])
	}
	for _, e := range out.Events {
		if e.Kind == Found || e.Kind == NotFound {
			w.found[e.Token] = e
		}
		w.note(uint8(e.Kind), e.Key, e.Node.ID)
		if w.onEvent != nil {
			w.onEvent(a, e)
		}
	}
	if next := max(a.m.Next(), w.now+1); a.wake <= w.now || next < a.wake {
		a.wake = next
		w.put(happening{at: next, to: a, life: a.life})
	}
}

func (w *world) put(h happening) {
	w.order++
	h.order = w.order
	w.queue.push(h)
}

func (w *world) after(d time.Duration, do func()) { w.put(happening{at: w.now + d, do: do}) }

// note writes history.
func (w *world) note(kind uint8, number uint64, who string) {
	var room [64]byte
	b := binary.LittleEndian.AppendUint64(room[:0], uint64(w.now))
	b = binary.LittleEndian.AppendUint64(append(b, kind), number)
	w.history.Write(append(b, who...))
}

func (w *world) post(from *actor, s *Send) {
	to := w.byAddr[s.To.Addr]
	w.sent++
	w.byKind[s.Message.Kind]++
	w.note(uint8(s.Message.Kind), s.Message.Seq, s.To.ID)
	if to == nil || w.part != nil && w.part(from, to) || w.lose > 0 && w.rng.Float64() < w.lose {
		w.lost++
		return
	}
	copies := 1
	if w.double > 0 && w.rng.Float64() < w.double {
		copies = 2
	}
	for range copies {
		msg := &s.Message
		if w.encode {
			msg = w.recode(msg)
		}
		delay := time.Millisecond + time.Duration(w.rng.Int64N(int64(w.slowest)))
		w.put(happening{at: w.now + delay, to: to, life: to.life, msg: msg})
	}
}

func (w *world) recode(msg *Message) *Message {
	b, err := Append(nil, msg)
	if err != nil {
		w.tb.Fatalf("seed %d: %v", w.seed, err)
	}
	back, err := Decode(b)
	if err != nil {
		w.tb.Fatalf("seed %d: %v", w.seed, err)
	}
	if !reflect.DeepEqual(back, msg) {
		w.tb.Fatalf("seed %d: %+v came back as %+v", w.seed, msg, back)
	}
	return back
}

// run lets time pass.
func (w *world) run(d time.Duration) {
	until := w.now + d
	for len(w.queue) > 0 && w.queue[0].at <= until {
		h := w.queue.pop()
		w.now = h.at
		w.happen(&h)
	}
	w.now = until
}

func (w *world) happen(h *happening) {
	a := h.to
	switch {
	case h.do != nil:
		h.do()
	case h.msg != nil:
		switch {
		case !a.up: // a message may also reach the next life
		case a.drowsy:
			a.drowned = append(a.drowned, h.msg)
		default:
			w.perform(a, a.m.Receive(h.msg, w.now))
		}
	case a.up && h.life == a.life && h.at == a.wake && !a.drowsy:
		w.perform(a, a.m.Tick(w.now))
	}
}

// sleep stops a node as SIGSTOP does.
func (w *world) sleep(a *actor, d time.Duration) {
	if !a.up || a.drowsy {
		return
	}
	a.drowsy = true
	life := a.life
	w.after(d, func() {
		if !a.up || a.life != life {
			return
		}
		a.drowsy = false
		for _, msg := range a.drowned {
			w.perform(a, a.m.Receive(msg, w.now))
		}
		a.drowned = nil
		w.perform(a, a.m.Tick(w.now))
	})
}

// living are the nodes that run.
func (w *world) living() []*actor {
	return slices.DeleteFunc(slices.Clone(w.actors), func(a *actor) bool { return !a.up })
}

// truth is the ring as it should be.
func (w *world) truth() *View {
	var nodes []Node
	for _, a := range w.living() {
		nodes = append(nodes, a.node)
	}
	return NewView(nodes)
}

// stable makes all nodes members of a ring that has been there for long: each
// knows its successors, predecessors and fingers, or everybody.
func (w *world) stable() {
	for _, a := range w.actors {
		w.start(a)
		a.m.Join(nil, 0)
		a.m.inc = 1
	}
	v := w.truth()
	for _, a := range w.actors {
		m := a.m
		know := func(nodes []*Node) {
			for _, n := range nodes {
				if m.peers[n.ID] == nil && n.ID != m.self.ID {
					m.insert(&Member{Node: *n, Incarnation: 1})
				}
			}
		}
		if len(w.actors) <= w.cfg.FullView {
			know(v.nodes)
		} else {
			m.large = true
			self := v.find(m.self.ID)
			for _, at := range m.own {
				know(distinct(v.Walk(at+1), w.cfg.Successors, self))
				know(distinct(v.Back(at), predecessors, self))
				for f := range 64 {
					pt, _ := v.Successor(at + 1<<f)
					know([]*Node{pt.Node})
				}
			}
		}
		m.rumors, m.out = nil, Out{}
		w.perform(a, Out{})
	}
}

// lookups makes n lookups from random nodes, and returns the number of wrong
// ends, of those without, and the mean of hops.
func (w *world) lookups(n int) (wrong, lost int, hops float64) {
	v := w.truth()
	living := w.living()
	w.found = make(map[uint64]Event)
	keys := make([]uint64, n)
	for i := range n {
		keys[i] = w.rng.Uint64()
		a := living[w.rng.IntN(len(living))]
		w.perform(a, a.m.Lookup(keys[i], uint64(i), w.now))
	}
	for waited := time.Duration(0); len(w.found) < n && waited <= w.cfg.LookupFor+time.Second; waited += 100 * time.Millisecond {
		w.run(100 * time.Millisecond)
	}
	for i, key := range keys {
		e, ok := w.found[uint64(i)]
		want := distinct(v.Walk(key), w.cfg.Successors, nil)
		switch {
		case !ok || e.Kind == NotFound:
			lost++
		case e.Node != *want[0]:
			wrong++
		default:
			hops += float64(len(e.Path) - 1)
		}
	}
	return wrong, lost, hops / float64(n-wrong-lost)
}

// wrongs tells what is not as it should be, "" if nothing: every living node
// knows its successors and predecessor and suspects none of those that live;
// in small rings it also knows all nodes.
func (w *world) wrongs() string {
	v := w.truth()
	for _, a := range w.living() {
		if w.cfg.FullView >= v.Len() {
			if got, want := a.m.Living(), v.Nodes(); !slices.Equal(got, want) {
				return fmt.Sprintf("%s knows %d nodes of %d", a.node.ID, len(got), len(want))
			}
			if !a.m.Complete() {
				return a.node.ID + " does not know that it knows all"
			}
		}
		self := v.find(a.node.ID)
		r := a.m.current()
		for _, p := range a.m.order {
			if p.status == Suspect && w.byAddr[p.node.Addr].up {
				return a.node.ID + " suspects " + p.node.ID
			}
		}
		for i, at := range a.m.own {
			want := distinct(v.Walk(at+1), w.cfg.Successors, self)
			if !slices.EqualFunc(r.around[i].succ, want, func(p *peer, n *Node) bool { return p.node.ID == n.ID }) {
				return fmt.Sprintf("%s has other successors at %x: %v", a.node.ID, at, ids(r.around[i].succ))
			}
			if before := distinct(v.Back(at), 1, self); len(before) > 0 && r.around[i].pred[0].node.ID != before[0].ID {
				return fmt.Sprintf("%s has predecessor %s at %x, not %s", a.node.ID, r.around[i].pred[0].node.ID, at, before[0].ID)
			}
		}
	}
	return ""
}

// settle runs until nothing is wrong and returns how many stabilisation rounds it
// took; it fails after most.
func (w *world) settle(most int) int {
	w.tb.Helper()
	return w.until(w.wrongs, most)
}

// until runs until wrongs says nothing.
func (w *world) until(wrongs func() string, most int) int {
	w.tb.Helper()
	for round := 0; ; round++ {
		s := wrongs()
		if s == "" {
			return round
		}
		if round == most {
			w.tb.Fatalf("seed %d: after %d rounds: %s", w.seed, most, s)
		}
		w.run(w.cfg.StabilizeEvery)
	}
}

// wrongSuccessors tells of a position whose first successor is wrong: that is
// all that lookups need to be right.
func (w *world) wrongSuccessors() string {
	v := w.truth()
	for _, a := range w.living() {
		self := v.find(a.node.ID)
		for i, at := range a.m.own {
			want := distinct(v.Walk(at+1), 1, self)[0].ID
			if got := a.m.current().around[i].succ[0].node.ID; got != want {
				return fmt.Sprintf("%s has successor %s at %x, not %s", a.node.ID, got, at, want)
			}
		}
	}
	return ""
}
