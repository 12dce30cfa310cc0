package node

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

// piece is a frame that a forger sends.
type piece struct {
	protocol.Frame
	body    []byte
	spoiled bool // its body is not what its checksum says
}

// pieces cut a part into n chunks, as a node sends it.
func pieces(p recovery.Part, bytes []byte, n int) []piece {
	var out []piece
	content := recovery.Content{Sum: sumOf(bytes), Size: int64(len(bytes))}
	for i := range n {
		from, to := i*len(bytes)/n, (i+1)*len(bytes)/n
		f := protocol.Frame{Kind: protocol.FrameChunk, Part: p, Content: content, Offset: int64(from)}
		out = append(out, piece{Frame: f, body: bytes[from:to]})
	}
	return out
}

// forger is a node whose streams bring what a test says. All else goes to the node
// that it stands before, if there is one.
type forger struct {
	end    *transport.Endpoint
	target string // "" for none
	script atomic.Pointer[script]
}

// script is what a stream brings.
type script struct {
	sends []piece
	// hangs: after that it is silent, instead of ending the stream.
	hangs bool
}

func (f *forger) plays(sends []piece, hangs bool) { f.script.Store(&script{sends, hangs}) }

func newForger(tb testing.TB, target string) *forger {
	tb.Helper()
	f := &forger{target: target}
	end, err := transport.Listen(transport.Config{}, "127.0.0.1:0", f)
	if err != nil {
		tb.Fatal(err)
	}
	f.end = end
	tb.Cleanup(end.Close)
	return f
}

func (f *forger) Call(ctx context.Context, method byte, request []byte) ([]byte, error) {
	return f.end.Call(ctx, f.target, method, request)
}

func (f *forger) Message(payload []byte) {
	if f.target != "" {
		f.end.Send(f.target, payload)
	}
}

func (f *forger) Stream(ctx context.Context, s *transport.Stream, _ byte, _ []byte) error {
	script := f.script.Load()
	for _, p := range script.sends {
		m := append(protocol.AppendFrame(nil, p.Frame, p.body), p.body...)
		if p.spoiled {
			m[len(m)-1] ^= 1
		}
		if err := s.Send(ctx, m); err != nil {
			return err
		}
	}
	if !script.hangs {
		return nil
	}
	_, err := s.Recv(ctx) // until the receiver ends it
	if errors.Is(err, io.EOF) {
		<-ctx.Done()
	}
	return err
}

// fault is how a stream can bring something else than one part in order.
type fault struct {
	name string
	// spoil changes the pieces of a part, which are six.
	spoil func([]piece) []piece
	// hangs: the receiver has to see it at once, not when the stream ends.
	hangs bool
	// passes: a relay that folds nothing lets it pass, since the receiver looks.
	passes bool
}

// faults are those that every receiver has to see by itself.
func faults() []fault {
	return []fault{
		{name: "a gap", hangs: true, spoil: func(p []piece) []piece { return slices.Delete(p, 2, 3) }},
		{name: "a chunk twice", hangs: true, spoil: func(p []piece) []piece { return slices.Insert(p, 2, p[1]) }},
		{name: "two in the wrong order", hangs: true, spoil: func(p []piece) []piece {
			p[2], p[3] = p[3], p[2]
			return p
		}},
		// About as many bytes as there should be.
		{name: "one in the place of another", hangs: true, spoil: func(p []piece) []piece {
			p[2] = p[3]
			return p
		}},
		{name: "another size on the way", hangs: true, spoil: func(p []piece) []piece {
			p[2].Content.Size++
			return p
		}},
		{name: "a damaged chunk", hangs: true, spoil: func(p []piece) []piece {
			p[2].spoiled = true
			return p
		}},
		{name: "an early end", spoil: func(p []piece) []piece { return p[:5] }},
		{name: "nothing", spoil: func([]piece) []piece { return nil }},
		{name: "other content than it says", passes: true, spoil: func(p []piece) []piece {
			for i := range p {
				p[i].Content.Sum++
			}
			return p
		}},
	}
}

// A relay sees gaps and early ends in what comes from behind, and tells the receiver
// who is to blame; what is to be folded does not get there.
func TestRelaySeesGaps(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c")
	k := r.big()
	if err := k.table.Delete([]byte{0, 0, 7}); err != nil {
		t.Fatal(err)
	}
	m := k.save(2)
	i := slices.IndexFunc(m.Shards, func(chain []shard.Ref) bool { return len(chain) == 2 })
	if i < 0 {
		t.Fatal("there is no chain to fold")
	}
	part := func(first, until int) recovery.Part { return recovery.Part{Shard: i, First: first, Until: until} }
	base := k.objects[m.Shards[i][0].ObjectID]
	for _, join := range []bool{false, true} {
		// z is behind b and has the base; if b folds, it has the delta itself.
		order := part(0, 1)
		flow := &recovery.Flow{Node: "b", From: []*recovery.Flow{{Node: "z", Own: []recovery.Part{part(0, 1)}, Sends: []recovery.Part{part(0, 1)}}}}
		if join {
			order = part(0, 2)
			flow.Own = []recovery.Part{part(1, 2)}
		}
		flow.Sends = []recovery.Part{order}
		bring := func(t *testing.T, z *forger) received {
			t.Helper()
			return r.fetch(protocol.FetchHeader{
				Owner: m.Owner, Version: m.Version, Flow: flow, Orders: []recovery.Order{{Part: order}}, StallMillis: 60_000,
				Addrs: map[recovery.NodeID]string{"z": z.end.Addr()},
			}, nil)
		}
		name := map[bool]string{false: "passed on", true: "folded"}[join]
		t.Run(name+"/no fault", func(t *testing.T) {
			z := newForger(t, "")
			z.plays(pieces(part(0, 1), base, 6), false)
			if got := bring(t, z); got.err != nil || len(got.broken)+len(got.lacks) > 0 || len(got.parts[order]) == 0 {
				t.Errorf("%v, broken %v, lacks %v, %d parts", got.err, got.broken, got.lacks, len(got.parts))
			}
		})
		later := fault{name: "a later beginning", hangs: true, passes: true, spoil: func(p []piece) []piece { return p[4:] }}
		for _, c := range append(faults(), later) {
			if c.passes && !join {
				continue
			}
			t.Run(name+"/"+c.name, func(t *testing.T) {
				z := newForger(t, "")
				z.plays(c.spoil(pieces(part(0, 1), base, 6)), c.hangs)
				got := bring(t, z)
				if got.err != nil || len(got.lacks) > 0 || !slices.Equal(got.broken, []string{"z"}) {
					t.Errorf("%v, broken %v, lacks %v", got.err, got.broken, got.lacks)
				}
				if n := len(got.parts[order]); join && n > 0 || n == len(base) {
					t.Errorf("%d bytes of the part came", n)
				}
			})
		}
	}
	for _, n := range r.nodes {
		if !n.reading.TryAcquire(n.cfg.ReadBudget) {
			t.Errorf("node %s does not give its memory back", n.id)
		}
	}
}

// A relay may be given the rest of a part that another has begun to send, but not a
// part to fold.
func TestRelayTakesTheRest(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c")
	k := r.big()
	p := recovery.Part{Shard: 0, Until: 1}
	all := pieces(p, k.objects[k.last.Shards[0][0].ObjectID], 6)
	z := newForger(t, "")
	z.plays(all[4:], false)
	flow := &recovery.Flow{Node: "b", From: []*recovery.Flow{{Node: "z", Own: []recovery.Part{p}, Sends: []recovery.Part{p}}}, Sends: []recovery.Part{p}}
	order := recovery.Order{Part: p, Content: all[0].Content, Offset: all[4].Offset}
	var offsets []int64
	err := r.fetchRaw(protocol.FetchHeader{
		Owner: k.owner, Version: 1, Flow: flow, Orders: []recovery.Order{order}, Addrs: map[recovery.NodeID]string{"z": z.end.Addr()},
	}, func(f protocol.Frame, _ []byte) {
		if f.Kind != protocol.FrameChunk {
			t.Errorf("a frame of kind %v", f.Kind)
		}
		offsets = append(offsets, f.Offset)
	})
	if want := []int64{all[4].Offset, all[5].Offset}; err != nil || !slices.Equal(offsets, want) {
		t.Errorf("%v, chunks at %v, want %v", err, offsets, want)
	}
}

// Repair sees gaps and early ends in an object, and takes it from nobody who sends
// such.
func TestFetchObjectSeesGaps(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b")
	k := r.task("c")
	k.write(rand.New(rand.NewPCG(5, 1)), 200, 200)
	ref := k.save(1).Shards[0][0]
	stored := k.objects[ref.ObjectID]
	z := newForger(t, r.nodes["b"].Addr())
	r.kill("b")
	r.start("b", func(c *Config) { c.Addr, c.Advertise = z.target, z.end.Addr() })
	n := r.nodes["a"]
	eventually(t, "b has moved", func() bool { return n.addr("b") == z.end.Addr() })
	r.settle()
	bring := func(t *testing.T) ([]byte, error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return n.fetchObject(ctx, ref, "b", n.upkeep.pace)
	}
	z.plays(pieces(recovery.Part{}, stored, 6), false)
	if got, err := bring(t); err != nil || !slices.Equal(got, stored) {
		t.Fatalf("no fault: %d bytes, %v", len(got), err)
	}
	of := func(f protocol.FrameKind) func([]piece) []piece {
		return func(p []piece) []piece {
			p[2].Kind = f
			return p
		}
	}
	cases := slices.DeleteFunc(faults(), func(f fault) bool { return f.passes }) // the content of an object is known
	cases = append(cases,
		fault{name: "no chunk", hangs: true, spoil: of(protocol.FrameLacks)},
		fault{name: "a later beginning", hangs: true, spoil: func(p []piece) []piece { return p[1:] }},
		fault{name: "another object", spoil: func([]piece) []piece { return pieces(recovery.Part{}, make([]byte, len(stored)), 6) }},
		fault{name: "a longer one", hangs: true, spoil: func([]piece) []piece { return pieces(recovery.Part{}, append(slices.Clone(stored), 0), 6) }},
	)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			z.plays(c.spoil(pieces(recovery.Part{}, stored, 6)), c.hangs)
			if got, err := bring(t); !errors.Is(err, shard.ErrDamaged) {
				t.Errorf("%d bytes, %v; want %v", len(got), err, shard.ErrDamaged)
			}
		})
	}
}
