package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/store"
	"github.com/stormring/stormring/sr3/upkeep"
)

// bringManifest fetches a manifest that should be here.
func (n *Node) bringManifest(ctx context.Context, a upkeep.FetchManifest) error {
	errs := []error{fmt.Errorf("fetch the manifest of %v version %v", a.Owner, a.Version)}
	for _, id := range a.From {
		m, err := n.askManifest(ctx, id, a.Owner, a.Version)
		if err == nil {
			return n.store.RestoreManifest(ctx, m)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// fetchStall is how long a node may take for one object, beside what its size and
// the rate of repair ask for.
const fetchStall = 30 * time.Second

// bringObject fetches an object that should be here.
func (n *Node) bringObject(ctx context.Context, a upkeep.FetchObject) error {
	ref := a.Ref
	if ref.Stored > protocol.MaxObject {
		return fmt.Errorf("fetch %v: %d bytes are more than an object may have", ref.ObjectID, ref.Stored)
	}
	w := n.weight(ref.Stored)
	if err := n.writing.Acquire(ctx, w); err != nil {
		return err
	}
	defer n.writing.Release(w)
	errs := []error{fmt.Errorf("fetch %v from the %d nodes that may have it", ref.ObjectID, len(a.From))}
	for _, id := range a.From {
		// Other fetches take part in the rate.
		limit := fetchStall + time.Duration(2*upkeep.Default().MaxFetches)*time.Duration(float64(ref.Stored)/float64(n.cfg.RepairRate)*float64(time.Second))
		one, cancel := context.WithTimeout(ctx, limit)
		b, err := n.fetchObject(one, ref, id, n.upkeep.pace)
		cancel()
		if err == nil {
			if err = n.store.Restore(ctx, store.Item{Ref: ref, Stored: b}); err == nil {
				n.repaired.Add(1)
			}
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// fold serves Fold.
func (n *Node) fold(ctx context.Context, q protocol.Refs) (shard.Ref, error) {
	if len(q.Refs) == 0 {
		return shard.Ref{}, invalid(errors.New("a fold of nothing"))
	}
	return n.foldChain(ctx, q.Refs)
}

// foldChain makes one base of a chain that is here and keeps it beside it. Every
// holder makes the same of it.
func (n *Node) foldChain(ctx context.Context, chain []shard.Ref) (shard.Ref, error) {
	want := foldOf(chain)
	chain = shorten(n.bases(want.Owner), chain)
	if len(chain) == 1 && chain[0].ObjectID == want && n.store.Has(chain[0]) {
		return chain[0], nil
	}
	release := n.store.Hold(chain...)
	defer release()
	n.menders.Add(1)
	defer n.menders.Add(-1)
	// One at a time, and before memory is asked for, since recoveries need that.
	if err := n.mending.Acquire(ctx, 1); err != nil {
		return shard.Ref{}, err
	}
	defer n.mending.Release(1)
	// Where processors are never idle chains grow until they are overdue.
	if !shard.Overdue(chain) && n.menders.Load() < busyAt {
		if err := sleep(ctx, time.Until(n.mendAfter)); err != nil {
			return shard.Ref{}, err
		}
	}
	bytes := int64(0)
	for i := range chain {
		if chain[i].Stored < 0 || chain[i].Size < 0 {
			return shard.Ref{}, invalid(fmt.Errorf("%v has %d bytes", chain[i].ObjectID, chain[i].Stored))
		}
		bytes += chain[i].Stored + 2*chain[i].Size
	}
	w := n.weight(bytes)
	if err := n.reading.Acquire(ctx, w); err != nil {
		return shard.Ref{}, err
	}
	defer n.reading.Release(w)
	raw := make([][]byte, len(chain))
	for i, ref := range chain {
		if ref.Owner != chain[0].Owner {
			return shard.Ref{}, invalid(fmt.Errorf("fold of %v with %v", chain[0].ObjectID, ref.ObjectID))
		}
		var err error
		if raw[i], err = n.store.Get(ctx, ref); err != nil {
			return shard.Ref{}, fmt.Errorf("fold: %w", err)
		}
	}
	var folded []byte
	var err error
	kept := aside(func() { folded, err = protocol.JoinParts(n.codec, raw) })
	n.mendAfter = time.Now().Add(rest(kept))
	if err != nil {
		return shard.Ref{}, fmt.Errorf("fold of %v: %w", foldOf(chain), err)
	}
	ref, err := shard.RefTo(chain[0].Owner, chain[len(chain)-1].Epoch, folded)
	if err != nil {
		return shard.Ref{}, invalid(fmt.Errorf("fold of %v: %w", foldOf(chain), err))
	}
	if ref.Kind != shard.Base {
		return shard.Ref{}, invalid(fmt.Errorf("fold of %v: the chain does not begin with a base", foldOf(chain)))
	}
	return ref, n.store.Restore(ctx, store.Item{Ref: ref, Stored: folded})
}

// scrubRest is the time between two walks over everything.
const scrubRest = time.Minute

// scrub reads all that is here, again and again, slowly. What is damaged is
// dropped by the store and fetched anew by upkeep.
func (n *Node) scrub(ctx context.Context) {
	timer := time.NewTimer(n.scrubPause())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := n.store.Scrub(ctx, n.cfg.ScrubRate, nil); err != nil && ctx.Err() == nil {
			n.log.Warn("scrub: the walk over the store ended early", "err", err)
		}
		timer.Reset(n.scrubPause())
	}
}

func (n *Node) scrubPause() time.Duration { return min(scrubRest, 30*n.cfg.UpkeepEvery) }

// foundDamaged is told by the store of an object that it dropped.
func (n *Node) foundDamaged(ref shard.Ref) {
	n.damaged.Add(1)
	n.log.Warn("an object was damaged on disk; it was dropped and is fetched from another node", "object", ref.ObjectID)
	n.upkeep.wake()
}
