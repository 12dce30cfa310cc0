package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy stands between two endpoints and does harm.
type proxy struct {
	ln net.Listener
	to string
	wg sync.WaitGroup

	mu      sync.Mutex
	conns   []net.Conn
	stalled chan struct{} // closed: forwards; else holds back
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{ln: ln, to: to, stalled: make(chan struct{})}
	close(p.stalled)
	p.wg.Go(p.run)
	t.Cleanup(func() {
		ln.Close()
		p.resume()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.ln.Addr().String() }

func (p *proxy) run() {
	for {
		in, err := p.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		p.wg.Go(func() { p.copy(in, out) })
		p.wg.Go(func() { p.copy(out, in) })
	}
}

func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 64*kib)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		gate := p.stalled
		p.mu.Unlock()
		<-gate
		if _, werr := to.Write(buf[:n]); werr != nil || err != nil {
			return
		}
	}
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// stall keeps connections open and forwards nothing: both sides are half-open.
func (p *proxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = make(chan struct{})
}

func (p *proxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.stalled:
	default:
		close(p.stalled)
	}
}

// inject puts bytes into the newest connection, towards who accepted it.
func (p *proxy) inject(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[len(p.conns)-1].Write(b)
}

func quick() Config { return Config{PingEvery: 50 * time.Millisecond} }

func blocker(started chan struct{}) *world {
	return &world{
		call: func(ctx context.Context, method byte, request []byte) ([]byte, error) {
			if method == 0 {
				return request, nil
			}
			started <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
		stream: flood,
	}
}

func TestCutAndReconnect(t *testing.T) {
	started := make(chan struct{}, 1)
	e := listen(t, Config{}, blocker(started))
	p := newProxy(t, e.Addr())
	c := client(t, Config{})
	for range 3 {
		s := open(t, c, p.addr(), 0, "")
		if _, err := s.Recv(short(t)); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := c.Call(short(t), p.addr(), 1, nil)
			failed <- err
		}()
		<-started
		p.cut()
		if err := <-failed; !errors.Is(err, ErrLost) {
			t.Fatalf("Call: %v", err)
		}
		err := error(nil)
		for err == nil { // what came before the cut can still be received
			_, err = s.Recv(short(t))
		}
		if !errors.Is(err, ErrLost) || errors.Is(err, io.EOF) {
			t.Fatalf("Recv: %v", err)
		}
		if err := s.Send(short(t), nil); !errors.Is(err, ErrLost) {
			t.Fatalf("Send: %v", err)
		}
		if _, err := c.Call(short(t), p.addr(), 0, nil); err != nil {
			t.Fatalf("after the cut: %v", err)
		}
	}
}

func TestHalfOpenIsCut(t *testing.T) {
	started := make(chan struct{}, 1)
	e := listen(t, quick(), blocker(started))
	p := newProxy(t, e.Addr())
	c := client(t, quick())
	s := open(t, c, p.addr(), 0, "")
	if _, err := s.Recv(short(t)); err != nil {
		t.Fatal(err)
	}
	p.stall()
	began := time.Now()
	_, err := c.Call(short(t), p.addr(), 1, nil)
	if !errors.Is(err, ErrLost) { // as silent, or as deaf, whichever shows first
		t.Fatalf("got %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	eventually(t, "the other side cuts too", func() bool { return len(e.all()) == 0 })
	p.resume()
	if _, err := c.Call(short(t), p.addr(), 0, nil); err != nil {
		t.Fatalf("after the stall: %v", err)
	}
}

func TestGarbageWithinAConnection(t *testing.T) {
	var log logbook
	cfg := Config{Log: log.logger()}
	e := listen(t, cfg, &world{call: echo})
	p := newProxy(t, e.Addr())
	c := client(t, Config{})
	for range 2 {
		if _, err := c.Call(short(t), p.addr(), 0, nil); err != nil {
			t.Fatal(err)
		}
		p.inject([]byte("\xff\xff garbage garbage garbage"))
		eventually(t, "it is cut", func() bool { return len(e.all()) == 0 && len(c.all()) == 0 })
	}
	if n := strings.Count(log.String(), "frame of unknown kind 15"); n != 1 {
		t.Errorf("%d log lines, want 1:\n%s", n, log.String())
	}
}

func TestGarbageOnThePort(t *testing.T) {
	var log logbook
	e := listen(t, Config{Log: log.logger(), DialTimeout: 100 * time.Millisecond}, &world{call: echo})
	say := func(s string) {
		nc, err := net.Dial("tcp", e.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		nc.Write([]byte(s))
		nc.SetReadDeadline(time.Now().Add(10 * time.Second))
		if b, err := io.ReadAll(nc); len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: got %q, %v; want it cut", s, b, err)
		}
	}
	for _, s := range []string{"GET / HTTP/1.1\r\n\r\n", "\x00\x01\x02", "sr3-r" /* and never more */, "" /* nor here */} {
		say(s)
	}
	if n := strings.Count(log.String(), "connection refused"); n != 1 {
		t.Errorf("%d log lines, want 1:\n%s", n, log.String())
	}
	if _, err := client(t, Config{}).Call(short(t), e.Addr(), 0, nil); err != nil {
		t.Fatalf("good ones get in: %v", err)
	}
}

func TestOtherVersion(t *testing.T) {
	t.Run("dialing", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		defer wg.Wait()
		defer ln.Close()
		wg.Go(func() {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			defer nc.Close()
			nc.Write(hello{version: 9}.append(nil)[:helloStart]) // what else it says is its own affair
			io.Copy(io.Discard, nc)
		})
		_, err = client(t, Config{}).Call(short(t), ln.Addr().String(), 0, nil)
		got, ok := errors.AsType[*VersionError](err)
		if !ok || got.Theirs != 9 || got.Ours != 1 {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("listening", func(t *testing.T) {
		var log logbook
		e := listen(t, Config{Log: log.logger()}, &world{})
		nc, err := net.Dial("tcp", e.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		nc.Write(hello{version: 9}.append(nil)[:helloStart])
		theirs, err := readHello(nc, "e")
		if err != nil || theirs.version != 1 {
			t.Fatalf("got %+v, %v: who dials must learn our version", theirs, err)
		}
		eventually(t, "a log line", func() bool { return strings.Contains(log.String(), "speaks format version 9") })
	})
}
