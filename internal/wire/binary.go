package wire

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/stormring/stormring/thrift"
)

// marshal is x in the binary protocol, the same bytes for the same x: the
// entries of maps, which Go hands out in any order, are sorted.
func marshal(x apache.TStruct) ([]byte, error) {
	data, err := thrift.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	w := walker{data: data, sort: true}
	if _, err := w.value(apache.STRUCT, 0, 0); err != nil {
		return nil, fmt.Errorf("wire: what was written of %T is damaged: %w", x, err)
	}
	return data, nil
}

// unmarshal reads x from data, all of it. It looks over data first, so that x
// is only read from what is sound. wide is the path of a field for [thrift.Widen].
func unmarshal(data []byte, x apache.TStruct, wide ...int16) error {
	if len(data) == 0 {
		return errors.New("wire: there is nothing to read")
	}
	w := walker{data: data}
	end, err := w.value(apache.STRUCT, 0, 0)
	if err != nil {
		return fmt.Errorf("wire: %T: %w", x, err)
	}
	if end < len(data) {
		return fmt.Errorf("wire: %T: it ends at byte %d of %d", x, end, len(data))
	}
	if err := thrift.Unmarshal(data, x, wide...); err != nil {
		return fmt.Errorf("wire: %w", err)
	}
	return nil
}

// maxDepth is how deep values may be within values. Storm's own are less than
// ten deep.
const maxDepth = 64

// walker goes over one value in the binary protocol without knowing what it
// means, and sorts the entries of maps if it is told to.
type walker struct {
	data  []byte
	sort  bool
	spare []byte // for putting entries in order
}

// value returns where the value of type t that begins at start ends.
func (w *walker) value(t apache.TType, start, depth int) (int, error) {
	if depth > maxDepth {
		return 0, fmt.Errorf("at byte %d: values are more than %d deep within values", start, maxDepth)
	}
	if size := fixedSize(t); size > 0 {
		return w.skip(start, size)
	}
	switch t {
	case apache.STRING:
		at, err := w.skip(start, 4)
		if err != nil {
			return 0, err
		}
		return w.skip(at, int(int32(binary.BigEndian.Uint32(w.data[start:]))))
	case apache.STRUCT:
		return w.fields(start, depth)
	case apache.LIST, apache.SET:
		at, err := w.skip(start, 5)
		if err != nil {
			return 0, err
		}
		return w.elements(apache.TType(w.data[start]), int(int32(binary.BigEndian.Uint32(w.data[start+1:]))), at, depth)
	case apache.MAP:
		at, err := w.skip(start, 6)
		if err != nil {
			return 0, err
		}
		return w.entries(apache.TType(w.data[start]), apache.TType(w.data[start+1]), int(int32(binary.BigEndian.Uint32(w.data[start+2:]))), at, depth)
	default:
		return 0, fmt.Errorf("at byte %d: %d is no type of Thrift", start, t)
	}
}

func fixedSize(t apache.TType) int {
	switch t {
	case apache.BOOL, apache.BYTE:
		return 1
	case apache.I16:
		return 2
	case apache.I32:
		return 4
	case apache.I64, apache.DOUBLE:
		return 8
	case apache.UUID:
		return 16
	default:
		return 0
	}
}

// skip returns start+n if there is as much.
func (w *walker) skip(start, n int) (int, error) {
	if n < 0 || n > len(w.data)-start {
		return 0, fmt.Errorf("at byte %d: %d bytes are announced, %d are left", start, n, len(w.data)-start)
	}
	return start + n, nil
}

func (w *walker) fields(at, depth int) (int, error) {
	for {
		head, err := w.skip(at, 1)
		if err != nil {
			return 0, err
		}
		t := apache.TType(w.data[at])
		if t == apache.STOP {
			return head, nil
		}
		if at, err = w.skip(head, 2); err != nil {
			return 0, err
		}
		if at, err = w.value(t, at, depth+1); err != nil {
			return 0, err
		}
	}
}

func (w *walker) elements(t apache.TType, n, at, depth int) (int, error) {
	if n < 0 || n > len(w.data)-at { // each has at least a byte
		return 0, fmt.Errorf("at byte %d: %d elements are announced, %d bytes are left", at, n, len(w.data)-at)
	}
	if size := fixedSize(t); size > 0 {
		return w.skip(at, n*size)
	}
	for range n {
		var err error
		if at, err = w.value(t, at, depth+1); err != nil {
			return 0, err
		}
	}
	return at, nil
}

// entry is where an entry of a map is, and where in it the value begins.
type entry struct{ start, value, end int }

func (w *walker) entries(key, value apache.TType, n, at, depth int) (int, error) {
	if n < 0 || n > (len(w.data)-at)/2 {
		return 0, fmt.Errorf("at byte %d: %d entries are announced, %d bytes are left", at, n, len(w.data)-at)
	}
	var all []entry
	if w.sort {
		all = make([]entry, 0, n)
	}
	for range n {
		middle, err := w.value(key, at, depth+1)
		if err != nil {
			return 0, err
		}
		end, err := w.value(value, middle, depth+1)
		if err != nil {
			return 0, err
		}
		if w.sort {
			all = append(all, entry{at, middle, end})
		}
		at = end
	}
	w.arrange(key, all)
	return at, nil
}

// arrange puts entries, which are next to each other, in the order of their
// keys: strings as such, all else by its bytes.
func (w *walker) arrange(key apache.TType, all []entry) {
	prefix := 0
	if key == apache.STRING {
		prefix = 4 // the length
	}
	order := func(a, b entry) int {
		return cmp.Or(
			bytes.Compare(w.data[a.start+prefix:a.value], w.data[b.start+prefix:b.value]),
			bytes.Compare(w.data[a.value:a.end], w.data[b.value:b.end]),
		)
	}
	if slices.IsSortedFunc(all, order) {
		return
	}
	first := all[0].start
	w.spare = append(w.spare[:0], w.data[first:all[len(all)-1].end]...)
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, order)
	out := w.data[first:first]
	for _, e := range sorted {
		out = append(out, w.spare[e.start-first:e.end-first]...)
	}
}
