package transport

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// inbound is one accepted connection of a session.
type inbound struct {
	conn net.Conn
	done chan struct{} // closed when no goroutine uses the session through it
}

// attach makes in the only connection of s: the one before may hang half-open,
// and what it has read must be counted before we say what we have received.
func (s *session) attach(in *inbound) {
	s.attaching.Lock()
	defer s.attaching.Unlock()
	if old := s.current; old != nil {
		old.conn.Close()
		<-old.done
	}
	s.current = in
}

// run reads frames until the connection ends and returns why it did.
func (in *inbound) run(ctx context.Context, s *session, frames *frameReader, recv Receiver, counts *counters) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		in.write(ctx, s)
		in.conn.Close() // so that the reader ends too
	})
	defer wg.Wait()
	defer cancel()
	defer in.conn.Close()
	for {
		h, payload, err := frames.next()
		if err != nil {
			return err
		}
		switch h.kind {
		case frameData:
			n, err := s.frame(h, payload, recv)
			if err != nil {
				return err
			}
			counts.add(n)
		case framePing:
			s.ping()
		default:
			return fmt.Errorf("frame of kind %d after hello", h.kind)
		}
	}
}

// write sends acks and grants until ctx ends or the connection breaks. A peer
// that does not read them is noticed by its silence.
func (in *inbound) write(ctx context.Context, s *session) {
	var buf []byte
	for {
		if buf = s.appendAck(buf[:0]); len(buf) > 0 {
			if _, err := in.conn.Write(buf); err != nil {
				return
			}
			continue
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}
