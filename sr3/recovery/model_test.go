package recovery

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// lan is n holders n00, n01, … and a receiver. Rates in bytes a second; what is
// not the subject is as good as unlimited.
func lan(n int, up, down int64, rtt time.Duration) Input {
	in := Input{Owner: "o", Version: 1, Mode: Auto}
	in.Receiver = Receiver{Node: Node{ID: "r", Down: down, RTT: rtt, Fold: 1e15}, Install: 1e15}
	for i := range n {
		in.Nodes = append(in.Nodes, Node{ID: id(i), Up: up, Down: down, RTT: rtt, Fold: 1e15})
	}
	in.Params = Params{Chunk: 64 << 10, Window: 4 << 20, LineLength: 64, StarFanin: 64, TreeFanin: 2}
	return in
}

func id(i int) NodeID { return NodeID(fmt.Sprintf("n%02d", i)) }

// disjoint spreads bytes evenly over the nodes, a few shards each.
func (in Input) disjoint(bytes int64, each int) Input {
	n := len(in.Nodes)
	for i := range n * each {
		b := bytes / int64(n*each)
		in.Pieces = append(in.Pieces, Whole(i, b, b, 1, id(i%n)))
	}
	return in
}

// reducing gives each node bytes of the same key range: one member of each chain.
func (in Input) reducing(bytes int64, shards int) Input {
	for i := range shards {
		p := Piece{Shard: i, Bytes: bytes / int64(shards)}
		for j := range in.Nodes {
			p.Chain = append(p.Chain, Object{Bytes: p.Bytes, Holders: []NodeID{id(j)}})
		}
		in.Pieces = append(in.Pieces, p)
	}
	return in
}

func predict(t *testing.T, in Input) (star, line, tree float64) {
	t.Helper()
	p, err := Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return p.Modes[0].TotalMS / 1e3, p.Modes[1].TotalMS / 1e3, p.Modes[2].TotalMS / 1e3
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*want }

// TestModelTable holds the predictions against the table of the analytic model
// (c = 2.9 ns a byte on two cores, windows of 4 MiB, chunks of 64 KiB) and against
// what was measured between network namespaces. The closed form adds the filling of
// the pipeline to line and tree in every case; here relays send their own bytes
// meanwhile, which makes one row faster: 128 MiB at 100 ms, where it says 4.46 and
// 2.10. In the measured rows the burst of the shaper lets first chunks pass at once,
// so the pipeline fills for nothing.
func TestModelTable(t *testing.T) {
	const gbit = 125_000_000
	const merge = 2e9 / 2.9
	cpu := func(in Input, rate float64) Input { in.Receiver.Install = int64(rate); return in }
	wide := func(in Input) Input { in.Params.Window = 1 << 40; return in }
	payload := func(mbit float64) int64 { return int64(mbit * 1e6 / 8 * 1448 / 1514) }
	shaped := func(in Input) Input { in.Params.Chunk = 1; return in }
	fine := func(in Input) Input { in.Params.Chunk = 2048; return in }
	const mib = 1 << 20
	ms := time.Millisecond
	for _, c := range []struct {
		name             string
		in               Input
		star, line, tree float64
	}{
		{"1 Gb/s, 128 MiB", cpu(lan(8, gbit, gbit, ms/2).disjoint(128*mib, 4), merge), 1.07, 1.08, 1.08},
		{"1 Gb/s, 1 GiB", cpu(lan(8, gbit, gbit, ms/2).disjoint(1024*mib, 4), merge), 8.59, 8.60, 8.59},
		{"10 Gb/s, 64 MiB", wide(cpu(lan(8, 10*gbit, 10*gbit, ms/5).disjoint(64*mib, 4), merge)), .098, .099, .098},
		{"10 Gb/s, 1 GiB", wide(cpu(lan(8, 10*gbit, 10*gbit, ms/5).disjoint(1024*mib, 4), merge)), 1.56, 1.56, 1.56},
		{"10 Gb/s, 1 GiB, flat", wide(cpu(lan(8, 10*gbit, 10*gbit, ms/5).disjoint(1024*mib, 4), 4e9)), .86, .86, .86},
		{"50 up, 400 down", cpu(lan(8, gbit/20, gbit*4/10, 10*ms).disjoint(64*mib, 4), merge), 1.36, 10.9, 5.4},
		{"RTT 100 ms, 128 MiB", cpu(lan(8, gbit, gbit, 100*ms).disjoint(128*mib, 4), merge), 1.27, 3.40, 1.80},
		{"RTT 100 ms, 1 MiB", cpu(lan(8, gbit, gbit, 100*ms).disjoint(mib, 4), merge), .21, 1.29, .52},
		{"reducing, LAN", wide(cpu(lan(8, gbit, gbit, ms/2).reducing(16*mib, 256), merge)), 1.07, .14, .27},
		{"reducing, 100 up", wide(cpu(lan(8, gbit/10, gbit, 2*ms).reducing(16*mib, 256), merge)), 1.35, 1.41, 1.36},
		{"reducing, RTT 100 ms", wide(cpu(lan(32, gbit, gbit, 100*ms).reducing(16*mib, 256), merge)), 4.50, 5.0, 1.07},
		{"reducing, RTT 100 ms, small", wide(cpu(lan(8, gbit, gbit, 100*ms).reducing(mib, 16), merge)), .27, 1.26, .52},

		{"measured: 200/200", shaped(lan(8, payload(200), payload(200), ms/5).disjoint(64*mib, 4)), 2.80, 2.80, 2.80},
		{"measured: 200/200, reducing", fine(lan(8, payload(200), payload(200), ms/5).reducing(8*mib, 4096)), 2.80, .356, .702},
		{"measured: 50/400", shaped(lan(8, payload(50), payload(400), ms/5).disjoint(32*mib, 4)), .713, 5.58, 0},
		{"measured: 50/400, reducing", fine(lan(8, payload(50), payload(400), ms/5).reducing(4*mib, 4096)), .748, .668, .670},
	} {
		star, line, tree := predict(t, c.in)
		if !near(star, c.star, .1) || !near(line, c.line, .1) || c.tree > 0 && !near(tree, c.tree, .1) {
			t.Errorf("%s: star %.3f line %.3f tree %.3f, want %.3f %.3f %.3f", c.name, star, line, tree, c.star, c.line, c.tree)
		}
	}
}

// TestAuto names the causes.
func TestAuto(t *testing.T) {
	const mib = 1 << 20
	ms := time.Millisecond
	wide := func(in Input) Input { in.Params.Window = 1 << 40; return in }
	change := func(in Input, f func(*Input)) Input { f(&in); return in }
	unmeasured := func(bytes int64, sensitive bool) Input {
		return change(lan(8, 0, 0, 0).reducing(bytes/8, 2), func(in *Input) { in.Params.LatencySensitive = sensitive })
	}
	for _, c := range []struct {
		name   string
		in     Input
		mode   Mode
		reason string
	}{
		{"disjoint", lan(8, 125e6, 125e6, ms).disjoint(128*mib, 4), Star, "nothing to gain"},
		{"fewer bytes, line", wide(lan(8, 125e6, 125e6, ms).reducing(16*mib, 256)), Line, "merging on the way leaves 16.0 MiB of 128.0 MiB"},
		{"fewer bytes, tree", wide(lan(32, 125e6, 125e6, 100*ms).reducing(16*mib, 256)), Tree, "merging on the way leaves 32.0 MiB of 512.0 MiB"},
		{"receiver's processors", change(lan(8, 1250e6, 1250e6, ms/5).disjoint(256*mib, 4), func(in *Input) {
			in.Receiver.Install, in.Receiver.Load = 200e6, 2000e6
		}), Tree, "the receiver's processors are the limit and merging elsewhere spares them"},
		{"incast", change(lan(32, 125e6, 125e6, ms).disjoint(128*mib, 2), func(in *Input) { in.Receiver.Incast = 0.1 }),
			Line, "32 connections into the receiver hold each other up, 1 do not"},
		{"few connections", change(lan(64, 125e6, 125e6, 40*ms).disjoint(4*mib, 1), func(in *Input) {
			in.Receiver.MaxStreams = 4
			in.Params.TreeFanin = 4
		}), Tree, "the receiver takes only 4 connections at a time"},
		{"shared path", change(wide(lan(8, 125e6, 1250e6, 4*ms).reducing(16*mib, 256)), func(in *Input) {
			in.Sites = []Site{{Name: "far", Up: 25e6, RTT: ms / 2}}
			for i := range in.Nodes {
				in.Nodes[i].Site = "far"
			}
		}), Line, "the path between sites is shared"},
		{"not measured, whole chains", lan(8, 0, 0, 0).disjoint(256*mib, 2), Star, "nothing measured, and no chain is scattered"},
		{"not measured, small", unmeasured(16*mib, true), Star, "with nothing measured: chains are scattered, but 16.0 MiB is not above 16.0 MiB"},
		{"not measured, sensitive", unmeasured(32*mib, true), Tree, "is sensitive to latency"},
		{"not measured, not sensitive", unmeasured(32*mib, false), Line, "is not sensitive to latency"},
		{"asked for", change(lan(8, 125e6, 125e6, ms).disjoint(mib, 1), func(in *Input) { in.Mode = Line }), Line, "line was asked for"},
	} {
		p, err := Make(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if p.Mode != c.mode || !strings.Contains(p.Reason, c.reason) {
			t.Errorf("%s: %s\n%s, want %s: %s", c.name, p, p.Mode, c.mode, c.reason)
		}
	}
}

// TestPredictionsHold runs plans without faults and compares the time.
func TestPredictionsHold(t *testing.T) {
	worst := map[Mode]float64{}
	off := 0
	const runs = 120
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 9))
		mode := []Mode{Star, Line, Tree}[seed%3]
		in := lan(2+rng.IntN(9), int64(5+rng.IntN(40))*1e6, int64(20+rng.IntN(100))*1e6, time.Duration(1+rng.IntN(20))*time.Millisecond)
		in.Mode = mode
		in.Params.Chunk, in.Params.LineLength, in.Params.StarFanin = 64<<10, 2+rng.IntN(8), 16
		in.Receiver.Install = 400e6
		if rng.IntN(3) == 0 {
			in = in.reducing(int64(4+rng.IntN(12))<<20, 1+rng.IntN(6))
		} else {
			for i := range 8 * len(in.Nodes) {
				b := int64(100<<10 + rng.IntN(1<<20))
				at := rng.IntN(len(in.Nodes))
				in.Pieces = append(in.Pieces, Whole(i, b, b, 1, id(at), id((at+1)%len(in.Nodes)), id((at+2)%len(in.Nodes))))
			}
		}
		s, p := newSim(t, in, seed)
		s.run(1e6)
		got, want := s.done, p.PredictedTime().Seconds()
		if s.done < 0 {
			s.fail("is not done")
		}
		gap := math.Abs(got-want) / got
		worst[mode] = max(worst[mode], gap)
		if gap > .1 {
			off++
			t.Logf("seed %d, %s: took %.3f, predicted %.3f (%+v)", seed, mode, got, want, p.Predicted)
		}
		if r := s.tr.Report(); r.Replans > 0 || r.Bytes != r.Wasted+p.Bytes {
			s.fail("without faults: %+v, planned %d bytes", r, p.Bytes)
		}
	}
	t.Logf("worst deviations %v", worst)
	// Lines of unequal length that share the downlink are predicted a little too
	// long: what a relay has buffered while others had the link is not counted.
	if off > 1 || max(worst[Star], worst[Tree]) > .1 || worst[Line] > .12 {
		t.Errorf("%d of %d predictions are off by more than 10 %%: %v", off, runs, worst)
	}
}

// thirds is a state whose chains are scattered, as after the ring was in parts: of
// each member three of four nodes have a copy.
func thirds(seed uint64, shards int, base, delta int64) Input {
	rng := rand.New(rand.NewPCG(seed, 5))
	in := lan(12, 23_900_000, 23_900_000, time.Millisecond)
	in.Receiver.Install, in.Receiver.Fold = 400e6, 200e6
	in.Params = Params{LineLength: 16, Chunk: 256 << 10}
	for i := range in.Nodes {
		in.Nodes[i].Fold = 100e6
	}
	for i := range shards {
		p := Piece{Shard: i, Bytes: base}
		for part := range 3 {
			o := Object{Bytes: delta}
			if part == 0 {
				o.Bytes = base
			}
			lacks := rng.IntN(4)
			for k := range 4 {
				if k != lacks {
					o.Holders = append(o.Holders, id(4*part+k))
				}
			}
			p.Chain = append(p.Chain, o)
		}
		in.Pieces = append(in.Pieces, p)
	}
	return in
}

// TestScatteredPredictionsHold: relays join whole parts, which takes its time.
func TestScatteredPredictionsHold(t *testing.T) {
	for seed := range uint64(24) {
		for mode, most := range map[Mode]float64{Star: .02, Line: .15, Tree: .08} {
			in := thirds(seed, 8, 3_600_000, 1_620_000)
			in.Mode = mode
			s, p := newSim(t, in, seed)
			s.run(1e6)
			if s.done < 0 {
				s.fail("is not done")
			}
			if want := p.PredictedTime().Seconds(); math.Abs(s.done-want) > most*s.done {
				t.Errorf("seed %d, %s: took %.3f, predicted %.3f", seed, mode, s.done, want)
			}
		}
	}
}
