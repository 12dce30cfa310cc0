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

const (
	// savedFor is how long a node may take to say what it has.
	savedFor = 3 * time.Second
	// likelyHolders are how many nodes are asked first.
	likelyHolders = 3
)

// Unsaved are those of the owners of which no node that answers has the manifest of
// version v. A manifest is stored after what it names, and on as many nodes as there
// are, so that one is enough to know that the version is saved.
func (c *Client) Unsaved(ctx context.Context, owners []shard.Owner, v shard.Version) ([]shard.Owner, error) {
	p, err := c.views.get(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var unsaved []shard.Owner
	each(owners, func(o shard.Owner) {
		if c.saved(ctx, p, o, v) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		unsaved = append(unsaved, o)
	})
	return unsaved, ctx.Err()
}

// saved asks the nodes where manifests belong first, and if none has it all others.
func (c *Client) saved(ctx context.Context, p *picture, o shard.Owner, v shard.Version) bool {
	likely, err := c.holders(ctx, p, o.Hash(), likelyHolders)
	if err != nil {
		return false
	}
	return c.haveManifest(ctx, likely, o, v) || c.haveManifest(ctx, p.others(likely), o, v)
}

// haveManifest tells whether one of the nodes has the manifest.
func (c *Client) haveManifest(ctx context.Context, nodes []ring.Node, o shard.Owner, v shard.Version) bool {
	ctx, cancel := context.WithTimeout(ctx, savedFor)
	defer cancel()
	var have atomic.Bool
	each(nodes, func(node ring.Node) {
		var a protocol.ManifestList
		if c.ask(ctx, node.Addr, protocol.ListManifests, protocol.OwnerRequest{Owner: o}, &a) == nil && slices.Contains(a.Versions, v) {
			have.Store(true)
			cancel() // the others need not answer any more
		}
	})
	return have.Load()
}
