package tree

import (
	"slices"

	"github.com/stormring/stormring/internal/coord"
)

// Kind says what a watch looks at.
type Kind int

// The kinds of watches: a znode's data and whether it exists, or its children.
const (
	Data Kind = iota
	Children
	kinds
)

// WatchID tells a watch from all others.
type WatchID int64

// Fired is a watch that has fired, and so is no more.
type Fired struct {
	Session int64
	Watch   WatchID
	Event   coord.Event
}

type watch struct {
	id      WatchID
	session int64
}

type watchPlace struct {
	kind Kind
	path string
}

// Watch sets a watch for a session that is there. The caller has looked at
// what the watch is for.
func (t *Tree) Watch(session int64, kind Kind, path string) WatchID {
	t.lastWatch++
	t.watches[kind][path] = append(t.watches[kind][path], watch{t.lastWatch, session})
	t.sessions[session].watches[watchPlace{kind, path}] = true
	return t.lastWatch
}

// fire tells of a change whom it concerns.
func (t *Tree) fire(c Change) {
	t.fireAll(Data, c.Path, c.Type)
	if c.Type == coord.EventNodeDataChanged {
		return
	}
	if c.Type == coord.EventNodeDeleted {
		t.fireAll(Children, c.Path, c.Type)
	}
	t.fireAll(Children, coord.Parent(c.Path), coord.EventNodeChildrenChanged)
}

// fireAll fires the watches of one place, the oldest first.
func (t *Tree) fireAll(kind Kind, path string, what coord.EventType) {
	list := t.watches[kind][path]
	if len(list) == 0 {
		return
	}
	delete(t.watches[kind], path)
	for _, w := range list {
		delete(t.sessions[w.session].watches, watchPlace{kind, path})
		t.out.Fired = append(t.out.Fired, Fired{w.session, w.id, coord.Event{Type: what, Path: path}})
	}
}

// unwatch drops all watches of a session.
func (t *Tree) unwatch(id int64, s *session) {
	for place := range s.watches {
		at := t.watches[place.kind]
		at[place.path] = slices.DeleteFunc(at[place.path], func(w watch) bool { return w.session == id })
		if len(at[place.path]) == 0 {
			delete(at, place.path)
		}
	}
	clear(s.watches)
}
