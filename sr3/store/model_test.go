package store

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/sr3/shard"
)

// model is what a store should be like: maps.
type model struct {
	s         *Store
	d         *disk
	objects   map[shard.ObjectID]Item
	doomed    map[shard.ObjectID]bool
	held      map[shard.ObjectID][]func()
	manifests map[manifestKey]shard.Epoch
	fences    map[shard.Owner]shard.Epoch
	owners    []shard.Owner
}

func (m *model) open(tb testing.TB) {
	tb.Helper()
	m.s = open(tb, Options{Storage: m.d, tuning: tuning{writeBuffer: 128 << 10, leastDead: 1 << 10, mostRecords: 3, stretch: 4 << 10, pieces: mostPieces}})
}

func (m *model) expect(t *rapid.T, err error, want error) bool {
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
	return err == nil
}

func (m *model) item(tb testing.TB, t *rapid.T) Item {
	tb.Helper()
	o := rapid.SampledFrom(m.owners).Draw(t, "owner")
	v := shard.Version(rapid.IntRange(1, 3).Draw(t, "version"))
	e := shard.Epoch(rapid.IntRange(1, 3).Draw(t, "epoch"))
	return object(tb, o, rapid.IntRange(0, 2).Draw(t, "shard"), v, e, shard.Base, rapid.SampledFrom([]int{32, 40, 50, 60, 300, 700, 20 << 10, 900}).Draw(t, "bytes"))
}

func (m *model) put(tb testing.TB, t *rapid.T) {
	tb.Helper()
	it := m.item(tb, t)
	var want error
	have, here := m.objects[it.Ref.ObjectID]
	switch {
	case it.Ref.Epoch < m.fences[it.Ref.Owner]:
		want = ErrFenced
	case here && have.Ref.Checksum != it.Ref.Checksum:
		want = ErrConflict
	}
	if m.expect(t, m.s.Put(context.Background(), it), want) {
		m.objects[it.Ref.ObjectID] = it
		delete(m.doomed, it.Ref.ObjectID)
	}
}

func (m *model) remove(id shard.ObjectID) {
	if len(m.held[id]) > 0 {
		m.doomed[id] = true
		return
	}
	delete(m.objects, id)
}

func (m *model) dropOwner(o shard.Owner) {
	for id := range m.objects {
		if id.Owner == o {
			m.remove(id)
		}
	}
	for k := range m.manifests {
		if k.owner == o {
			delete(m.manifests, k)
		}
	}
	delete(m.fences, o)
}

func (m *model) release(id shard.ObjectID) {
	last := len(m.held[id]) - 1
	m.held[id][last]()
	m.held[id] = m.held[id][:last]
	if last == 0 && m.doomed[id] {
		delete(m.objects, id)
		delete(m.doomed, id)
	}
}

func (m *model) check(t *rapid.T) {
	for _, o := range m.owners {
		var want []shard.Ref
		for id, it := range m.objects {
			if id.Owner != o {
				continue
			}
			if !m.doomed[id] {
				want = append(want, it.Ref)
			}
			b, err := m.s.Get(context.Background(), it.Ref)
			if err != nil || string(b) != string(it.Stored) {
				t.Fatalf("%v: %v", id, err)
			}
		}
		got := m.s.Objects(o)
		if len(got) != len(want) {
			t.Fatalf("objects of %v are %v, want %v", o, got, want)
		}
		for _, r := range want {
			if !m.s.Has(r) {
				t.Fatalf("%v is not here", r.ObjectID)
			}
		}
		var versions []shard.Version
		for k, e := range m.manifests {
			if k.owner != o {
				continue
			}
			versions = append(versions, k.version)
			back, err := m.s.Manifest(o, k.version)
			if err != nil || back.Epoch != e {
				t.Fatalf("manifest %v is %v, %v", k, back, err)
			}
		}
		slices.Sort(versions)
		if got := m.s.Versions(o); !slices.Equal(got, versions) {
			t.Fatalf("versions are %v, want %v", got, versions)
		}
		if got := m.s.Fenced(o); got != m.fences[o] {
			t.Fatalf("fence is %v, want %v", got, m.fences[o])
		}
	}
}

// The store behaves like a few maps, whatever is asked of it, cleaning and opening
// it again included.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{
			d: newDisk(), objects: make(map[shard.ObjectID]Item), doomed: make(map[shard.ObjectID]bool),
			held: make(map[shard.ObjectID][]func()), manifests: make(map[manifestKey]shard.Epoch),
			fences: make(map[shard.Owner]shard.Epoch), owners: []shard.Owner{testOwner, {Topology: "t", Component: "c"}},
		}
		m.open(t)
		defer func() { _ = m.s.Close() }()
		ctx := context.Background()
		rt.Repeat(map[string]func(*rapid.T){
			"put":      func(rt *rapid.T) { m.put(t, rt) },
			"put more": func(rt *rapid.T) { m.put(t, rt) },
			"manifest": func(rt *rapid.T) {
				mf := manifest(shard.Version(rapid.IntRange(1, 3).Draw(rt, "version")), shard.Epoch(rapid.IntRange(1, 3).Draw(rt, "epoch")))
				k := manifestKey{testOwner, mf.Version}
				var want error
				switch have, here := m.manifests[k]; {
				case mf.Epoch < m.fences[testOwner]:
					want = ErrFenced
				case here && have != mf.Epoch:
					want = ErrConflict
				}
				if m.expect(rt, m.s.PutManifest(ctx, mf), want) {
					m.manifests[k] = mf.Epoch
				}
			},
			"fence": func(rt *rapid.T) {
				o := rapid.SampledFrom(m.owners).Draw(rt, "owner")
				e := shard.Epoch(rapid.IntRange(1, 3).Draw(rt, "epoch"))
				var want error
				if e < m.fences[o] {
					want = ErrFenced
				}
				if m.expect(rt, m.s.Fence(ctx, o, e), want) {
					m.fences[o] = e
				}
			},
			"delete": func(rt *rapid.T) {
				it := m.item(t, rt)
				m.expect(rt, m.s.Delete(ctx, it.Ref), nil)
				if have, here := m.objects[it.Ref.ObjectID]; here && have.Ref.Checksum == it.Ref.Checksum {
					m.remove(it.Ref.ObjectID)
				}
			},
			"delete manifest": func(rt *rapid.T) {
				k := manifestKey{testOwner, shard.Version(rapid.IntRange(1, 3).Draw(rt, "version"))}
				m.expect(rt, m.s.DeleteManifest(ctx, k.owner, k.version), nil)
				delete(m.manifests, k)
			},
			"drop": func(rt *rapid.T) {
				o := rapid.SampledFrom(m.owners).Draw(rt, "owner")
				m.expect(rt, m.s.DropOwner(ctx, o), nil)
				m.dropOwner(o)
			},
			"hold": func(rt *rapid.T) {
				it := m.item(t, rt)
				m.held[it.Ref.ObjectID] = append(m.held[it.Ref.ObjectID], m.s.Hold(it.Ref))
			},
			"release": func(rt *rapid.T) {
				it := m.item(t, rt)
				if len(m.held[it.Ref.ObjectID]) > 0 {
					m.release(it.Ref.ObjectID)
				}
			},
			"reopen": func(rt *rapid.T) {
				for id, h := range m.held {
					for range h {
						m.release(id)
					}
				}
				m.expect(rt, m.s.Fence(ctx, testOwner, m.fences[testOwner]), nil) // after what releases deleted
				m.expect(rt, m.s.DropOwner(ctx, shard.Owner{}), nil)
				m.expect(rt, m.s.Close(), nil)
				m.open(t)
			},
			"": m.check,
		})
	})
}
