package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// pendingCall is a call that waits for its answer. Its slot is free again when
// the answer is there, even if nobody waits for it any more: that keeps what
// runs at the other side within its bound.
type pendingCall struct {
	done  chan struct{}
	reply []byte
	err   error
	parts []byte // of a reply that comes in parts; the reader's, as is got
	got   int
}

func (p *pendingCall) finish(reply []byte, err error) {
	p.reply, p.err = reply, err
	close(p.done)
}

// call sends a request and waits for the reply.
func (c *conn) call(ctx context.Context, method byte, request []byte) ([]byte, error) {
	if len(request) > c.maxReply {
		return nil, fmt.Errorf("transport: request of %d bytes is %w: %s takes %d", len(request), ErrTooLarge, c.addr, c.maxReply)
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p := &pendingCall{done: make(chan struct{})}
	id, err := c.startCall(p, method, request)
	if err != nil {
		<-c.slots
		return nil, c.cutAt(err)
	}
	if len(request) > inlineBytes {
		err = c.sendParts(ctx, p.done, header{kind: kindCall, flags: flagParts, method: method, id: id}, request)
	}
	if err == nil {
		select {
		case <-p.done:
			c.used()
			return p.reply, p.err
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	select {
	case <-p.done: // refused before all of the request was out
		return p.reply, p.err
	default:
	}
	// In the order of bulk, so that it comes after the parts of the request.
	_ = c.post(c.copied(header{kind: kindCancel, id: id}, nil))
	return nil, err
}

// startCall notes the call, and sends the request if it is small.
func (c *conn) startCall(p *pendingCall, method byte, request []byte) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return 0, errNotSent
	}
	c.nextID++
	if len(request) <= inlineBytes {
		if err := c.controlLocked(header{kind: kindCall, method: method, id: c.nextID}, request); err != nil {
			return 0, err
		}
	}
	c.calls[c.nextID] = p
	return c.nextID, nil
}

// sendParts sends the length of b under h, then b in parts.
func (c *conn) sendParts(ctx context.Context, dead <-chan struct{}, h header, b []byte) error {
	var length [4]byte
	binary.BigEndian.PutUint32(length[:], uint32(len(b)))
	if err := c.post(c.copied(h, [][]byte{length[:]})); err != nil {
		return err
	}
	f := lent(header{}, nil)
	part := min(c.e.cfg.ChunkBytes, c.maxSend)
	for len(b) > 0 {
		n := min(len(b), part)
		if c.copies {
			// Copied, but still one at a time.
			own := append([]byte(nil), b[:n]...)
			f.lend(header{kind: kindPart, id: h.id}, [][]byte{own})
		} else {
			f.lend(header{kind: kindPart, id: h.id}, [][]byte{b[:n]})
		}
		if sent, err := c.lendOut(ctx, dead, f); !sent {
			return err
		}
		b = b[n:]
	}
	return nil
}

// pending takes the call off the connection.
func (c *conn) pending(id uint64, remove bool) *pendingCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.calls[id]
	if remove {
		delete(c.calls, id)
	}
	return p
}

// onAnswer takes a whole reply, the start of one in parts, or a failure.
func (c *conn) onAnswer(h header) error {
	payload, err := c.in.payload(h.length)
	if err != nil {
		return err
	}
	inParts := h.kind == kindReply && h.flags&flagParts != 0
	p := c.pending(h.id, !inParts)
	if p == nil {
		return broken("answer to call %d, which is not open", h.id)
	}
	switch {
	case inParts:
		n := binary.BigEndian.Uint32(payload)
		if int64(n) > int64(c.e.cfg.MaxCall) || n == 0 || p.parts != nil {
			return broken("reply of %d bytes, at most %d are taken", n, c.e.cfg.MaxCall)
		}
		p.parts = make([]byte, n)
		return nil
	case h.kind == kindFailure:
		p.finish(nil, &RemoteError{Code: h.code, Text: string(payload)})
	default:
		p.finish(payload, nil)
	}
	<-c.slots
	return nil
}

// onReplyPart takes some bytes of a reply.
func (c *conn) onReplyPart(h header) error {
	p := c.pending(h.id, false)
	n := int(h.length)
	if p == nil || n == 0 || n > len(p.parts)-p.got {
		return broken("%d bytes for call %d, more than its reply has", n, h.id)
	}
	if err := c.in.fill(p.parts[p.got:p.got+n], true); err != nil {
		return err
	}
	if p.got += n; p.got < len(p.parts) {
		return nil
	}
	if c.pending(h.id, true) == nil {
		return nil // the connection ended meanwhile and has told the caller
	}
	p.finish(p.parts, nil)
	<-c.slots
	return nil
}

// servedCall is a call that is arriving or running at the accepting side.
type servedCall struct {
	method   byte
	request  []byte
	got      int
	reserved int // bytes of requests of the endpoint
	running  bool
	cancel   context.CancelFunc
}

// onCall takes a whole request, or the start of one in parts.
func (c *conn) onCall(ctx context.Context, h header) error {
	payload, err := c.in.payload(h.length)
	if err != nil {
		return err
	}
	call := &servedCall{method: h.method, request: payload}
	if h.flags&flagParts != 0 {
		n := binary.BigEndian.Uint32(payload)
		call.request = nil
		if int64(n) > int64(c.e.cfg.MaxCall) {
			return c.refuse(h.id, CodeTooLarge, fmt.Sprintf("request of %d bytes, at most %d are taken", n, c.e.cfg.MaxCall))
		}
		if !c.e.takeRequest(int(n)) {
			return c.refuse(h.id, CodeBusy, "too many bytes of requests are under way")
		}
		call.reserved = int(n)
		call.request = make([]byte, n)
	}
	ctx, call.cancel = context.WithCancel(ctx)
	c.mu.Lock()
	if len(c.serving) >= callSlots || c.serving[h.id] != nil {
		c.mu.Unlock()
		call.cancel()
		c.e.giveRequest(call)
		return broken("call %d is one too many, or there already", h.id)
	}
	c.serving[h.id] = call
	c.mu.Unlock()
	if call.got == len(call.request) || h.flags&flagParts == 0 {
		c.serve(ctx, h.id, call)
	}
	return nil
}

// dropArriving frees the requests that will never be whole. Called by the
// reader at its end.
func (c *conn) dropArriving() {
	c.mu.Lock()
	serving := slices.Collect(maps.Values(c.serving))
	c.mu.Unlock()
	for _, call := range serving {
		if !call.running {
			call.cancel()
			c.e.giveRequest(call)
		}
	}
}

func (c *conn) refuse(id uint64, code uint16, text string) error {
	return c.control(header{kind: kindFailure, id: id, code: code}, []byte(text))
}

// onCallPart takes some bytes of a request.
func (c *conn) onCallPart(ctx context.Context, h header) error {
	n := int(h.length)
	c.mu.Lock()
	call := c.serving[h.id]
	c.mu.Unlock()
	if call == nil {
		return c.in.skip(n) // refused; its sender will learn so
	}
	if call.running || n > len(call.request)-call.got {
		return broken("%d bytes for call %d, more than its request has", n, h.id)
	}
	if err := c.in.fill(call.request[call.got:call.got+n], true); err != nil {
		return err
	}
	if call.got += n; call.got == len(call.request) {
		call.cancel() // of the time before it ran
		ctx, cancel := context.WithCancel(ctx)
		c.mu.Lock()
		call.cancel = cancel
		c.mu.Unlock()
		c.serve(ctx, h.id, call)
	}
	return nil
}

// onCancel ends a call that nobody waits for. It is answered all the same.
func (c *conn) onCancel(id uint64) {
	c.mu.Lock()
	call := c.serving[id]
	if call != nil && !call.running {
		delete(c.serving, id)
	}
	c.mu.Unlock()
	if call == nil {
		return
	}
	call.cancel()
	if !call.running {
		c.e.giveRequest(call)
		_ = c.refuse(id, CodeCanceled, "canceled before all of the request came")
	}
}

// serve runs the handler in a goroutine of its own.
func (c *conn) serve(ctx context.Context, id uint64, call *servedCall) {
	call.running = true
	c.e.wg.Go(func() {
		reply, err := c.e.runCall(ctx, call)
		// The connection's context, and not the call's: a reply is sent whole.
		c.answer(id, call, reply, err)
		call.cancel()
		c.e.giveRequest(call)
	})
}

func (c *conn) answer(id uint64, call *servedCall, reply []byte, err error) {
	c.mu.Lock()
	delete(c.serving, id)
	c.mu.Unlock()
	if err == nil && len(reply) > c.maxReply {
		err = &RemoteError{Code: CodeTooLarge, Text: fmt.Sprintf("reply of %d bytes to method %d, at most %d are taken", len(reply), call.method, c.maxReply)}
	}
	switch {
	case err != nil:
		code, text := outcome(err)
		_ = c.refuse(id, code, text)
	case len(reply) <= inlineBytes:
		_ = c.control(header{kind: kindReply, id: id}, reply)
	default:
		_ = c.sendParts(context.Background(), c.done, header{kind: kindReply, flags: flagParts, id: id}, reply)
	}
}

// runCall calls the handler when it is its turn.
func (e *Endpoint) runCall(ctx context.Context, call *servedCall) ([]byte, error) {
	select {
	case e.running <- struct{}{}:
		defer func() { <-e.running }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return e.h.Call(ctx, call.method, call.request)
}

// takeRequest reserves memory for a large request.
func (e *Endpoint) takeRequest(n int) bool {
	if e.requestBytes.Add(int64(n)) > int64(requestsOfMax*e.cfg.MaxCall) {
		e.requestBytes.Add(-int64(n))
		return false
	}
	return true
}

// giveRequest gives it back.
func (e *Endpoint) giveRequest(call *servedCall) {
	e.requestBytes.Add(-int64(call.reserved))
}

// requestsOfMax is how many requests of the largest size an endpoint holds.
const requestsOfMax = 16

// isNotSent tells whether another connection may be tried.
func isNotSent(err error) bool { return errors.Is(err, errNotSent) }
