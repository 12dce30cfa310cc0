package acker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/track"
)

// fill adds the numbers from first on, each with itself as its value.
func fill(p *Pending[uint64], first uint64, n int) {
	for i := range uint64(n) {
		p.Add(first+i, (first+i)&track.SeqMask)
	}
}

func TestPendingHistory(t *testing.T) {
	tests := []struct {
		name, history, want string
	}{
		{"take", "add:7 take:7", "took 7/0"},
		{"take of nothing", "take:7", "none 7/0"},
		{"take twice", "add:7 take:7 take:7", "took 7 none 7/0"},
		{"take after one rotation", "add:7 rotate take:7", "took 7/0"},
		{"expiry at the second rotation", "add:7 rotate rotate", "lost 7/0"},
		{"late take", "add:7 rotate rotate take:7", "lost 7 none 7/0"},
		{"expiry in order", "add:9 add:3 add:7 rotate rotate", "lost 3 lost 7 lost 9/0"},
		{"only the old expire", "add:7 rotate add:8 rotate", "lost 7/1"},
		{"touch", "add:7 rotate touch:7 rotate take:7", "took 7/0"},
		{"touch gives two rotations", "add:7 rotate touch:7 rotate rotate", "lost 7/0"},
		{"touch of nothing", "touch:7 take:7", "none 7/0"},
		{"touch after expiry", "add:7 rotate rotate touch:7", "lost 7/0"},
		{"add again is new", "add:7 rotate add:7 rotate take:7", "took 7/0"},
		{"same slot", "add:1 add:65 add:129 take:1 take:129 take:65", "took 1 took 129 took 65/0"},
		{"same slot, expiry", "add:1 add:65 rotate add:129 touch:1 rotate", "lost 65/2"},
		{"drain", "add:9 add:3 rotate add:7 drain", "left 3 left 7 left 9/0"},
		{"drain to a number", "add:9 add:3 rotate add:7 add:8 drainto:7", "left 3 left 7/2"},
		{"drain to a number that is not there", "add:9 add:3 drainto:5", "left 3/1"},
		{"drain to what comes before all", "add:9 add:3 drainto:2", "/2"},
		{"drain of nothing", "drain", "/0"},
		{"drain of the overflow", "add:129 add:1 add:65 drain", "left 1 left 65 left 129/0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// The history must not depend on where numbers start or wrap.
			for _, first := range []uint64{0, 1 << 40, track.SeqMask - 7, 1<<63 + 5} {
				if got := replayPending(t, first, tt.history); got != tt.want {
					t.Errorf("from %d: %q gave %q, want %q", first, tt.history, got, tt.want)
				}
			}
		})
	}
}

func replayPending(t *testing.T, first uint64, history string) string {
	t.Helper()
	p := NewPending[uint64]()
	var out []string
	tell := func(what string) func(seq, v uint64) {
		return func(seq, v uint64) {
			if seq != (first+v)&track.SeqMask {
				t.Fatalf("value %d came under %d", v, seq)
			}
			out = append(out, fmt.Sprint(what, " ", v))
		}
	}
	for step := range strings.FieldsSeq(history) {
		verb, arg, _ := strings.Cut(step, ":")
		var n uint64
		if arg != "" {
			scan(t, arg, &n)
		}
		switch verb {
		case "add":
			p.Add(first+n, n)
		case "take":
			if v, ok := p.Take(first + n); ok {
				out = append(out, fmt.Sprint("took ", v))
			} else {
				out = append(out, fmt.Sprint("none ", n))
			}
		case "touch":
			p.Touch(first + n)
		case "rotate":
			p.Rotate(tell("lost"))
		case "drain":
			p.Drain(tell("left"))
		case "drainto":
			p.DrainTo(first+n, tell("left"))
		default:
			t.Fatalf("history %q has an unknown step %q", history, step)
		}
	}
	return fmt.Sprintf("%s/%d", strings.Join(out, " "), p.Len())
}

func TestPendingAddReplaces(t *testing.T) {
	p := NewPending[string]()
	p.Add(3, "old")
	p.Add(3, "new")
	if v, ok := p.Take(3); v != "new" || !ok || p.Len() != 0 {
		t.Errorf("Take = %q, %v with %d left", v, ok, p.Len())
	}
}

func TestPendingExpiresInOrder(t *testing.T) {
	for _, first := range []uint64{5, track.SeqMask - 10_000} {
		p := NewPending[uint64]()
		p.ring.limit = 1 << 10 // most are in the overflow
		fill(p, first, 30_000)
		want := first
		check := func(seq, v uint64) {
			if seq != want&track.SeqMask || v != seq {
				t.Fatalf("expired %d with %d, want %d", seq, v, want&track.SeqMask)
			}
			want++
		}
		p.Rotate(check)
		p.Rotate(check)
		if want != first+30_000 || p.Len() != 0 {
			t.Fatalf("%d expired, %d left", want-first, p.Len())
		}
	}
}

// A spout's fail may emit again at once, and its ack and fail may be anything.
func TestPendingCallbackMayUseTable(t *testing.T) {
	p := NewPending[uint64]()
	fill(p, 0, 100)
	p.Rotate(func(uint64, uint64) { t.Fatal("expired too soon") })
	next := uint64(100)
	var expired []uint64
	p.Rotate(func(seq, v uint64) {
		expired = append(expired, seq)
		p.Add(next, next) // makes the ring grow on the way
		next++
		switch seq {
		case 0:
			p.Take(1)
		case 2:
			p.Touch(3)
		case 4:
			p.Add(5, 5)
		case 6:
			p.Rotate(func(seq, _ uint64) { expired = append(expired, seq) })
		}
	})
	// The inner rotation, at 6, takes over all that is old.
	want := []uint64{0, 2, 4, 6}
	for i := uint64(7); i < 100; i++ {
		want = append(want, i)
	}
	if !slices.Equal(expired, want) {
		t.Errorf("expired %v, want %v", expired, want)
	}
	// 3, 5 and what the outer callback added for 0, 2, 4 and 6.
	var left []uint64
	p.Drain(func(seq, _ uint64) { left = append(left, seq) })
	slices.Sort(left)
	if want := []uint64{3, 5, 100, 101, 102, 103}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}

// A rotation inside Drain has a list of its own.
func TestPendingRotateInsideDrain(t *testing.T) {
	p := NewPending[uint64]()
	fill(p, 100, 50)
	p.Drain(func(uint64, uint64) {}) // leaves a list to use again
	fill(p, 0, 20)
	p.Rotate(func(uint64, uint64) { t.Fatal("expired too soon") })
	for seq := range uint64(10) {
		p.Touch(seq)
	}
	var drained, expired []uint64
	p.Drain(func(seq, _ uint64) {
		drained = append(drained, seq)
		if seq == 0 {
			p.Rotate(func(seq, _ uint64) { expired = append(expired, seq) })
		}
	})
	if want := []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(drained, want) {
		t.Errorf("drained %v, want %v", drained, want)
	}
	if want := []uint64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}; !slices.Equal(expired, want) {
		t.Errorf("expired %v, want %v", expired, want)
	}
}

// What is removed must not be kept alive by the table.
func TestPendingReleasesValues(t *testing.T) {
	const n = 300
	none := func(uint64, *int) {}
	removals := map[string]func(*Pending[*int]){
		"take": func(p *Pending[*int]) {
			for i := range uint64(n) {
				p.Take(i)
			}
		},
		"rotate":  func(p *Pending[*int]) { p.Rotate(none); p.Rotate(none) },
		"drain":   func(p *Pending[*int]) { p.Drain(none) },
		"reverse": func(p *Pending[*int]) { p.Drain(func(seq uint64, _ *int) { p.Take(n - 1 - seq) }) },
	}
	for name, remove := range removals {
		t.Run(name, func(t *testing.T) {
			p := NewPending[*int]()
			p.ring.limit = 128 // some go through the overflow
			for i := range uint64(n) {
				p.Add(i, new(int))
			}
			remove(p)
			for i, s := range p.ring.slots {
				if s.val != nil {
					t.Errorf("slot %d holds a value", i)
				}
			}
			if len(p.ring.over) != 0 {
				t.Errorf("%d values in the overflow", len(p.ring.over))
			}
		})
	}
}

func TestPendingSteadyStateDoesNotAllocate(t *testing.T) {
	p := NewPending[uint64]()
	seq := uint64(1)<<48 - 5000
	fill(p, seq-1000, 1000)
	none := func(uint64, uint64) {}
	step := func() {
		for range 1000 {
			p.Add(seq, seq)
			p.Touch(seq - 10)
			p.Take(seq - 1000)
			seq++
		}
		p.Rotate(none)
		p.Rotate(none)
		fill(p, seq-1000, 1000)
	}
	for range 10 {
		step()
	}
	if n := testing.AllocsPerRun(20, step); n != 0 {
		t.Errorf("%v allocations per 1000 trees, want none", n)
	}
}

// A list that one bad minute made long is not kept.
func TestPendingForgetsLongScratch(t *testing.T) {
	p := NewPending[uint64]()
	fill(p, 0, 2*maxScratch)
	p.Drain(func(uint64, uint64) {})
	if p.scratch != nil {
		t.Errorf("scratch of %d numbers kept", cap(p.scratch))
	}
}
