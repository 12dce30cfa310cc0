package node

import (
	"context"

	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/store"
)

// restorer is a store that takes what is old but needed, whatever the fence.
type restorer interface {
	Restore(ctx context.Context, items ...store.Item) error
	RestoreManifest(ctx context.Context, m *shard.Manifest) error
}

// keep stores objects that a committed manifest names, whatever the fence says of
// their writer.
func (n *Node) keep(ctx context.Context, items ...store.Item) error {
	if r, ok := any(n.store).(restorer); ok {
		return r.Restore(ctx, items...)
	}
	return n.store.Put(ctx, items...)
}

// keepManifest is keep for a manifest.
func (n *Node) keepManifest(ctx context.Context, m *shard.Manifest) error {
	if r, ok := any(n.store).(restorer); ok {
		return r.RestoreManifest(ctx, m)
	}
	return n.store.PutManifest(ctx, m)
}
