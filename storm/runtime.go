package storm

import "github.com/stormring/stormring/internal/track"

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
// is copied. Set the anchors afterwards: two or more do not outlive the call.
func (t *Tuple) SetValues(vals []Value) {
	if len(vals) > inlineValues {
		t.setWide(vals)
		return
	}
	// What lies behind the new values goes, so that it is not kept alive.
	for i := len(vals); i < int(t.n) && i < inlineValues; i++ {
		t.inline[i] = Value{}
	}
	copy(t.inline[:], vals)
	t.n = int32(len(vals))
	if t.more != nil {
		t.more = nil
	}
}

func (t *Tuple) setWide(vals []Value) {
	clear(t.inline[:])
	t.more = &overflow{values: append([]Value(nil), vals...)}
	t.n = int32(len(vals))
}

// SetAnchors replaces the anchors of a tuple that has not left its emitter.
// anchors is copied.
func (t *Tuple) SetAnchors(anchors []track.Anchor) {
	if len(anchors) > 1 {
		more := &overflow{anchors: append([]track.Anchor(nil), anchors...)}
		if t.more != nil {
			more.values = t.more.values
		}
		t.more = more
		t.first = anchors[0]
		return
	}
	if t.more != nil && t.more.anchors != nil {
		t.more = &overflow{values: t.more.values}
	}
	t.first = track.Anchor{}
	if len(anchors) == 1 {
		t.first = anchors[0]
	}
}

// SetAnchor makes a the only anchor of a tuple that has no more than one.
func (t *Tuple) SetAnchor(a track.Anchor) { t.first = a }

// Anchor is the first anchor; its Root is 0 if t is untracked.
func (t *Tuple) Anchor() track.Anchor { return t.first }

// Anchors are all anchors when there are two or more, else nil.
func (t *Tuple) Anchors() []track.Anchor {
	if t.more == nil {
		return nil
	}
	return t.more.anchors
}

// Origin says who emitted t.
func (t *Tuple) Origin() *track.Origin { return t.origin }

// SetOrigin says who emits t.
func (t *Tuple) SetOrigin(o *track.Origin) { t.origin = o }

// Dst is the task that is to execute t.
func (t *Tuple) Dst() TaskID { return TaskID(t.dst) }

// SetDst names the task that is to execute t.
func (t *Tuple) SetDst(task TaskID) { t.dst = int32(task) }

func (t *Tuple) clearAnchors() {
	t.first = track.Anchor{}
	if t.more != nil && t.more.anchors != nil {
		t.SetAnchors(nil)
	}
}
