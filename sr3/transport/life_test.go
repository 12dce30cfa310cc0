package transport

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

func TestMaxConns(t *testing.T) {
	e := listen(t, Config{MaxConns: 1}, &world{call: echo})
	first := client(t, Config{})
	if _, err := first.Call(short(t), e.Addr(), 0, nil); err != nil {
		t.Fatal(err)
	}
	_, err := client(t, Config{}).Call(short(t), e.Addr(), 0, nil)
	if got, ok := errors.AsType[*RemoteError](err); !ok || got.Code != CodeBusy {
		t.Fatalf("got %v", err)
	}
	first.Close()
	eventually(t, "there is room again", func() bool {
		_, err := client(t, Config{}).Call(short(t), e.Addr(), 0, nil)
		return err == nil
	})
}

func TestMaxConnsDialed(t *testing.T) {
	a := listen(t, Config{}, &world{call: echo, stream: flood})
	b := listen(t, Config{}, &world{call: echo})
	c := client(t, Config{MaxConns: 1})
	for range 5 { // an idle one makes room
		for _, e := range []*Endpoint{a, b} {
			if _, err := c.Call(short(t), e.Addr(), 0, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	open(t, c, a.Addr(), 0, "")
	_, err := c.Call(short(t), b.Addr(), 0, nil)
	if err == nil || !strings.Contains(err.Error(), "all 1 connections (MaxConns) are in use") {
		t.Fatalf("got %v", err)
	}
}

func TestIdleClose(t *testing.T) {
	e := listen(t, quick(), &world{call: echo})
	cfg := quick()
	cfg.IdleClose = 20 * time.Millisecond
	c := client(t, cfg)
	for range 3 {
		if _, err := c.Call(short(t), e.Addr(), 0, nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is closed", func() bool { return !c.Peers()[0].Connected && len(e.all()) == 0 })
	}
}

func TestRestartAtTheSamePort(t *testing.T) {
	e := listen(t, Config{}, &world{call: echo})
	c := client(t, Config{})
	addr := e.Addr()
	if _, err := c.Call(short(t), addr, 0, nil); err != nil {
		t.Fatal(err)
	}
	e.Close()
	if _, err := c.Call(short(t), addr, 0, nil); err == nil {
		t.Fatal("answered after Close")
	}
	again, err := Listen(Config{}, addr, &world{call: echo})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	if _, err := c.Call(short(t), addr, 0, nil); err != nil {
		t.Fatalf("the attempt after the restart: %v", err)
	}
}

func TestClosed(t *testing.T) {
	e := listen(t, Config{}, &world{call: echo})
	c := client(t, Config{})
	c.Close()
	if _, err := c.Call(short(t), e.Addr(), 0, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Call: %v", err)
	}
	if _, err := c.Open(short(t), e.Addr(), 0, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Open: %v", err)
	}
	if c.Send(e.Addr(), nil) {
		t.Error("Send took a message")
	}
	c.Close() // again is fine
}

func TestCancelWhileDialing(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // accepts by its backlog, and never says hello
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c := client(t, Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Call(ctx, ln.Addr().String(), 0, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	c.Close() // does not wait for the dial's time-out
}
