package executor

import (
	"cmp"

	"github.com/stormring/stormring/internal/track"
)

// offspringRotations is how many rotations the edges of an input's children
// are kept, itself not counted. It is no less than the life of an entry in the
// acker, see offspring.Rotate.
const offspringRotations = 3

// offspring knows, for each input that is not settled yet, the XOR of the
// edges that were anchored to it. They go to the acker in one message with the
// input's own edge when it is acked. That they go together matters: messages
// are lost when the worker of an acker dies, and if the edge of a child were
// lost while the ack of its parent arrives, the tree would look done. This way
// no subset of a tree's messages but all of them comes to 0.
//
// A bolt mostly emits for one input and acks it, so the input at hand has a
// place of its own.
//
// An input that is the first tuple of its tree needs still more care, since
// nothing but its ack announces the tree: what was lost before leaves no trace
// at the acker. Its children are never told of but with that ack, however long
// it takes. If so many such inputs wait that some must be forgotten, forgot is
// set and an ack that may be of one of them is turned into a failure.
type offspring struct {
	input  track.Anchor // zero Root if there is none at hand
	sum    uint64
	rest   map[track.Anchor]brood // the other inputs that have children
	gen    uint32
	forgot bool
	most   int // 0 is mostWaiting
}

// mostWaiting is how many inputs with children may wait, about 64 MB. It takes
// a bolt that emits for its inputs and never settles them.
const mostWaiting = 1 << 20

type brood struct {
	sum uint64
	gen uint32 // rotation in which the last child was added
}

// add notes a child's edge.
func (o *offspring) add(input track.Anchor, edge uint64) {
	if input != o.input {
		o.fetch(input)
	}
	o.sum ^= edge
}

// fetch makes input the one at hand.
func (o *offspring) fetch(input track.Anchor) {
	if o.input.Root != 0 {
		if o.rest == nil {
			o.rest = map[track.Anchor]brood{}
		}
		if most := cmp.Or(o.most, mostWaiting); len(o.rest) >= most {
			o.forget(most / 16)
		}
		o.rest[o.input] = brood{o.sum, o.gen}
	}
	o.input, o.sum = input, 0
	if b, ok := o.rest[input]; ok {
		o.sum = b.sum
		delete(o.rest, input)
	}
}

// forget drops the children of n inputs, whichever.
func (o *offspring) forget(n int) {
	o.forgot = true
	for input := range o.rest {
		if delete(o.rest, input); n <= 1 {
			return
		}
		n--
	}
}

// take returns the XOR of the edges of input's children, 0 if there are none,
// and drops them. sure is false if there may have been some that are forgotten.
func (o *offspring) take(input track.Anchor) (sum uint64, sure bool) {
	if input == o.input {
		sum, o.input, o.sum = o.sum, track.Anchor{}, 0
		return sum, true
	}
	if len(o.rest) == 0 && !o.forgot {
		return 0, true
	}
	b, ok := o.rest[input]
	delete(o.rest, input)
	return b.sum, ok || !o.forgot
}

// rotate lets one message time-out pass and hands the edges that have been
// kept for long to send, so that inputs that are never settled do not pile up.
// That is right at any time but for losses; by now a loss does no harm either,
// since it takes the tree's entry at the acker with it, or the spout has given
// the tree up. For first tuples that does not hold; they stay.
func (o *offspring) rotate(send func(root track.Root, sum uint64)) {
	o.gen++
	for input, b := range o.rest {
		if input.Root&track.First == 0 && o.gen-b.gen >= offspringRotations {
			delete(o.rest, input)
			send(input.Root, b.sum)
		}
	}
}
