package thrift

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/stormring/stormring/thrift/gen/storm"
)

// pipes is a listener without sockets, for tests in the time of synctest.
type pipes struct {
	conns  chan net.Conn
	closed context.Context // ends when the listener is closed
	close  context.CancelFunc
}

func newPipes() *pipes {
	closed, stop := context.WithCancel(context.Background())
	return &pipes{make(chan net.Conn), closed, stop}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.close(); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{Port: 6627} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// timed is a server in the time of synctest, whose kills wait until they are
// let go or cancelled.
type timed struct {
	*pipes
	log     *logged
	stop    func()
	ended   chan error // what Serve returned
	begun   chan string
	release chan struct{}
}

// inTime runs a test against a server and ends that.
func inTime(t *testing.T, change func(*ServerConfig), run func(*testing.T, *timed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &timed{
			pipes: newPipes(), log: new(logged), ended: make(chan error, 1),
			begun: make(chan string, 100), release: make(chan struct{}),
		}
		cfg := config(s.pipes, &fake{kill: s.kill}, s.log)
		if change != nil {
			change(&cfg)
		}
		var ctx context.Context
		ctx, s.stop = context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.ended <- Serve(ctx, cfg); close(done) }()
		run(t, s)
		s.stop()
		<-done
	})
}

func (s *timed) kill(ctx context.Context, name string) error {
	s.begun <- name
	select {
	case <-s.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestSlowAndSilentPeers(t *testing.T) {
	inTime(t, nil, func(t *testing.T, s *timed) {
		began := time.Now()
		idle, slow, dripping := s.dial(), s.dial(), s.dial()
		if _, err := slow.Write([]byte{0, 0, 1, 0}); err != nil {
			t.Fatal(err)
		}
		dripped := make(chan time.Duration)
		go func() {
			tick := time.NewTicker(4 * time.Second)
			defer tick.Stop()
			_, err := dripping.Write([]byte{0, 0, 1, 0})
			for err == nil {
				<-tick.C
				_, err = dripping.Write([]byte{'x'})
			}
			dripped <- time.Since(began)
		}()
		if _, err := slow.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Since(began) != defaultReadTimeout {
			t.Errorf("half a frame ended after %v: %v", time.Since(began), err)
		}
		if took := <-dripped; took != 32*time.Second {
			t.Errorf("a byte each 4 s ended after %v", took)
		}
		if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Since(began) != defaultIdleTimeout {
			t.Errorf("an idle connection ended after %v: %v", time.Since(began), err)
		}
		if got := s.log.lines("no framed Thrift"); len(got) != 1 || !strings.Contains(got[0], "took longer than 30s") {
			t.Errorf("%q", got)
		}
		// After a minute one is logged again, with the one that was not.
		bad := s.dial()
		for _, part := range []string{"GET ", "/ HT"} {
			if _, err := bad.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := bad.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("HTTP: %v", err)
		}
		if got := s.log.lines("no framed Thrift"); len(got) != 2 || !strings.Contains(got[1], "count=2") {
			t.Errorf("%q", got)
		}
	})
}

func TestThreadsAndQueue(t *testing.T) {
	change := func(c *ServerConfig) { c.Threads, c.Queue = 2, 3 }
	inTime(t, change, func(t *testing.T, s *timed) {
		answers := make(chan error, 6)
		for range 6 {
			c := newConn(s.dial(), "nimbus", ClientConfig{})
			go func() {
				answers <- storm.NewStormringClient(c).KillTopology(context.Background(), "x")
				c.Close()
			}()
		}
		wantApp(t, "the sixth", <-answers, apache.INTERNAL_ERROR,
			"the server is busy: 2 requests are being worked on and 3 wait; try again later")
		synctest.Wait()
		if len(s.begun) != 2 || len(answers) != 0 {
			t.Errorf("%d begun, %d answered", len(s.begun), len(answers))
		}
		close(s.release)
		for range 5 {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		if got := s.log.lines("too much to do"); len(got) != 1 {
			t.Errorf("%q", got)
		}
	})
}

func TestStopLetsRunningRequestsFinish(t *testing.T) {
	inTime(t, func(c *ServerConfig) { c.Threads = 1 }, func(t *testing.T, s *timed) {
		idle := s.dial()
		running, waiting := newConn(s.dial(), "nimbus", ClientConfig{}), newConn(s.dial(), "nimbus", ClientConfig{})
		answered, refused := make(chan error, 1), make(chan error, 1)
		go func() { answered <- storm.NewStormringClient(running).KillTopology(context.Background(), "x") }()
		<-s.begun
		go func() { refused <- storm.NewStormringClient(waiting).KillTopology(context.Background(), "y") }()
		synctest.Wait()
		s.stop()
		wantApp(t, "waiting", <-refused, apache.INTERNAL_ERROR, "the server is stopping")
		if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("idle: %v", err)
		}
		synctest.Wait()
		if len(answered) != 0 || len(s.ended) != 0 {
			t.Error("the running request was not waited for")
		}
		s.release <- struct{}{}
		if err := <-answered; err != nil {
			t.Error(err)
		}
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
	})
}

func TestStopEndsAfterGrace(t *testing.T) {
	inTime(t, nil, func(t *testing.T, s *timed) {
		c := newConn(s.dial(), "nimbus", ClientConfig{})
		answered := make(chan error, 1)
		go func() { answered <- storm.NewStormringClient(c).KillTopology(context.Background(), "x") }()
		<-s.begun
		began := time.Now()
		s.stop()
		if err := <-s.ended; err != nil || time.Since(began) != defaultGrace {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		wantApp(t, "cut off", <-answered, apache.INTERNAL_ERROR, "Internal error processing killTopology")
	})
}

func TestConnectionsAndBytesAreLimited(t *testing.T) {
	change := func(c *ServerConfig) { c.MaxConns, c.MaxBuffered = 2, 10_000 }
	inTime(t, change, func(t *testing.T, s *timed) {
		first := newConn(s.dial(), "nimbus", ClientConfig{})
		defer first.Close()
		err := storm.NewStormringClient(first).UploadChunk(t.Context(), "f", make([]byte, 20_000))
		if err == nil {
			t.Error("20000 bytes went into 10000")
		}
		second, third := s.dial(), s.dial()
		defer second.Close()
		fourth := s.dial()
		if _, err = fourth.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("a connection too many: %v", err)
		}
		third.Close()
		synctest.Wait()
		fifth := newConn(s.dial(), "nimbus", ClientConfig{})
		defer fifth.Close()
		if err = storm.NewStormringClient(fifth).UploadChunk(t.Context(), "f", make([]byte, 2000)); err != nil {
			t.Error(err)
		}
		if got := s.log.lines("too much to do"); len(got) != 1 {
			t.Errorf("%q", got)
		}
	})
}

// A client that does not take its answer cannot hold up the end either.
func TestStopEndsThoughAnAnswerIsNotTaken(t *testing.T) {
	inTime(t, nil, func(t *testing.T, s *timed) {
		conn := s.dial()
		if _, err := conn.Write(callFrame(true, "getLeader", "\x00")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began := time.Now()
		s.stop()
		if err := <-s.ended; err != nil || time.Since(began) != defaultGrace+linger {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
