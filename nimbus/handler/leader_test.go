package handler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/client"
)

func TestFollowsTheLeader(t *testing.T) {
	a, b := serve(t), serve(t)
	a.lead(false, b.summary())
	c := connect(t, a.addr, b.addr) // a sends it to b
	if err := c.Activate(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if got := b.said(); got != "Activate one" {
		t.Errorf("b was asked %q, a %q", got, a.said())
	}
	// b hands over: its refusal leads back to a, for calls of both kinds.
	a.lead(true, a.summary())
	b.lead(false, a.summary())
	if err := c.Activate(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	a.lead(false, b.summary())
	b.lead(true, b.summary())
	if err := c.Kill(t.Context(), "three", cluster.KillOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := a.said() + ", " + b.said(); got != "Activate two, Kill three wait -" {
		t.Error(got)
	}
}

func TestFollowsWhenTheLeaderDies(t *testing.T) {
	a, b := serve(t), serve(t)
	b.lead(false, a.summary())
	c := connect(t, a.addr, b.addr)
	a.stop()
	b.lead(true, b.summary())
	if err := c.Kill(t.Context(), "w", cluster.KillOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := b.said(); got != "Kill w wait -" {
		t.Error(got)
	}
}

func TestWaitsForAnElection(t *testing.T) {
	a := serve(t)
	c := connect(t, a.addr)
	a.lead(false, cluster.NimbusSummary{})
	done := make(chan error, 1)
	go func() { done <- c.Activate(t.Context(), "w") }()
	select {
	case err := <-done:
		t.Fatalf("nobody leads, and the call ended: %v", err)
	case <-time.After(150 * time.Millisecond):
	}
	a.lead(true, a.summary())
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := a.said(); got != "Activate w" {
		t.Error(got)
	}
}

func TestManyGoroutines(t *testing.T) {
	a, b := serve(t), serve(t)
	b.lead(false, a.summary())
	c := connect(t, a.addr, b.addr)
	var calls sync.WaitGroup
	var done atomic.Int64
	half := make(chan struct{})
	for i := range 20 {
		calls.Go(func() {
			for j := range 20 {
				if done.Add(1) == 200 {
					close(half)
				}
				if err := c.Activate(t.Context(), fmt.Sprintf("%d-%d", i, j)); err != nil {
					t.Errorf("call %d of %d: %v", j, i, err)
				}
			}
		})
	}
	<-half
	a.lead(false, b.summary())
	b.lead(true, b.summary())
	calls.Wait()
	seen := map[string]bool{}
	for line := range strings.Lines(a.said() + "\n" + b.said()) {
		seen[strings.TrimSpace(line)] = true
	}
	if len(seen) != 400 {
		t.Errorf("%d calls arrived, want 400", len(seen))
	}
}

func TestUnreachable(t *testing.T) {
	// A port that is never handed out, so that no other process comes to have it.
	const free = "127.0.0.1:1"
	follower, lost := serve(t), serve(t)
	follower.lead(false, cluster.NimbusSummary{})
	host, port, _ := net.SplitHostPort(free)
	lost.lead(false, cluster.NimbusSummary{Host: host, Port: atoi(t, port)})
	start := time.Now()
	_, err := client.Connect(t.Context(), client.Config{
		Seeds: []string{free, follower.addr, lost.addr}, Port: 6600, Patience: time.Millisecond, Election: 200 * time.Millisecond,
	})
	if took := time.Since(start); took < 200*time.Millisecond || took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	if !errors.Is(err, client.ErrUnreachable) {
		t.Fatal(err)
	}
	want := "no nimbus can be reached: " + free + ": connection refused; " +
		follower.addr + ": it answers, but no nimbus leads at the moment; " +
		lost.addr + ": it names " + free + " as the leader, which cannot be reached (connection refused); " +
		"storm.local.hostname of the leader must be a name by which it is reached from here. " +
		"Does nimbus run there? Its hosts are set by nimbus.seeds (-c 'nimbus.seeds=[\"host\"]'), its port by nimbus.thrift.port (-c nimbus.thrift.port=6600)"
	if err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func atoi(t *testing.T, text string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCloseEndsCalls(t *testing.T) {
	a := serve(t)
	c := connect(t, a.addr)
	a.lead(false, cluster.NimbusSummary{})
	done := make(chan error, 1)
	go func() { done <- c.Activate(context.Background(), "w") }()
	c.Close()
	c.Close()
	if err := <-done; !errors.Is(err, client.ErrClosed) {
		t.Error(err)
	}
	if err := c.Activate(t.Context(), "w"); !errors.Is(err, client.ErrClosed) {
		t.Error(err)
	}
}
