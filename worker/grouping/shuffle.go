package grouping

import (
	"fmt"
	"slices"
)

// Storm's numbers for load-aware shuffle.
const (
	defaultHigherBound = 0.8
	defaultLowerBound  = 0.2

	// A target whose load is no more than loadSlack above the least loaded
	// gains weight slowly, any other loses it fast. Unlike Storm's, a weight
	// never falls to 0: a target that gets no tuples cannot show that it
	// recovered.
	loadSlack  = 0.05
	maxWeight  = 100
	minWeight  = 1
	weightGain = 1
	weightLoss = 10
)

// A ring has about ringBase slots at most, or ringPerTarget for each target if
// that is more.
const (
	ringBase      = 1000
	ringPerTarget = 8
)

// balance is the state of a shuffle's load awareness: who takes part, and with
// what weight.
type balance struct {
	order         []int32 // indexes of all candidates, in shuffled order
	local         []int32 // those in the emitter's worker, if some but not all are
	weight        []int32 // by target index
	higher, lower float64

	// near tells that only local candidates get tuples. Before the first load
	// report nothing is known that would speak for them, so that the ring is
	// over all.
	near, ringNear bool
}

// newBalance shuffles the candidates.
func newBalance(s Spec) *balance {
	b := &balance{higher: s.HigherBound, lower: s.LowerBound}
	if b.higher == 0 {
		b.higher, b.lower = defaultHigherBound, defaultLowerBound
	}
	for _, i := range s.Rand.Perm(len(s.Targets)) {
		b.order = append(b.order, int32(i))
		b.weight = append(b.weight, maxWeight)
		if s.Local != nil && s.Local[i] {
			b.local = append(b.local, int32(i))
		}
	}
	switch {
	case len(b.local) == 0:
	case s.Kind == LocalOrShuffle:
		b.order, b.local = b.local, nil
	case len(b.local) == len(b.order):
		b.local = nil
	}
	b.near = b.local != nil
	return b
}

// SetLoad makes the shuffles load aware, as Storm's are by default; for other
// kinds it does nothing. load is the load of each target, 0 (idle) to 1, and
// is to be reported every few seconds: each report shifts the weights a bit.
// A target that stays busier than the least busy one ends at a hundredth of
// its share.
//
// With Spec.Local, only local targets get tuples until their mean load exceeds
// HigherBound, and again once it falls below LowerBound.
//
// It panics if load has another length than Targets.
func (g *Grouping) SetLoad(load []float64) {
	if len(load) != int(g.n) {
		panic(fmt.Sprintf("grouping: load of %d targets reported to a %s grouping over %d", len(load), g.kind, g.n))
	}
	if g.op != opRing || !g.balance.update(load) {
		return
	}
	g.ring = g.balance.appendRing(g.ring[:0])
	// Not from the start: else short cycles would favour whoever stands there.
	g.next = int(g.pcg.Uint64() % uint64(len(g.ring)))
}

// update takes a load report and tells whether the ring has to change.
func (b *balance) update(load []float64) bool {
	b.relocate(load)
	changed := b.near != b.ringNear
	members := b.members()
	least := 1.0
	for _, i := range members {
		least = min(least, clampLoad(load[i]))
	}
	for _, i := range members {
		w := b.weight[i]
		if clampLoad(load[i]) <= least+loadSlack {
			w = min(maxWeight, w+weightGain)
		} else {
			w = max(minWeight, w-weightLoss)
		}
		changed = changed || w != b.weight[i]
		b.weight[i] = w
	}
	return changed
}

// relocate decides between the local and all candidates; all start afresh when
// that changes. Storm asks for the mean load of whoever is in use, so that idle
// far targets bring it straight back to busy local ones; we ask for the local
// load both ways.
func (b *balance) relocate(load []float64) {
	if b.local == nil {
		return
	}
	var sum float64
	for _, i := range b.local {
		sum += clampLoad(load[i])
	}
	mean := sum / float64(len(b.local))
	near := b.near && mean <= b.higher || mean < b.lower
	if near == b.near {
		return
	}
	b.near = near
	for i := range b.weight {
		b.weight[i] = maxWeight
	}
}

// clampLoad brings a report into 0 to 1; NaN is no load known.
func clampLoad(l float64) float64 {
	if !(l > 0) {
		return 0
	}
	return min(l, 1)
}

func (b *balance) members() []int32 {
	if b.near {
		return b.local
	}
	return b.order
}

// lane is a run of members with the same number of slots. Together they take
// total slots, spread evenly over the ring, each in turn.
type lane struct {
	members     []int32
	total, used int64
}

// appendRing appends the cyclic schedule of the members to dst: each in
// proportion to its weight, at least once, and as evenly spread as the others
// allow.
func (b *balance) appendRing(dst []int32) []int32 {
	b.ringNear = b.near
	lanes, length := b.lanes()
	for range length {
		// The m-th of a lane's slots is due at (2m+1)/(2·total) of the ring.
		due := 0
		for i := 1; i < len(lanes); i++ {
			a, c := &lanes[due], &lanes[i]
			if (2*c.used+1)*a.total < (2*a.used+1)*c.total {
				due = i
			}
		}
		l := &lanes[due]
		dst = append(dst, l.members[l.used%int64(len(l.members))])
		l.used++
	}
	return dst
}

// lanes groups the members by their number of slots. There are no more lanes
// than weights.
func (b *balance) lanes() (lanes []lane, length int64) {
	members := slices.Clone(b.members())
	var divisor, sum int64
	for _, i := range members {
		divisor = gcd(int64(b.weight[i]), divisor)
		sum += int64(b.weight[i])
	}
	limit := int64(max(ringBase, ringPerTarget*len(members)))
	slots := func(i int32) int64 {
		w := int64(b.weight[i])
		if sum/divisor <= limit {
			return w / divisor
		}
		return max(1, (w*limit+sum/2)/sum)
	}
	slices.SortStableFunc(members, func(i, j int32) int { return int(slots(j) - slots(i)) })
	for start := 0; start < len(members); {
		each, end := slots(members[start]), start+1
		for end < len(members) && slots(members[end]) == each {
			end++
		}
		total := each * int64(end-start)
		lanes = append(lanes, lane{members: members[start:end], total: total})
		length += total
		start = end
	}
	return lanes, length
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
