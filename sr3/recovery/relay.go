package recovery

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
)

// members are the holders that take part in a line or tree, each with its share,
// in an order in which neighbours fold best: by site, then by the members of
// scattered chains that they bring, then by uplink, slowest first; where uplinks are
// alike, by lot, so that several owners at once do not take the same last node for
// their lines. local is what the receiver has itself.
func (w *world) members(items []item, busy map[NodeID]float64) (members, local []*Flow) {
	for _, f := range w.star(items, busy) {
		if f.Node == w.Receiver.ID {
			local = append(local, f)
			continue
		}
		members = append(members, f)
	}
	key := map[NodeID]Part{}
	for _, f := range members {
		for _, p := range f.Own {
			if p.First == 0 && p.Until == len(w.piece(p.Shard).Chain) {
				continue
			}
			if k, ok := key[f.Node]; !ok || compareParts(p, k) < 0 {
				key[f.Node] = p
			}
		}
	}
	grades := w.grade(members)
	slices.SortStableFunc(members, func(a, b *Flow) int {
		x, y := w.nodes[a.Node], w.nodes[b.Node]
		return cmp.Or(
			cmp.Compare(w.far(y), w.far(x)),
			cmp.Compare(x.Site, y.Site),
			compareParts(key[a.Node], key[b.Node]),
			grades.compare(a, b))
	})
	return members, local
}

// alikeRates is how much faster a link may be than another that counts as like it,
// alikeFolds the same for processors: what was measured of equal ones differs by less.
const (
	alikeRates = 1.1
	alikeFolds = 2
)

// grades say of each member which others have uplinks like its own: a larger grade
// is faster. Within one, lots are in an order of the owner's own.
type grades map[NodeID]struct {
	grade int
	lot   [sha256.Size]byte
}

func (w *world) grade(members []*Flow) grades {
	order := slices.Clone(members)
	slices.SortFunc(order, func(a, b *Flow) int { return cmp.Compare(w.toReceiver(b), w.toReceiver(a)) })
	out, grade, top := grades{}, 0, 0.0
	for _, f := range order {
		if rate := w.toReceiver(f); top == 0 || rate*alikeRates < top {
			grade, top = grade-1, rate
		}
		g := out[f.Node]
		g.grade, g.lot = grade, sha256.Sum256([]byte(w.Owner+"\x00"+string(f.Node)))
		out[f.Node] = g
	}
	return out
}

func (g grades) compare(a, b *Flow) int {
	x, y := g[a.Node], g[b.Node]
	return cmp.Or(cmp.Compare(x.grade, y.grade), bytes.Compare(x.lot[:], y.lot[:]))
}

// far is 1 for a node of another site than the receiver's.
func (w *world) far(n Node) int {
	if n.Site != w.Receiver.Site {
		return 1
	}
	return 0
}

// line makes chains of at most Params.LineLength nodes, of about equal bytes; the
// last node of each sends to the receiver.
func (w *world) line(items []item, busy map[NodeID]float64) []*Flow {
	members, flows := w.members(items, busy)
	n := (len(members) + w.Params.LineLength - 1) / w.Params.LineLength
	for _, run := range w.cut(members, n, w.Params.LineLength) {
		var tail *Flow
		for _, f := range run {
			if tail != nil {
				f.From = []*Flow{tail}
				w.seal(f)
			}
			tail = f
		}
		flows = append(flows, tail)
	}
	return flows
}

// tree makes at most fan-in subtrees of about equal bytes, and so on down. If some
// uplinks are much faster than others, it is the fast ones that carry what others
// send, unless a tree of neighbours is predicted to be as good.
func (w *world) tree(items []item, busy map[NodeID]float64) []*Flow {
	members, local := w.members(items, busy)
	mixed := w.isMixed(members)
	near := append(local, w.grow(members, w.slots(w.Params.TreeFanin))...)
	if !mixed {
		return near
	}
	members, local = w.members(items, busy)
	fast := append(local, w.growFast(members, w.slots(w.Params.TreeFanin))...)
	if w.predict(Tree, fast).TotalMS < worthwhile*w.predict(Tree, near).TotalMS {
		return fast
	}
	return near
}

// mixedRates is how much faster the fastest uplink of a tree must be than the
// slowest for its shape to depend on them.
const mixedRates = 1.5

func (w *world) isMixed(members []*Flow) bool {
	if len(members) == 0 {
		return false
	}
	slow, fast := w.toReceiver(members[0]), w.toReceiver(members[0])
	for _, f := range members {
		slow, fast = min(slow, w.toReceiver(f)), max(fast, w.toReceiver(f))
	}
	return fast > mixedRates*slow
}

func (w *world) toReceiver(f *Flow) float64 {
	return w.rate(w.nodes[f.Node], w.Receiver.Node)
}

// growFast makes the fastest members the heads, of different sites where they can
// be, and gives each of the others to a head of its site, as much as its link is
// worth.
func (w *world) growFast(members []*Flow, fanin int) []*Flow {
	order := slices.Clone(members)
	grades := w.grade(members)
	slices.SortFunc(order, func(a, b *Flow) int { return grades.compare(b, a) })
	rank, of := map[NodeID]int{}, map[string]int{}
	for _, f := range order {
		site := w.nodes[f.Node].Site
		rank[f.Node] = of[site]
		of[site]++
	}
	slices.SortStableFunc(order, func(a, b *Flow) int {
		return cmp.Or(cmp.Compare(grades[b.Node].grade, grades[a.Node].grade), cmp.Compare(rank[a.Node], rank[b.Node]))
	})
	heads := order[:min(fanin, len(order))]
	load, below := map[*Flow]float64{}, map[*Flow][]*Flow{}
	for _, h := range heads {
		load[h] = float64(h.Bytes)
	}
	for _, f := range members {
		if slices.Contains(heads, f) {
			continue
		}
		h := w.headFor(f, heads, load)
		load[h] += float64(f.Bytes)
		below[h] = append(below[h], f)
	}
	for _, h := range heads {
		if rest := below[h]; len(rest) > 0 {
			if len(rest) > w.Params.TreeFanin {
				rest = w.growFast(rest, w.Params.TreeFanin)
			}
			h.From, h.Merges = rest, true
			w.seal(h)
		}
	}
	return heads
}

// headFor is the head that would be done first, of the member's site if there is one.
func (w *world) headFor(f *Flow, heads []*Flow, load map[*Flow]float64) *Flow {
	site := w.nodes[f.Node].Site
	same := func(h *Flow) bool { return w.nodes[h.Node].Site == site }
	if among := slices.DeleteFunc(slices.Clone(heads), func(h *Flow) bool { return !same(h) }); len(among) > 0 {
		heads = among
	}
	return slices.MinFunc(heads, func(a, b *Flow) int {
		return cmp.Or(cmp.Compare((load[a]+float64(f.Bytes))/w.toReceiver(a), (load[b]+float64(f.Bytes))/w.toReceiver(b)), cmp.Compare(a.Node, b.Node))
	})
}

func (w *world) grow(members []*Flow, fanin int) []*Flow {
	var heads []*Flow
	for _, run := range w.cut(members, fanin, 0) {
		head := w.pickHead(run)
		rest := slices.DeleteFunc(slices.Clone(run), func(f *Flow) bool { return f == head })
		if len(rest) > 0 {
			head.From = w.grow(rest, w.Params.TreeFanin)
			head.Merges = true
			w.seal(head)
		}
		heads = append(heads, head)
	}
	return heads
}

// pickHead is the member with the best link to the receiver, the first of several:
// the head carries what its whole subtree sends, and without the first the others
// are still neighbours.
func (w *world) pickHead(run []*Flow) *Flow {
	rate := func(f *Flow) float64 { return min(w.toReceiver(f), float64(w.nodes[f.Node].Down)) }
	fold := func(f *Flow) float64 { return float64(w.nodes[f.Node].Fold) }
	return foremost(foremost(run, rate, alikeRates), fold, alikeFolds)[0]
}

// foremost are those whose value is like the largest one.
func foremost(of []*Flow, value func(*Flow) float64, alike float64) []*Flow {
	top := 0.0
	for _, f := range of {
		top = max(top, value(f))
	}
	return slices.DeleteFunc(slices.Clone(of), func(f *Flow) bool { return value(f)*alike < top })
}

// cut divides members into at most n runs of neighbours with about equal bytes,
// none longer than longest (0 is no bound) and none empty.
func (w *world) cut(members []*Flow, n, longest int) [][]*Flow {
	var runs [][]*Flow
	left := int64(0)
	for _, f := range members {
		left += f.Bytes
	}
	for n = min(n, len(members)); n > 0; n-- {
		if longest <= 0 {
			longest = len(members)
		}
		// What this run must take so that the others can take the rest, and may
		// take so that none of them is empty.
		least, most := max(1, len(members)-(n-1)*longest), min(longest, len(members)-(n-1))
		size, bytes := least, int64(0)
		for _, f := range members[:least] {
			bytes += f.Bytes
		}
		for size < most && bytes+members[size].Bytes/2 < left/int64(n) {
			bytes += members[size].Bytes
			size++
		}
		if n == 1 {
			size = len(members)
		}
		runs = append(runs, members[:size:size])
		members = members[size:]
		left -= bytes
	}
	return runs
}

// walk visits a flow and all below it, parents first.
func (f *Flow) walk(visit func(*Flow)) {
	visit(f)
	for _, from := range f.From {
		from.walk(visit)
	}
}

// nodesOf are all nodes of a flow, sorted.
func (f *Flow) nodesOf() []NodeID {
	set := map[NodeID]bool{}
	f.walk(func(g *Flow) { set[g.Node] = true })
	return slices.Sorted(maps.Keys(set))
}
