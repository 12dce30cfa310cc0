package ring

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"strings"
)

// Point is one position and whose it is.
type Point struct {
	At   uint64
	Node *Node // shared: do not change
}

// View is an immutable picture of the ring: the positions of living nodes in
// order. Equal sets of nodes give equal views.
type View struct {
	points []Point
	nodes  []*Node // by id
	racks  int     // different known racks
	norack bool    // some rack is unknown
}

// NewView is the ring of these nodes; of two with one id the first counts.
func NewView(nodes []Node) *View {
	v := &View{}
	seen := make(map[string]bool, len(nodes))
	added := make([]*Node, 0, len(nodes))
	for i := range nodes {
		if n := nodes[i]; !seen[n.ID] {
			seen[n.ID] = true
			added = append(added, &n)
		}
	}
	return v.change(nil, added)
}

// change is the view without gone and with added, which are not in it.
func (v *View) change(gone, added []*Node) *View {
	var fresh []Point
	for _, n := range added {
		for i := range n.Positions {
			fresh = append(fresh, Point{PositionOf(n.ID, i), n})
		}
	}
	slices.SortFunc(fresh, comparePoints)
	out := &View{
		points: merge(v.points, fresh, comparePoints, func(p Point) bool { return slices.Contains(gone, p.Node) }),
	}
	added = slices.Clone(added)
	slices.SortFunc(added, compareNodes)
	out.nodes = merge(v.nodes, added, compareNodes, func(n *Node) bool { return slices.Contains(gone, n) })
	racks := make(map[string]bool)
	for _, n := range out.nodes {
		if n.Rack == "" {
			out.norack = true
		} else {
			racks[n.Rack] = true
		}
	}
	out.racks = len(racks)
	return out
}

// merge is old without those that drop names, and fresh, in order.
func merge[T any](old, fresh []T, compare func(a, b T) int, drop func(T) bool) []T {
	out := make([]T, 0, len(old)+len(fresh))
	for _, o := range old {
		if drop(o) {
			continue
		}
		for len(fresh) > 0 && compare(fresh[0], o) < 0 {
			out, fresh = append(out, fresh[0]), fresh[1:]
		}
		out = append(out, o)
	}
	return append(out, fresh...)
}

func comparePoints(a, b Point) int {
	if a.At != b.At {
		return cmp.Compare(a.At, b.At)
	}
	return compareNodes(a.Node, b.Node)
}

func compareNodes(a, b *Node) int { return strings.Compare(a.ID, b.ID) }

// Len is the number of nodes.
func (v *View) Len() int { return len(v.nodes) }

// Nodes are the nodes by id.
func (v *View) Nodes() []Node {
	out := make([]Node, len(v.nodes))
	for i, n := range v.nodes {
		out[i] = *n
	}
	return out
}

// Points are all positions in order.
func (v *View) Points() []Point { return slices.Clone(v.points) }

// find is the node with this id, nil if there is none.
func (v *View) find(id string) *Node {
	i, ok := slices.BinarySearchFunc(v.nodes, id, func(n *Node, id string) int { return strings.Compare(n.ID, id) })
	if !ok {
		return nil
	}
	return v.nodes[i]
}

// at is the index of the first point at or after key; len(points) must not be 0.
func (v *View) at(key uint64) int {
	i := sort.Search(len(v.points), func(i int) bool { return v.points[i].At >= key })
	if i == len(v.points) {
		return 0
	}
	return i
}

// Successor is the first position at or after key; false if the ring is empty.
func (v *View) Successor(key uint64) (Point, bool) {
	if len(v.points) == 0 {
		return Point{}, false
	}
	return v.points[v.at(key)], true
}

// Walk goes over the points clockwise from the successor of key, once around.
func (v *View) Walk(key uint64) iter.Seq[Point] {
	return func(yield func(Point) bool) {
		if len(v.points) == 0 {
			return
		}
		start := v.at(key)
		for i := range v.points {
			if !yield(v.points[(start+i)%len(v.points)]) {
				return
			}
		}
	}
}

// Back goes over the points counter-clockwise from the last one before key,
// once around.
func (v *View) Back(key uint64) iter.Seq[Point] {
	return func(yield func(Point) bool) {
		if len(v.points) == 0 {
			return
		}
		n := len(v.points)
		start := v.at(key) + n - 1
		for i := range n {
			if !yield(v.points[(start-i+n)%n]) {
				return
			}
		}
	}
}

// distinct are the first most nodes of a walk, each once, without the node skip.
func distinct(walk iter.Seq[Point], most int, skip *Node) []*Node {
	out := make([]*Node, 0, most)
	for p := range walk {
		if p.Node == skip || slices.Contains(out, p.Node) {
			continue
		}
		if len(out) == most {
			break
		}
		out = append(out, p.Node)
	}
	return out
}

// Holders are the nodes that keep the copies of what belongs at key: walking
// clockwise from it, no two on one host, and as long as there are racks without
// a copy, on such a rack; unknown racks are all different. Fewer than replicas
// if there are fewer hosts. The first is the successor of key, the others follow
// in the order in which they were chosen.
func Holders(v *View, key uint64, replicas int) []Node {
	chosen := make([]*Node, 0, max(replicas, 0))
	racks := 0
	// A second walk, for hosts on racks that have a copy, only if the first did
	// not suffice.
	for walk := 0; walk < 2 && len(chosen) < replicas; walk++ {
		for p := range v.Walk(key) {
			if len(chosen) == replicas || walk == 0 && racks == v.racks && !v.norack {
				break
			}
			sameHost, sameRack := together(chosen, p.Node)
			if sameHost || walk == 0 && sameRack {
				continue
			}
			if p.Node.Rack != "" {
				racks++
			}
			chosen = append(chosen, p.Node)
		}
	}
	out := make([]Node, len(chosen))
	for i, n := range chosen {
		out[i] = *n
	}
	return out
}

// together reports whether n shares its host or its rack with one of chosen.
func together(chosen []*Node, n *Node) (sameHost, sameRack bool) {
	for _, c := range chosen {
		sameHost = sameHost || c == n || c.failsWith() == n.failsWith()
		sameRack = sameRack || c.Rack != "" && c.Rack == n.Rack
	}
	return sameHost, sameRack
}
