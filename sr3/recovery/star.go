package recovery

import (
	"cmp"
	"maps"
	"slices"
)

// Flow is one connection of a plan, with what feeds it.
type Flow struct {
	Node NodeID `json:"node"`
	To   NodeID `json:"to"`
	// Own is what the node reads from its own disk, in this order.
	Own []Part `json:"own"`
	// From are the flows it takes in, to pass on and, where neighbours of one chain
	// meet (or Merges is set), to fold.
	From []*Flow `json:"from,omitempty"`
	// Merges says that the node sorts all that passes into one stream.
	Merges bool `json:"merges,omitempty"`
	// Sends is what leaves the node: Own and From, folded.
	Sends []Part `json:"sends"`
	// Bytes is the size of Sends.
	Bytes int64 `json:"bytes"`
}

// items are the parts of all pieces with their holders; shards of which some
// member has no living copy are lost. What the receiver has itself is its own.
func (w *world) items() (items []item, lost []int) {
	for i := range w.Pieces {
		p := &w.Pieces[i]
		found, ok := p.cover(0, len(p.Chain), func(NodeID, int) bool { return true })
		if !ok {
			lost = append(lost, p.Shard)
			continue
		}
		items = append(items, found...)
	}
	return w.keepLocal(items), lost
}

func (w *world) keepLocal(items []item) []item {
	for i := range items {
		if slices.Contains(items[i].holders, w.Receiver.ID) {
			items[i].holders = []NodeID{w.Receiver.ID}
		}
	}
	return items
}

// seconds is how long a node is busy with an item: it folds while it sends.
func (w *world) seconds(id NodeID, it item) float64 {
	n := w.nodes[id]
	fold := float64(it.work) / float64(n.Fold)
	if id == w.Receiver.ID {
		return fold
	}
	return max(float64(it.Bytes)/w.rate(n, w.Receiver.Node), fold)
}

// star sends everything straight to the receiver; the flows that take longest
// come first, so that the last ones to start are short.
func (w *world) star(items []item, busy map[NodeID]float64) []*Flow {
	given := balance(items, busy, w.seconds)
	var flows []*Flow
	for _, id := range slices.Sorted(maps.Keys(given)) {
		flows = append(flows, w.leaf(id, given[id]))
	}
	slices.SortStableFunc(flows, func(a, b *Flow) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Node, b.Node))
	})
	return flows
}

func (w *world) leaf(id NodeID, items []item) *Flow {
	f := &Flow{Node: id, To: w.Receiver.ID}
	for _, it := range items {
		f.Own = append(f.Own, it.Part)
	}
	w.seal(f)
	return f
}

// seal computes what a flow sends from what it has and takes in.
func (w *world) seal(f *Flow) {
	parts := slices.Clone(f.Own)
	for _, from := range f.From {
		from.To = f.Node
		parts = append(parts, from.Sends...)
	}
	f.Sends = parts
	if len(f.From) > 0 {
		f.Sends = w.merge(parts)
	}
	f.Bytes = total(f.Sends)
}
