package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// callTime is how long a small request to another node may take.
const callTime = 5 * time.Second

// call asks another node.
func (n *Node) call(ctx context.Context, id shard.NodeID, method byte, q, answer any) error {
	b, err := n.callRaw(ctx, id, method, protocol.Encode(q))
	if err != nil {
		return err
	}
	return protocol.Decode(b, answer)
}

func (n *Node) callRaw(ctx context.Context, id shard.NodeID, method byte, request []byte) ([]byte, error) {
	addr := n.addr(id)
	if addr == "" {
		return nil, fmt.Errorf("node %s is not on the ring", id)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	b, err := n.end.Call(ctx, addr, method, request)
	if err != nil {
		return nil, fmt.Errorf("ask node %s: %w", id, err)
	}
	return b, nil
}

// askManifest gets a manifest from another node.
func (n *Node) askManifest(ctx context.Context, id shard.NodeID, o shard.Owner, v shard.Version) (*shard.Manifest, error) {
	b, err := n.callRaw(ctx, id, protocol.GetManifest, protocol.Encode(protocol.VersionRequest{Owner: o, Version: v}))
	if err != nil {
		return nil, err
	}
	m, err := shard.DecodeManifest(b)
	if err != nil {
		return nil, fmt.Errorf("the manifest that node %s sent: %w", id, err)
	}
	if m.Owner != o || v != 0 && m.Version != v {
		return nil, fmt.Errorf("node %s sent the manifest of %v version %v, asked for was that of %v version %v", id, m.Owner, m.Version, o, v)
	}
	return m, nil
}

// findManifest asks the nodes that should have a manifest, for a recovery that
// wants it now.
func (n *Node) findManifest(ctx context.Context, o shard.Owner, v shard.Version) (*shard.Manifest, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	errs := []error{fmt.Errorf("the manifest of %v version %v is not here", o, v)}
	for _, node := range ring.Holders(n.circle.now.Load().view, o.Hash(), 4) {
		if id := shard.NodeID(node.ID); id != n.id {
			m, err := n.askManifest(ctx, id, o, v)
			if err == nil {
				return m, nil
			}
			errs = append(errs, err)
		}
	}
	return nil, errors.Join(errs...)
}
