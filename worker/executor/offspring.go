package executor

import "github.com/stormring/stormring/internal/track"

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
type offspring struct {
	input track.Anchor // zero Root if there is none at hand
	sum   uint64
	rest  map[track.Anchor]brood // the other inputs that have children
	gen   uint32
}

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
		o.rest[o.input] = brood{o.sum, o.gen}
	}
	o.input, o.sum = input, 0
	if b, ok := o.rest[input]; ok {
		o.sum = b.sum
		delete(o.rest, input)
	}
}

// take returns the XOR of the edges of input's children, 0 if there are none,
// and forgets them.
func (o *offspring) take(input track.Anchor) (sum uint64) {
	if input == o.input {
		sum, o.input, o.sum = o.sum, track.Anchor{}, 0
		return sum
	}
	if len(o.rest) == 0 {
		return 0
	}
	sum = o.rest[input].sum
	delete(o.rest, input)
	return sum
}

// rotate lets one message time-out pass and hands the edges that have been
// kept for long to send, so that inputs that are never settled do not pile up.
// That is right at any time but for losses; by now a loss does no harm either,
// since it takes the tree's entry at the acker with it, or the spout has given
// the tree up.
func (o *offspring) rotate(send func(root track.Root, sum uint64)) {
	o.gen++
	for input, b := range o.rest {
		if o.gen-b.gen >= offspringRotations {
			delete(o.rest, input)
			send(input.Root&^track.First, b.sum)
		}
	}
}
