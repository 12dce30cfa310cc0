package scheduler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
)

// ref is a slot by indexes: of the supervisor, and of the port in it.
type ref struct{ sup, port int32 }

// nowhere is no slot.
var nowhere = ref{-1, -1}

func (r ref) compare(o ref) int {
	return cmp.Or(cmp.Compare(r.sup, o.sup), cmp.Compare(r.port, o.port))
}

// sup is a supervisor on the board.
type sup struct {
	*Supervisor
	index  int
	ports  []cluster.Port // sorted
	holder []*topo        // by port
	shut   []bool         // by port: nothing new goes there
	free   int            // ports for new workers
	left   cluster.Resources
	owner  *topo // who has the host for itself
	pool   *pool
	leaf   int // in the pool's tree
}

// takes reports whether new workers may come.
func (s *sup) takes() bool { return s.Standing == cluster.Open && !s.Blacklisted }

func (s *sup) isFree(port int) bool { return s.holder[port] == nil && !s.shut[port] && s.takes() }

// offers reports whether workers of t can run there.
func (s *sup) offers(t *topo) bool { return t.Wants == "" || slices.Contains(s.Offers, t.Wants) }

// topo is a topology on the board.
type topo struct {
	*Topology
	execs []Executor // sorted
	was   []ref      // by executor; nowhere if the slot is not there any more
	from  []cluster.Slot
	since []int64
	dead  []bool
	at    []ref    // where it is now
	why   []string // why it left its place
	// reopened are slots taken this round: their workers start anyway.
	reopened map[ref]bool
	own      *pool // its own hosts, if it has any
	whyNot   string
	missing  int // slots
	notes    []string
}

// frozen topologies keep what they have until their status changes.
func (t *topo) frozen() bool {
	return t.Status == cluster.StatusKilled || t.Status == cluster.StatusRebalancing && !t.Fresh
}

// board is a round in progress: who holds which slot.
type board struct {
	now    int64
	sups   []*sup // by id
	byID   map[cluster.SupervisorID]*sup
	topos  []*topo // in the order in which they are served
	shared *pool   // of all hosts that belong to nobody
}

func newBoard(s Snapshot) *board {
	b := &board{now: s.NowSecs, byID: make(map[cluster.SupervisorID]*sup, len(s.Supervisors))}
	for i := range s.Supervisors {
		b.sups = append(b.sups, newSup(&s.Supervisors[i]))
	}
	slices.SortFunc(b.sups, func(x, y *sup) int { return cmp.Compare(x.ID, y.ID) })
	for i, s := range b.sups {
		s.index = i
		b.byID[s.ID] = s
	}
	for i := range s.Topologies {
		b.topos = append(b.topos, newTopo(&s.Topologies[i]))
	}
	slices.SortFunc(b.topos, func(x, y *topo) int {
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), cmp.Compare(x.SubmittedSecs, y.SubmittedSecs), cmp.Compare(x.ID, y.ID))
	})
	for _, t := range b.topos {
		b.seat(t)
	}
	return b
}

func newSup(s *Supervisor) *sup {
	ports := slices.Clone(s.Ports)
	slices.Sort(ports)
	ports = slices.Compact(ports)
	out := &sup{Supervisor: s, ports: ports, holder: make([]*topo, len(ports)), shut: make([]bool, len(ports)), left: s.Total}
	for _, list := range [][]cluster.Port{s.Used, s.Dead} {
		for _, p := range list {
			if i, ok := slices.BinarySearch(ports, p); ok {
				out.shut[i] = true
			}
		}
	}
	out.count()
	return out
}

func (s *sup) count() {
	s.free = 0
	for i := range s.ports {
		if s.isFree(i) {
			s.free++
		}
	}
}

func newTopo(t *Topology) *topo {
	execs := slices.Clone(t.Executors)
	slices.SortFunc(execs, func(a, b Executor) int { return a.Compare(b.Executor) })
	n := len(execs)
	out := &topo{
		Topology: t, execs: execs, was: make([]ref, n), from: make([]cluster.Slot, n), since: make([]int64, n),
		dead: make([]bool, n), at: make([]ref, n), why: make([]string, n), reopened: map[ref]bool{},
	}
	for i := range execs {
		out.was[i], out.at[i], out.why[i] = nowhere, nowhere, "new"
	}
	for _, e := range t.Dead {
		if i, ok := out.find(e); ok {
			out.dead[i] = true
		}
	}
	for _, p := range t.Current {
		if i, ok := out.find(p.Executor); ok {
			out.from[i], out.since[i] = p.Slot, p.StartSecs
		}
	}
	return out
}

func (t *topo) find(e cluster.Executor) (int, bool) {
	return slices.BinarySearchFunc(t.execs, e, func(x Executor, e cluster.Executor) int { return x.Compare(e) })
}

// seat puts a topology's healthy executors where they are.
func (b *board) seat(t *topo) {
	for i, from := range t.from {
		if from.IsZero() {
			continue
		}
		s := b.byID[from.Supervisor]
		if s == nil {
			t.why[i] = fmt.Sprintf("supervisor %s is lost", from.Supervisor)
			continue
		}
		port, ok := slices.BinarySearch(s.ports, from.Port)
		if !ok {
			t.why[i] = fmt.Sprintf("supervisor %s has no port %d any more", from.Supervisor, from.Port)
			continue
		}
		r := ref{int32(s.index), int32(port)}
		t.was[i] = r
		switch {
		case t.frozen():
		case t.Fresh:
			t.why[i] = "rebalanced"
			continue
		case t.dead[i]:
			// Its worker hangs or dies: others should not follow it there.
			s.shut[port] = true
			s.count()
			t.why[i] = "it shows no life"
			continue
		case slices.Contains(s.Dead, from.Port):
			t.why[i] = fmt.Sprintf("slot %s is dead", from)
			continue
		}
		if h := s.holder[port]; h != nil && h != t {
			t.why[i] = fmt.Sprintf("slot %s is %s's", from, h.ID)
			continue
		}
		b.put(t, i, r)
	}
}

// put places executor i of t in slot r, which is t's or free.
func (b *board) put(t *topo, i int, r ref) {
	s := b.sups[r.sup]
	t.at[i] = r
	s.left = s.left.Minus(t.execs[i].Need)
	if s.holder[r.port] == nil {
		b.resize(s, func() { s.holder[r.port] = t })
	}
	s.pool.refresh(s)
}

// lift takes executor i of t away from its slot, which stays t's.
func (b *board) lift(t *topo, i int, why string) {
	s := b.sups[t.at[i].sup]
	t.at[i] = nowhere
	if why != "" {
		t.why[i] = why
	}
	s.left = s.left.Plus(t.execs[i].Need)
	s.pool.refresh(s)
}

// vacate takes all of w's executors away and gives its slot back.
func (b *board) vacate(t *topo, w worker, why string) {
	for _, i := range w.execs {
		b.lift(t, i, why)
	}
	s := b.sups[w.ref.sup]
	b.resize(s, func() { s.holder[w.ref.port] = nil })
	delete(t.reopened, w.ref)
	s.pool.refresh(s)
}

// resize does what may change the number of free slots of s.
func (b *board) resize(s *sup, change func()) {
	before := s.free
	change()
	s.count()
	if s.pool != nil && s.free != before {
		s.pool.moved(s, before)
	}
}

// slot is r in the words of others.
func (b *board) slot(r ref) cluster.Slot {
	s := b.sups[r.sup]
	return cluster.Slot{Supervisor: s.ID, Port: s.ports[r.port]}
}

// worker is a slot with the executors in it, by index, ascending.
type worker struct {
	ref   ref
	execs []int
}

// workers are what t has now, sorted by slot.
func (t *topo) workers() []worker {
	order := make([]int, 0, len(t.at))
	for i, r := range t.at {
		if r != nowhere {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Or(t.at[x].compare(t.at[y]), cmp.Compare(x, y)) })
	var out []worker
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && t.at[order[to]] == t.at[order[from]] {
			to++
		}
		out = append(out, worker{t.at[order[from]], order[from:to]})
		from = to
	}
	return out
}

// unplaced are the executors without a slot, ascending.
func (t *topo) unplaced() []int {
	var out []int
	for i, r := range t.at {
		if r == nowhere {
			out = append(out, i)
		}
	}
	return out
}
