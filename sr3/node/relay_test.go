package node

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

// big is a task with a state of 8 MB in 16 shards or so, on all of three nodes.
func (r *rig) big() *task {
	r.t.Helper()
	k := r.task("big")
	k.table = shard.NewTable(shard.Options{Owner: k.owner, Target: 512 << 10})
	random := rand.NewChaCha8([32]byte{3})
	value := make([]byte, 4000)
	for i := range 2000 {
		_, _ = random.Read(value) // it never fails
		if err := k.table.Put([]byte{byte(i), byte(i >> 8), 7}, value); err != nil {
			r.t.Fatal(err)
		}
	}
	k.save(1)
	return k
}

// chain is the flow of a line of nodes, the last of which sends to the client, and
// each of which has every n-th shard.
func chain(m *shard.Manifest, names ...string) *recovery.Flow {
	var f *recovery.Flow
	for at, name := range names {
		next := &recovery.Flow{Node: recovery.NodeID(name)}
		for i := range m.Shards {
			if i%len(names) == at {
				next.Own = append(next.Own, recovery.Part{Shard: i, Until: 1})
			}
		}
		next.Sends = slices.Clone(next.Own)
		if f != nil {
			next.From = []*recovery.Flow{f}
			next.Sends = append(next.Sends, f.Sends...)
		}
		f = next
	}
	return f
}

func fetchOf(m *shard.Manifest, f *recovery.Flow) protocol.FetchHeader {
	h := protocol.FetchHeader{Owner: m.Owner, Version: m.Version, Flow: f}
	for _, p := range f.Sends {
		h.Orders = append(h.Orders, recovery.Order{Part: p})
	}
	return h
}

func smallWindow(c *Config) { c.Transport.Window = 1 }

func newSmallRig(t *testing.T, names ...string) *rig {
	t.Helper()
	r := newRig(t)
	for _, name := range names {
		r.start(name, smallWindow)
	}
	r.settle()
	return r
}

// newBrokenRig is one where what is taken away is not brought back.
func newBrokenRig(t *testing.T, names ...string) *rig {
	t.Helper()
	r := newRig(t)
	for _, name := range names {
		r.start(name, func(c *Config) { c.RepairDelay = time.Hour })
	}
	r.settle()
	return r
}

// A node at the end of a line dies: the receiver hears its name, and gets all that
// the others have.
func TestRelayLosesChild(t *testing.T) {
	t.Parallel()
	r := newSmallRig(t, "a", "b", "c")
	m := r.big().last
	h := fetchOf(m, chain(m, "a", "b", "c"))
	killed := false
	got := r.fetch(h, func(*transport.Stream, protocol.Frame) {
		if !killed {
			killed = true
			r.kill("a")
		}
	})
	if got.err != nil || !slices.Equal(got.broken, []string{"a"}) {
		t.Fatalf("error %v, broken %v", got.err, got.broken)
	}
	lost := 0
	for i, refs := range m.Shards {
		b := got.parts[recovery.Part{Shard: i, Until: 1}]
		if int64(len(b)) == refs[0].Stored {
			continue
		}
		if lost++; i%3 != 0 {
			t.Errorf("shard %d of node %c is not whole", i, 'a'+i%3)
		}
	}
	if lost == 0 {
		t.Error("the dead node sent all, so nothing was tested")
	}
}

// mute is a node that takes everything and says nothing.
type mute struct{}

func (*mute) Call(context.Context, byte, []byte) ([]byte, error) { return nil, nil }
func (*mute) Message([]byte)                                     {}
func (*mute) Stream(ctx context.Context, _ *transport.Stream, _ byte, _ []byte) error {
	<-ctx.Done()
	return ctx.Err()
}

// A node behind that is silent is named before the receiver loses patience with the
// one that it knows.
func TestRelayNamesTheSilent(t *testing.T) {
	t.Parallel()
	r := newRig(t, "b", "c", "d")
	m := r.big().last
	silent, err := transport.Listen(transport.Config{}, "127.0.0.1:0", &mute{})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	h := fetchOf(m, chain(m, "z", "b", "c"))
	h.StallMillis = 2000
	h.Addrs = map[recovery.NodeID]string{"z": silent.Addr()}
	begun := time.Now()
	got := r.fetch(h, nil)
	if got.err != nil || !slices.Equal(got.broken, []string{"z"}) {
		t.Fatalf("error %v, broken %v", got.err, got.broken)
	}
	if d := time.Since(begun); d > 15*time.Second {
		t.Errorf("it took %v", d)
	}
	for i := range m.Shards {
		if _, ok := got.parts[recovery.Part{Shard: i, Until: 1}]; ok != (i%3 != 0) {
			t.Errorf("shard %d of node %d: %v", i, i%3, ok)
		}
	}
}

// What is skipped does not come any more, also through a relay.
func TestSkip(t *testing.T) {
	t.Parallel()
	r := newSmallRig(t, "a", "b", "c")
	m := r.big().last
	last := recovery.Part{Shard: len(m.Shards) - len(m.Shards)%3 - 3, Until: 1} // of a, which is behind
	own := recovery.Part{Shard: last.Shard + 2, Until: 1}                       // of c
	asked := false
	got := r.fetch(fetchOf(m, chain(m, "a", "b", "c")), func(s *transport.Stream, _ protocol.Frame) {
		if asked {
			return
		}
		asked = true
		for _, p := range []recovery.Part{last, own} {
			if err := s.Send(t.Context(), protocol.AppendFrame(nil, protocol.Frame{Kind: protocol.FrameSkip, Part: p}, nil)); err != nil {
				t.Error(err)
			}
		}
	})
	if got.err != nil || len(got.broken)+len(got.lacks) > 0 {
		t.Fatalf("%v, broken %v, lacks %v", got.err, got.broken, got.lacks)
	}
	for i := range m.Shards {
		p := recovery.Part{Shard: i, Until: 1}
		if whole := int64(len(got.parts[p])) == m.Shards[i][0].Stored; whole != (p != last && p != own) {
			t.Errorf("shard %d: whole %v", i, whole)
		}
	}
}

// Relays pass on that a node lacks a part, and who it is.
func TestRelayPassesLacks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"a", "b", "c"} {
		// Upkeep would bring back what is deleted.
		r.start(name, func(c *Config) { c.RepairDelay, c.UpkeepEvery = time.Hour, time.Hour })
	}
	r.settle()
	m := r.big().last
	if err := r.nodes["a"].store.Delete(t.Context(), m.Shards[3][0]); err != nil {
		t.Fatal(err)
	}
	got := r.fetch(fetchOf(m, chain(m, "a", "b", "c")), nil)
	if got.err != nil || !slices.Equal(got.lacks, []string{"a 3"}) || len(got.parts) != len(m.Shards)-1 {
		t.Fatalf("%v, lacks %v, %d parts of %d", got.err, got.lacks, len(got.parts), len(m.Shards))
	}
}

// With memory for little more than one object, many streams at once all end, also
// beside one whose receiver takes nothing.
func TestReadBudget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"a", "b", "c"} {
		r.start(name, func(c *Config) {
			c.ReadBudget = 1 << 20
			smallWindow(c)
		})
	}
	r.settle()
	m := r.big().last
	h := fetchOf(m, chain(m, "a"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := r.fetch(h, nil); got.err != nil || len(got.parts) != len(m.Shards) {
				t.Errorf("%v, %d parts", got.err, len(got.parts))
			}
		})
	}
	all.Wait()
	if !r.nodes["a"].reading.TryAcquire(1 << 20) {
		t.Error("memory is not given back")
	}
}

// A relay that has no memory to fold in says so, and gives back what it had.
func TestJoinWithoutMemory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"a", "b", "c"} {
		r.start(name, func(c *Config) {
			c.ReadBudget = 40 << 10
			c.RepairDelay = time.Hour // the chains stay scattered
		})
	}
	r.settle()
	rng := rand.New(rand.NewPCG(3, 4))
	k := r.task("c")
	k.spare = func(ref shard.Ref, node string) bool { return int(node[0]-'a') != int(ref.Version)-1 }
	for v, n := range []int{4000, 800, 800} {
		k.write(rng, n, 4000)
		k.save(shard.Version(v + 1))
	}
	m := k.last
	var f *recovery.Flow
	var orders []recovery.Order
	for at, name := range []string{"a", "b", "c"} {
		next := &recovery.Flow{Node: recovery.NodeID(name)}
		for i := range m.Shards {
			next.Own = append(next.Own, recovery.Part{Shard: i, First: at, Until: at + 1})
			next.Sends = append(next.Sends, recovery.Part{Shard: i, Until: at + 1})
		}
		if f != nil {
			next.From = []*recovery.Flow{f}
		}
		f = next
	}
	for i := range m.Shards {
		if len(m.Shards[i]) != 3 {
			t.Fatalf("a chain of %d", len(m.Shards[i]))
		}
		orders = append(orders, recovery.Order{Part: recovery.Part{Shard: i, Until: 3}})
	}
	got := r.fetch(protocol.FetchHeader{Owner: k.owner, Version: 3, Flow: f, Orders: orders, StallMillis: 200}, nil)
	if got.err == nil && len(got.broken) == 0 || len(got.lacks) > 0 {
		t.Errorf("%v, broken %v, lacks %v, %d parts", got.err, got.broken, got.lacks, len(got.parts))
	}
	for _, n := range r.nodes {
		eventually(t, "the memory is free", func() bool {
			free := n.reading.TryAcquire(n.cfg.ReadBudget)
			if free {
				n.reading.Release(n.cfg.ReadBudget)
			}
			return free && n.Status().Recoveries == 0
		})
	}
}
