package transport

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The tests of this file run in virtual time.

// pipes is a net.Listener whose connections are made in memory, so that they
// work in a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case p.conns <- b:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// An idle connection is kept alive; one on which nothing comes any more is
// replaced after IdleTimeout, and nothing is lost.
func TestHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultConfig("t", "b")
		var got []int64
		ln := newPipes()
		l, err := Listen(cfg, ln, &inbox{onTuples: func(_ WorkerID, _ ExecutorID, b *Batch) {
			for i := range b.Tuples {
				got = append(got, b.Tuples[i].Int(0))
			}
			b.Release()
		}}, testStreams())
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var cut *deaf
		cfg.Self = "a"
		p, err := NewPeer(cfg, "b", func(ctx context.Context) (net.Conn, error) {
			conn, err := ln.dial(ctx)
			cut = &deaf{Conn: conn, dead: make(chan struct{})}
			return cut, err
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		<-time.After(time.Hour)
		if s := p.Stats(); s.Connects != 1 || !s.Connected {
			t.Fatalf("after an idle hour: %+v", s)
		}
		close(cut.dead)
		if n, err := p.SendTuples(t.Context(), 7, numbered(0, 3)); n != 3 || err != nil {
			t.Fatalf("%d sent: %v", n, err)
		}
		<-time.After(2 * cfg.IdleTimeout)
		synctest.Wait()
		if s := p.Stats(); s.Connects != 2 || !s.Connected || s.Resends != 1 {
			t.Errorf("after the cut: %+v", s)
		}
		if !slices.Equal(got, []int64{0, 1, 2}) {
			t.Errorf("%v arrived", got)
		}
	})
}

// deaf is a connection that, once dead, swallows what is written, as the
// kernel does when the other host has vanished.
type deaf struct {
	net.Conn
	dead chan struct{}
}

func (c *deaf) Write(b []byte) (int, error) {
	select {
	case <-c.dead:
		return len(b), nil
	default:
		return c.Conn.Write(b)
	}
}

func TestErrorsAreThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newErrorLog()
		cfg := DefaultConfig("t", "a")
		cfg.OnError = log.add
		dials := 0
		p, err := NewPeer(cfg, "b", func(context.Context) (net.Conn, error) {
			dials++
			return nil, errors.New("no route")
		})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		p.Close()
		if dials < 60 || dials > 140 {
			t.Errorf("%d dials in a minute, want about 80", dials)
		}
		if n := len(log.errs); n < 9 || n > 13 {
			t.Errorf("%d errors reported in a minute, want about 11", n)
		}
		if want := `connection to worker "b": dial: no route; it will be tried again`; log.errs[0] != want {
			t.Errorf("%q, want %q", log.errs[0], want)
		}
	})
}
