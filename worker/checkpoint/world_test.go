package checkpoint

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// world is a topology of a random shape whose tasks run their machines, with
// everything between them decided by one seed: what comes when, what is lost,
// who dies. Every tuple of a spout goes the same way each time, so what a
// version must hold follows from the positions of the spouts in it.
type world struct {
	seed    uint64
	rng     *rand.Rand
	now     time.Time
	comps   []Component
	plan    Plan
	comp    map[int32]Component
	nodes   map[int32]*node
	order   []int32
	edges   map[edge][]item
	edgeIDs []edge
	answers []Answer
	ops     []op
	record  Record
	images  map[imageKey]image
	acked   map[int64]bool
	leader  *Coordinator
	zombie  *Coordinator
	epoch   uint64
	mode    Mode
	chaos   bool
	rewinds bool
	perTask int64
	trace   uint64
	commits int
	rolled  int
	drops   int
	held    int
	gaveUp  map[string]int
}

type edge struct{ from, to int32 }

// coordTask is the checkpoint task's number.
const coordTask = 0

type item struct {
	tuple  *tuple
	marker Marker
	sent   int64
}

// tuple carries an id through the topology; tree is one attempt to do so.
type tuple struct {
	id   int64
	tree *tree
}

type tree struct {
	id      int64
	open    int
	failed  bool
	era     Era
	emitted time.Time
}

type imageKey struct {
	task int32
	v    Version
}

// image is the state of a task: how often it executed an id, or a position.
type image struct {
	counts map[int64]int
	pos    int64
}

func (i image) equal(o image) bool { return i.pos == o.pos && maps.Equal(i.counts, o.counts) }

type node struct {
	id      int32
	task    *Task[*tree]
	comp    Component
	state   image
	held    []heldTuple
	sent    map[int32]int64
	want    Version
	life    int
	again   []int64
	pending map[int64]*tree
}

type heldTuple struct {
	tuple *tuple
	era   Era
}

// op is something under way that ends some time.
type op struct {
	what  string
	coord *Coordinator
	store Store
	task  int32
	life  int
	v     Version
	img   image
}

var epochStart = time.Unix(1_700_000_000, 0)

func newWorld(seed uint64) *world {
	w := &world{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 5)), now: epochStart, comp: map[int32]Component{}, nodes: map[int32]*node{},
		edges: map[edge][]item{}, images: map[imageKey]image{}, acked: map[int64]bool{}, chaos: true, gaveUp: map[string]int{},
	}
	w.rewinds = w.rng.IntN(3) > 0
	if !w.rewinds && w.rng.IntN(3) == 0 {
		w.mode = Unaligned
	}
	w.perTask = 40 + w.rng.Int64N(80)
	w.shape()
	w.start()
	return w
}

// shape makes one or two spouts and up to four bolts on top of what is there.
func (w *world) shape() {
	next := int32(1)
	add := func(id string, tasks int, inputs []string, stateful bool) {
		c := Component{ID: id, Inputs: inputs, Stateful: stateful}
		for range tasks {
			c.Tasks = append(c.Tasks, next)
			next++
		}
		w.comps = append(w.comps, c)
	}
	for i := range 1 + w.rng.IntN(2) {
		add(fmt.Sprintf("spout%d", i), 1+w.rng.IntN(2), nil, w.rewinds)
	}
	spouts := len(w.comps)
	for i := range 1 + w.rng.IntN(4) {
		var inputs []string
		for j, c := range w.comps {
			if w.rng.IntN(3) == 0 || i == 0 && j < spouts {
				inputs = append(inputs, c.ID)
			}
		}
		if len(inputs) == 0 {
			inputs = []string{w.comps[len(w.comps)-1].ID}
		}
		add(fmt.Sprintf("bolt%d", i), 1+w.rng.IntN(3), inputs, i == 0 || w.rng.IntN(3) > 0)
	}
}

func (w *world) start() {
	var err error
	if w.plan, err = NewPlan(w.comps); err != nil {
		panic(err)
	}
	link := func(e edge) { w.edgeIDs = append(w.edgeIDs, e) }
	for _, t := range w.plan.Sources {
		link(edge{coordTask, t})
	}
	for _, c := range w.comps {
		for _, t := range c.Tasks {
			w.order = append(w.order, t)
			w.comp[t] = c
			for _, to := range w.plan.TargetsOf(c.ID) {
				link(edge{t, to})
			}
			n := &node{id: t, comp: c, pending: map[int64]*tree{}}
			w.nodes[t] = n
			w.fresh(n)
			if len(c.Inputs) == 0 && !w.rewinds {
				for i := range w.perTask {
					n.again = append(n.again, int64(t)<<32|i)
				}
			}
		}
	}
	w.newLeader()
}

// fresh makes a task that has just started.
func (w *world) fresh(n *node) {
	inputs := w.plan.InputsOf(n.comp.ID)
	if len(inputs) == 0 {
		inputs = []int32{coordTask}
	}
	var part *Participant[*tree]
	if n.comp.Stateful {
		part = NewParticipant[*tree](n.id, n.id%3 == 0)
	}
	n.task = NewTask(n.id, NewAligner(w.mode, inputs, 20), part)
	n.held, n.sent, n.state = nil, map[int32]int64{}, image{}
	n.life++
}

func (w *world) newLeader() {
	w.epoch++
	w.leader = NewCoordinator(Config{
		Stateful: w.plan.Stateful, Epoch: w.epoch, Interval: 60 * time.Millisecond,
		Timeout: 400 * time.Millisecond, InstallTimeout: 800 * time.Millisecond, MaxTimeouts: 2,
	})
}

func (w *world) note(format string, args ...any) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d ", w.trace)
	fmt.Fprintf(h, format, args...)
	w.trace = h.Sum64()
}

func (w *world) fail(format string, args ...any) {
	panic(fmt.Sprintf("seed %d: ", w.seed) + fmt.Sprintf(format, args...))
}

// maybe is true in chaos, one time in n.
func (w *world) maybe(n int) bool { return w.chaos && w.rng.IntN(n) == 0 }

// step does one thing.
func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.rng.IntN(1000)) * time.Microsecond)
	w.tick(w.leader)
	if w.zombie != nil {
		w.tick(w.zombie)
	}
	if w.maybe(400) {
		w.crash(w.order[w.rng.IntN(len(w.order))])
	}
	if w.maybe(900) {
		w.restartLeader()
	}
	switch k := w.rng.IntN(20); {
	case k < 11:
		w.deliver()
	case k < 14:
		w.emit()
	case k < 16:
		w.answer()
	case k < 18:
		w.finish()
	case k == 18 && !w.rewinds:
		w.timeOut()
	}
}

func (w *world) tick(c *Coordinator) {
	if !w.now.Before(c.Due()) {
		w.coordinate(c, Tick{})
	}
}

func (w *world) restartLeader() {
	w.zombie = nil
	if w.rng.IntN(2) == 0 {
		w.zombie = w.leader
	}
	w.newLeader()
}

func (w *world) coordinate(c *Coordinator, ev Event) {
	for _, e := range c.Step(w.now, ev) {
		switch e := e.(type) {
		case Load:
			w.ops = append(w.ops, op{what: "read", coord: c})
		case Store:
			w.ops = append(w.ops, op{what: "store", coord: c, store: e})
		case Send:
			w.note("send %v", e)
			for _, t := range w.plan.Sources {
				w.sendMarker(edge{coordTask, t}, e.Marker, 0)
			}
		case Done:
			w.commits++
		case RolledBack:
			w.rolled++
			w.gaveUp["rollback"]++
		case Abandoned:
			w.gaveUp["abandon"]++
		case Slow:
			w.gaveUp["slow"]++
		case Ended:
			w.gaveUp["ended"]++
		}
	}
}

func (w *world) sendMarker(e edge, m Marker, sent int64) {
	it := item{marker: m, sent: sent}
	if w.maybe(100) {
		return
	}
	q := append(w.edges[e], it)
	if w.maybe(50) {
		q = append(q, it)
	}
	if n := len(q); n > 1 && w.maybe(100) {
		i := w.rng.IntN(n)
		if q[i].tuple == nil { // markers change places
			q[i], q[n-1] = q[n-1], q[i]
		}
	}
	w.edges[e] = q
}

func (w *world) deliver() {
	at := w.rng.IntN(len(w.edgeIDs))
	for i := range w.edgeIDs {
		e := w.edgeIDs[(at+i)%len(w.edgeIDs)]
		q := w.edges[e]
		if len(q) == 0 || e.to%4 == 1 && w.rng.IntN(4) > 0 { // some are slow
			continue
		}
		w.edges[e] = q[1:]
		w.take(e, q[0])
		return
	}
}

func (w *world) take(e edge, it item) {
	n := w.nodes[e.to]
	i, ok := n.task.align.Index(e.from)
	if !ok {
		w.fail("task %d does not know its input %d", e.to, e.from)
	}
	if it.tuple == nil {
		w.note("marker %v %v", e, it)
		w.perform(n, n.task.Marker(i, it.marker, it.sent))
		return
	}
	w.note("tuple %v %d", e, it.tuple.id)
	verdict, effects := n.task.Tuple(i)
	switch verdict {
	case Run:
		w.execute(n, it.tuple, n.task.Era())
	case Hold:
		w.held++
		n.held = append(n.held, heldTuple{it.tuple, n.task.Era()})
	case Drop:
		w.drops++
		it.tuple.tree.failed = true
	}
	w.perform(n, effects)
}

func (w *world) execute(n *node, t *tuple, era Era) {
	if !n.task.Open() {
		w.fail("task %d executes without its state", n.id)
	}
	if n.comp.Stateful {
		n.state.counts[t.id]++
	}
	w.children(n, t)
	switch n.task.Settle(t.tree, era) {
	case AckNow:
		w.ack(t.tree)
	case FailNow:
		t.tree.failed = true
	case AckLater:
	}
}

func (w *world) children(n *node, t *tuple) {
	for _, c := range w.comps {
		if slices.Contains(c.Inputs, n.comp.ID) {
			to := target(c, t.id)
			n.sent[to]++
			t.tree.open++
			e := edge{n.id, to}
			w.edges[e] = append(w.edges[e], item{tuple: t})
		}
	}
}

func target(c Component, id int64) int32 {
	return c.Tasks[uint64(id*0x5DEECE66D+int64(c.Tasks[0]))>>7%uint64(len(c.Tasks))]
}

func (w *world) ack(t *tree) {
	if t.open--; t.open > 0 || t.failed {
		return
	}
	w.note("acked %d", t.id)
	w.acked[t.id] = true
	delete(w.nodes[int32(t.id>>32)].pending, t.id)
	for task, count := range w.reference(t.id) {
		got := w.images[imageKey{task, w.record.Committed}].counts[t.id]
		if got < count || w.rewinds && got != count {
			w.fail("tuple %x was acked, but task %d has it %d times in version %v, want %d", t.id, task, got, w.record.Committed, count)
		}
	}
}

// reference is how often each stateful task executes an id if nothing fails.
func (w *world) reference(id int64) map[int32]int {
	out := map[int32]int{}
	var walk func(from string)
	walk = func(from string) {
		for _, c := range w.comps {
			if slices.Contains(c.Inputs, from) {
				if c.Stateful {
					out[target(c, id)]++
				}
				walk(c.ID)
			}
		}
	}
	walk(w.comp[int32(id>>32)].ID)
	return out
}

func (w *world) emit() {
	n := w.nodes[w.plan.Sources[w.rng.IntN(len(w.plan.Sources))]]
	if !n.task.Open() || n.task.Paused() || w.backlog() > 60 {
		return
	}
	var id int64
	if w.rewinds {
		if n.state.pos == w.perTask {
			return
		}
		id = int64(n.id)<<32 | n.state.pos
		n.state.pos++
	} else {
		if len(n.again) == 0 {
			return
		}
		id, n.again = n.again[0], n.again[1:]
		if w.acked[id] {
			return
		}
	}
	tr := &tree{id: id, era: n.task.Era(), emitted: w.now}
	if !w.rewinds {
		n.pending[id] = tr
	}
	w.note("emit %x", id)
	w.children(n, &tuple{id: id, tree: tr})
}

// backlog is what is under way between tasks: back-pressure, put simply.
func (w *world) backlog() int {
	sum := 0
	for _, q := range w.edges {
		sum += len(q)
	}
	return sum
}

// timeOut has a spout emit again what has failed or waited for too long.
func (w *world) timeOut() {
	n := w.nodes[w.plan.Sources[w.rng.IntN(len(w.plan.Sources))]]
	for _, id := range slices.Sorted(maps.Keys(n.pending)) {
		if t := n.pending[id]; t.failed || w.now.Sub(t.emitted) > 2*time.Second {
			t.failed = true
			delete(n.pending, id)
			n.again = append(n.again, id)
		}
	}
}

func (w *world) crash(id int32) {
	n := w.nodes[id]
	w.note("crash %d", id)
	for _, e := range w.edgeIDs {
		q := w.edges[e]
		switch {
		case e.to == id:
			w.edges[e] = nil
		case e.from == id && len(q) > 0:
			w.edges[e] = q[:w.rng.IntN(len(q)+1)]
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(n.pending)) {
		n.pending[pid].failed = true
		n.again = append(n.again, pid)
		delete(n.pending, pid)
	}
	w.fresh(n)
	if w.rng.IntN(3) > 0 {
		w.coordinate(w.leader, Broken{Reason: fmt.Sprintf("task %d started again", id)})
	}
}

func (w *world) answer() {
	if len(w.answers) == 0 {
		return
	}
	i := w.rng.IntN(len(w.answers))
	a := w.answers[i]
	if !w.maybe(20) {
		w.answers = slices.Delete(w.answers, i, i+1)
	}
	if w.maybe(60) {
		return
	}
	w.note("answer %v", a)
	w.coordinate(w.leader, a)
	if w.zombie != nil {
		w.coordinate(w.zombie, a)
	}
}
