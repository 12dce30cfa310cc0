package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

// records is a coordination store in memory.
type records struct {
	mu     sync.Mutex
	of     map[string]protocol.Record
	exist  map[string]bool
	broken bool
}

var errAway = errors.New("the store is away")

func newRecords(topologies ...string) *records {
	r := &records{of: make(map[string]protocol.Record), exist: make(map[string]bool)}
	for _, t := range topologies {
		r.exist[t] = true
	}
	return r
}

func (r *records) Get(_ context.Context, topology string) (protocol.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		return protocol.Record{}, errAway
	}
	return r.of[topology], nil
}

func (r *records) Swap(_ context.Context, topology string, expect, next protocol.Record) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		return false, errAway
	}
	if r.of[topology] != expect {
		return false, nil
	}
	r.of[topology] = next
	return true, nil
}

func (r *records) Topologies(context.Context) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		return nil, errAway
	}
	return slices.Collect(maps.Keys(r.exist)), nil
}

func (r *records) kill(topology string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.exist, topology)
}

// quick are times of a ring for tests.
func quick() ring.Config {
	c := ring.Default()
	c.PingEvery = 50 * time.Millisecond
	c.MinTimeout, c.FirstTimeout, c.MaxTimeout = 150*time.Millisecond, 300*time.Millisecond, 500*time.Millisecond
	c.SuspectFor = 300 * time.Millisecond
	c.StabilizeEvery, c.FixEvery = 100*time.Millisecond, 100*time.Millisecond
	c.GossipEvery = 20 * time.Millisecond
	c.SyncEvery = 200 * time.Millisecond
	c.RejoinEvery = 200 * time.Millisecond
	c.Pause = 10 * time.Second
	return c
}

// rig is a ring of nodes in this process, and a client of it.
type rig struct {
	t       testing.TB
	records *records
	nodes   map[string]*Node
	configs map[string]Config
	client  *transport.Endpoint
	codec   *shard.Codec
	log     *slog.Logger
	dir     string
}

func newRig(tb testing.TB, names ...string) *rig {
	tb.Helper()
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	window := 1
	if _, bench := tb.(*testing.B); bench {
		window = 0
	}
	client, err := transport.Listen(transport.Config{Window: window}, "", nil)
	if err != nil {
		tb.Fatal(err)
	}
	codec, err := shard.NewCodec(1, 0)
	if err != nil {
		tb.Fatal(err)
	}
	r := &rig{
		t: tb, records: newRecords("top"), nodes: make(map[string]*Node), configs: make(map[string]Config),
		client: client, codec: codec, log: log, dir: tb.TempDir(), // removed after the nodes have ended
	}
	tb.Cleanup(func() {
		client.Close()
		for _, name := range slices.Collect(maps.Keys(r.nodes)) {
			r.kill(name)
		}
	})
	for _, name := range names {
		r.start(name, nil)
	}
	r.settle()
	return r
}

// start starts a node, again with the same folder.
func (r *rig) start(name string, change func(*Config)) *Node {
	r.t.Helper()
	cfg, again := r.configs[name]
	if !again {
		cfg = Config{
			ID: name, Addr: "127.0.0.1:0", Host: name, Positions: 16, Dir: filepath.Join(r.dir, name),
			Ring: quick(), RepairDelay: 300 * time.Millisecond, UpkeepEvery: 40 * time.Millisecond, Grace: 500 * time.Millisecond,
			Transport: transport.Config{PingEvery: 500 * time.Millisecond}, Records: r.records, Log: r.log,
		}
	}
	if change != nil {
		change(&cfg)
	}
	r.configs[name] = cfg
	n, err := Start(r.t.Context(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.nodes[name] = n
	seeds := []ring.Node{}
	for _, other := range r.nodes {
		seeds = append(seeds, other.Self())
	}
	n.SetSeeds(seeds)
	return n
}

// kill ends a node without a goodbye.
func (r *rig) kill(name string) {
	r.t.Helper()
	n := r.nodes[name]
	delete(r.nodes, name)
	if err := n.Close(); err != nil {
		r.t.Errorf("close %s: %v", name, err)
	}
}

// eventually waits until what is asked for is so.
func eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit.C:
			tb.Fatalf("not in time: %s", what)
		}
	}
}

// settle waits until all nodes know each other, and nobody else.
func (r *rig) settle() {
	r.t.Helper()
	eventually(r.t, "all nodes know each other", func() bool {
		for _, n := range r.nodes {
			p := n.circle.now.Load()
			if !p.complete || p.view.Len() != len(r.nodes) {
				return false
			}
		}
		return true
	})
}

func (r *rig) any() *Node {
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		return r.nodes[name]
	}
	panic("no node")
}

func (r *rig) view() *ring.View { return r.any().circle.now.Load().view }

func call[A any](r *rig, n *Node, method byte, q any) (A, error) {
	var a A
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	b, err := r.client.Call(ctx, n.Addr(), method, protocol.Encode(q))
	if err == nil {
		err = protocol.Decode(b, &a)
	}
	return a, err
}

func codeOf(err error) uint16 {
	if remote, ok := errors.AsType[*transport.RemoteError](err); ok {
		return remote.Code
	}
	return 0
}

// received is what came of a stream.
type received struct {
	parts  map[recovery.Part][]byte
	lacks  []string // node and part
	broken []string
	frames int
	err    error
}

// fetch opens one flow and takes all that it sends. see is called for each frame,
// and may be nil.
func (r *rig) fetch(h protocol.FetchHeader, see func(*transport.Stream, protocol.Frame)) received {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	out := received{parts: make(map[recovery.Part][]byte)}
	addrs := make(map[recovery.NodeID]string)
	maps.Copy(addrs, h.Addrs)
	h.Addrs = addrs
	for name, n := range r.nodes {
		h.Addrs[recovery.NodeID(name)] = n.Addr()
	}
	head, rest := protocol.SplitHeader(protocol.Encode(h))
	s, err := r.client.Open(ctx, r.nodes[string(h.Flow.Node)].Addr(), protocol.FetchShards, head)
	if err != nil {
		out.err = err
		return out
	}
	defer s.Close()
	for m := range rest {
		if out.err = s.Send(ctx, m); out.err != nil {
			return out
		}
	}
	for {
		f, body, err := recvFrame(ctx, s, nil)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			out.err = err
			return out
		}
		out.frames++
		if !f.Intact(body) {
			r.t.Errorf("a frame that is not intact: %+v", f)
		}
		switch f.Kind {
		case protocol.FrameChunk:
			if int64(len(out.parts[f.Part])) != f.Offset {
				r.t.Errorf("a chunk of %v at %d after %d bytes", f.Part, f.Offset, len(out.parts[f.Part]))
			}
			out.parts[f.Part] = append(out.parts[f.Part], body...)
		case protocol.FrameLacks:
			out.lacks = append(out.lacks, fmt.Sprintf("%s %d", body, f.Part.Shard))
		case protocol.FrameBroken:
			out.broken = append(out.broken, string(body))
		case protocol.FrameSkip:
			r.t.Error("a skip from a sender")
		}
		if see != nil {
			see(s, f)
		}
	}
}

// input is that of a recovery of a manifest, with what the nodes say they have.
func (r *rig) input(m *shard.Manifest, mode recovery.Mode) recovery.Input {
	r.t.Helper()
	in := recovery.Input{
		Owner: m.Owner.String(), Version: m.Version, Mode: mode, Params: recovery.DefaultParams(),
		Receiver: recovery.Receiver{Node: recovery.Node{ID: "client"}},
	}
	for i, chain := range m.Shards {
		p := recovery.Piece{Shard: i, Chain: make([]recovery.Object, len(chain))}
		for c, ref := range chain {
			p.Chain[c].Bytes = ref.Stored
			p.Bytes += ref.Stored
		}
		in.Pieces = append(in.Pieces, p)
	}
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		in.Nodes = append(in.Nodes, recovery.Node{ID: recovery.NodeID(name)})
		a, err := call[protocol.HaveAnswer](r, r.nodes[name], protocol.Have, protocol.VersionRequest{Owner: m.Owner, Version: m.Version})
		if codeOf(err) == protocol.CodeNotFound {
			continue
		}
		if err != nil {
			r.t.Fatal(err)
		}
		for _, s := range a.Spans {
			for c := s.First; c < s.Until; c++ {
				o := &in.Pieces[s.Shard].Chain[c]
				if !slices.Contains(o.Holders, recovery.NodeID(name)) {
					o.Holders = append(o.Holders, recovery.NodeID(name))
				}
			}
		}
	}
	return in
}

// recover brings a version back by a plan of the mode and gives its entries.
func (r *rig) recover(m *shard.Manifest, mode recovery.Mode, change func(*recovery.Input)) (map[string]string, *recovery.Plan) {
	r.t.Helper()
	in := r.input(m, mode)
	if change != nil {
		change(&in)
	}
	plan, err := recovery.Make(in)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(plan.Lost) > 0 {
		r.t.Fatalf("lost: %v", plan.Lost)
	}
	parts := make(map[recovery.Part][]byte)
	for _, f := range plan.Flows {
		h := protocol.FetchHeader{Owner: m.Owner, Version: m.Version, Flow: f}
		for _, p := range f.Sends {
			h.Orders = append(h.Orders, recovery.Order{Part: p})
		}
		got := r.fetch(h, nil)
		if got.err != nil || len(got.lacks)+len(got.broken) > 0 {
			r.t.Fatalf("%s from %s: %v, lacks %v, broken %v", mode, f.Node, got.err, got.lacks, got.broken)
		}
		maps.Copy(parts, got.parts)
	}
	return r.load(m, parts), plan
}

// load makes a table of the parts of a version and gives its entries.
func (r *rig) load(m *shard.Manifest, parts map[recovery.Part][]byte) map[string]string {
	r.t.Helper()
	table := shard.NewTable(shard.Options{Owner: m.Owner, Target: 32 << 10})
	if err := table.Expect(m.Ranges()...); err != nil {
		r.t.Fatal(err)
	}
	keys := slices.SortedFunc(maps.Keys(parts), func(a, b recovery.Part) int {
		if a.Shard != b.Shard {
			return a.Shard - b.Shard
		}
		return a.First - b.First
	})
	for i := range m.Shards {
		var objects []*shard.Object
		at := 0
		for _, p := range keys {
			if p.Shard != i {
				continue
			}
			if p.First != at {
				r.t.Fatalf("shard %d: part %v after member %d", i, p, at)
			}
			at = p.Until
			o, err := protocol.OpenPart(r.codec, parts[p])
			if err != nil {
				r.t.Fatal(err)
			}
			objects = append(objects, o...)
		}
		if at != len(m.Shards[i]) {
			r.t.Fatalf("shard %d: %d of %d members came", i, at, len(m.Shards[i]))
		}
		if err := table.Load(objects...); err != nil {
			r.t.Fatal(err)
		}
	}
	return contents(table)
}

func equal(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Fatalf("%s: %d entries, want %d, or others", what, len(got), len(want))
	}
}

// fetchRaw opens a stream of shards and gives each frame to see, until its end.
func (r *rig) fetchRaw(h protocol.FetchHeader, see func(protocol.Frame, []byte)) error {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	s, err := r.client.Open(ctx, r.nodes[string(h.Flow.Node)].Addr(), protocol.FetchShards, protocol.Encode(h))
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		f, body, err := recvFrame(ctx, s, nil)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		see(f, body)
	}
}
