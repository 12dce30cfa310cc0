package transport

import (
	"slices"
	"testing"
)

// TestUrgentFramesGoFirst: before other bulk, in their own order.
func TestUrgentFramesGoFirst(t *testing.T) {
	c := &conn{wake: make(chan struct{}, 1)}
	for id, urgent := range []bool{false, false, true, false, true} {
		f := lent(header{kind: kindData, id: uint64(id)}, nil)
		f.urgent = urgent
		if err := c.post(f); err != nil {
			t.Fatal(err)
		}
	}
	var order []uint64
	for _, f := range c.out.bulk {
		h, err := parseHeader(f.head[:], limits{message: mib, chunk: mib})
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, h.id)
	}
	if want := []uint64{2, 4, 0, 1, 3}; !slices.Equal(order, want) {
		t.Errorf("they go as %v, want %v", order, want)
	}
}
