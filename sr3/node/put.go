package node

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/store"
	"github.com/stormring/stormring/sr3/transport"
)

const (
	// batchBytes and batchItems bound what is handed to the store at once.
	batchBytes = 8 << 20
	batchItems = 64
)

// takeObjects serves PutObjects: while one batch goes to disk, the next is
// received. The clean end says that all is safe.
func (n *Node) takeObjects(ctx context.Context, s *transport.Stream, header []byte) error {
	var h protocol.PutHeader
	if err := protocol.Decode(header, &h); err != nil {
		return invalid(err)
	}
	a, err := protocol.NewAssembler(h)
	if err != nil {
		return invalid(err)
	}
	if err := n.admit(ctx, h); err != nil {
		return err
	}
	n.commits.hint(h.Owner.Topology, h.Committed)

	batches := make(chan batch, 1)
	stored := make(chan error, 1)
	recvCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel() // nobody takes what is received any more
		stored <- n.storeBatches(ctx, batches)
	}()
	err = n.receive(recvCtx, s, a, batches)
	close(batches)
	cause := <-stored
	for b := range batches {
		n.writing.Release(b.weight)
	}
	if cause != nil {
		return cause // what receive failed with follows from it
	}
	return err
}

// admit fences with the epoch of who writes.
func (n *Node) admit(ctx context.Context, h protocol.PutHeader) error {
	if h.Epoch == n.store.Fenced(h.Owner) {
		return nil
	}
	return n.store.Fence(ctx, h.Owner, h.Epoch)
}

// batch are objects on their way to disk, and what they weigh in the budget.
type batch struct {
	items  []store.Item
	bytes  int64
	weight int64
}

// receive makes batches of what comes until the sender's end.
func (n *Node) receive(ctx context.Context, s *transport.Stream, a *protocol.Assembler, to chan<- batch) error {
	var b batch
	defer func() { n.writing.Release(b.weight) }()
	hand := func() error {
		select {
		case to <- b:
			b = batch{}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for {
		message, err := recvSoon(ctx, s)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		ref, bytes, done, err := a.Take(message)
		if err != nil {
			return invalid(err)
		}
		if ref.Stored > 0 && !done {
			// An object begins. Not while another is half here would a sender wait
			// for the budget that it holds itself: so what is full goes first.
			w := n.weight(ref.Stored)
			if !n.writing.TryAcquire(w) {
				if len(b.items) > 0 {
					if err := hand(); err != nil {
						return err
					}
				}
				if err := n.writing.Acquire(ctx, w); err != nil {
					return err
				}
			}
			b.weight += w
		}
		if !done {
			continue
		}
		b.items = append(b.items, store.Item{Ref: ref, Stored: bytes})
		b.bytes += ref.Stored
		if b.bytes >= batchBytes || len(b.items) >= batchItems {
			if err := hand(); err != nil {
				return err
			}
		}
	}
	if err := a.End(); err != nil {
		return invalid(err)
	}
	if len(b.items) > 0 {
		return hand()
	}
	return nil
}

// recvSoon receives a message from a sender that must not keep memory for ever.
func recvSoon(ctx context.Context, s *transport.Stream) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, stuck, fmt.Errorf("the sender sent nothing for %v", stuck))
	defer cancel()
	m, err := s.Recv(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return m, err
}

// storeBatches writes what comes; it ends early at the first error.
func (n *Node) storeBatches(ctx context.Context, batches <-chan batch) error {
	for b := range batches {
		err := n.store.Put(ctx, b.items...)
		n.writing.Release(b.weight)
		if err != nil {
			return err
		}
	}
	return nil
}
