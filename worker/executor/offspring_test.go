package executor

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/track"
)

// TestOffspringAgainstModel adds, takes and rotates in any order. Whatever
// comes out, by take or by rotation, must be what went in for that input, once.
func TestOffspringAgainstModel(t *testing.T) {
	type kept struct {
		sum uint64
		age int // rotations since it was put away, for inputs not at hand
	}
	rapid.Check(t, func(t *rapid.T) {
		var o offspring
		model := map[track.Anchor]*kept{}
		var hand track.Anchor
		input := rapid.Custom(func(t *rapid.T) track.Anchor {
			return track.Anchor{Root: track.Root(rapid.IntRange(1, 2).Draw(t, "root")), Edge: uint64(rapid.IntRange(1, 3).Draw(t, "edge"))}
		})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				a, edge := input.Draw(t, "input"), rapid.Uint64().Draw(t, "child")
				if a != hand && model[hand] != nil {
					model[hand].age = 0
				}
				o.add(a, edge)
				if model[a] == nil {
					model[a] = &kept{}
				}
				model[a].sum ^= edge
				hand = a
			},
			"take": func(t *rapid.T) {
				a := input.Draw(t, "input")
				var want uint64
				if k := model[a]; k != nil {
					want = k.sum
				}
				if got, sure := o.take(a); got != want || !sure {
					t.Fatalf("take(%v) is %#x, %t, want %#x", a, got, sure, want)
				}
				delete(model, a)
				if a == hand {
					hand = track.Anchor{}
				}
			},
			"rotate": func(t *rapid.T) {
				sent := map[track.Root]uint64{}
				o.rotate(func(root track.Root, sum uint64) { sent[root] ^= sum })
				want := map[track.Root]uint64{}
				for a, k := range model {
					if a == hand {
						continue // is at hand, for as long as it stays there
					}
					if k.age++; k.age >= offspringRotations {
						want[a.Root] ^= k.sum
						delete(model, a)
					}
				}
				for root := track.Root(1); root <= 2; root++ {
					if sent[root] != want[root] {
						t.Fatalf("rotation sent %#x for root %d, want %#x", sent[root], root, want[root])
					}
				}
			},
		})
	})
}

func TestOffspringOfOneInputDoesNotAllocate(t *testing.T) {
	var o offspring
	edge := uint64(1)
	if got := testing.AllocsPerRun(1000, func() {
		a := track.Anchor{Root: 1, Edge: edge}
		o.add(a, edge<<1)
		o.add(a, edge<<2)
		if sum, _ := o.take(a); sum == 0 {
			t.Error("nothing taken")
		}
		edge = edge*3 + 1
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// Children of a first tuple are not told of before its ack, and where some may
// have been forgotten that is said.
func TestOffspringOfFirstTuples(t *testing.T) {
	const most = 64
	o := offspring{most: most}
	first := func(n int) track.Anchor { return track.Anchor{Root: track.Root(n) | track.First} }
	for n := range most + 2 {
		o.add(first(n+1), uint64(n)|1)
	}
	for range 2 * offspringRotations {
		o.rotate(func(root track.Root, _ uint64) { t.Errorf("rotation sends %x", root) })
	}
	if len(o.rest) > most || !o.forgot {
		t.Fatalf("%d inputs are kept, forgot is %t", len(o.rest), o.forgot)
	}
	known, unsure := 0, 0
	for n := range most + 2 {
		switch sum, sure := o.take(first(n + 1)); {
		case !sure && sum == 0:
			unsure++
		case sum == uint64(n)|1:
			known++
		default:
			t.Fatalf("input %d has children %x", n, sum)
		}
	}
	if known+unsure != most+2 || unsure != most/16 {
		t.Errorf("%d inputs are known and %d are not", known, unsure)
	}
}
