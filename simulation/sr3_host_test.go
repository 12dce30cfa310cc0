package simulation

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/upkeep"
)

// ringHost is a machine, or what some share one: a node of the ring with its disk,
// and tasks.
type ringHost struct {
	w     *ringWorld
	index int
	id    shard.NodeID
	self  ring.Node
	gone  bool // for ever

	node    *life // nil while it is down
	starts  int
	machine *ring.Machine
	wake    time.Duration // of the tick that is on the agenda
	view    *ring.View    // as last seen
	keeper  *upkeep.Keeper
	skew    time.Duration // of the keeper's clock
	jumps   []time.Duration
	heard   shard.Version // what is committed
	heardAt time.Duration
	hops    []*ringHop
	// attempts are those to get something from others.
	attempts map[any]int

	slow time.Duration // to answer
	full bool
	disk ringDisk
}

// ringDisk is what a node keeps.
type ringDisk struct{ stocks []*ringStock }

type ringStock struct {
	owner     shard.Owner
	fence     shard.Epoch
	manifests []*storedManifest
	copies    []*storedCopy
	index     map[shard.ObjectID]*storedCopy
	stock     upkeep.Stock
	fresh     bool // stock is as the rest
}

type storedCopy struct {
	ref    shard.Ref
	stored []byte
	at     time.Duration // when it was written
	rotten bool
	intact []byte // what was written, if it is rotten
}

type storedManifest struct {
	m       *shard.Manifest
	encoded []byte
	rotten  bool
	intact  []byte
}

func (w *ringWorld) addHost() *ringHost {
	i := len(w.hosts)
	h := &ringHost{w: w, index: i, id: shard.NodeID(fmt.Sprintf("n%d-%d", w.cfg.Seed, i))}
	h.self = ring.Node{ID: string(h.id), Addr: fmt.Sprintf("10.0.0.%d:6700", i), Host: fmt.Sprintf("h%d", i), Positions: 4}
	w.hosts = append(w.hosts, h)
	if w.racks > 0 {
		h.self.Rack = fmt.Sprintf("r%d", i%w.racks)
	}
	if w.parts != nil {
		w.parts = append(w.parts, w.parts[0])
	}
	return h
}

func (w *ringWorld) host(id shard.NodeID) *ringHost {
	for _, h := range w.hosts {
		if h.id == id {
			return h
		}
	}
	return nil
}

// startNode starts the node of a host, with the disk as it is.
func (w *ringWorld) startNode(h *ringHost) {
	if h.node != nil || h.gone {
		return
	}
	w.note("node %s starts", h.id)
	h.node = &life{}
	h.starts++
	m, err := ring.New(w.ringCfg, h.self, uint64(h.starts)*1000, w.fork())
	if err != nil {
		w.broken("%v", err)
		return
	}
	h.machine, h.wake, h.heardAt, h.heard = m, 0, -time.Hour, 0
	h.attempts = make(map[any]int)
	if h.keeper, err = upkeep.New(w.keepCfg); err != nil {
		w.broken("%v", err)
		return
	}
	var seeds []ring.Node
	for _, o := range w.hosts {
		if !o.gone {
			seeds = append(seeds, o.self)
		}
	}
	w.turn(h, m.Join(seeds, w.now))
	w.on(h.node, w.millis(0, 1000), func() { w.upkeep(h) })
	w.on(h.node, w.millis(0, 5000), func() { w.scrub(h) })
}

func (w *ringWorld) stopNode(h *ringHost) {
	if h.node == nil {
		return
	}
	w.note("node %s stops", h.id)
	h.node.over = true
	h.node = nil
	w.breakStreams(h)
}

// turn does what the ring's machine asks for.
func (w *ringWorld) turn(h *ringHost, out ring.Out) {
	for i := range out.Send {
		s := &out.Send[i]
		for _, to := range w.hosts {
			if to.self.Addr == s.To.Addr {
				w.post(h, to, func() { w.turn(to, to.machine.Receive(&s.Message, w.now)) })
			}
		}
	}
	for _, e := range out.Events {
		w.note("%s: %v %s", h.id, e.Kind, e.Node.ID)
		if e.Kind == ring.Joined {
			h.keeper.Joined(shard.NodeID(e.Node.ID))
		}
	}
	h.view = h.machine.View()
	if next := max(h.machine.Next(), w.now+1); h.wake <= w.now || next < h.wake {
		h.wake = next
		w.on(h.node, next-w.now, func() {
			if h.wake == next {
				w.turn(h, h.machine.Tick(w.now))
			}
		})
	}
}

// seen is the ring as a process on the host last saw it.
func (h *ringHost) seen() *ring.View {
	if h.view == nil {
		return ring.NewView([]ring.Node{h.self})
	}
	return h.view
}

var (
	errFenced   = errors.New("fenced")
	errConflict = errors.New("there is another one")
	errFull     = errors.New("the disk is full")
)

func (d *ringDisk) of(o shard.Owner) *ringStock {
	for _, s := range d.stocks {
		if s.owner == o {
			return s
		}
	}
	return nil
}

func (d *ringDisk) make(o shard.Owner) *ringStock {
	s := d.of(o)
	if s == nil {
		s = &ringStock{owner: o, index: make(map[shard.ObjectID]*storedCopy)}
		d.stocks = append(d.stocks, s)
	}
	return s
}

// put stores an object; restored ones, which a committed manifest names, pass
// the fence.
func (w *ringWorld) put(h *ringHost, ref shard.Ref, stored []byte, restored bool) error {
	s := h.disk.make(ref.Owner)
	if err := w.writable(h, s, ref.Epoch, restored); err != nil {
		return err
	}
	if old := s.index[ref.ObjectID]; old != nil {
		if old.ref.Checksum != ref.Checksum {
			return errConflict
		}
		if shard.Verify(ref, old.stored) == nil {
			return nil
		}
		s.drop(ref.ObjectID)
	}
	if err := shard.Verify(ref, stored); err != nil {
		w.broken("bytes that are not those of %v were sent to be stored: %v", ref.ObjectID, err)
	}
	ref.Holders = nil
	if w.cfg.Bug == "forgets" && w.rng.IntN(20) == 0 {
		return nil
	}
	c := &storedCopy{ref: ref, stored: slices.Clone(stored), at: w.now}
	s.copies, s.index[ref.ObjectID], s.fresh = append(s.copies, c), c, false
	if !restored && ref.Epoch < s.fence {
		w.broken("%s stores %v for a placement older than %d", h.id, ref.ObjectID, s.fence)
	}
	return nil
}

func (w *ringWorld) writable(h *ringHost, s *ringStock, epoch shard.Epoch, restored bool) error {
	switch {
	case h.full:
		return errFull
	case !restored && epoch < s.fence && w.cfg.Bug != "no fence":
		w.Counts.Fenced++
		return errFenced
	}
	return nil
}

func (w *ringWorld) putManifest(h *ringHost, m *shard.Manifest, encoded []byte, restored bool) error {
	s := h.disk.make(m.Owner)
	if err := w.writable(h, s, m.Epoch, restored); err != nil {
		return err
	}
	if old := s.manifest(m.Version); old != nil {
		if slices.Equal(old.encoded, encoded) {
			return nil
		}
		if _, err := shard.DecodeManifest(old.encoded); err == nil {
			return errConflict
		}
		s.dropManifest(m.Version)
	}
	s.manifests = append(s.manifests, &storedManifest{m: m, encoded: slices.Clone(encoded)})
	slices.SortFunc(s.manifests, func(a, b *storedManifest) int { return int(a.m.Version - b.m.Version) })
	s.fresh = false
	return nil
}

func (s *ringStock) manifest(v shard.Version) *storedManifest {
	for _, m := range s.manifests {
		if m.m.Version == v {
			return m
		}
	}
	return nil
}

func (s *ringStock) drop(id shard.ObjectID) {
	if c := s.index[id]; c != nil {
		delete(s.index, id)
		s.copies = slices.DeleteFunc(s.copies, func(o *storedCopy) bool { return o == c })
		s.fresh = false
	}
}

func (s *ringStock) dropManifest(v shard.Version) {
	s.manifests = slices.DeleteFunc(s.manifests, func(m *storedManifest) bool { return m.m.Version == v })
	s.fresh = false
}

// read gives the stored bytes of an object, if they are there and good; others
// are dropped.
func (h *ringHost) read(ref shard.Ref) []byte {
	s := h.disk.of(ref.Owner)
	if s == nil {
		return nil
	}
	c := s.index[ref.ObjectID]
	if c == nil || c.ref.Checksum != ref.Checksum {
		return nil
	}
	if shard.Verify(ref, c.stored) != nil {
		s.drop(ref.ObjectID)
		return nil
	}
	if c.rotten && !slices.Equal(c.stored, c.intact) {
		h.w.broken("%s takes damaged bytes for %v", h.id, ref.ObjectID)
	}
	return c.stored
}

// readManifest gives a manifest's bytes in the same way.
func (h *ringHost) readManifest(o shard.Owner, v shard.Version) []byte {
	s := h.disk.of(o)
	if s == nil {
		return nil
	}
	m := s.manifest(v)
	if m == nil {
		return nil
	}
	if _, err := shard.DecodeManifest(m.encoded); err != nil {
		s.dropManifest(v)
		return nil
	}
	if m.rotten && !slices.Equal(m.encoded, m.intact) {
		h.w.broken("%s takes damaged bytes for the manifest of %v, version %v", h.id, o, v)
	}
	return m.encoded
}

func (w *ringWorld) fence(h *ringHost, o shard.Owner, e shard.Epoch) error {
	s := h.disk.make(o)
	if e < s.fence {
		return errFenced
	}
	s.fence, s.fresh = e, false
	return nil
}
