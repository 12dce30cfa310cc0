package transport

import (
	"context"
	"fmt"
	"io"
)

type waitState uint8

const (
	waitOpen    waitState = iota // nothing came yet
	waitClaimed                  // the reader is filling its memory
	waitDone                     // it has its message, or an error
	waitBack                     // its memory is its own again, without a message
)

// waiter is a RecvHead that waits for a message. The stream's mu guards state;
// the rest is the reader's while the state is claimed.
type waiter struct {
	head        []byte
	into        func(head []byte, body int) []byte
	state       waitState
	interrupted bool
	body        []byte
	err         error
}

func errShort(got, want int) error {
	return fmt.Errorf("transport: message passed over: its body has %d bytes, the buffer for it %d: %w", want, got, io.ErrShortBuffer)
}

// Recv returns the next message; it is valid until the next call. It returns
// io.EOF after the other side's clean end; errors otherwise: the context's,
// ErrClosed, ErrLost, a RemoteError. A cancelled Recv loses nothing.
func (s *Stream) Recv(ctx context.Context) ([]byte, error) {
	if err := s.startRecv(ctx); err != nil {
		return nil, err
	}
	defer func() { <-s.receiving }()
	for {
		buf, err := s.next()
		if err != nil {
			return nil, err
		}
		if buf != nil {
			s.taken = buf
			s.consumed(len(buf.b))
			return buf.b, nil
		}
		select {
		case <-s.recvReady:
		case <-ctx.Done():
			return nil, s.gaveUp(ctx)
		}
	}
}

// RecvHead receives a message whose first headLen bytes say where the others
// belong: into is called with these and the number of bytes that follow, and
// returns the memory for them, which RecvHead then returns filled. Where it can
// it reads from the socket into that memory, so into may run in another
// goroutine, while the caller waits in RecvHead: it must not block nor use the
// stream. After a cancelled RecvHead nothing writes to the memory any more, and
// the message is there for the next call, with a new call of into.
//
// If into returns less than asked for, the message is passed over and the error
// is io.ErrShortBuffer; a message shorter than headLen is passed over too, with
// io.ErrUnexpectedEOF. The stream goes on in both cases. Other errors are those
// of Recv.
func (s *Stream) RecvHead(ctx context.Context, headLen int, into func(head []byte, body int) []byte) ([]byte, error) {
	if err := s.startRecv(ctx); err != nil {
		return nil, err
	}
	defer func() { <-s.receiving }()
	if cap(s.head) < headLen {
		s.head = make([]byte, headLen)
	}
	for {
		buf, err := s.nextOrWait(s.head[:headLen], into)
		if err != nil {
			return nil, err
		}
		if buf != nil {
			s.consumed(len(buf.b))
			body, err := unpack(buf.b, headLen, into)
			s.c.e.pool.put(buf)
			return body, err
		}
		body, again, err := s.await(ctx)
		if !again {
			return body, err
		}
	}
}

func unpack(b []byte, headLen int, into func(head []byte, body int) []byte) ([]byte, error) {
	if len(b) < headLen {
		return nil, fmt.Errorf("transport: message of %d bytes passed over, its head has %d: %w", len(b), headLen, io.ErrUnexpectedEOF)
	}
	n := len(b) - headLen
	body := into(b[:headLen:headLen], n)
	if len(body) < n {
		return nil, errShort(len(body), n)
	}
	copy(body, b[headLen:])
	return body[:n:n], nil
}

func (s *Stream) startRecv(ctx context.Context) error {
	if ctx.Err() != nil {
		return s.gaveUp(ctx)
	}
	select {
	case s.receiving <- struct{}{}:
	case <-ctx.Done():
		return s.gaveUp(ctx)
	}
	if s.taken != nil {
		s.c.e.pool.put(s.taken)
		s.taken = nil
	}
	return nil
}

// next takes the first message of the queue; nil if there is none yet.
func (s *Stream) next() (*buffer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nextLocked()
}

func (s *Stream) nextLocked() (*buffer, error) {
	if len(s.queue) == 0 {
		return nil, s.recvErr
	}
	buf := s.queue[0]
	s.queue[0] = nil
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = nil
	}
	return buf, nil
}

// nextOrWait is next, and lets the reader know who waits if there is none.
func (s *Stream) nextOrWait(head []byte, into func([]byte, int) []byte) (*buffer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	buf, err := s.nextLocked()
	if buf == nil && err == nil {
		s.wait = waiter{head: head, into: into}
		s.waiting = true
	}
	return buf, err
}

// await waits for the reader to serve the waiter. again says that there may be
// something in the queue instead.
func (s *Stream) await(ctx context.Context) (body []byte, again bool, err error) {
	var gaveUp error
	for {
		if gaveUp == nil {
			select {
			case <-s.recvReady:
			case <-ctx.Done():
				gaveUp = s.gaveUp(ctx)
			}
		} else {
			<-s.recvReady
		}
		s.mu.Lock()
		w := &s.wait
		if w.state == waitClaimed {
			if (gaveUp != nil || s.isDead) && !w.interrupted {
				w.interrupted = true
				s.c.interrupt()
			}
			s.mu.Unlock()
			continue
		}
		if w.state == waitOpen && gaveUp == nil && len(s.queue) == 0 && s.recvErr == nil {
			s.mu.Unlock() // a token of before
			continue
		}
		body, err, again = w.body, w.err, w.state != waitDone && gaveUp == nil
		if w.state != waitDone {
			err = gaveUp
		}
		s.waiting = false
		*w = waiter{}
		s.mu.Unlock()
		return body, again, err
	}
}

// claim takes n bytes off the window and, if a RecvHead waits that can take
// them, its waiter. Called by the reader.
func (s *Stream) claim(n int) (*waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.allowed -= cost(n); s.allowed < 0 {
		return nil, broken("stream %d sent more than its window", s.id)
	}
	w := &s.wait
	if !s.waiting || s.isDead || w.state != waitOpen || len(s.queue) > 0 || n < len(w.head) {
		return nil, nil //nolint:nilnil // nobody waits, and that is no error
	}
	w.state = waitClaimed
	return w, nil
}

// finishWait hands the waiter back to its RecvHead. Called by the reader.
func (s *Stream) finishWait(w *waiter, state waitState, body []byte, err error) {
	s.mu.Lock()
	if w.interrupted {
		s.c.resume()
	}
	w.state, w.body, w.err = state, body, err
	s.mu.Unlock()
	signal(s.recvReady)
}

// enqueue adds a message. Called by the reader.
func (s *Stream) enqueue(buf *buffer) {
	s.mu.Lock()
	if s.isDead || s.recvErr != nil {
		s.mu.Unlock()
		s.c.e.pool.put(buf)
		return
	}
	s.queue = append(s.queue, buf)
	s.mu.Unlock()
	signal(s.recvReady)
}

// consumed gives back the window that a message of n bytes took, a quarter of
// the window at a time.
func (s *Stream) consumed(n int) {
	s.mu.Lock()
	s.owed += cost(n)
	give := int64(0)
	if s.owed >= int64(s.c.e.cfg.Window)/4 && s.recvErr == nil {
		give, s.owed = s.owed, 0
		s.allowed += give
	}
	s.mu.Unlock()
	if give > 0 {
		s.giveCredit(give)
	}
}
