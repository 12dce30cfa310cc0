package zk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	zookeeper "github.com/go-zookeeper/zk"

	"github.com/stormring/stormring/internal/coord"
)

// What a call does, for the error when its answer is lost.
const (
	reads  = false
	writes = true
)

// do makes a call of the library's. Its answer is f's, which runs in a
// goroutine of its own: where ctx, the session or the connection ends first,
// what f brings later is discarded.
func do[T any](ctx context.Context, s *session, write bool, invalid error, f func(*zookeeper.Conn) (T, error)) (v T, err error) {
	down, err := s.await(ctx, invalid)
	if err != nil {
		return v, err
	}
	type answer struct {
		v   T
		err error
	}
	answers := make(chan answer, 1)
	if !s.begin(func() {
		v, err := f(s.conn)
		answers <- answer{v, err}
	}) {
		return v, s.Err()
	}
	select {
	case a := <-answers:
		return a.v, s.reason(a.err, write)
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.done:
		err = s.Err()
	case <-down:
		err = coord.ErrConnectionLoss
	}
	select {
	case a := <-answers: // just in time
		return a.v, s.reason(a.err, write)
	default:
		return v, unsure(err, write)
	}
}

// begin runs a call that reap waits for; false if the session is over.
func (s *session) begin(call func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	s.calls.Go(call)
	return true
}

// await waits for a connection, no longer than ConnectTimeout. The result is
// closed when that is lost.
func (s *session) await(ctx context.Context, invalid error) (<-chan struct{}, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	late := time.NewTimer(s.cfg.ConnectTimeout)
	defer late.Stop()
	for {
		s.mu.Lock()
		up, down, err := s.up, s.down, s.err
		s.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case invalid != nil:
			return nil, invalid
		case isClosed(up):
			return down, nil
		}
		select {
		case <-up:
		case <-s.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late.C:
			return nil, coord.ErrConnectionLoss
		}
	}
}

// unsure is the error of a call whose answer is lost: a write may have
// happened, whatever the reason.
func unsure(err error, write bool) error {
	if !write || errors.Is(err, coord.ErrConnectionLoss) {
		return err
	}
	return fmt.Errorf("%w: the answer was not awaited: %w", coord.ErrConnectionLoss, err)
}

// sentinels are what the library's errors are to the contract.
var sentinels = []struct{ from, to error }{
	{zookeeper.ErrNoNode, coord.ErrNoNode},
	{zookeeper.ErrNodeExists, coord.ErrNodeExists},
	{zookeeper.ErrNotEmpty, coord.ErrNotEmpty},
	{zookeeper.ErrBadVersion, coord.ErrBadVersion},
	{zookeeper.ErrNoChildrenForEphemerals, coord.ErrNoChildrenForEphemerals},
	{zookeeper.ErrInvalidPath, coord.ErrInvalidPath},
	{zookeeper.ErrBadArguments, coord.ErrInvalidPath},
	{zookeeper.ErrConnectionClosed, coord.ErrConnectionLoss},
	{zookeeper.ErrNoServer, coord.ErrConnectionLoss},
	{zookeeper.ErrClosing, coord.ErrConnectionLoss},
	{zookeeper.ErrSessionMoved, coord.ErrConnectionLoss},
}

// reason is an error of the library's in the terms of the contract.
func (s *session) reason(err error, write bool) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, zookeeper.ErrSessionExpired) {
		// It was not done. The library learns of it when it connects again.
		s.finish(coord.ErrSessionExpired)
		return coord.ErrSessionExpired
	}
	for _, known := range sentinels {
		if !errors.Is(err, known.from) {
			continue
		}
		if over := s.Err(); over != nil && errors.Is(known.to, coord.ErrConnectionLoss) {
			return unsure(over, write)
		}
		return known.to
	}
	for _, refusal := range []error{zookeeper.ErrNoAuth, zookeeper.ErrAuthFailed, zookeeper.ErrInvalidACL} {
		if errors.Is(err, refusal) {
			return fmt.Errorf("ZooKeeper refuses, look at the znode's access list: %w", err)
		}
	}
	return fmt.Errorf("%w: %w", coord.ErrConnectionLoss, err) // the network's
}

// found is what a call has found.
type found struct {
	exists bool
	data   []byte
	names  []string
	stat   coord.Stat
}

func stat(s *zookeeper.Stat) coord.Stat {
	return coord.Stat{
		Czxid:          s.Czxid,
		Mzxid:          s.Mzxid,
		Pzxid:          s.Pzxid,
		Ctime:          s.Ctime,
		Mtime:          s.Mtime,
		Version:        s.Version,
		Cversion:       s.Cversion,
		EphemeralOwner: s.EphemeralOwner,
		DataLength:     s.DataLength,
		NumChildren:    s.NumChildren,
	}
}

// exists is a call without a watch.
func exists(path string) func(*zookeeper.Conn) (found, error) {
	return func(c *zookeeper.Conn) (found, error) {
		exists, st, err := c.Exists(path)
		if err != nil || !exists {
			return found{}, err
		}
		return found{exists: true, stat: stat(st)}, nil
	}
}

func (s *session) Get(ctx context.Context, path string) ([]byte, coord.Stat, error) {
	f, err := do(ctx, s, reads, coord.ValidatePath(path), func(c *zookeeper.Conn) (found, error) {
		data, st, err := c.Get(path)
		if err != nil {
			return found{}, err
		}
		return found{data: data, stat: stat(st)}, nil
	})
	return f.data, f.stat, coord.Failed("get", path, err)
}

// Sync implements coord.Syncer.
func (s *session) Sync(ctx context.Context, path string) error {
	_, err := do(ctx, s, reads, coord.ValidatePath(path), func(c *zookeeper.Conn) (string, error) { return c.Sync(path) })
	return coord.Failed("sync", path, err)
}

func (s *session) GetW(ctx context.Context, path string) ([]byte, coord.Stat, <-chan coord.Event, error) {
	f, events, err := s.watch(ctx, path, func(c *zookeeper.Conn) (watched, error) {
		data, st, events, err := c.GetW(path)
		if err != nil {
			return watched{}, err
		}
		return watched{found{data: data, stat: stat(st)}, dataOf, events}, nil
	})
	return f.data, f.stat, events, coord.Failed("get", path, err)
}

func (s *session) Exists(ctx context.Context, path string) (bool, coord.Stat, error) {
	f, err := do(ctx, s, reads, coord.ValidatePath(path), exists(path))
	return f.exists, f.stat, coord.Failed("exists", path, err)
}

func (s *session) ExistsW(ctx context.Context, path string) (bool, coord.Stat, <-chan coord.Event, error) {
	f, events, err := s.watch(ctx, path, func(c *zookeeper.Conn) (watched, error) {
		exists, st, events, err := c.ExistsW(path)
		switch {
		case err != nil:
			return watched{}, err
		case exists:
			return watched{found{exists: true, stat: stat(st)}, dataOf, events}, nil
		default:
			return watched{found{}, birthOf, events}, nil
		}
	})
	return f.exists, f.stat, events, coord.Failed("exists", path, err)
}

func (s *session) Children(ctx context.Context, path string) ([]string, coord.Stat, error) {
	f, err := do(ctx, s, reads, coord.ValidatePath(path), func(c *zookeeper.Conn) (found, error) {
		names, st, err := c.Children(path)
		if err != nil {
			return found{}, err
		}
		slices.Sort(names)
		return found{names: names, stat: stat(st)}, nil
	})
	return f.names, f.stat, coord.Failed("children", path, err)
}

func (s *session) ChildrenW(ctx context.Context, path string) ([]string, coord.Stat, <-chan coord.Event, error) {
	f, events, err := s.watch(ctx, path, func(c *zookeeper.Conn) (watched, error) {
		names, st, events, err := c.ChildrenW(path)
		if err != nil {
			return watched{}, err
		}
		slices.Sort(names)
		return watched{found{names: names, stat: stat(st)}, childrenOf, events}, nil
	})
	return f.names, f.stat, events, coord.Failed("children", path, err)
}
