package simulation

import (
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/worker/checkpoint"
)

// ringLoad is a version on its way into a task.
type ringLoad struct {
	t       *ringTask
	life    *life
	v       checkpoint.Version
	ver     shard.Version
	m       *shard.Manifest
	table   *shard.Table
	tracker *recovery.Tracker
	parts   map[partKey]*partBytes
	streams map[recovery.StreamID]*ringStream
	tick    time.Duration
	seeking bool // for a manifest that no node has
	waiting []int
	looking bool
	limit   time.Duration // for answers; it grows, since who has what may be slow
}

// partKey is a run of a shard's chain.
type partKey struct{ shard, first, until int }

func keyOf(p recovery.Part) partKey { return partKey{p.Shard, p.First, p.Until} }

type partBytes struct {
	content recovery.Content
	data    []byte
}

// load makes the task's state that of a version.
func (w *ringWorld) load(t *ringTask, v checkpoint.Version) {
	ver := versionOf(v)
	if s := t.saving; s != nil {
		if s.ver == ver && s.manifest != nil && t.loading == nil {
			w.committed(t, ver) // it was, and nobody said so
		}
		s.life.over = true
		t.saving = nil
	}
	if t.loading != nil {
		t.loading.life.over = true
	}
	l := &ringLoad{t: t, life: &life{parent: t.life}, v: v, ver: ver, limit: askFor}
	if t.loading == nil && t.task != nil && t.committed == ver && (t.manifest != nil || ver == 0) {
		w.note("task %d rolls back to %v", t.id, v)
		t.table.Rollback()
		t.model = maps.Clone(w.truth.model(t.id, ver))
		t.loading = l
		w.on(l.life, w.millis(0, 5), func() { w.loaded(l, t.table) })
		return
	}
	w.note("task %d loads %v", t.id, v)
	w.Counts.Loads++
	t.loading = l
	t.table, t.manifest, t.committed = w.newTable(t.owner), nil, 0
	t.folds, t.folding, t.due = nil, nil, nil
	epoch := shard.Epoch(t.task.Era())
	for _, n := range t.host.seen().Nodes() {
		h := w.host(shard.NodeID(n.ID))
		w.ask(l.life, t.host, h, askFor, func() func() {
			if err := w.fence(h, t.owner, epoch); err != nil {
				w.note("task %d is fenced at %s", t.id, h.id)
			}
			return nil
		}, func() {})
	}
	if ver == 0 {
		w.on(l.life, w.millis(1, 20), func() { w.loaded(l, w.newTable(t.owner)) })
		return
	}
	w.find(l)
	w.tempt("load")
}

// find asks for the manifest until some node has it.
func (w *ringWorld) find(l *ringLoad) {
	nodes := l.t.host.seen().Nodes()
	open := len(nodes)
	failed := func() {
		if open--; open == 0 && l.m == nil {
			l.seeking = true
			l.bear()
			w.on(l.life, w.millis(200, 500), func() { w.find(l) })
		}
	}
	for _, n := range nodes {
		h := w.host(shard.NodeID(n.ID))
		w.ask(l.life, l.t.host, h, l.limit, func() func() {
			encoded := h.readManifest(l.t.owner, l.ver)
			return func() {
				m, err := shard.DecodeManifest(encoded)
				if err != nil || m.Version != l.ver || m.Owner != l.t.owner {
					failed()
					return
				}
				open--
				if l.m == nil {
					l.m, l.seeking = m, false
					w.survey(l)
				}
			}
		}, failed)
	}
}

// bear lets answers take longer from now on.
func (l *ringLoad) bear() { l.limit = min(2*l.limit, 8*time.Second) }

// survey asks who has what, or believes the manifest and the ring.
func (w *ringWorld) survey(l *ringLoad) {
	if len(l.m.Shards) == 0 {
		w.loaded(l, w.newTable(l.t.owner))
		return
	}
	in := recovery.Input{
		Owner: l.t.owner.String(), Version: l.ver, Mode: w.cfg.Mode,
		Receiver: recovery.Receiver{Node: recovery.Node{ID: l.t.host.id, Down: 1 << 20}},
		Params:   recovery.Params{StarFanin: 4, LineLength: 2 + w.rng.IntN(4), TreeFanin: 2, Chunk: chunkBytes, Window: 4096, Stall: 500 * time.Millisecond},
	}
	for i, chain := range l.m.Shards {
		p := recovery.Piece{Shard: i}
		for _, r := range chain {
			p.Chain = append(p.Chain, recovery.Object{Bytes: r.Stored})
		}
		in.Pieces = append(in.Pieces, p)
	}
	for _, h := range w.hosts {
		in.Nodes = append(in.Nodes, recovery.Node{ID: h.id, Up: 1 << (16 + w.rng.IntN(5)), Down: 1 << 20, RTT: 5 * time.Millisecond})
	}
	if w.chance(3) {
		for i, chain := range l.m.Shards {
			for j, r := range chain {
				o := &in.Pieces[i].Chain[j]
				o.Holders = slices.Clone(r.Holders)
				for _, n := range ring.Holders(l.t.host.seen(), l.t.owner.ShardHash(r.Range.First), w.replicas) {
					if !slices.Contains(o.Holders, shard.NodeID(n.ID)) {
						o.Holders = append(o.Holders, shard.NodeID(n.ID))
					}
				}
			}
		}
		w.recover(l, in)
		return
	}
	w.whoHas(l, func(id shard.NodeID, has [][]bool) {
		for i := range has {
			for j, yes := range has[i] {
				if yes {
					in.Pieces[i].Chain[j].Holders = append(in.Pieces[i].Chain[j].Holders, id)
				}
			}
		}
	}, func() { w.recover(l, in) })
}

// whoHas asks all nodes what of the version they have.
func (w *ringWorld) whoHas(l *ringLoad, heard func(id shard.NodeID, has [][]bool), end func()) {
	nodes := l.t.host.seen().Nodes()
	open := len(nodes)
	closed := func() {
		if open--; open == 0 {
			end()
		}
	}
	for _, n := range nodes {
		h := w.host(shard.NodeID(n.ID))
		w.ask(l.life, l.t.host, h, l.limit, func() func() {
			has := make([][]bool, len(l.m.Shards))
			for i, chain := range l.m.Shards {
				has[i] = make([]bool, len(chain))
				for j := range chain {
					s := h.disk.of(l.t.owner)
					has[i][j] = s != nil && s.index[chain[j].ObjectID] != nil
				}
			}
			return func() {
				heard(h.id, has)
				closed()
			}
		}, closed)
	}
}

func (w *ringWorld) recover(l *ringLoad, in recovery.Input) {
	plan, err := recovery.Make(in)
	if err != nil {
		w.broken("%v", err)
		return
	}
	if l.tracker, err = recovery.NewTracker(in, plan); err != nil {
		w.broken("%v", err)
		return
	}
	w.note("task %d recovers %v by %s from %v", l.t.id, l.v, plan.Mode, in.Pieces)
	w.Counts.Modes[plan.Mode]++
	l.table = w.newTable(l.t.owner)
	if err := l.table.Expect(l.m.Ranges()...); err != nil {
		w.broken("%v", err)
		return
	}
	l.parts, l.streams = make(map[partKey]*partBytes), make(map[recovery.StreamID]*ringStream)
	w.track(l, recovery.Tick{}, nil)
	w.scout(l, make(map[shard.NodeID]bool))
	if w.chance(2) {
		w.on(l.life, w.millis(0, 200), func() { w.track(l, recovery.Wanted{Shard: w.rng.IntN(len(l.m.Shards))}, nil) })
	}
	w.tempt("recovery")
}

// track tells the tracker what happened and does what it says. data are the bytes
// of a chunk.
func (w *ringWorld) track(l *ringLoad, e recovery.Event, data []byte) {
	if l.life.ended() || l.tracker == nil {
		return
	}
	for _, c := range l.tracker.Handle(w.time(), e) {
		switch c := c.(type) {
		case recovery.Open:
			w.open(l, c)
		case recovery.Skip:
			l.streams[c.Stream].skip[keyOf(c.Part)] = true
		case recovery.Cancel:
			l.streams[c.Stream].ended = true
		case recovery.Keep:
			chunk := e.(recovery.Chunk)
			p := l.parts[keyOf(c.Part)]
			if p == nil || c.Offset == 0 {
				p = &partBytes{content: chunk.Content}
				l.parts[keyOf(c.Part)] = p
			}
			if int64(len(p.data)) != c.Offset || p.content != chunk.Content {
				w.broken("task %d keeps bytes at %d of %+v, of which %d are there", l.t.id, c.Offset, c.Part, len(p.data))
				return
			}
			p.data = append(p.data, data...)
		case recovery.Discard:
			delete(l.parts, keyOf(c.Part))
		case recovery.Install:
			w.install(l, c)
		case recovery.Wait:
			w.wait(l, c.Shards)
		case recovery.Note:
			w.note("task %d: %s", l.t.id, c.Text)
		case recovery.Done:
			w.loaded(l, l.table)
		}
	}
	if at, ok := l.tracker.Next(); ok {
		due := at.Sub(ringBase)
		if l.tick <= w.now || due < l.tick {
			l.tick = max(due, w.now+1)
			mine := l.tick
			w.on(l.life, mine-w.now, func() {
				if l.tick == mine {
					l.tick = 0
					w.track(l, recovery.Tick{}, nil)
				}
			})
		}
	}
}

// install puts a shard into the table, if its bytes are good.
func (w *ringWorld) install(l *ringLoad, c recovery.Install) {
	chain := l.m.Shards[c.Shard]
	answer := recovery.Event(recovery.Installed{Shard: c.Shard})
	var objects []*shard.Object
	for i, p := range c.Parts {
		b := l.parts[keyOf(p)]
		good := b != nil && sumOf(b.data) == c.Contents[i].Sum
		if good && p.Until == p.First+1 {
			good = shard.Verify(chain[p.First], b.data) == nil
		}
		var opened []*shard.Object
		var err error
		if good {
			opened, err = protocol.OpenPart(w.codec, b.data)
			good = err == nil
		}
		if !good {
			answer = recovery.Rejected{Shard: c.Shard}
			break
		}
		objects = append(objects, opened...)
	}
	if _, ok := answer.(recovery.Installed); ok {
		if last := objects[len(objects)-1]; last.Version != chain[len(chain)-1].Version {
			w.broken("task %d: shard %d ends with version %d, the manifest's with %d", l.t.id, c.Shard, last.Version, chain[len(chain)-1].Version)
		}
		if err := l.table.Load(objects...); err != nil {
			w.note("task %d: %v", l.t.id, err)
			answer = recovery.Rejected{Shard: c.Shard}
		}
	}
	w.on(l.life, w.millis(0, 3), func() { w.track(l, answer, nil) })
}

func sumOf(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

// wait has nodes asked again while no copy is known of some shards.
func (w *ringWorld) wait(l *ringLoad, shards []int) {
	w.note("task %d waits for shards %v", l.t.id, shards)
	l.waiting = shards
	if len(shards) == 0 || l.looking {
		return
	}
	w.Counts.Waits++
	l.looking = true
	w.on(l.life, w.millis(300, 800), func() { w.lookAgain(l) })
}

func (w *ringWorld) lookAgain(l *ringLoad) {
	w.look(l, l.waiting, func() {
		if l.looking = len(l.waiting) > 0; l.looking {
			l.bear()
			w.on(l.life, w.millis(300, 800), func() { w.lookAgain(l) })
		}
	})
}

// look asks all nodes which of some shards they have.
func (w *ringWorld) look(l *ringLoad, shards []int, end func()) {
	w.whoHas(l, func(id shard.NodeID, has [][]bool) {
		for _, i := range slices.Clone(shards) {
			for j, yes := range has[i] {
				if yes {
					w.track(l, recovery.Found{Node: id, Shard: i, First: j, Until: j + 1}, nil)
				}
			}
		}
	}, end)
}

// scout tells a recovery every second who is on the ring and who is not, and now
// and then who has what by then: it may hang on a node that is slow for ever while
// others were repaired.
func (w *ringWorld) scout(l *ringLoad, gone map[shard.NodeID]bool) {
	w.on(l.life, time.Second, func() { w.scout(l, gone) })
	if w.chance(5) {
		all := make([]int, len(l.m.Shards))
		for i := range all {
			all[i] = i
		}
		w.look(l, all, func() {})
	}
	there := make(map[shard.NodeID]bool)
	for _, n := range l.t.host.seen().Nodes() {
		there[shard.NodeID(n.ID)] = true
	}
	for _, h := range w.hosts {
		switch {
		case !there[h.id] && !gone[h.id]:
			gone[h.id] = true
			w.track(l, recovery.Died{Node: h.id}, nil)
		case there[h.id] && gone[h.id]:
			delete(gone, h.id)
			w.track(l, recovery.Returned{Node: h.id}, nil)
		}
	}
}

// loaded is the end: the state must be that of the version, exactly.
func (w *ringWorld) loaded(l *ringLoad, table *shard.Table) {
	t := l.t
	w.note("task %d has loaded %v", t.id, l.v)
	model := w.truth.model(t.id, l.ver)
	if model == nil && w.tasks[t.id] != t {
		return // a zombie, whose version is long gone
	}
	if model == nil {
		w.broken("task %d has loaded version %v, which nobody saved", t.id, l.v)
		return
	}
	w.compare("what was loaded", t.owner, table, model)
	l.life.over = true
	t.loading = nil
	t.table, t.model, t.committed = table, maps.Clone(model), l.ver
	if l.m != nil {
		t.manifest = l.m
	}
	w.perform(t, t.task.Loaded(l.v, nil))
}
