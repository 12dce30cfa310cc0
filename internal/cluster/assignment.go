package cluster

import "slices"

// Placement says where an executor runs and since when.
type Placement struct {
	Executor Executor
	Slot     Slot
	// StartSecs is when it was put there, in seconds since 1970. An executor
	// that has not been heard of is given time from then on.
	StartSecs int64
}

// Assignment says where a topology's executors run. It is sorted by executor,
// each of which is in it once; see [Assignment.Sort].
type Assignment []Placement

// Sort puts a in its order.
func (a Assignment) Sort() {
	slices.SortFunc(a, func(x, y Placement) int { return x.Executor.Compare(y.Executor) })
}

// Find is the placement of e, if it has one.
func (a Assignment) Find(e Executor) (Placement, bool) {
	i, ok := slices.BinarySearchFunc(a, e, func(p Placement, e Executor) int { return p.Executor.Compare(e) })
	if !ok {
		return Placement{}, false
	}
	return a[i], true
}

// Slots are the slots in use, sorted, each once: the topology's workers.
func (a Assignment) Slots() []Slot {
	out := make([]Slot, len(a))
	for i, p := range a {
		out[i] = p.Slot
	}
	slices.SortFunc(out, Slot.Compare)
	return slices.Compact(out)
}

// Equal reports whether a and b are the same, start times included.
func (a Assignment) Equal(b Assignment) bool { return slices.Equal(a, b) }
