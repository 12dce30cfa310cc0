package zk

import (
	"context"
	"slices"

	zookeeper "github.com/go-zookeeper/zk"

	"github.com/stormring/stormring/internal/coord"
)

// kind is what a watch looks at; the same distinction as the library's and
// ZooKeeper's.
type kind int

const (
	dataOf     kind = iota // a znode that is there
	birthOf                // one that is not
	childrenOf             // the names below one
)

// sees reports whether a watch of a kind fires with an event.
func (k kind) sees(e coord.EventType) bool {
	switch e {
	case coord.EventNodeCreated:
		return k == birthOf
	case coord.EventNodeDataChanged:
		return k != childrenOf
	case coord.EventNodeChildrenChanged:
		return k == childrenOf
	default:
		return e == coord.EventNodeDeleted
	}
}

// watch is one that is set and has not fired.
type watch struct {
	kind   kind
	events chan coord.Event // room for the one event
}

// setting is a call that sets a watch, until it is known whether an event that
// came in the meantime is its own.
type setting struct {
	path    string
	touched bool // there was an event of the path
	lost    bool // there was the loss of a connection
}

// watches are a session's, under its mu.
//
// The library has a channel for each watch too. But only its callback tells of
// an event before the next answer is handed out, which the contract asks for;
// so that is what fires these.
type watches struct {
	set      map[string][]watch
	settings map[*setting]struct{}
}

func newWatches() watches {
	return watches{set: map[string][]watch{}, settings: map[*setting]struct{}{}}
}

// fire tells the watches that see an event.
func (w *watches) fire(t coord.EventType, path string) {
	for s := range w.settings {
		s.touched = s.touched || s.path == path
	}
	stay := slices.DeleteFunc(w.set[path], func(it watch) bool {
		if !it.kind.sees(t) {
			return false
		}
		tell(it.events, coord.Event{Type: t, Path: path})
		return true
	})
	if len(stay) > 0 {
		w.set[path] = stay
	} else {
		delete(w.set, path)
	}
}

// interrupt notes the loss of a connection: what was set on it and not noted
// here is given up, since the next one does not wait for its event; see link.
func (w *watches) interrupt() {
	for s := range w.settings {
		s.lost = true
	}
}

// lose tells all watches that they will not fire.
func (w *watches) lose(why error) {
	for path, at := range w.set {
		for _, it := range at {
			tell(it.events, coord.Event{Type: coord.EventNotWatching, Path: path, Err: why})
		}
	}
	clear(w.set)
}

func tell(events chan coord.Event, e coord.Event) {
	events <- e
	close(events)
}

// watched is an answer to a call that sets a watch.
type watched struct {
	found
	kind   kind
	events <-chan zookeeper.Event // the library's
}

// watch makes a call that sets a watch.
func (s *session) watch(ctx context.Context, path string, f func(*zookeeper.Conn) (watched, error)) (found, <-chan coord.Event, error) {
	in := &setting{path: path}
	s.mu.Lock()
	s.watches.settings[in] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watches.settings, in)
		s.mu.Unlock()
	}()
	w, err := do(ctx, s, reads, coord.ValidatePath(path), f)
	if err != nil {
		return found{}, nil, err
	}
	for {
		events, err := s.keep(in, w)
		if events != nil || err != nil {
			return w.found, events, err
		}
		// There was an event, maybe before the watch was set. When the next
		// call is answered the library has told the watch if it is to know.
		if _, err := do(ctx, s, reads, nil, exists("/")); err != nil {
			return found{}, nil, err
		}
	}
}

// keep notes a watch that was set. The result is nil if it may have fired.
func (s *session) keep(in *setting, w watched) (<-chan coord.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	if in.lost {
		return nil, coord.ErrConnectionLoss
	}
	events := make(chan coord.Event, 1)
	select {
	case e := <-w.events:
		tell(events, coord.Event{Type: coord.EventType(e.Type), Path: in.path})
		return events, nil
	default:
	}
	if in.touched {
		in.touched = false
		return nil, nil //nolint:nilnil // as said above
	}
	s.watches.set[in.path] = append(s.watches.set[in.path], watch{w.kind, events})
	return events, nil
}
