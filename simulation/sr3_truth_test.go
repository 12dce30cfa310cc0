package simulation

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/worker/checkpoint"
)

// ringTruth knows what every version of every state is, and what was destroyed.
type ringTruth struct {
	models    map[stateKey]map[string]string
	manifests map[stateKey]*shard.Manifest
	acks      map[stateKey]int // hosts that took the manifest
	starts    map[checkpoint.Version]time.Duration
	named     map[shard.ObjectID]bool // by what is committed
	// destroyed hosts, and when; wholeSince is since when nothing is missing that
	// was not destroyed after it.
	destroyed  []destruction
	wholeSince time.Duration
	whole      bool // when it was looked last
	positions  map[int32]int64
	expected   map[int32]map[string]int64
}

type stateKey struct {
	task    int32
	version shard.Version
}

type destruction struct {
	host int
	at   time.Duration
}

func newRingTruth() ringTruth {
	return ringTruth{
		models: make(map[stateKey]map[string]string), manifests: make(map[stateKey]*shard.Manifest),
		acks: make(map[stateKey]int), starts: make(map[checkpoint.Version]time.Duration),
		named: make(map[shard.ObjectID]bool), positions: make(map[int32]int64), expected: make(map[int32]map[string]int64),
	}
}

// model is what a version of a task's state holds; nil if it was never saved.
func (t *ringTruth) model(task int32, v shard.Version) map[string]string {
	if v == 0 {
		return map[string]string{}
	}
	return t.models[stateKey{task, v}]
}

func (t *ringTruth) names(id shard.ObjectID) bool { return t.named[id] }

// began notes that a version is being taken down.
func (t *ringTruth) began(w *ringWorld, v checkpoint.Version) {
	if _, ok := t.starts[v]; !ok {
		t.starts[v] = w.now
	}
}

// saved notes what a version is. There may be only one truth.
func (t *ringTruth) saved(w *ringWorld, s *ringSave, acked []shard.NodeID) {
	k := stateKey{s.t.id, s.ver}
	if old, ok := t.models[k]; ok && !maps.Equal(old, s.model) {
		w.broken("two states of task %d were saved as version %v", s.t.id, s.v)
	}
	t.models[k], t.manifests[k], t.acks[k] = s.model, s.manifest, len(acked)
}

// commit checks a version that is being committed: all tasks have saved it, and
// together they are what the spouts' positions in it make of an empty state.
func (t *ringTruth) commit(w *ringWorld, v checkpoint.Version) {
	ver := versionOf(v)
	clear(t.named)
	for _, id := range w.ids {
		k := stateKey{id, ver}
		m := t.manifests[k]
		if m == nil {
			w.broken("version %v is committed, and task %d has not saved it", v, id)
			return
		}
		for _, chain := range m.Shards {
			for i := range chain {
				t.named[chain[i].ObjectID] = true
			}
		}
	}
	if start, ok := t.starts[v]; ok {
		t.wholeSince = min(t.wholeSince, start)
	}
	for _, s := range w.plan.Sources {
		p, _ := strconv.ParseInt(t.models[stateKey{s, ver}]["position"], 10, 64)
		for ; t.positions[s] < p; t.positions[s]++ {
			t.expect(w, w.tasks[s].comp.ID, int64(s)<<32|(t.positions[s]+1))
		}
		if t.positions[s] != p {
			w.broken("version %v has spout %d at %d, an earlier one at %d", v, s, p, t.positions[s])
		}
	}
	for _, id := range w.ids {
		t.compareCounts(w, id, ver)
	}
	for k := range t.models {
		if k.version < versionOf(w.before.Committed) {
			delete(t.models, k)
			delete(t.manifests, k)
			delete(t.acks, k)
		}
	}
}

// expect counts what a tuple that a component emits does in those behind it.
func (t *ringTruth) expect(w *ringWorld, from string, tuple int64) {
	for _, c := range w.comps {
		if !slices.Contains(c.Inputs, from) {
			continue
		}
		id := ringTarget(c, tuple)
		if t.expected[id] == nil {
			t.expected[id] = make(map[string]int64)
		}
		t.expected[id][w.keyOf(tuple)]++
		t.expect(w, c.ID, tuple)
	}
}

func (t *ringTruth) compareCounts(w *ringWorld, id int32, v shard.Version) {
	model := t.models[stateKey{id, v}]
	want := make(map[string]string)
	for k, n := range t.expected[id] {
		want["c/"+k] = strconv.FormatInt(n, 10)
		if value := ringValue(n); value != "" {
			want["v/"+k] = value
		}
	}
	if p, ok := model["position"]; ok {
		want["position"] = p
	}
	if !maps.Equal(model, want) {
		w.broken("version %d of task %d counts otherwise than the spouts have emitted", v, id)
	}
}

func (t *ringTruth) destroy(w *ringWorld, h *ringHost) {
	t.destroyed = append(t.destroyed, destruction{h.index, w.now})
}

// destroyedSince are the hosts that lost something at or after a time.
func (t *ringTruth) destroyedSince(since time.Duration) map[int]bool {
	out := make(map[int]bool)
	for _, d := range t.destroyed {
		if d.at >= since {
			out[d.host] = true
		}
	}
	return out
}

// open are the committed version and those that may be yet.
func (t *ringTruth) open(w *ringWorld) []checkpoint.Version {
	var out []checkpoint.Version
	for v := range t.starts {
		if v == w.record.Committed || v.Era == w.record.Last && v.TxID > w.record.Committed.TxID {
			out = append(out, v)
		}
	}
	return out
}

// copies counts the machines with good copies of an object.
func (w *ringWorld) copies(ref *shard.Ref) int {
	return w.machines(func(h *ringHost) bool {
		s := h.disk.of(ref.Owner)
		if s == nil {
			return false
		}
		c := s.index[ref.ObjectID]
		return c != nil && !c.rotten && c.ref.Checksum == ref.Checksum
	})
}

func (w *ringWorld) manifestCopies(o shard.Owner, v shard.Version) int {
	return w.machines(func(h *ringHost) bool {
		s := h.disk.of(o)
		if s == nil {
			return false
		}
		m := s.manifest(v)
		return m != nil && !m.rotten
	})
}

// machines counts those of which a node has something.
func (w *ringWorld) machines(has func(*ringHost) bool) int {
	var names [32]string
	seen := names[:0]
	for _, h := range w.hosts {
		if has(h) && !slices.Contains(seen, h.self.Host) {
			seen = append(seen, h.self.Host)
		}
	}
	return len(seen)
}

// watch looks every second whether what is committed is there in as many copies
// as it must be.
func (w *ringWorld) watch() {
	w.after(time.Second, w.watch)
	if w.cfg.Brutal || w.record.Committed.TxID == 0 {
		w.truth.wholeSince, w.truth.whole = w.now, true
		return
	}
	lost := len(w.truth.destroyedSince(w.truth.wholeSince))
	ver := versionOf(w.record.Committed)
	whole := true
	for _, id := range w.ids {
		k := stateKey{id, ver}
		m := w.truth.manifests[k]
		n := w.manifestCopies(m.Owner, ver)
		whole = whole && n >= w.replicas
		if n < min(w.truth.acks[k], w.replicas)-lost {
			w.broken("the manifest of version %d of task %d is on %d hosts, was on %d, %d were lost", ver, id, n, w.truth.acks[k], lost)
		}
		for _, chain := range m.Shards {
			for i := range chain {
				n := w.copies(&chain[i])
				whole = whole && n >= w.replicas
				if n < min(len(chain[i].Holders), w.replicas)-lost {
					w.broken("%v is on %d hosts, was on %v, %d hosts lost something", chain[i].ObjectID, n, chain[i].Holders, lost)
				}
			}
		}
	}
	// A copy may go on the word of a node that has lost its own since.
	if whole && len(w.truth.destroyedSince(w.now-w.keepCfg.Believe-time.Second)) == 0 {
		w.truth.wholeSince = w.now
	}
	w.truth.whole = whole
}

// whole tells whether everything is where it should be.
func (w *ringWorld) whole() bool {
	if !w.truth.whole {
		return false
	}
	for _, h := range w.hosts {
		if h.node == nil || h.slow > 0 {
			continue // who is slow for ever is always behind
		}
		if health := h.keeper.Health(); !health.Whole() || !h.machine.Complete() {
			return false
		}
	}
	return true
}

// working tells whether all tasks run and checkpoints are committed after v.
func (w *ringWorld) working(v checkpoint.Version) bool {
	if w.record.Committed.TxID < v.TxID+2 {
		return false
	}
	for _, id := range w.ids {
		if t := w.tasks[id]; t.down() || !t.task.Open() {
			return false
		}
	}
	return true
}

// settled tells whether each task runs, or waits for what is nowhere any more and
// says so; lost, whether one does.
func (w *ringWorld) settled() (settled, lost bool) {
	ver := versionOf(w.record.Committed)
	for _, id := range w.ids {
		t := w.tasks[id]
		if t.down() {
			return false, false
		}
		if t.task.Open() {
			continue
		}
		if t.loading == nil || t.loading.ver != ver || !w.lost(t) {
			return false, false
		}
		lost = true
	}
	return true, lost
}

// lost tells whether a task waits for what is nowhere any more, and for nothing
// else.
func (w *ringWorld) lost(t *ringTask) bool {
	l := t.loading
	if l.seeking {
		return w.manifestCopies(t.owner, l.ver) == 0
	}
	for _, i := range l.waiting {
		if !slices.ContainsFunc(l.m.Shards[i], func(r shard.Ref) bool { return w.copies(&r) == 0 }) {
			return false
		}
	}
	return len(l.waiting) > 0
}

// leftover is something on a disk that should have gone by now, given what was
// committed long ago.
func (w *ringWorld) leftover(long shard.Version) string {
	named := maps.Clone(w.truth.named)
	for _, m := range w.truth.manifests {
		for _, chain := range m.Shards {
			for _, r := range chain {
				named[r.ObjectID] = true
				r.Kind = shard.Base
				named[r.ObjectID] = true // folded of it
			}
		}
	}
	for _, h := range w.hosts {
		for _, s := range h.disk.stocks {
			for _, c := range s.copies {
				if c.ref.Version < long && !named[c.ref.ObjectID] {
					return string(h.id) + " keeps " + c.ref.ObjectID.String()
				}
			}
			for _, m := range s.manifests {
				if m.m.Version < long && len(s.manifests) > 4 {
					return string(h.id) + " keeps old manifests of " + s.owner.String()
				}
			}
		}
	}
	return ""
}
