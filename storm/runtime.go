package storm

import (
	"unsafe"

	"github.com/stormring/stormring/internal/track"
)

// This file is the door through which the runtime fills and reads tuples. The
// parameter types are internal to the module, so nothing here is of use to a
// topology author.

// NewTuple makes a tuple as the runtime delivers it. It keeps vals and anchors
// if they do not fit into the struct.
func NewTuple(origin *track.Origin, dst TaskID, anchors []track.Anchor, vals ...Value) Tuple {
	t := Tuple{origin: origin, dst: int32(dst)}
	t.SetValues(vals)
	t.SetAnchors(anchors)
	return t
}

// SetValues replaces the values of a tuple that has not left its emitter. vals
// is copied.
func (t *Tuple) SetValues(vals []Value) {
	n := len(vals)
	if n > inlineValues || t.n < 0 {
		t.setRare(vals)
		return
	}
	// Value by value: copy would call the runtime for each tuple.
	switch n {
	case 4:
		t.inline[3] = vals[3]
		fallthrough
	case 3:
		t.inline[2] = vals[2]
		fallthrough
	case 2:
		t.inline[1] = vals[1]
		fallthrough
	case 1:
		t.inline[0] = vals[0]
	}
	// What lies behind the new values goes, so that it is not kept alive.
	if int(t.n) > n {
		clear(t.inline[n:])
	}
	t.n = int32(n)
}

// SetAny is SetValues with each of xs taken by Any.
func (t *Tuple) SetAny(xs []any) {
	if len(xs) > inlineValues || t.n < 0 {
		t.setRare(Values(xs...))
		return
	}
	for i, x := range xs {
		t.inline[i&(inlineValues-1)] = Any(x)
	}
	if int(t.n) > len(xs) {
		clear(t.inline[len(xs):])
	}
	t.n = int32(len(xs))
}

// setRare is SetValues where there is an overflow before or after.
func (t *Tuple) setRare(vals []Value) {
	var anchors []track.Anchor
	if r := t.rare(); r != nil {
		anchors = r.anchors
	}
	t.store(vals, anchors)
}

// store puts the values, and two or more anchors, where they belong.
func (t *Tuple) store(vals []Value, anchors []track.Anchor) {
	if len(vals) > inlineValues || anchors != nil {
		r := &overflow{anchors: anchors, values: append([]Value(nil), vals...)}
		t.inline = [inlineValues]Value{{p: unsafe.Pointer(r)}}
		t.n = ^int32(len(vals))
		return
	}
	t.inline = [inlineValues]Value{}
	copy(t.inline[:], vals)
	t.n = int32(len(vals))
}

// SetAnchors replaces the anchors of a tuple that has not left its emitter.
// anchors is copied.
func (t *Tuple) SetAnchors(anchors []track.Anchor) {
	t.first = track.Anchor{}
	if len(anchors) > 0 {
		t.first = anchors[0]
	}
	var all []track.Anchor
	if len(anchors) > 1 {
		all = append(all, anchors...)
	}
	if all != nil || t.Anchors() != nil {
		t.store(t.Values(), all)
	}
}

// SetAnchor makes a the only anchor of a tuple that has no more than one.
func (t *Tuple) SetAnchor(a track.Anchor) { t.first = a }

// Anchor is the first anchor; its Root is 0 if t is untracked.
func (t *Tuple) Anchor() track.Anchor { return t.first }

// Anchors are all anchors when there are two or more, else nil.
func (t *Tuple) Anchors() []track.Anchor {
	if t.n >= 0 {
		return nil
	}
	return (*overflow)(t.inline[0].p).anchors
}

// Origin says who emitted t.
func (t *Tuple) Origin() *track.Origin { return t.origin }

// SetOrigin says who emits t.
func (t *Tuple) SetOrigin(o *track.Origin) { t.origin = o }

// Dst is the task that is to execute t.
func (t *Tuple) Dst() TaskID { return TaskID(t.dst) }

// SetDst names the task that is to execute t.
func (t *Tuple) SetDst(task TaskID) { t.dst = int32(task) }

// CopyTo makes dst, which must be the zero Tuple, equal to t. It is faster
// than an assignment for a tuple that was filled a moment ago: the processor
// passes single words on from store to load, but a wide load that covers
// several stores has to wait for them to reach the cache.
func (t *Tuple) CopyTo(dst *Tuple) {
	dst.origin = t.origin
	dst.first.Root = t.first.Root
	dst.first.Edge = t.first.Edge
	dst.dst = t.dst
	dst.n = t.n
	n := int(t.n)
	if n < 0 {
		n = 1 // the overflow
	}
	for i := range min(n, inlineValues) {
		dst.inline[i&(inlineValues-1)] = t.inline[i&(inlineValues-1)]
	}
}

// Unwrap is what the author of a component wrote: of a basic bolt that, not what
// runs it.
func Unwrap(component any) any {
	if r, ok := component.(*basicRunner); ok {
		return r.BasicBolt
	}
	return component
}
