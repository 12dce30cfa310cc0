package node

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// placed tells whether all that the ring says a node should keep of the manifest is
// there, on every node.
func (r *rig) placed(m *shard.Manifest) bool {
	for _, h := range ring.Holders(r.view(), m.Owner.Hash(), m.Replicas) {
		if !slices.Contains(r.nodes[h.ID].store.Versions(m.Owner), m.Version) {
			return false
		}
	}
	for _, chain := range m.Shards {
		for _, h := range ring.Holders(r.view(), m.Owner.ShardHash(chain[0].Range.First), m.Replicas) {
			for _, ref := range chain {
				if !r.nodes[h.ID].store.Has(ref) {
					return false
				}
			}
		}
	}
	return true
}

// strays are copies of the manifest's objects on nodes that should have none.
func (r *rig) strays(m *shard.Manifest) int {
	n := 0
	for _, chain := range m.Shards {
		holders := ring.Holders(r.view(), m.Owner.ShardHash(chain[0].Range.First), m.Replicas)
		for name, node := range r.nodes {
			if slices.ContainsFunc(holders, func(h ring.Node) bool { return h.ID == name }) {
				continue
			}
			for _, ref := range chain {
				if node.store.Has(ref) {
					n++
				}
			}
		}
	}
	return n
}

// healthy waits until the ring is as m wants it and says so.
func (r *rig) healthy(m *shard.Manifest) {
	r.t.Helper()
	r.settle()
	eventually(r.t, "every copy is in its place", func() bool { return r.placed(m) })
	eventually(r.t, "no node misses anything", func() bool {
		for _, n := range r.nodes {
			if n.Status().UnderReplicated != 0 {
				return false
			}
		}
		return true
	})
}

// said is a log that many may write to.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.text.String(), text)
}

// A ring of more nodes than one can know is not repaired, which each node says once.
func TestTooLargeARingIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	logs := map[string]*said{}
	for _, name := range []string{"a", "b", "c", "d"} {
		logs[name] = &said{}
		r.start(name, func(c *Config) {
			c.Ring.FullView, c.UpkeepEvery = 2, 10*time.Millisecond
			c.Log = slog.New(slog.NewTextHandler(logs[name], nil))
		})
	}
	const text = "does not know the whole ring"
	eventually(t, "all nodes say so", func() bool {
		for _, l := range logs {
			if l.count(text) == 0 {
				return false
			}
		}
		return true
	})
	for name, l := range logs {
		if n := l.count(text); n != 1 || !r.nodes[name].Status().Joined || r.nodes[name].Status().Complete {
			t.Errorf("%s said it %d times", name, n)
		}
	}
}

// A node that dies is made up for, one that joins takes over, and what it took over
// goes elsewhere.
func TestCopiesFollowTheRing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c", "d", "e")
	rng := rand.New(rand.NewPCG(2, 1))
	k := r.task("c")
	for v := range shard.Version(3) {
		k.write(rng, 3000>>(4*v), 3000)
		k.save(v + 1)
	}
	r.healthy(k.last)
	r.kill("b")
	r.healthy(k.last)
	r.start("f", nil)
	r.start("g", nil)
	r.healthy(k.last)
	eventually(t, "old copies are gone", func() bool { return r.strays(k.last) == 0 })
	if !r.placed(k.last) {
		t.Error("copies are gone that should be there")
	}
	r.kill("c")
	r.kill("d")
	r.healthy(k.last)
	got, _ := r.recover(k.last, "star", nil)
	equal(t, "after all this", got, contents(k.table))
}

// What is left of an old placement is repaired though a newer one has fenced it.
func TestRepairBehindTheFence(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c", "d")
	k := r.task("c")
	k.write(rand.New(rand.NewPCG(2, 2)), 2000, 2000)
	m := k.save(1)
	for _, n := range r.nodes {
		if err := n.store.Fence(t.Context(), k.owner, 7); err != nil {
			t.Fatal(err)
		}
	}
	r.kill("a")
	r.healthy(m)
}

// A node comes back with its disk, and once more without.
func TestRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c", "d")
	k := r.task("c")
	k.write(rand.New(rand.NewPCG(2, 3)), 2000, 2000)
	m := k.save(1)
	r.healthy(m)
	objects := r.nodes["b"].Status().Objects
	r.kill("b")
	b := r.start("b", nil)
	r.healthy(m)
	if s := b.Status(); s.Objects != objects || s.Repaired != 0 {
		t.Errorf("with its disk it has %d objects of %d, %d were fetched", s.Objects, objects, s.Repaired)
	}
	r.kill("b")
	if err := os.RemoveAll(r.configs["b"].Dir); err != nil {
		t.Fatal(err)
	}
	b = r.start("b", nil)
	r.healthy(m)
	eventually(t, "all was fetched", func() bool {
		s := b.Status()
		return s.Objects == objects && s.Repaired == int64(objects)
	})
}

// A byte that changed on disk is found by the scrub and made good.
func TestScrub(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c")
	k := r.task("c")
	k.write(rand.New(rand.NewPCG(2, 4)), 2000, 2000)
	m := k.save(1)
	r.kill("a")
	r.start("a", nil) // which moves what is in the journal into tables
	r.healthy(m)
	flip(t, r.configs["a"].Dir, k.objects[m.Shards[1][0].ObjectID][100:164])
	a := r.nodes["a"]
	if err := a.store.Scrub(t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the damage is seen", func() bool { return a.Status().Damaged > 0 })
	r.healthy(m)
	eventually(t, "all that was damaged is counted as repaired", func() bool {
		s := a.Status()
		return s.Repaired >= 1 && s.Repaired >= s.Damaged
	})
}

// flip changes a byte in the first file of a folder that has these bytes.
func flip(t *testing.T, dir string, what []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if at := bytes.Index(b, what); at >= 0 {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt([]byte{b[at] ^ 4}, int64(at)); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no file has the object")
}

// What belongs to a topology that does not exist any more goes, and nothing of it
// while the coordination store is away.
func TestTopologyGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c")
	k := r.task("c")
	k.write(rand.New(rand.NewPCG(2, 5)), 100, 100)
	k.save(1)
	r.records.kill("top")
	eventually(t, "all is gone", func() bool {
		for _, n := range r.nodes {
			if len(n.store.Owners()) > 0 {
				return false
			}
		}
		return true
	})
}

// Old versions and folded chains go once nobody names them.
func TestOldVersionsGo(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c")
	k := r.task("c")
	rng := rand.New(rand.NewPCG(2, 6))
	k.write(rng, 1000, 1000)
	for v := range shard.Version(14) {
		k.write(rng, 10, 1000)
		k.save(v + 1)
	}
	eventually(t, "few versions are left", func() bool {
		for _, n := range r.nodes {
			// Beside the last two one that was the last but one to be heard of.
			if v := n.store.Versions(k.owner); len(v) > 3 || !slices.Equal(v[len(v)-2:], []shard.Version{13, 14}) {
				return false
			}
		}
		return true
	})
	r.healthy(k.last)
	eventually(t, "long chains are folded", func() bool {
		for _, n := range r.nodes {
			for _, chain := range k.last.Shards {
				if len(shorten(n.bases(k.owner), chain)) == len(chain) {
					return false
				}
			}
		}
		return true
	})
	chain := k.last.Shards[0]
	var refs []shard.Ref
	for _, n := range r.nodes {
		ref, err := call[shard.Ref](r, n, protocol.Fold, protocol.Refs{Refs: chain})
		if err != nil {
			t.Fatal(err)
		}
		if !n.store.Has(ref) || ref.ObjectID != foldOf(chain) {
			t.Errorf("%s says it has folded %v", n.id, ref)
		}
		refs = append(refs, ref)
	}
	if !reflect.DeepEqual(refs[0], refs[1]) || !reflect.DeepEqual(refs[1], refs[2]) {
		t.Errorf("folds differ: %v", refs)
	}
	got, _ := r.recover(k.last, "star", nil)
	equal(t, "folded", got, contents(k.table))
}
