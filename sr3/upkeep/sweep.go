package upkeep

import (
	"slices"

	"github.com/stormring/stormring/sr3/shard"
)

// keep notes what this node may give its word for: what is here, is its own,
// and is named by a kept manifest.
func (t *turn) keep() {
	for id, sum := range t.named {
		if o, ok := t.here[id]; ok && o.Checksum == sum && t.ours(id.Range) {
			t.mine[id] = sum
		}
	}
	if t.m != nil && t.places != nil && slices.Contains(t.places.manifest, t.self) {
		t.manifests[t.Owner] = t.m.Version
	}
}

// needed tells whether an object here is needed, whoever's it is to keep.
func (t *turn) needed(o *shard.Ref) bool {
	if sum, ok := t.named[o.ObjectID]; ok {
		return sum == o.Checksum
	}
	if t.folded[o.ObjectID] {
		return t.places == nil || t.ours(o.Range)
	}
	if t.m != nil && o.Version > t.m.Version && o.Version <= t.c.Version {
		return true // a newer manifest, which is not here, may name it
	}
	return o.Version > t.c.Version && o.Epoch >= t.epoch
}

// sweep lets go what nothing kept needs.
func (t *turn) sweep() {
	if t.m == nil && t.c.Version != 0 {
		return
	}
	var refs []shard.Ref
	for i := range t.Objects {
		o := &t.Objects[i]
		if !t.needed(o) && t.mem.lasted(subject{matter: useless, id: o.ObjectID}, t.cfg.Grace) {
			refs = append(refs, *o)
		}
	}
	if len(refs) > 0 {
		t.deletes = append(t.deletes, DeleteObjects{refs})
	}
	for _, m := range t.Manifests {
		id := manifestID(t.Owner, m.Version)
		if !slices.Contains(t.kept, m) && t.mem.lasted(subject{matter: useless, id: id}, t.cfg.Grace) {
			t.deletes = append(t.deletes, DeleteManifest{t.Owner, m.Version})
		}
	}
}

// move lets go the copies that belong to other nodes by now, once those have
// them.
func (t *turn) move() {
	if t.m == nil || t.places == nil {
		return
	}
	var gone []shard.Ref
	for _, chain := range t.m.Shards {
		of := t.places.of(chain[0].Range.First)
		if slices.Contains(of, t.self) {
			continue
		}
		var unsure []shard.Ref
		for i := range chain {
			ref := &chain[i]
			if !t.has(ref) {
				continue
			}
			t.health.Foreign++
			t.health.ForeignBytes += ref.Stored
			s := subject{matter: foreign, id: ref.ObjectID}
			switch settled, over := t.mem.lasted(s, t.cfg.RepairDelay), t.mem.lasted(s, t.cfg.Grace); {
			case !settled || len(of) < t.places.replicas:
			case !t.believed(ref.ObjectID, 0, of):
				unsure = append(unsure, *ref)
			case over && t.promises[ref.ObjectID] < t.mem.clock:
				gone = append(gone, *ref)
			}
		}
		t.ask(shard.ObjectID{Owner: t.Owner, Range: chain[0].Range}, AskHave{Owner: t.Owner, Refs: unsure, Of: of})
	}
	if len(gone) > 0 {
		t.deletes = append(t.deletes, DeleteObjects{gone})
	}
}

// moveManifests lets go the manifests of an owner with which the node has
// nothing to do any more, once those who should have a newer one do.
func (t *turn) moveManifests() {
	if len(t.Manifests) == 0 || t.c.Version == 0 || t.concerned() {
		return
	}
	if _, hinted := t.hints[t.Owner]; hinted {
		return
	}
	of := t.places.manifest
	s := subject{matter: foreign, id: manifestID(t.Owner, 0)}
	settled, over := t.mem.lasted(s, t.cfg.RepairDelay), t.mem.lasted(s, t.cfg.Grace)
	if !settled || len(of) < t.places.replicas {
		return
	}
	all := manifestID(t.Owner, 0)
	newest := shard.Version(0)
	for _, m := range t.Manifests {
		if m.Version > t.c.Version {
			break // may be committed yet
		}
		newest = m.Version
		if over && t.believed(all, m.Version, of) && t.promises[all] < t.mem.clock {
			t.deletes = append(t.deletes, DeleteManifest{t.Owner, m.Version})
		}
	}
	if newest != 0 && !t.believed(all, newest, of) {
		t.ask(all, AskHave{Owner: t.Owner, Version: newest, Of: of})
	}
}

// ask gives an AskHave if it is due; about tells apart what it is about.
func (t *turn) ask(about shard.ObjectID, a AskHave) {
	if len(a.Refs) == 0 && a.Version == 0 {
		return
	}
	if try, due := t.mem.due(subject{matter: ask, id: about}); due {
		t.mem.give(try, t.cfg.Retry, t.cfg.RetryMax)
		a.asked = t.mem.raw
		t.soon = append(t.soon, a)
	}
}

// believed tells whether all of these nodes said not long ago that they have
// an object, or a manifest of at least this version.
func (t *turn) believed(id shard.ObjectID, version shard.Version, of []shard.NodeID) bool {
	for _, n := range of {
		w, ok := t.words[subject{matter: ask, id: id, node: n}]
		if !ok || w.version < version || t.mem.raw-w.asked > t.cfg.Believe.Milliseconds() {
			return false
		}
	}
	return true
}
