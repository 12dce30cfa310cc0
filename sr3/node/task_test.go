package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// putObjects writes objects to one node as a client does.
func (r *rig) putObjects(n *Node, h protocol.PutHeader, refs []shard.Ref, stored map[shard.ObjectID][]byte) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	h.Count, h.Bytes = len(refs), 0
	for _, ref := range refs {
		h.Bytes += ref.Stored
	}
	s, err := r.client.Open(ctx, n.Addr(), protocol.PutObjects, protocol.Encode(h))
	if err != nil {
		return err
	}
	defer s.Close()
	for _, ref := range refs {
		err := protocol.Put(func(m []byte) error { return s.Send(ctx, m) }, ref, stored[ref.ObjectID])
		if err != nil {
			_, recv := s.Recv(ctx) // the reason
			return cmpErr(recv, err)
		}
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	if _, err = s.Recv(ctx); errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// task is a writer with state.
type task struct {
	r        *rig
	owner    shard.Owner
	table    *shard.Table
	epoch    shard.Epoch
	replicas int
	last     *shard.Manifest
	objects  map[shard.ObjectID][]byte // all that were ever written
	// spare keeps a node from getting an object, full a node from getting anything.
	spare func(ref shard.Ref, node string) bool
	full  string
}

func (r *rig) task(component string) *task {
	o := shard.Owner{Topology: "top", Component: component, Task: 3}
	return &task{
		r: r, owner: o, epoch: 1, replicas: 3, objects: make(map[shard.ObjectID][]byte),
		table: shard.NewTable(shard.Options{Owner: o, Target: 32 << 10}),
		last:  &shard.Manifest{Owner: o, Replicas: 3},
	}
}

// write changes n of the keys below space.
func (k *task) write(rng *rand.Rand, n, space int) {
	k.r.t.Helper()
	value := make([]byte, 100)
	for range n {
		for i := range value {
			value[i] = byte(rng.Uint32())
		}
		if err := k.table.Put(fmt.Appendf(nil, "key%06d", rng.IntN(space)), value); err != nil {
			k.r.t.Fatal(err)
		}
	}
}

// save writes a version to the ring and commits it.
func (k *task) save(version shard.Version) *shard.Manifest {
	k.r.t.Helper()
	m := k.prepare(version)
	k.commit(version)
	return m
}

func (k *task) commit(version shard.Version) {
	k.r.t.Helper()
	old, err := k.r.records.Get(k.r.t.Context(), "top")
	if err != nil {
		k.r.t.Fatal(err)
	}
	next := old
	next.Committed, next.Last = max(version, old.Committed), k.epoch
	if ok, err := call[protocol.SwapAnswer](k.r, k.r.any(), protocol.SwapRecord, protocol.SwapRequest{Topology: "top", Expect: old, Next: next}); err != nil || !ok.Written {
		k.r.t.Fatalf("swap: %v %v", ok, err)
	}
}

func (k *task) prepare(version shard.Version) *shard.Manifest {
	k.r.t.Helper()
	t := k.r.t
	f := k.table.Freeze()
	var refs []shard.Ref
	err := f.Objects(k.r.codec, version, k.epoch, false, func(ref shard.Ref, b []byte) error {
		refs = append(refs, ref)
		k.objects[ref.ObjectID] = b
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Release()
	if err := k.table.Commit(f); err != nil {
		t.Fatal(err)
	}
	to := make(map[string][]shard.Ref)
	for i := range refs {
		for _, h := range ring.Holders(k.r.view(), k.owner.ShardHash(refs[i].Range.First), k.replicas) {
			if k.spare != nil && k.spare(refs[i], h.ID) || h.ID == k.full {
				continue
			}
			refs[i].Holders = append(refs[i].Holders, shard.NodeID(h.ID))
			to[h.ID] = append(to[h.ID], refs[i])
		}
	}
	for name, list := range to {
		h := protocol.PutHeader{Owner: k.owner, Epoch: k.epoch, Committed: k.last.Version}
		if err := k.r.putObjects(k.r.nodes[name], h, list, k.objects); err != nil {
			t.Fatalf("put to %s: %v", name, err)
		}
	}
	m, err := k.last.Next(version, k.epoch, 1, refs)
	if err != nil {
		t.Fatal(err)
	}
	m.Replicas = k.replicas
	k.last = m
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range nodesOf(m, k.r.view()) {
		if n := k.r.nodes[name]; n != nil && name != k.full {
			if _, err := k.r.client.Call(t.Context(), n.Addr(), protocol.PutManifest, b); err != nil {
				t.Fatalf("manifest to %s: %v", name, err)
			}
		}
	}
	return m
}

// contents are all entries of a table.
func contents(t *shard.Table) map[string]string {
	out := make(map[string]string)
	for k, v := range t.All(nil) {
		out[string(k)] = string(v)
	}
	return out
}

// nodesOf are those that get a manifest.
func nodesOf(m *shard.Manifest, v *ring.View) []string {
	set := make(map[string]bool)
	for _, h := range ring.Holders(v, m.Owner.Hash(), m.Replicas) {
		set[h.ID] = true
	}
	for _, chain := range m.Shards {
		for _, ref := range chain {
			for _, h := range ref.Holders {
				set[string(h)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}
