package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// folds are the chains of a task's state that became long. Their holders make
// bases of them, which the next manifest takes up; where they cannot, the task
// writes a base itself.
type folds struct {
	mu sync.Mutex
	// asked are ranges that holders are folding, done what they made, due the
	// ranges of which the task writes a base.
	asked map[shard.Range]bool
	done  map[shard.Range]shard.Ref
	due   map[shard.Range]bool
}

// apply gives the manifest to go on from, what was used for it, and which bases
// are to be written.
func (f *folds) apply(m *shard.Manifest) (*shard.Manifest, []shard.Range, map[shard.Range]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	chains, used := m.Folded(slices.Collect(maps.Values(f.done)))
	for r := range f.done {
		if !slices.Contains(used, r) {
			delete(f.done, r) // its shard was split, or has a new base
		}
	}
	return chains, used, maps.Clone(f.due)
}

// forget drops what holders made of a range.
func (f *folds) forget(r shard.Range) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.done, r)
}

// committed forgets what a committed version has taken up.
func (f *folds) committed(s *saving) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range s.used {
		delete(f.done, r)
	}
	for r := range s.bases {
		delete(f.due, r)
	}
}

// reset forgets everything: another version was loaded.
func (f *folds) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, f.done, f.due = nil, nil, nil
}

// next takes down which chains of m holders are to fold now.
func (f *folds) next(m *shard.Manifest) [][]shard.Ref {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked == nil {
		f.asked, f.done, f.due = make(map[shard.Range]bool), make(map[shard.Range]shard.Ref), make(map[shard.Range]bool)
	}
	var chains [][]shard.Ref
	for _, chain := range m.Shards {
		r := chain[0].Range
		_, done := f.done[r]
		if shard.NeedsFold(chain) && !f.asked[r] && !done && !f.due[r] {
			f.asked[r] = true
			chains = append(chains, chain)
		}
	}
	return chains
}

func (f *folds) answered(r shard.Range, ref shard.Ref, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.asked[r] {
		return // forgotten meanwhile
	}
	delete(f.asked, r)
	if ok {
		f.done[r] = ref
		return
	}
	f.due[r] = true
}

// foldsAtOnce bounds the chains that holders of a task fold at a time.
const foldsAtOnce = 2

// fold has the chains of the committed version folded that are due.
func (t *Task) fold() {
	chains := t.folds.next(t.manifest)
	for i := range min(foldsAtOnce, len(chains)) {
		t.spawn(func() {
			for _, chain := range chains[i*len(chains)/min(foldsAtOnce, len(chains)) : (i+1)*len(chains)/min(foldsAtOnce, len(chains))] {
				ref, ok := t.foldChain(chain)
				if t.ctx.Err() != nil {
					return
				}
				t.folds.answered(chain[0].Range, ref, ok)
			}
		})
	}
}

// foldFor is how long a holder may take to fold a chain.
const foldFor = 20 * time.Second

// foldChain asks the holders of a whole chain to fold it. It is good if as many
// as there should be made the same of it.
func (t *Task) foldChain(chain []shard.Ref) (shard.Ref, bool) {
	ctx, cancel := context.WithTimeout(t.ctx, foldFor)
	defer cancel()
	p, err := t.c.views.get(ctx)
	if err != nil {
		return shard.Ref{}, false
	}
	type made struct {
		node ring.Node
		ref  shard.Ref
		err  error
	}
	whole := holdersOfAll(chain)
	answers := make(chan made, len(whole))
	asked := 0
	for _, id := range whole {
		n, ok := t.c.locate(ctx, p, id)
		if !ok {
			continue
		}
		asked++
		t.wg.Go(func() {
			m := made{node: n}
			m.err = t.c.ask(ctx, n.Addr, protocol.Fold, protocol.Refs{Refs: chain}, &m.ref)
			answers <- m
		})
	}
	best := shard.Ref{}
	holders := make(map[shard.NodeID]ring.Node)
	for range asked {
		m := <-answers // all end with ctx
		switch newest := chain[len(chain)-1]; {
		case m.err != nil:
			t.c.cfg.Log.Warn("a holder did not fold a chain", "owner", t.o.Owner.String(), "slots", newest.Range.String(), "node", m.node.ID, "error", m.err)
			continue
		case m.ref.Kind != shard.Base || m.ref.Range != newest.Range || m.ref.Version != newest.Version || m.ref.Epoch != newest.Epoch || m.ref.Owner != newest.Owner:
			continue
		case len(holders) == 0:
			best = m.ref
		case m.ref.Checksum != best.Checksum || m.ref.Stored != best.Stored:
			t.c.cfg.Log.Warn("holders made different bases of one chain; the task writes one", "owner", t.o.Owner.String(), "slots", newest.Range.String())
			return shard.Ref{}, false
		}
		holders[shard.NodeID(m.node.ID)] = m.node
	}
	best.Holders = slices.Sorted(maps.Keys(holders))
	return best, len(holders) > 0 && hostsOf(holders) >= min(t.o.Replicas, p.hosts())
}

// holdersOfAll are the nodes that have every object of a chain.
func holdersOfAll(chain []shard.Ref) []shard.NodeID {
	all := slices.Clone(chain[0].Holders)
	for _, ref := range chain[1:] {
		all = slices.DeleteFunc(all, func(id shard.NodeID) bool { return !slices.Contains(ref.Holders, id) })
	}
	return all
}

// confirm asks the holders of folded bases that s is about to name whether they have
// them still: until a manifest names them nobody repairs them. What has too few
// copies by now is dropped, and with it this save; the next one goes without.
func (t *Task) confirm(ctx context.Context, s *saving) error {
	if len(s.used) == 0 {
		return nil
	}
	p, err := t.c.views.get(ctx)
	if err != nil {
		return err
	}
	asked := make(map[shard.NodeID][]shard.Ref)
	for _, chain := range s.chains.Shards {
		if slices.Contains(s.used, chain[0].Range) {
			for _, id := range chain[0].Holders {
				asked[id] = append(asked[id], chain[0])
			}
		}
	}
	var nodes []ring.Node
	for id := range asked {
		if n, ok := t.c.locate(ctx, p, id); ok {
			nodes = append(nodes, n)
		}
	}
	var mu sync.Mutex
	has := make(map[shard.Range]map[shard.NodeID]ring.Node)
	each(nodes, func(n ring.Node) {
		ctx, cancel := context.WithTimeout(ctx, t.o.HolderTimeout)
		defer cancel()
		refs := asked[shard.NodeID(n.ID)]
		var a protocol.HaveObjectsAnswer
		if err := t.c.ask(ctx, n.Addr, protocol.HaveObjects, protocol.Refs{Refs: refs}, &a); err != nil || len(a.Have) != len(refs) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for i, have := range a.Have {
			if r := refs[i].Range; have {
				if has[r] == nil {
					has[r] = make(map[shard.NodeID]ring.Node)
				}
				has[r][shard.NodeID(n.ID)] = n
			}
		}
	})
	var lost []string
	for i, chain := range s.chains.Shards {
		r := chain[0].Range
		if !slices.Contains(s.used, r) {
			continue
		}
		if hostsOf(has[r]) < max(1, min(t.o.Replicas, p.hosts())) {
			t.folds.forget(r)
			lost = append(lost, r.String())
			continue
		}
		own := slices.Clone(chain)
		own[0].Holders = slices.Sorted(maps.Keys(has[r]))
		s.chains.Shards[i] = own
	}
	if len(lost) > 0 {
		return fmt.Errorf("bases that holders folded of slots %v have too few copies by now; the next save goes without", lost)
	}
	return nil
}
