package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/transport"
)

// stuck is how long a receiver may take nothing before its stream is given up, so
// that it does not keep memory for ever.
const stuck = 30 * time.Second

// span is what identifies a part.
type span struct{ shard, first, until int }

func spanOf(p recovery.Part) span { return span{p.Shard, p.First, p.Until} }

// outlet is the sending side of a stream of shards, shared by all who have
// something to send.
type outlet struct {
	stream *transport.Stream

	mu   sync.Mutex // one frame at a time
	head []byte

	state   sync.Mutex
	skipped map[span]bool
	passed  chan struct{} // told when something was passed on
}

func newOutlet(s *transport.Stream) *outlet {
	return &outlet{stream: s, skipped: make(map[span]bool), passed: make(chan struct{}, 1)}
}

// skip notes that a part is not wanted any more.
func (o *outlet) skip(s span) {
	o.state.Lock()
	o.skipped[s] = true
	o.state.Unlock()
}

func (o *outlet) skips(s span) bool {
	o.state.Lock()
	defer o.state.Unlock()
	return o.skipped[s]
}

// frame sends one frame.
func (o *outlet) frame(ctx context.Context, f protocol.Frame, body []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stuck, fmt.Errorf("the receiver took nothing for %v", stuck))
	defer cancel()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.head = protocol.AppendFrame(o.head[:0], f, body)
	if err := o.stream.SendParts(ctx, o.head, body); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("send to %s: %w", o.stream.Peer(), err)
	}
	return nil
}

// pass sends a frame on as it came, body included in its checksum.
func (o *outlet) pass(ctx context.Context, f protocol.Frame, body []byte) error {
	if o.skips(spanOf(f.Part)) {
		return nil
	}
	err := o.frame(ctx, f, body)
	select {
	case o.passed <- struct{}{}:
	default:
	}
	return err
}

// part sends a whole part in chunks, before each of which it calls giveWay, if there
// is one. It goes on at offset if the receiver has the same content up to there, and
// stops when the part is skipped.
func (o *outlet) part(ctx context.Context, order recovery.Order, bytes []byte, sum uint64, giveWay func(context.Context)) error {
	content := recovery.Content{Sum: sum, Size: int64(len(bytes))}
	at := int64(0)
	if order.Content == content {
		at = order.Offset
	}
	key := spanOf(order.Part)
	for first := true; first || at < content.Size; first = false {
		if giveWay != nil {
			giveWay(ctx)
		}
		if o.skips(key) {
			return nil
		}
		end := min(at+protocol.ChunkBytes, content.Size)
		f := protocol.Frame{Kind: protocol.FrameChunk, Part: order.Part, Content: content, Offset: at}
		if err := o.frame(ctx, f, bytes[at:end]); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// lacks tells that a node does not have a part.
func (o *outlet) lacks(ctx context.Context, p recovery.Part, node recovery.NodeID) error {
	return o.frame(ctx, protocol.Frame{Kind: protocol.FrameLacks, Part: p}, []byte(node))
}

// broken tells that a node behind this one was lost.
func (o *outlet) broken(ctx context.Context, node recovery.NodeID) error {
	return o.frame(ctx, protocol.Frame{Kind: protocol.FrameBroken}, []byte(node))
}

func sumOf(b []byte) uint64 { return xxhash.Sum64(b) }
