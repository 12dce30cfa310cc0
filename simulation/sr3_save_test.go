package simulation

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/worker/checkpoint"
)

// ringSave is a version on its way to its holders.
type ringSave struct {
	t        *ringTask
	life     *life
	v        checkpoint.Version
	ver      shard.Version
	base     shard.Version
	frozen   *shard.Frozen
	model    map[string]string
	chains   *shard.Manifest
	used     []shard.Range
	bases    map[shard.Range]bool
	placing  []*placing
	left     int
	manifest *shard.Manifest // that is safe
}

// placing is one object, or the manifest, on its way to as many hosts as there
// are to be copies.
type placing struct {
	s       *ringSave
	key     uint64
	put     func(h *ringHost) error
	done    func(p *placing)
	acked   []shard.NodeID
	tried   map[shard.NodeID]bool
	taken   map[string]bool // machines that have it or are asked to
	open    int
	settled bool
}

// save freezes the state and stores what changed.
func (w *ringWorld) save(t *ringTask, v, base checkpoint.Version) {
	if t.saving != nil {
		t.saving.life.over = true
	}
	w.compare("what is frozen", t.owner, t.table, t.model)
	s := &ringSave{
		t: t, life: &life{parent: t.life}, v: v, ver: versionOf(v), base: versionOf(base),
		frozen: t.table.Freeze(), model: maps.Clone(t.model), chains: t.manifest, bases: maps.Clone(t.due),
	}
	t.saving = s
	w.saves = append(w.saves, s)
	w.truth.began(w, v)
	w.tempt("prepare")
	if t.committed != s.base {
		w.broken("task %d saves version %v based on %v, and has %d", t.id, v, base, t.committed)
		return
	}
	if s.chains == nil {
		s.chains = &shard.Manifest{Owner: t.owner}
	}
	w.on(s.life, w.millis(0, 150), func() { w.confirmFolds(s) })
	w.on(s.life, 2500*time.Millisecond, func() { w.saved(s, errors.New("it took too long")) })
}

func compareRanges(a, b shard.Range) int { return int(a.First) - int(b.First) }

// confirmFolds asks the holders of folded bases whether they still have them. Up
// to now no manifest names those, so that nobody repaired them.
func (w *ringWorld) confirmFolds(s *ringSave) {
	var folds []shard.Ref
	open := 1
	closed := func() {
		if open--; open > 0 {
			return
		}
		folds = slices.DeleteFunc(folds, func(r shard.Ref) bool {
			if len(r.Holders) < w.replicas {
				delete(s.t.folds, r.Range) // it is folded anew
				return true
			}
			return false
		})
		s.chains, s.used = s.chains.Folded(folds)
		w.store(s)
	}
	for i, r := range slices.SortedFunc(maps.Keys(s.t.folds), compareRanges) {
		ref := s.t.folds[r]
		folds = append(folds, ref)
		folds[i].Holders = nil
		open += len(ref.Holders)
		for _, id := range ref.Holders {
			h := w.host(id)
			w.ask(s.life, s.t.host, h, askFor, func() func() {
				has := h.read(ref) != nil
				return func() {
					if has {
						folds[i].Holders = append(folds[i].Holders, id)
					}
					closed()
				}
			}, closed)
		}
	}
	closed()
}

// store makes the objects, while the task goes on, and sends them.
func (w *ringWorld) store(s *ringSave) {
	which := shard.Selection{Version: s.ver, Epoch: shard.Epoch(s.v.Era), Full: w.chance(30), Bases: s.bases}
	var refs []shard.Ref
	err := s.frozen.Select(w.codec, which, func(ref shard.Ref, stored []byte) error {
		i := len(refs)
		refs = append(refs, ref)
		s.placing = append(s.placing, &placing{
			s: s, key: ref.Owner.ShardHash(ref.Range.First),
			put: func(h *ringHost) error { return w.put(h, ref, stored, false) },
			done: func(p *placing) {
				refs[i].Holders = p.acked
				if s.left--; s.left == 0 {
					w.storeManifest(s, refs)
				}
			},
		})
		return nil
	})
	s.frozen.Release()
	if err != nil {
		w.broken("%v", err)
		return
	}
	s.left = len(s.placing)
	for _, p := range s.placing {
		p.tried, p.taken = make(map[shard.NodeID]bool), make(map[string]bool)
		w.place(p)
	}
	if s.left == 0 {
		w.storeManifest(s, nil)
	}
}

// place sends to as many hosts as are missing, in the order of the ring.
func (w *ringWorld) place(p *placing) {
	if p.settled {
		return
	}
	want := w.replicas - len(p.acked) - p.open
	for _, n := range ring.Holders(p.s.t.host.seen(), p.key, w.replicas+len(p.tried)) {
		id := shard.NodeID(n.ID)
		if want <= 0 || p.tried[id] || p.taken[n.Host] {
			continue
		}
		p.tried[id], p.taken[n.Host] = true, true
		p.open++
		want--
		w.deliver(p, w.host(id))
	}
	if p.open > 0 {
		return
	}
	p.settled = true
	if len(p.acked) == 0 {
		w.saved(p.s, errors.New("no host took it"))
		return
	}
	if len(p.acked) < w.replicas {
		w.Counts.Short++
	}
	p.done(p)
}

func (w *ringWorld) deliver(p *placing, h *ringHost) {
	w.ask(p.s.life, p.s.t.host, h, askFor, func() func() {
		err := p.put(h)
		return func() {
			p.open--
			switch {
			case errors.Is(err, errFenced) || errors.Is(err, errConflict):
				w.saved(p.s, err)
				return
			case err == nil:
				p.acked = append(p.acked, h.id)
				slices.Sort(p.acked)
			default:
				delete(p.taken, h.self.Host)
			}
			w.place(p)
		}
	}, func() {
		p.open--
		if w.cfg.Bug == "counts the silent" {
			p.acked = append(p.acked, h.id)
			slices.Sort(p.acked)
		} else {
			delete(p.taken, h.self.Host)
		}
		w.place(p)
	})
}

// storeManifest makes the manifest and sends it to where manifests belong, and to
// all that have something of the version.
func (w *ringWorld) storeManifest(s *ringSave, refs []shard.Ref) {
	m, err := s.chains.Next(s.ver, shard.Epoch(s.v.Era), w.time().UnixMilli(), refs)
	if err != nil {
		w.broken("%v", err)
		return
	}
	if w.cfg.Bug == "drops a delta" && w.rng.IntN(10) == 0 {
		for i, chain := range m.Shards {
			if len(chain) > 2 {
				m.Shards[i] = append(slices.Clone(chain[:1]), chain[2:]...)
			}
		}
	}
	m.Replicas = w.replicas
	encoded, err := m.Encode()
	if err != nil {
		w.broken("%v", err)
		return
	}
	p := &placing{s: s, key: s.t.owner.Hash(), tried: make(map[shard.NodeID]bool), taken: make(map[string]bool)}
	s.placing = append(s.placing, p)
	p.put = func(h *ringHost) error { return w.putManifest(h, m, encoded, false) }
	p.done = func(p *placing) {
		s.manifest = m
		w.truth.saved(w, s, p.acked)
		w.saved(s, nil)
	}
	w.place(p)
	for _, id := range holdersOf(m) {
		if !p.tried[id] {
			w.ask(s.life, s.t.host, w.host(id), askFor, func() func() { _ = p.put(w.host(id)); return nil }, func() {})
		}
	}
}

// holdersOf are all nodes that a manifest names, in order.
func holdersOf(m *shard.Manifest) []shard.NodeID {
	var ids []shard.NodeID
	for _, chain := range m.Shards {
		for i := range chain {
			for _, id := range chain[i].Holders {
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

// saved says what became of a save.
func (w *ringWorld) saved(s *ringSave, err error) {
	if s.life.over || s.manifest != nil && err != nil {
		return
	}
	w.note("task %d saved %v: %v", s.t.id, s.v, err)
	if err != nil {
		s.life.over = true
	}
	w.perform(s.t, s.t.task.Saved(s.v, err, false))
}

// committed takes up that a version is.
func (w *ringWorld) committed(t *ringTask, v shard.Version) {
	s := t.saving
	if s == nil || s.ver != v || s.manifest == nil {
		w.broken("task %d shall take version %d for committed, and has not saved it", t.id, v)
		return
	}
	if v > versionOf(w.record.Committed) {
		w.broken("task %d takes version %d for committed, the record says %v", t.id, v, w.record.Committed)
	}
	if err := t.table.Commit(s.frozen); err != nil {
		w.broken("%v", err)
		return
	}
	t.committed, t.manifest, t.saving = v, s.manifest, nil
	for _, r := range s.used {
		delete(t.folds, r)
	}
	for r := range s.bases {
		delete(t.due, r)
	}
	w.foldChains(t)
}

// foldChains asks the holders of chains that became long to fold them.
func (w *ringWorld) foldChains(t *ringTask) {
	if t.folds == nil {
		t.folds, t.folding, t.due = make(map[shard.Range]shard.Ref), make(map[shard.Range]bool), make(map[shard.Range]bool)
	}
	for _, chain := range t.manifest.Shards {
		r := chain[0].Range
		if _, done := t.folds[r]; done || t.folding[r] || t.due[r] || !shard.NeedsFold(chain) {
			continue
		}
		t.folding[r] = true
		w.foldChain(t, chain)
	}
}

func (w *ringWorld) foldChain(t *ringTask, chain []shard.Ref) {
	r := chain[0].Range
	manifest := t.manifest
	var folded shard.Ref
	whole := slices.Clone(chain[0].Holders)
	for i := range chain {
		whole = slices.DeleteFunc(whole, func(id shard.NodeID) bool { return !slices.Contains(chain[i].Holders, id) })
	}
	open := len(whole)
	end := func() {
		if open--; open > 0 {
			return
		}
		if t.folding == nil || manifest.Epoch != t.manifest.Epoch {
			return // rolled back meanwhile
		}
		delete(t.folding, r)
		if len(folded.Holders) >= w.replicas {
			t.folds[r] = folded
		} else {
			t.due[r] = true
		}
	}
	if open == 0 {
		open = 1
		end()
	}
	for _, id := range whole {
		h := w.host(id)
		w.ask(t.life, t.host, h, 2*askFor, func() func() {
			ref, ok := w.foldAt(h, chain)
			return func() {
				if ok && (folded.Holders == nil || folded.Checksum == ref.Checksum) {
					holders := append(folded.Holders, id)
					folded = ref
					folded.Holders = holders
				}
				end()
			}
		}, end)
	}
}
