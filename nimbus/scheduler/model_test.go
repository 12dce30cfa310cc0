package scheduler

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/cluster"
)

// plainNext is the dumb twin of pool.next: Storm's rule word for word. Free
// slots by supervisor, the longest list first; then the first of each, the
// second of each, and so on.
func plainNext(sups []*sup, n int) []ref {
	var lists [][]ref
	for _, s := range sups {
		var list []ref
		for port := range s.ports {
			if s.isFree(port) {
				list = append(list, ref{int32(s.index), int32(port)})
			}
		}
		lists = append(lists, list)
	}
	slices.SortStableFunc(lists, func(x, y []ref) int { return cmp.Compare(len(y), len(x)) })
	var out []ref
	for turn := 0; ; turn++ {
		before := len(out)
		for _, list := range lists {
			if turn < len(list) {
				out = append(out, list[turn])
			}
		}
		if len(out) == before {
			return out[:min(max(n, 0), len(out))]
		}
	}
}

// plainRoomiest is the dumb twin of tree.roomiest, up to the choice among
// equals: the best share there is, or -1.
func plainRoomiest(sups []*sup, rack string, need cluster.Resources, soft bool) float64 {
	best := -1.0
	for _, s := range sups {
		if s.Rack == rack && s.free > 0 && fits(s, need, soft) {
			best = max(best, roomOn(s).share)
		}
	}
	return best
}

func TestPoolAndTreeLikeTheirTwins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		s.Topologies = []Topology{tp("a", 1, 40)}
		b := newBoard(s)
		p := newPool(b, b.sups)
		b.shared = p
		tr := p.packable()
		top := b.topos[0]
		for i := range top.execs {
			top.execs[i].Need = cluster.Resources{MemoryMB: float64(i % 5 * 50), CPU: float64(i % 3 * 50)}
		}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			n := rapid.IntRange(-1, 20).Draw(t, "n")
			got, want := p.next(n), plainNext(b.sups, n)
			if !slices.Equal(got, want) {
				t.Fatalf("next %d slots are %v, want %v", n, got, want)
			}
			need := cluster.Resources{MemoryMB: float64(rapid.IntRange(0, 8).Draw(t, "mb") * 100), CPU: float64(rapid.IntRange(0, 4).Draw(t, "cpu") * 50)}
			soft := rapid.Bool().Draw(t, "soft")
			for _, r := range tr.racks {
				share := -1.0
				if s := tr.roomiest(r, need, soft); s != nil {
					share = roomOn(s).share
				}
				if want := plainRoomiest(b.sups, r.name, need, soft); share != want {
					t.Fatalf("most room for %v in %s is %v, want %v", need, r.name, share, want)
				}
			}
			workers := top.workers()
			if todo := top.unplaced(); len(got) > 0 && len(todo) > 0 && (len(workers) == 0 || rapid.Bool().Draw(t, "put")) {
				b.put(top, todo[0], got[len(got)-1])
			} else if len(workers) > 0 {
				b.vacate(top, workers[rapid.IntRange(0, len(workers)-1).Draw(t, "worker")], "")
			}
		}
	})
}
