package recovery

import (
	"cmp"
	"slices"
)

// Part is a run of a shard's chain that travels as one folded object: the
// members First up to but without Until.
type Part struct {
	Shard int `json:"shard"`
	First int `json:"first"`
	Until int `json:"until"`
	// Bytes is its estimated size on the wire.
	Bytes int64 `json:"bytes"`
}

// span is a part without its size: what identifies it.
type span struct{ shard, first, until int }

func (p Part) span() span { return span{p.Shard, p.First, p.Until} }

func compareParts(a, b Part) int {
	return cmp.Or(cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.First, b.First), cmp.Compare(a.Until, b.Until))
}

// part makes the part [first, until) of the piece.
func (p *Piece) part(first, until int) Part {
	stored := int64(0)
	for _, o := range p.Chain[first:until] {
		stored += o.Bytes
	}
	size := min(stored, p.Bytes)
	if until-first == 1 {
		size = stored
	}
	if first == 0 && until == len(p.Chain) {
		size = p.Bytes
	}
	return Part{Shard: p.Shard, First: first, Until: until, Bytes: size}
}

// work is how many stored bytes are folded to make the part; none if it is a
// single object.
func (p *Piece) work(first, until int) int64 {
	if until-first <= 1 {
		return 0
	}
	stored := int64(0)
	for _, o := range p.Chain[first:until] {
		stored += o.Bytes
	}
	return stored
}

// item is a part with those who can send it.
type item struct {
	Part
	work    int64
	holders []NodeID
}

// usable says whether a node may be asked for a shard.
type usable func(id NodeID, shard int) bool

// cover cuts [first, until) of the chain into as few parts as the holders allow,
// by taking the longest run each time. ok is false if some member has no holder.
func (p *Piece) cover(first, until int, may usable) (items []item, ok bool) {
	for first < until {
		end := first
		var holders []NodeID
		for end < until {
			var left []NodeID
			for _, id := range p.Chain[end].Holders {
				if may(id, p.Shard) && (end == first || slices.Contains(holders, id)) {
					left = append(left, id)
				}
			}
			if len(left) == 0 {
				break
			}
			holders = left
			end++
		}
		if end == first {
			return nil, false
		}
		items = append(items, item{Part: p.part(first, end), work: p.work(first, end), holders: holders})
		first = end
	}
	return items, true
}

// holdersOf are those that can send exactly this part.
func (p *Piece) holdersOf(s span, may usable) []NodeID {
	var out []NodeID
	for _, id := range p.Chain[s.first].Holders {
		has := may(id, p.Shard)
		for _, o := range p.Chain[s.first+1 : s.until] {
			has = has && slices.Contains(o.Holders, id)
		}
		if has {
			out = append(out, id)
		}
	}
	return out
}

// merge puts parts of several senders together as a node does that folds:
// neighbours of one chain become one part.
func (w *world) merge(parts []Part) []Part {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, compareParts)
	var out []Part
	for _, p := range parts {
		if n := len(out); n > 0 && out[n-1].Shard == p.Shard && out[n-1].Until == p.First {
			joined := w.piece(p.Shard).part(out[n-1].First, p.Until)
			joined.Bytes = min(joined.Bytes, out[n-1].Bytes+p.Bytes)
			out[n-1] = joined
			continue
		}
		out = append(out, p)
	}
	return out
}

// piece finds the piece of a shard that is known to be there.
func (w *world) piece(shard int) *Piece {
	i, ok := slices.BinarySearchFunc(w.Pieces, shard, func(p Piece, s int) int { return cmp.Compare(p.Shard, s) })
	if !ok {
		panic("recovery: no piece of this shard")
	}
	return &w.Pieces[i]
}

func total(parts []Part) int64 {
	sum := int64(0)
	for _, p := range parts {
		sum += p.Bytes
	}
	return sum
}
