package link

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a supervisor that says what it hears.
type host struct {
	orders  chan cluster.Orders
	refuse  error
	hellos  chan cluster.Hello
	pulses  chan cluster.Pulse
	goodbye chan cluster.Hello
}

func newHost() *host {
	return &host{
		orders: make(chan cluster.Orders, 1), hellos: make(chan cluster.Hello, 10),
		pulses: make(chan cluster.Pulse, 100), goodbye: make(chan cluster.Hello, 10),
	}
}

func (h *host) Hello(hello cluster.Hello) (<-chan cluster.Orders, error) {
	h.hellos <- hello
	return h.orders, h.refuse
}

func (h *host) Pulse(_ cluster.Hello, p cluster.Pulse) {
	select {
	case h.pulses <- p:
	default:
	}
}
func (h *host) Gone(hello cluster.Hello) { h.goodbye <- hello }

// serveAt runs a supervisor at path until the returned function is called.
func serveAt(t *testing.T, path string, h *host) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ln, err := Listen(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, ln, h, slog.New(slog.DiscardHandler)) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	}
}

// runWorker runs a worker until the returned function is called, which returns
// Run's error.
func runWorker(t *testing.T, path string, w Worker) (stop func() error) {
	t.Helper()
	w.Socket, w.Logger = path, slog.New(slog.DiscardHandler)
	w.Hello = cluster.Hello{Topology: "t-1-1", Port: 6700, Worker: "w1", PID: 42}
	if w.Every == 0 {
		w.Every = time.Hour
	}
	if w.Pulse == nil {
		w.Pulse = func() cluster.Pulse { return cluster.Pulse{UptimeSecs: 7} }
	}
	if w.Orders == nil {
		w.Orders = func(cluster.Orders) {}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, w) }()
	return func() error {
		cancel()
		return <-done
	}
}

func within[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not come", what)
		panic("unreachable")
	}
}

func TestThereAndBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link")
	h := newHost()
	stopHost := serveAt(t, path, h)
	got := make(chan cluster.Orders, 10)
	urgent := make(chan struct{}, 1)
	sent := make(chan struct{}, 10)
	stop := runWorker(t, path, Worker{
		Urgent: urgent, Sent: func() { sent <- struct{}{} }, Orders: func(o cluster.Orders) { got <- o },
	})
	want := cluster.Hello{Protocol: Protocol, Topology: "t-1-1", Port: 6700, Worker: "w1", PID: 42}
	if hello := within(t, h.hellos, "hello"); hello != want {
		t.Errorf("hello %+v, want %+v", hello, want)
	}
	if p := within(t, h.pulses, "a first pulse"); p.UptimeSecs != 7 {
		t.Errorf("pulse %+v", p)
	}
	within(t, sent, "the news that it was sent")
	urgent <- struct{}{}
	within(t, h.pulses, "an urgent pulse")
	h.orders <- cluster.Orders{Status: cluster.StatusInactive, Version: 3}
	if o := within(t, got, "orders"); o.Status != cluster.StatusInactive || o.Version != 3 {
		t.Errorf("orders %+v", o)
	}
	if err := stop(); err != nil {
		t.Errorf("run: %v", err)
	}
	within(t, h.goodbye, "goodbye")
	stopHost()
}

// A worker outlives its supervisor and finds the next one.
func TestSupervisorComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link")
	h := newHost()
	stop := runWorker(t, path, Worker{}) // before there is anyone
	for range 3 {
		stopHost := serveAt(t, path, h)
		within(t, h.hellos, "hello")
		within(t, h.pulses, "a pulse")
		stopHost()
	}
	if err := stop(); err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link")
	h := newHost()
	h.refuse = errors.New("nobody knows it")
	stopHost := serveAt(t, path, h)
	defer stopHost()
	err := Run(t.Context(), Worker{
		Socket: path, Every: time.Hour, Logger: slog.New(slog.DiscardHandler),
		Pulse: func() cluster.Pulse { return cluster.Pulse{} }, Orders: func(cluster.Orders) {},
	})
	if !errors.Is(err, ErrRefused) {
		t.Errorf("run: %v, want ErrRefused", err)
	}
}

// The supervisor ends a link by closing the channel; the worker connects again.
func TestOrdersEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link")
	h := newHost()
	stopHost := serveAt(t, path, h)
	defer stopHost()
	stop := runWorker(t, path, Worker{})
	within(t, h.hellos, "hello")
	close(h.orders)
	within(t, h.goodbye, "goodbye")
	within(t, h.hellos, "another hello")
	if err := stop(); err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestGarbage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link")
	h := newHost()
	stopHost := serveAt(t, path, h)
	defer stopHost()
	for _, garbage := range []string{"", "GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff", "\x00\x00\x00\x02ab", "\x00\x00\x00\x00"} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(garbage)); err != nil {
			t.Fatal(err)
		}
		if c, ok := conn.(*net.UnixConn); ok {
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("%q is answered", garbage)
		}
		_ = conn.Close()
	}
	stop := runWorker(t, path, Worker{})
	within(t, h.hellos, "hello after garbage")
	if err := stop(); err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestPath(t *testing.T) {
	short, err := Path("/var/lib/storm")
	if err != nil || short != "/var/lib/storm/supervisor/link" {
		t.Errorf("%q, %v", short, err)
	}
	long := "/" + strings.Repeat("x", 120)
	a, err := Path(long)
	if err != nil || len(a) > maxPath || !strings.HasPrefix(a, os.TempDir()) {
		t.Errorf("%q, %v", a, err)
	}
	if b, _ := Path(long + "y"); a == b {
		t.Errorf("two folders have one socket: %s", a)
	}
}

func TestListenReplacesTheDead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "link")
	for range 2 {
		ln, err := Listen(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		if l, ok := ln.(*net.UnixListener); ok {
			l.SetUnlinkOnClose(false) // as kill -9 leaves it
		}
		_ = ln.Close()
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 'a'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		msg, err := readFrame(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			return
		}
		if want := fmt.Sprintf("%x", data[4:4+binary.BigEndian.Uint32(data)]); fmt.Sprintf("%x", msg) != want {
			t.Errorf("read %x, want %s", msg, want)
		}
	})
}
