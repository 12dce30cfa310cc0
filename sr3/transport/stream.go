package transport

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

const (
	// copyBelow is the size up to which a message is copied into the queue
	// instead of being lent to the writer.
	copyBelow = 16 * kib
	// unwrittenBytes is how much of such copies of one stream may wait.
	unwrittenBytes = 128 * kib
)

// Stream is a sequence of messages in each direction, over a connection that
// others use too. One goroutine may send while another receives. Close must be
// called in the end by who opened it; on the serving side the return of
// Handler.Stream ends it.
type Stream struct {
	c      *conn
	id     uint64
	cancel context.CancelFunc // of the handler's context; nil on the opening side

	sending   chan struct{} // held by the one that sends
	receiving chan struct{} // held by the one that receives
	sendReady chan struct{} // there is credit, or an error
	recvReady chan struct{} // there is a message, or an error, or the waiter is done
	dead      chan struct{} // closed when both directions are over at once

	urgent atomic.Bool // its frames go before other bulk

	frame outFrame // of the sender
	taken *buffer  // what the last Recv returned
	head  []byte   // of the receiver

	mu        sync.Mutex
	isDead    bool
	credit    int64 // what may be sent
	unwritten int   // copies that wait for the writer
	sendErr   error // set: nothing more can be sent
	recvErr   error // set: what Recv says after the queue
	ended     bool  // the other side keeps nothing of this stream
	queue     []*buffer
	allowed   int64 // what the other side may send
	owed      int64 // consumed, and not yet given back as credit
	wait      waiter
	waiting   bool // wait belongs to a RecvHead
}

func newStream(c *conn, id uint64) *Stream {
	return &Stream{
		c: c, id: id,
		sending:   make(chan struct{}, 1),
		receiving: make(chan struct{}, 1),
		sendReady: make(chan struct{}, 1),
		recvReady: make(chan struct{}, 1),
		dead:      make(chan struct{}),
		credit:    c.window,
		allowed:   int64(c.e.cfg.Window),
	}
}

// Hurry lets what this side sends from now on go before the bulk of other streams.
// It is to be called before anything is sent.
func (s *Stream) Hurry() { s.urgent.Store(true) }

// Waiting tells whether a message has come that nobody has received yet.
func (s *Stream) Waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > 0
}

// Peer is the address at the other side.
func (s *Stream) Peer() string { return s.c.addr }

// Send sends one message. It blocks while the other side's window is full, and
// b is the caller's again when it returns. After a cancelled Send the stream is
// whole: the message went out entirely or not at all. Errors: the context's,
// ErrTooLarge, ErrClosed, ErrLost, ErrEnded, a RemoteError.
func (s *Stream) Send(ctx context.Context, b []byte) error {
	return s.SendParts(ctx, b)
}

// SendParts sends one message that consists of parts in their order, as Send
// does.
func (s *Stream) SendParts(ctx context.Context, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if n > s.c.maxSend {
		return fmt.Errorf("transport: message of %d bytes is %w: at most %d", n, ErrTooLarge, s.c.maxSend)
	}
	if ctx.Err() != nil {
		return s.gaveUp(ctx)
	}
	select {
	case s.sending <- struct{}{}:
	case <-ctx.Done():
		return s.gaveUp(ctx)
	}
	defer func() { <-s.sending }()
	small := n <= copyBelow || s.c.copies
	if err := s.reserve(ctx, n, small); err != nil {
		return err
	}
	h := header{kind: kindData, id: s.id}
	if small {
		f := s.c.copied(h, parts)
		f.stream, f.urgent = s, s.urgent.Load()
		return s.c.post(f)
	}
	if s.frame.written == nil {
		s.frame.written = make(chan error, 1)
	}
	s.frame.lend(h, parts)
	s.frame.urgent = s.urgent.Load()
	sent, err := s.c.lendOut(ctx, s.dead, &s.frame)
	clear(s.frame.parts)
	if sent {
		return nil
	}
	s.mu.Lock()
	s.credit += cost(n)
	if s.sendErr != nil {
		err = s.sendErr
	}
	s.mu.Unlock()
	return err
}

// reserve waits for credit.
func (s *Stream) reserve(ctx context.Context, n int, small bool) error {
	for {
		s.mu.Lock()
		switch {
		case s.sendErr != nil:
			err := s.sendErr
			s.mu.Unlock()
			return err
		case s.credit >= cost(n) && (!small || s.unwritten < unwrittenBytes):
			s.credit -= cost(n)
			if small {
				s.unwritten += int(cost(n))
			}
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		select {
		case <-s.sendReady:
		case <-ctx.Done():
			return s.gaveUp(ctx)
		}
	}
}

// gaveUp is the error for a context that ended: that of the stream, if it is
// over, since the end of a stream also ends its handler's context.
func (s *Stream) gaveUp(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDead {
		return s.recvErr
	}
	return ctx.Err()
}

// written tells that n copied bytes are on the socket.
func (s *Stream) written(n int) {
	s.mu.Lock()
	s.unwritten -= int(cost(n))
	s.mu.Unlock()
	signal(s.sendReady)
}

// addCredit takes credit from the other side; false if it is absurd.
func (s *Stream) addCredit(n int64) bool {
	s.mu.Lock()
	s.credit += n
	ok := s.credit < maxCredit
	s.mu.Unlock()
	signal(s.sendReady)
	return ok
}

// CloseSend ends this side's messages cleanly: the other side's Recv returns
// io.EOF after the last. Receiving goes on. It waits for a Send that is under
// way.
func (s *Stream) CloseSend() error {
	select {
	case s.sending <- struct{}{}:
		defer func() { <-s.sending }()
	case <-s.dead:
	}
	s.mu.Lock()
	if s.sendErr != nil {
		defer s.mu.Unlock()
		if s.sendErr == errSendClosed { //nolint:errorlint // own and never wrapped
			return nil
		}
		return s.sendErr
	}
	s.sendErr = errSendClosed
	done := s.recvErr != nil
	s.ended = s.ended || done
	s.mu.Unlock()
	f := s.c.copied(header{kind: kindEnd, id: s.id}, nil)
	f.urgent = s.urgent.Load()
	err := s.c.post(f)
	if done && s.cancel == nil {
		s.c.forgetStream(s)
	}
	return err
}

var errSendClosed = fmt.Errorf("transport: send after CloseSend: %w", ErrClosed)

// errStreamClosed is what is said on a stream that this side closed.
var errStreamClosed = fmt.Errorf("stream %w", ErrClosed)

// Close ends both directions at once: unread messages are dropped, and what
// waits on either side fails, here with ErrClosed and there with a RemoteError
// of CodeCanceled. After a clean end of both sides it only frees memory.
func (s *Stream) Close() {
	s.mu.Lock()
	ended := s.ended || s.isDead
	s.mu.Unlock()
	s.fail(errStreamClosed, false)
	s.c.forgetStream(s)
	if !ended {
		_ = s.c.control(header{kind: kindReset, id: s.id, code: CodeCanceled}, []byte("the other side closed the stream"))
	}
}

// finish ends the stream after its handler.
func (s *Stream) finish(code uint16, text string) {
	s.mu.Lock()
	gone := s.isDead
	s.mu.Unlock()
	if !gone {
		// In the order of the messages, so that all of them arrive before.
		h := header{kind: kindEnd, flags: flagStop, id: s.id, code: code}
		f := s.c.copied(h, [][]byte{[]byte(text)})
		f.urgent = s.urgent.Load()
		_ = s.c.post(f)
	}
	s.fail(errStreamClosed, false)
	s.c.forgetStream(s)
}

// onEnd takes the end of the other side, clean or not.
func (s *Stream) onEnd(h header, text string) {
	if h.kind == kindReset {
		s.fail(&RemoteError{Code: h.code, Text: text}, false)
		s.c.forgetStream(s)
		return
	}
	stop := h.flags&flagStop != 0 || h.code != 0
	s.mu.Lock()
	sentAll := s.sendErr == errSendClosed //nolint:errorlint // own and never wrapped
	sendErr, recvErr := ErrEnded, io.EOF
	if h.code != 0 {
		remote := &RemoteError{Code: h.code, Text: text}
		sendErr, recvErr = remote, remote
	}
	if s.recvErr == nil {
		s.recvErr = recvErr
	}
	if stop && s.sendErr == nil {
		s.sendErr = sendErr
	}
	over := stop || sentAll
	s.ended = s.ended || over
	s.mu.Unlock()
	signal(s.sendReady)
	signal(s.recvReady)
	if over && s.cancel == nil {
		s.c.forgetStream(s)
	}
}

// fail ends both directions. With keep, messages that arrived can still be
// received.
func (s *Stream) fail(err error, keep bool) {
	s.mu.Lock()
	if s.isDead {
		s.mu.Unlock()
		return
	}
	s.isDead = true
	s.ended = true
	if s.sendErr == nil {
		s.sendErr = err
	}
	if s.recvErr == nil || !keep {
		s.recvErr = err
	}
	if !keep {
		s.queue = nil
	}
	s.mu.Unlock()
	close(s.dead)
	if s.cancel != nil {
		s.cancel()
	}
	signal(s.sendReady)
	signal(s.recvReady)
}

// giveCredit lets the other side send n more.
func (s *Stream) giveCredit(n int64) {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(n))
	_ = s.c.control(header{kind: kindCredit, id: s.id}, b[:])
}

// signal leaves a token in a channel of one.
func signal(ready chan struct{}) {
	select {
	case ready <- struct{}{}:
	default:
	}
}
