package node

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

// serveObject serves FetchObject.
func (n *Node) serveObject(ctx context.Context, s *transport.Stream, header []byte) error {
	ref, err := protocol.DecodeRef(header)
	if err != nil {
		return invalid(err)
	}
	w := n.weight(ref.Stored)
	if err := n.reading.Acquire(ctx, w); err != nil {
		return err
	}
	defer n.reading.Release(w)
	b, err := n.store.Get(ctx, ref)
	if err != nil {
		return err
	}
	return newOutlet(s).part(ctx, recovery.Order{}, b, ref.Checksum, nil)
}

// fetchObject gets an object from another node; the bytes are verified.
func (n *Node) fetchObject(ctx context.Context, ref shard.Ref, from shard.NodeID, pace *pace) ([]byte, error) {
	addr := n.addr(from)
	if addr == "" {
		return nil, fmt.Errorf("fetch %v from %s: it is not on the ring", ref.ObjectID, from)
	}
	ref.Holders = nil
	head, err := protocol.EncodeRef(ref)
	if err != nil {
		return nil, err
	}
	s, err := n.end.Open(ctx, addr, protocol.FetchObject, head)
	if err != nil {
		return nil, fmt.Errorf("fetch %v from %s: %w", ref.ObjectID, from, err)
	}
	defer s.Close()
	if err := s.CloseSend(); err != nil {
		return nil, fmt.Errorf("fetch %v from %s: %w", ref.ObjectID, from, err)
	}
	b := make([]byte, 0, ref.Stored)
	for {
		f, body, err := recvFrame(ctx, s, nil)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("fetch %v from %s: %w", ref.ObjectID, from, err)
		}
		if f.Kind != protocol.FrameChunk || f.Offset != int64(len(b)) || f.Content.Size != ref.Stored || !f.Intact(body) {
			return nil, fmt.Errorf("fetch %v from %s: a chunk is damaged or out of place: %w", ref.ObjectID, from, shard.ErrDamaged)
		}
		b = append(b, body...)
		if err := pace.wait(ctx, int64(len(body))); err != nil {
			return nil, err
		}
	}
	if err := shard.Verify(ref, b); err != nil {
		return nil, fmt.Errorf("fetch from %s: %w", from, err)
	}
	return b, nil
}

// recvFrame receives a frame; its body is in the buffer that is handed in, if that
// is large enough.
func recvFrame(ctx context.Context, s *transport.Stream, buffer []byte) (protocol.Frame, []byte, error) {
	var f protocol.Frame
	var wrong error
	body, err := s.RecvHead(ctx, protocol.FrameHead, func(head []byte, n int) []byte {
		f, wrong = protocol.DecodeFrame(head, n)
		if n <= cap(buffer) {
			return buffer[:n]
		}
		return make([]byte, n)
	})
	if err != nil {
		return f, nil, err
	}
	return f, body, wrong
}
