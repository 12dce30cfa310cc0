package scheduler

import (
	"cmp"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
)

// tree finds the supervisor with most room among those that have enough, in
// logarithmic time as a rule: a binary tree over supervisors in the order of
// their racks, where each node knows the maxima below it.
type tree struct {
	leaves []*sup // by rack, then by index
	nodes  []room // 1 is the root, i has 2i and 2i+1; leaves from size on
	size   int
	racks  []rack
	rackOf []int // by leaf
}

// room is what the best supervisors below a node offer to a new worker.
type room struct {
	share float64 // free part of the scarcer of memory and CPU; below 0: none
	mem   float64
	cpu   float64
}

// rack is a range of leaves.
type rack struct {
	name     string
	from, to int
	mem      float64 // free in all, on supervisors with free slots
}

var noRoom = room{-1, -1, -1}

func (a room) or(b room) room {
	return room{max(a.share, b.share), max(a.mem, b.mem), max(a.cpu, b.cpu)}
}

// packable is the pool's tree, made at the first call.
func (p *pool) packable() *tree {
	if p.tree != nil {
		return p.tree
	}
	t := &tree{leaves: slices.Clone(p.sups), size: 1}
	slices.SortFunc(t.leaves, func(x, y *sup) int { return cmp.Or(cmp.Compare(x.Rack, y.Rack), cmp.Compare(x.index, y.index)) })
	for t.size < len(t.leaves) {
		t.size *= 2
	}
	t.nodes = make([]room, 2*t.size)
	for i := range t.nodes {
		t.nodes[i] = noRoom
	}
	for i, s := range t.leaves {
		s.leaf = i
		if n := len(t.racks); n == 0 || t.racks[n-1].name != s.Rack {
			t.racks = append(t.racks, rack{name: s.Rack, from: i})
		}
		r := &t.racks[len(t.racks)-1]
		r.to = i + 1
		t.rackOf = append(t.rackOf, len(t.racks)-1)
		t.nodes[t.size+i] = roomOn(s)
		r.mem += max(t.nodes[t.size+i].mem, 0)
	}
	for i := t.size - 1; i > 0; i-- {
		t.nodes[i] = t.nodes[2*i].or(t.nodes[2*i+1])
	}
	p.tree = t
	return t
}

func roomOn(s *sup) room {
	if s.free == 0 {
		return noRoom
	}
	share := 1.0
	if s.Total.MemoryMB > 0 {
		share = min(share, s.left.MemoryMB/s.Total.MemoryMB)
	}
	if s.Total.CPU > 0 {
		share = min(share, s.left.CPU/s.Total.CPU)
	}
	return room{max(share, 0), max(s.left.MemoryMB, 0), max(s.left.CPU, 0)}
}

// refresh is to be called when the room on s may have changed.
func (p *pool) refresh(s *sup) {
	if p == nil || p.tree == nil {
		return
	}
	t := p.tree
	i := t.size + s.leaf
	now := roomOn(s)
	t.racks[t.rackOf[s.leaf]].mem += max(now.mem, 0) - max(t.nodes[i].mem, 0)
	t.nodes[i] = now
	for i /= 2; i > 0; i /= 2 {
		up := t.nodes[2*i].or(t.nodes[2*i+1])
		if up == t.nodes[i] {
			return
		}
		t.nodes[i] = up
	}
}

// roomiest is the supervisor of rack r with the largest free share that has a
// free slot and room for need, or nil. If soft, CPU need not be enough. Which
// one of equals it is depends on the shape of the tree alone.
func (t *tree) roomiest(r rack, need cluster.Resources, soft bool) *sup {
	q := query{tree: t, from: r.from, to: r.to, need: need, soft: soft, share: -1}
	q.visit(1, 0, t.size)
	return q.best
}

type query struct {
	*tree
	from, to int
	need     cluster.Resources
	soft     bool
	best     *sup
	share    float64 // of best
}

// visit looks for a better one below node i, which covers the leaves lo to hi.
func (q *query) visit(i, lo, hi int) {
	n := q.nodes[i]
	if lo >= q.to || hi <= q.from || n.share <= q.share || !enough(n, q.need, q.soft) {
		return
	}
	if hi-lo > 1 {
		mid := (lo + hi) / 2
		// The more promising side first, so that the other can be skipped.
		if q.nodes[2*i+1].share > q.nodes[2*i].share {
			q.visit(2*i+1, mid, hi)
			q.visit(2*i, lo, mid)
			return
		}
		q.visit(2*i, lo, mid)
		q.visit(2*i+1, mid, hi)
		return
	}
	if s := q.leaves[lo]; fits(s, q.need, q.soft) {
		q.best, q.share = s, n.share
	}
}

func enough(r room, need cluster.Resources, soft bool) bool {
	left := cluster.Resources{MemoryMB: r.mem, CPU: r.cpu}
	need.Generic = nil
	return left.LacksHard(need) == "" && (soft || left.Lacks(need) == "")
}

// fits reports whether s has enough left for need.
func fits(s *sup, need cluster.Resources, soft bool) bool {
	if soft {
		return s.left.LacksHard(need) == ""
	}
	return s.left.Lacks(need) == ""
}
