package ring

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPositionOf(t *testing.T) {
	// printf 'a\0\0\0\0' | sha256sum, and so on: must never change.
	for _, c := range []struct {
		id    string
		index int
		want  uint64
	}{
		{"a", 0, 0x8de8cd75798aab2c},
		{"a", 1, 0xe12dbc28182b5f0f},
		{"supervisor-7", 300, 0x6937fdd5d3d6250f},
	} {
		if got := PositionOf(c.id, c.index); got != c.want {
			t.Errorf("position %d of %q is %#x, not %#x", c.index, c.id, got, c.want)
		}
	}
}

func node(id string, positions int) Node { return Node{ID: id, Addr: id + ":1", Positions: positions} }

func TestViewNeighbours(t *testing.T) {
	v := NewView([]Node{node("c", 2), node("a", 2), node("b", 1), node("a", 9)})
	if v.Len() != 3 || len(v.Points()) != 5 {
		t.Fatalf("%d nodes, %d points", v.Len(), len(v.Points()))
	}
	points := v.Points()
	if !slices.IsSortedFunc(points, comparePoints) {
		t.Fatalf("out of order: %v", points)
	}
	for i, p := range points {
		for _, key := range []uint64{p.At, points[(i+4)%5].At + 1} {
			if got, ok := v.Successor(key); !ok || got != p {
				t.Errorf("the successor of %x is %v, not %v", key, got, p)
			}
		}
		for before := range v.Back(p.At) {
			if before != points[(i+4)%5] {
				t.Errorf("before %x is %v", p.At, before)
			}
			break
		}
		if n := len(slices.Collect(v.Walk(p.At))); n != 5 {
			t.Errorf("a walk has %d points", n)
		}
	}
	empty := NewView(nil)
	if _, ok := empty.Successor(7); ok || len(Holders(empty, 7, 3)) != 0 {
		t.Error("somebody is on an empty ring")
	}
}

func TestHolders(t *testing.T) {
	// Nodes in the order in which a walk from key meets them first.
	const key = 1 << 60
	walk := distinct(NewView([]Node{node("a", 1), node("b", 1), node("c", 1), node("d", 1), node("e", 1)}).Walk(key), 5, nil)
	for _, c := range []struct {
		name, hosts, racks string // one letter a node, in that order; - is unknown
		replicas           int
		want               []int
	}{
		{"the next ones", "-----", "-----", 3, []int{0, 1, 2}},
		{"no two on one host", "xxyyz", "-----", 3, []int{0, 2, 4}},
		{"fewer hosts than copies", "xxyyy", "-----", 3, []int{0, 2}},
		{"other racks first", "-----", "rrrss", 2, []int{0, 3}},
		{"then the next hosts", "-----", "rrrss", 3, []int{0, 3, 1}},
		{"an unknown rack is another", "-----", "rr--r", 3, []int{0, 2, 3}},
		{"hosts before racks", "xxyzz", "rrrrs", 4, []int{0, 4, 2}},
		{"all", "-----", "rsrsr", 9, []int{0, 1, 2, 3, 4}},
		{"none", "-----", "-----", 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var nodes []Node
			for i, n := range walk {
				n := *n
				n.Host, n.Rack = letter(c.hosts[i]), letter(c.racks[i])
				nodes = append(nodes, n)
			}
			var got []int
			for _, h := range Holders(NewView(nodes), key, c.replicas) {
				got = append(got, slices.IndexFunc(walk, func(n *Node) bool { return n.ID == h.ID }))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("copies at %v, not %v", got, c.want)
			}
		})
	}
}

func letter(b byte) string {
	if b == '-' {
		return ""
	}
	return string(b)
}

// TestHoldersProperties: whatever the ring, no two copies share a host; there
// are as many as can be; as many racks as can be; the order of the nodes given
// does not matter; and a node that goes away moves only its own copies, if no
// rack is known.
func TestHoldersProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "nodes")
		racks := rapid.IntRange(0, 4).Draw(t, "racks")
		var nodes []Node
		hosts, known := map[string]bool{}, map[string]bool{}
		for i := range n {
			nd := node(fmt.Sprintf("n%d", i), rapid.IntRange(1, 5).Draw(t, "positions"))
			nd.Host = rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(t, "host")
			if racks > 0 {
				// A host is in one rack.
				nd.Rack = fmt.Sprintf("r%d", Key([]byte(nd.failsWith()))%uint64(racks))
				known[nd.Rack] = true
			}
			hosts[nd.failsWith()] = true
			nodes = append(nodes, nd)
		}
		replicas := rapid.IntRange(1, 5).Draw(t, "replicas")
		key := rapid.Uint64().Draw(t, "key")
		v := NewView(nodes)
		got := Holders(v, key, replicas)
		usedHosts, usedRacks := map[string]bool{}, map[string]bool{}
		for _, h := range got {
			usedHosts[h.failsWith()], usedRacks[h.Rack] = true, true
		}
		if want := min(replicas, len(hosts)); len(got) != want || len(usedHosts) != want {
			t.Fatalf("%d copies on %d hosts, of %d hosts: %v", len(got), len(usedHosts), len(hosts), got)
		}
		if want := min(replicas, len(known)); racks > 0 && len(usedRacks) != want {
			t.Fatalf("%d racks used of %d: %v", len(usedRacks), len(known), got)
		}
		first, _ := v.Successor(key)
		if got[0] != *first.Node {
			t.Fatalf("the first holder is %v, the successor %v", got[0], *first.Node)
		}
		slices.Reverse(nodes)
		if again := Holders(NewView(nodes), key, replicas); !slices.Equal(got, again) {
			t.Fatalf("%v, in another order %v", got, again)
		}
		if racks > 0 || n == 1 {
			return
		}
		out := rapid.SampledFrom(nodes).Draw(t, "out")
		rest := Holders(NewView(slices.DeleteFunc(nodes, func(o Node) bool { return o == out })), key, replicas)
		for _, h := range got {
			// Its own host may move to another node of the same host.
			if h.failsWith() != out.failsWith() && !slices.Contains(rest, h) {
				t.Fatalf("without %v the copy on %v moves: %v, then %v", out, h, got, rest)
			}
		}
	})
}

// TestChange: a view that was changed equals a new one.
func TestChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := NewView(nil)
		in := map[string]*Node{}
		for range rapid.IntRange(1, 10).Draw(t, "changes") {
			var gone, come []*Node
			for i := range 8 {
				id := fmt.Sprint(i)
				switch n := in[id]; {
				case !rapid.Bool().Draw(t, "touch"):
				case n == nil:
					nd := node(id, i%3+1)
					nd.Rack = letter("-rs"[i%3])
					in[id] = &nd
					come = append(come, &nd)
				default:
					gone = append(gone, n)
					delete(in, id)
				}
			}
			v = v.change(gone, come)
		}
		var nodes []Node
		for _, n := range in {
			nodes = append(nodes, *n)
		}
		want := NewView(nodes)
		same := slices.EqualFunc(v.points, want.points, func(a, b Point) bool { return a.At == b.At && *a.Node == *b.Node })
		if !same || !slices.Equal(v.Nodes(), want.Nodes()) || v.racks != want.racks || v.norack != want.norack {
			t.Fatalf("%+v, not %+v", v, want)
		}
	})
}

// TestSpread: the fullest of 100 nodes has less than 1.5 times the mean.
func TestSpread(t *testing.T) {
	for _, c := range []struct{ positions, replicas int }{{DefaultPositions, 3}, {64, 2}} {
		worst := 0.0
		for ring := range 10 {
			worst = max(worst, fullest(ring, c.positions, c.replicas))
		}
		if worst >= 1.5 {
			t.Errorf("with %d positions a node and %d copies the fullest node has %.2f times the mean", c.positions, c.replicas, worst)
		}
	}
}

// fullest is the most copies that a node has, over the mean.
func fullest(ring, positions, replicas int) float64 {
	var nodes []Node
	for i := range 100 {
		nodes = append(nodes, node(fmt.Sprintf("ring-%d-node-%d", ring, i), positions))
	}
	v := NewView(nodes)
	count := map[string]int{}
	const owners, shards = 40, 256
	for o := range owners {
		for s := range shards {
			for _, h := range Holders(v, Key(fmt.Appendf(nil, "owner %d shard %d", o, s)), replicas) {
				count[h.ID]++
			}
		}
	}
	most := 0
	for _, c := range count {
		most = max(most, c)
	}
	return float64(most) / (owners * shards * float64(replicas) / 100)
}
