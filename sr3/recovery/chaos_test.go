package recovery

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func seeds(t *testing.T, few int) int {
	if env := os.Getenv("STORMRING_SEEDS"); env != "" {
		n, err := strconv.Atoi(env)
		if err != nil {
			t.Fatalf("STORMRING_SEEDS: %v", err)
		}
		return n
	}
	return few
}

// randomInput has up to 8 holders, shards with 1 to 3 copies, some scattered.
func randomInput(rng *rand.Rand) Input {
	in := Input{Owner: "t-1/count/3", Version: 42, Mode: []Mode{Star, Line, Tree, Auto}[rng.IntN(4)]}
	in.Receiver = Receiver{Node: Node{ID: "r", Down: 50_000_000, RTT: time.Millisecond}}
	n := 2 + rng.IntN(7)
	var ids []NodeID
	for i := range n {
		id := NodeID(fmt.Sprintf("n%d", i))
		ids = append(ids, id)
		in.Nodes = append(in.Nodes, Node{ID: id, Up: int64(5+rng.IntN(20)) * 1e6, Down: 30e6, RTT: time.Duration(1+rng.IntN(5)) * time.Millisecond})
	}
	if rng.IntN(4) == 0 {
		ids = append(ids, "r")
	}
	pick := func(k int) []NodeID {
		rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		return slices.Clone(ids[:min(k, len(ids))])
	}
	for i := range 1 + rng.IntN(16) {
		bytes := rng.Int64N(2 << 20)
		length := 1 + rng.IntN(4)
		if rng.IntN(4) == 0 {
			p := Piece{Shard: i * 3}
			for range length {
				p.Chain = append(p.Chain, Object{Bytes: 1 + bytes/2, Holders: pick(1 + rng.IntN(3))})
			}
			in.Pieces = append(in.Pieces, p)
			continue
		}
		in.Pieces = append(in.Pieces, Whole(i*3, bytes, bytes*3/2, length, pick(1+rng.IntN(3))...))
	}
	in.Params = Params{LineLength: 1 + rng.IntN(8), TreeFanin: 2 + rng.IntN(3), StarFanin: 1 + rng.IntN(8), Stall: time.Second}
	return in
}

// curse gives each node but the receiver some fault, now and then.
func (s *sim) curse() {
	s.faulty = true
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		n := s.nodes[id]
		if id == s.w.Receiver.ID {
			continue
		}
		at := s.rng.Float64() * 1.5
		kind := s.rng.IntN(12)
		n.unstable = kind < 10
		switch kind {
		case 0, 1: // dies, and somebody says so soon or late
			s.at(at, func() { s.kill(n) })
			s.at(at+s.rng.Float64()*4, func() {
				if n.dead {
					s.feed(Died{n.ID})
				}
			})
		case 2: // dies and comes back
			s.at(at, func() { s.kill(n) })
			s.at(at+0.2, func() { s.feed(Died{n.ID}) })
			s.at(at+0.3+s.rng.Float64()*5, func() { n.dead = false; s.feed(Returned{n.ID}) })
		case 3: // stops for a while, or until healed
			s.at(at, func() { n.frozen = true })
			if s.rng.IntN(2) == 0 {
				s.at(at+s.rng.Float64()*3, func() { s.thaw(n) })
			}
		case 4:
			n.corrupt = s.rng.Float64() * 0.5
		case 5:
			n.slow = 20 + 500*s.rng.Float64()
		case 6:
			n.zombie = true
		case 7, 8:
			for _, p := range s.w.Pieces {
				n.lacks[p.Shard] = s.rng.IntN(2) == 0
			}
		case 9:
			n.rotten = true
			for _, p := range s.w.Pieces {
				n.damaged[p.Shard] = s.rng.IntN(2) == 0
			}
		case 10:
			n.variant = 1 << (40 + s.rng.IntN(8))
		}
	}
	for range s.rng.IntN(4) {
		p := s.w.Pieces[s.rng.IntN(len(s.w.Pieces))]
		s.at(s.rng.Float64()*2, func() { s.feed(Wanted{p.Shard}) })
	}
}

func (s *sim) kill(n *simNode) {
	n.dead = true
	for _, id := range slices.Sorted(maps.Keys(s.streams)) {
		st := s.streams[id]
		if slices.ContainsFunc(st.hops, func(h *simHop) bool { return h.n == n }) && !st.ended {
			s.breakOff(st, n)
		}
	}
}

func (s *sim) thaw(n *simNode) {
	n.frozen = false
	for _, id := range slices.Sorted(maps.Keys(s.streams)) {
		for _, h := range s.streams[id].hops {
			if h.n == n {
				s.pump(h)
			}
		}
	}
}

const healAt = 20

// heal ends all faults and says what is where.
func (s *sim) heal() {
	s.faulty = false
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		n := s.nodes[id]
		n.dead, n.zombie, n.corrupt, n.slow = false, false, 0, 0
		clear(n.lacks)
		clear(n.damaged)
		s.thaw(n)
		s.feed(Returned{n.ID})
	}
	for _, p := range s.w.Pieces {
		for i, o := range p.Chain {
			for _, h := range o.Holders {
				s.feed(Found{Node: h, Shard: p.Shard, First: i, Until: i + 1})
			}
		}
	}
}

func chaos(tb testing.TB, seed uint64) (Report, float64, *sim) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	s, _ := newSim(tb, randomInput(rng), seed)
	s.curse()
	s.at(healAt, s.heal)
	s.run(healAt + 120)
	if s.done < 0 {
		s.fail("is not done: %+v", s.tr.Report())
	}
	for _, p := range s.w.Pieces {
		if s.shards[p.Shard] != 1 {
			s.fail("shard %d is installed %d times", p.Shard, s.shards[p.Shard])
		}
	}
	return s.tr.Report(), s.done, s
}

func TestChaos(t *testing.T) {
	early, waited, replans, stolen := 0, 0, 0, 0
	n := seeds(t, 200)
	for seed := range n {
		r, at, s := chaos(t, uint64(seed))
		if at < healAt {
			early++
		}
		if slices.ContainsFunc(s.trace, func(l string) bool { return strings.Contains(l, "recovery.Wait{") && !strings.Contains(l, "Shards:[]") }) {
			waited++
		}
		replans += r.Replans
		stolen += r.Stolen
		if len(r.Waiting) > 0 || len(r.Emptied) > 0 || r.Installed != r.Shards {
			s.fail("report %+v", r)
		}
	}
	t.Logf("%d seeds: %d done before the healing, %d waited, %d replans, %d stolen", n, early, waited, replans, stolen)
	if early < n/3 || waited == 0 || replans == 0 || stolen == 0 {
		t.Errorf("the faults do not bite: %d done early, %d waited, %d replans, %d stolen", early, waited, replans, stolen)
	}
}

func TestChaosRepeats(t *testing.T) {
	for seed := range uint64(20) {
		a, at, x := chaos(t, seed)
		b, bt, y := chaos(t, seed)
		if at != bt || !reflect.DeepEqual(a, b) || !slices.Equal(x.trace, y.trace) {
			t.Fatalf("seed %d has two histories: %v %+v, %v %+v", seed, at, a, bt, b)
		}
	}
}
