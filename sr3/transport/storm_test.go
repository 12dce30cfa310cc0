package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestStormOfCuts lets calls, streams and messages run while connections are
// cut, streams closed and contexts cancelled at random: whatever succeeds is
// right, all ends, and nothing is left.
func TestStormOfCuts(t *testing.T) {
	data := noise(300*kib, 11)
	e := listen(t, quick(), &world{call: echo, stream: func(ctx context.Context, s *Stream, _ byte, _ []byte) error {
		for i := range 40 {
			if err := s.SendParts(ctx, []byte{byte(i)}, data); err != nil {
				return err
			}
		}
		return nil
	}})
	p := newProxy(t, e.Addr())
	c := client(t, quick())
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	var cutter, wg sync.WaitGroup
	var calls, streams atomic.Int64
	cutter.Go(func() {
		for cuts := 0; ctx.Err() == nil; cuts++ {
			<-time.After(time.Duration(10+10*(cuts%7)) * time.Millisecond)
			p.cut()
			if cuts >= 10 && calls.Load() >= 20 && streams.Load() >= 100 {
				stop()
			}
		}
	})
	for i := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 4))
			for ctx.Err() == nil {
				few, cancel := context.WithTimeout(ctx, time.Duration(1+r.IntN(40))*time.Millisecond)
				request := data[:r.IntN(len(data))]
				if reply, err := c.Call(few, p.addr(), 0, request); err == nil {
					calls.Add(1)
					if !bytes.Equal(reply, request) {
						t.Error("a reply is not its request")
					}
				}
				c.Send(p.addr(), request[:min(len(request), 100)])
				cancel()
			}
		})
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			for ctx.Err() == nil {
				few, cancel := context.WithTimeout(ctx, time.Duration(1+r.IntN(60))*time.Millisecond)
				n, err := readOrdered(t, few, c, p.addr(), data, r)
				streams.Add(int64(n))
				if errors.Is(err, io.EOF) && n != 40 {
					t.Errorf("clean end after %d of 40 messages", n)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	cutter.Wait()
	if calls.Load() < 20 || streams.Load() < 100 {
		t.Errorf("%d calls and %d messages got through", calls.Load(), streams.Load())
	}
	eventually(t, "it works after the storm", func() bool {
		_, err := c.Call(short(t), p.addr(), 0, data)
		return err == nil
	})
	eventually(t, "nothing is left", func() bool {
		for _, q := range append(c.Peers(), e.Peers()...) {
			if q.Streams != 0 {
				return false
			}
		}
		return e.requestBytes.Load() == 0 && len(e.running) == 0
	})
}

// readOrdered opens a stream and counts the messages that came, each whole, in
// order, with some calls of RecvHead given up on the way.
func readOrdered(t *testing.T, ctx context.Context, c *Endpoint, addr string, data []byte, r *rand.Rand) (int, error) {
	t.Helper()
	s, err := c.Open(ctx, addr, 0, nil)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	for n := 0; ; {
		var first byte
		once, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(2000))*time.Microsecond)
		body, err := s.RecvHead(once, 1, func(head []byte, n int) []byte {
			first = head[0]
			return make([]byte, n)
		})
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			continue
		case err != nil:
			return n, err
		case int(first) != n || !bytes.Equal(body, data):
			t.Errorf("message %d is not what was sent", n)
		}
		n++
	}
}
