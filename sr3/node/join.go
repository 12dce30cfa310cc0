package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/recovery"
)

// join waits for the parts that one ordered part consists of.
type join struct {
	missing int
	parts   map[int][]byte // by first member
	weight  int64
	failed  bool // some part will not come
}

// maxJoinWait is how long a part that is to be joined waits for memory, if the
// receiver bears silence for twice as long. Others wait for it, so it gives up: the
// receiver then plans without this relay.
const maxJoinWait = 2 * time.Second

// deliver takes in a part that is to be joined, with the memory w that was
// reserved for it, and sends the whole when all are there.
func (t *serving) deliver(ctx context.Context, r *route, p recovery.Part, bytes []byte, w int64) error {
	t.mu.Lock()
	j := r.join
	if _, twice := j.parts[p.First]; j.failed || twice {
		t.mu.Unlock()
		t.node.reading.Release(w)
		return nil
	}
	j.parts[p.First] = bytes
	j.weight += w
	j.missing--
	var parts [][]byte
	if j.missing == 0 {
		for _, first := range slices.Sorted(maps.Keys(j.parts)) {
			parts = append(parts, j.parts[first])
		}
	}
	t.mu.Unlock()
	if parts == nil {
		return nil
	}
	// Beside what passes, so that the link is busy meanwhile; but what comes waits
	// if joining does not keep up.
	select {
	case t.joining <- struct{}{}:
	case <-ctx.Done():
		t.fail(r)
		return ctx.Err()
	}
	t.group.Go(func() error {
		defer func() { <-t.joining }()
		defer t.fail(r) // which frees the memory
		folded, err := t.node.joinParts(ctx, parts)
		if err != nil {
			return fmt.Errorf("join part %v of %v: %w", spanOf(r.order.Part), t.header.Owner, err)
		}
		return t.out.part(ctx, r.order, folded, sumOf(folded), nil)
	})
	return nil
}

// joinsAtOnce is how many parts of one stream are joined or sent at a time.
const joinsAtOnce = 2

// reserve gets memory for a part that others wait for.
func (t *serving) reserve(ctx context.Context, weight int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, min(maxJoinWait, t.stall()/2), fmt.Errorf("%w: no memory to join parts in", errUnavailable))
	defer cancel()
	if t.node.reading.Acquire(ctx, weight) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// fail gives a join up, whole or not.
func (t *serving) fail(r *route) {
	if r.join == nil {
		return
	}
	t.mu.Lock()
	w := r.join.weight
	r.join.failed, r.join.weight, r.join.parts = true, 0, nil
	t.mu.Unlock()
	t.node.reading.Release(w)
}
