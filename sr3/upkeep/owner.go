package upkeep

import (
	"slices"

	"github.com/stormring/stormring/sr3/shard"
)

// turn is one owner's turn in a round.
type turn struct {
	*round
	*Stock
	c      Committed
	epoch  shard.Epoch // the newest
	here   map[shard.ObjectID]*shard.Ref
	places *places // nil if the ring is not known
	// m is the newest manifest here of a version that is known to be committed: that
	// of c or, where versions come faster than manifests, of one before.
	m      *shard.Manifest
	kept   []*shard.Manifest
	named  map[shard.ObjectID]uint64 // checksums of what kept manifests name
	folded map[shard.ObjectID]bool   // folded bases to keep
	health OwnerHealth
}

// decide is one owner's part of Decide.
func (r *round) decide(s *Stock, c Committed) {
	if c.Gone {
		r.depart(s, c)
		return
	}
	t := r.turnOf(s, c)
	t.heed()
	if t.m == nil || t.m.Version < c.Version {
		t.seekManifest()
	}
	if t.m != nil {
		t.repair()
		t.foldChains()
		t.offer()
	}
	t.keep()
	if c.Known {
		t.sweep()
		t.move()
		t.moveManifests()
	}
	t.report()
}

// heed forgets a hint that was followed, or could not be for long.
func (t *turn) heed() {
	h, ok := t.hints[t.Owner]
	if !ok {
		return
	}
	old := t.mem.lasted(subject{matter: hinted, id: manifestID(t.Owner, h.version)}, t.cfg.Grace)
	if old || t.m != nil && h.version <= t.m.Version {
		delete(t.hints, t.Owner)
	}
}

// depart drops an owner whose topology is gone.
func (r *round) depart(s *Stock, c Committed) {
	delete(r.hints, s.Owner)
	grace := r.cfg.Grace
	if !c.Known || !r.mem.lasted(subject{matter: departed, id: manifestID(s.Owner, 0)}, grace) {
		return
	}
	if r.now-c.GoneSinceMillis >= grace.Milliseconds() {
		r.deletes = append(r.deletes, DropOwner{s.Owner})
	}
}

func (r *round) turnOf(s *Stock, c Committed) *turn {
	t := &turn{
		round: r, Stock: s, c: c, epoch: s.Fence,
		here:   make(map[shard.ObjectID]*shard.Ref, len(s.Objects)),
		named:  make(map[shard.ObjectID]uint64),
		folded: make(map[shard.ObjectID]bool),
		health: OwnerHealth{Owner: s.Owner, Version: c.Version},
	}
	for i := range s.Objects {
		o := &s.Objects[i]
		t.here[o.ObjectID] = o
		t.epoch = max(t.epoch, o.Epoch)
	}
	replicas := r.cfg.Replicas
	for _, m := range s.Manifests {
		t.epoch = max(t.epoch, m.Epoch)
		replicas = max(m.Replicas, 1)
	}
	for _, m := range s.Manifests {
		if m.Version == c.Version || slices.Contains(r.commits[s.Owner.Topology], m.Version) {
			t.m = m
			replicas = max(m.Replicas, 1)
		}
	}
	t.places = r.placesOf(s.Owner, replicas)
	t.choose()
	return t
}

// choose chooses the manifests that are kept, and lists what they name.
func (t *turn) choose() {
	seen := t.commits[t.Owner.Topology]
	seen = seen[max(0, len(seen)-t.cfg.KeepVersions):]
	before := 0
	for _, m := range slices.Backward(t.Manifests) {
		keep := slices.Contains(seen, m.Version)
		switch {
		case m.Version > t.c.Version:
			keep = m.Epoch >= t.epoch
		case m.Version == t.c.Version || m == t.m:
			keep = true
		default:
			// Which of the older ones were committed is not written anywhere, so
			// keep the newest beside those that were seen to be.
			before++
			keep = keep || before < t.cfg.KeepVersions
		}
		if keep {
			t.kept = append(t.kept, m)
		}
	}
	for _, m := range t.kept {
		for _, chain := range m.Shards {
			for i := range chain {
				t.named[chain[i].ObjectID] = chain[i].Checksum
			}
			t.keepFolds(m, chain)
		}
	}
}

// keepFolds keeps the newest base that was folded of the chain's beginning. If
// there is a newer manifest elsewhere, which may name any of them, it keeps all.
func (t *turn) keepFolds(m *shard.Manifest, chain []shard.Ref) {
	if m == t.m && m.Version < t.c.Version {
		for _, r := range chain[1:] {
			r.Kind = shard.Base
			t.folded[r.ObjectID] = true
		}
		return
	}
	if n, f := t.newestFold(chain); n > 0 {
		t.folded[f.ObjectID] = true
	}
}

// newestFold is the base here that holds the longest beginning of the chain, and
// the index of the last member in it; 0 if that is the chain's own base, or
// nothing is here.
func (t *turn) newestFold(chain []shard.Ref) (int, *shard.Ref) {
	for i := len(chain) - 1; i > 0; i-- {
		id := chain[i].ObjectID
		id.Kind = shard.Base
		if f, ok := t.here[id]; ok {
			return i, f
		}
	}
	if t.has(&chain[0]) {
		return 0, &chain[0]
	}
	return 0, nil
}

// ours tells whether a shard is this node's to keep.
func (t *turn) ours(r shard.Range) bool {
	return t.places != nil && slices.Contains(t.places.of(r.First), t.self)
}

// has tells whether the bytes that ref names are here.
func (t *turn) has(ref *shard.Ref) bool {
	o, ok := t.here[ref.ObjectID]
	return ok && o.Checksum == ref.Checksum
}

// newest is the newest manifest here, nil if there is none.
func (t *turn) newest() *shard.Manifest {
	if len(t.Manifests) == 0 {
		return nil
	}
	return t.Manifests[len(t.Manifests)-1]
}

// concerned tells whether the node has to do with the owner.
func (t *turn) concerned() bool {
	if len(t.Objects) > 0 || t.places == nil || slices.Contains(t.places.manifest, t.self) {
		return true
	}
	m := t.m
	if m == nil {
		m = t.newest()
	}
	return m != nil && slices.ContainsFunc(m.Shards, func(chain []shard.Ref) bool { return t.ours(chain[0].Range) })
}

// seekManifest fetches the committed manifest.
func (t *turn) seekManifest() {
	h, told := t.hints[t.Owner]
	if t.c.Version == 0 || !told && (!t.c.Known || !t.concerned()) {
		return
	}
	late := t.mem.lasted(subject{matter: lacking, id: manifestID(t.Owner, 0)}, t.cfg.RepairDelay)
	keeps := t.places != nil && slices.Contains(t.places.manifest, t.self)
	t.health.NoManifest = t.m == nil || keeps && late
	try, due := t.mem.due(subject{matter: fetchManifest, id: manifestID(t.Owner, 0)})
	if !due {
		return
	}
	var from, holders []shard.NodeID
	if told {
		from = append(from, h.from)
	}
	if t.places != nil {
		from = append(from, t.places.manifest...)
	}
	if m := t.newest(); m != nil {
		for _, chain := range m.Shards {
			holders = sources(t.self, holders, chain[len(chain)-1].Holders)
		}
	}
	from = sources(t.self, from, holders)
	if try.count >= widen || len(from) == 0 {
		from = sources(t.self, from, t.everyone())
	}
	t.mem.give(try, t.cfg.Retry, t.cfg.RetryMax)
	if len(from) > 0 {
		t.soon = append(t.soon, FetchManifest{t.Owner, t.c.Version, from})
	}
}

// widen is after how many attempts in vain all nodes are asked: who has copies is
// only known by hints.
const widen = 2

// repair fetches what the committed version needs and should be here.
func (t *turn) repair() {
	for _, chain := range t.m.Shards {
		r := chain[0].Range
		if !t.ours(r) {
			continue
		}
		t.health.Shards++
		lacks := false
		for i := range chain {
			if !t.has(&chain[i]) {
				lacks = true
				t.health.Missing++
				t.health.MissingBytes += chain[i].Stored
				t.fetch(&chain[i])
			}
		}
		if lacks {
			t.health.UnderReplicated++
		}
		if of := t.places.of(r.First); len(of) < t.places.replicas && of[0] == t.self {
			t.health.TooFewHosts++
		}
	}
}

// fetch fetches an object when it is time to.
func (t *turn) fetch(ref *shard.Ref) {
	told := t.missing[ref.ObjectID]
	t.missed[ref.ObjectID] = told
	since := t.mem.lasted(subject{matter: lacking, id: ref.ObjectID}, t.cfg.RepairDelay)
	if !since && !slices.Contains(ref.Holders, t.self) {
		return
	}
	if _, other := t.here[ref.ObjectID]; other {
		return // under this name other bytes are here, which sweep takes away
	}
	try, due := t.mem.due(subject{matter: fetchObject, id: ref.ObjectID})
	if !due {
		return
	}
	from := sources(t.self, told, t.places.of(ref.Range.First), ref.Holders)
	if try.count >= widen || len(from) == 0 {
		from = sources(t.self, from, t.everyone())
	}
	if len(from) > 0 {
		t.fetches = append(t.fetches, candidate{try, FetchObject{*ref, from}})
	}
}

// foldChains folds the chains that are long, from the longest beginning that
// was folded before.
func (t *turn) foldChains() {
	for _, chain := range t.m.Shards {
		if t.places != nil && !t.ours(chain[0].Range) {
			continue
		}
		n, base := t.newestFold(chain)
		if base == nil {
			continue
		}
		rest := append([]shard.Ref{*base}, chain[n+1:]...)
		if !shard.NeedsFold(rest) || slices.ContainsFunc(rest, func(r shard.Ref) bool { return !t.has(&r) }) {
			continue
		}
		newest := rest[len(rest)-1].ObjectID
		if try, due := t.mem.due(subject{matter: fold, id: newest}); due {
			t.folds = append(t.folds, candidate{try, Fold{rest}})
		}
	}
}

// offer tells nodes that should have something of the owner. The nodes at
// hash(owner) tell all of them, others only those: so it comes around, and does
// not come from everybody.
func (t *turn) offer() {
	if t.places == nil {
		return
	}
	to := t.places.manifest
	if slices.Contains(to, t.self) {
		to = t.places.owing(t.m)
	}
	for _, id := range to {
		if id == t.self {
			continue
		}
		if try, due := t.mem.due(subject{matter: offer, id: manifestID(t.Owner, 0), node: id}); due {
			t.mem.give(try, t.cfg.Retry, t.cfg.OfferEvery)
			t.soon = append(t.soon, Offer{t.Owner, t.c.Version, id})
		}
	}
}
