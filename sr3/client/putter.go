package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

// parcel is an object on its way to several holders. Its bytes count until the
// last has them or failed.
type parcel struct {
	ref    shard.Ref
	stored []byte
	left   atomic.Int32
	room   *semaphore.Weighted
	weight int64
}

func (p *parcel) leave() {
	if p.left.Add(-1) == 0 {
		p.room.Release(p.weight)
	}
}

// putter sends objects to one holder. Its queue is bounded by the room that all
// parcels of the save share.
type putter struct {
	d    *delivery
	node ring.Node
	wake chan struct{}

	mu     sync.Mutex
	queue  []*parcel
	closed bool
	broken bool // it failed: nothing more is taken

	// The result, once run has returned.
	sent []shard.Range
	err  error
}

func newPutter(d *delivery, n ring.Node) *putter {
	return &putter{d: d, node: n, wake: make(chan struct{}, 1)}
}

func (p *putter) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// add queues an object.
func (p *putter) add(parcel *parcel) {
	p.mu.Lock()
	broken := p.broken
	if !broken {
		p.queue = append(p.queue, parcel)
	}
	p.mu.Unlock()
	if broken {
		parcel.leave()
		return
	}
	p.signal()
}

// close says that nothing more comes; with an error that it is not wanted.
func (p *putter) close(err error) {
	p.mu.Lock()
	p.closed = true
	p.broken = p.broken || err != nil
	p.mu.Unlock()
	p.signal()
}

// next waits for the next object; false if there is none any more.
func (p *putter) next(ctx context.Context) (*parcel, bool) {
	for {
		p.mu.Lock()
		if len(p.queue) > 0 && !p.broken {
			first := p.queue[0]
			p.queue = p.queue[1:]
			p.mu.Unlock()
			return first, true
		}
		over := p.closed || p.broken
		p.mu.Unlock()
		if over {
			return nil, false
		}
		select {
		case <-p.wake:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// run sends what comes, and waits until the holder has it on its disk.
func (p *putter) run(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := p.d.t.o.HolderTimeout
	silent := fmt.Errorf("it did not answer for %v", limit)
	watch := time.AfterFunc(limit, func() { cancel(silent) })
	defer watch.Stop()
	if err := p.put(ctx, watch); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		p.err = fmt.Errorf("put objects to %s at %s: %w", p.node.ID, p.node.Addr, meaning(err))
	}
	p.mu.Lock()
	p.broken = true
	rest := p.queue
	p.queue = nil
	p.mu.Unlock()
	for _, parcel := range rest {
		parcel.leave()
	}
}

// put is the stream. watch ends ctx if it is not wound up again in time.
func (p *putter) put(ctx context.Context, watch *time.Timer) error {
	limit := p.d.t.o.HolderTimeout
	s := p.d.s
	head := protocol.PutHeader{Owner: p.d.t.o.Owner, Epoch: s.epoch, Committed: s.known}
	stream, err := p.d.t.c.end.Open(ctx, p.node.Addr, protocol.PutObjects, protocol.Encode(head))
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		watch.Stop() // waiting for the encoder is nobody's fault
		parcel, ok := p.next(ctx)
		if !ok {
			break
		}
		watch.Reset(limit)
		err := protocol.Put(func(m []byte) error {
			watch.Reset(limit)
			return stream.Send(ctx, m)
		}, parcel.ref, parcel.stored)
		parcel.leave()
		if err != nil {
			return p.reason(stream, err)
		}
		p.sent = append(p.sent, parcel.ref.Range)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.givenUp() {
		return errGivenUp // the holder must not take this for the end
	}
	watch.Reset(limit)
	if err := stream.CloseSend(); err != nil {
		return p.reason(stream, err)
	}
	_, err = stream.Recv(ctx)
	switch {
	case err == nil:
		return errors.New("it answered where it should have ended")
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

var errGivenUp = errors.New("given up")

func (p *putter) givenUp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

// reason is why sending failed: the holder's word, if it said something.
func (p *putter) reason(stream *transport.Stream, err error) error {
	if !errors.Is(err, transport.ErrEnded) {
		return err
	}
	soon, cancel := context.WithTimeout(p.d.t.ctx, time.Second)
	defer cancel()
	if _, said := stream.Recv(soon); said != nil && !errors.Is(said, io.EOF) {
		return said
	}
	return err
}
