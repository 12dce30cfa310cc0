package transport

import (
	"fmt"
	"math"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// decoder reads records. Nothing that it returns shares memory with the frame.
type decoder struct {
	origins Origins
	codecs  Codecs
	words   intern

	vals    []storm.Value // for a tuple that is wide
	anchors []track.Anchor

	// refused says why the codec could not decode a value of the tuple at hand.
	refused error
	// onRefused is told of each tuple that is left out because of that.
	onRefused func(error)
}

// maxKeptValues bounds the memory kept for wide tuples.
const maxKeptValues = 1024

// tuplesHead reads the head of a tuples record and returns how many follow.
func (r *reader) tuplesHead() (ExecutorID, int) {
	ex := ExecutorID(r.task())
	n := r.uint32()
	if n == 0 {
		r.fail("a record without tuples")
	}
	return ex, r.claim(uint64(n), 1)
}

// tuples fills ts, which must be zero, with the tuples of a record for ex and
// returns how many it filled. A tuple with a value that the codec refuses is
// left out: sent again, it would be refused again, and all others with it.
func (d *decoder) tuples(r *reader, ex ExecutorID, ts []storm.Tuple) (n int) {
	var (
		source *track.Origin
		dst    = int32(ex)
		root   track.Root
		few    [4]storm.Value
	)
	for range ts {
		t := &ts[n]
		flags := r.byte()
		if flags&sameSource == 0 {
			source = d.origin(r)
		}
		if flags&sameDestination == 0 {
			dst += int32(r.varint())
		}
		values := int(flags >> valuesShift)
		if values == valuesMany {
			values += r.count(1)
		}
		switch flags & anchorsMask {
		case 0:
		case 1:
			root = r.root(root)
			t.SetAnchor(track.Anchor{Root: root, Edge: r.uint64()})
		case anchorsMany:
			root = d.manyAnchors(r, root)
		default:
			r.fail("unknown flags %x of a tuple", flags)
		}
		if source == nil {
			r.fail("the first tuple of a record has no source")
		}
		if r.err != nil {
			return n
		}
		t.SetOrigin(source)
		t.SetDst(storm.TaskID(dst))
		if values > len(few) {
			d.wide(r, t, values)
		} else {
			for j := range values {
				few[j] = d.value(r, 0)
			}
			t.SetValues(few[:values])
		}
		if flags&anchorsMask == anchorsMany {
			t.SetAnchors(d.anchors)
		}
		n++
		if d.refused != nil {
			n--
			d.refuse(t)
		}
	}
	return n
}

func (d *decoder) refuse(t *storm.Tuple) {
	d.onRefused(fmt.Errorf("dropped a tuple of component %q, stream %q: %w", t.SourceComponent(), t.SourceStream(), d.refused))
	d.refused = nil
	*t = storm.Tuple{}
}

func (d *decoder) origin(r *reader) *track.Origin {
	task, stream := int32(uint32(r.uvarint())), uint16(r.uvarint())
	if r.err != nil {
		return nil
	}
	o := d.origins.Origin(task, stream)
	if o == nil {
		r.fail("task %d has no stream number %d in this worker's topology", task, stream)
	}
	return o
}

func (d *decoder) manyAnchors(r *reader, root track.Root) track.Root {
	d.anchors = d.anchors[:0]
	for range r.count(9) {
		root = r.root(root)
		d.anchors = append(d.anchors, track.Anchor{Root: root, Edge: r.uint64()})
	}
	return root
}

// root reads an anchor's root, which comes after last.
func (r *reader) root(last track.Root) track.Root {
	root := last + track.Root(r.varint())
	if root == 0 {
		r.fail("an anchor without a root")
	}
	return root
}

func (d *decoder) wide(r *reader, t *storm.Tuple, n int) {
	if n > r.remaining() {
		r.missing()
		return
	}
	vals := d.vals[:0]
	for range n {
		vals = append(vals, d.value(r, 0))
	}
	t.SetValues(vals)
	clear(vals)
	if cap(vals) <= maxKeptValues {
		d.vals = vals
	}
}

func (d *decoder) value(r *reader, depth int) storm.Value {
	tag := r.byte()
	switch {
	case tag >= tagShortString:
		return storm.String(d.words.string(r.take(int(tag &^ tagShortString))))
	case tag >= tagSmallInt:
		return storm.Int(int64(tag &^ tagSmallInt))
	}
	switch tag {
	case tagNil:
		return storm.Nil()
	case tagFalse:
		return storm.Bool(false)
	case tagTrue:
		return storm.Bool(true)
	case tagInt32:
		return storm.Int32(int32(r.varint()))
	case tagInt:
		return storm.Int(r.varint())
	case tagFloat:
		return storm.Float(math.Float64frombits(r.uint64()))
	case tagString:
		return storm.String(string(r.block()))
	case tagBytes:
		b := r.block()
		return storm.Bytes(append(make([]byte, 0, len(b)), b...))
	case tagList, tagMap:
		if depth >= maxDepth {
			r.fail("lists and maps are nested more than %d deep", maxDepth)
			return storm.Nil()
		}
		return d.nested(r, tag, depth+1)
	default:
		return d.foreign(r, tag)
	}
}

func (d *decoder) nested(r *reader, tag byte, depth int) storm.Value {
	if tag == tagList {
		vs := make([]storm.Value, r.count(1))
		for i := range vs {
			if vs[i] = d.value(r, depth); r.err != nil {
				return storm.Nil()
			}
		}
		return storm.List(vs...)
	}
	n := r.count(2)
	m := make(map[string]storm.Value, n)
	for range n {
		k := d.words.string(r.block())
		if m[k] = d.value(r, depth); r.err != nil {
			return storm.Nil()
		}
	}
	return storm.Map(m)
}

// acker appends the messages of a record to b.
func (r *reader) acker(b *AckerBatch, msgs, fails, resets int) {
	var last uint64
	for range msgs {
		last += uint64(r.varint())
		b.Msgs = append(b.Msgs, acker.Message{Root: track.Root(last>>1 | last<<63), Val: r.uint64()})
	}
	b.Fails = r.roots(b.Fails, fails)
	b.Resets = r.roots(b.Resets, resets)
}

func (r *reader) roots(dst []track.Root, n int) []track.Root {
	var last track.Root
	for range n {
		last += track.Root(r.varint())
		dst = append(dst, last)
	}
	return dst
}

// ackerHead reads the head of an acker record.
func (r *reader) ackerHead() (task int32, msgs, fails, resets int) {
	task = r.task()
	msgs, fails, resets = r.count(9), r.count(1), r.count(1)
	if msgs+fails+resets == 0 {
		r.fail("a record without messages")
	}
	return task, msgs, fails, resets
}

// outcomes reads an outcomes record and appends it to dst.
func (r *reader) outcomes(dst []acker.Outcome) (task int32, out []acker.Outcome) {
	task = r.task()
	var last track.Root
	for range r.count(2) {
		last += track.Root(r.varint())
		dst = append(dst, acker.Outcome{Root: last, Kind: acker.OutcomeKind(r.byte())})
	}
	return task, dst
}
