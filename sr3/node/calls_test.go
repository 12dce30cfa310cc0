package node

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/store"
)

// An older placement can change nothing, wherever the newer one was heard of.
func TestFence(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c")
	old := r.task("c")
	old.epoch = 4
	old.write(rand.New(rand.NewPCG(4, 1)), 100, 100)
	m := old.save(1)
	a := r.nodes["a"]
	ref := m.Shards[0][0]
	if _, err := call[nothing](r, a, protocol.Fence, protocol.FenceRequest{Owner: old.owner, Epoch: 5}); err != nil {
		t.Fatal(err)
	}
	if _, err := call[nothing](r, a, protocol.Fence, protocol.FenceRequest{Owner: old.owner, Epoch: 4}); codeOf(err) != protocol.CodeFenced {
		t.Errorf("an older fence: %v", err)
	}
	if _, err := call[nothing](r, a, protocol.Fence, protocol.FenceRequest{Owner: old.owner, Epoch: 5}); err != nil {
		t.Errorf("the same fence: %v", err)
	}
	put := func(n *Node, epoch shard.Epoch) error {
		return r.putObjects(n, protocol.PutHeader{Owner: old.owner, Epoch: epoch}, []shard.Ref{ref}, old.objects)
	}
	if err := put(a, 4); codeOf(err) != protocol.CodeFenced {
		t.Errorf("objects of the old epoch: %v", err)
	}
	next, err := m.Next(2, 4, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := next.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.client.Call(t.Context(), a.Addr(), protocol.PutManifest, b); codeOf(err) != protocol.CodeFenced {
		t.Errorf("a manifest of the old epoch: %v", err)
	}
	// Who writes with a newer epoch fences by that.
	if err := r.putObjects(r.nodes["b"], protocol.PutHeader{Owner: old.owner, Epoch: 9}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := put(r.nodes["b"], 4); codeOf(err) != protocol.CodeFenced {
		t.Errorf("objects of the old epoch after those of a newer: %v", err)
	}
	if got, err := call[protocol.HaveObjectsAnswer](r, a, protocol.HaveObjects, protocol.Refs{Refs: []shard.Ref{ref}}); err != nil || !slices.Equal(got.Have, []bool{true}) {
		t.Errorf("what was there is there: %v, %v", got, err)
	}
}

// A node that has yet to meet the others says so: whoever took it for the whole ring
// would keep state there alone.
func TestNodeThatIsNotOnTheRingYet(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a")
	cfg := r.configs["a"]
	cfg.ID, cfg.Host, cfg.Dir = "b", "b", filepath.Join(t.TempDir(), "b")
	b, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if v, err := call[protocol.View](r, b, protocol.GetView, nothing{}); err != nil || len(v.Nodes) != 0 || v.Complete {
		t.Errorf("the ring it sees: %+v, %v", v, err)
	}
	if _, err := call[protocol.LookupAnswer](r, b, protocol.LookupKey, protocol.LookupRequest{Key: 7}); codeOf(err) != protocol.CodeUnavailable {
		t.Errorf("a lookup: %v", err)
	}
	b.SetSeeds([]ring.Node{b.Self(), r.nodes["a"].Self()})
	eventually(t, "it is on the ring", func() bool {
		v, err := call[protocol.View](r, b, protocol.GetView, nothing{})
		return err == nil && v.Complete && len(v.Nodes) == 2
	})
	if a, err := call[protocol.LookupAnswer](r, b, protocol.LookupKey, protocol.LookupRequest{Key: 7}); err != nil || len(a.Nodes) == 0 {
		t.Errorf("a lookup: %+v, %v", a, err)
	}
}

// A manifest cannot be replaced, and asking for what is not there says so.
func TestManifests(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c")
	k := r.task("c")
	k.write(rand.New(rand.NewPCG(4, 2)), 100, 100)
	m := k.save(1)
	a := r.nodes["a"]
	other := *m
	other.CreatedMillis++
	b, err := other.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.client.Call(t.Context(), a.Addr(), protocol.PutManifest, b); codeOf(err) != protocol.CodeConflict {
		t.Errorf("another manifest of one version: %v", err)
	}
	for version, code := range map[shard.Version]uint16{0: 0, 1: 0, 2: protocol.CodeNotFound} {
		b, err := r.client.Call(t.Context(), a.Addr(), protocol.GetManifest, protocol.Encode(protocol.VersionRequest{Owner: k.owner, Version: version}))
		if codeOf(err) != code {
			t.Errorf("version %d: %v, want code %d", version, err, code)
		}
		if code == 0 {
			got, err := shard.DecodeManifest(b)
			if err != nil || got.Version != 1 {
				t.Errorf("version %d: got %v, %v", version, got, err)
			}
		}
	}
	list, err := call[protocol.ManifestList](r, a, protocol.ListManifests, protocol.OwnerRequest{Owner: k.owner})
	if err != nil || !slices.Equal(list.Versions, []shard.Version{1}) {
		t.Errorf("list: %v, %v", list, err)
	}
	r.records.mu.Lock()
	r.records.broken = true
	r.records.mu.Unlock()
	for method, q := range map[byte]any{
		protocol.GetManifest: protocol.VersionRequest{Owner: k.owner},
		protocol.GetRecord:   protocol.TopologyRequest{Topology: "top"},
		protocol.SwapRecord:  protocol.SwapRequest{Topology: "top"},
	} {
		if _, err := call[nothing](r, a, method, q); codeOf(err) != protocol.CodeUnavailable {
			t.Errorf("method %d while the store is away: %v", method, err)
		}
	}
}

// Garbage is answered with an error, and the node goes on.
func TestGarbage(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a")
	a := r.nodes["a"]
	rng := rand.New(rand.NewPCG(4, 3))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	seeds := [][]byte{nil, []byte("{}"), []byte("[]"), []byte("+5"), []byte("+99999999999999999999"), []byte(`{"owner":{"Topology":"x"},"orders":[{}]}`)}
	for range 20 {
		b := make([]byte, rng.IntN(100))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		seeds = append(seeds, b)
	}
	for method := range 256 {
		for _, b := range seeds {
			if method == int(protocol.GetStatus) || method == int(protocol.GetView) || method == int(protocol.LookupKey) {
				continue // which look at no request
			}
			_, _ = r.client.Call(ctx, a.Addr(), byte(method), b)
			s, err := r.client.Open(ctx, a.Addr(), byte(method), b)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Send(ctx, b); err == nil {
				_ = s.CloseSend()
			}
			for err == nil {
				_, err = s.Recv(ctx)
			}
			if errors.Is(err, io.EOF) && method != int(protocol.PutObjects) {
				t.Errorf("a stream of method %d with %q ended well", method, b)
			}
			s.Close()
		}
	}
	if _, err := call[protocol.View](r, a, protocol.GetView, nothing{}); err != nil {
		t.Errorf("after the garbage: %v", err)
	}
}

// What people ask for.
func TestForPeople(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c")
	a := r.nodes["a"]
	for task, at := range map[int32]int64{2: 10, 1: 20} {
		for _, d := range []int64{0, -5} { // the second comes late
			rep := protocol.TaskReport{Owner: shard.Owner{Topology: "top", Component: "c", Task: task}, AtMillis: at + d, Keys: at + d}
			if _, err := call[nothing](r, a, protocol.PutReport, rep); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := call[protocol.Reports](r, a, protocol.GetReports, protocol.TopologyRequest{Topology: "top"})
	if err != nil || len(got.Reports) != 2 || got.Reports[0].Keys != 20 || got.Reports[1].Keys != 10 {
		t.Errorf("reports: %v, %v", got, err)
	}
	key := ring.Key([]byte("some name"))
	want := ring.Holders(r.view(), key, 1)[0]
	found, err := call[protocol.LookupAnswer](r, a, protocol.LookupKey, protocol.LookupRequest{Name: "some name"})
	if err != nil || found.Key != key || len(found.Nodes) == 0 || found.Nodes[0] != want || found.Path[0].ID != "a" {
		t.Errorf("lookup: %+v, %v; want %v", found, err, want)
	}
	s, err := call[protocol.NodeStatus](r, a, protocol.GetStatus, nothing{})
	if err != nil || !s.Joined || !s.Complete || len(s.Members) != 2 || len(s.Positions) != 16 || s.Node != a.Self() {
		t.Errorf("status: %+v, %v", s, err)
	}
	if err := r.nodes["b"].Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the others see it leave", func() bool { return r.nodes["c"].circle.now.Load().view.Len() == 2 })
}

// A wall clock that jumps about disturbs nobody.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var calls atomic.Int64
	for _, name := range []string{"a", "b", "c"} {
		r.start(name, func(c *Config) {
			c.Now = func() time.Time { return time.Unix(1_700_000_000+(calls.Add(1)%7)*1_000_000, 0) }
		})
	}
	r.settle()
	k := r.task("c")
	k.write(rand.New(rand.NewPCG(4, 4)), 500, 500)
	m := k.save(1)
	r.healthy(m)
	r.kill("b")
	r.start("b", nil)
	r.healthy(m)
}

// full is a disk on which writing can be made impossible.
type full struct {
	storage.Storage
	is atomic.Bool
}

func (f *full) Create(fd storage.FileDesc) (storage.Writer, error) {
	if f.is.Load() {
		return nil, &os.PathError{Op: "create", Path: fd.String(), Err: syscall.ENOSPC}
	}
	w, err := f.Storage.Create(fd)
	return &fullWriter{w, f}, err
}

type fullWriter struct {
	storage.Writer
	f *full
}

func (w *fullWriter) Write(b []byte) (int, error) {
	if w.f.is.Load() {
		return 0, &os.PathError{Op: "write", Path: "journal", Err: syscall.ENOSPC}
	}
	return w.Writer.Write(b)
}

// With a full disk a node refuses what is new, says why, and serves what it has.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := &full{Storage: storage.NewMemStorage()}
	r := newRig(t, "b", "c")
	a := r.start("a", func(c *Config) { c.tune = func(o *store.Options) { o.Storage = disk } })
	r.settle()
	k := r.task("c")
	k.write(rand.New(rand.NewPCG(4, 5)), 500, 500)
	m := k.save(1)
	disk.is.Store(true)
	other := r.task("other")
	other.write(rand.New(rand.NewPCG(4, 6)), 500, 500)
	other.full = "a"
	refs := other.save(1).Shards[0]
	err := r.putObjects(a, protocol.PutHeader{Owner: other.owner, Epoch: 1}, refs, other.objects)
	if codeOf(err) != protocol.CodeFull {
		t.Fatalf("a put to a full disk: %v", err)
	}
	if a.Status().Trouble == "" {
		t.Error("the status says nothing of the trouble")
	}
	h := fetchOf(m, chain(m, "a"))
	if got := r.fetch(h, nil); got.err != nil || len(got.parts) != len(m.Shards) {
		t.Errorf("reading from a full disk: %v, %d parts", got.err, len(got.parts))
	}
	r.settle()
	disk.is.Store(false)
	eventually(t, "it takes writes again", func() bool {
		return r.putObjects(a, protocol.PutHeader{Owner: other.owner, Epoch: 1}, refs, other.objects) == nil
	})
	r.healthy(other.last)
	eventually(t, "the trouble is over", func() bool { return a.Status().Trouble == "" })
}
