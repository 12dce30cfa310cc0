package thrift

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/stormring/stormring/thrift/gen/storm"
)

// peer is a client whose other end is a script: it takes the first read's
// bytes, sends answer, and closes.
func peer(t *testing.T, answer string) (*Conn, *storm.NimbusClient) {
	t.Helper()
	here, there := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer there.Close()
		size, err := readInt(there)
		if err == nil {
			_, err = io.CopyN(io.Discard, there, int64(size))
		}
		if err == nil {
			_, _ = io.WriteString(there, answer)
		}
	}()
	c := newConn(here, "n1:6627", ClientConfig{MaxFrame: 1000})
	t.Cleanup(func() { c.Close(); <-done })
	return c, storm.NewNimbusClient(c)
}

func TestPeersThatAreNoServer(t *testing.T) {
	const ok = "\x80\x01\x00\x02\x00\x00\x00\x09getLeader\x00\x00\x00\x02\x00"
	for _, c := range []struct{ name, answer, want string }{
		{"closed", "", "the server closed the connection: unexpected EOF"},
		{"cut", "\x00\x00", "the server closed the connection: unexpected EOF"},
		{"HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n", "the server speaks HTTP"},
		{"TLS", "\x15\x03\x01\x00\x02\x02\x28", "the server speaks TLS"},
		{"unframed", ok, "the server speaks Thrift without frames"},
		{"no Thrift", "\x00\x00\x00\x08whatever", "the answer is no Thrift: no message of the binary protocol"},
		{"too long", "\x00\x01\x00\x00" + ok, "the answer has 65536 bytes, more than the limit of 1000"},
		{"not a summary", "\x00\x00\x00\x1a\x80\x01\x00\x02\x00\x00\x00\x09getLeader\x00\x00\x00\x01\x0c\x00\x00\x00\x00", "the answer is not as expected: *storm.NimbusSummary error reading struct: Required field Host is not set"},
		{"sequence", "\x00\x00\x00\x16" + ok, `the answer is for call 2 of "getLeader", not for call 1 of "getLeader"`},
		{"call", string(callFrame(true, "getLeader", "\x00")), `the answer is for call 9 of "getLeader", not for call 1 of "getLeader"`},
		{"refusal", string(exception(head{}, apache.PROTOCOL_ERROR, "too long").frame()), "the server refused the connection: too long"},
	} {
		conn, client := peer(t, c.answer)
		_, err := client.GetLeader(t.Context())
		if want := "getLeader of n1:6627: " + c.want; err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", c.name, err, want)
		}
		if _, err = client.GetLeader(t.Context()); !errors.Is(err, ErrConnClosed) {
			t.Errorf("%s, second call: %v", c.name, err)
		}
		conn.Close()
	}
}

func TestCallTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		defer there.Close()
		c := newConn(here, "n1", ClientConfig{CallTimeout: 7 * time.Second})
		began := time.Now()
		_, err := storm.NewNimbusClient(c).GetLeader(t.Context())
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 7*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
	inTime(t, nil, func(t *testing.T, s *timed) {
		c := newConn(s.dial(), "n1", ClientConfig{})
		defer c.Close()
		client := storm.NewStormringClient(c)
		ctx, cancel := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- client.KillTopology(ctx, "x") }()
		<-s.begun
		go func() { second <- storm.NewStormringClient(c).KillTopology(context.Background(), "y") }()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("first: %v", err)
		}
		if err := <-second; !errors.Is(err, ErrConnClosed) {
			t.Errorf("second: %v", err)
		}
		close(s.release)
		// One whose context has ended does no harm.
		c = newConn(s.dial(), "n1", ClientConfig{})
		defer c.Close()
		client = storm.NewStormringClient(c)
		if _, err := client.GetLeader(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if _, err := client.GetLeader(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestConnIsShared(t *testing.T) {
	addr, _ := serve(t, &fake{}, nil)
	c := dial(t, addr, ClientConfig{})
	errs := make(chan error)
	for range 8 {
		go func() { _, err := storm.NewNimbusClient(c).GetLeader(t.Context()); errs <- err }()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestLongRequestIsNotSent(t *testing.T) {
	addr, _ := serve(t, &fake{}, nil)
	client := storm.NewNimbusClient(dial(t, addr, ClientConfig{MaxFrame: 1000}))
	err := client.UploadChunk(t.Context(), "f", make([]byte, 1000))
	if err == nil || !strings.Contains(err.Error(), "the request has 1039 bytes, more than the limit of 1000") {
		t.Errorf("%v", err)
	}
	if _, err = client.GetLeader(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDialErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	if _, err = Dial(t.Context(), addr, ClientConfig{}); err == nil || !strings.Contains(err.Error(), "connect to "+addr) {
		t.Errorf("%v", err)
	}
}

func TestServeRefusesBadConfig(t *testing.T) {
	for name, change := range map[string]func(*ServerConfig){
		"listener": func(c *ServerConfig) { c.Listener = nil },
		"key":      func(c *ServerConfig) { c.Key = "" },
		"frame":    func(c *ServerConfig) { c.MaxFrame = 0 },
		"huge":     func(c *ServerConfig) { c.MaxFrame = math.MaxInt },
		"threads":  func(c *ServerConfig) { c.Threads = 0 },
		"queue":    func(c *ServerConfig) { c.Queue = -1 },
	} {
		cfg := config(newPipes(), &fake{}, new(logged))
		change(&cfg)
		if err := Serve(t.Context(), cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
