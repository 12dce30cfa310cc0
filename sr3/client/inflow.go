package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/transport"
)

// inflow is one stream of a recovery. Its bytes land where the part's bytes stay:
// in an arena that the stream may write to until another takes the part over.
type inflow struct {
	f       *fetch
	id      recovery.StreamID
	flow    *recovery.Flow
	orders  []recovery.Order
	urgent  bool
	stall   time.Duration
	ctx     context.Context //nolint:containedctx // ends with the stream
	cancel  context.CancelFunc
	targets map[partID]*target

	mu      sync.Mutex
	stream  *transport.Stream // nil until it is open
	skipped []recovery.Part   // before it was open
}

// target is where a stream writes a part. fetch.lands guards it.
type target struct {
	buf     []byte
	content recovery.Content
	at      int64 // how much the stream has brought, or found
	revoked bool  // another stream brings the part
	filling bool  // the stream is writing
}

// run receives until the end, and tells how it ended.
func (in *inflow) run() {
	defer in.cancel()
	err := in.receive()
	if in.ctx.Err() != nil {
		return // the tracker knows
	}
	if err == nil {
		in.f.tell(happened{Event: recovery.Ended{Stream: in.id}})
		return
	}
	if err = meaning(err); errors.Is(err, errNotFound) && len(in.flow.From) == 0 {
		for _, o := range in.orders {
			in.f.tell(happened{Event: recovery.Lacks{Stream: in.id, Node: in.flow.Node, Shard: o.Part.Shard}})
		}
	}
	in.f.tell(happened{Event: recovery.Broken{Stream: in.id, Cause: err.Error()}})
}

func (in *inflow) receive() error {
	f := in.f
	addrs := f.addrsOf(in.flow)
	if addrs[in.flow.Node] == "" {
		return fmt.Errorf("the address of node %s is not known", in.flow.Node)
	}
	header := protocol.Encode(protocol.FetchHeader{
		Owner: f.t.o.Owner, Version: f.m.Version, Flow: in.flow, Orders: in.orders,
		Addrs: addrs, StallMillis: in.stall.Milliseconds(), Urgent: in.urgent,
	})
	head, rest := protocol.SplitHeader(header)
	stream, err := f.t.c.end.Open(in.ctx, addrs[in.flow.Node], protocol.FetchShards, head)
	if err != nil {
		return err
	}
	defer stream.Close()
	for m := range rest {
		if err := stream.Send(in.ctx, m); err != nil {
			return err
		}
	}
	in.opened(stream)
	for {
		f.hurry.giveWay(in.ctx, in.brings)
		r := reading{in: in}
		body, err := stream.RecvHead(in.ctx, protocol.FrameHead, r.into)
		r.landed(err)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case r.err != nil:
			return r.err
		case err != nil:
			return err
		}
		in.take(&r, body)
	}
}

// brings tells whether the stream may be bringing a shard just now.
func (in *inflow) brings(shard int) bool {
	for id, t := range in.targets {
		if id.shard != shard {
			continue
		}
		in.f.lands.Lock()
		mine := !t.revoked
		in.f.lands.Unlock()
		if mine {
			return true
		}
	}
	return false
}

// take tells what a frame says.
func (in *inflow) take(r *reading, body []byte) {
	fr := r.frame
	if !fr.Intact(body) {
		in.f.tell(happened{Event: recovery.Corrupt{Stream: in.id, Part: fr.Part}})
		return
	}
	switch fr.Kind {
	case protocol.FrameChunk:
		in.f.tell(happened{
			Event: recovery.Chunk{
				Stream: in.id, Version: in.f.m.Version, Part: fr.Part, Content: fr.Content,
				Offset: fr.Offset, Length: int64(len(body)),
			},
			from: r.to, buf: r.buf,
		})
	case protocol.FrameLacks:
		in.f.tell(happened{Event: recovery.Lacks{Stream: in.id, Node: recovery.NodeID(body), Shard: fr.Part.Shard}})
	case protocol.FrameBroken:
		in.f.tell(happened{Event: recovery.Broken{Stream: in.id, Node: recovery.NodeID(body), Cause: "it was lost on the way"}})
	case protocol.FrameSkip: // is for senders
	}
}

// opened remembers the stream, and asks it for what was to be skipped meanwhile.
func (in *inflow) opened(s *transport.Stream) {
	in.mu.Lock()
	in.stream = s
	skipped := in.skipped
	in.skipped = nil
	in.mu.Unlock()
	for _, p := range skipped {
		in.skip(p)
	}
}

// skip asks the sender not to send the rest of a part.
func (in *inflow) skip(p recovery.Part) {
	in.mu.Lock()
	s := in.stream
	if s == nil {
		in.skipped = append(in.skipped, p)
	}
	in.mu.Unlock()
	if s == nil {
		return
	}
	in.f.wg.Go(func() {
		ctx, cancel := context.WithTimeout(in.ctx, time.Second)
		defer cancel()
		// If it does not get there, what comes is dropped.
		_ = s.Send(ctx, protocol.AppendFrame(nil, protocol.Frame{Kind: protocol.FrameSkip, Part: p}, nil))
	})
}

// reading is one frame being received.
type reading struct {
	in    *inflow
	frame protocol.Frame
	to    *target // nil if the bytes do not stay
	buf   []byte  // of the part
	body  int
	err   error
}

// into says where the body belongs. It may be called again for the same frame.
func (r *reading) into(head []byte, body int) []byte {
	r.to, r.buf, r.body = nil, nil, body
	if r.frame, r.err = protocol.DecodeFrame(head, body); r.err != nil {
		return make([]byte, body)
	}
	f := r.in.f
	to := r.in.targets[idOf(r.frame.Part)]
	f.lands.Lock()
	defer f.lands.Unlock()
	if r.frame.Kind != protocol.FrameChunk || to == nil || to.revoked {
		return make([]byte, body)
	}
	if r.frame.Offset == 0 && (to.buf == nil || to.content != r.frame.Content || to.at > 0) {
		if r.frame.Content.Size > f.bound(r.frame.Part) {
			r.err = fmt.Errorf("%d bytes for a part of shard %d, which can have %d", r.frame.Content.Size, r.frame.Part.Shard, f.bound(r.frame.Part))
			return make([]byte, body)
		}
		to.buf, to.content, to.at = make([]byte, r.frame.Content.Size), r.frame.Content, 0
	}
	if r.frame.Content != to.content || r.frame.Offset != to.at {
		return make([]byte, body) // the tracker sees the gap too
	}
	to.filling = true
	r.to, r.buf = to, to.buf
	return to.buf[to.at : to.at+int64(body) : to.at+int64(body)]
}

// landed says that nothing is written any more.
func (r *reading) landed(err error) {
	if r.to == nil {
		return
	}
	r.in.f.lands.Lock()
	defer r.in.f.lands.Unlock()
	r.to.filling = false
	if err == nil {
		r.to.at += int64(r.body)
	}
}

// bound is the most bytes that a part can have on the wire.
func (f *fetch) bound(p recovery.Part) int64 {
	if p.Shard >= len(f.m.Shards) || p.Until > len(f.m.Shards[p.Shard]) || p.First >= p.Until {
		return 0
	}
	sum := int64(0)
	for _, ref := range f.m.Shards[p.Shard][p.First:p.Until] {
		sum += max(ref.Size, ref.Stored) + 1024
	}
	return sum
}
