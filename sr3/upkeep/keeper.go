package upkeep

import (
	"cmp"
	"slices"

	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// Keeper decides for one node. It is for one goroutine at a time. All that it
// remembers may be lost: a new one only takes longer.
type Keeper struct {
	cfg     Config
	mem     memory
	view    *ring.View
	places  map[shard.Owner]*places
	commits map[string][]shard.Version // seen, ascending, the newest
	hints   map[shard.Owner]hint

	// words are what others said that they have, promises what this node said.
	words    map[subject]word
	promises map[shard.ObjectID]int64 // until, on mem.clock

	// Of the last round: what is here and this node's to keep, with checksums,
	// and what is missing, with the nodes that said they have it; of the owners whose
	// manifests are this node's to keep, the newest that is committed.
	mine      map[shard.ObjectID]uint64
	missing   map[shard.ObjectID][]shard.NodeID
	manifests map[shard.Owner]shard.Version
	health    Health
}

// New makes a Keeper, or tells what is wrong with the Config.
func New(cfg Config) (*Keeper, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	return &Keeper{
		cfg:      cfg,
		mem:      newMemory(),
		places:   make(map[shard.Owner]*places),
		commits:  make(map[string][]shard.Version),
		hints:    make(map[shard.Owner]hint),
		words:    make(map[subject]word),
		promises: make(map[shard.ObjectID]int64),
	}, nil
}

// candidate is an action that is due, of which only so many are given at once.
type candidate struct {
	try    *try
	action Action
}

// round is one Decide.
type round struct {
	*Keeper
	now     int64
	self    shard.NodeID
	ring    Ring
	all     []shard.NodeID // all nodes of the view, when they are needed
	fetches []candidate
	folds   []candidate
	soon    []Action // what needs no bound
	deletes []Action
	missed  map[shard.ObjectID][]shard.NodeID
}

// Decide says what to do now. Call it about once a second, and when something
// has changed; now is on a clock that does not jump back, such as the time since
// the process started. What it returned before and is still needed comes again
// after Config.Retry, deletions at once. Deletions come last.
func (k *Keeper) Decide(nowMillis int64, inv Inventory, r Ring, committed func(topology string) Committed) []Action {
	k.mem.begin(nowMillis, k.cfg.Step)
	rd := &round{Keeper: k, now: nowMillis, self: inv.Self, ring: r, missed: make(map[shard.ObjectID][]shard.NodeID)}
	rd.ring = k.look(r)
	k.mine, k.manifests = make(map[shard.ObjectID]uint64), make(map[shard.Owner]shard.Version)
	k.health = Health{}

	known := make(map[string]Committed)
	ask := func(topology string) Committed {
		c, ok := known[topology]
		if !ok {
			c = rd.learn(topology, committed(topology))
			known[topology] = c
		}
		return c
	}
	stocked := make(map[shard.Owner]bool, len(inv.Owners))
	for i := range inv.Owners {
		s := &inv.Owners[i]
		stocked[s.Owner] = true
		rd.decide(s, ask(s.Owner.Topology))
	}
	for _, o := range k.hinted() {
		if !stocked[o] {
			stocked[o] = true
			rd.decide(&Stock{Owner: o}, ask(o.Topology))
		}
	}
	k.missing = rd.missed
	out := rd.actions()
	k.forget(stocked, known)
	return out
}

// look takes the ring in. Who has come or gone may change what was in vain
// before.
func (k *Keeper) look(r Ring) Ring {
	switch {
	case r.View == nil:
		return Ring{}
	case k.view != nil && (k.view == r.View || slices.Equal(k.view.Nodes(), r.View.Nodes())):
	default:
		k.view = r.View
		for s, t := range k.mem.tries {
			if s.matter != offer && s.matter != fold {
				t.next = min(t.next, k.mem.clock)
			}
		}
	}
	return Ring{View: k.view, Complete: r.Complete}
}

// moreCommits is how many committed versions are remembered beside those that are
// kept, for owners whose newest manifest here is not the newest there is.
const moreCommits = 16

// learn joins what is committed with what was known before: a commit record
// never goes back, so an older one is a stale copy.
func (k *Keeper) learn(topology string, c Committed) Committed {
	seen := k.commits[topology]
	if n := len(seen); n > 0 && (!c.Known || c.Version < seen[n-1]) {
		c.Version = seen[n-1]
		return c
	}
	if c.Known && !c.Gone && c.Version > 0 && !slices.Contains(seen, c.Version) {
		seen = append(seen, c.Version)
		k.commits[topology] = seen[max(0, len(seen)-k.cfg.KeepVersions-moreCommits):]
	}
	return c
}

// actions are those of the round, what waited longest first.
func (r *round) actions() []Action {
	out := slices.Clip(r.soon)
	for _, l := range []struct {
		from   []candidate
		bound  int
		matter matter
	}{{r.fetches, r.cfg.MaxFetches, fetchObject}, {r.folds, r.cfg.MaxFolds, fold}} {
		slices.SortStableFunc(l.from, func(a, b candidate) int { return cmp.Compare(a.try.given, b.try.given) })
		free := max(0, l.bound-r.mem.open(l.matter))
		for _, c := range l.from[:min(free, len(l.from))] {
			r.mem.give(c.try, r.cfg.Retry, r.cfg.RetryMax)
			out = append(out, c.action)
		}
	}
	return append(out, r.deletes...)
}

// forget drops what is of no use any more.
func (k *Keeper) forget(owners map[shard.Owner]bool, topologies map[string]Committed) {
	k.mem.end()
	for o := range k.places {
		if !owners[o] {
			delete(k.places, o)
		}
	}
	for t := range k.commits {
		if _, ok := topologies[t]; !ok {
			delete(k.commits, t)
		}
	}
	for s, w := range k.words {
		if k.mem.raw-w.asked > k.cfg.Believe.Milliseconds() {
			delete(k.words, s)
		}
	}
	for id, until := range k.promises {
		if k.mem.clock > until {
			delete(k.promises, id)
		}
	}
}

// placesOf is where the owner's copies belong; nil if that cannot be known.
func (r *round) placesOf(o shard.Owner, replicas int) *places {
	if !r.ring.Complete {
		return nil
	}
	p := r.places[o]
	if p == nil || p.view != r.ring.View || p.replicas != replicas {
		p = newPlaces(r.ring.View, o, replicas)
		r.places[o] = p
	}
	return p
}

// everyone are all nodes of the view.
func (r *round) everyone() []shard.NodeID {
	if r.all == nil && r.ring.View != nil {
		r.all = nodeIDs(r.ring.View)
	}
	return r.all
}
