package transport

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// pump sends n messages of random sizes and returns their sum.
func pump(ctx context.Context, s *Stream, n int, seed uint64) ([]byte, error) {
	r := rand.New(rand.NewPCG(seed, 2))
	sum := sha256.New()
	data := noise(320*kib, seed)
	for i := range n {
		size := 16 + r.IntN(320*kib-16)
		if r.IntN(3) == 0 {
			size = 16 + r.IntN(200)
		}
		binary.LittleEndian.PutUint64(data, uint64(i))
		message := data[:size]
		sum.Write(message)
		cut := r.IntN(size)
		if err := s.SendParts(ctx, message[:cut], nil, message[cut:]); err != nil {
			return nil, err
		}
	}
	return sum.Sum(nil), s.CloseSend()
}

// drain receives all messages, with Recv and RecvHead in turns, and returns
// their sum.
func drain(ctx context.Context, s *Stream, seed uint64) ([]byte, error) {
	r := rand.New(rand.NewPCG(seed, 3))
	sum := sha256.New()
	for {
		err := drainOne(ctx, s, r, sum)
		if errors.Is(err, io.EOF) {
			return sum.Sum(nil), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func drainOne(ctx context.Context, s *Stream, r *rand.Rand, sum hash.Hash) error {
	if r.IntN(3) == 0 {
		b, err := s.Recv(ctx)
		sum.Write(b)
		return err
	}
	var head []byte
	body, err := s.RecvHead(ctx, 16, func(h []byte, n int) []byte {
		head = slices.Clone(h)
		return make([]byte, n+1)
	})
	sum.Write(head)
	sum.Write(body)
	return err
}

// both sends and receives at once and returns the sums.
func both(ctx context.Context, t *testing.T, s *Stream, messages int, seed uint64) (got, sent string) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() {
		sum, err := pump(ctx, s, messages, seed)
		if err != nil {
			t.Errorf("send: %v", err)
		}
		sent = string(sum)
	})
	sum, err := drain(ctx, s, seed)
	if err != nil {
		t.Errorf("receive: %v", err)
	}
	wg.Wait()
	return string(sum), sent
}

func exchange(t *testing.T, cfg Config, messages int) {
	t.Helper()
	const streams = 4
	served := make(chan string, streams)
	e := listen(t, cfg, &world{stream: func(ctx context.Context, s *Stream, method byte, _ []byte) error {
		got, _ := both(ctx, t, s, messages, uint64(method)+100)
		served <- got
		return nil
	}})
	c := client(t, cfg)
	ctx := short(t)
	sent, got := make([]string, streams), make([]string, streams)
	var all sync.WaitGroup
	for i := range streams {
		s := open(t, c, e.Addr(), byte(i), "")
		all.Go(func() {
			var back string
			back, sent[i] = both(ctx, t, s, messages, uint64(i))
			if back != expected(messages, uint64(i)+100) {
				t.Errorf("stream %d: what came is not what was sent", i)
			}
		})
	}
	all.Wait()
	for i := range streams {
		got[i] = <-served
	}
	slices.Sort(got)
	slices.Sort(sent)
	if !slices.Equal(got, sent) {
		t.Errorf("the server got other bytes than were sent")
	}
	eventually(t, "no stream is left", func() bool {
		return c.Peers()[0].Streams == 0 && e.Peers()[0].Streams == 0
	})
}

// expected is the sum that pump returns.
func expected(n int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 2))
	sum := sha256.New()
	data := noise(320*kib, seed)
	for i := range n {
		size := 16 + r.IntN(320*kib-16)
		if r.IntN(3) == 0 {
			size = 16 + r.IntN(200)
		}
		binary.LittleEndian.PutUint64(data, uint64(i))
		sum.Write(data[:size])
		r.IntN(size)
	}
	return string(sum.Sum(nil))
}

func TestBigStreamsBothWays(t *testing.T) { exchange(t, Config{}, 150) }

func TestBigStreamsSmallWindow(t *testing.T) { exchange(t, Config{Window: 1}, 50) }

func TestServerGetsWhatWasSent(t *testing.T) {
	got := make(chan []byte, 1)
	e := listen(t, Config{}, &world{stream: func(ctx context.Context, s *Stream, _ byte, _ []byte) error {
		sum, err := drain(ctx, s, 1)
		got <- sum
		return err
	}})
	s := open(t, client(t, Config{}), e.Addr(), 0, "")
	sent, err := pump(short(t), s, 200, 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(short(t)); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v", err)
	}
	if !bytes.Equal(<-got, sent) {
		t.Fatal("what came is not what was sent")
	}
}

func TestMessagesKeepTheirBounds(t *testing.T) {
	e := listen(t, Config{}, &world{stream: func(ctx context.Context, s *Stream, _ byte, _ []byte) error {
		for {
			b, err := s.Recv(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := s.Send(ctx, b); err != nil {
				return err
			}
		}
	}})
	c := client(t, Config{})
	data := noise(320*kib, 1)
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 320*kib)), 0, 12).Draw(rt, "sizes")
		s, err := c.Open(short(t), e.Addr(), 0, nil)
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		var wg sync.WaitGroup
		wg.Go(func() {
			for _, n := range sizes {
				if err := s.Send(short(t), data[:n]); err != nil {
					rt.Error(err)
				}
			}
			if err := s.CloseSend(); err != nil {
				rt.Error(err)
			}
		})
		for _, n := range sizes {
			b, err := s.Recv(short(t))
			if err != nil || !bytes.Equal(b, data[:n]) {
				rt.Errorf("message of %d bytes came back with %d, %v", n, len(b), err)
			}
		}
		if _, err := s.Recv(short(t)); !errors.Is(err, io.EOF) {
			rt.Errorf("at the end: %v", err)
		}
		wg.Wait()
	})
}

// endings is a server whose streams end in all ways: the method says how. What
// the handler sees goes to the channel.
func endings(t *testing.T) (*Endpoint, <-chan error) {
	t.Helper()
	seen := make(chan error, 2)
	return listen(t, Config{}, &world{stream: func(ctx context.Context, s *Stream, method byte, head []byte) error {
		switch method {
		case 1: // some messages, then an error
			for range 3 {
				if err := s.Send(ctx, head); err != nil {
					return err
				}
			}
			return &RemoteError{Code: 150, Text: "disk full"}
		case 2: // until canceled
			_, err := s.Recv(ctx)
			seen <- err
			<-ctx.Done()
			seen <- ctx.Err()
			return err
		case 3: // cleanly at once
			return nil
		default: // closes
			s.Close()
			_, err := s.Recv(ctx)
			seen <- err
			return nil
		}
	}}), seen
}

func wantRemote(t *testing.T, what string, err error, code uint16) {
	t.Helper()
	if got, ok := errors.AsType[*RemoteError](err); !ok || got.Code != code {
		t.Fatalf("%s: got %v, want a remote error %d", what, err, code)
	}
}

func wantIs(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: got %v, want %v", what, err, want)
	}
}

func TestStreamEnds(t *testing.T) {
	e, seen := endings(t)
	c := client(t, Config{})
	ctx := short(t)
	t.Run("error after messages", func(t *testing.T) {
		s := open(t, c, e.Addr(), 1, "head")
		for range 3 {
			if b, err := s.Recv(ctx); err != nil || string(b) != "head" {
				t.Fatalf("got %q, %v", b, err)
			}
		}
		_, err := s.Recv(ctx)
		wantRemote(t, "Recv", err, 150)
		wantRemote(t, "Send", s.Send(ctx, nil), 150)
	})
	t.Run("closed by who opened", func(t *testing.T) {
		s := open(t, c, e.Addr(), 2, "")
		s.Close()
		wantRemote(t, "handler's Recv", <-seen, CodeCanceled)
		wantIs(t, "handler's context", <-seen, context.Canceled)
		_, err := s.Recv(ctx)
		wantIs(t, "own Recv", err, ErrClosed)
		wantIs(t, "own Send", s.Send(ctx, nil), ErrClosed)
	})
	t.Run("clean end while sending", func(t *testing.T) {
		s := open(t, c, e.Addr(), 3, "")
		var err error
		for err == nil { // blocks at the window at the latest
			err = s.Send(ctx, make([]byte, 256*kib))
		}
		wantIs(t, "Send", err, ErrEnded)
		_, err = s.Recv(ctx)
		wantIs(t, "Recv", err, io.EOF)
	})
	t.Run("closed by the handler", func(t *testing.T) {
		s := open(t, c, e.Addr(), 4, "")
		_, err := s.Recv(ctx)
		wantRemote(t, "Recv", err, CodeCanceled)
		wantIs(t, "handler's Recv", <-seen, ErrClosed)
	})
	t.Run("after CloseSend", func(t *testing.T) {
		s := open(t, c, e.Addr(), 2, "")
		for range 2 {
			wantIs(t, "CloseSend", s.CloseSend(), nil)
		}
		wantIs(t, "handler's Recv", <-seen, io.EOF)
		wantIs(t, "Send", s.Send(ctx, nil), ErrClosed)
		s.Close()
		wantIs(t, "handler's context", <-seen, context.Canceled)
	})
}

func TestRecvHeadPassesOver(t *testing.T) {
	e := listen(t, Config{}, &world{stream: func(ctx context.Context, s *Stream, _ byte, _ []byte) error {
		for _, m := range []string{"ab", "headbody", "headlast"} {
			if _, err := s.Recv(ctx); err != nil { // one at a time, so that the other waits
				return err
			}
			if err := s.Send(ctx, []byte(m)); err != nil {
				return err
			}
		}
		return nil
	}})
	s := open(t, client(t, Config{}), e.Addr(), 0, "")
	ctx := short(t)
	next := func(into func([]byte, int) []byte) (string, error) {
		if err := s.Send(ctx, nil); err != nil {
			t.Fatal(err)
		}
		b, err := s.RecvHead(ctx, 4, into)
		return string(b), err
	}
	if _, err := next(nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("shorter than its head: %v", err)
	}
	if _, err := next(func([]byte, int) []byte { return nil }); !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("no room: %v", err)
	}
	got, err := next(func(head []byte, n int) []byte {
		if string(head) != "head" || n != 4 {
			t.Errorf("head %q, %d more", head, n)
		}
		return make([]byte, 10)
	})
	if got != "last" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestSlowReaderHoldsUpNobody(t *testing.T) {
	e := listen(t, Config{}, &world{call: echo, stream: flood})
	c := client(t, Config{})
	ctx := short(t)
	stalled := open(t, c, e.Addr(), 0, "") // never read
	busy := open(t, c, e.Addr(), 0, "")
	for range 400 { // 100 MiB, far beyond both windows
		if _, err := busy.Recv(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Call(ctx, e.Addr(), 1, nil); err != nil {
		t.Fatal(err)
	}
	held := func() int64 {
		stalled.mu.Lock()
		defer stalled.mu.Unlock()
		n := int64(0)
		for _, b := range stalled.queue {
			n += cost(len(b.b))
		}
		return n
	}
	if n := held(); n > 4*mib || n < 3*mib {
		t.Errorf("%d bytes wait in the stream that is not read, want a window", n)
	}
}

func TestTooManyStreams(t *testing.T) {
	e := listen(t, Config{}, &world{stream: func(ctx context.Context, _ *Stream, _ byte, _ []byte) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	c := client(t, Config{})
	for range maxStreams {
		open(t, c, e.Addr(), 0, "")
	}
	_, err := c.Open(short(t), e.Addr(), 0, nil)
	if got, ok := errors.AsType[*RemoteError](err); !ok || got.Code != CodeBusy {
		t.Fatalf("got %v", err)
	}
	if got := c.Peers()[0].Streams; got != maxStreams {
		t.Fatalf("%d streams, want %d", got, maxStreams)
	}
}
