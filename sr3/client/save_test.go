package client

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

// copies is on how many nodes each object of a version is, the fewest.
func (w *worker) copies() int {
	fewest := 1000
	for _, chain := range w.manifest.Shards {
		for _, ref := range chain {
			fewest = min(fewest, len(ref.Holders))
		}
	}
	return fewest
}

func TestEmptyState(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	w := r.worker(r.client("n0"), nil)
	w.mustLoad(0)
	w.checkpoint(1)
	w.checkpoint(2)
	h := r.heir(w, r.client("n1"), nil)
	h.mustLoad(2)
	h.check()
	h.put("a", "b")
	h.checkpoint(3)
	i := r.heir(h, r.client("n2"), nil)
	i.mustLoad(3)
	i.check()
}

func TestHugeValue(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	w := r.worker(r.client("n0"), func(o *TaskOptions) {
		o.HolderTimeout, o.SaveTimeout, o.Params.Stall = time.Minute, time.Minute, 20*time.Second
	})
	w.mustLoad(0)
	huge := make([]byte, 50<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(huge)
	w.put("huge", string(huge))
	w.put("small", "value")
	w.checkpoint(1)
	h := r.heir(w, r.client("n1"), nil)
	h.mustLoad(1)
	h.check()
}

func TestFewerHostsThanReplicas(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	w := r.worker(r.client("n0"), nil)
	w.mustLoad(0)
	w.fill(1, 500, 50)
	w.checkpoint(1)
	c := w.Report().Checkpoint
	if w.copies() != 2 || c.Short != c.Shards || c.Shards == 0 {
		t.Errorf("%d copies; reported: %+v", w.copies(), c)
	}
	if w.manifest.Replicas != 3 {
		t.Errorf("%d replicas wanted, want 3", w.manifest.Replicas)
	}
	h := r.heir(w, r.client("n1"), nil)
	h.mustLoad(1)
	h.check()
}

func TestSaveGoesOnWhileHoldersDie(t *testing.T) {
	t.Parallel()
	r := newRig(t, 6)
	w := r.worker(r.client("n0"), nil)
	w.mustLoad(0)
	w.fill(1, 2000, 100)
	w.checkpoint(1)
	for i, victim := range []string{"n5", "n4"} {
		w.churn(uint64(i), 500)
		v := shard.Version(2 + i)
		done := make(chan error, 1)
		w.saved[v] = clone(w.model)
		w.Save(v, w.last, w.epoch, func(err error) { done <- err })
		r.kill(victim)
		if err := w.until(done); err != nil {
			t.Fatal(err)
		}
		w.commit(v)
		for _, chain := range w.manifest.Shards {
			if ref := chain[len(chain)-1]; ref.Version == v && len(ref.Holders) < 3 {
				t.Fatalf("%v is on %v only", ref.ObjectID, ref.Holders)
			}
		}
		h := r.heir(w, r.client("n1"), nil)
		h.mustLoad(v)
		h.check()
		h.Close()
		w.epoch = h.epoch
	}
}

func TestHolderThatDoesNotAnswerIsPassedOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	f := r.front("n3")
	r.settle()
	w := r.worker(r.client("n0"), func(o *TaskOptions) { o.HolderTimeout = 200 * time.Millisecond })
	w.mustLoad(0)
	w.fill(1, 2000, 100)
	f.stalled.Store(true)
	w.checkpoint(1)
	if w.copies() != 3 {
		t.Errorf("%d copies, want 3", w.copies())
	}
	for _, chain := range w.manifest.Shards {
		for _, id := range chain[0].Holders {
			if id == "n3" {
				t.Fatalf("%v is said to be on n3, which never answered", chain[0].ObjectID)
			}
		}
	}
	// It is not waited for again.
	w.churn(1, 100)
	if !w.c.shun.all()["n3"] {
		t.Error("n3 is not remembered")
	}
	w.checkpoint(2)
	h := r.heir(w, r.client("n1"), nil)
	h.mustLoad(2)
	h.check()
}

func TestThawedChangesAreInTheNextVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	f := r.front("n2")
	r.settle()
	w := r.worker(r.client("n0"), func(o *TaskOptions) { o.SaveTimeout, o.HolderTimeout = time.Second, time.Minute })
	w.mustLoad(0)
	w.fill(1, 300, 50)
	w.checkpoint(1)
	w.put("one", "first")
	f.stalled.Store(true)
	f.deaf.Store(true)
	err := w.save(2)
	if err == nil || !strings.Contains(err.Error(), "longer than 1s") {
		t.Fatalf("a save whose holder never answers: %v", err)
	}
	w.Thaw(2)
	w.put("two", "second")
	// One that is under way is given up.
	done := make(chan error, 1)
	w.Save(3, 1, w.epoch, func(err error) { done <- err })
	w.put("three", "third")
	w.Thaw(3)
	isErr(t, "the save that was thawed", w.until(done), ErrSuperseded)
	f.stalled.Store(false)
	f.deaf.Store(false)
	w.checkpoint(4)
	h := r.heir(w, r.client("n1"), nil)
	h.mustLoad(4)
	h.check()
	for _, k := range []string{"one", "two", "three"} {
		if _, ok := h.Get([]byte(k)); !ok {
			t.Errorf("%q is lost", k)
		}
	}
	// What was never committed can be rolled back.
	w.epoch = h.epoch
	w.put("four", "fourth")
	if err := w.save(5); err != nil {
		t.Fatal(err)
	}
	w.mustLoad(4)
	w.check()
	// And what was committed without a word of it is found so.
	w.put("five", "fifth")
	if err := w.save(6); err != nil {
		t.Fatal(err)
	}
	w.put("six", "sixth")
	w.mustLoad(6)
	w.check()
	if n := len(w.Report().Recoveries); n != 0 {
		t.Errorf("%d recoveries, want none", n)
	}
}

func TestOldPlacementIsFenced(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	w := r.worker(r.client("n0"), nil)
	w.mustLoad(0)
	w.fill(1, 100, 50)
	w.checkpoint(1)
	h := r.heir(w, r.client("n1"), nil)
	h.mustLoad(1)
	w.put("zombie", "brains")
	isErr(t, "save of an old placement", w.save(2), ErrFenced)
	isErr(t, "load of an old placement", w.reload(0, 1), ErrFenced)
	h.put("a", "b")
	h.checkpoint(2)
	h.check()
}

// reload loads in an epoch of its own.
func (w *worker) reload(v shard.Version, epoch shard.Epoch) error {
	w.t.Helper()
	done := make(chan error, 1)
	w.Load(v, epoch, func(err error) { done <- err })
	return w.until(done)
}

func TestSaveOnWrongBase(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	w := r.worker(r.client("n0"), nil)
	w.mustLoad(0)
	w.checkpoint(1)
	w.last = 0
	if err := w.save(2); err == nil || !strings.Contains(err.Error(), "based on version 0, and 1 is the last one here") {
		t.Errorf("save on a wrong base: %v", err)
	}
	w.last = 1
	if err := w.save(1); err == nil {
		t.Error("a version was saved on itself")
	}
	w.Thaw(1)
	w.checkpoint(3)
}

func TestVersionWithOtherContentIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	w := r.worker(r.client("n0"), nil)
	w.mustLoad(0)
	w.put("a", "1")
	if err := w.save(1); err != nil {
		t.Fatal(err)
	}
	h := r.worker(r.client("n1"), nil)
	h.epoch = w.epoch - 1
	h.mustLoad(0)
	h.put("a", "2")
	isErr(t, "the same version of other content", h.save(1), ErrConflict)
}

// A node that has another manifest of the version says so, and is not taken for one
// that has stored it.
func TestManifestConflictEndsTheSave(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	f := r.front("n3")
	r.settle()
	w := r.worker(r.client("n0"), nil)
	w.mustLoad(0)
	w.put("a", "1")
	f.setForge(func(method byte) ([]byte, bool, error) {
		return nil, method == protocol.PutManifest, &transport.RemoteError{Code: protocol.CodeConflict, Text: "another manifest"}
	})
	isErr(t, "a manifest in conflict", w.save(1), ErrConflict)
}

func TestChainsAreFolded(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	w := r.worker(r.client("n0"), nil)
	w.mustLoad(0)
	w.fill(1, 1500, 100)
	w.checkpoint(1)
	folded := false
	for v := shard.Version(2); v < 60 && !folded; v++ {
		w.churn(uint64(v), 120)
		w.checkpoint(v)
		longest := 0
		for _, chain := range w.manifest.Shards {
			longest = max(longest, len(chain))
			folded = folded || len(chain) > 1 && chain[0].Version > 1 && chain[0].Version < v
		}
		eventually(t, "holders have folded", func() bool {
			w.folds.mu.Lock()
			defer w.folds.mu.Unlock()
			return len(w.folds.asked) == 0
		})
		if longest > shard.MaxChain+2 {
			t.Fatalf("version %d has a chain of %d", v, longest)
		}
		if len(w.folds.due) > 0 {
			t.Fatalf("holders did not fold %v", w.folds.due)
		}
	}
	if !folded {
		t.Fatal("no chain was folded by its holders")
	}
	w.churn(99, 40)
	w.checkpoint(100)
	h := r.heir(w, r.client("n2"), nil)
	h.mustLoad(100)
	h.check()
}
