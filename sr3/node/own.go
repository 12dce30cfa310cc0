package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/store"
)

// ahead is how many parts are read before they can be sent, beside the one that is
// being read.
const ahead = 1

// loaded is a part of the node's own disk in memory.
type loaded struct {
	route  *route
	part   recovery.Part
	bytes  []byte
	sum    uint64
	weight int64
	err    error // it cannot be had; see the errors of package store
}

// sendOwn reads the node's own parts in the order of the orders and sends them, or
// gives them to be joined. Reading and sending overlap.
func (t *serving) sendOwn(ctx context.Context) error {
	reading, cancel := context.WithCancel(ctx) // joins go on when all is read
	parts := make(chan loaded, ahead)
	go func() {
		defer close(parts)
		t.readOwn(reading, parts)
	}()
	var err error
	for l := range parts {
		if err == nil {
			err = t.sendLoaded(ctx, &l)
		}
		if err != nil {
			cancel() // but wait for the reader
		}
		t.node.reading.Release(l.weight)
	}
	cancel()
	return err
}

// sendLoaded does what is to be done with one part; a join takes its memory over.
func (t *serving) sendLoaded(ctx context.Context, l *loaded) error {
	switch {
	case l.err != nil && (errors.Is(l.err, store.ErrNotFound) || errors.Is(l.err, shard.ErrDamaged)):
		t.fail(l.route)
		return t.out.lacks(ctx, l.part, t.node.id)
	case l.err != nil:
		return l.err
	case l.route.join != nil:
		w := l.weight
		l.weight = 0
		return t.deliver(ctx, l.route, l.part, l.bytes, w)
	default:
		return t.out.part(ctx, l.route.order, l.bytes, l.sum, t.giveWay)
	}
}

// ownWait is how long the node's own bytes wait for what comes from behind, if
// nothing of it is passed on meanwhile.
const ownWait = 50 * time.Millisecond

// giveWay lets what has come from behind go first. So parts arrive one after the
// other, those from far behind first, and are joined and installed on the way;
// shared evenly, all would be complete only at the end.
func (t *serving) giveWay(ctx context.Context) {
	for slices.ContainsFunc(t.children, (*child).waiting) {
		select {
		case <-t.out.passed:
		case <-time.After(ownWait):
			return
		case <-ctx.Done():
			return
		}
	}
}

// readOwn reads ahead until all is read, or ctx ends.
func (t *serving) readOwn(ctx context.Context, to chan<- loaded) {
	for _, r := range t.routes {
		for _, p := range r.own {
			if t.out.skips(spanOf(r.order.Part)) {
				continue
			}
			l := t.load(ctx, r, p)
			select {
			case to <- l:
			case <-ctx.Done():
				t.node.reading.Release(l.weight)
				return
			}
		}
	}
}

// load reads one part. Several objects become one, unless they are to be joined
// with others anyway.
func (t *serving) load(ctx context.Context, r *route, p recovery.Part) loaded {
	l := loaded{route: r, part: p}
	chain := t.chain(p)
	if len(chain) == 0 {
		l.err = fmt.Errorf("part %v of %v version %v: %w", spanOf(p), t.header.Owner, t.header.Version, store.ErrNotFound)
		return l
	}
	if p.First == 0 {
		if short := shorten(t.bases, chain); len(short) < len(chain) {
			if t.get(ctx, &l, short); l.err == nil || ctx.Err() != nil {
				return l
			}
			t.node.reading.Release(l.weight) // what was folded is damaged
			l.weight, l.err = 0, nil
		}
	}
	t.get(ctx, &l, chain)
	return l
}

// get reads a run of objects as one part.
func (t *serving) get(ctx context.Context, l *loaded, chain []shard.Ref) {
	if len(chain) == 1 {
		t.read(ctx, l, chain[0])
		return
	}
	t.fold(ctx, l, chain, l.route.join == nil)
}

// read reads one object.
func (t *serving) read(ctx context.Context, l *loaded, ref shard.Ref) {
	w := t.node.weight(ref.Stored)
	if l.err = t.node.reading.Acquire(ctx, w); l.err != nil {
		return
	}
	l.weight = w
	l.bytes, l.err = t.node.store.Get(ctx, ref)
	l.sum = ref.Checksum
}

// fold reads a run of objects and makes one of them, or a pack.
func (t *serving) fold(ctx context.Context, l *loaded, chain []shard.Ref, fold bool) {
	bytes := int64(0)
	for i := range chain {
		bytes += chain[i].Stored
		if fold {
			bytes += 2 * chain[i].Size // opened, and in the result
		}
	}
	w := t.node.weight(bytes)
	if l.err = t.node.reading.Acquire(ctx, w); l.err != nil {
		return
	}
	l.weight = w
	raw := make([][]byte, len(chain))
	for i, ref := range chain {
		if raw[i], l.err = t.node.store.Get(ctx, ref); l.err != nil {
			return
		}
	}
	if !fold {
		l.bytes, l.err = protocol.PackPart(raw)
	} else {
		l.bytes, l.err = t.node.joinParts(ctx, raw)
		if rest := t.node.weight(int64(len(l.bytes))); l.err == nil && rest < l.weight {
			t.node.reading.Release(l.weight - rest)
			l.weight = rest
		}
	}
	l.sum = sumOf(l.bytes)
}

// joinParts folds, not more at once than there are processors.
func (n *Node) joinParts(ctx context.Context, parts [][]byte) ([]byte, error) {
	if err := n.folding.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer n.folding.Release(1)
	began, bytes := time.Now(), int64(0)
	for _, p := range parts {
		bytes += int64(len(p))
	}
	joined, err := protocol.JoinParts(n.codec, parts)
	if err == nil {
		n.folds.learn(bytes, time.Since(began))
	}
	return joined, err
}
