package transport

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// readLoop is the reader: it hands every frame to whom it belongs and never
// waits for anybody but the socket. It returns why it ended.
func (c *conn) readLoop(ctx context.Context) error {
	l := limits{message: c.e.cfg.maxMessage(), chunk: c.e.cfg.ChunkBytes}
	for {
		h, err := c.in.header(l)
		if err != nil {
			return err
		}
		if c.dialed {
			err = c.dispatchDialed(h)
		} else {
			err = c.dispatchAccepted(ctx, h)
		}
		if err != nil {
			return err
		}
	}
}

// dispatchDialed takes what only the accepting side sends.
func (c *conn) dispatchDialed(h header) error {
	switch h.kind {
	case kindReply, kindFailure:
		return c.onAnswer(h)
	case kindPart:
		return c.onReplyPart(h)
	case kindCall, kindCancel, kindMessage, kindOpen:
		return broken("the accepting side sent a frame of kind %d", h.kind)
	default:
		return c.dispatch(h)
	}
}

// dispatchAccepted takes what only the dialing side sends.
func (c *conn) dispatchAccepted(ctx context.Context, h header) error {
	switch h.kind {
	case kindCall:
		return c.onCall(ctx, h)
	case kindPart:
		return c.onCallPart(ctx, h)
	case kindCancel:
		c.onCancel(h.id)
		return nil
	case kindMessage:
		return c.onMessage(h)
	case kindOpen:
		return c.onOpen(ctx, h)
	case kindReply, kindFailure:
		return broken("the dialing side sent a frame of kind %d", h.kind)
	default:
		return c.dispatch(h)
	}
}

// dispatch takes what both sides send.
func (c *conn) dispatch(h header) error {
	switch h.kind {
	case kindData:
		return c.onData(h)
	case kindCredit:
		return c.onCredit(h)
	case kindEnd, kindReset:
		text, err := c.in.payload(h.length)
		if err != nil {
			return err
		}
		if s := c.stream(h.id); s != nil {
			s.onEnd(h, string(text))
		}
		return nil
	case kindPing:
		return c.control(header{kind: kindPong, id: h.id}, nil)
	case kindPong:
		c.onPong(h.id)
		return nil
	default:
		return broken("frame of kind %d", h.kind)
	}
}

func (c *conn) onCredit(h header) error {
	var b [4]byte
	if err := c.in.fill(b[:], false); err != nil {
		return err
	}
	if s := c.stream(h.id); s != nil && !s.addCredit(int64(binary.BigEndian.Uint32(b[:]))) {
		return broken("credit beyond any window")
	}
	return nil
}

func (c *conn) onPong(id uint64) {
	if sent := c.pinged.Load(); sent != 0 && id == uint64(sent) {
		c.link.round(c.e.now() - time.Duration(sent))
		c.pinged.Store(0)
	}
}

// ping sends a ping, unless one is still unanswered.
func (c *conn) ping(now time.Duration) {
	if c.pinged.CompareAndSwap(0, int64(now)) {
		c.lastPing.Store(int64(now))
		_ = c.control(header{kind: kindPing, id: uint64(now)}, nil)
	}
}

func (c *conn) onMessage(h header) error {
	payload, err := c.in.payload(h.length)
	if err != nil {
		return err
	}
	if !c.e.deliver(payload) {
		c.link.dropped.Add(1)
	}
	return nil
}

func (c *conn) onOpen(ctx context.Context, h header) error {
	head, err := c.in.payload(h.length)
	if err != nil {
		return err
	}
	c.mu.Lock()
	if h.id <= c.lastOpen {
		c.mu.Unlock()
		return broken("stream %d opened after stream %d", h.id, c.lastOpen)
	}
	c.lastOpen = h.id
	if len(c.streams) >= maxStreams {
		c.mu.Unlock()
		text := fmt.Sprintf("this connection has %d streams already", maxStreams)
		return c.control(header{kind: kindReset, id: h.id, code: CodeBusy}, []byte(text))
	}
	s := newStream(c, h.id)
	ctx, s.cancel = context.WithCancel(ctx)
	if c.closed == nil {
		c.streams[h.id] = s
	}
	c.mu.Unlock()
	c.e.wg.Go(func() {
		defer s.cancel()
		code, text := outcome(c.e.h.Stream(ctx, s, h.method, head))
		s.finish(code, text)
	})
	return nil
}

// onData brings a message to its stream: into the buffer of who waits with
// RecvHead, else into its queue.
func (c *conn) onData(h header) error {
	n := int(h.length)
	s := c.stream(h.id)
	if s == nil {
		return c.in.skip(n) // of a stream that is over; its sender will learn so
	}
	w, err := s.claim(n)
	if err != nil {
		return err
	}
	if w != nil {
		return c.readInto(s, w, n)
	}
	buf := c.e.pool.get(n)
	if err := c.in.fill(buf.b, true); err != nil {
		return err
	}
	s.enqueue(buf)
	return nil
}

// readInto reads a message into the memory of a waiting RecvHead. If that is
// given up in the middle, the message goes to the queue instead, whole.
func (c *conn) readInto(s *Stream, w *waiter, n int) error {
	rest := n - len(w.head)
	var body []byte
	gotBody := 0
	gotHead, err := c.in.read(w.head, true)
	if err == nil {
		if body = w.into(w.head, rest); len(body) < rest {
			err := c.skipUninterrupted(rest)
			s.finishWait(w, waitDone, nil, errShort(len(body), rest))
			s.consumed(n)
			return err
		}
		body = body[:rest:rest]
		gotBody, err = c.in.read(body, true)
	}
	switch {
	case err == nil:
		s.finishWait(w, waitDone, body, nil)
		s.consumed(n)
		return nil
	case err != errInterrupted: //nolint:errorlint // own and never wrapped
		s.finishWait(w, waitBack, nil, nil)
		return err
	}
	c.resume()
	buf := c.e.pool.get(n)
	got := copy(buf.b, w.head[:gotHead])
	got += copy(buf.b[got:], body[:gotBody])
	s.finishWait(w, waitBack, nil, nil)
	if err := c.in.fill(buf.b[got:], true); err != nil {
		return err
	}
	s.enqueue(buf)
	return nil
}

// skipUninterrupted passes over n bytes while a waiter may interrupt.
func (c *conn) skipUninterrupted(n int) error {
	buf := c.e.pool.get(n)
	defer c.e.pool.put(buf)
	got := 0
	for got < n {
		m, err := c.in.read(buf.b[got:n], true)
		got += m
		if err == errInterrupted { //nolint:errorlint // own and never wrapped
			c.resume()
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxCredit bounds what a stream may send ahead, whatever the peer grants.
const maxCredit = math.MaxInt64 / 2
