package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// delivery brings one version to its holders. Objects go out as they are made.
// What then lacks holders, since some failed, is made again, which gives the same
// bytes: so memory is bounded whatever fails.
type delivery struct {
	t *Task
	s *saving

	placed map[shard.Range]*placed
	failed map[shard.NodeID]error // in this save
	// shunned failed in earlier saves.
	shunned map[shard.NodeID]bool
	// excused tells that failed nodes had their second chance, so that fewer
	// copies than replicas will do.
	excused bool
	picture *picture
	// wanted is on how many hosts everything is to be.
	wanted int
}

// placed is one object, and who has it.
type placed struct {
	ref     shard.Ref
	holders map[shard.NodeID]ring.Node
}

// run makes everything safe and returns the manifest that is.
func (d *delivery) run(ctx context.Context) (*shard.Manifest, error) {
	if err := d.look(ctx); err != nil {
		return nil, err
	}
	var only func(shard.Range) bool // all at first
	for {
		before := len(d.failed)
		if err := d.pass(ctx, only); err != nil {
			return nil, err
		}
		if len(d.failed) == before {
			break
		}
		if err := d.look(ctx); err != nil {
			return nil, err
		}
		short := d.short()
		if len(short) == 0 {
			break
		}
		only = func(r shard.Range) bool { return short[r] }
	}
	m, err := d.manifest()
	if err != nil {
		return nil, err
	}
	return m, d.publish(ctx, m)
}

// look takes a picture of the ring without those who failed, and says on how many
// hosts everything is to be.
func (d *delivery) look(ctx context.Context) error {
	c := d.t.c
	for {
		p, err := c.views.get(ctx)
		if err != nil {
			return err
		}
		// Who failed in an earlier save, a short while ago, counts as away.
		if rest := p.without(func(id shard.NodeID) bool { return d.shunned[id] }); rest.hosts() > 0 {
			p = rest
		}
		rest := p.without(func(id shard.NodeID) bool { return d.failed[id] != nil })
		d.wanted = min(d.t.o.Replicas, p.hosts())
		switch {
		case rest.hosts() >= d.wanted:
			d.picture = rest
			return nil
		case !d.excused:
			// Nobody is left to take their place: they get a second chance, once.
			d.excused = true
			clear(d.failed)
			d.picture = p
			return nil
		case rest.hosts() > 0:
			d.picture, d.wanted = rest, rest.hosts()
			return nil
		}
		last := errors.Join(slices.Collect(maps.Values(d.failed))...)
		c.views.kick()
		select {
		case <-ctx.Done():
			return fmt.Errorf("no node takes objects: %w", last)
		case <-time.After(secondTry):
		}
		clear(d.failed)
	}
}

// secondTry is when nodes are asked again if all have failed.
const secondTry = 300 * time.Millisecond

// pass makes objects and sends each to the holders that it lacks.
func (d *delivery) pass(ctx context.Context, only func(shard.Range) bool) error {
	room := semaphore.NewWeighted(d.t.c.cfg.Buffer)
	putters := make(map[shard.NodeID]*putter)
	var wg sync.WaitGroup
	which := shard.Selection{Version: d.s.version, Epoch: d.s.epoch, Bases: d.s.bases, Only: only}
	err := d.s.frozen.Select(d.t.c.codec, which, func(ref shard.Ref, stored []byte) error {
		to, err := d.lacking(ctx, ref)
		if err != nil || len(to) == 0 {
			return err
		}
		p := &parcel{ref: ref, stored: stored, room: room, weight: min(ref.Stored, d.t.c.cfg.Buffer)}
		p.left.Store(int32(len(to)))
		if err := room.Acquire(ctx, p.weight); err != nil {
			return err
		}
		for _, n := range to {
			id := shard.NodeID(n.ID)
			to := putters[id]
			if to == nil {
				to = newPutter(d, n)
				putters[id] = to
				wg.Go(func() { to.run(ctx) })
			}
			to.add(p)
		}
		return nil
	})
	for _, p := range putters {
		p.close(err)
	}
	wg.Wait()
	if err != nil {
		return err
	}
	return d.collect(ctx, putters)
}

// lacking are the nodes that should get an object and did not yet.
func (d *delivery) lacking(ctx context.Context, ref shard.Ref) ([]ring.Node, error) {
	p := d.placed[ref.Range]
	if p == nil {
		p = &placed{ref: ref, holders: make(map[shard.NodeID]ring.Node)}
		d.placed[ref.Range] = p
	}
	if p.ref.Checksum != ref.Checksum {
		return nil, fmt.Errorf("%v was made twice with different bytes", ref.ObjectID)
	}
	nodes, err := d.t.c.holders(ctx, d.picture, d.t.o.Owner.ShardHash(ref.Range.First), d.t.o.Replicas)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(nodes, func(n ring.Node) bool {
		_, has := p.holders[shard.NodeID(n.ID)]
		return has
	}), nil
}

// collect takes down who has what now, and who failed.
func (d *delivery) collect(ctx context.Context, putters map[shard.NodeID]*putter) error {
	c := d.t.c
	for id, p := range putters {
		if p.err == nil {
			c.shun.clear(id)
			for _, r := range p.sent {
				d.placed[r].holders[id] = p.node
			}
			continue
		}
		if ctx.Err() != nil {
			return p.err
		}
		if errors.Is(p.err, ErrFenced) || errors.Is(p.err, ErrConflict) {
			return p.err
		}
		d.fail(id, p.err)
	}
	return nil
}

// fail passes a node over from now on.
func (d *delivery) fail(id shard.NodeID, err error) {
	c := d.t.c
	d.failed[id] = err
	c.shun.add(id)
	c.views.kick()
	c.cfg.Log.Warn("a holder did not take its part of a checkpoint; others get it",
		"owner", d.t.o.Owner.String(), "version", int64(d.s.version), "node", string(id), "error", err)
}

// short are the ranges of objects with too few holders for the hosts that there
// are.
func (d *delivery) short() map[shard.Range]bool {
	short := make(map[shard.Range]bool)
	for r, o := range d.placed {
		if hostsOf(o.holders) < d.wanted {
			short[r] = true
		}
	}
	return short
}

func hostsOf(nodes map[shard.NodeID]ring.Node) int {
	hosts := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		hosts[hostOf(n)] = true
	}
	return len(hosts)
}

// manifest makes the manifest of the version.
func (d *delivery) manifest() (*shard.Manifest, error) {
	var written []shard.Ref
	for _, p := range d.placed {
		p.ref.Holders = slices.Sorted(maps.Keys(p.holders))
		written = append(written, p.ref)
	}
	m, err := d.s.chains.Next(d.s.version, d.s.epoch, d.t.c.cfg.Now().UnixMilli(), written)
	if err != nil {
		return nil, err
	}
	m.Replicas = d.t.o.Replicas
	return m, nil
}

// publish stores the manifest where it is looked for, which must be on as many
// hosts as there should be, and where its objects are, as far as these answer
// at once.
func (d *delivery) publish(ctx context.Context, m *shard.Manifest) error {
	body, err := m.Encode()
	if err != nil {
		return err
	}
	has := make(map[shard.NodeID]ring.Node)
	for {
		must, err := d.t.c.holders(ctx, d.picture, d.t.o.Owner.Hash(), d.t.o.Replicas)
		if err != nil {
			return err
		}
		must = slices.DeleteFunc(must, func(n ring.Node) bool { _, ok := has[shard.NodeID(n.ID)]; return ok })
		before := len(d.failed)
		if err := d.offer(ctx, body, must, d.others(m, must, has), has); err != nil {
			return err
		}
		if len(d.failed) == before {
			return nil
		}
		if err := d.look(ctx); err != nil {
			return err
		}
	}
}

// others are the nodes that a manifest names, besides those that must have it and
// those that do.
func (d *delivery) others(m *shard.Manifest, must []ring.Node, has map[shard.NodeID]ring.Node) []ring.Node {
	seen := make(map[shard.NodeID]bool)
	for _, n := range must {
		seen[shard.NodeID(n.ID)] = true
	}
	var others []ring.Node
	for _, chain := range m.Shards {
		for _, ref := range chain {
			for _, id := range ref.Holders {
				n, living := d.known(id)
				if _, ok := has[id]; living && !ok && !seen[id] {
					seen[id] = true
					others = append(others, n)
				}
			}
		}
	}
	return others
}

// known is where a node is, as far as this delivery has met it.
func (d *delivery) known(id shard.NodeID) (ring.Node, bool) {
	if n, ok := d.picture.nodes[id]; ok {
		return n, true
	}
	if !d.picture.complete {
		for _, p := range d.placed {
			if n, ok := p.holders[id]; ok {
				return n, true
			}
		}
	}
	return ring.Node{}, false
}

// offer sends the manifest to all, and waits for those that must have it.
func (d *delivery) offer(ctx context.Context, body []byte, must, others []ring.Node, has map[shard.NodeID]ring.Node) error {
	type answer struct {
		node ring.Node
		err  error
	}
	answers := make(chan answer, len(must)+len(others))
	for _, n := range slices.Concat(must, others) {
		d.t.wg.Go(func() {
			// Not ended by ctx, whose end may be the success of the others.
			one, cancel := context.WithTimeout(d.t.ctx, d.t.o.HolderTimeout)
			defer cancel()
			_, err := d.t.c.raw(one, n.Addr, protocol.PutManifest, body)
			answers <- answer{n, err}
		})
	}
	waiting := make(map[string]bool, len(must))
	for _, n := range must {
		waiting[n.ID] = true
	}
	for len(waiting) > 0 {
		select {
		case a := <-answers:
			id := shard.NodeID(a.node.ID)
			switch {
			case a.err == nil:
				has[id] = a.node
			case errors.Is(a.err, ErrFenced) || errors.Is(a.err, ErrConflict):
				return a.err
			case waiting[a.node.ID]:
				d.fail(id, a.err)
			}
			delete(waiting, a.node.ID)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
