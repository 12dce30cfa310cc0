package recovery

import (
	"cmp"
	"maps"
	"slices"
)

// balance gives each item to one of its holders so that the last one is done as
// early as can be: the largest items first, each to the holder that would be done
// first; then, while the latest holder can be relieved by handing items on along a
// path of holders, that is done. seconds is what an item costs a node; busy is
// what nodes have to do already.
func balance(items []item, busy map[NodeID]float64, seconds func(NodeID, item) float64) map[NodeID][]item {
	b := &balancer{load: map[NodeID]float64{}, has: map[NodeID][]int{}, items: items, seconds: seconds}
	maps.Copy(b.load, busy)
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(items[y].Bytes, items[x].Bytes), compareParts(items[x].Part, items[y].Part))
	})
	for _, i := range order {
		best := slices.MinFunc(items[i].holders, func(x, y NodeID) int {
			return cmp.Or(cmp.Compare(b.load[x]+seconds(x, items[i]), b.load[y]+seconds(y, items[i])), cmp.Compare(x, y))
		})
		b.give(best, i)
	}
	for range 4 * len(items) {
		if !b.relieve() {
			break
		}
	}
	out := map[NodeID][]item{}
	for id, list := range b.has {
		for _, i := range list {
			out[id] = append(out[id], items[i])
		}
		slices.SortFunc(out[id], func(x, y item) int { return compareParts(x.Part, y.Part) })
	}
	return out
}

type balancer struct {
	items   []item
	load    map[NodeID]float64
	has     map[NodeID][]int
	seconds func(NodeID, item) float64
	steps   int // left for the search under way
}

func (b *balancer) give(id NodeID, i int) {
	b.has[id] = append(b.has[id], i)
	b.load[id] += b.seconds(id, b.items[i])
}

func (b *balancer) take(id NodeID, i int) {
	b.has[id] = slices.DeleteFunc(b.has[id], func(j int) bool { return j == i })
	b.load[id] -= b.seconds(id, b.items[i])
	if len(b.has[id]) == 0 {
		delete(b.has, id)
	}
}

// relieve hands one item of the latest holder to another, which may hand on items
// of its own, so that all of them end up below the old maximum.
func (b *balancer) relieve() bool {
	var worst NodeID
	top := -1.0
	for _, id := range slices.Sorted(maps.Keys(b.has)) {
		if b.load[id] > top {
			worst, top = id, b.load[id]
		}
	}
	if worst == "" {
		return false
	}
	b.steps = 300
	return b.push(worst, top*(1-1e-9), map[NodeID]bool{worst: true}, 6)
}

// push brings the load of id below limit by moving one of its items, within depth
// further moves.
func (b *balancer) push(id NodeID, limit float64, seen map[NodeID]bool, depth int) bool {
	for _, i := range slices.Sorted(slices.Values(b.has[id])) {
		cost := b.seconds(id, b.items[i])
		if b.load[id]-cost >= limit || cost == 0 {
			continue
		}
		for _, to := range b.items[i].holders {
			if b.steps <= 0 {
				return false
			}
			if seen[to] || b.seconds(to, b.items[i]) >= limit {
				continue
			}
			b.steps--
			b.take(id, i)
			b.give(to, i)
			if b.load[to] < limit {
				return true
			}
			if depth > 0 {
				seen[to] = true
				if b.push(to, limit, seen, depth-1) || b.swap(id, to, i, limit) {
					return true
				}
				delete(seen, to)
			}
			b.take(to, i)
			b.give(id, i)
		}
	}
	return false
}

// swap takes from to something for id in exchange for what it has just got.
func (b *balancer) swap(id, to NodeID, got int, limit float64) bool {
	for _, j := range slices.Sorted(slices.Values(b.has[to])) {
		if j == got || !slices.Contains(b.items[j].holders, id) {
			continue
		}
		if b.load[to]-b.seconds(to, b.items[j]) < limit && b.load[id]+b.seconds(id, b.items[j]) < limit {
			b.take(to, j)
			b.give(id, j)
			return true
		}
	}
	return false
}
