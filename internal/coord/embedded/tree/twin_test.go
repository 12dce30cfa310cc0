package tree

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stormring/stormring/internal/coord"
)

// twin does what Tree does in the plainest way: one flat map, looked through
// from end to end, copied before each change.
type twin struct {
	zxid     int64
	nodes    map[string]twinNode
	sessions map[int64]twinSession
	watches  []twinWatch
	fired    []Fired
}

type twinNode struct {
	data                              string
	czxid, mzxid, pzxid, ctime, mtime int64
	version, added, removed           int32
	owner                             int64
}

type twinSession struct {
	timeout  time.Duration
	absent   bool
	deadline time.Time
}

type twinWatch struct {
	watch
	kind Kind
	path string
}

func newTwin() *twin {
	return &twin{nodes: map[string]twinNode{"/": {}}, sessions: map[int64]twinSession{}}
}

func (w *twin) children(path string) []string {
	var names []string
	for p := range w.nodes {
		if p != "/" && coord.Parent(p) == path {
			names = append(names, coord.Base(p))
		}
	}
	slices.Sort(names)
	return names
}

func (w *twin) stat(path string) coord.Stat {
	n := w.nodes[path]
	return coord.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Cversion: n.added + n.removed, EphemeralOwner: n.owner,
		DataLength: int32(len(n.data)), NumChildren: int32(len(w.children(path))),
	}
}

func (w *twin) open(timeout time.Duration) int64 {
	w.zxid++
	w.sessions[w.zxid] = twinSession{timeout: timeout}
	return w.zxid
}

func (w *twin) end(id int64, now time.Time) {
	w.watches = slices.DeleteFunc(w.watches, func(x twinWatch) bool { return x.session == id })
	w.zxid++
	for _, path := range slices.Sorted(maps.Keys(w.nodes)) {
		if w.nodes[path].owner == id {
			w.fire(w.step(coord.DeleteOp{Path: path, Version: -1}, id, now))
		}
	}
	delete(w.sessions, id)
}

func (w *twin) tick(now time.Time) []int64 {
	var over []int64
	for _, id := range slices.Sorted(maps.Keys(w.sessions)) {
		if s := w.sessions[id]; s.absent && !now.Before(s.deadline) {
			over = append(over, id)
			w.end(id, now)
		}
	}
	return over
}

// apply is Apply; it returns the paths of what was created, joined.
func (w *twin) apply(id int64, now time.Time, ops []coord.Op) (string, int, error) {
	before := maps.Clone(w.nodes)
	w.zxid++
	var events []event
	var created []string
	for i, op := range ops {
		e := w.step(op, id, now)
		if e.err != nil {
			w.nodes = before
			w.zxid--
			return "", i, e.err
		}
		if e.what == coord.EventNodeCreated {
			created = append(created, e.path)
		}
		if e.what != 0 {
			events = append(events, e)
		}
	}
	if len(events) == 0 {
		w.zxid--
	}
	for _, e := range events {
		w.fire(e)
	}
	return strings.Join(created, " "), coord.NoIndex, nil
}

type event struct {
	what coord.EventType
	path string
	err  error
}

func (w *twin) step(op coord.Op, id int64, now time.Time) event {
	_, path := op.Name()
	n, exists := w.nodes[path]
	var version int32
	switch op := op.(type) {
	case coord.CreateOp:
		return w.create(op, id, now)
	case coord.SetOp:
		version = op.Version
	case coord.DeleteOp:
		version = op.Version
	case coord.CheckOp:
		version = op.Version
	}
	if !exists {
		return event{err: coord.ErrNoNode}
	}
	if version >= 0 && version != n.version {
		return event{err: coord.ErrBadVersion}
	}
	switch op := op.(type) {
	case coord.SetOp:
		n.data, n.mzxid, n.mtime, n.version = string(op.Data), w.zxid, now.UnixMilli(), n.version+1
		w.nodes[path] = n
		return event{what: coord.EventNodeDataChanged, path: path}
	case coord.DeleteOp:
		if len(w.children(path)) > 0 {
			return event{err: coord.ErrNotEmpty}
		}
		delete(w.nodes, path)
		p := w.nodes[coord.Parent(path)]
		p.removed, p.pzxid = p.removed+1, w.zxid
		w.nodes[coord.Parent(path)] = p
		return event{what: coord.EventNodeDeleted, path: path}
	case coord.CreateOp, coord.CheckOp:
	}
	return event{}
}

func (w *twin) create(op coord.CreateOp, id int64, now time.Time) event {
	parent := coord.Parent(op.Path)
	p, exists := w.nodes[parent]
	if !exists {
		return event{err: coord.ErrNoNode}
	}
	path := op.Path
	if op.Mode.IsSequential() {
		path = coord.SequencePath(path, p.added)
	}
	if _, exists := w.nodes[path]; exists {
		return event{err: coord.ErrNodeExists}
	}
	if p.owner != 0 {
		return event{err: coord.ErrNoChildrenForEphemerals}
	}
	p.added, p.pzxid = p.added+1, w.zxid
	w.nodes[parent] = p
	n := twinNode{data: string(op.Data), czxid: w.zxid, mzxid: w.zxid, pzxid: w.zxid, ctime: now.UnixMilli(), mtime: now.UnixMilli()}
	if op.Mode.IsEphemeral() {
		n.owner = id
	}
	w.nodes[path] = n
	return event{what: coord.EventNodeCreated, path: path}
}

// fire tells all watches of an event: first those of the data, then those of
// the children of the znode itself, then those of its parent's.
func (w *twin) fire(e event) {
	tell := func(kind Kind, path string, what coord.EventType) {
		w.watches = slices.DeleteFunc(w.watches, func(x twinWatch) bool {
			hit := x.kind == kind && x.path == path
			if hit {
				w.fired = append(w.fired, Fired{x.session, x.id, coord.Event{Type: what, Path: path}})
			}
			return hit
		})
	}
	tell(Data, e.path, e.what)
	if e.what == coord.EventNodeDataChanged {
		return
	}
	if e.what == coord.EventNodeDeleted {
		tell(Children, e.path, e.what)
	}
	tell(Children, coord.Parent(e.path), coord.EventNodeChildrenChanged)
}

// differs says where a Tree and its twin part ways, or nil.
func (w *twin) differs(t *Tree) error {
	if t.zxid != w.zxid {
		return errors.New("zxid")
	}
	if len(t.nodes) != len(w.nodes) {
		return errors.New("the number of znodes")
	}
	for path, n := range w.nodes {
		data, stat, err := t.Get(path)
		if err != nil || string(data) != n.data || stat != w.stat(path) {
			return errors.New("the znode " + path)
		}
		names, _, err := t.Children(path)
		if err != nil || !slices.Equal(names, w.children(path)) {
			return errors.New("the children of " + path)
		}
	}
	left := 0
	for _, at := range t.watches {
		for _, list := range at {
			left += len(list)
		}
	}
	if left != len(w.watches) {
		return errors.New("the number of watches")
	}
	return nil
}
