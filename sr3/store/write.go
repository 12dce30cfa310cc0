package store

import (
	"context"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/stormring/stormring/sr3/shard"
)

// Item is an object to be stored.
type Item struct {
	Ref    shard.Ref
	Stored []byte
}

// do hands an operation to the committer and waits. If ctx ends before the
// committer has taken it up nothing happens; later its end is waited for, since the
// committer reads the caller's bytes.
func (s *Store) do(ctx context.Context, o operation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &request{operation: o, done: make(chan error, 1)}
	select {
	case s.queue <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return fmt.Errorf("store %s: %w", s.where(), ErrClosed)
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, withdrawn) {
			return ctx.Err()
		}
	case <-s.done:
		// It may have come into the queue after the last look at it.
		if r.state.CompareAndSwap(waiting, withdrawn) {
			return fmt.Errorf("store %s: %w", s.where(), ErrClosed)
		}
	}
	return <-r.done
}

// Put stores objects, all or none, and returns when they are fsynced. What is
// here already, with the same checksum, is fine. The bytes must not change before
// it returns. Errors wrap ErrDamaged if bytes are not what their ref says,
// shard.ErrTooLarge beyond MaxObject, ErrConflict, ErrFenced, ErrFull, ErrClosed.
// After an error of the disk, none of these, they may be stored all the same.
func (s *Store) Put(ctx context.Context, items ...Item) error {
	o, err := puttingOf(items)
	if err != nil || len(items) == 0 {
		return err
	}
	return s.do(ctx, o)
}

// Restore is Put whatever the fence says of the epoch: for objects that a kept
// manifest names and that another holder lost or this one never had.
func (s *Store) Restore(ctx context.Context, items ...Item) error {
	o, err := puttingOf(items)
	if err != nil || len(items) == 0 {
		return err
	}
	return s.do(ctx, restoring{o})
}

// puttingOf verifies items.
func puttingOf(items []Item) (putting, error) {
	o := make(putting, len(items))
	for i := range items {
		ref := &items[i].Ref
		if len(items[i].Stored) > MaxObject {
			return nil, fmt.Errorf("%v: %d bytes, more than %d: %w", ref.ObjectID, len(items[i].Stored), MaxObject, shard.ErrTooLarge)
		}
		if err := checkOwner(ref.Owner); err != nil {
			return nil, err
		}
		if err := shard.Verify(*ref, items[i].Stored); err != nil {
			return nil, err
		}
		o[i] = items[i]
	}
	return o, nil
}

// checkOwner refuses names that a head has no room for.
func checkOwner(o shard.Owner) error {
	if n := max(len(o.Topology), len(o.Component)); n > maxName {
		return fmt.Errorf("owner %.100v: a name of %d bytes, more than %d: %w", o, n, maxName, shard.ErrTooLarge)
	}
	return nil
}

type putting []Item

func (o putting) deletes() bool { return false }

func (o putting) bytes() int64 {
	var n int64
	for i := range o {
		n += int64(len(o[i].Stored)) + overhead
	}
	return n
}

// restoring is putting that heeds no fence.
type restoring struct{ putting }

func (o restoring) stage(st *stage) error { return o.put(st, false) }

func (o putting) stage(st *stage) error { return o.put(st, true) }

func (o putting) put(st *stage, heed bool) error {
	s := st.s
	s.mu.RLock()
	defer s.mu.RUnlock()
	fresh := make(map[shard.ObjectID]*Item)
	var here []shard.ObjectID
	for i := range o {
		ref := &o[i].Ref
		if f := st.fenced(ref.Owner); heed && ref.Epoch < f {
			return fenced(ref.String(), f)
		}
		have := st.objects[ref.ObjectID]
		if have == nil {
			if have = s.index.object(ref.ObjectID); have != nil {
				here = append(here, ref.ObjectID)
			}
		}
		if have == nil {
			if other := fresh[ref.ObjectID]; other != nil {
				have = &record{head: headOf(other.Ref)}
			}
		}
		if have == nil {
			fresh[ref.ObjectID] = &o[i]
		} else if have.sum != ref.Checksum || have.stored != ref.Stored {
			return fmt.Errorf("%v: checksum %016x, here with %016x: %w", ref.ObjectID, ref.Checksum, have.sum, ErrConflict)
		}
	}
	for i := range o { // in their order, not the map's
		if it := fresh[o[i].Ref.ObjectID]; it == &o[i] {
			st.objects[it.Ref.ObjectID] = st.add(headOf(it.Ref), it.Stored)
		}
	}
	st.spared = append(st.spared, here...)
	return nil
}

func fenced(what string, f shard.Epoch) error {
	return fmt.Errorf("%s: the owner is placed anew, with epoch %d: %w", what, f, ErrFenced)
}

// PutManifest stores a manifest and returns when it is fsynced. The same again
// is fine. Errors are those of Put.
func (s *Store) PutManifest(ctx context.Context, m *shard.Manifest) error {
	return s.putManifest(ctx, m, true)
}

// RestoreManifest is PutManifest whatever the fence says of the epoch: for one that
// is committed.
func (s *Store) RestoreManifest(ctx context.Context, m *shard.Manifest) error {
	return s.putManifest(ctx, m, false)
}

func (s *Store) putManifest(ctx context.Context, m *shard.Manifest, heed bool) error {
	b, err := m.Encode()
	if err != nil {
		return err
	}
	return s.do(ctx, &puttingManifest{head{
		what: aManifest, owner: m.Owner, version: m.Version, epoch: m.Epoch,
		stored: int64(len(b)), sum: xxhash.Sum64(b),
	}, b, heed})
}

type puttingManifest struct {
	head
	encoded []byte
	heed    bool // the fence
}

func (o *puttingManifest) deletes() bool { return false }
func (o *puttingManifest) bytes() int64  { return o.stored + overhead }

func (o *puttingManifest) stage(st *stage) error {
	st.s.mu.RLock()
	defer st.s.mu.RUnlock()
	name := fmt.Sprintf("manifest of %v version %v epoch %d", o.owner, o.version, o.epoch)
	if f := st.fenced(o.owner); o.heed && o.epoch < f {
		return fenced(name, f)
	}
	k := manifestKey{o.owner, o.version}
	have := st.manifests[k]
	if have == nil {
		have = st.s.index.manifest(o.owner, o.version)
	}
	switch {
	case have == nil:
		st.manifests[k] = st.add(o.head, o.encoded)
	case have.sum != o.sum || have.stored != o.stored:
		return fmt.Errorf("%s: here is another one, of epoch %d: %w", name, have.epoch, ErrConflict)
	}
	return nil
}

// Fence durably refuses what older epochs of the owner write from now on. The
// present epoch again is fine; a lower one is ErrFenced. Other errors are those
// of Put.
func (s *Store) Fence(ctx context.Context, owner shard.Owner, epoch shard.Epoch) error {
	if err := checkOwner(owner); err != nil {
		return err
	}
	return s.do(ctx, fencing{owner, epoch})
}

type fencing struct {
	owner shard.Owner
	epoch shard.Epoch
}

func (o fencing) deletes() bool { return false }
func (o fencing) bytes() int64  { return overhead }

func (o fencing) stage(st *stage) error {
	st.s.mu.RLock()
	defer st.s.mu.RUnlock()
	now := st.fenced(o.owner)
	switch {
	case o.epoch < now:
		return fenced(fmt.Sprintf("fence of %v epoch %d", o.owner, o.epoch), now)
	case o.epoch == now:
		return nil
	}
	if r := st.fences[o.owner]; r != nil {
		r.epoch = o.epoch // it is not written yet
		return nil
	}
	if have := st.s.index.owners[o.owner]; have != nil && have.fence != nil {
		st.gone[have.fence.number] = true
	}
	st.fences[o.owner] = st.add(head{what: aFence, owner: o.owner, epoch: o.epoch}, nil)
	return nil
}

// Delete durably takes objects away, if they are here with the checksum of their
// ref; held ones go when they are released. Errors wrap ErrFull or ErrClosed,
// or are the disk's.
func (s *Store) Delete(ctx context.Context, refs ...shard.Ref) error {
	if len(refs) == 0 {
		return nil
	}
	return s.do(ctx, deleting{objects: refs})
}

// DeleteManifest durably takes a manifest away, if it is here. Errors are those
// of Delete.
func (s *Store) DeleteManifest(ctx context.Context, owner shard.Owner, version shard.Version) error {
	return s.do(ctx, deleting{manifests: []manifestKey{{owner, version}}})
}

// DropOwner durably takes away all that is here of an owner, the fence
// included; held objects go when they are released. Errors are those of Delete.
func (s *Store) DropOwner(ctx context.Context, owner shard.Owner) error {
	return s.do(ctx, deleting{owners: []shard.Owner{owner}})
}

type deleting struct {
	objects   []shard.Ref
	manifests []manifestKey
	owners    []shard.Owner
}

func (o deleting) deletes() bool { return true }
func (o deleting) bytes() int64  { return overhead * int64(1+len(o.objects)) }

func (o deleting) stage(st *stage) error {
	s := st.s
	s.mu.Lock() // doom writes
	defer s.mu.Unlock()
	take := func(r *record) {
		if r != nil && !s.doom(r) {
			st.gone[r.number] = true
		}
	}
	for i := range o.objects {
		take(s.find(o.objects[i]))
	}
	for _, k := range o.manifests {
		take(s.index.manifest(k.owner, k.version))
	}
	for _, owner := range o.owners {
		have := s.index.owners[owner]
		if have == nil {
			continue
		}
		for _, r := range have.objects {
			take(r)
		}
		for _, r := range have.manifests {
			take(r)
		}
		take(have.fence)
	}
	return nil
}
