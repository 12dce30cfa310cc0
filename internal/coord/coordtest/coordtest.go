// Package coordtest has the tests that every coordination store passes. Start
// at Run; an implementation calls it from a test of its own.
package coordtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/coord"
)

// Server is a store under test.
type Server struct {
	coord.Opener
	// Root is the path of a znode without children below which the tests work.
	// Its version is 0.
	Root string
	// MaxDataBytes is the store's limit for the data of a znode.
	MaxDataBytes int
	// Expire ends a session as if its client had been silent for its time-out.
	Expire func(coord.Session)
	// Cut takes a session's client off the network, Heal brings it back. Where
	// they are nil the tests of that are skipped.
	Cut, Heal func(coord.Session)
}

// patience is how long a test waits for what the store must do by itself.
const patience = 30 * time.Second

// Run tests a store; open makes a new one, or a new Root in one, for each
// test.
func Run(t *testing.T, open func(t *testing.T) Server) {
	t.Helper()
	for _, suite := range [][]contract{znodes, sequences, multis, watches, sessions, partitions, races} {
		for _, c := range suite {
			t.Run(c.name, func(t *testing.T) { c.test(&world{T: t, Server: open(t)}) })
		}
	}
}

// contract is one promise of the port.
type contract struct {
	name string
	test func(w *world)
}

// world is a store and a test of it.
type world struct {
	*testing.T
	Server
}

// open starts a session that the test's end closes.
func (w *world) open() client {
	w.Helper()
	s, err := w.Open(w.Context(), 10*time.Second)
	w.ok(err)
	w.Cleanup(func() {
		// The test's own context is over by now.
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			w.Errorf("close: %v", err)
		}
	})
	return client{s, w}
}

// at is the path of a znode below the root of the test.
func (w *world) at(path string) string { return w.Root + path }

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// fails checks that an operation failed for a reason and says on what.
func (w *world) fails(err, want error, op, path string) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("the error is %v, want %v", err, want)
	}
	e, ok := errors.AsType[*coord.OpError](err)
	if !ok || e.Op != op || e.Path != path || e.Index != coord.NoIndex {
		w.Fatalf("the error is %#v, want one of %s %s by itself", err, op, path)
	}
}

// fires waits for a watch and checks what it tells.
func (w *world) fires(c <-chan coord.Event, want coord.EventType, path string) {
	w.Helper()
	e, ok := w.event(c)
	if !ok || e.Type != want || e.Path != path || e.Err != nil {
		w.Fatalf("the watch told of %v %s, error %v, open %t; want %v %s", e.Type, e.Path, e.Err, ok, want, path)
	}
	w.spent(c)
}

// lost waits for a watch to end with its session.
func (w *world) lost(c <-chan coord.Event, why error, path string) {
	w.Helper()
	e, ok := w.event(c)
	if !ok || e.Type != coord.EventNotWatching || e.Path != path || !errors.Is(e.Err, why) {
		w.Fatalf("the watch told of %v %s, error %v, open %t; want it lost: %v", e.Type, e.Path, e.Err, ok, why)
	}
	w.spent(c)
}

// spent checks that a watch that has fired is closed.
func (w *world) spent(c <-chan coord.Event) {
	w.Helper()
	if e, ok := w.event(c); ok {
		w.Fatalf("the watch fired again: %v", e)
	}
}

func (w *world) event(c <-chan coord.Event) (coord.Event, bool) {
	w.Helper()
	select {
	case e, ok := <-c:
		return e, ok
	case <-time.After(patience):
		w.Fatal("the watch does not fire")
		return coord.Event{}, false
	}
}

// fires waits for a watch. It is event for goroutines other than the test's.
func fires(c <-chan coord.Event) error {
	select {
	case <-c:
		return nil
	case <-time.After(patience):
		return errors.New("the watch does not fire")
	}
}

// quiet checks that a watch has not fired. It cannot have been told of what
// the client has not seen yet: look at that before.
func (w *world) quiet(c <-chan coord.Event) {
	w.Helper()
	select {
	case e := <-c:
		w.Fatalf("the watch fired: %v", e)
	default:
	}
}

// client is a session whose failures end the test.
type client struct {
	coord.Session
	w *world
}

func (c client) create(path, data string, mode coord.Mode) string {
	c.w.Helper()
	created, err := c.Create(c.w.Context(), path, []byte(data), mode)
	c.w.ok(err)
	return created
}

func (c client) set(path, data string) coord.Stat {
	c.w.Helper()
	stat, err := c.Set(c.w.Context(), path, []byte(data), coord.AnyVersion)
	c.w.ok(err)
	return stat
}

func (c client) delete(path string) {
	c.w.Helper()
	c.w.ok(c.Delete(c.w.Context(), path, coord.AnyVersion))
}

// holds checks a znode's data.
func (c client) holds(path, want string) coord.Stat {
	c.w.Helper()
	data, stat, err := c.Get(c.w.Context(), path)
	c.w.ok(err)
	if string(data) != want || int(stat.DataLength) != len(want) {
		c.w.Fatalf("%s holds %q, %d bytes; want %q", path, data, stat.DataLength, want)
	}
	return stat
}

// lists checks a znode's children.
func (c client) lists(path string, want ...string) coord.Stat {
	c.w.Helper()
	names, stat, err := c.Children(c.w.Context(), path)
	c.w.ok(err)
	if !slices.Equal(names, want) || int(stat.NumChildren) != len(want) {
		c.w.Fatalf("%s has the children %q, counted %d; want %q", path, names, stat.NumChildren, want)
	}
	return stat
}

func (c client) missing(path string) {
	c.w.Helper()
	exists, stat, err := c.Exists(c.w.Context(), path)
	c.w.ok(err)
	if exists || stat != (coord.Stat{}) {
		c.w.Fatalf("%s exists: %t, %+v", path, exists, stat)
	}
}

func (c client) getW(path string) <-chan coord.Event {
	c.w.Helper()
	_, _, events, err := c.GetW(c.w.Context(), path)
	c.w.ok(err)
	return events
}

func (c client) existsW(path string) <-chan coord.Event {
	c.w.Helper()
	_, _, events, err := c.ExistsW(c.w.Context(), path)
	c.w.ok(err)
	return events
}

func (c client) childrenW(path string) <-chan coord.Event {
	c.w.Helper()
	_, _, events, err := c.ChildrenW(c.w.Context(), path)
	c.w.ok(err)
	return events
}
