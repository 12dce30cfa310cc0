package election

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/zk"
	"github.com/stormring/stormring/internal/coord/zk/zktest"
)

// member is a nimbus with a way of its own to a real ZooKeeper.
type member struct {
	proxy   *zktest.Proxy
	session coord.Session
	latch   *Latch
}

// joinZooKeeper enters a nimbus and waits until it stands in the queue.
func joinZooKeeper(t *testing.T, server *zktest.Server, id string, place int) member {
	t.Helper()
	m := member{proxy: zktest.NewProxy(t, server.Address)}
	cfg := zk.DefaultConfig(slog.New(slog.DiscardHandler), m.proxy.Address)
	cfg.ConnectTimeout = 500 * time.Millisecond
	store, err := zk.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if m.session, err = store.Open(t.Context(), 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if m.latch, err = Join(testConfig(m.session, id)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context is over by now.
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := m.latch.Close(ctx); err != nil && !errors.Is(err, coord.ErrConnectionLoss) {
			t.Error(err) // the server may just have come back
		}
		if err := m.session.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	for {
		_, _, children, err := m.session.ChildrenW(t.Context(), lockPath(root))
		if errors.Is(err, coord.ErrNoNode) {
			_, _, children, err = m.session.ExistsW(t.Context(), lockPath(root))
		}
		if err != nil {
			t.Fatal(err)
		}
		all, err := Participants(t.Context(), m.session, root)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > place && all[place].ID == id {
			return m
		}
		<-children
	}
}

// leads waits until a nimbus leads, or does not.
func (m member) leads(t *testing.T, want bool) {
	t.Helper()
	late := time.After(time.Minute) // a server that starts on a busy machine takes long
	for m.latch.Leader() != want {
		select {
		case <-m.latch.Changes():
		case <-late:
			t.Fatalf("leads: %t, want %t", !want, want)
		}
	}
}

func TestZooKeeper(t *testing.T) {
	server := zktest.Start(t)
	a := joinZooKeeper(t, server, "a:6627", 0)
	a.leads(t, true)
	b := joinZooKeeper(t, server, "b:6627", 1)
	c := joinZooKeeper(t, server, "c:6627:6628", 2)
	old, _ := a.latch.Term()

	// The leader is cut off without a word: it steps down before the next one
	// leads.
	a.proxy.Stall()
	b.leads(t, true)
	if a.latch.Leader() || c.latch.Leader() {
		t.Error("another leads too")
	}
	a.proxy.Heal()
	<-a.latch.Done()
	if !errors.Is(a.latch.Err(), coord.ErrSessionExpired) {
		t.Errorf("the latch that was cut off is over: %v", a.latch.Err())
	}
	if _, err := c.session.Multi(t.Context(), old, coord.CreateOp{Path: root + "/w"}); !errors.Is(err, coord.ErrNoNode) {
		t.Errorf("a write of the old term: %v", err)
	}

	// It leaves in order.
	if err := b.latch.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.leads(t, true)
	term, _ := c.latch.Term()
	if _, err := c.session.Multi(t.Context(), term, coord.CreateOp{Path: root + "/w"}); err != nil {
		t.Errorf("a write of the leader: %v", err)
	}
	first, ok, err := Leader(t.Context(), b.session, root)
	if err != nil || !ok || first.ID != "c:6627:6628" {
		t.Errorf("the leader is %+v, %t, %v", first, ok, err)
	}

	// The store crashes and comes back.
	server.Kill()
	c.leads(t, false)
	server.Restart()
	c.leads(t, true)
	if err := c.latch.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
