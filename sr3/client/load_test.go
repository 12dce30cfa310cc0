package client

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/node"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

var allModes = []recovery.Mode{recovery.Star, recovery.Line, recovery.Tree}

// written makes a state of some chains and commits it as the version that it
// returns.
func (w *worker) written(keys int) shard.Version {
	w.t.Helper()
	w.mustLoad(0)
	w.fill(7, keys, 200)
	w.checkpoint(1)
	w.churn(1, keys/20)
	w.checkpoint(2)
	w.churn(2, keys/20)
	w.checkpoint(3)
	return 3
}

func TestHoldersDieInMidRecovery(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 3))
			r := newRig(t, 6)
			w := r.worker(r.client("n0"), nil)
			v := w.written(4000)
			h := r.heir(w, r.client("n0"), func(o *TaskOptions) { o.Mode = allModes[seed%3] })
			done := make(chan error, 1)
			h.Load(v, w.epoch+1, func(err error) { done <- err })
			victims := rng.Perm(5)[:2]
			h.run(rng.IntN(3)) // a few shards, perhaps
			for _, i := range victims {
				r.kill(fmt.Sprintf("n%d", 1+i))
			}
			if err := h.until(done); err != nil {
				t.Fatal(err)
			}
			h.model = w.saved[v]
			h.check()
		})
	}
}

// run runs the next n functions that are posted.
func (w *worker) run(n int) {
	w.t.Helper()
	limit := time.After(20 * time.Second)
	for range n {
		select {
		case f := <-w.posted:
			f()
		case <-limit:
			w.t.Fatal("nothing is posted")
		}
	}
}

func TestSlowHolder(t *testing.T) {
	t.Parallel()
	for _, mode := range allModes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 3)
			f := r.front("n3")
			r.settle()
			w := r.worker(r.client("n0"), nil)
			v := w.written(3000)
			// It says what it has, begins to send, and then is silent for ever.
			sent := 0
			f.setSpoil(func(protocol.Frame, []byte) error {
				if sent++; sent > 2 {
					f.stalled.Store(true)
				}
				return nil
			})
			h := r.heir(w, r.client("n1"), func(o *TaskOptions) { o.Mode = mode })
			h.mustLoad(v)
			h.check()
		})
	}
}

func TestDeafHolder(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	f := r.front("n3")
	r.settle()
	w := r.worker(r.client("n0"), nil)
	v := w.written(3000)
	f.stalled.Store(true)
	f.deaf.Store(true)
	h := r.heir(w, r.client("n1"), func(o *TaskOptions) { o.HolderTimeout, o.Params.Stall = time.Minute, time.Minute })
	began := time.Now()
	h.mustLoad(v)
	h.check()
	// Others have all it has, so it is not waited for.
	if d := time.Since(began); d > 30*time.Second {
		t.Errorf("the recovery took %v", d)
	}
}

func TestDamagedCopies(t *testing.T) {
	t.Parallel()
	for _, mode := range allModes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 3)
			f := r.front("n3")
			r.settle()
			w := r.worker(r.client("n0"), nil)
			v := w.written(3000)
			n := 0
			f.setSpoil(func(h protocol.Frame, body []byte) error {
				if h.Kind == protocol.FrameChunk {
					n++
					body[n%len(body)] ^= 1
				}
				return nil
			})
			h := r.heir(w, r.client("n1"), func(o *TaskOptions) { o.Mode = mode })
			h.mustLoad(v)
			h.check()
		})
	}
}

func TestNoLivingCopyThenItReturns(t *testing.T) {
	t.Parallel()
	for _, onDemand := range []bool{false, true} {
		t.Run(fmt.Sprintf("ondemand=%v", onDemand), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 5)
			w := r.worker(r.client("n0"), nil)
			v := w.written(2000)
			for _, name := range []string{"n2", "n3", "n4"} {
				r.kill(name)
			}
			r.settle()
			h := r.heir(w, r.client("n1"), func(o *TaskOptions) { o.OnDemand = onDemand })
			done := make(chan error, 1)
			h.Load(v, w.epoch+1, func(err error) { done <- err })
			eventually(t, "it is known what is waited for", func() bool { return len(h.waits()) > 0 })
			if onDemand {
				if err := h.until(done); err != nil {
					t.Fatal(err)
				}
				done <- nil
			}
			r.start("n3", nil)
			if err := h.until(done); err != nil {
				t.Fatal(err)
			}
			h.model = w.saved[v]
			h.check()
			eventually(t, "nothing is waited for", func() bool { return len(h.waits()) == 0 && h.notes.wait() == "" })
		})
	}
}

// waits are the shards that the last recovery waits for.
func (w *worker) waits() []int {
	r := w.Report().Recoveries
	if len(r) == 0 {
		return nil
	}
	return r[len(r)-1].Waiting
}

func TestNoManifestThenItReturns(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	w := r.worker(r.client("n0"), func(o *TaskOptions) { o.Replicas = 1 })
	v := w.written(200)
	h := r.heir(w, r.client("n0"), nil)
	done := make(chan error, 1)
	h.Load(v+1, w.epoch+1, func(err error) { done <- err })
	eventually(t, "it is known what is waited for", func() bool { return strings.Contains(h.notes.wait(), "manifest of version 4") })
	w.epoch++
	w.churn(5, 10)
	w.checkpoint(v + 1)
	if err := h.until(done); err != nil {
		t.Fatal(err)
	}
	h.model = w.saved[v+1]
	h.check()
}

// wait is what the last recovery waits for.
func (n *notes) wait() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.entries) == 0 {
		return ""
	}
	return n.entries[len(n.entries)-1].waiting
}

func TestStartEmpty(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	w := r.worker(r.client("n0"), func(o *TaskOptions) { o.Replicas = 1 })
	v := w.written(2000)
	r.kill("n2")
	r.settle()
	h := r.heir(w, r.client("n1"), nil)
	done := make(chan error, 1)
	h.Load(v, w.epoch+1, func(err error) { done <- err })
	eventually(t, "it is known what is waited for", func() bool { return len(h.waits()) > 0 })
	lost := h.waits()
	h.StartEmpty()
	if err := h.until(done); err != nil {
		t.Fatal(err)
	}
	h.model = clone(w.saved[v])
	for k := range h.model {
		for _, i := range lost {
			if h.manifest.Shards[i][0].Range.Has(shard.Hash([]byte(k))) {
				delete(h.model, k)
			}
		}
	}
	h.check()
	if len(h.model) == 0 || len(h.model) == len(w.saved[v]) {
		t.Fatalf("%d of %d keys are left", len(h.model), len(w.saved[v]))
	}
	// What was lost is in no later version.
	h.last, h.epoch = v, w.epoch+1
	h.put("new", "key")
	h.checkpoint(v + 1)
	r.start("n2", nil)
	r.settle()
	i := r.heir(h, r.client("n1"), nil)
	i.mustLoad(v + 1)
	i.check()
}

func TestOnDemand(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	f := r.front("n4")
	r.settle()
	w := r.worker(r.client("n0"), nil)
	v := w.written(3000)
	keys := slices.Sorted(func(yield func(string) bool) {
		for k := range w.model {
			if !yield(k) {
				return
			}
		}
	})
	f.setSpoil(func(protocol.Frame, []byte) error {
		f.stalled.Store(true)
		return nil
	})
	h := r.heir(w, r.client("n1"), func(o *TaskOptions) { o.OnDemand = true })
	h.mustLoad(v)
	// It is used, written to and saved while shards come.
	for i, k := range keys[:50] {
		if got, ok := h.Get([]byte(k)); !ok || string(got) != h.model[k] {
			t.Fatalf("key %q has %.20q, %v", k, got, ok)
		}
		h.put(keys[len(keys)-1-i], "changed")
		h.del(keys[100+i])
	}
	h.checkpoint(v + 1)
	h.put("again", "changed")
	h.check() // waits for all
	h.mustLoad(v + 1)
	h.check()
	i := r.heir(h, r.client("n2"), nil)
	i.mustLoad(v + 1)
	i.check()
}

// The only node that has something may be slower than any patience, for ever: it is
// given more each time.
func TestEverSlowNode(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	f := r.front("n1")
	r.settle()
	w := r.worker(r.client("n0"), nil)
	v := w.written(500)
	r.kill("n0")
	f.slow.Store(int64(400 * time.Millisecond))
	h := r.heir(w, r.client("n1"), func(o *TaskOptions) { o.HolderTimeout = 100 * time.Millisecond })
	h.mustLoad(v)
	h.check()
}

func TestOnDemandRollbackWhileShardsCome(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	f := r.front("n3")
	r.settle()
	w := r.worker(r.client("n0"), func(o *TaskOptions) { o.Replicas = 1 })
	v := w.written(3000)
	f.stalled.Store(true)
	h := r.heir(w, r.client("n1"), func(o *TaskOptions) { o.OnDemand = true })
	h.mustLoad(v)
	eventually(t, "something has come", func() bool { return h.Report().Recoveries[0].Installed > 0 })
	var some string
	for k := range h.model {
		if h.run(0); !h.table.Missing([]byte(k)) {
			some = k
			break
		}
		if len(h.posted) > 0 {
			h.run(1)
		}
	}
	if some == "" {
		t.Fatal("nothing is there")
	}
	h.put(some, "rolled back")
	h.mustLoad(v) // the load under way goes on
	if n := len(h.Report().Recoveries); n != 1 {
		t.Fatalf("%d recoveries", n)
	}
	f.stalled.Store(false)
	h.check()
}

func TestSupersededLoad(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	f := r.front("n3")
	r.settle()
	w := r.worker(r.client("n0"), func(o *TaskOptions) { o.Replicas = 1 })
	w.written(2000)
	f.stalled.Store(true)
	h := r.heir(w, r.client("n1"), nil)
	h.Load(3, 10, func(err error) { t.Errorf("a superseded load says %v", err) })
	h.Load(2, 11, func(err error) { t.Errorf("a superseded load says %v", err) })
	done := make(chan error, 1)
	h.Load(2, 12, func(err error) { done <- err })
	eventually(t, "the load is under way", func() bool {
		for len(h.posted) > 0 {
			h.run(1)
		}
		return h.loading.adopted
	})
	if h.committed != 2 {
		t.Errorf("version %d is under way", h.committed)
	}
	f.stalled.Store(false)
	if err := h.until(done); err != nil {
		t.Fatal(err)
	}
	h.model = w.saved[2]
	h.check()
	h.Load(0, 13, func(err error) { done <- err })
	if err := h.until(done); err != nil || h.Len() != 0 {
		t.Fatalf("%v, %d keys", err, h.Len())
	}
}

func TestSeveralRecoveriesAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5)
	c, d := r.client("n0"), r.client("n1")
	const tasks = 4
	var old, heirs [tasks]*worker
	for i := range tasks {
		old[i] = r.worker(c, func(o *TaskOptions) { o.Owner = owner(int32(i)) })
		old[i].mustLoad(0)
		old[i].fill(uint64(i), 1500, 100)
		old[i].checkpoint(1)
	}
	r.kill("n4")
	for i, w := range old {
		heirs[i] = r.heir(w, d, func(o *TaskOptions) { o.Mode = allModes[i%3] })
	}
	var done [tasks]chan error
	for i, h := range heirs {
		done[i] = make(chan error, 1)
		h.Load(1, 5, func(err error) { done[i] <- err })
	}
	for i, h := range heirs {
		if err := h.until(done[i]); err != nil {
			t.Fatal(err)
		}
		h.model = old[i].saved[1]
		h.check()
	}
}

func TestCloseWhileAGetWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	f := r.front("n2")
	r.settle()
	w := r.worker(r.client("n0"), func(o *TaskOptions) { o.Replicas = 1 })
	v := w.written(2000)
	f.stalled.Store(true)
	c := r.client("n1")
	h := r.heir(w, c, func(o *TaskOptions) { o.OnDemand = true })
	h.mustLoad(v)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-time.After(50 * time.Millisecond)
		c.Close()
	}()
	func() {
		defer func() {
			err, _ := recover().(error)
			isErr(t, "a walk through a state that does not come", err, ErrClosed)
		}()
		h.Len()
	}()
	<-closed
	missing := ""
	for k := range h.model {
		if h.table.Missing([]byte(k)) {
			missing = k
		}
	}
	isErr(t, "a put", h.Put([]byte(missing), nil), ErrClosed)
	isErr(t, "a save", h.save(v+1), ErrClosed)
	isErr(t, "a load", h.load(v), ErrClosed)
	if _, err := c.Task(TaskOptions{Owner: owner(2), Post: func(func()) {}}); !errors.Is(err, ErrClosed) {
		t.Errorf("a task of a closed client: %v", err)
	}
}

func TestStateAboveItsLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	w := r.worker(r.client("n0"), nil)
	v := w.written(1000)
	h := r.heir(w, r.client("n1"), func(o *TaskOptions) { o.Limit = 50_000 })
	isErr(t, "a load above the limit", h.load(v), shard.ErrTooLarge)
	h = r.heir(w, r.client("n1"), func(o *TaskOptions) { o.Limit = 50_000 })
	h.epoch = 20
	h.mustLoad(0)
	err := h.Put([]byte("k"), make([]byte, 60_000))
	isErr(t, "a put above the limit", err, shard.ErrTooLarge)
}

func TestRingTooLargeToBeKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	r.large = true
	for i := range 8 {
		r.start(fmt.Sprintf("n%d", i), func(c *node.Config) {
			c.Ring.FullView, c.Ring.Successors, c.Positions = 2, 4, 1
		})
	}
	r.settle()
	first := r.client("n0")
	eventually(t, "every node finds every other", func() bool {
		for _, from := range r.nodes {
			for name := range r.nodes {
				var a protocol.LookupAnswer
				err := first.ask(t.Context(), from.Addr(), protocol.LookupKey, protocol.LookupRequest{Key: ring.PositionOf(name, 0)}, &a)
				if err != nil || len(a.Nodes) < 4 || a.Nodes[0].ID != name {
					return false
				}
			}
		}
		return true
	})
	w := r.worker(first, func(o *TaskOptions) { o.ShardBytes, o.SaveTimeout = 64<<10, time.Minute })
	v := w.written(2000)
	if w.copies() != 3 {
		t.Errorf("%d copies, want 3", w.copies())
	}
	c := r.client("n5")
	h := r.heir(w, c, nil)
	h.mustLoad(v)
	h.check()
	if p := c.views.now(); p.complete {
		t.Errorf("the ring of %d nodes is known as a whole", len(p.nodes))
	}
}

// A node that answers with the manifest of another version is not believed.
func TestManifestOfAnotherVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	f := r.front("n3")
	r.settle()
	w := r.worker(r.client("n0"), nil)
	w.mustLoad(0)
	w.fill(1, 50, 20)
	w.checkpoint(1)
	old, err := w.c.raw(t.Context(), r.nodes["n0"].Addr(), protocol.GetManifest, protocol.Encode(protocol.VersionRequest{Owner: w.o.Owner, Version: 1}))
	if err != nil {
		t.Fatal(err)
	}
	w.fill(2, 50, 20)
	w.checkpoint(2)
	f.setForge(func(method byte) ([]byte, bool, error) { return old, method == protocol.GetManifest, nil })
	l := &loading{t: w.Task, version: 2}
	if m, err := l.manifestFrom(t.Context(), ring.Node{ID: "n3", Addr: f.end.Addr()}); err == nil {
		t.Errorf("it takes the manifest of version %d", m.Version)
	}
	if m, err := l.manifestFrom(t.Context(), ring.Node{ID: "n0", Addr: r.nodes["n0"].Addr()}); err != nil || m.Version != 2 {
		t.Errorf("from another: %v, %v", m, err)
	}
}
