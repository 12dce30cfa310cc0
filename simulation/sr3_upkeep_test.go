package simulation

import (
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/upkeep"
)

// askFor is how long a node or a task waits for an answer.
const askFor = 400 * time.Millisecond

// inventory is what the disk has.
func (h *ringHost) inventory() upkeep.Inventory {
	inv := upkeep.Inventory{Self: h.id}
	for _, s := range h.disk.stocks {
		if !s.fresh {
			s.stock = upkeep.Stock{Owner: s.owner, Fence: s.fence}
			for _, m := range s.manifests {
				s.stock.Manifests = append(s.stock.Manifests, m.m)
			}
			for _, c := range s.copies {
				s.stock.Objects = append(s.stock.Objects, c.ref)
			}
			s.fresh = true
		}
		inv.Owners = append(inv.Owners, s.stock)
	}
	return inv
}

// upkeep is a node's look at what it has, and the next one.
func (w *ringWorld) upkeep(h *ringHost) {
	w.on(h.node, w.millis(900, 1100), func() { w.upkeep(h) })
	if !w.storeAway && !w.fault(10) {
		r := w.record
		if w.fault(10) {
			r = w.before
		}
		h.heard, h.heardAt = versionOf(r.Committed), w.now
	}
	committed := func(string) upkeep.Committed {
		return upkeep.Committed{Known: w.now-h.heardAt <= 3*time.Second, Version: h.heard}
	}
	now := (w.now + h.skew).Milliseconds()
	r := upkeep.Ring{View: h.machine.View(), Complete: h.machine.Complete()}
	for _, a := range h.keeper.Decide(now, h.inventory(), r, committed) {
		w.note("%s: %T%+v", h.id, a, a)
		w.keep(h, a)
	}
}

// keep does what a keeper says.
func (w *ringWorld) keep(h *ringHost, a upkeep.Action) {
	switch a := a.(type) {
	case upkeep.FetchManifest:
		w.bring(h, a, h.patience(manifestKey{a.Owner, a.Version}), a.From, func(from *ringHost) func() error {
			encoded := from.readManifest(a.Owner, a.Version)
			m, err := shard.DecodeManifest(encoded)
			if err != nil || m.Version != a.Version {
				return nil
			}
			return func() error { return w.putManifest(h, m, encoded, true) }
		})
	case upkeep.FetchObject:
		w.tempt("repair")
		w.bring(h, a, h.patience(a.Ref.ObjectID), a.From, func(from *ringHost) func() error {
			stored := slices.Clone(from.read(a.Ref))
			if stored == nil {
				return nil
			}
			w.Counts.Repairs++
			return func() error { return w.put(h, a.Ref, stored, true) }
		})
	case upkeep.Offer:
		w.Counts.Offers++
		to := w.host(a.To)
		w.ask(h.node, h, to, askFor, func() func() {
			to.keeper.Offered(h.id, a.Owner, a.Version)
			return func() { h.keeper.Ended(a, true) }
		}, func() { h.keeper.Ended(a, false) })
	case upkeep.Fold:
		w.on(h.node, w.millis(1, 400), func() {
			_, ok := w.foldAt(h, a.Chain)
			h.keeper.Ended(a, ok)
		})
	case upkeep.AskHave:
		w.askHave(h, a)
	case upkeep.DeleteObjects:
		w.on(h.node, w.millis(0, 20), func() { w.deleteObjects(h, a.Refs) })
	case upkeep.DeleteManifest:
		w.Counts.Swept++
		h.disk.of(a.Owner).dropManifest(a.Version)
	case upkeep.DropOwner:
		w.broken("%s drops %v, whose topology is there", h.id, a.Owner)
	}
}

func (w *ringWorld) deleteObjects(h *ringHost, refs []shard.Ref) {
	s := h.disk.of(refs[0].Owner)
	if s == nil {
		return
	}
	for _, r := range refs {
		w.Counts.Swept++
		if c := s.index[r.ObjectID]; c != nil {
			w.oldEnough(h, c)
			if w.truth.names(r.ObjectID) {
				w.Counts.Moved++
			}
		}
		s.drop(r.ObjectID)
	}
}

// oldEnough checks that an object that a node lets go was there for the time of
// grace at least, of which each jump of its clock may have taken one step.
func (w *ringWorld) oldEnough(h *ringHost, c *storedCopy) {
	age := w.now - c.at
	for _, at := range h.jumps {
		if at >= c.at {
			age += w.keepCfg.Step
		}
	}
	if age < w.keepCfg.Grace {
		w.broken("%s lets %v go, which has been there for %v only", h.id, c.ref.ObjectID, w.now-c.at)
	}
}

func (w *ringWorld) askHave(h *ringHost, a upkeep.AskHave) {
	w.Counts.Asked++
	for _, id := range a.Of {
		if w.cfg.Bug == "believes" {
			h.keeper.Had(a, id, true, a.Refs)
			continue
		}
		to := w.host(id)
		w.ask(h.node, h, to, askFor, func() func() {
			manifest, have := to.keeper.Vouch(h.id, a.Owner, a.Version, a.Refs)
			have = slices.DeleteFunc(slices.Clone(have), func(r shard.Ref) bool { return to.read(r) == nil })
			return func() { h.keeper.Had(a, id, manifest, have) }
		}, func() {})
	}
}

type manifestKey struct {
	owner   shard.Owner
	version shard.Version
}

// patience is how long to wait for what: longer each time, since the only one who
// has it may be slow.
func (h *ringHost) patience(what any) time.Duration {
	if len(h.attempts) > 500 {
		clear(h.attempts)
	}
	h.attempts[what]++
	return min(askFor<<min(h.attempts[what]/2, 8), 8*time.Second)
}

// bring asks nodes one after the other for something.
func (w *ringWorld) bring(h *ringHost, a upkeep.Action, limit time.Duration, from []shard.NodeID, serve func(*ringHost) func() error) {
	if len(from) == 0 {
		h.keeper.Ended(a, false)
		return
	}
	next := func() { w.bring(h, a, limit, from[1:], serve) }
	to := w.host(from[0])
	if to == nil {
		next()
		return
	}
	w.ask(h.node, h, to, limit, func() func() {
		store := serve(to)
		return func() {
			if store == nil {
				next()
				return
			}
			h.keeper.Ended(a, store() == nil)
		}
	}, next)
}

// foldAt folds a chain at a node that has it.
func (w *ringWorld) foldAt(h *ringHost, chain []shard.Ref) (shard.Ref, bool) {
	objects := make([]*shard.Object, len(chain))
	for i, r := range chain {
		stored := h.read(r)
		if stored == nil {
			return shard.Ref{}, false
		}
		var err error
		if objects[i], err = w.codec.Open(stored); err != nil {
			w.broken("fold at %s: %v", h.id, err)
			return shard.Ref{}, false
		}
	}
	base, err := w.codec.Fold(objects)
	if err != nil {
		w.broken("fold at %s: %v", h.id, err)
		return shard.Ref{}, false
	}
	newest := chain[len(chain)-1]
	ref, err := shard.RefTo(newest.Owner, newest.Epoch, base)
	if err != nil {
		w.broken("fold at %s: %v", h.id, err)
		return shard.Ref{}, false
	}
	w.Counts.Folds++
	return ref, w.put(h, ref, base, true) == nil
}

// scrub looks whether what is on the disk is what was written.
func (w *ringWorld) scrub(h *ringHost) {
	w.on(h.node, w.millis(4000, 6000), func() { w.scrub(h) })
	for _, s := range h.disk.stocks {
		for _, c := range slices.Clone(s.copies) {
			h.read(c.ref)
		}
		for _, m := range slices.Clone(s.manifests) {
			h.readManifest(s.owner, m.m.Version)
		}
	}
}
