package embedded

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/embedded/tree"
)

// session is the client's side of a session.
type session struct {
	server  *Server
	id      int64
	timeout time.Duration
	done    chan struct{}

	// The rest is under server.mu.
	err     error // why it is over
	cut     bool  // off the network
	held    []tree.Fired
	watches map[tree.WatchID]waiting // not fired, as far as the client knows
}

// waiting is the client's end of a watch.
type waiting struct {
	path string
	c    chan coord.Event // room for the one event
}

var _ coord.Session = (*session)(nil)

func (c *session) ID() int64              { return c.id }
func (c *session) Timeout() time.Duration { return c.timeout }
func (c *session) Done() <-chan struct{}  { return c.done }

func (c *session) Err() error {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return c.err
}

func (c *session) Close(context.Context) error {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.err != nil {
		return nil
	}
	err := s.broken
	if !c.cut && err == nil {
		s.tree.End(c.id, s.cfg.Clock.Now())
		err = s.settle()
	}
	c.finish(coord.ErrSessionClosed)
	return coord.Failed("close", "", err)
}

// finish ends the session for its client; server.mu is held.
func (c *session) finish(why error) {
	delete(c.server.sessions, c.id)
	c.err = why
	for _, id := range slices.Sorted(maps.Keys(c.watches)) {
		c.send(id, coord.Event{Type: coord.EventNotWatching, Path: c.watches[id].path, Err: why})
	}
	c.held = nil
	close(c.done)
}

// fired is told what the tree has fired; server.mu is held.
func (c *session) fired(f tree.Fired) {
	if c.cut {
		c.held = append(c.held, f)
		return
	}
	c.send(f.Watch, f.Event)
}

func (c *session) send(id tree.WatchID, e coord.Event) {
	w := c.watches[id].c
	delete(c.watches, id)
	w <- e
	close(w)
}

// call does f for the client if it is heard.
func (c *session) call(ctx context.Context, op, path string, f func(t *tree.Tree) error) error {
	err := ctx.Err()
	if err != nil {
		return coord.Failed(op, path, err)
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	switch {
	case c.err != nil:
		err = c.err
	case c.cut:
		err = coord.ErrConnectionLoss
	case c.server.broken != nil:
		err = c.server.broken
	default:
		err = f(c.server.tree)
	}
	return coord.Failed(op, path, err)
}

// watch sets a watch; server.mu is held.
func (c *session) watch(kind tree.Kind, path string) <-chan coord.Event {
	w := waiting{path: path, c: make(chan coord.Event, 1)}
	c.watches[c.server.tree.Watch(c.id, kind, path)] = w
	return w.c
}

// apply performs ops; server.mu is held.
func (c *session) apply(ops ...coord.Op) ([]coord.Result, int, error) {
	s := c.server
	results, index, err := s.tree.Apply(c.id, s.cfg.Clock.Now(), ops...)
	if err == nil {
		err = s.settle()
	}
	if err != nil {
		return nil, index, err
	}
	return results, index, nil
}

func (c *session) Get(ctx context.Context, path string) (data []byte, stat coord.Stat, err error) {
	err = c.call(ctx, "get", path, func(t *tree.Tree) error {
		var err error
		data, stat, err = t.Get(path)
		return err
	})
	return slices.Clone(data), stat, err
}

func (c *session) GetW(ctx context.Context, path string) (data []byte, stat coord.Stat, w <-chan coord.Event, err error) {
	err = c.call(ctx, "get", path, func(t *tree.Tree) error {
		var err error
		if data, stat, err = t.Get(path); err == nil {
			w = c.watch(tree.Data, path)
		}
		return err
	})
	return slices.Clone(data), stat, w, err
}

func (c *session) Exists(ctx context.Context, path string) (exists bool, stat coord.Stat, err error) {
	err = c.call(ctx, "exists", path, func(t *tree.Tree) error {
		var err error
		exists, stat, err = t.Exists(path)
		return err
	})
	return exists, stat, err
}

func (c *session) ExistsW(ctx context.Context, path string) (exists bool, stat coord.Stat, w <-chan coord.Event, err error) {
	err = c.call(ctx, "exists", path, func(t *tree.Tree) error {
		var err error
		if exists, stat, err = t.Exists(path); err == nil {
			w = c.watch(tree.Data, path)
		}
		return err
	})
	return exists, stat, w, err
}

func (c *session) Children(ctx context.Context, path string) (names []string, stat coord.Stat, err error) {
	err = c.call(ctx, "children", path, func(t *tree.Tree) error {
		var err error
		names, stat, err = t.Children(path)
		return err
	})
	return names, stat, err
}

func (c *session) ChildrenW(ctx context.Context, path string) (names []string, stat coord.Stat, w <-chan coord.Event, err error) {
	err = c.call(ctx, "children", path, func(t *tree.Tree) error {
		var err error
		if names, stat, err = t.Children(path); err == nil {
			w = c.watch(tree.Children, path)
		}
		return err
	})
	return names, stat, w, err
}

func (c *session) Create(ctx context.Context, path string, data []byte, mode coord.Mode) (created string, err error) {
	err = c.call(ctx, "create", path, func(*tree.Tree) error {
		results, _, err := c.apply(coord.CreateOp{Path: path, Data: data, Mode: mode})
		if err == nil {
			created = results[0].Path
		}
		return err
	})
	return created, err
}

func (c *session) Set(ctx context.Context, path string, data []byte, version int32) (stat coord.Stat, err error) {
	err = c.call(ctx, "set", path, func(*tree.Tree) error {
		results, _, err := c.apply(coord.SetOp{Path: path, Data: data, Version: version})
		if err == nil {
			stat = results[0].Stat
		}
		return err
	})
	return stat, err
}

func (c *session) Delete(ctx context.Context, path string, version int32) error {
	return c.call(ctx, "delete", path, func(*tree.Tree) error {
		_, _, err := c.apply(coord.DeleteOp{Path: path, Version: version})
		return err
	})
}

func (c *session) Multi(ctx context.Context, ops ...coord.Op) (results []coord.Result, err error) {
	failed := coord.NoIndex
	err = c.call(ctx, "multi", "", func(*tree.Tree) error {
		var err error
		results, failed, err = c.apply(ops...)
		return err
	})
	if failed != coord.NoIndex {
		op, path := ops[failed].Name()
		return nil, &coord.OpError{Op: op, Path: path, Index: failed, Err: errors.Unwrap(err)}
	}
	return results, err
}
