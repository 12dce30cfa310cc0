package node

import (
	"sync"

	"github.com/stormring/stormring/sr3/shard"
)

// manifests are those of the store, decoded once. They are shared and not changed.
type manifests struct {
	node *Node
	mu   sync.Mutex
	read map[manifestKey]*shard.Manifest
}

type manifestKey struct {
	owner   shard.Owner
	version shard.Version
}

func (c *manifests) init(n *Node) {
	c.node, c.read = n, make(map[manifestKey]*shard.Manifest)
}

// get is a manifest that is here; the error wraps store.ErrNotFound if it is not.
func (c *manifests) get(o shard.Owner, v shard.Version) (*shard.Manifest, error) {
	k := manifestKey{o, v}
	c.mu.Lock()
	m := c.read[k]
	c.mu.Unlock()
	if m != nil {
		return m, nil
	}
	m, err := c.node.store.Manifest(o, v)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.read[k] = m
	c.mu.Unlock()
	return m, nil
}

// keep forgets all that are not in the store any more.
func (c *manifests) keep(there map[manifestKey]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.read {
		if !there[k] {
			delete(c.read, k)
		}
	}
}

// foldOf is the id of the base that a chain folds to.
func foldOf(chain []shard.Ref) shard.ObjectID {
	id := chain[len(chain)-1].ObjectID
	id.Kind = shard.Base
	return id
}

// bases are the bases of an owner that are here, by id.
func (n *Node) bases(o shard.Owner) map[shard.ObjectID]shard.Ref {
	out := make(map[shard.ObjectID]shard.Ref)
	for _, r := range n.store.Objects(o) {
		if r.Kind == shard.Base {
			out[r.ObjectID] = r
		}
	}
	return out
}

// shorten puts the base that was folded of the longest beginning of a chain, if one
// is among the bases, in that beginning's place.
func shorten(bases map[shard.ObjectID]shard.Ref, chain []shard.Ref) []shard.Ref {
	for until := len(chain); until > 1; until-- {
		if base, ok := bases[foldOf(chain[:until])]; ok {
			return append([]shard.Ref{base}, chain[until:]...)
		}
	}
	return chain
}
