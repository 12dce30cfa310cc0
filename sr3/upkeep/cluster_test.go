package upkeep

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// cluster is nodes with keepers and disks that see the ring differently, on a
// network that loses messages. A writer commits versions all the time.
type cluster struct {
	t        *rapid.T
	nodes    []*member
	now      int64
	last     *shard.Manifest
	noise    *rand.Rand
	lossless bool
}

type member struct {
	rig
	up bool
}

// quick is a keeper that waits a tenth of the usual.
func quick(t *rapid.T) *Keeper {
	cfg := Default()
	for _, d := range []*time.Duration{&cfg.Grace, &cfg.RepairDelay, &cfg.Believe, &cfg.Promise, &cfg.Retry, &cfg.RetryMax, &cfg.OfferEvery} {
		*d /= 10
	}
	k, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const clusterSize = 7

func newCluster(t *rapid.T) *cluster {
	c := &cluster{t: t, noise: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "noise"), 1))}
	for i := range clusterSize {
		m := &member{up: true}
		m.self, m.stock.Owner = shard.NodeID(fmt.Sprintf("n%d", i)), owner
		m.view = view(clusterSize)
		m.k = quick(t)
		c.nodes = append(c.nodes, m)
	}
	c.last = manifest(0)
	return c
}

func (c *cluster) loses() bool {
	return !c.lossless && c.noise.IntN(4) == 0
}

func (c *cluster) node(id shard.NodeID) *member {
	for _, m := range c.nodes {
		if m.self == id && m.up {
			return m
		}
	}
	return nil
}

// copies is on how many disks the object is, those of stopped nodes too.
func (c *cluster) copies(ref shard.Ref) int {
	n := 0
	for _, m := range c.nodes {
		if slices.ContainsFunc(m.stock.Objects, func(o shard.Ref) bool { return o.ObjectID == ref.ObjectID }) {
			n++
		}
	}
	return n
}

// commit writes a version as a worker does, to the holders of some node's view.
func (c *cluster) commit() {
	v := c.last.Version + 1
	const shards = 4
	var written []shard.Ref
	of := c.nodes[rapid.IntRange(0, clusterSize-1).Draw(c.t, "of")].view
	for i := range shards {
		kind := shard.Delta
		if v == 1 || rapid.IntRange(0, 3).Draw(c.t, "base") == 0 {
			kind = shard.Base
		} else if rapid.Bool().Draw(c.t, "unchanged") {
			continue
		}
		r := ref(kind, v, int64(10+i))
		r.Range = shard.RangeOf(i, shards)
		for _, id := range holders(of, owner.ShardHash(r.Range.First), 3) {
			if m := c.node(id); m != nil {
				m.stock.Objects = append(m.stock.Objects, r)
				r.Holders = append(r.Holders, id)
			}
		}
		if len(r.Holders) == 0 {
			return // cannot be prepared
		}
		written = append(written, r)
	}
	next, err := c.last.Next(v, 1, c.now, written)
	if err != nil {
		c.t.Fatal(err)
	}
	to := holders(of, owner.Hash(), 3)
	for _, r := range written {
		to = sources("", to, r.Holders)
	}
	stored := 0
	for _, id := range to {
		if m := c.node(id); m != nil {
			m.stock.Manifests = append(m.stock.Manifests, next)
			stored++
		}
	}
	if stored == 0 {
		return
	}
	c.last = next
}

// round lets each living node decide and does what it says.
func (c *cluster) round(seconds int64) {
	c.now += seconds * 1000
	for _, m := range c.nodes {
		if !m.up {
			continue
		}
		m.c = Committed{Known: true, Version: c.last.Version}
		m.now = c.now
		for _, a := range m.decide(0) {
			m.k.Ended(a, c.do(m, a))
		}
	}
}

func (c *cluster) do(m *member, a Action) bool {
	switch a := a.(type) {
	case FetchManifest:
		for _, id := range a.From {
			if o := c.node(id); o != nil && !c.loses() {
				if i := slices.IndexFunc(o.stock.Manifests, func(f *shard.Manifest) bool { return f.Version == a.Version }); i >= 0 {
					m.stock.Manifests = append(m.stock.Manifests, o.stock.Manifests[i])
					slices.SortFunc(m.stock.Manifests, func(x, y *shard.Manifest) int { return int(x.Version - y.Version) })
					return true
				}
			}
		}
		return false
	case FetchObject:
		for _, id := range a.From {
			if o := c.node(id); o != nil && !c.loses() {
				if slices.ContainsFunc(o.stock.Objects, func(r shard.Ref) bool { return r.ObjectID == a.Ref.ObjectID }) {
					m.stock.Objects = append(m.stock.Objects, a.Ref)
					return true
				}
			}
		}
		return false
	case Offer:
		if o := c.node(a.To); o != nil && !c.loses() {
			o.k.Offered(m.self, a.Owner, a.Version)
			return true
		}
		return false
	case AskHave:
		for _, id := range a.Of {
			if o := c.node(id); o != nil && !c.loses() {
				manifest, have := o.k.Vouch(m.self, a.Owner, a.Version, a.Refs)
				if !c.loses() {
					m.k.Had(a, id, manifest, have)
				}
			}
		}
	case Fold:
		b := a.Chain[len(a.Chain)-1]
		b.Kind = shard.Base
		m.stock.Objects = append(m.stock.Objects, b)
	case DeleteObjects:
		for _, r := range a.Refs {
			m.stock.Objects = slices.DeleteFunc(m.stock.Objects, func(o shard.Ref) bool { return o.ObjectID == r.ObjectID })
			if c.named(r) && c.copies(r) == 0 {
				c.t.Fatalf("%v let go the last copy of %v", m.self, r.ObjectID)
			}
		}
	case DeleteManifest:
		if a.Version == c.last.Version && !slices.ContainsFunc(c.nodes, func(o *member) bool {
			return o != m && slices.Contains(o.stock.Manifests, c.last)
		}) {
			c.t.Fatalf("%v let go the last copy of the manifest", m.self)
		}
		m.stock.Manifests = slices.DeleteFunc(m.stock.Manifests, func(f *shard.Manifest) bool { return f.Version == a.Version })
	case DropOwner:
		c.t.Fatalf("%v drops the owner", m.self)
	}
	return true
}

func (c *cluster) named(r shard.Ref) bool {
	return slices.ContainsFunc(c.last.Shards, func(chain []shard.Ref) bool {
		return slices.ContainsFunc(chain, func(o shard.Ref) bool { return o.ObjectID == r.ObjectID })
	})
}

// some is a view of some of the nodes, m among them.
func (c *cluster) some(m *member) *ring.View {
	var nodes []ring.Node
	for _, n := range view(clusterSize).Nodes() {
		if n.ID == string(m.self) || rapid.IntRange(0, 2).Draw(c.t, "in") > 0 {
			nodes = append(nodes, n)
		}
	}
	return ring.NewView(nodes)
}

// Without lost disks no copy that is needed is ever the last to go, whatever
// nodes believe of the ring; and in the end each is where it belongs, and
// nothing else is left.
func TestCluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t)
		c.commit()
		for range rapid.IntRange(1, 7).Draw(t, "phases") {
			m := c.nodes[rapid.IntRange(0, clusterSize-1).Draw(t, "node")]
			switch rapid.IntRange(0, 6).Draw(t, "event") {
			case 0, 1:
				m.view = c.some(m)
			case 2:
				m.up = false
			case 3:
				m.up = true
				m.k = quick(t)
			case 4:
				m.part = !m.part
			case 5:
				c.now += rapid.Int64Range(0, 1<<32).Draw(t, "jump")
			case 6:
				for _, n := range c.nodes {
					n.view = view(clusterSize)
				}
			}
			for range rapid.SampledFrom([]int{1, 4, 12, 45}).Draw(t, "rounds") {
				c.round(2)
			}
			if rapid.Bool().Draw(t, "commit") {
				c.commit()
			}
		}
		c.lossless = true
		for _, m := range c.nodes {
			m.up, m.part, m.view = true, false, view(clusterSize)
		}
		for range 100 {
			c.round(4)
		}
		c.verify()
	})
}

func (c *cluster) verify() {
	for _, m := range c.nodes {
		if h := m.k.Health(); !h.Whole() || h.Foreign != 0 {
			c.t.Fatalf("%v is not well: %+v", m.self, h)
		}
	}
	manifest := holders(view(clusterSize), owner.Hash(), 3)
	for _, chain := range c.last.Shards {
		of := holders(view(clusterSize), owner.ShardHash(chain[0].Range.First), 3)
		for _, r := range chain {
			for _, m := range c.nodes {
				has := slices.ContainsFunc(m.stock.Objects, func(o shard.Ref) bool { return o.ObjectID == r.ObjectID })
				if has != slices.Contains(of, m.self) {
					c.t.Fatalf("%v has %v: %v, holders %v", m.self, r.ObjectID, has, of)
				}
			}
		}
	}
	for _, m := range c.nodes {
		if len(m.stock.Objects) > 0 { // perhaps of the version before
			manifest = sources("", manifest, []shard.NodeID{m.self})
		}
		if has := slices.Contains(m.stock.Manifests, c.last); has != slices.Contains(manifest, m.self) {
			c.t.Fatalf("%v has the manifest: %v, should be at %v", m.self, has, manifest)
		}
		if len(m.stock.Manifests) > 3 {
			c.t.Fatalf("%v keeps %d manifests", m.self, len(m.stock.Manifests))
		}
	}
}
