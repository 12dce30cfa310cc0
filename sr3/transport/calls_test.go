package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

func echo(_ context.Context, _ byte, request []byte) ([]byte, error) { return request, nil }

func noise(n int, seed uint64) []byte {
	b := make([]byte, n+8)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return b[:n]
}

func TestCallSizes(t *testing.T) {
	e := listen(t, Config{}, &world{call: echo})
	c := client(t, Config{})
	for _, n := range []int{0, 1, 1000, inlineBytes, inlineBytes + 1, 256 * kib, 256*kib + 1, 3 * mib, 16 * mib} {
		request := noise(n, uint64(n))
		reply, err := c.Call(short(t), e.Addr(), 3, request)
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if !bytes.Equal(reply, request) {
			t.Fatalf("%d bytes: reply differs", n)
		}
	}
	if got := e.requestBytes.Load(); got != 0 {
		t.Fatalf("%d bytes of requests are still accounted for", got)
	}
	if _, err := c.Call(short(t), e.Addr(), 3, make([]byte, 16*mib+1)); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("got %v", err)
	}
}

func TestCallErrors(t *testing.T) {
	e := listen(t, Config{MaxCall: mib}, &world{call: func(_ context.Context, method byte, _ []byte) ([]byte, error) {
		switch method {
		case 1:
			return nil, errors.New("no such shard")
		case 2:
			return nil, fmt.Errorf("lookup: %w", &RemoteError{Code: 177, Text: "moved"})
		case 3:
			return nil, &RemoteError{Code: 178, Text: "fenced"}
		default:
			return make([]byte, 2*mib), nil
		}
	}})
	c := client(t, Config{MaxCall: 2 * mib})
	for _, want := range []struct {
		method byte
		code   uint16
		text   string
	}{
		{1, CodeFailed, "no such shard"},
		{2, 177, "lookup: remote error 177: moved"},
		{3, 178, "fenced"},
		{4, CodeTooLarge, "reply of 2097152 bytes to method 4, at most 1048576 are taken"},
	} {
		_, err := c.Call(short(t), e.Addr(), want.method, nil)
		got, ok := errors.AsType[*RemoteError](err)
		if !ok || got.Code != want.code || got.Text != want.text {
			t.Errorf("method %d: got %v, want %d %q", want.method, err, want.code, want.text)
		}
	}
	if _, err := c.Call(short(t), e.Addr(), 1, make([]byte, 2*mib)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("the other side's limit: got %v", err)
	}
}

func TestThousandsOfCalls(t *testing.T) {
	var running, most atomic.Int64
	e := listen(t, Config{MaxRunning: 64}, &world{call: func(_ context.Context, _ byte, request []byte) ([]byte, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		return request, nil
	}})
	c := client(t, Config{})
	ctx := short(t)
	var wg sync.WaitGroup
	for i := range 4000 {
		wg.Go(func() {
			request := noise(8+i%40*kib, uint64(i)) // some in parts
			reply, err := c.Call(ctx, e.Addr(), 1, request)
			if err != nil || !bytes.Equal(reply, request) {
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if got := most.Load(); got > 64 {
		t.Errorf("%d handlers ran at once, at most 64 may", got)
	}
}

func TestCancelCall(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	e := listen(t, Config{}, &world{call: func(ctx context.Context, method byte, _ []byte) ([]byte, error) {
		if method == 0 {
			return nil, nil
		}
		started <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}})
	c := client(t, Config{})
	for range 2 * callSlots { // slots come back
		ctx, cancel := context.WithCancel(short(t))
		go func() {
			<-started
			cancel()
		}()
		if _, err := c.Call(ctx, e.Addr(), 1, nil); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("handler got %v", err)
		}
	}
	if _, err := c.Call(short(t), e.Addr(), 0, nil); err != nil {
		t.Fatal(err)
	}
}

func TestRequestBytesAreBounded(t *testing.T) {
	hold := make(chan struct{})
	e := listen(t, Config{MaxCall: mib}, &world{call: func(context.Context, byte, []byte) ([]byte, error) {
		<-hold
		return nil, nil
	}})
	c := client(t, Config{MaxCall: mib})
	ctx := short(t)
	request := make([]byte, mib)
	var wg sync.WaitGroup
	for range requestsOfMax {
		wg.Go(func() {
			if _, err := c.Call(ctx, e.Addr(), 1, request); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "all are there", func() bool { return e.requestBytes.Load() == requestsOfMax*mib })
	_, err := c.Call(ctx, e.Addr(), 1, request)
	if got, ok := errors.AsType[*RemoteError](err); !ok || got.Code != CodeBusy {
		t.Errorf("got %v", err)
	}
	close(hold)
	wg.Wait()
	if _, err := c.Call(ctx, e.Addr(), 1, request); err != nil {
		t.Errorf("after: %v", err)
	}
}

func TestMessages(t *testing.T) {
	const many = 200
	got := make(chan string, many)
	e := listen(t, Config{}, &world{message: func(p []byte) { got <- string(p) }})
	c := client(t, Config{})
	for i := range many {
		if !c.Send(e.Addr(), fmt.Append(nil, i)) {
			t.Fatalf("message %d dropped", i)
		}
	}
	for i := range many {
		if m := <-got; m != fmt.Sprint(i) {
			t.Fatalf("got %q, want %d", m, i)
		}
	}
	if c.Send(e.Addr(), make([]byte, 256*kib+1)) {
		t.Error("a message of more than a chunk was taken")
	}
	if d := c.Peers()[0].Dropped; d != 1 {
		t.Errorf("%d dropped, want 1", d)
	}
}

func TestMessagesToNobodyAreCounted(t *testing.T) {
	gone := listen(t, Config{}, &world{})
	gone.Close()
	c := client(t, Config{})
	const many = 1000
	refused := 0
	for range many {
		if !c.Send(gone.Addr(), []byte("anybody?")) {
			refused++
		}
	}
	if refused == 0 {
		t.Error("the queue has no bound")
	}
	eventually(t, "all are counted as dropped", func() bool { return c.Peers()[0].Dropped == many })
}

func TestSlowMessageHandlerDrops(t *testing.T) {
	hold := make(chan struct{})
	e := listen(t, Config{}, &world{call: echo, message: func([]byte) { <-hold }})
	defer close(hold)
	c := client(t, Config{})
	for range inboundMessages + 500 {
		// A call in between, so that the messages before it have arrived.
		c.Send(e.Addr(), []byte("x"))
		if _, err := c.Call(short(t), e.Addr(), 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	if d := e.Peers()[0].Dropped; d != 499 {
		t.Errorf("%d dropped, want 499: one is in the handler, %d wait", d, inboundMessages)
	}
}
