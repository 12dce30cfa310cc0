package coordtest

import (
	"context"
	"errors"
	"time"

	"github.com/stormring/stormring/internal/coord"
)

var sessions = []contract{
	{"open", testOpen},
	{"close removes ephemerals", testClose},
	{"close without time ends all the same", testHastyClose},
	{"expiry removes ephemerals", testExpiry},
	{"an ended session does nothing more", testEnded},
	{"watches are lost with their session", testWatchesLost},
}

// over waits for a session to end and checks why.
func (w *world) over(c client, why error) {
	w.Helper()
	select {
	case <-c.Done():
	case <-time.After(patience):
		w.Fatal("the session does not end")
	}
	if !errors.Is(c.Err(), why) {
		w.Fatalf("the session ended with %v, want %v", c.Err(), why)
	}
}

func (w *world) alive(c client) {
	w.Helper()
	select {
	case <-c.Done():
		w.Fatalf("the session is over: %v", c.Err())
	default:
	}
	if c.Err() != nil {
		w.Fatalf("the session lives and has the error %v", c.Err())
	}
}

func testOpen(w *world) {
	a, b := w.open(), w.open()
	if a.ID() == b.ID() || a.ID() == 0 {
		w.Fatalf("ids %d and %d", a.ID(), b.ID())
	}
	if a.Timeout() != 10*time.Second {
		w.Fatalf("time-out %v, want 10s", a.Timeout())
	}
	w.alive(a)
	for _, timeout := range []time.Duration{0, 1000 * time.Hour} {
		s, err := w.Open(w.Context(), timeout)
		w.ok(err)
		if s.Timeout() <= 0 || s.Timeout() >= 1000*time.Hour {
			w.Errorf("time-out %v", s.Timeout())
		}
		w.ok(s.Close(w.Context()))
	}
}

func testClose(w *world) {
	a, b := w.open(), w.open()
	testEnd(w, a, b, func() { w.ok(a.Close(w.Context())) })
	w.over(a, coord.ErrSessionClosed)
	w.ok(a.Close(w.Context()))
}

// testHastyClose: whoever closes a session has no use for it any more, even if it
// cannot wait for the end.
func testHastyClose(w *world) {
	a, b := w.open(), w.open()
	testEnd(w, a, b, func() {
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		if err := a.Close(ctx); err != nil && !errors.Is(err, context.Canceled) {
			w.Errorf("close: %v", err)
		}
		w.over(a, coord.ErrSessionClosed)
	})
}

func testExpiry(w *world) {
	a, b := w.open(), w.open()
	testEnd(w, a, b, func() { w.Expire(a.Session) })
	w.over(a, coord.ErrSessionExpired)
	w.ok(a.Close(w.Context()))
	w.over(a, coord.ErrSessionExpired)
}

// testEnd ends a and looks at what b sees of it.
func testEnd(w *world, a, b client, end func()) {
	w.Helper()
	x, stays := w.at("/x"), w.at("/stays")
	a.create(stays, "", coord.Persistent)
	a.create(x, "", coord.Ephemeral)
	a.create(stays+"/n", "", coord.EphemeralSequential)
	b.create(w.at("/b"), "", coord.Ephemeral)
	a.create(w.at("/deleted"), "", coord.Ephemeral)
	a.delete(w.at("/deleted"))
	b.create(w.at("/deleted"), "", coord.Persistent)
	data, exists := b.getW(x), b.existsW(x)
	root, below, quiet := b.childrenW(w.Root), b.childrenW(stays), b.getW(stays)
	end()
	w.fires(data, coord.EventNodeDeleted, x)
	w.fires(exists, coord.EventNodeDeleted, x)
	w.fires(root, coord.EventNodeChildrenChanged, w.Root)
	w.fires(below, coord.EventNodeChildrenChanged, stays)
	b.lists(w.Root, "b", "deleted", "stays")
	if stat := b.lists(stays); stat.Cversion != 2 {
		w.Fatalf("%d changes of children, want 2", stat.Cversion)
	}
	w.quiet(quiet)
	w.alive(b)
}

func testEnded(w *world) {
	x := w.at("/x")
	for _, end := range []struct {
		why error
		do  func(client)
	}{
		{coord.ErrSessionClosed, func(c client) { w.ok(c.Close(w.Context())) }},
		{coord.ErrSessionExpired, func(c client) { w.Expire(c.Session) }},
	} {
		c := w.open()
		end.do(c)
		w.over(c, end.why)
		ctx := w.Context()
		_, err := c.Create(ctx, x, nil, coord.Persistent)
		w.fails(err, end.why, "create", x)
		_, err = c.Set(ctx, w.Root, nil, coord.AnyVersion)
		w.fails(err, end.why, "set", w.Root)
		w.fails(c.Delete(ctx, x, coord.AnyVersion), end.why, "delete", x)
		_, err = c.Multi(ctx, coord.CreateOp{Path: x})
		w.fails(err, end.why, "multi", "")
		_, _, err = c.Get(ctx, w.Root)
		w.fails(err, end.why, "get", w.Root)
		_, _, events, err := c.ExistsW(ctx, x)
		if w.fails(err, end.why, "exists", x); events != nil {
			w.Fatal("a watch of a session that is over")
		}
		_, _, err = c.Children(ctx, w.Root)
		w.fails(err, end.why, "children", w.Root)
	}
	if stat := w.open().lists(w.Root); stat.Version != 0 || stat.Cversion != 0 {
		w.Fatalf("the sessions left %+v", stat)
	}
}

func testWatchesLost(w *world) {
	a, b, other := w.open(), w.open(), w.open()
	x, y, z := w.at("/x"), w.at("/y"), w.at("/z")
	a.create(x, "", coord.Ephemeral)
	for _, tt := range []struct {
		client client
		why    error
		end    func()
	}{
		{a, coord.ErrSessionExpired, func() { w.Expire(a.Session) }},
		{b, coord.ErrSessionClosed, func() { w.ok(b.Close(w.Context())) }},
	} {
		fired := tt.client.existsW(z)
		other.create(z, "", coord.Persistent)
		stays, lost := other.existsW(y), tt.client.existsW(y)
		children, own := tt.client.childrenW(w.Root), tt.client.existsW(x)
		tt.client.lists(w.Root, "x", "z")
		tt.end()
		// What has fired has fired; what has not is lost, even if the end of
		// its own session would have fired it.
		w.fires(fired, coord.EventNodeCreated, z)
		w.lost(lost, tt.why, y)
		w.lost(children, tt.why, w.Root)
		w.lost(own, tt.why, x)
		other.create(y, "", coord.Persistent)
		w.fires(stays, coord.EventNodeCreated, y)
		other.delete(y)
		other.delete(z)
		if tt.client == a {
			b.create(x, "", coord.Ephemeral)
		}
	}
}
