package zk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/zk/zktest"
)

func TestValidate(t *testing.T) {
	good := DefaultConfig(slog.New(slog.DiscardHandler), "a:2181", "[::1]:2181")
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"no Servers": func(c *Config) { c.Servers = nil },
		`server "a" is not host:port: address a: missing port in address`: func(c *Config) { c.Servers = []string{"a"} },
		"ConnectTimeout is 0s, has to be positive":                        func(c *Config) { c.ConnectTimeout = 0 },
		"MaxDataBytes is 0, has to be from 1 to 2147418112":               func(c *Config) { c.MaxDataBytes = 0 },
		"MaxDataBytes is 2147483647, has to be from 1 to 2147418112":      func(c *Config) { c.MaxDataBytes = math.MaxInt32 },
		"no Logger: use slog.New(slog.DiscardHandler)":                    func(c *Config) { c.Logger = nil },
	} {
		cfg := good
		change(&cfg)
		if _, err := New(cfg); err == nil || err.Error() != "ZooKeeper client: "+want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func mustOpen(t *testing.T, opener coord.Opener, timeout time.Duration) *session {
	t.Helper()
	c, err := opener.Open(t.Context(), timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c.(*session)
}

func mustNew(t *testing.T, cfg Config) *Store {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// closedPort is an address at which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestOpenInVain(t *testing.T) {
	mute, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close() // takes connections and says nothing
	for address, why := range map[string]string{
		closedPort(t):        "connection refused",
		mute.Addr().String(): "does not greet",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := mustNew(t, testConfig(address)).Open(ctx, time.Second)
		cancel()
		if !errors.Is(err, coord.ErrConnectionLoss) || !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), why) {
			t.Errorf("open at %s: %v", address, err)
		}
	}
}

func TestZooKeeper(t *testing.T) {
	server := zktest.Start(t)
	t.Run("another server of the ensemble", func(t *testing.T) {
		cfg := testConfig(closedPort(t))
		cfg.Servers = append(cfg.Servers, server.Address)
		mustOpen(t, mustNew(t, cfg), time.Second)
	})
	t.Run("stalled", func(t *testing.T) { testStalled(t, server) })
	t.Run("watches under fire", func(t *testing.T) { testWatchesUnderFire(t, server) })
	t.Run("no second session", func(t *testing.T) { testNoSecondSession(t, server) })
	t.Run("large requests", func(t *testing.T) { testLargeRequests(t, server) })
	t.Run("crash of the server", func(t *testing.T) { testCrash(t, server) })
}

// A network that swallows what it is given: calls end by their contexts, by
// the end of the session, and at the latest when the connection is given up.
func testStalled(t *testing.T, server *zktest.Server) {
	n := newNetwork(t, server)
	c := mustOpen(t, n, time.Second)
	n.way(c).Stall()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Create(ctx, "/late", nil, coord.Persistent)
	if !errors.Is(err, coord.ErrConnectionLoss) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write that may have happened: %v", err)
	}
	_, _, err = c.Get(ctx, "/")
	if errors.Is(err, coord.ErrConnectionLoss) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a read: %v", err)
	}
	if _, _, err = c.Get(t.Context(), "/"); !errors.Is(err, coord.ErrConnectionLoss) {
		t.Errorf("a read without a bound: %v", err)
	}
	if _, err = c.Multi(t.Context(), coord.CreateOp{Path: "/never"}); !errors.Is(err, coord.ErrConnectionLoss) {
		t.Errorf("a write without a connection: %v", err)
	}

	d := mustOpen(t, n, time.Second)
	n.way(d).Stall()
	answer := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		close(began)
		_, err := d.Create(context.Background(), "/later", nil, coord.Persistent)
		answer <- err
	}()
	<-began
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-answer; !errors.Is(err, coord.ErrSessionClosed) {
		t.Errorf("a write when the session is closed: %v", err)
	}
}

// Cuts and changes at random moments: no watch is lost.
func testWatchesUnderFire(t *testing.T, server *zktest.Server) {
	const changes, path = 300, "/fire"
	n := newNetwork(t, server)
	writer, reader := mustOpen(t, n, 10*time.Second), mustOpen(t, n, 10*time.Second)
	if _, err := writer.Create(t.Context(), path, nil, coord.Persistent); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var seen atomic.Int32
	g, ctx := errgroup.WithContext(ctx)
	for range 4 {
		g.Go(func() error {
			for {
				_, stat, events, err := reader.GetW(ctx, path)
				if errors.Is(err, coord.ErrConnectionLoss) && ctx.Err() == nil {
					continue
				}
				if err != nil {
					return fmt.Errorf("after version %d: %w", stat.Version, err)
				}
				seen.Store(max(seen.Load(), stat.Version))
				if stat.Version == changes {
					return nil
				}
				select {
				case e := <-events:
					if e.Type != coord.EventNodeDataChanged {
						return fmt.Errorf("the watch of version %d tells %+v", stat.Version, e)
					}
				case <-ctx.Done():
					return fmt.Errorf("the watch of version %d is lost", stat.Version)
				}
			}
		})
	}
	g.Go(func() error {
		for i := range changes {
			if _, err := writer.Set(ctx, path, []byte(strconv.Itoa(i)), int32(i)); err != nil {
				return err
			}
			if i%30 == 29 {
				n.way(reader).Cut()
				n.way(reader).Heal()
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if err := reader.Err(); err != nil {
		t.Error(err)
	}
}

// When its session has expired the client dials no more.
func testNoSecondSession(t *testing.T, server *zktest.Server) {
	var dials atomic.Int32
	proxy := zktest.NewProxy(t, server.Address)
	cfg := testConfig(proxy.Address)
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	c := mustOpen(t, mustNew(t, cfg), time.Second)
	id := c.ID()
	_, _, events, err := c.ExistsW(t.Context(), "/nothing")
	if err != nil {
		t.Fatal(err)
	}
	proxy.Cut()
	if err := endSession(server.Address, c); err != nil {
		t.Fatal(err)
	}
	proxy.Heal()
	<-c.Done()
	<-c.ended
	dialled := dials.Load()
	if e := <-events; e.Type != coord.EventNotWatching || !errors.Is(e.Err, coord.ErrSessionExpired) {
		t.Errorf("the watch tells %+v", e)
	}
	for range 3 {
		if _, _, err := c.Get(t.Context(), "/"); !errors.Is(err, coord.ErrSessionExpired) {
			t.Errorf("a read: %v", err)
		}
	}
	if c.ID() != id || !errors.Is(c.Err(), coord.ErrSessionExpired) || dials.Load() != dialled {
		t.Errorf("session %x is %x, over: %v; %d dials since", id, c.ID(), c.Err(), dials.Load()-dialled)
	}
}

// A request that is as large as may be passes, one that is larger is refused
// here: ZooKeeper would hang up.
func testLargeRequests(t *testing.T, server *zktest.Server) {
	c := mustOpen(t, mustNew(t, testConfig(server.Address)), 20*time.Second)
	long := strings.Repeat("x", 200)
	var ops []coord.Op
	const each = 205 + opOverhead
	for packet := each; packet <= DefaultMaxDataBytes+packetRoom; packet += each {
		ops = append(ops, coord.CreateOp{Path: fmt.Sprintf("/%s%04d", long, len(ops))})
	}
	if _, err := c.Multi(t.Context(), ops...); err != nil {
		t.Errorf("%d operations: %v", len(ops), err)
	}
	for i, op := range ops {
		ops[i] = coord.DeleteOp{Path: op.(coord.CreateOp).Path, Version: coord.AnyVersion}
	}
	if _, err := c.Multi(t.Context(), ops...); err != nil {
		t.Error(err)
	}
	_, err := c.Multi(t.Context(), append(ops, coord.CheckOp{Path: "/" + long + long})...)
	if e, ok := errors.AsType[*coord.OpError](err); !ok || !errors.Is(err, coord.ErrTooLarge) || e.Index != len(ops) {
		t.Errorf("one more: %v", err)
	}
}

// A session outlives a crash of the server, and so do its watches.
func testCrash(t *testing.T, server *zktest.Server) {
	store := mustNew(t, testConfig(server.Address))
	a, b := mustOpen(t, store, 10*time.Second), mustOpen(t, store, 10*time.Second)
	if _, err := a.Create(t.Context(), "/mine", nil, coord.Ephemeral); err != nil {
		t.Fatal(err)
	}
	_, _, events, err := a.ExistsW(t.Context(), "/later")
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if _, _, err := a.Get(t.Context(), "/"); !errors.Is(err, coord.ErrConnectionLoss) {
		t.Errorf("a read: %v", err)
	}
	server.Restart()
	for {
		if _, err = b.Create(t.Context(), "/later", nil, coord.Persistent); !errors.Is(err, coord.ErrConnectionLoss) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if e := <-events; e.Type != coord.EventNodeCreated {
		t.Errorf("the watch tells %+v", e)
	}
	if _, stat, err := a.Get(t.Context(), "/mine"); err != nil || stat.EphemeralOwner != a.ID() {
		t.Errorf("the ephemeral znode: %+v, %v", stat, err)
	}
}
