package client

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// savedFor is how long a node may take to say what it has.
const savedFor = 3 * time.Second

// Unsaved are those of the owners of which version v is not known to be safe: fewer
// than two nodes say that they have its manifest, or than replicas or the ring has if
// that is one. A manifest is stored after what it names.
func (c *Client) Unsaved(ctx context.Context, owners []shard.Owner, v shard.Version, replicas int) ([]shard.Owner, error) {
	p, err := c.views.get(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var unsaved []shard.Owner
	each(owners, func(o shard.Owner) {
		if c.saved(ctx, p, o, v, replicas) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		unsaved = append(unsaved, o)
	})
	return unsaved, ctx.Err()
}

// saved asks the nodes where manifests belong, and if those do not suffice all others.
func (c *Client) saved(ctx context.Context, p *picture, o shard.Owner, v shard.Version, replicas int) bool {
	likely, err := c.holders(ctx, p, o.Hash(), replicas)
	if err != nil {
		return false
	}
	need := max(1, min(2, replicas, len(p.nodes)))
	if need -= c.count(ctx, likely, o, v); need <= 0 {
		return true
	}
	return c.count(ctx, p.others(likely), o, v) >= need
}

// count is how many of the nodes have the manifest.
func (c *Client) count(ctx context.Context, nodes []ring.Node, o shard.Owner, v shard.Version) int {
	ctx, cancel := context.WithTimeout(ctx, savedFor)
	defer cancel()
	var n atomic.Int64
	each(nodes, func(node ring.Node) {
		var a protocol.ManifestList
		if c.ask(ctx, node.Addr, protocol.ListManifests, protocol.OwnerRequest{Owner: o}, &a) != nil {
			return
		}
		if slices.Contains(a.Versions, v) {
			n.Add(1)
		}
	})
	return int(n.Load())
}
