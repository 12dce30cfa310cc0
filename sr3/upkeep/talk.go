package upkeep

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stormring/stormring/sr3/shard"
)

// Bounds on what others can make a Keeper remember. Beyond them news are
// dropped; they come again.
const (
	maxHints = 4096
	maxTold  = 8
)

// hint is that a node offered something of an owner.
type hint struct {
	version shard.Version
	from    shard.NodeID
}

// word is what another node said that it has.
type word struct {
	asked   int64 // on mem.raw
	version shard.Version
}

// Offered takes in another node's Offer; what is to be done comes from the next
// Decide.
func (k *Keeper) Offered(from shard.NodeID, owner shard.Owner, version shard.Version) {
	h, ok := k.hints[owner]
	if !ok && len(k.hints) >= maxHints || ok && h.version > version {
		return
	}
	k.hints[owner] = hint{version, from}
}

// hinted are the owners of hints, in order.
func (k *Keeper) hinted() []shard.Owner {
	return slices.SortedFunc(maps.Keys(k.hints), func(a, b shard.Owner) int {
		return cmp.Or(cmp.Compare(a.Topology, b.Topology), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Task, b.Task))
	})
}

// Vouch answers another node's AskHave: which of refs, and whether a committed
// manifest of at least version (if not 0), are here and this node's to keep, which
// it then promises to do for Config.Promise. What it misses it now knows a source of.
func (k *Keeper) Vouch(from shard.NodeID, owner shard.Owner, version shard.Version, refs []shard.Ref) (manifest bool, have []shard.Ref) {
	until := k.mem.clock + k.cfg.Promise.Milliseconds()
	for _, r := range refs {
		if told, missing := k.missing[r.ObjectID]; missing && !slices.Contains(told, from) && len(told) < maxTold {
			k.missing[r.ObjectID] = append(told, from)
		}
		if sum, ok := k.mine[r.ObjectID]; ok && sum == r.Checksum {
			k.promises[r.ObjectID] = until
			have = append(have, r)
		}
	}
	if version != 0 {
		if manifest = k.manifests[owner] >= version; manifest {
			k.promises[manifestID(owner, 0)] = until
		} else {
			k.Offered(from, owner, version)
		}
	}
	return manifest, have
}

// Had takes in what node from answered to a, which this Keeper gave.
func (k *Keeper) Had(a AskHave, from shard.NodeID, manifest bool, have []shard.Ref) {
	if !slices.Contains(a.Of, from) {
		return
	}
	note := func(id shard.ObjectID, version shard.Version) {
		s := subject{matter: ask, id: id, node: from}
		if w, ok := k.words[s]; !ok || w.asked < a.asked {
			k.words[s] = word{a.asked, version}
		}
	}
	for _, r := range have {
		if slices.ContainsFunc(a.Refs, func(o shard.Ref) bool { return o.ObjectID == r.ObjectID && o.Checksum == r.Checksum }) {
			note(r.ObjectID, 0)
		}
	}
	if manifest && a.Version != 0 {
		note(manifestID(a.Owner, 0), a.Version)
	}
}

// Ended tells that the shell is through with an action of Decide, and whether it
// did what it should. It makes room for others; an offer that was heard is not
// repeated for Config.OfferEvery.
func (k *Keeper) Ended(a Action, done bool) {
	var s subject
	switch a := a.(type) {
	case FetchManifest:
		s = subject{matter: fetchManifest, id: manifestID(a.Owner, 0)}
	case FetchObject:
		s = subject{matter: fetchObject, id: a.Ref.ObjectID}
	case Fold:
		s = subject{matter: fold, id: a.Chain[len(a.Chain)-1].ObjectID}
	case Offer:
		s = subject{matter: offer, id: manifestID(a.Owner, 0), node: a.To}
	case AskHave, DeleteObjects, DeleteManifest, DropOwner:
		return
	}
	t, ok := k.mem.tries[s]
	if !ok {
		return
	}
	t.open = false
	if _, offered := a.(Offer); offered && done {
		t.next = k.mem.clock + k.cfg.OfferEvery.Milliseconds()
	}
}

// Joined tells that a node is on the ring anew: it may have lost its disk, so
// it is offered everything again.
func (k *Keeper) Joined(node shard.NodeID) {
	for s := range k.mem.tries {
		if s.matter == offer && s.node == node {
			delete(k.mem.tries, s)
		}
	}
}
